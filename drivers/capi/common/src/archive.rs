//! An open archive as C programs see it.
//!
//! It is read as the shipped library reads it ([`Strictness::Compat`]), by `pread`, so that a file that
//! shrinks under it is an error. Opening reads header and table; the lists of names are made when they
//! are first asked for; kernels are decoded straight into their memory. Any number of threads use
//! one archive at once: no lock is held while one of them reads or decodes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use rocload::Options;
use rocload::kpack::Strictness;

use crate::code::{self, Code, Failure};
use crate::memory::{Memory, Slot, Strings};
use crate::names::Names;

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    inner: rocload::Archive,
    arches: OnceLock<Names>,
    binaries: OnceLock<Names>,
}

/// How the C libraries read.
pub fn options() -> Options {
    let mut options = Options::default();
    options.strictness = Strictness::Compat;
    options
}

impl Archive {
    /// Opens the archive at `path`.
    ///
    /// # Errors
    /// As [`code::opening`] sorts them.
    pub fn open(path: &[u8]) -> Result<Archive, Failure> {
        let path = OsStr::from_bytes(path);
        let inner =
            rocload::Archive::open_with(path, &options()).map_err(|error| code::opening(&error))?;
        Ok(Archive { inner, arches: OnceLock::new(), binaries: OnceLock::new() })
    }

    /// The architectures, in `gfx_arches` order, duplicates kept.
    ///
    /// # Errors
    /// [`Code::OutOfMemory`].
    pub fn arches(&self) -> Result<&Names, Failure> {
        made(&self.arches, || self.list(false))
    }

    /// The binaries, byte-sorted, each once.
    ///
    /// # Errors
    /// [`Code::OutOfMemory`].
    pub fn binaries(&self) -> Result<&Names, Failure> {
        made(&self.binaries, || self.list(true))
    }

    /// The architectures as a list of the caller's own.
    ///
    /// # Errors
    /// [`Code::OutOfMemory`].
    pub fn arch_strings(&self) -> Result<Strings, Failure> {
        self.strings(false)
    }

    /// The binaries as a list of the caller's own.
    ///
    /// # Errors
    /// [`Code::OutOfMemory`].
    pub fn binary_strings(&self) -> Result<Strings, Failure> {
        self.strings(true)
    }

    fn strings(&self, binaries: bool) -> Result<Strings, Failure> {
        let names = self.list(binaries)?;
        Strings::new(names.into_iter()).ok_or(Code::OutOfMemory.into())
    }

    fn list(&self, binaries: bool) -> Result<Vec<&[u8]>, Failure> {
        let toc = self.inner.toc().toc();
        let counts = toc.counts();
        let mut names = Vec::new();
        let most = if binaries { counts.binaries } else { counts.arches };
        names.try_reserve_exact(most as usize).map_err(|_| Code::OutOfMemory)?;
        if binaries {
            names.extend(toc.binaries().map(|binary| binary.name));
            names.sort_unstable();
            names.dedup();
        } else {
            names.extend(toc.arches());
        }
        Ok(names)
    }

    /// A kernel in memory of `malloc`'s, and its size in bytes.
    ///
    /// # Errors
    /// As [`code::fetching`] sorts them.
    pub fn kernel(&self, binary: &[u8], arch: &[u8]) -> Result<(Memory, usize), Failure> {
        let fetch = || {
            let mut memory = Slot::default();
            let size = self.inner.kernel_in(binary, arch, &mut memory)?;
            Ok((memory, size))
        };
        let (mut memory, size) = fetch().map_err(|error| code::fetching(&error))?;
        // A kernel that was fetched has been asked room for.
        Ok((memory.take().ok_or(Code::OutOfMemory)?, size))
    }
}

/// What is in the cell, made if need be. Two threads may make it at once; one of them is thrown away.
fn made<'n>(
    cell: &'n OnceLock<Names>,
    list: impl FnOnce() -> Result<Vec<&'n [u8]>, Failure>,
) -> Result<&'n Names, Failure> {
    if let Some(names) = cell.get() {
        return Ok(names);
    }
    let names = Names::new(&list()?).ok_or(Code::OutOfMemory)?;
    Ok(cell.get_or_init(|| names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocload_fixtures::good_archives;

    #[test]
    fn every_kernel_of_every_good_archive() {
        for fixture in good_archives() {
            let path = fixture.file();
            let archive = Archive::open(path.as_os_str().as_bytes()).unwrap();
            for row in fixture.kernels() {
                let (mut memory, size) =
                    archive.kernel(row.binary.as_bytes(), row.arch.as_bytes()).unwrap();
                assert_eq!(size as u64, row.size);
                assert_eq!(rocload_fixtures::hash::sha256_hex(memory.as_mut()), row.sha256);
            }
            assert!(archive.binaries().unwrap().len() <= archive.inner.len().max(1));
        }
    }
}

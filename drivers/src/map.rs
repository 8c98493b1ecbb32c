//! A file through a memory mapping: no call for a read, no copy of what is stored.
//!
//! ```no_run
//! use rocload::{Archive, Mapped, Options};
//!
//! let path = "/opt/rocm/lib/.kpack/blas_lib_gfx1100.kpack";
//! // SAFETY: this file belongs to an installed package, which is replaced by renaming and never
//! // written in place.
//! let mapped = unsafe { Mapped::open(path)? };
//! let archive = Archive::from_source(mapped, &Options::default())?.with_path(path);
//! let kernel = archive.kernel_cow("lib/librocblas.so.5#0", "gfx1100")?;
//! println!("{} bytes, not copied if the archive stores them as they are", kernel.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

use crate::file::{ReadAt, open_file, regular};

/// A regular file in memory. The descriptor is not kept; pages are read when they are touched.
///
/// [`FileAt`](crate::FileAt) is the choice for files that may change: there a file that shrinks is
/// an error, here it ends the process.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
}

impl Mapped {
    /// Maps an open regular file as long as it is now.
    ///
    /// # Safety
    /// For as long as the value lives, nobody truncates the file or writes to it, neither this
    /// process nor another. A read beyond the end of a file that was cut raises SIGBUS, which ends
    /// the process; bytes that change under a shared slice are undefined behaviour. Replacing the
    /// file by renaming another over it is fine: the mapping keeps the old one.
    ///
    /// # Errors
    /// Those of [`FileAt::new`](crate::FileAt::new), and the system's refusal to map.
    pub unsafe fn new(file: &File) -> io::Result<Mapped> {
        regular(file)?;
        // SAFETY: the caller promises what `Mmap::map` asks for: the file is neither written nor
        // truncated while the mapping lives. It is private to this value and read only.
        let map = unsafe { Mmap::map(file)? };
        Ok(Mapped { map })
    }

    /// Opens and maps the file at `path`.
    ///
    /// # Safety
    /// As [`new`](Self::new).
    ///
    /// # Errors
    /// Those of [`FileAt::open`](crate::FileAt::open), and the system's refusal to map.
    pub unsafe fn open(path: impl AsRef<Path>) -> io::Result<Mapped> {
        let file = open_file(path.as_ref())?;
        // SAFETY: the caller promises the same to this function.
        unsafe { Mapped::new(&file) }
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl ReadAt for Mapped {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.map[..].read_at(buf, offset)
    }

    fn total(&self) -> io::Result<u64> {
        self.map[..].total()
    }

    fn bytes(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.map[..].bytes(offset, len)
    }
}

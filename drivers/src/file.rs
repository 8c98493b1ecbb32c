//! Random-access sources: a file read by `pread`, and bytes in memory.
//!
//! [`ReadAt`] is all that an archive needs from its source. [`FileAt`] reads with `pread(2)`,
//! so that one descriptor serves many threads without a lock or a shared position, and so that
//! a file that shrinks while it is open gives a short read, never a fault.
//!
//! A source of one's own needs two functions:
//!
//! ```
//! use std::io;
//! use rocload::{Archive, Options, ReadAt};
//!
//! struct Flash(&'static [u8]);
//!
//! impl ReadAt for Flash {
//!     fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
//!         self.0.read_at(buf, offset)
//!     }
//!     fn total(&self) -> io::Result<u64> {
//!         Ok(self.0.len() as u64)
//!     }
//! }
//!
//! let archive = Archive::from_source(Flash(rocload::kpack::EXAMPLE), &Options::default())?;
//! assert_eq!(archive.kernel("lib/libsmall.so#0", "gfx90a")?, b"a code objec");
//! # Ok::<(), rocload::Error>(())
//! ```

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// A source of bytes at absolute offsets, of a known length.
pub trait ReadAt {
    /// Reads up to `buf.len()` bytes at `offset`; 0 means that the source ends there.
    ///
    /// # Errors
    /// The source's own.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Length in bytes.
    ///
    /// # Errors
    /// The source's own.
    fn total(&self) -> io::Result<u64>;

    /// Whether the source is known to differ from what it was when it was opened.
    fn changed(&self) -> bool {
        false
    }

    /// The `len` bytes at `offset` where they lie in memory already, so that nothing need be
    /// copied; `None` where they do not, or the source ends before.
    fn bytes(&self, _offset: u64, _len: u64) -> Option<&[u8]> {
        None
    }

    /// Fills `buf` from `offset` on, as far as the source reaches; returns the bytes read.
    ///
    /// # Errors
    /// The source's own.
    fn read_full_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let Some(at) = offset.checked_add(done as u64) else { break };
            match self.read_at(&mut buf[done..], at) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(rest) = usize::try_from(offset).ok().and_then(|at| self.get(at..)) else {
            return Ok(0);
        };
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    fn total(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn bytes(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().read_at(buf, offset)
    }

    fn total(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn bytes(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.as_slice().bytes(offset, len)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buf, offset)
    }

    fn total(&self) -> io::Result<u64> {
        (**self).total()
    }

    fn changed(&self) -> bool {
        (**self).changed()
    }

    fn bytes(&self, offset: u64, len: u64) -> Option<&[u8]> {
        (**self).bytes(offset, len)
    }
}

/// A file read by `pread`.
#[derive(Debug)]
pub struct FileAt {
    file: File,
    opened: Stamp,
}

/// What tells one state of a file from another: length, time of change, device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) total: u64,
    modified: (i64, i64),
    place: (u64, u64),
}

/// What the error of a source holds whose file is not what it was.
#[derive(Debug)]
pub(crate) struct ChangedFile;

impl fmt::Display for ChangedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the file has changed since it was opened")
    }
}

impl std::error::Error for ChangedFile {}

impl FileAt {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// The system's own; [`io::ErrorKind::IsADirectory`] for a folder and
    /// [`io::ErrorKind::InvalidInput`] for a pipe, socket or device, which have no length.
    pub fn open(path: impl AsRef<Path>) -> io::Result<FileAt> {
        // A FIFO without a writer must not hang the open.
        let file = open_file(path.as_ref())?;
        FileAt::new(file)
    }

    /// Takes over an open regular file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn new(file: File) -> io::Result<FileAt> {
        let opened = regular(&file)?;
        Ok(FileAt { file, opened })
    }
}

/// The stamp of a regular file.
pub(crate) fn regular(file: &File) -> io::Result<Stamp> {
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if !kind.is_file() {
        let what = "not a regular file: random access needs one";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    stamp(file)
}

impl ReadAt for FileAt {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        pread(&self.file, buf, offset)
    }

    fn total(&self) -> io::Result<u64> {
        Ok(self.opened.total)
    }

    fn changed(&self) -> bool {
        stamp(&self.file).map_or(true, |now| now != self.opened)
    }
}

#[cfg(unix)]
pub(crate) fn pread(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    // File systems over a network, or in a process, may let a signal interrupt them.
    Ok(rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *buf, offset))?)
}

#[cfg(not(unix))]
pub(crate) fn pread(_file: &File, _buf: &mut [u8], _offset: u64) -> io::Result<usize> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "reading files needs a unix system"))
}

#[cfg(unix)]
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
    Ok(File::from(opened))
}

#[cfg(not(unix))]
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(crate) fn stamp(file: &File) -> io::Result<Stamp> {
    Ok(stamp_of(&file.metadata()?))
}

#[cfg(unix)]
pub(crate) fn stamp_of(meta: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    Stamp {
        total: meta.len(),
        modified: (meta.mtime(), meta.mtime_nsec()),
        place: (meta.dev(), meta.ino()),
    }
}

#[cfg(not(unix))]
pub(crate) fn stamp_of(meta: &Metadata) -> Stamp {
    Stamp { total: meta.len(), modified: (0, 0), place: (0, 0) }
}

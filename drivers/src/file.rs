//! Random-access sources: a file read by `pread`, and bytes in memory.
//!
//! [`ReadAt`] is all that an archive needs from its source. [`FileAt`] reads with `pread(2)`,
//! so that one descriptor serves many threads without a lock or a shared position, and so that
//! a file that shrinks while it is open gives a short read, never a fault.

use std::fs::File;
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
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().read_at(buf, offset)
    }

    fn total(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
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
}

/// A file read by `pread`.
#[derive(Debug)]
pub struct FileAt {
    file: File,
    opened: Stamp,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    total: u64,
    modified: (i64, i64),
}

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
        let kind = file.metadata()?.file_type();
        if kind.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
        }
        if !kind.is_file() {
            let what = "not a regular file: random access needs one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let opened = stamp(&file)?;
        Ok(FileAt { file, opened })
    }
}

impl ReadAt for FileAt {
    #[cfg(unix)]
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(rustix::io::pread(&self.file, buf, offset)?)
    }

    #[cfg(not(unix))]
    fn read_at(&self, _buf: &mut [u8], _offset: u64) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "reading files needs a unix system"))
    }

    fn total(&self) -> io::Result<u64> {
        Ok(self.opened.total)
    }

    fn changed(&self) -> bool {
        stamp(&self.file).map_or(true, |now| now != self.opened)
    }
}

#[cfg(unix)]
fn open_file(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn stamp(file: &File) -> io::Result<Stamp> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata()?;
    Ok(Stamp { total: meta.len(), modified: (meta.mtime(), meta.mtime_nsec()) })
}

#[cfg(not(unix))]
fn stamp(file: &File) -> io::Result<Stamp> {
    Ok(Stamp { total: file.metadata()?.len(), modified: (0, 0) })
}

//! Archives through both drivers and every kind of source: one suite for all of them, what is
//! special to each, and that they all tell the same.

#[cfg(feature = "blocking")]
mod blocking;
#[cfg(all(feature = "blocking", feature = "tokio", feature = "mmap"))]
mod same;
mod suite;
#[cfg(feature = "tokio")]
mod tokio;

use std::io;
use std::path::Path;

use rocload::many::{Files, Pooled};
use rocload::{FileAt, Limits, ReadAt};

/// A kind of source.
pub(crate) trait Source: 'static {
    type Reader: ReadAt + Send + Sync + 'static;
    fn read(path: &Path) -> io::Result<Self::Reader>;
}

/// `&[u8]`; read once and never given back, as a constant would be.
pub(crate) struct Bytes;
/// A file, by `pread`.
pub(crate) struct Pread;
/// A file of a set that keeps one open.
pub(crate) struct Pool;
/// A memory mapping.
#[cfg(feature = "mmap")]
pub(crate) struct Map;

impl Source for Bytes {
    type Reader = &'static [u8];
    fn read(path: &Path) -> io::Result<&'static [u8]> {
        Ok(std::fs::read(path)?.leak())
    }
}

impl Source for Pread {
    type Reader = FileAt;
    fn read(path: &Path) -> io::Result<FileAt> {
        FileAt::open(path)
    }
}

impl Source for Pool {
    type Reader = Pooled;
    fn read(path: &Path) -> io::Result<Pooled> {
        let mut limits = Limits::default();
        limits.open_archives = 1;
        Files::new(&limits).open(path)
    }
}

#[cfg(feature = "mmap")]
impl Source for Map {
    type Reader = rocload::Mapped;
    fn read(path: &Path) -> io::Result<rocload::Mapped> {
        // SAFETY: no test writes to or truncates a file that it has mapped.
        unsafe { rocload::Mapped::open(path) }
    }
}

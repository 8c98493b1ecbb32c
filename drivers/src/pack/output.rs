//! Where an archive is written to.

use std::fs::File;
use std::io::{self, Write};

use rocload_core::kpack::Put;

/// An output that is written at absolute offsets.
pub trait WriteAt {
    /// Writes all of `bytes` at `offset`. What lies between the end and an offset beyond it
    /// becomes zeros.
    ///
    /// # Errors
    /// The output's own.
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Whether it can be written elsewhere than behind the last byte.
    fn seeks(&self) -> bool {
        true
    }
}

#[cfg(unix)]
impl WriteAt for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, offset)
    }
}

#[cfg(not(unix))]
impl WriteAt for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        use std::io::{Seek, SeekFrom};
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }
}

/// Grows as it must.
impl WriteAt for Vec<u8> {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        if end > self.len() {
            self.try_reserve(end - self.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
            self.resize(end, 0);
        }
        self[start..end].copy_from_slice(bytes);
        Ok(())
    }
}

impl<W: WriteAt + ?Sized> WriteAt for &mut W {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        (**self).write_all_at(bytes, offset)
    }

    fn seeks(&self) -> bool {
        (**self).seeks()
    }
}

/// An output that cannot seek, such as a pipe or a socket.
#[derive(Debug)]
pub struct Stream<W> {
    output: W,
    at: u64,
}

impl<W: Write> Stream<W> {
    /// Writes to `output` from its present position on.
    pub const fn new(output: W) -> Self {
        Stream { output, at: 0 }
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.output
    }
}

impl<W: Write> WriteAt for Stream<W> {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if offset != self.at {
            return Err(io::ErrorKind::NotSeekable.into());
        }
        self.output.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn seeks(&self) -> bool {
        false
    }
}

/// Joins small writes that follow each other.
pub(super) struct Buffered<'w, W: ?Sized> {
    output: &'w mut W,
    bytes: Vec<u8>,
    /// Where the buffer's first byte belongs.
    at: u64,
}

/// Length of the buffer in bytes: a longer write is not copied.
const BUFFER: usize = 256 << 10;

impl<'w, W: WriteAt + ?Sized> Buffered<'w, W> {
    pub(super) fn new(output: &'w mut W) -> Self {
        Buffered { output, bytes: Vec::with_capacity(BUFFER), at: 0 }
    }

    pub(super) fn put(&mut self, put: &Put<'_>) -> io::Result<()> {
        let follows = put.offset == self.at + self.bytes.len() as u64;
        if !follows || self.bytes.len() + put.bytes.len() > BUFFER {
            self.flush()?;
            self.at = put.offset;
        }
        if put.bytes.len() >= BUFFER {
            self.output.write_all_at(put.bytes, put.offset)?;
            self.at = put.offset + put.bytes.len() as u64;
        } else {
            self.bytes.extend_from_slice(put.bytes);
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        if !self.bytes.is_empty() {
            self.output.write_all_at(&self.bytes, self.at)?;
            self.at += self.bytes.len() as u64;
            self.bytes.clear();
        }
        Ok(())
    }
}

//! One thread's means of fetching kernels: a decoder and buffers that are used again.
//!
//! ```
//! use rocload::{Archive, Options};
//!
//! let archive = Archive::from_source(rocload::kpack::EXAMPLE, &Options::default())?;
//! let mut worker = archive.worker();
//! let entry = archive.entry("lib/libsmall.so#0", "gfx90a")?;
//! assert_eq!(worker.kernel(&entry)?, b"a code objec");
//! # Ok::<(), rocload::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt;

use rocload_core::kpack::{Entry, Fault, Scheme, load};
use rocload_core::zstd::Decompress;
use rocload_core::{Error as CoreError, ErrorKind as CoreKind, Full};
use sha2::{Digest, Sha256};

use crate::archive::Archive;
use crate::decoder::{Bench, Decoder};
use crate::error::{Error, ErrorKind};
use crate::file::ReadAt;
use crate::frames::Extent;

/// Memory that is made for a kernel once its size is known, such as a C library's own.
pub trait Room {
    /// Memory of `size` bytes or more, in place of any given before; `None` where there is none.
    fn room(&mut self, size: usize) -> Option<&mut [u8]>;
}

/// The vector becomes as long as the kernel.
impl Room for Vec<u8> {
    fn room(&mut self, size: usize) -> Option<&mut [u8]> {
        self.try_reserve_exact(size.saturating_sub(self.len())).ok()?;
        self.resize(size, 0);
        Some(self)
    }
}

/// Fetches kernels of one archive with one decoder; made by [`Archive::worker`]. The decoder
/// and its buffer go back to the archive when the worker is dropped.
pub struct Worker<'a, R: ReadAt> {
    archive: &'a Archive<R>,
    decoder: Option<Decoder>,
    /// What was read last is in front; bytes behind it are of earlier kernels, so that a buffer
    /// that is used again need not be zeroed again.
    buffer: Vec<u8>,
    len: usize,
    window: Vec<u8>,
}

const READING: &str = "reading the kernel";
/// Pieces in which an uncompressed kernel is shown, in bytes.
const PIECE: usize = 256 << 10;

impl<R: ReadAt> fmt::Debug for Worker<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("decoder", &self.decoder_name()).finish_non_exhaustive()
    }
}

impl<R: ReadAt> Drop for Worker<'_, R> {
    fn drop(&mut self) {
        if let Some(decoder) = self.decoder.take() {
            let stored = std::mem::take(&mut self.buffer);
            self.archive.put_back(Bench { decoder, stored });
        }
    }
}

impl<'a, R: ReadAt> Worker<'a, R> {
    pub(crate) fn new(archive: &'a Archive<R>, bench: Bench) -> Self {
        let Bench { decoder, stored } = bench;
        Worker { archive, decoder: Some(decoder), buffer: stored, len: 0, window: Vec::new() }
    }

    /// The name of the decoder in use.
    pub fn decoder_name(&self) -> &'static str {
        self.decoder.as_ref().map_or("none", |decoder| decoder.name())
    }

    /// The archive that kernels are fetched from.
    pub fn archive(&self) -> &'a Archive<R> {
        self.archive
    }

    /// A kernel in memory of its own.
    ///
    /// # Errors
    /// As [`Archive::kernel`].
    pub fn kernel(&mut self, entry: &Entry<'_>) -> Result<Vec<u8>, Error> {
        let mut kernel = Vec::new();
        self.kernel_in(entry, &mut kernel)?;
        Ok(kernel)
    }

    /// A kernel without a copy where the source lies in memory and the archive stores it as it
    /// is, else in memory of its own.
    ///
    /// # Errors
    /// As [`Archive::kernel`].
    pub fn kernel_cow(&mut self, entry: &Entry<'_>) -> Result<Cow<'a, [u8]>, Error> {
        if entry.scheme == Scheme::None {
            let extent = self.admit(entry)?;
            if let Some(kernel) = self.archive.source.bytes(extent.offset, extent.len) {
                return Ok(Cow::Borrowed(kernel));
            }
        }
        self.kernel(entry).map(Cow::Owned)
    }

    /// A kernel into the front of `dst`; returns its size in bytes.
    ///
    /// # Errors
    /// As [`Archive::kernel_into`].
    pub fn kernel_into(&mut self, entry: &Entry<'_>, dst: &mut [u8]) -> Result<usize, Error> {
        let extent = self.admit(entry)?;
        let room = usize::try_from(entry.size).ok().and_then(|size| dst.get_mut(..size));
        let Some(room) = room else {
            let full = CoreKind::Full(Full { need: entry.size });
            return Err(self.format_error(entry, CoreError::new(full, extent.offset)));
        };
        self.check(entry, extent)?;
        self.fill(entry, extent, room)?;
        self.unchanged(entry)?;
        Ok(room.len())
    }

    /// A kernel into the front of memory that is asked for once its size is known and its stored
    /// bytes were judged; returns its size in bytes. What the memory held is never relied on.
    ///
    /// # Errors
    /// As [`Archive::kernel`], and [`Full`] where the memory is too small.
    pub fn kernel_in(&mut self, entry: &Entry<'_>, room: &mut dyn Room) -> Result<usize, Error> {
        let extent = self.admit(entry)?;
        self.check(entry, extent)?;
        let refused = || {
            let error = Error::new(ErrorKind::Memory { bytes: entry.size }, READING);
            self.archive.failed(error, entry.binary, entry.arch)
        };
        let size = usize::try_from(entry.size).map_err(|_| refused())?;
        let dst = room.room(size).ok_or_else(refused)?;
        let Some(dst) = dst.get_mut(..size) else {
            let full = CoreKind::Full(Full { need: entry.size });
            return Err(self.format_error(entry, CoreError::new(full, extent.offset)));
        };
        self.fill(entry, extent, dst)?;
        self.unchanged(entry)?;
        Ok(size)
    }

    /// Decodes a kernel and shows it in pieces, in order, with memory bounded by
    /// [`Limits::window_bytes`](rocload_core::Limits::window_bytes): for hashing and verifying.
    /// The pieces are proven only once this returns without error.
    ///
    /// # Errors
    /// As [`Archive::kernel`], and a window over the limit.
    pub fn pieces(&mut self, entry: &Entry<'_>, sink: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let extent = self.admit(entry)?;
        if entry.scheme == Scheme::None {
            self.stored_pieces(entry, extent, sink)?;
            return self.unchanged(entry);
        }
        self.check(entry, extent)?;
        let Worker { archive, decoder, buffer, len, window } = self;
        let Some(decoder) = decoder else { return Ok(()) };
        let stored = archive.source.bytes(extent.offset, extent.len).unwrap_or(&buffer[..*len]);
        decoder
            .decode_pieces(stored, entry.size, &archive.limits, window, sink)
            .map_err(|error| self.format_error(entry, error.rebased(extent.offset)))?;
        self.unchanged(entry)
    }

    /// A kernel's stored bytes in memory of their own: structure and sizes are checked, and
    /// nothing is decoded.
    ///
    /// # Errors
    /// As [`Archive::kernel`].
    pub fn into_stored(mut self, entry: &Entry<'_>) -> Result<Vec<u8>, Error> {
        let extent = self.admit(entry)?;
        self.check(entry, extent)?;
        if let Some(bytes) = self.archive.source.bytes(extent.offset, extent.len) {
            return Ok(bytes.to_vec());
        }
        if entry.scheme == Scheme::None {
            self.read(entry, extent)?;
        }
        self.unchanged(entry)?;
        // A buffer that held a much larger kernel stays here.
        if self.buffer.capacity() / 2 > self.len {
            return Ok(self.stored().to_vec());
        }
        self.buffer.truncate(self.len);
        Ok(std::mem::take(&mut self.buffer))
    }

    /// As [`pieces`](Self::pieces), and compares what was shown with the table's `sha256`, if it
    /// has one for this kernel.
    ///
    /// # Errors
    /// As [`pieces`](Self::pieces), and [`Fault::Sha256`].
    pub fn verify(&mut self, entry: &Entry<'_>, sink: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let Some(expected) = entry.sha256 else { return self.pieces(entry, sink) };
        let mut hash = Sha256::new();
        self.pieces(entry, &mut |piece| {
            hash.update(piece);
            sink(piece);
        })?;
        if hash.finalize()[..] == expected[..] {
            return Ok(());
        }
        let offset = self.archive.extent(entry)?.offset;
        Err(self.format_error(entry, CoreError::new(CoreKind::Kpack(Fault::Sha256), offset)))
    }

    fn stored_pieces(
        &mut self,
        entry: &Entry<'_>,
        extent: Extent,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        if let Some(kernel) = self.archive.source.bytes(extent.offset, extent.len) {
            kernel.chunks(PIECE).for_each(sink);
            return Ok(());
        }
        let mut done = 0;
        while done < extent.len {
            let len = (extent.len - done).min(PIECE as u64);
            self.read(entry, Extent { offset: extent.offset + done, len })?;
            sink(self.stored());
            done += len;
        }
        Ok(())
    }

    /// Finds where the kernel is stored and judges its sizes, before anything is read for it.
    fn admit(&self, entry: &Entry<'_>) -> Result<Extent, Error> {
        let extent = self.archive.extent(entry)?;
        load::admit(entry, extent.offset, extent.len, &self.archive.limits)
            .map_err(|error| self.format_error(entry, error))?;
        Ok(extent)
    }

    /// Reads a compressed kernel's stored bytes and judges them, before room is made for what
    /// they decode to.
    fn check(&mut self, entry: &Entry<'_>, extent: Extent) -> Result<(), Error> {
        if entry.scheme == Scheme::None {
            return Ok(());
        }
        let stored = match self.archive.source.bytes(extent.offset, extent.len) {
            Some(stored) => stored,
            None => {
                self.read(entry, extent)?;
                self.stored()
            }
        };
        load::check(entry, extent.offset, stored, &self.archive.limits)
            .map_err(|error| self.format_error(entry, error))
    }

    /// Makes the kernel in `dst`: read straight into it, or decoded from what was checked.
    fn fill(&mut self, entry: &Entry<'_>, extent: Extent, dst: &mut [u8]) -> Result<(), Error> {
        if entry.scheme == Scheme::None {
            return self.read_into(entry, extent.offset, dst);
        }
        let decoder = self.decoder.as_deref_mut().map(|decoder| decoder as &mut dyn Decompress);
        let borrowed = self.archive.source.bytes(extent.offset, extent.len);
        let stored = borrowed.unwrap_or(&self.buffer[..self.len]);
        load::expand(entry, extent.offset, stored, decoder, dst)
            .map_err(|error| self.format_error(entry, error))
    }

    /// The stored bytes that were read last.
    fn stored(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// Reads stored bytes into the worker's buffer.
    fn read(&mut self, entry: &Entry<'_>, extent: Extent) -> Result<(), Error> {
        let refused = || {
            let error = Error::new(ErrorKind::Memory { bytes: extent.len }, READING);
            self.archive.failed(error, entry.binary, entry.arch)
        };
        let len = usize::try_from(extent.len).map_err(|_| refused())?;
        self.len = 0;
        let more = len.saturating_sub(self.buffer.len());
        if self.buffer.try_reserve_exact(more).is_err() {
            return Err(refused());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        if more > 0 {
            buffer.resize(len, 0);
        }
        let result = self.read_into(entry, extent.offset, &mut buffer[..len]);
        self.buffer = buffer;
        self.len = len;
        result
    }

    /// What was read is of the file that was opened: one that was written to since may give the
    /// bytes of another kernel without any fault.
    fn unchanged(&self, entry: &Entry<'_>) -> Result<(), Error> {
        if !self.archive.source.changed() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Changed, READING);
        Err(self.archive.failed(error, entry.binary, entry.arch))
    }

    fn read_into(&self, entry: &Entry<'_>, offset: u64, dst: &mut [u8]) -> Result<(), Error> {
        let kind = match self.archive.source.read_full_at(dst, offset) {
            Ok(got) if got == dst.len() => return Ok(()),
            // Extents were checked against the length at open: the file is shorter now.
            Ok(_) => ErrorKind::Changed,
            Err(error) => ErrorKind::io(error),
        };
        Err(self.archive.failed(Error::new(kind, READING), entry.binary, entry.arch))
    }

    fn format_error(&self, entry: &Entry<'_>, error: CoreError) -> Error {
        let error = Error::new(ErrorKind::Format(error), READING);
        self.archive.failed(error, entry.binary, entry.arch)
    }
}

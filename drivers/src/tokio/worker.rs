//! Fetching kernels by their entries, off the reactor.

use std::sync::Arc;

use ::tokio::sync::mpsc;
use ::tokio::task::yield_now;
use rocload_core::kpack::Entry;
use rocload_core::{Error as CoreError, ErrorKind as CoreKind, Full};

use super::archive::Archive;
use crate::archive;
use crate::error::{Error, ErrorKind};
use crate::file::ReadAt;
use crate::worker;

/// Fetches kernels of one archive by their entries; made by [`Archive::worker`]. Any number of
/// them work at once; the decoders rest in the archive.
#[derive(Debug)]
pub struct Worker<'a, R> {
    archive: &'a Archive<R>,
}

const READING: &str = "reading the kernel";
/// What is copied at once before others get their turn, in bytes.
const PIECE: usize = 1 << 20;
/// Pieces of a kernel that wait to be looked at.
const AHEAD: usize = 2;

impl<'a, R: ReadAt + Send + Sync + 'static> Worker<'a, R> {
    pub(super) const fn new(archive: &'a Archive<R>) -> Self {
        Worker { archive }
    }

    /// The name of the decoder in use.
    pub fn decoder_name(&self) -> &'static str {
        crate::decoder::default_name()
    }

    /// The archive that kernels are fetched from.
    pub fn archive(&self) -> &'a Archive<R> {
        self.archive
    }

    /// A kernel in memory of its own.
    ///
    /// # Errors
    /// As the blocking [`Worker::kernel`](worker::Worker::kernel).
    pub async fn kernel(&mut self, entry: &Entry<'_>) -> Result<Vec<u8>, Error> {
        let work = |worker: &mut worker::Worker<'_, R>, entry: &Entry<'_>| worker.kernel(entry);
        self.archive.with_entry(entry, READING, work).await
    }

    /// A kernel into the front of memory that is asked for, on the thread that decodes, once its
    /// size is known; returns the room that made it, and the kernel's size in bytes.
    ///
    /// # Errors
    /// As the blocking [`Worker::kernel_in`](worker::Worker::kernel_in).
    pub async fn kernel_in<M: worker::Room + Send + 'static>(
        &mut self,
        entry: &Entry<'_>,
        mut room: M,
    ) -> Result<(M, usize), Error> {
        let work = move |worker: &mut worker::Worker<'_, R>, entry: &Entry<'_>| {
            let size = worker.kernel_in(entry, &mut room)?;
            Ok((room, size))
        };
        self.archive.with_entry(entry, READING, work).await
    }

    /// A kernel into the front of `dst`; returns its size in bytes. It is made in memory of its
    /// own and copied, since a thread that works on after this future was dropped must not write
    /// to `dst`.
    ///
    /// # Errors
    /// As the blocking [`Worker::kernel_into`](worker::Worker::kernel_into).
    pub async fn kernel_into(&mut self, entry: &Entry<'_>, dst: &mut [u8]) -> Result<usize, Error> {
        // Before anything is decoded; where it is stored is told as the blocking one does.
        let size = usize::try_from(entry.size).ok().filter(|&size| size <= dst.len());
        let Some(size) = size else {
            let extent = self.archive.extent(entry).await?;
            let full = CoreError::new(CoreKind::Full(Full { need: entry.size }), extent.offset);
            let error = Error::new(ErrorKind::Format(full), READING);
            let blocking = self.archive.blocking();
            return Err(blocking
                .refused(entry, extent)
                .unwrap_or_else(|| blocking.failed(error, entry.binary, entry.arch)));
        };
        let kernel = self.kernel(entry).await?;
        for (to, from) in dst[..size].chunks_mut(PIECE).zip(kernel.chunks(PIECE)) {
            to.copy_from_slice(from);
            if from.len() == PIECE {
                yield_now().await;
            }
        }
        Ok(size)
    }

    /// Decodes a kernel and shows it in pieces, in order, with bounded memory: as the blocking
    /// [`Worker::pieces`](worker::Worker::pieces). The pieces are proven only once this returns
    /// without error.
    ///
    /// # Errors
    /// As the blocking [`Worker::pieces`](worker::Worker::pieces).
    pub async fn pieces(
        &mut self,
        entry: &Entry<'_>,
        sink: impl FnMut(&[u8]) + Send,
    ) -> Result<(), Error> {
        self.shown(entry, sink, |worker, entry, sink| worker.pieces(entry, sink)).await
    }

    /// As [`pieces`](Self::pieces), and compares what was shown with the table's `sha256`, if it
    /// has one for this kernel.
    ///
    /// # Errors
    /// As the blocking [`Worker::verify`](worker::Worker::verify).
    pub async fn verify(
        &mut self,
        entry: &Entry<'_>,
        sink: impl FnMut(&[u8]) + Send,
    ) -> Result<(), Error> {
        self.shown(entry, sink, |worker, entry, sink| worker.verify(entry, sink)).await
    }

    async fn shown(
        &mut self,
        entry: &Entry<'_>,
        mut sink: impl FnMut(&[u8]) + Send,
        show: impl FnOnce(
            &mut worker::Worker<'_, R>,
            &Entry<'_>,
            &mut dyn FnMut(&[u8]),
        ) -> Result<(), Error>
        + Send
        + 'static,
    ) -> Result<(), Error> {
        let (give, mut take) = mpsc::channel::<Vec<u8>>(AHEAD);
        let work = move |worker: &mut worker::Worker<'_, R>, entry: &Entry<'_>| {
            show(worker, entry, &mut |piece| {
                // Nobody listens any more: the future was dropped.
                let _ = give.blocking_send(piece.to_vec());
            })
        };
        let running = self.archive.start(entry, work).await?;
        while let Some(piece) = take.recv().await {
            sink(&piece);
        }
        running.await.map_err(|error| self.archive.off(error, READING))?
    }
}

impl<R: ReadAt> archive::Archive<R> {
    /// What is wrong with an entry's size, whatever the caller's room.
    fn refused(&self, entry: &Entry<'_>, extent: crate::Extent) -> Option<Error> {
        rocload_core::kpack::load::admit(entry, extent.offset, extent.len, &self.limits)
            .err()
            .map(|error| Error::new(ErrorKind::Format(error), READING))
            .map(|error| self.failed(error, entry.binary, entry.arch))
    }
}

/// The names of an entry, for a thread that finds it again: an entry borrows from its archive.
pub(super) struct Names {
    binary: Vec<u8>,
    arch: Vec<u8>,
}

impl Names {
    pub(super) fn of(entry: &Entry<'_>) -> Names {
        Names { binary: entry.binary.to_vec(), arch: entry.arch.to_vec() }
    }

    pub(super) fn find<'a, R: ReadAt>(
        &self,
        archive: &'a Arc<archive::Archive<R>>,
    ) -> Result<Entry<'a>, Error> {
        archive.entry(&self.binary, &self.arch)
    }
}

//! Work off the reactor, on a bounded number of threads, and what is read there.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync::Semaphore;
use ::tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::AsyncReadAt;
use crate::default_threads;
use crate::file::{self, ReadAt};

/// Where work runs: so many pieces at once as there are slots. Clones share the slots.
#[derive(Debug, Clone)]
pub(super) struct Slots(Arc<Semaphore>);

impl Default for Slots {
    fn default() -> Self {
        Slots(Arc::new(Semaphore::new(default_threads().get())))
    }
}

impl Slots {
    /// Runs `work` on a thread for blocking calls, once a slot is free.
    ///
    /// Dropping the future loses nothing: work that waits for a slot or a thread is forgotten;
    /// work that has begun ends on its thread, which gives the slot back only then.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.start(work).await?.await
    }

    /// As [`run`](Self::run), and returns once the work may begin.
    pub(super) async fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Running<T>> {
        let slot = Arc::clone(&self.0).acquire_owned().await.map_err(io::Error::other)?;
        Ok(Running(spawn_blocking(move || {
            let done = work();
            drop(slot);
            done
        })))
    }
}

/// Work on its thread.
pub(super) struct Running<T>(JoinHandle<T>);

impl<T> Future for Running<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        Pin::new(&mut self.0).poll(cx).map(|joined| joined.map_err(ended))
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        // What has not begun is not begun.
        self.0.abort();
    }
}

/// A panic goes on in the caller; else the runtime ends and takes no more work.
fn ended(error: JoinError) -> io::Error {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => io::Error::other("the runtime is shutting down"),
    }
}

/// Reads a blocking source off the reactor, for [`read_at`](super::read_at).
///
/// ```
/// use std::ops::ControlFlow;
/// use rocload::drive::Window;
/// use rocload::kpack::{Open, Opened, OwnedIndex, Strictness};
/// use rocload::tokio::{OffReactor, read_at};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let bytes = rocload::kpack::EXAMPLE.to_vec();
/// // A file by path: FileAt::open("libs.kpack").await?; here, bytes in memory.
/// let source = OffReactor::new(bytes);
/// let total = source.total()?;
/// let mut open = Open::new(total, Default::default(), Strictness::Strict, Vec::new(), OwnedIndex::default());
/// let mut kernels = 0;
/// read_at(&source, &mut open, &mut Window::new(), |item| {
///     if let Opened::Toc(toc) = item {
///         kernels = toc.counts().entries;
///     }
///     ControlFlow::<()>::Continue(())
/// })
/// .await?;
/// assert_eq!(kernels, 1);
/// # Ok::<(), rocload::drive::DriveError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct OffReactor<R> {
    source: Arc<R>,
    slots: Slots,
}

/// A file read by `pread`, off the reactor.
pub type FileAt = OffReactor<file::FileAt>;

/// The most that one call reads, in bytes: a longer read takes several.
const MOST: usize = 256 << 10;

impl<R> Clone for OffReactor<R> {
    fn clone(&self) -> Self {
        OffReactor { source: Arc::clone(&self.source), slots: self.slots.clone() }
    }
}

impl FileAt {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// As the blocking [`FileAt::open`](file::FileAt::open).
    pub async fn open(path: impl AsRef<Path>) -> io::Result<FileAt> {
        let (path, slots) = (path.as_ref().to_path_buf(), Slots::default());
        let file = slots.run(move || file::FileAt::open(path)).await??;
        Ok(OffReactor { source: Arc::new(file), slots })
    }
}

impl<R: ReadAt> OffReactor<R> {
    /// Reads `source`, on as many threads at once as there are processors.
    pub fn new(source: R) -> Self {
        OffReactor { source: Arc::new(source), slots: Slots::default() }
    }

    /// Length in bytes.
    ///
    /// # Errors
    /// The source's own.
    pub fn total(&self) -> io::Result<u64> {
        self.source.total()
    }

    /// The source.
    pub fn source(&self) -> &R {
        &self.source
    }
}

impl<R: ReadAt + Send + Sync + 'static> OffReactor<R> {
    /// Whether the source is known to differ from what it was when it was opened.
    pub async fn changed(&self) -> bool {
        let source = Arc::clone(&self.source);
        self.slots.run(move || source.changed()).await.unwrap_or(true)
    }
}

/// Runs what may block on a thread for it.
pub(super) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(ended)?
}

impl<R: ReadAt + Send + Sync + 'static> AsyncReadAt for OffReactor<R> {
    async fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let (source, len) = (Arc::clone(&self.source), buf.len().min(MOST));
        // The thread may outlive this future: it reads into memory of its own.
        let read = move || {
            let mut piece = vec![0; len];
            let n = source.read_at(&mut piece, offset)?;
            piece.truncate(n);
            io::Result::Ok(piece)
        };
        let piece = self.slots.run(read).await??;
        buf[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

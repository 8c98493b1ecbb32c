//! A kpack archive, async: the blocking one, at work on other threads.
//!
//! What lies in memory is told at once, by plain calls: the table, entries, sizes. What reads or
//! decodes is a future that is `Send` and cancellation safe: dropped, it leaves the archive as
//! sound as it was, and the same call may be made again.
//!
//! ```
//! use rocload::Options;
//! use rocload::tokio::Archive;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! // A file by path: Archive::open("libs.kpack").await?; here, bytes in memory.
//! let archive = Archive::from_source(rocload::kpack::EXAMPLE, &Options::default()).await?;
//! let entry = archive.entry("lib/libsmall.so#0", "gfx90a")?;
//! assert_eq!(entry.size, 12);
//! let kernel = archive.kernel("lib/libsmall.so#0", "gfx90a").await?;
//! assert_eq!(kernel, b"a code objec");
//! # Ok::<(), rocload::Error>(())
//! # }).unwrap();
//! ```

use std::borrow::Cow;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rocload_core::kpack::{Entry, OwnedToc, Record, Scheme};

use super::off::{Running, Slots};
use super::worker::{Names, Worker};
use crate::archive::{self, Options};
use crate::error::{Error, ErrorKind};
use crate::file::{FileAt, ReadAt};
use crate::frames::Extent;
use crate::verify::Verdict;
use crate::worker;

/// An open archive. Clones are the same archive.
///
/// At most as many calls work at once as there are processors; the others wait for a slot.
#[derive(Debug)]
pub struct Archive<R = FileAt> {
    inner: Arc<archive::Archive<R>>,
    slots: Slots,
}

impl<R> Clone for Archive<R> {
    fn clone(&self) -> Self {
        Archive { inner: Arc::clone(&self.inner), slots: self.slots.clone() }
    }
}

/// An archive that is open already, for async code.
impl<R> From<archive::Archive<R>> for Archive<R> {
    fn from(archive: archive::Archive<R>) -> Self {
        Archive { inner: Arc::new(archive), slots: Slots::default() }
    }
}

const OPENING: &str = "opening the archive";

impl Archive<FileAt> {
    /// Opens the archive at `path`, strictly and with the default limits.
    ///
    /// # Errors
    /// As the blocking [`Archive::open`](archive::Archive::open).
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &Options::default()).await
    }

    /// Opens the archive at `path`.
    ///
    /// # Errors
    /// As the blocking [`Archive::open`](archive::Archive::open).
    pub async fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let (path, options) = (path.as_ref().to_path_buf(), *options);
        Self::opened(Slots::default(), move || archive::Archive::open_with(path, &options)).await
    }
}

impl<R: ReadAt + Send + Sync + 'static> Archive<R> {
    /// Opens the archive that `source` holds.
    ///
    /// # Errors
    /// As the blocking [`Archive::from_source`](archive::Archive::from_source).
    pub async fn from_source(source: R, options: &Options) -> Result<Self, Error> {
        let options = *options;
        let open = move || archive::Archive::from_source(source, &options);
        Self::opened(Slots::default(), open).await
    }

    pub(super) async fn opened(
        slots: Slots,
        open: impl FnOnce() -> Result<archive::Archive<R>, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let opened = slots.run(open).await;
        let inner = opened.map_err(|error| Error::new(ErrorKind::Io(error), OPENING))??;
        Ok(Archive { inner: Arc::new(inner), slots })
    }

    /// The archive that does the work, to be kept.
    pub(super) fn shared(&self) -> Arc<archive::Archive<R>> {
        Arc::clone(&self.inner)
    }

    /// The archive that does the work, for calls that may block.
    pub fn blocking(&self) -> &archive::Archive<R> {
        &self.inner
    }

    /// The table of contents.
    pub fn toc(&self) -> &OwnedToc {
        self.inner.toc()
    }

    /// The path that it was opened by.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path()
    }

    /// The source of its bytes.
    pub fn source(&self) -> &R {
        self.inner.source()
    }

    /// The number of kernels.
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// There is no kernel.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Numbers of all entries in the order of enumeration, which is made at the first call, off
    /// the reactor.
    pub async fn order(&self) -> &[u32] {
        let inner = Arc::clone(&self.inner);
        // Where the runtime takes no more work, it is made here.
        let _ = self.slots.run(move || inner.order().len()).await;
        self.inner.order()
    }

    /// All entries in the order of enumeration, as the blocking
    /// [`Archive::entries`](archive::Archive::entries).
    pub async fn entries(&self) -> impl ExactSizeIterator<Item = Result<Entry<'_>, Error>> + Send {
        self.order().await.iter().map(|&id| self.inner.entry_at(id))
    }

    /// The entry with a number from [`order`](Self::order).
    ///
    /// # Errors
    /// As the blocking [`Archive::entry_at`](archive::Archive::entry_at).
    ///
    /// # Panics
    /// When `id` is not such a number.
    pub fn entry_at(&self, id: u32) -> Result<Entry<'_>, Error> {
        self.inner.entry_at(id)
    }

    /// The names of an entry with a number from [`order`](Self::order).
    ///
    /// # Panics
    /// When `id` is not such a number.
    pub fn record_at(&self, id: u32) -> Record<'_> {
        self.inner.record_at(id)
    }

    /// The entry of exactly this binary and architecture; reads nothing.
    ///
    /// # Errors
    /// As the blocking [`Archive::entry`](archive::Archive::entry).
    pub fn entry(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
    ) -> Result<Entry<'_>, Error> {
        self.inner.entry(binary, arch)
    }

    /// The entry of `binary` that best fits an agent's ISA; reads nothing.
    ///
    /// # Errors
    /// As the blocking [`Archive::entry_for`](archive::Archive::entry_for).
    pub fn entry_for(&self, binary: impl AsRef<[u8]>, isa: &str) -> Result<Entry<'_>, Error> {
        self.inner.entry_for(binary, isa)
    }

    /// Where a kernel is stored; in a zstd archive this may read.
    ///
    /// # Errors
    /// As the blocking [`Archive::extent`](archive::Archive::extent).
    pub async fn extent(&self, entry: &Entry<'_>) -> Result<Extent, Error> {
        if entry.scheme == Scheme::None {
            return self.inner.extent(entry);
        }
        let work =
            |worker: &mut worker::Worker<'_, R>, entry: &Entry<'_>| worker.archive().extent(entry);
        self.with_entry(entry, "finding the frame", work).await
    }

    /// Walks all frame lengths of a zstd archive. Returns the number of stored kernels.
    ///
    /// # Errors
    /// As the blocking [`Archive::walk_frames`](archive::Archive::walk_frames).
    pub async fn walk_frames(&self) -> Result<u32, Error> {
        let inner = Arc::clone(&self.inner);
        let walked = self.slots.run(move || inner.walk_frames()).await;
        walked.map_err(|error| self.off(error, "walking the frames"))?
    }

    /// A kernel in memory of its own.
    ///
    /// # Errors
    /// As the blocking [`Archive::kernel`](archive::Archive::kernel).
    pub async fn kernel(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
    ) -> Result<Vec<u8>, Error> {
        let entry = self.inner.entry(binary, arch)?;
        self.worker().kernel(&entry).await
    }

    /// A kernel without a copy where the source lies in memory and the archive stores it as it
    /// is, else in memory of its own. The pages of a mapping that was not read yet are read when
    /// they are touched, by whoever touches them.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel).
    pub async fn kernel_cow(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
    ) -> Result<Cow<'_, [u8]>, Error> {
        let entry = self.inner.entry(binary, arch)?;
        let borrowed = |len| self.inner.source().bytes(entry.offset?, len);
        if entry.scheme == Scheme::None && entry.stored_size.and_then(borrowed).is_some() {
            return self.inner.worker().kernel_cow(&entry);
        }
        self.worker().kernel(&entry).await.map(Cow::Owned)
    }

    /// A kernel into the front of `dst`; returns its size in bytes.
    ///
    /// # Errors
    /// As the blocking [`Archive::kernel_into`](archive::Archive::kernel_into).
    pub async fn kernel_into(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
        dst: &mut [u8],
    ) -> Result<usize, Error> {
        let entry = self.inner.entry(binary, arch)?;
        self.worker().kernel_into(&entry, dst).await
    }

    /// A worker: fetches kernels by their entries.
    pub fn worker(&self) -> Worker<'_, R> {
        Worker::new(self)
    }

    /// Calls `work` once for each entry number in `ids`, on `threads` threads that are not the
    /// reactor's, which take one slot together; a break stops them. A dropped future stops them
    /// after the kernel that each is at.
    ///
    /// # Errors
    /// Where the runtime takes no more work.
    pub async fn for_each<F>(
        &self,
        ids: &[u32],
        threads: NonZeroUsize,
        work: F,
    ) -> Result<(), Error>
    where
        F: Fn(&mut worker::Worker<'_, R>, u32) -> ControlFlow<()> + Send + Sync + 'static,
    {
        let (stop, stopped) = Stop::new();
        let (inner, ids) = (Arc::clone(&self.inner), ids.to_vec());
        let each = move || {
            inner.for_each(&ids, threads, |worker, id| match stopped.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => work(worker, id),
            });
        };
        let done = self.slots.run(each).await;
        drop(stop);
        done.map_err(|error| self.off(error, "fetching kernels"))
    }

    /// Fetches the kernels with these entry numbers on `threads` threads, in the order of `ids`.
    /// All of them are in memory at once.
    ///
    /// # Errors
    /// Where the runtime takes no more work; each kernel has a result of its own.
    pub async fn kernels(
        &self,
        ids: &[u32],
        threads: NonZeroUsize,
    ) -> Result<Vec<Result<Vec<u8>, Error>>, Error> {
        let (stop, stopped) = Stop::new();
        let (inner, ids) = (Arc::clone(&self.inner), ids.to_vec());
        let fetch = move || inner.kernels_until(&ids, threads, &stopped);
        let done = self.slots.run(fetch).await;
        drop(stop);
        done.map_err(|error| self.off(error, "fetching kernels"))
    }

    /// Checks what opening leaves unchecked, on `threads` threads, as the blocking
    /// [`Archive::verify`](archive::Archive::verify).
    ///
    /// # Errors
    /// Where the runtime takes no more work; what is wrong with the archive is in the verdict.
    pub async fn verify(&self, threads: NonZeroUsize) -> Result<Verdict, Error> {
        self.verify_with(threads, |worker, id| {
            let entry = worker.archive().entry_at(id)?;
            worker.verify(&entry, &mut |_| {})
        })
        .await
    }

    /// As [`verify`](Self::verify), with the caller's own way of looking at a kernel.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub async fn verify_with<F>(&self, threads: NonZeroUsize, look: F) -> Result<Verdict, Error>
    where
        F: Fn(&mut worker::Worker<'_, R>, u32) -> Result<(), Error> + Send + Sync + 'static,
    {
        let (stop, stopped) = Stop::new();
        let inner = Arc::clone(&self.inner);
        let verify = move || inner.verify_until(threads, look, &stopped);
        let verdict = self.slots.run(verify).await;
        drop(stop);
        verdict.map_err(|error| self.off(error, "verifying"))
    }

    /// Runs `work` with a worker and the entry, found again by its names, off the reactor.
    pub(super) async fn with_entry<T: Send + 'static>(
        &self,
        entry: &Entry<'_>,
        doing: &'static str,
        work: impl FnOnce(&mut worker::Worker<'_, R>, &Entry<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let running = self.start(entry, work).await?;
        running.await.map_err(|error| self.off(error, doing))?
    }

    pub(super) async fn start<T: Send + 'static>(
        &self,
        entry: &Entry<'_>,
        work: impl FnOnce(&mut worker::Worker<'_, R>, &Entry<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Running<Result<T, Error>>, Error> {
        let (inner, names) = (Arc::clone(&self.inner), Names::of(entry));
        let found = move || {
            let entry = names.find(&inner)?;
            work(&mut inner.worker(), &entry)
        };
        let started = self.slots.start(found).await;
        started.map_err(|error| self.off(error, "waiting for a thread"))
    }

    pub(super) fn off(&self, error: io::Error, doing: &'static str) -> Error {
        Error::new(ErrorKind::Io(error), doing).with_path(self.path())
    }
}

/// Stops work when it is dropped.
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn new() -> (Stop, Arc<AtomicBool>) {
        let stopped = Arc::new(AtomicBool::new(false));
        (Stop(Arc::clone(&stopped)), stopped)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

//! Many kernels on several threads.
//!
//! Kernels are independent: each thread takes the next number from a shared counter and has a
//! decoder of its own, so that threads meet nowhere while they decompress.
//!
//! ```
//! use rocload::{Archive, Options, default_threads};
//!
//! let archive = Archive::from_source(rocload::kpack::EXAMPLE, &Options::default())?;
//! for kernel in archive.kernels(archive.order(), default_threads()) {
//!     assert_eq!(kernel?, b"a code objec");
//! }
//! # Ok::<(), rocload::Error>(())
//! ```

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::archive::Archive;
use crate::error::Error;
use crate::file::ReadAt;
use crate::worker::Worker;

/// Threads to use when the caller leaves the choice: one for each processor that is ours.
pub fn default_threads() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Goes on unless it is `stopped`.
pub(crate) fn until(stopped: &AtomicBool) -> ControlFlow<()> {
    if stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

impl<R: ReadAt + Sync> Archive<R> {
    /// Calls `work` once for each entry number in `ids`, on `threads` scoped threads; a break
    /// stops the others after the kernel that each is at.
    ///
    /// The order of the calls is not that of `ids`.
    pub fn for_each<F>(&self, ids: &[u32], threads: NonZeroUsize, work: F)
    where
        F: Fn(&mut Worker<'_, R>, u32) -> ControlFlow<()> + Sync,
    {
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let run = || {
            let mut worker = self.worker();
            while !stopped.load(Ordering::Relaxed)
                && let Some(&id) = ids.get(next.fetch_add(1, Ordering::Relaxed))
            {
                if work(&mut worker, id).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            // The calling thread is one of them; more threads than kernels have nothing to do.
            for _ in 1..threads.get().min(ids.len()) {
                scope.spawn(run);
            }
            run();
        });
    }

    /// Fetches the kernels with these entry numbers on `threads` threads, in the order of
    /// `ids`. All of them are in memory at once: [`for_each`](Self::for_each) is for more.
    pub fn kernels(&self, ids: &[u32], threads: NonZeroUsize) -> Vec<Result<Vec<u8>, Error>> {
        self.kernels_until(ids, threads, &AtomicBool::new(false))
    }

    /// The same until it is `stopped`; then some are missing.
    pub(crate) fn kernels_until(
        &self,
        ids: &[u32],
        threads: NonZeroUsize,
        stopped: &AtomicBool,
    ) -> Vec<Result<Vec<u8>, Error>> {
        let positions: Vec<u32> = (0..ids.len() as u32).collect();
        let done = Mutex::new(Vec::with_capacity(ids.len()));
        self.for_each(&positions, threads, |worker, position| {
            let id = ids[position as usize];
            let kernel = self.entry_at(id).and_then(|entry| worker.kernel(&entry));
            done.lock().unwrap_or_else(PoisonError::into_inner).push((position, kernel));
            until(stopped)
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|&(position, _)| position);
        done.into_iter().map(|(_, kernel)| kernel).collect()
    }
}

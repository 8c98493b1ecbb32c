//! A verdict on a whole archive: every structure, every kernel decoded.
//!
//! ```
//! use rocload::{Archive, Options, default_threads};
//!
//! let archive = Archive::from_source(rocload::kpack::EXAMPLE, &Options::default())?;
//! let verdict = archive.verify(default_threads());
//! assert!(verdict.is_ok() && verdict.kernels == 1, "{:?}", verdict.errors);
//! # Ok::<(), rocload::Error>(())
//! ```

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use crate::archive::Archive;
use crate::error::Error;
use crate::file::ReadAt;
use crate::parallel::until;
use crate::worker::Worker;

/// What verification found.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Kernels that were found whole.
    pub kernels: u64,
    /// What is wrong, in the order of enumeration: first a fault in the frame lengths, if there
    /// is one, then one error a faulty kernel.
    pub errors: Vec<Error>,
}

impl Verdict {
    /// Nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.errors.is_empty()
    }
}

impl<R: ReadAt + Sync> Archive<R> {
    /// Checks what opening leaves unchecked: walks all frames, compares them with what the table
    /// says of their places, decodes every kernel, and compares it with its `sha256` where the
    /// table has one; on `threads` threads, with memory bounded by the limits.
    pub fn verify(&self, threads: NonZeroUsize) -> Verdict {
        self.verify_with(threads, |worker, id| {
            let entry = worker.archive().entry_at(id)?;
            worker.verify(&entry, &mut |_| {})
        })
    }

    /// As [`verify`](Self::verify), with the caller's own way of looking at a kernel: it must
    /// decode it, by [`Worker::verify`] or otherwise.
    pub fn verify_with<F>(&self, threads: NonZeroUsize, look: F) -> Verdict
    where
        F: Fn(&mut Worker<'_, R>, u32) -> Result<(), Error> + Sync,
    {
        self.verify_until(threads, look, &AtomicBool::new(false))
    }

    /// The same until it is `stopped`; what is found until then is no verdict.
    pub(crate) fn verify_until<F>(
        &self,
        threads: NonZeroUsize,
        look: F,
        stopped: &AtomicBool,
    ) -> Verdict
    where
        F: Fn(&mut Worker<'_, R>, u32) -> Result<(), Error> + Sync,
    {
        let mut verdict = Verdict::default();
        let walked = self.walk_frames();
        let broken_walk = walked.is_err();
        verdict.errors.extend(walked.err());

        // Kernels behind a fault in the frame lengths have no extent: one error says it all.
        let order = self.order();
        let reachable = |&id: &u32| !broken_walk || self.is_known(id);
        let positions: Vec<u32> = (0..)
            .zip(order)
            .filter(|(_, id)| reachable(id))
            .map(|(position, _)| position)
            .collect();

        let failed = Mutex::new(Vec::new());
        self.for_each(&positions, threads, |worker, position| {
            if let Err(error) = look(worker, order[position as usize]) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).push((position, error));
            }
            until(stopped)
        });
        let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.sort_unstable_by_key(|&(position, _)| position);
        verdict.kernels = (positions.len() - failed.len()) as u64;
        verdict.errors.extend(failed.into_iter().map(|(_, error)| error));
        verdict
    }

    fn is_known(&self, id: u32) -> bool {
        self.entry_at(id).is_ok_and(|entry| entry.offset.is_some())
    }
}

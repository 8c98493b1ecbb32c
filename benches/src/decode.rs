//! Decoding every kernel of an archive, ours and the peer's way.

use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rocload::{Archive, Error, Worker};

use crate::peer::{self, decode::Job};

/// An archive whose kernels are to be decoded; its frames are walked already.
#[derive(Debug)]
pub struct Decoding {
    archive: Archive,
    file: File,
    jobs: Vec<Job>,
}

impl Decoding {
    /// The archive at `path`.
    ///
    /// # Errors
    /// What is wrong with the archive, or a kernel that is not compressed.
    pub fn new(path: &Path) -> peer::Result<Self> {
        let archive = Archive::open(path)?;
        archive.walk_frames()?;
        let job = |entry: Result<rocload::kpack::Entry<'_>, Error>| -> peer::Result<Job> {
            let entry = entry?;
            let (offset, stored) = entry.offset.zip(entry.stored_size).ok_or("no frame")?;
            Ok(Job { offset, stored: usize::try_from(stored)?, size: usize::try_from(entry.size)? })
        };
        let jobs = archive.entries().map(job).collect::<peer::Result<_>>()?;
        Ok(Decoding { file: File::open(path)?, archive, jobs })
    }

    /// The kernels.
    pub fn kernels(&self) -> usize {
        self.jobs.len()
    }

    /// The bytes that all kernels decode to.
    pub fn bytes(&self) -> u64 {
        self.jobs.iter().map(|job| job.size as u64).sum()
    }

    /// Decodes every kernel by [`Archive::for_each`], each thread into a buffer that it keeps.
    /// Returns the bytes decoded.
    ///
    /// # Errors
    /// A kernel that did not decode.
    ///
    /// # Panics
    /// When `threads` is 0.
    pub fn ours(&self, threads: usize) -> peer::Result<u64> {
        let threads = NonZeroUsize::new(threads).expect("at least one thread");
        let largest = self.jobs.iter().map(|job| job.size).max().unwrap_or(0);
        let total = AtomicU64::new(0);
        let failed = AtomicUsize::new(0);
        thread_local! {
            static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
        }
        let one = |worker: &mut Worker<'_, _>, id| -> Result<usize, Error> {
            let entry = worker.archive().entry_at(id)?;
            BUFFER.with_borrow_mut(|buffer| {
                buffer.resize(largest, 0);
                worker.kernel_into(&entry, buffer)
            })
        };
        self.archive.for_each(self.archive.order(), threads, |worker, id| {
            match one(worker, id) {
                Ok(size) => total.fetch_add(size as u64, Ordering::Relaxed) as usize,
                Err(_) => failed.fetch_add(1, Ordering::Relaxed),
            };
            ControlFlow::Continue(())
        });
        match failed.into_inner() {
            0 => Ok(total.into_inner()),
            count => Err(format!("{count} kernels did not decode").into()),
        }
    }

    /// The same by the crate `zstd`; see [`peer::decode::decode`].
    ///
    /// # Errors
    /// A frame that did not decode.
    pub fn peer(&self, threads: usize) -> peer::Result<u64> {
        peer::decode::decode(&self.file, &self.jobs, threads)
    }
}

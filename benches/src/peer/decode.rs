//! Many frames decoded by the C library through the crate `zstd`, on several threads.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use zstd::bulk::Decompressor;

use super::Result;

/// One frame: where it is and what it decodes to, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Absolute offset.
    pub offset: u64,
    /// Stored length.
    pub stored: usize,
    /// Decoded length.
    pub size: usize,
}

/// Reads and decodes every frame on `threads` threads, each with one decompressor and buffers
/// that it keeps, taking the next job from a shared counter. Returns the bytes decoded.
///
/// # Errors
/// The system's and the library's.
///
/// # Panics
/// When a thread did.
pub fn decode(file: &File, jobs: &[Job], threads: usize) -> Result<u64> {
    let next = AtomicUsize::new(0);
    let run = || -> Result<u64> {
        let mut decompressor = Decompressor::new()?;
        let (mut stored, mut decoded, mut total) = (Vec::new(), Vec::new(), 0);
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            stored.resize(job.stored.max(stored.len()), 0);
            decoded.resize(job.size.max(decoded.len()), 0);
            file.read_exact_at(&mut stored[..job.stored], job.offset)?;
            let to = &mut decoded[..job.size];
            let done = decompressor.decompress_to_buffer(&stored[..job.stored], to)?;
            if done != job.size {
                return Err("a frame of another size".into());
            }
            total += done as u64;
        }
        Ok(total)
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut total = run()?;
        for other in others {
            total += other.join().expect("a thread of the peer panicked")?;
        }
        Ok(total)
    })
}

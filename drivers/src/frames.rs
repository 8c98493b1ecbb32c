//! Where each frame of a zstd archive is: found on demand, remembered, read without a lock.
//!
//! The archive has no offset table, so the frame of an ordinal is found by walking the length
//! words before it. The walk is made once, as far as was asked for, under a lock of its own;
//! what it found is published for readers that take no lock.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rocload_core::kpack::Fault;
use rocload_core::zstd::FrameIndex;
use rocload_core::{Error as CoreError, ErrorKind as CoreKind, Limits, Machine, Need};

use crate::error::{Error, ErrorKind};
use crate::file::ReadAt;

/// The frame table of one archive.
#[derive(Debug)]
pub(crate) struct Frames {
    walk: Mutex<Walk>,
    /// Absolute offset of each length word, and last that of the first byte behind the frames.
    words: OnceLock<Box<[AtomicU64]>>,
    /// Frames whose end is known; `words` holds one more.
    known: AtomicU32,
}

#[derive(Debug)]
struct Walk {
    machine: FrameIndex,
    /// Bytes read ahead, and their absolute offset.
    ahead: Vec<u8>,
    ahead_at: u64,
}

/// Where a stored kernel is: absolute offset and length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Absolute offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

const DOING: &str = "walking the frames";
/// Length of the word before each frame, in bytes.
const WORD: u64 = 4;

impl Frames {
    /// The frames of the zstd blob at `offset`, `size` bytes long. Nothing is read yet.
    pub(crate) fn new(offset: u64, size: u64, limits: &Limits) -> Result<Frames, CoreError> {
        let machine = FrameIndex::new(offset, size, limits)?;
        let walk = Walk { machine, ahead: Vec::new(), ahead_at: 0 };
        Ok(Frames { walk: Mutex::new(walk), words: OnceLock::new(), known: AtomicU32::new(0) })
    }

    /// The extent of a frame that the walk has passed already.
    pub(crate) fn known(&self, ordinal: u32) -> Option<Extent> {
        // Acquire: the words up to here were stored before the count was.
        if ordinal >= self.known.load(Ordering::Acquire) {
            return None;
        }
        let words = self.words.get()?;
        let at = |index: usize| words.get(index).map(|word| word.load(Ordering::Relaxed));
        let start = at(ordinal as usize)? + WORD;
        let end = at(ordinal as usize + 1)?;
        Some(Extent { offset: start, len: end - start })
    }

    /// The extent of a frame, walking to it first if need be.
    pub(crate) fn find<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        ordinal: u32,
        at: u64,
    ) -> Result<Extent, Error> {
        if let Some(extent) = self.known(ordinal) {
            return Ok(extent);
        }
        self.walk_to(source, ordinal)?;
        self.known(ordinal).ok_or_else(|| {
            let count = self.known.load(Ordering::Acquire);
            let fault = Fault::Ordinal { ordinal, count };
            let error = CoreError::new(CoreKind::Kpack(fault), at);
            Error::new(ErrorKind::Format(error), DOING)
        })
    }

    /// Walks to the end and returns the number of frames.
    pub(crate) fn count<R: ReadAt + ?Sized>(&self, source: &R) -> Result<u32, Error> {
        self.walk_to(source, u32::MAX)?;
        Ok(self.known.load(Ordering::Acquire))
    }

    fn walk_to<R: ReadAt + ?Sized>(&self, source: &R, ordinal: u32) -> Result<(), Error> {
        // A walker that panicked left a consistent machine: each step is whole.
        let mut walk = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        while self.known.load(Ordering::Relaxed) <= ordinal {
            let Need::At { offset, min, hint } = walk.machine.need() else {
                // Finished, or failed before: `end` tells which.
                return walk.machine.end().map(|_| ()).map_err(format);
            };
            let range = walk.fetch(source, offset, min, hint)?;
            let Walk { machine, ahead, .. } = &mut *walk;
            let input = &ahead[range];
            let step = machine.step(offset, input).map_err(format)?;
            if step.ready {
                let span = machine.item(input);
                self.publish(machine.count().unwrap_or(0), span.offset, u64::from(span.len))?;
            }
        }
        Ok(())
    }

    /// Stores where a frame ends, and for the first one where it begins.
    fn publish(&self, count: u32, offset: u64, len: u64) -> Result<(), Error> {
        if self.words.get().is_none() {
            // The machine has checked the count against the blob's size and the limits.
            let cells = count as usize + 1;
            let mut words = Vec::new();
            if words.try_reserve_exact(cells).is_err() {
                return Err(Error::new(ErrorKind::Memory { bytes: cells as u64 * 8 }, DOING));
            }
            words.resize_with(cells, AtomicU64::default);
            words[0].store(offset - WORD, Ordering::Relaxed);
            let _ = self.words.set(words.into_boxed_slice());
        }
        let known = self.known.load(Ordering::Relaxed);
        if let Some(word) = self.words.get().and_then(|words| words.get(known as usize + 1)) {
            word.store(offset + len, Ordering::Relaxed);
            self.known.store(known + 1, Ordering::Release);
        }
        Ok(())
    }
}

impl Walk {
    /// Has at least `min` bytes from `offset` on in the read-ahead, reading up to `hint`;
    /// returns where in it they are.
    fn fetch<R: ReadAt + ?Sized>(
        &mut self,
        source: &R,
        offset: u64,
        min: usize,
        hint: u64,
    ) -> Result<std::ops::Range<usize>, Error> {
        let inside = offset.checked_sub(self.ahead_at).and_then(|at| usize::try_from(at).ok());
        if let Some(at) = inside
            && self.ahead.len() >= at.saturating_add(min)
        {
            return Ok(at..self.ahead.len());
        }
        let wanted = usize::try_from(hint).unwrap_or(usize::MAX).min(READ_AHEAD).max(min);
        self.ahead.resize(wanted, 0);
        self.ahead_at = offset;
        let got = source.read_full_at(&mut self.ahead, offset);
        let kept = got.as_ref().map_or(0, |got| *got);
        self.ahead.truncate(kept);
        match got {
            Ok(got) if got >= min => Ok(0..got),
            // The extent was checked against the file's length: the file is shorter now.
            Ok(_) => Err(Error::new(ErrorKind::Changed, DOING)),
            Err(error) => Err(Error::new(ErrorKind::Io(error), DOING)),
        }
    }
}

/// The most that is read ahead, in bytes.
const READ_AHEAD: usize = 64 << 10;

fn format(error: CoreError) -> Error {
    Error::new(ErrorKind::Format(error), DOING)
}

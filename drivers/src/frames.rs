//! Where each frame of a zstd archive is: found on demand, remembered, read without a lock.
//!
//! Unless the table says where it is, the frame of an ordinal is found by walking the length
//! words before it. The walk is made once, as far as was asked for, under a lock of its own;
//! what it found is published for readers that take no lock.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rocload_core::kpack::Fault;
use rocload_core::zstd::{FrameIndex, FrameSpan};
use rocload_core::{End, Error as CoreError, ErrorKind as CoreKind, Limits};

use crate::drive::{self, DriveError, Window};
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
    /// Read ahead is kept between walks.
    keep: bool,
}

#[derive(Debug)]
struct Walk {
    machine: FrameIndex,
    window: Window,
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
    /// The frames of the zstd blob at `offset`, `size` bytes long. Nothing is read yet. Unless
    /// `keep` is set, no more memory than the table itself is held between walks.
    pub(crate) fn new(
        offset: u64,
        size: u64,
        limits: &Limits,
        keep: bool,
    ) -> Result<Frames, CoreError> {
        let machine = FrameIndex::new(offset, size, limits)?;
        let walk = Walk { machine, window: Window::with_most(READ_AHEAD) };
        let (walk, words) = (Mutex::new(walk), OnceLock::new());
        Ok(Frames { walk, words, known: AtomicU32::new(0), keep })
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
        if self.known.load(Ordering::Relaxed) > ordinal {
            return Ok(());
        }
        let result = self.walk_on(source, ordinal, &mut walk);
        let all = self.words.get().is_some_and(|words| words.len() == 1 + self.count_known());
        if all || !self.keep {
            walk.window.release();
        }
        result
    }

    fn count_known(&self) -> usize {
        self.known.load(Ordering::Relaxed) as usize
    }

    fn walk_on<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        ordinal: u32,
        Walk { machine, window }: &mut Walk,
    ) -> Result<(), Error> {
        if self.words.get().is_none() {
            // The first frame tells how many there are, which the machine has checked against
            // the blob's size and the limits.
            match drive::read_at(source, machine, window, ControlFlow::Break).map_err(driven)? {
                ControlFlow::Continue(end) => return ended(end),
                ControlFlow::Break(span) => {
                    let words = cells(machine.count().unwrap_or_default())?;
                    words[0].store(span.offset - WORD, Ordering::Relaxed);
                    let _ = self.words.set(words);
                    self.publish(span);
                }
            }
        }
        if self.known.load(Ordering::Relaxed) > ordinal {
            return Ok(());
        }
        let walked = drive::read_at(source, machine, window, |span| match self.publish(span) {
            known if known > ordinal => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        match walked.map_err(driven)? {
            ControlFlow::Break(()) => Ok(()),
            ControlFlow::Continue(end) => ended(end),
        }
    }

    /// Stores where a frame ends; returns how many are known.
    fn publish(&self, span: FrameSpan) -> u32 {
        let known = self.known.load(Ordering::Relaxed) + 1;
        if let Some(word) = self.words.get().and_then(|words| words.get(known as usize)) {
            word.store(span.offset + u64::from(span.len), Ordering::Relaxed);
            self.known.store(known, Ordering::Release);
        }
        known
    }
}

/// Room for the words of `count` frames.
fn cells(count: u32) -> Result<Box<[AtomicU64]>, Error> {
    let cells = count as usize + 1;
    let mut words = Vec::new();
    if words.try_reserve_exact(cells).is_err() {
        return Err(failed(ErrorKind::Memory { bytes: 8 * cells as u64 }));
    }
    words.resize_with(cells, AtomicU64::default);
    Ok(words.into_boxed_slice())
}

/// The walk has come to its end, or to that of the file.
fn ended(end: End) -> Result<(), Error> {
    match end {
        End::Complete | End::Item => Ok(()),
        // The extent was checked against the file's length: the file is shorter now.
        End::Pending(_) => Err(failed(ErrorKind::Changed)),
    }
}

fn driven(error: DriveError) -> Error {
    failed(match error {
        DriveError::Io(error) => ErrorKind::io(error),
        DriveError::Machine(error) => ErrorKind::Format(error),
        stalled @ DriveError::Stalled { .. } => ErrorKind::Io(io::Error::other(stalled)),
    })
}

fn failed(kind: ErrorKind) -> Error {
    Error::new(kind, DOING)
}

/// The most that is read ahead, in bytes.
const READ_AHEAD: usize = 64 << 10;

//! Generic drivers: they read what a core machine needs and hand its items to a closure.
//!
//! A driver owns no loop of its own: [`Window`] holds bytes and knows where they stand, steps the
//! machine over them and says what to read next; [`read_at`] asks a [`ReadAt`](crate::file::ReadAt)
//! for it, [`stream`] a [`std::io::Read`], and the same names in the module `tokio` (feature
//! `tokio`) do so without blocking. So all of them give the same items.
//!
//! ```text
//!   machine.need() --> in the window? --yes--> machine.step --> see(item) --> Break: stop here
//!        ^                  | no                    ^    |
//!        |                  v                       |    v
//!        |                read, or at the end ------+  Continue
//!        +------------------------------------------------+
//! ```
//!
//! ```
//! use std::ops::ControlFlow;
//! use rocload::drive::{Window, read_at};
//! use rocload::kpack::{Open, Opened, OwnedIndex, Strictness};
//! # let archive = rocload::kpack::EXAMPLE;
//!
//! let total = archive.len() as u64;
//! let mut open = Open::new(total, Default::default(), Strictness::Strict, Vec::new(), OwnedIndex::default());
//! let found = read_at(archive, &mut open, &mut Window::new(), |item| match item {
//!     Opened::Header(header) => ControlFlow::Break(header.toc_offset),
//!     Opened::Toc(_) => ControlFlow::Continue(()),
//! })?;
//! assert_eq!(found, ControlFlow::Break(76));
//! # Ok::<(), rocload::drive::DriveError>(())
//! ```

use std::fmt;
use std::io;
use std::ops::ControlFlow;

use rocload_core::{End, Error, ErrorKind, ItemKind, Machine, Need};

mod blocking;
pub use blocking::{read_at, stream};

/// Why a driver stopped early.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriveError {
    /// The source failed. The machine and the window are as before the read: the same call may
    /// be made again.
    Io(io::Error),
    /// The machine refused its input, or asked a stream to go back.
    Machine(Error),
    /// The machine has what it needs and does nothing: it breaks the contract.
    Stalled {
        /// Absolute offset of the bytes it was given.
        offset: u64,
        /// How many it was given.
        have: usize,
    },
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriveError::Io(error) => write!(f, "reading failed: {error}"),
            DriveError::Machine(error) => error.fmt(f),
            DriveError::Stalled { offset, have } => {
                write!(f, "the reader of this format stalls at offset {offset} with {have} bytes")
            }
        }
    }
}

impl std::error::Error for DriveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DriveError::Io(error) => Some(error),
            DriveError::Machine(error) => Some(error),
            DriveError::Stalled { .. } => None,
        }
    }
}

impl From<Error> for DriveError {
    fn from(error: Error) -> Self {
        DriveError::Machine(error)
    }
}

impl From<io::Error> for DriveError {
    fn from(error: io::Error) -> Self {
        DriveError::Io(error)
    }
}

/// How a driver's call ended: the closure's `Break`, or what the machine says of the end of its
/// input ([`End::Complete`] or [`End::Pending`], never [`End::Item`]).
pub type Driven<B> = Result<ControlFlow<B, End>, DriveError>;

/// The most that a window reads ahead unless told otherwise: 256 KiB, which a core's cache holds.
pub const READ_AHEAD: usize = 256 << 10;
/// What is read of a stream at once when the machine does not say how much it wants.
const PIECE: usize = 8 << 10;

/// Bytes of a source, where they stand in it, and how far they have been consumed.
///
/// Keep it with the machine: a call that ended early, by `Break`, by an error of the source or by
/// dropping its future, is continued by the next call with the same machine, window and source.
#[derive(Debug)]
pub struct Window {
    bytes: Vec<u8>,
    /// What is on offer: `bytes[start..end]`.
    start: usize,
    end: usize,
    /// Absolute offset of `bytes[0]`.
    base: u64,
    /// The source ends where the window does.
    ended: bool,
    /// Absolute offset behind the last byte consumed.
    position: u64,
    /// How far a stream has been read, in bytes.
    read_to: u64,
    most: usize,
}

/// What the machine waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Want {
    /// Absolute offset of the next byte to read.
    pub(crate) offset: u64,
    /// Bytes worth reading there; one or more.
    pub(crate) len: usize,
}

/// What there is to do next.
#[derive(Debug)]
pub(crate) enum Next<B> {
    Read(Want),
    Return(ControlFlow<B, End>),
}

impl Window {
    /// An empty window that reads [`READ_AHEAD`] bytes at once at most.
    pub const fn new() -> Self {
        Window::with_most(READ_AHEAD)
    }

    /// An empty window that reads `most` bytes at once at most, or what the machine cannot do
    /// without if that is more.
    pub const fn with_most(most: usize) -> Self {
        let bytes = Vec::new();
        Window { bytes, start: 0, end: 0, base: 0, ended: false, position: 0, read_to: 0, most }
    }

    /// Bytes that were read and not consumed: after a stream's machine has finished, they belong
    /// to whatever comes next.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Gives the memory back. What was read at an offset and not consumed is read again: not for
    /// streams, which cannot.
    pub(crate) fn release(&mut self) {
        self.bytes = Vec::new();
        (self.start, self.end, self.base) = (0, 0, self.position);
        self.ended = false;
    }

    /// Absolute offset behind the last byte that a machine consumed.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// How far a stream has been read, in bytes.
    pub(crate) fn read_to(&self) -> u64 {
        self.read_to
    }

    /// Steps the machine for as long as the window has what it needs. A stream is read forward
    /// alone.
    pub(crate) fn advance<M, B>(
        &mut self,
        machine: &mut M,
        forward: bool,
        see: &mut impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<B>,
    ) -> Result<Next<B>, DriveError>
    where
        M: Machine + ?Sized,
    {
        loop {
            let (offset, min, hint) = match machine.need() {
                Need::Done => return finish(machine, see),
                Need::More => (self.position, 1, PIECE as u64),
                Need::At { offset, min, hint } => (offset, min, hint),
            };
            if forward && offset < self.position {
                let kind = ErrorKind::NeedsSeek { wanted: offset };
                return Err(DriveError::Machine(Error::new(kind, self.position)));
            }
            self.seek(offset);
            let input = &self.bytes[self.start..self.end];
            let have = input.len();
            if have < min && !self.ended {
                return Ok(Next::Read(self.want(min, hint)));
            }
            let step = machine.step(offset, input)?;
            let consumed = step.consumed.min(have);
            let flow =
                if step.ready { see(machine.item(input)) } else { ControlFlow::Continue(()) };
            self.start += consumed;
            self.position = offset.saturating_add(consumed as u64);
            if let ControlFlow::Break(value) = flow {
                return Ok(Next::Return(ControlFlow::Break(value)));
            }
            if step.ready || consumed > 0 {
                continue;
            }
            if self.ended {
                return finish(machine, see);
            }
            // Of a stream a machine may want more than it has; at an offset it said how much.
            if machine.need() != Need::More || have >= self.most {
                return Err(DriveError::Stalled { offset, have });
            }
            return Ok(Next::Read(self.want(have + 1, (have + PIECE) as u64)));
        }
    }

    /// Puts the front of the window at `offset`; it is empty if that lies outside.
    fn seek(&mut self, offset: u64) {
        let inside = offset.checked_sub(self.base).and_then(|at| usize::try_from(at).ok());
        match inside {
            Some(at) if at <= self.end => self.start = at,
            _ => {
                (self.start, self.end, self.base) = (0, 0, offset);
                self.ended = false;
            }
        }
    }

    fn want(&self, min: usize, hint: u64) -> Want {
        let worth = usize::try_from(hint).unwrap_or(usize::MAX).min(self.most).max(min);
        // `min` is one or more, and more than the window has.
        let len = worth.saturating_sub(self.end - self.start).max(1);
        Want { offset: self.base + self.end as u64, len }
    }

    /// Room for `len` bytes behind those on offer; used up ones make way.
    pub(crate) fn room(&mut self, len: usize) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            (self.start, self.end) = (0, self.end - self.start);
        }
        let until = self.end.saturating_add(len);
        if self.bytes.len() < until {
            self.bytes.resize(until, 0);
        }
        &mut self.bytes[self.end..until]
    }

    /// So many bytes were read into the room.
    pub(crate) fn filled(&mut self, read: usize) {
        self.end += read;
        self.read_to = self.base + self.end as u64;
    }

    /// So many bytes of a stream were read and are not wanted.
    pub(crate) fn skipped(&mut self, read: usize) {
        self.read_to += read as u64;
    }

    /// The source ends where the window does.
    pub(crate) fn source_ended(&mut self) {
        self.ended = true;
    }

    /// The next read of a stream for `want`: how many bytes, and whether they are to be dropped.
    pub(crate) fn next_read(&self, want: Want) -> (usize, bool) {
        match want.offset.checked_sub(self.read_to()) {
            Some(gap) if gap > 0 => (usize::try_from(gap).unwrap_or(PIECE).min(PIECE), true),
            _ => (want.len, false),
        }
    }

    /// A read of a stream, announced by [`next_read`](Self::next_read), gave so many bytes.
    pub(crate) fn was_read(&mut self, read: usize, drop: bool) {
        match (read, drop) {
            (0, _) => self.source_ended(),
            (read, true) => self.skipped(read),
            (read, false) => self.filled(read),
        }
    }
}

impl Default for Window {
    fn default() -> Self {
        Window::new()
    }
}

/// The input is over, or the machine wants no more of it: its last items, then its verdict.
fn finish<M, B>(
    machine: &mut M,
    see: &mut impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<B>,
) -> Result<Next<B>, DriveError>
where
    M: Machine + ?Sized,
{
    loop {
        match machine.end()? {
            End::Item => {
                if let ControlFlow::Break(value) = see(machine.item(&[])) {
                    return Ok(Next::Return(ControlFlow::Break(value)));
                }
            }
            end => return Ok(Next::Return(ControlFlow::Continue(end))),
        }
    }
}

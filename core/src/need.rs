//! The machine contract: how bytes reach a pure state machine and how items leave it.
//!
//! A machine never reads. It says what it [`Need`]s, is given bytes by [`Machine::step`], and
//! answers with a [`Step`]: how much it consumed and whether an item is ready. The item is
//! fetched afterwards by [`Machine::item`] with the same input, so that an advancing call
//! borrows nothing and a pull loop in a blocking or async driver passes the borrow checker.
//!
//! ```text
//!            need()                 step(offset, input)
//!   driver ---------> Need::At  ------------------------> Step { consumed, ready }
//!     ^               Need::More                                   | ready
//!     |               Need::Done --> finished                      v
//!     +------------------------------ item(input) -> Item<'_> -----+
//!   input is over: end() -> Complete | Pending(what) | Item (fetch by item(&[]), call end again)
//! ```
//!
//! Rules that every machine keeps:
//!
//! - Fewer than `min` bytes is never an error: the step consumes nothing and waits.
//! - Bytes once consumed are never asked for again; a machine resumes, it does not re-parse.
//! - Any chunking of the same bytes gives the same items and the same error.
//! - After an error the machine is poisoned: each further call returns that error.
//! - After [`Need::Done`], `step` consumes nothing.
//!
//! ```
//! use rocload_core::{Limits, Machine, Need, visit};
//! use rocload_core::kpack::{Open, Opened, Strictness};
//! # let archive: &[u8] = rocload_core::kpack::EXAMPLE;
//!
//! let mut toc = [0u8; 1024];
//! let mut open = Open::new(archive.len() as u64, Limits::default(), Strictness::Strict, &mut toc[..], ());
//! let mut kernels = 0;
//! while let Need::At { offset, .. } = open.need() {
//!     let input = &archive[offset as usize..];
//!     visit(&mut open, offset, input, |item| {
//!         if let Opened::Toc(toc) = item {
//!             kernels = toc.entries().count();
//!         }
//!     })?;
//! }
//! assert_eq!(kernels, 1);
//! # Ok::<(), rocload_core::Error>(())
//! ```

use crate::error::Error;

/// A span of time or an instant on the caller's monotonic clock, in milliseconds.
///
/// The core has no clock: machines with deadlines are told the time as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub u64);

/// What a machine wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Bytes at an absolute offset of the input (random access).
    At {
        /// Absolute offset, in bytes, of the first byte wanted.
        offset: u64,
        /// Bytes without which `step` makes no progress; at most `Limits::contiguous`.
        min: usize,
        /// Bytes worth reading at once; 0 = unknown. Never a promise that they exist.
        hint: u64,
    },
    /// The next bytes of a stream.
    More,
    /// Nothing: the machine has finished.
    Done,
}

/// What one call of [`Machine::step`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "the consumed bytes must not be offered again, and a ready item must be fetched"]
pub struct Step {
    /// Bytes taken from the front of the input.
    pub consumed: usize,
    /// An item is ready: fetch it by [`Machine::item`] with the same input.
    pub ready: bool,
}

impl Step {
    /// Nothing consumed, nothing ready: more input is needed.
    pub const WAIT: Step = Step { consumed: 0, ready: false };

    /// `consumed` bytes taken, no item.
    pub const fn consumed(consumed: usize) -> Step {
        Step { consumed, ready: false }
    }

    /// `consumed` bytes taken and an item ready.
    pub const fn item(consumed: usize) -> Step {
        Step { consumed, ready: true }
    }
}

/// What the end of the input means to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an unfinished machine reports what was pending only here"]
pub enum End {
    /// Everything that was begun was finished.
    Complete,
    /// The input stopped in the middle of the named thing.
    Pending(&'static str),
    /// A last item: fetch it by `item(&[])`, then call `end` again.
    Item,
}

/// The family of items of a machine, on a `'static` marker, so that an item may borrow from
/// the machine or its input for a lifetime chosen at each fetch.
pub trait ItemKind: 'static {
    /// The item, borrowed for `'i`.
    type Item<'i>;
}

/// A pure state machine over bytes. See the module's text for the rules.
pub trait Machine {
    /// The items that it yields.
    type Kind: ItemKind;

    /// What it wants next. Pure: two calls without a step between them agree.
    fn need(&self) -> Need;

    /// Advances over `input`.
    ///
    /// `offset` is the absolute offset of `input[0]`: for [`Need::At`] it must be the offset
    /// asked for; for [`Need::More`] it is the count of bytes consumed so far and is used in
    /// errors alone.
    ///
    /// # Errors
    /// The format's own faults, [`ErrorKind::Offset`](crate::ErrorKind::Offset) for a wrong
    /// offset, and after any error that same error again.
    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error>;

    /// The item announced by the last step, given the same input as that step.
    fn item<'i>(&'i self, input: &'i [u8]) -> <Self::Kind as ItemKind>::Item<'i>;

    /// Tells the machine that the input is over.
    ///
    /// # Errors
    /// A fault that only the end of the input reveals, or the poisoning error.
    fn end(&mut self) -> Result<End, Error>;
}

/// The visitor form: advances `machine` over `input` for as long as it makes progress there,
/// and shows each item to `see`. Returns the number of bytes of `input` that are used up: the
/// caller offers the rest again together with more bytes, or reads where `need()` points.
///
/// # Errors
/// Those of [`Machine::step`].
pub fn visit<M, F>(machine: &mut M, offset: u64, input: &[u8], mut see: F) -> Result<usize, Error>
where
    M: Machine + ?Sized,
    F: FnMut(<M::Kind as ItemKind>::Item<'_>),
{
    let mut used = 0usize;
    loop {
        // A jump that stays inside the input is followed here; any other is the caller's.
        let at = match machine.need() {
            Need::Done => return Ok(used),
            Need::More => used,
            Need::At { offset: wanted, .. } => {
                match wanted.checked_sub(offset).and_then(|n| usize::try_from(n).ok()) {
                    Some(n) if n >= used && n <= input.len() => n,
                    _ => return Ok(used),
                }
            }
        };
        let rest = &input[at..];
        let step = machine.step(offset + at as u64, rest)?;
        used = at + step.consumed;
        if step.ready {
            see(machine.item(rest));
        } else if step.consumed == 0 {
            return Ok(used);
        }
    }
}

/// Memory that a machine keeps bytes in; its size is the caller's choice.
///
/// Implemented for arrays, mutable slices, [`heapless::Vec`] (feature `heapless`) and, with
/// `alloc`, [`Vec`](alloc::vec::Vec) and [`Capped`], a `Vec` that refuses to grow past a cap.
pub trait Storage {
    /// The bytes.
    fn slots(&self) -> &[u8];
    /// The bytes, to be written.
    fn slots_mut(&mut self) -> &mut [u8];
    /// Asks for at least `min` bytes, keeping what is there; false = it cannot be done.
    fn grow(&mut self, min: usize) -> bool {
        self.slots().len() >= min
    }
}

impl<const N: usize> Storage for [u8; N] {
    fn slots(&self) -> &[u8] {
        self
    }
    fn slots_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl Storage for &mut [u8] {
    fn slots(&self) -> &[u8] {
        self
    }
    fn slots_mut(&mut self) -> &mut [u8] {
        self
    }
}

#[cfg(feature = "heapless")]
impl<const N: usize> Storage for heapless::Vec<u8, N> {
    fn slots(&self) -> &[u8] {
        self
    }
    fn slots_mut(&mut self) -> &mut [u8] {
        self
    }
    fn grow(&mut self, min: usize) -> bool {
        self.len() >= min || self.resize_default(min).is_ok()
    }
}

/// Grows on demand; the machine's own limits are the only cap.
#[cfg(feature = "alloc")]
impl Storage for alloc::vec::Vec<u8> {
    fn slots(&self) -> &[u8] {
        self
    }
    fn slots_mut(&mut self) -> &mut [u8] {
        self
    }
    fn grow(&mut self, min: usize) -> bool {
        if min > self.len() {
            if self.try_reserve_exact(min - self.len()).is_err() {
                return false;
            }
            self.resize(min, 0);
        }
        true
    }
}

/// A growing [`Storage`] that never holds more than its cap, in bytes.
#[cfg(feature = "alloc")]
#[derive(Debug, Clone, Default)]
pub struct Capped {
    bytes: alloc::vec::Vec<u8>,
    cap: usize,
}

#[cfg(feature = "alloc")]
impl Capped {
    /// Empty storage that grows to `cap` bytes at most.
    pub const fn new(cap: usize) -> Self {
        Self { bytes: alloc::vec::Vec::new(), cap }
    }

    /// The bytes, handed over.
    pub fn into_inner(self) -> alloc::vec::Vec<u8> {
        self.bytes
    }
}

#[cfg(feature = "alloc")]
impl Storage for Capped {
    fn slots(&self) -> &[u8] {
        &self.bytes
    }
    fn slots_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
    fn grow(&mut self, min: usize) -> bool {
        min <= self.cap && self.bytes.grow(min)
    }
}

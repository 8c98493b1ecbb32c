//! What a search has done, step by step.

use super::{Location, Origin, Outcome};
use crate::kpack::target::Candidate;

/// One step of a search and its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tried<'a> {
    /// A path was to be opened. Runs of list items that are not there as one path are left out.
    Path {
        /// The path.
        location: Location<'a>,
        /// What came of it.
        outcome: Outcome,
    },
    /// The key was looked up.
    Kernel {
        /// The archive's number.
        archive: u32,
        /// The key of the architecture.
        target: Candidate<'a>,
        /// What came of it.
        outcome: Outcome,
    },
    /// Paths were left out: the list has more than [`Limits::search_paths`](crate::Limits).
    Ignored {
        /// The list.
        origin: Origin,
        /// How many paths.
        paths: u32,
    },
}

/// Where a search records its steps: nowhere (`()`), in memory that is lent ([`LentTrail`]) or in
/// a `Vec`.
pub trait Trail<'a> {
    /// Keeps a step.
    fn record(&mut self, tried: Tried<'a>);
}

impl<'a> Trail<'a> for () {
    fn record(&mut self, _tried: Tried<'a>) {}
}

#[cfg(feature = "alloc")]
impl<'a> Trail<'a> for alloc::vec::Vec<Tried<'a>> {
    fn record(&mut self, tried: Tried<'a>) {
        self.push(tried);
    }
}

/// A trail in slots that the caller lends: the first steps, and how many more there were.
#[derive(Debug)]
pub struct LentTrail<'s, 'a> {
    slots: &'s mut [Option<Tried<'a>>],
    used: usize,
    missed: u64,
}

impl<'s, 'a> LentTrail<'s, 'a> {
    /// An empty trail over `slots`.
    pub const fn new(slots: &'s mut [Option<Tried<'a>>]) -> Self {
        LentTrail { slots, used: 0, missed: 0 }
    }

    /// The steps kept, in order.
    pub fn steps(&self) -> impl Iterator<Item = &Tried<'a>> {
        self.slots[..self.used].iter().flatten()
    }

    /// Steps that there was no slot for.
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}

impl<'a> Trail<'a> for LentTrail<'_, 'a> {
    fn record(&mut self, tried: Tried<'a>) {
        match self.slots.get_mut(self.used) {
            Some(slot) => {
                *slot = Some(tried);
                self.used += 1;
            }
            None => self.missed += 1,
        }
    }
}

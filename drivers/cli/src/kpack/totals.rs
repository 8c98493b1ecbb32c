//! Sums over kernels.

use std::collections::HashSet;

use rocload::core::kpack::Entry;

use crate::text;

/// How many kernels, and their bytes.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) kernels: u64,
    /// Decompressed.
    pub(super) size: u64,
    /// In the file; what several entries share counts once.
    pub(super) stored: u64,
    seen: HashSet<u32>,
}

impl Totals {
    pub(super) fn add(&mut self, entry: &Entry<'_>, stored: u64) {
        self.kernels += 1;
        self.size = self.size.saturating_add(entry.size);
        if self.seen.insert(entry.ordinal) {
            self.stored = self.stored.saturating_add(stored);
        }
    }

    pub(super) fn ratio(&self) -> String {
        text::ratio(self.size, self.stored)
    }
}

//! What must be remembered of every key or tensor to tell that none stands twice and that none
//! overlap: 32 bytes each, in storage that the caller lends.
//!
//! The rows are sorted when all are there, so that the work is bounded by n log n whatever
//! names a hostile file chooses; a hash table would not give that.

use core::hash::Hasher as _;

use crate::need::Storage;

/// Bytes of a row.
pub(super) const ROW: usize = 32;

/// A name's 64-bit hash. Two different names of one file that share it would be called the
/// same: among 2^20 names the odds are 1 to 2^25.
pub(super) fn hash(name: &[u8]) -> u64 {
    #[expect(deprecated, reason = "core has no other hasher, and this one's results stay")]
    let mut hasher = core::hash::SipHasher::new();
    hasher.write(name);
    hasher.finish()
}

/// What is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Row {
    pub(super) hash: u64,
    /// Of a tensor: where its data begins and ends; equal for one without data.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) ordinal: u32,
    /// Where it stands in the header; beyond 4 GiB the largest u32.
    pub(super) at: u32,
}

impl Row {
    fn to_bytes(self) -> [u8; ROW] {
        let mut bytes = [0; ROW];
        let fields = [self.hash, self.start, self.end];
        for (slot, field) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
            *slot = field.to_le_bytes();
        }
        bytes[24..28].copy_from_slice(&self.ordinal.to_le_bytes());
        bytes[28..].copy_from_slice(&self.at.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; ROW]) -> Row {
        let words = bytes.as_chunks::<8>().0;
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        let last = word(3);
        Row {
            hash: word(0),
            start: word(1),
            end: word(2),
            ordinal: last as u32,
            at: (last >> 32) as u32,
        }
    }
}

/// Rows in storage.
#[derive(Debug, Clone)]
pub(super) struct Table<T> {
    storage: T,
    count: usize,
    full: bool,
}

impl<T: Storage> Table<T> {
    pub(super) const fn new(storage: T) -> Self {
        Table { storage, count: 0, full: false }
    }

    /// Not every row was kept.
    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn clear(&mut self) {
        (self.count, self.full) = (0, false);
    }

    /// Keeps a row if there is room; `expected` rows, all in all, are likely.
    pub(super) fn push(&mut self, row: Row, expected: u64) {
        let until = (self.count + 1) * ROW;
        if self.storage.slots().len() < until {
            // Twice as much each time, but not more than is likely.
            let expected = usize::try_from(expected).unwrap_or(usize::MAX).saturating_mul(ROW);
            let twice = until.saturating_mul(2).max(4 << 10).min(expected.max(until));
            if !self.storage.grow(twice) {
                self.storage.grow(until);
            }
        }
        match self.storage.slots_mut().get_mut(until - ROW..until) {
            Some(slot) if !self.full => {
                slot.copy_from_slice(&row.to_bytes());
                self.count += 1;
            }
            _ => self.full = true,
        }
    }

    fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let rows = self.storage.slots().as_chunks::<ROW>().0;
        rows.iter().take(self.count).map(Row::from_bytes)
    }

    fn sort_by_key<K: Ord>(&mut self, key: impl Fn(Row) -> K) {
        let rows = self.storage.slots_mut().as_chunks_mut::<ROW>().0;
        if let Some(rows) = rows.get_mut(..self.count) {
            rows.sort_unstable_by_key(|bytes| key(Row::from_bytes(bytes)));
        }
    }

    /// The first row whose name stands already in an earlier one: that one, and it.
    pub(super) fn repeated(&mut self) -> Option<(Row, Row)> {
        self.sort_by_key(|row| (row.hash, row.ordinal));
        let pairs = self.rows().zip(self.rows().skip(1));
        pairs.filter(|(one, two)| one.hash == two.hash).min_by_key(|(_, two)| two.ordinal)
    }

    /// The rows by where their data begins.
    pub(super) fn in_order_of_data(&mut self) -> impl Iterator<Item = Row> + '_ {
        self.sort_by_key(|row| (row.start, row.end, row.ordinal));
        self.rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_fields() {
        let row = Row { hash: 1 << 63, start: 2, end: u64::MAX, ordinal: 4, at: u32::MAX };
        assert_eq!(Row::from_bytes(&row.to_bytes()), row);
    }

    #[test]
    fn the_first_repetition_is_found() {
        let mut table = Table::new([0u8; 6 * ROW]);
        for (ordinal, name) in [&b"a"[..], b"b", b"c", b"b", b"a"].into_iter().enumerate() {
            table.push(Row { hash: hash(name), ordinal: ordinal as u32, ..Row::default() }, 0);
        }
        assert!(!table.is_full());
        let (one, two) = table.repeated().unwrap();
        assert_eq!((one.ordinal, two.ordinal), (1, 3));
        table.clear();
        table.push(Row::default(), 0);
        assert_eq!(table.repeated(), None);
    }

    #[test]
    fn a_full_table_says_so() {
        let mut table = Table::new([0u8; 2 * ROW + 31]);
        for ordinal in 0..3 {
            assert!(!table.is_full());
            table.push(Row { ordinal, ..Row::default() }, 3);
        }
        assert!(table.is_full());
        assert_eq!(table.rows().count(), 2);
    }
}

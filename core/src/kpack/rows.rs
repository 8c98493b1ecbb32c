//! The rows that an index is made of, and the memory they stand in.
//!
//! A row names a piece of the TOC by its position, so that rows are small, own nothing, and the
//! same code fills rows that a caller lends ([`Lent`]) and rows in a `Vec`.

use crate::error::Full;

/// A range of the TOC's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Span {
    /// The span of `part`, which ends `end` bytes into the TOC.
    pub(crate) fn ending(end: usize, part: &[u8]) -> Span {
        // A TOC is shorter than 4 GiB: `walk` refuses longer ones first.
        Span { start: (end - part.len()) as u32, len: part.len() as u32 }
    }

    /// Its bytes; empty for a span of other bytes than these.
    #[inline]
    pub(crate) fn of(self, toc: &[u8]) -> &[u8] {
        let start = self.start as usize;
        toc.get(start..start.saturating_add(self.len as usize)).unwrap_or(&[])
    }
}

/// A binary of the TOC: where it stands there, and the run of entries that is its own.
///
/// Rows hold positions and no values, which are read from the TOC's bytes when they are asked
/// for: an index of small rows is made sooner and stays in a core's cache.
#[derive(Debug, Clone, Copy, Default)]
pub struct BinaryRow {
    /// Where its name's head stands in the TOC.
    pub(crate) at: u32,
    /// The number of its first entry; the run ends where that of the next binary begins. The
    /// top bit marks a row that a later duplicate has replaced (`Compat` alone): a TOC is
    /// shorter than 4 GiB, so that neither binaries nor entries are ever so many.
    first: u32,
}

/// One kernel of the TOC.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntryRow {
    /// Where its architecture's head stands in the TOC; the entry's map follows that name.
    pub(crate) at: u32,
    /// The number of the binary that it stands under, and the mark of [`BinaryRow::first`].
    binary: u32,
}

const DEAD: u32 = 1 << 31;

impl BinaryRow {
    pub(crate) const fn new(at: u32, first: u32) -> Self {
        Self { at, first }
    }
    #[inline]
    pub(crate) const fn first(self) -> u32 {
        self.first & !DEAD
    }
    pub(crate) const fn is_dead(self) -> bool {
        self.first & DEAD != 0
    }
    pub(crate) const fn kill(&mut self) {
        self.first |= DEAD;
    }
}

impl EntryRow {
    pub(crate) const fn new(at: u32, binary: u32) -> Self {
        Self { at, binary }
    }
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) const fn binary(self) -> u32 {
        self.binary & !DEAD
    }
    pub(crate) const fn is_dead(self) -> bool {
        self.binary & DEAD != 0
    }
    pub(crate) const fn kill(&mut self) {
        self.binary |= DEAD;
    }
}

/// Where a kernel is stored under scheme none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Blob {
    /// Absolute offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}

/// A cell of the index's hash table.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slot(pub(crate) u64);

/// A growing row of `T`, in memory of some kind.
pub trait Rows<T> {
    /// The rows written.
    fn rows(&self) -> &[T];
    /// The rows written, to be changed.
    fn rows_mut(&mut self) -> &mut [T];
    /// Adds a row. A store that is full remembers how many were wanted.
    fn push(&mut self, row: T);
    /// Makes room for `more` rows if that is cheap.
    fn expect(&mut self, _more: usize) {}
    /// Forgets all rows.
    fn clear(&mut self);
    /// Makes exactly as many rows as is best for a table of `wanted` default rows, or as many
    /// as there is room for.
    fn fill(&mut self, wanted: usize)
    where
        T: Default + Copy;
    /// Whether every row pushed was kept.
    ///
    /// # Errors
    /// [`Full`] with the number of rows wanted.
    fn complete(&self) -> Result<(), Full>;
}

/// Rows in a slice that the caller lends.
#[derive(Debug)]
pub struct Lent<'t, T> {
    slots: &'t mut [T],
    len: usize,
}

impl<'t, T> Lent<'t, T> {
    /// Rows that will be written from the front of `slots`.
    pub const fn new(slots: &'t mut [T]) -> Self {
        Self { slots, len: 0 }
    }
}

impl<T> Rows<T> for Lent<'_, T> {
    fn rows(&self) -> &[T] {
        &self.slots[..self.len.min(self.slots.len())]
    }
    fn rows_mut(&mut self) -> &mut [T] {
        let len = self.len.min(self.slots.len());
        &mut self.slots[..len]
    }
    fn push(&mut self, row: T) {
        if let Some(slot) = self.slots.get_mut(self.len) {
            *slot = row;
        }
        self.len += 1;
    }
    fn clear(&mut self) {
        self.len = 0;
    }
    fn fill(&mut self, wanted: usize)
    where
        T: Default + Copy,
    {
        self.len = wanted.min(self.slots.len());
        self.rows_mut().fill(T::default());
    }
    fn complete(&self) -> Result<(), Full> {
        if self.len > self.slots.len() { Err(Full { need: self.len as u64 }) } else { Ok(()) }
    }
}

/// Rows in memory of their own, which grows as they come. Where there is none, rows are counted
/// and not kept, as in [`Lent`].
#[cfg(feature = "alloc")]
#[derive(Debug, Clone)]
pub struct Owned<T> {
    rows: alloc::vec::Vec<T>,
    lost: usize,
}

#[cfg(feature = "alloc")]
impl<T> Default for Owned<T> {
    fn default() -> Self {
        Self { rows: alloc::vec::Vec::new(), lost: 0 }
    }
}

#[cfg(feature = "alloc")]
impl<T> Owned<T> {
    /// Room for one more row, or the row is lost.
    #[cold]
    fn grow(&mut self) -> bool {
        // A row that comes after a lost one has lost its place.
        let grown = self.lost == 0 && self.rows.try_reserve(1).is_ok();
        self.lost += usize::from(!grown);
        grown
    }
}

#[cfg(feature = "alloc")]
impl<T> Rows<T> for Owned<T> {
    fn rows(&self) -> &[T] {
        &self.rows
    }
    fn rows_mut(&mut self) -> &mut [T] {
        &mut self.rows
    }
    #[inline]
    fn push(&mut self, row: T) {
        if self.rows.len() < self.rows.capacity() || self.grow() {
            self.rows.push(row);
        }
    }
    fn expect(&mut self, more: usize) {
        // What fails here fails again when the rows come.
        let _ = self.rows.try_reserve(more);
    }
    fn clear(&mut self) {
        self.rows.clear();
        self.lost = 0;
    }
    fn fill(&mut self, wanted: usize)
    where
        T: Default + Copy,
    {
        self.clear();
        if self.rows.try_reserve_exact(wanted).is_ok() {
            self.rows.resize(wanted, T::default());
        }
    }
    fn complete(&self) -> Result<(), Full> {
        match self.lost {
            0 => Ok(()),
            lost => Err(Full { need: (self.rows.len() + lost) as u64 }),
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn rows_without_memory_are_counted() {
        // One of them is more than there is.
        let mut rows = Owned::<[u8; usize::MAX >> 3]>::default();
        rows.expect(usize::MAX);
        assert_eq!(rows.complete(), Ok(()));
        for lost in 1..4 {
            assert!(!rows.grow());
            assert_eq!(rows.complete(), Err(Full { need: lost }));
        }
        assert!(rows.rows().is_empty());
        rows.clear();
        assert_eq!(rows.complete(), Ok(()));
    }

    #[test]
    fn rows_with_memory_are_kept() {
        let mut rows = Owned::default();
        (0..100u32).for_each(|row| rows.push(row));
        assert!(rows.rows().iter().copied().eq(0..100));
        rows.fill(3);
        assert_eq!((rows.rows(), rows.complete()), (&[0, 0, 0][..], Ok(())));
    }
}

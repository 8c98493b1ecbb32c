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

#[cfg(feature = "alloc")]
impl<T> Rows<T> for alloc::vec::Vec<T> {
    fn rows(&self) -> &[T] {
        self
    }
    fn rows_mut(&mut self) -> &mut [T] {
        self
    }
    fn push(&mut self, row: T) {
        alloc::vec::Vec::push(self, row);
    }
    fn expect(&mut self, more: usize) {
        self.reserve(more);
    }
    fn clear(&mut self) {
        alloc::vec::Vec::clear(self);
    }
    fn fill(&mut self, wanted: usize)
    where
        T: Default + Copy,
    {
        alloc::vec::Vec::clear(self);
        self.resize(wanted, T::default());
    }
    fn complete(&self) -> Result<(), Full> {
        Ok(())
    }
}

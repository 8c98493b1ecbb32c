//! Finding an entry by hash, in rows that are owned or lent.
//!
//! The rows are filled during the one walk over the TOC; then the binaries' names are entered
//! into a hash table, which shows those that stand twice. A lookup goes from a slot straight to
//! the TOC's bytes, where a binary's few architectures follow its name; rows are there for
//! enumeration, and for a search by halving where the architectures are many.
//!
//! Names are hostile: they may be chosen to collide. An insertion that would have to probe too
//! far turns the slots into a sorted array of positions instead, searched by halving; so the
//! index is built in n log n comparisons whatever the names are. The same form is used where
//! the caller lends fewer than two slots a binary.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::kpack::{BinaryRow, Blob, EntryRow, Header, LentRows, Slot, Strictness};
//! # let archive: &[u8] = rocload_core::kpack::EXAMPLE;
//!
//! // Four pieces of the caller's memory; a heap is not needed.
//! let (mut binaries, mut entries) = ([BinaryRow::default(); 8], [EntryRow::default(); 8]);
//! let (mut blobs, mut slots) = ([Blob::default(); 8], [Slot::default(); 16]);
//! let rows = LentRows::lend(&mut binaries, &mut entries, &mut blobs, &mut slots);
//!
//! let total = archive.len() as u64;
//! let base = Header::parse(archive, total)?.toc_offset;
//! let toc = &archive[base as usize..];
//! let index = rows.read(toc, base, total, &Limits::default(), Strictness::Strict)?;
//! assert_eq!(index.find(b"lib/libsmall.so#0", b"gfx90a")?.unwrap().size, 12);
//! # Ok::<(), rocload_core::Error>(())
//! ```

use core::ops::Range;

use super::rows::{Lent, Rows, Slot};
use super::slots::{self, Inserted};
use super::toc::{Entry, Record, Toc};
use super::walk::{self, Rules, Tables, kpack};
use super::{BinaryRow, Blob, EntryRow, Fault, Repeated, Scheme, Strictness};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::Limits;

/// Entries of one binary, each with each, are compared up to this number; more are sorted.
const FEW: usize = 16;

/// The rows of a TOC and the slots that find them, in memory of four kinds.
#[derive(Debug, Clone, Default)]
pub struct Index<B, E, L, S> {
    binaries: B,
    entries: E,
    blobs: L,
    slots: S,
    sorted: bool,
    dead: u32,
}

/// Rows in slices that the caller lends.
pub type LentRows<'t> =
    Index<Lent<'t, BinaryRow>, Lent<'t, EntryRow>, Lent<'t, Blob>, Lent<'t, Slot>>;

/// Lent rows together with the TOC that they were filled from.
#[derive(Debug)]
pub struct LentIndex<'a, 't> {
    toc: Toc<'a>,
    rows: LentRows<'t>,
}

impl<'t> LentRows<'t> {
    /// Lends memory for the rows: one element a binary, an entry and a blob (scheme none), and
    /// two slots a binary. One slot each is enough, and finds by halving. [`Toc::counts`] tells
    /// the numbers.
    pub const fn lend(
        binaries: &'t mut [BinaryRow],
        entries: &'t mut [EntryRow],
        blobs: &'t mut [Blob],
        slots: &'t mut [Slot],
    ) -> Self {
        Index {
            binaries: Lent::new(binaries),
            entries: Lent::new(entries),
            blobs: Lent::new(blobs),
            slots: Lent::new(slots),
            sorted: false,
            dead: 0,
        }
    }

    /// Reads the TOC in `bytes` (as [`Toc::parse`]) into these rows.
    ///
    /// # Errors
    /// Those of [`Toc::parse`], duplicate names, and [`Full`] with the number of rows wanted.
    pub fn read<'a>(
        mut self,
        bytes: &'a [u8],
        base: u64,
        total: u64,
        limits: &Limits,
        strictness: Strictness,
    ) -> Result<LentIndex<'a, 't>, Error> {
        let rules = Rules { total, limits, strictness };
        let toc = walk::walk(bytes, base, rules, &mut self)?;
        Ok(LentIndex { toc, rows: self })
    }
}

impl<'a> LentIndex<'a, '_> {
    /// The TOC.
    pub const fn toc(&self) -> &Toc<'a> {
        &self.toc
    }

    /// The entry of exactly this binary and architecture.
    ///
    /// # Errors
    /// As [`Toc::locate`].
    pub fn find(&self, binary: &[u8], arch: &[u8]) -> Result<Option<Entry<'a>>, Error> {
        self.rows.find(&self.toc, binary, arch)
    }
}

impl<B, E, L, S> Tables for Index<B, E, L, S>
where
    B: Rows<BinaryRow>,
    E: Rows<EntryRow>,
    L: Rows<Blob>,
    S: Rows<Slot>,
{
    fn clear_entries(&mut self) {
        self.binaries.clear();
        self.entries.clear();
    }

    fn clear_blobs(&mut self) {
        self.blobs.clear();
    }

    fn expect(&mut self, binaries: usize) {
        self.binaries.expect(binaries);
        self.entries.expect(binaries);
    }

    fn binary(&mut self, row: BinaryRow) {
        self.binaries.push(row);
    }

    fn entry(&mut self, row: EntryRow) {
        self.entries.push(row);
    }

    fn blob(&mut self, blob: Blob) {
        self.blobs.push(blob);
    }

    fn finish(&mut self, toc: &Toc<'_>) -> Result<(), Error> {
        let full = |full| Error::new(ErrorKind::Full(full), toc.base);
        self.binaries.complete().map_err(full)?;
        self.entries.complete().map_err(full)?;
        self.blobs.complete().map_err(full)?;
        let binaries = self.binaries.rows().len();
        self.slots.fill(binaries.saturating_mul(2));
        if self.slots.rows().len() < binaries {
            return Err(full(Full { need: binaries as u64 }));
        }
        // In this order: the last one moves entries.
        self.check_sizes(toc)?;
        self.dead = 0;
        self.enter_binaries(toc)?;
        self.check_arches(toc)
    }
}

impl<B, E, L, S> Index<B, E, L, S>
where
    B: Rows<BinaryRow>,
    E: Rows<EntryRow>,
    L: Rows<Blob>,
    S: Rows<Slot>,
{
    /// Scheme none, strict: each entry's blob has the size that the entry declares.
    fn check_sizes(&self, toc: &Toc<'_>) -> Result<(), Error> {
        if toc.scheme() != Scheme::None || toc.strictness == Strictness::Compat {
            return Ok(());
        }
        for row in self.entries.rows() {
            let Record { ordinal, original_size, at, .. } = toc.record_at(&[], row.at);
            if let Some(blob) = self.blobs.rows().get(ordinal as usize) {
                toc.check_size(original_size, blob.size, at)?;
            }
        }
        Ok(())
    }

    /// Enters the binaries' names, and finds those that stand twice.
    fn enter_binaries(&mut self, toc: &Toc<'_>) -> Result<(), Error> {
        let count = self.binaries.rows().len();
        self.sorted = self.slots.rows().len() < count.saturating_mul(2);
        for id in 0..count {
            if self.sorted {
                break;
            }
            let at = self.binaries.rows()[id].at;
            let name = toc.name_at(at);
            match slots::insert(self.slots.rows_mut(), name, at, |other| toc.name_at(other)) {
                Inserted::New => {}
                Inserted::Before(earlier) => self.duplicate_binary(toc, earlier, at)?,
                Inserted::TooFar => self.sorted = true,
            }
        }
        if self.sorted { self.sort_binaries(toc) } else { Ok(()) }
    }

    /// The fallback: positions sorted by name, so that equal names stand side by side.
    fn sort_binaries(&mut self, toc: &Toc<'_>) -> Result<(), Error> {
        let rows = self.binaries.rows();
        let count = rows.len();
        let name = |slot: Slot| toc.name_at(slot.0 as u32);
        let slots = &mut self.slots.rows_mut()[..count];
        for (row, slot) in rows.iter().zip(&mut *slots) {
            *slot = Slot(u64::from(row.at));
        }
        slots.sort_unstable_by(|&a, &b| name(a).cmp(name(b)).then_with(|| a.0.cmp(&b.0)));
        if toc.strictness == Strictness::Strict {
            // The first in the TOC, as the table would have found it.
            let pairs = slots.windows(2).filter(|pair| name(pair[0]) == name(pair[1]));
            return match pairs.map(|pair| (pair[1].0, pair[0].0)).min() {
                Some((later, earlier)) => self.duplicate_binary(toc, earlier as u32, later as u32),
                None => Ok(()),
            };
        }
        for at in 1..count {
            let (earlier, later) = (self.slots.rows()[at - 1], self.slots.rows()[at]);
            if name(earlier) == name(later) {
                self.duplicate_binary(toc, earlier.0 as u32, later.0 as u32)?;
            }
        }
        Ok(())
    }

    /// A binary stands again at `later`: an error, or the one at `earlier` and its entries die.
    #[cold]
    fn duplicate_binary(&mut self, toc: &Toc<'_>, earlier: u32, later: u32) -> Result<(), Error> {
        if toc.strictness == Strictness::Strict {
            let fault = Fault::Duplicate(Repeated::Binary);
            return Err(kpack(fault, toc.name_offset(later)));
        }
        if let Some(id) = self.number(earlier)
            && !self.binaries.rows()[id].is_dead()
        {
            let run = self.run(id);
            self.dead += run.len() as u32;
            self.entries.rows_mut()[run].iter_mut().for_each(EntryRow::kill);
            self.binaries.rows_mut()[id].kill();
        }
        Ok(())
    }

    /// The number of the binary whose name stands at `at`. Rows stand in the TOC's order.
    fn number(&self, at: u32) -> Option<usize> {
        self.binaries.rows().binary_search_by_key(&at, |row| row.at).ok()
    }

    /// The numbers of a binary's entries.
    #[inline]
    pub(crate) fn run(&self, binary: usize) -> Range<usize> {
        let rows = self.binaries.rows();
        let end = rows.get(binary + 1).map(|next| next.first() as usize);
        rows[binary].first() as usize..end.unwrap_or(self.entries.rows().len())
    }

    /// Finds architectures that stand twice under one binary, and sorts long runs of entries.
    fn check_arches(&mut self, toc: &Toc<'_>) -> Result<(), Error> {
        for binary in 0..self.binaries.rows().len() {
            let run = self.run(binary);
            if run.len() > 1 && !self.binaries.rows()[binary].is_dead() {
                self.check_run(toc, run)?;
            }
        }
        Ok(())
    }

    fn check_run(&mut self, toc: &Toc<'_>, run: Range<usize>) -> Result<(), Error> {
        let arch = |row: &EntryRow| toc.name_at(row.at);
        let rows = &mut self.entries.rows_mut()[run];
        let mut again: Option<u32> = None;
        let mut dead = 0;
        let mut duplicate = |earlier: &mut EntryRow, later: EntryRow| {
            again = Some(again.map_or(later.at, |at| at.min(later.at)));
            earlier.kill();
            dead += 1;
        };
        if rows.len() > FEW {
            rows.sort_unstable_by(|a, b| arch(a).cmp(arch(b)).then_with(|| a.at.cmp(&b.at)));
            for at in 1..rows.len() {
                let later = rows[at];
                if arch(&rows[at - 1]) == arch(&later) {
                    duplicate(&mut rows[at - 1], later);
                }
            }
        } else {
            for at in 1..rows.len() {
                let later = rows[at];
                let mut before = rows[..at].iter_mut();
                let same = before.find(|row| !row.is_dead() && arch(row) == arch(&later));
                if let Some(earlier) = same {
                    duplicate(earlier, later);
                }
            }
        }
        self.dead += dead;
        match again {
            Some(at) if toc.strictness == Strictness::Strict => {
                Err(kpack(Fault::Duplicate(Repeated::Arch), toc.name_offset(at)))
            }
            _ => Ok(()),
        }
    }

    /// Where the binary with this name stands; of equal names the last one.
    #[inline]
    fn find_binary(&self, toc: &Toc<'_>, name: &[u8]) -> Option<u32> {
        let slots = self.slots.rows();
        if self.sorted {
            let slots = &slots[..self.binaries.rows().len()];
            let name_of = |slot: &Slot| toc.name_at(slot.0 as u32);
            let end = slots.partition_point(|slot| name_of(slot) <= name);
            let last = slots[..end].last().filter(|slot| name_of(slot) == name)?;
            return Some(last.0 as u32);
        }
        slots::find(slots, name, |at| toc.name_at(at))
    }

    /// The record of this architecture under the binary at `at`; of equal names the last one.
    #[inline]
    fn find_arch<'a>(&self, toc: &Toc<'a>, at: u32, arch: &[u8]) -> Option<Record<'a>> {
        let mut reader = toc.reader(at);
        let binary = reader.str().ok()?;
        let count = reader.map().ok()?;
        if count as usize > FEW {
            return self.search_arch(toc, at, arch);
        }
        // A few stand in as many cache lines as their rows would: they need no other search.
        let mut last = None;
        for _ in 0..count {
            let at = reader.position() as u32;
            if reader.str().ok()? == arch {
                last = Some(at);
                if toc.strictness == Strictness::Strict {
                    break;
                }
            }
            toc.pass_entry(&mut reader)?;
        }
        last.map(|at| toc.record_at(binary, at))
    }

    /// The same in a long run, which is sorted.
    #[inline(never)]
    fn search_arch<'a>(&self, toc: &Toc<'a>, at: u32, arch: &[u8]) -> Option<Record<'a>> {
        let run = self.entries.rows().get(self.run(self.number(at)?))?;
        let arch_of = |row: &EntryRow| toc.name_at(row.at);
        let end = run.partition_point(|row| arch_of(row) <= arch);
        let row = run[..end].last().filter(|row| arch_of(row) == arch)?;
        Some(toc.record_at(toc.name_at(at), row.at))
    }

    /// The entry of exactly this binary and architecture.
    #[inline]
    pub(crate) fn find<'a>(
        &self,
        toc: &Toc<'a>,
        binary: &[u8],
        arch: &[u8],
    ) -> Result<Option<Entry<'a>>, Error> {
        let at = self.find_binary(toc, binary);
        match at.and_then(|at| self.find_arch(toc, at, arch)) {
            Some(record) => self.locate(toc, &record).map(Some),
            None => Ok(None),
        }
    }

    /// The architectures of a binary, in no particular order; none when there is no such one.
    #[cfg(feature = "alloc")]
    pub(crate) fn arches_of<'a>(
        &self,
        toc: &Toc<'a>,
        binary: &[u8],
    ) -> impl Iterator<Item = &'a [u8]> {
        let number = self.find_binary(toc, binary).and_then(|at| self.number(at));
        let run = number.map(|number| self.run(number)).unwrap_or_default();
        let rows = self.entries.rows().get(run).unwrap_or_default();
        rows.iter().filter(|row| !row.is_dead()).map(|row| toc.name_at(row.at))
    }

    /// Entries that a later duplicate has replaced are not counted.
    #[cfg(feature = "alloc")]
    pub(crate) fn live(&self) -> usize {
        self.entries.rows().len() - self.dead as usize
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn rows(&self) -> (&[BinaryRow], &[EntryRow]) {
        (self.binaries.rows(), self.entries.rows())
    }

    /// What a row stands for.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn record<'a>(&self, toc: &Toc<'a>, row: EntryRow) -> Record<'a> {
        let binary = self.binaries.rows().get(row.binary() as usize);
        toc.record_at(binary.map_or(&[], |binary| toc.name_at(binary.at)), row.at)
    }

    /// Resolves where a record's kernel is stored, as [`Toc::locate`] does by a walk.
    #[inline]
    pub(crate) fn locate<'a>(
        &self,
        toc: &Toc<'a>,
        record: &Record<'a>,
    ) -> Result<Entry<'a>, Error> {
        toc.entry(record, self.blobs.rows().get(record.ordinal as usize).copied())
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;

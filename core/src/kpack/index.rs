//! Finding an entry by hash, in rows that are owned or lent.
//!
//! The rows are filled during the one walk over the TOC; then the binaries' names are hashed
//! to find duplicates, and the same slots are used again for the entries. A slot holds part of
//! the hash and a row's number, so that a probe rarely looks at a row in vain.
//!
//! Names are hostile: they may be chosen to collide. An insertion that would have to probe too
//! far turns the slots into a sorted array of row numbers instead, searched by halving; so the
//! index is built in n log n comparisons whatever the names are. The same form is used where
//! the caller lends fewer than two slots a row.
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

use core::cmp::Ordering;
use core::ops::Range;

use super::rows::{Lent, Rows, Slot, Span};
use super::toc::{Entry, Toc};
use super::walk::{self, Rules, Tables, kpack};
use super::{BinaryRow, Blob, EntryRow, Fault, Repeated, Scheme, Strictness};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::Limits;

/// How far from its place a row may stand before the slots are sorted instead.
const FARTHEST: usize = 128;

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
    /// two slots for each binary or entry, whichever are more. One slot each is enough, and
    /// finds by halving. [`Toc::counts`] tells the numbers.
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
        let rows = self.binaries.rows().len().max(self.entries.rows().len());
        self.slots.fill(rows.saturating_mul(2));
        if self.slots.rows().len() < rows {
            return Err(full(Full { need: rows as u64 }));
        }
        self.check_sizes(toc)?;
        self.dead = 0;
        self.enter_binaries(toc)?;
        self.enter_entries(toc)
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
            if let Some(blob) = self.blobs.rows().get(row.ordinal as usize) {
                let declared = row.has_size.then_some(row.original_size);
                let at = toc.base.saturating_add(u64::from(row.arch.start));
                toc.check_size(declared, blob.size, at)?;
            }
        }
        Ok(())
    }

    /// Hashes the binaries' names to find those that stand twice.
    fn enter_binaries(&mut self, toc: &Toc<'_>) -> Result<(), Error> {
        let count = self.binaries.rows().len();
        let mut hashed = self.slots.rows().len() >= count.saturating_mul(2);
        for id in 0..count {
            let span = self.binaries.rows()[id].name;
            let name = span.of(toc.bytes);
            let hash = hash(name, 0);
            self.binaries.rows_mut()[id].hash = hash;
            if !hashed {
                continue;
            }
            let rows = self.binaries.rows();
            let same = |other: u32| rows[other as usize].name.of(toc.bytes) == name;
            match insert(self.slots.rows_mut(), hash, id as u32, same) {
                Inserted::New => {}
                Inserted::Before(earlier) => self.duplicate_binary(toc, earlier, span)?,
                Inserted::TooFar => hashed = false,
            }
        }
        if hashed { Ok(()) } else { self.sort_binaries(toc) }
    }

    /// The fallback: row numbers sorted by name show equal names side by side.
    fn sort_binaries(&mut self, toc: &Toc<'_>) -> Result<(), Error> {
        let count = self.binaries.rows().len();
        let rows = self.binaries.rows();
        let name = |id: u32| rows[id as usize].name.of(toc.bytes);
        sort(self.slots.rows_mut(), count, |a, b| name(a).cmp(name(b)));
        for at in 1..count {
            let (a, b) = (self.slots.rows()[at - 1].0 as u32, self.slots.rows()[at].0 as u32);
            let rows = self.binaries.rows();
            let (earlier, later) = (rows[a as usize].name, rows[b as usize].name);
            if earlier.of(toc.bytes) == later.of(toc.bytes) {
                self.duplicate_binary(toc, a, later)?;
            }
        }
        Ok(())
    }

    /// A binary stands again at `later`: an error, or the earlier one and its entries die.
    fn duplicate_binary(&mut self, toc: &Toc<'_>, earlier: u32, later: Span) -> Result<(), Error> {
        if toc.strictness == Strictness::Strict {
            let at = toc.base.saturating_add(u64::from(later.start));
            return Err(kpack(Fault::Duplicate(Repeated::Binary), at));
        }
        let row = &mut self.binaries.rows_mut()[earlier as usize];
        row.dead = true;
        let range = row.first as usize..(row.first + row.count) as usize;
        for entry in self.entries.rows_mut()[range].iter_mut().filter(|entry| !entry.dead) {
            entry.dead = true;
            self.dead += 1;
        }
        Ok(())
    }

    fn enter_entries(&mut self, toc: &Toc<'_>) -> Result<(), Error> {
        let count = self.entries.rows().len();
        let slots = self.slots.rows().len();
        self.slots.fill(slots);
        self.sorted = slots < count.saturating_mul(2);
        for binary in 0..self.binaries.rows().len() {
            let BinaryRow { hash: seed, first, count, dead, .. } = self.binaries.rows()[binary];
            if self.sorted {
                break;
            }
            if !dead {
                self.enter_arches(toc, seed, first..first + count)?;
            }
        }
        if self.sorted { self.sort_entries(toc) } else { Ok(()) }
    }

    /// Enters the entries of one binary, whose name hashes to `seed`.
    fn enter_arches(&mut self, toc: &Toc<'_>, seed: u64, ids: Range<u32>) -> Result<(), Error> {
        for id in ids {
            let EntryRow { binary, arch: span, .. } = self.entries.rows()[id as usize];
            let arch = span.of(toc.bytes);
            let rows = self.entries.rows();
            let same = |other: u32| {
                let other = &rows[other as usize];
                other.binary == binary && other.arch.of(toc.bytes) == arch
            };
            match insert(self.slots.rows_mut(), hash(arch, seed), id, same) {
                Inserted::New => {}
                Inserted::Before(earlier) => self.duplicate_arch(toc, earlier, span)?,
                Inserted::TooFar => {
                    self.sorted = true;
                    break;
                }
            }
        }
        Ok(())
    }

    /// An architecture stands again under the same binary: an error, or the earlier one dies.
    fn duplicate_arch(&mut self, toc: &Toc<'_>, earlier: u32, later: Span) -> Result<(), Error> {
        if toc.strictness == Strictness::Strict {
            let at = toc.base.saturating_add(u64::from(later.start));
            return Err(kpack(Fault::Duplicate(Repeated::Arch), at));
        }
        self.entries.rows_mut()[earlier as usize].dead = true;
        self.dead += 1;
        Ok(())
    }

    /// The fallback: row numbers sorted by name, the last of equal ones alive.
    fn sort_entries(&mut self, toc: &Toc<'_>) -> Result<(), Error> {
        let count = self.entries.rows().len();
        let entries = self.entries.rows();
        let key = |id: u32| row_key(&entries[id as usize], toc.bytes);
        sort(self.slots.rows_mut(), count, |a, b| key(a).cmp(&key(b)));
        for at in 1..count {
            let (a, b) = (self.slots.rows()[at - 1].0 as u32, self.slots.rows()[at].0 as u32);
            let (earlier, later) =
                (self.entries.rows()[a as usize], self.entries.rows()[b as usize]);
            let same = row_key(&earlier, toc.bytes) == row_key(&later, toc.bytes);
            if same && !earlier.dead && !later.dead {
                self.duplicate_arch(toc, a, later.arch)?;
            }
        }
        Ok(())
    }

    /// The row of exactly this binary and architecture.
    fn find_row(&self, toc: &Toc<'_>, binary: &[u8], arch: &[u8]) -> Option<&EntryRow> {
        let (entries, slots) = (self.entries.rows(), self.slots.rows());
        if self.sorted {
            let slots = &slots[..entries.len()];
            let wanted = (binary, arch);
            let start = slots.partition_point(|slot| {
                row_key(&entries[slot.0 as u32 as usize], toc.bytes) < wanted
            });
            return slots[start..]
                .iter()
                .map(|slot| &entries[slot.0 as u32 as usize])
                .take_while(|row| row_key(row, toc.bytes) == wanted)
                .find(|row| !row.dead);
        }
        let hash = hash(arch, hash(binary, 0));
        let mut at = place(hash, slots.len())?;
        for _ in 0..=FARTHEST {
            let slot = slots[at].0;
            if slot == 0 {
                return None;
            }
            if slot >> 32 == hash & TAG {
                let row = &entries[(slot as u32 - 1) as usize];
                if row_key(row, toc.bytes) == (binary, arch) {
                    return Some(row);
                }
            }
            at = if at + 1 == slots.len() { 0 } else { at + 1 };
        }
        None
    }

    /// The entry of exactly this binary and architecture.
    pub(crate) fn find<'a>(
        &self,
        toc: &Toc<'a>,
        binary: &[u8],
        arch: &[u8],
    ) -> Result<Option<Entry<'a>>, Error> {
        self.find_row(toc, binary, arch).map(|row| self.entry(toc, row)).transpose()
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

    pub(crate) fn entry<'a>(&self, toc: &Toc<'a>, row: &EntryRow) -> Result<Entry<'a>, Error> {
        let blob = self.blobs.rows().get(row.ordinal as usize).copied();
        toc.entry(&toc.record(row), blob)
    }
}

/// The names that a row is found by.
fn row_key<'a>(row: &EntryRow, toc: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    (row.binary.of(toc), row.arch.of(toc))
}

enum Inserted {
    New,
    /// An equal row was there, which the new one has replaced in its slot.
    Before(u32),
    TooFar,
}

/// A slot keeps the low half of the hash above the row's number + 1; 0 is an empty slot.
const TAG: u64 = u32::MAX as u64;

fn place(hash: u64, slots: usize) -> Option<usize> {
    // The high half, scaled to the number of slots: no power of two is asked for.
    (slots > 0).then(|| ((u128::from(hash >> 32) * slots as u128) >> 32) as usize)
}

fn insert(slots: &mut [Slot], hash: u64, id: u32, same: impl Fn(u32) -> bool) -> Inserted {
    let Some(mut at) = place(hash, slots.len()) else { return Inserted::TooFar };
    let slot = (hash & TAG) << 32 | u64::from(id + 1);
    for _ in 0..=FARTHEST {
        let there = slots[at].0;
        if there == 0 {
            slots[at] = Slot(slot);
            return Inserted::New;
        }
        let other = (there as u32).wrapping_sub(1);
        if there >> 32 == hash & TAG && same(other) {
            slots[at] = Slot(slot);
            return Inserted::Before(other);
        }
        at = if at + 1 == slots.len() { 0 } else { at + 1 };
    }
    Inserted::TooFar
}

/// Writes 0..count into the slots and sorts them; equal ones stay in their order.
fn sort(slots: &mut [Slot], count: usize, compare: impl Fn(u32, u32) -> Ordering) {
    let slots = &mut slots[..count];
    for (id, slot) in slots.iter_mut().enumerate() {
        *slot = Slot(id as u64);
    }
    slots.sort_unstable_by(|a, b| {
        compare(a.0 as u32, b.0 as u32).then_with(|| (a.0 as u32).cmp(&(b.0 as u32)))
    });
}

/// Mixes eight bytes at a time by folded multiplication; `seed` chains two names.
#[inline]
fn hash(bytes: &[u8], seed: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ (product >> 64) as u64
    };
    let (chunks, tail) = bytes.as_chunks::<8>();
    let mut state = fold(seed ^ ODD, bytes.len() as u64 ^ 0xd6e8_feb8_6659_fd93);
    for chunk in chunks {
        state = fold(state ^ u64::from_le_bytes(*chunk), ODD);
    }
    let mut last = [0u8; 8];
    last[..tail.len()].copy_from_slice(tail);
    fold(state ^ u64::from_le_bytes(last), 0xa076_1d64_78bd_642f)
}

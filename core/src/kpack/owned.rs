//! A TOC with everything it needs, in memory of its own.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::index::Index;
use super::toc::{Entry, Layout, Record, Toc};
use super::{BinaryRow, Blob, EntryRow, Open, Owned, Slot, Strictness};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::need::{Machine, visit};

/// Rows in memory of their own.
pub type OwnedIndex = Index<Owned<BinaryRow>, Owned<EntryRow>, Owned<Blob>, Owned<Slot>>;

/// A checked TOC, its bytes and its index.
///
/// ```
/// use rocload_core::Limits;
/// use rocload_core::kpack::{OwnedToc, Strictness};
/// # let archive: &[u8] = rocload_core::kpack::EXAMPLE;
///
/// let toc = OwnedToc::read(archive, &Limits::default(), Strictness::Strict)?;
/// assert_eq!(toc.len(), 1);
/// assert_eq!(toc.find(b"lib/libsmall.so#0", b"gfx90a")?.unwrap().size, 12);
/// # Ok::<(), rocload_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OwnedToc {
    bytes: Vec<u8>,
    base: u64,
    total: u64,
    strictness: Strictness,
    layout: Layout,
    index: OwnedIndex,
}

impl OwnedToc {
    /// Opens an archive that lies in memory as a whole.
    ///
    /// # Errors
    /// Whatever the header and the TOC prove wrong, with its absolute offset.
    pub fn read(archive: &[u8], limits: &Limits, strictness: Strictness) -> Result<Self, Error> {
        let total = archive.len() as u64;
        let mut open = Open::new(total, *limits, strictness, Vec::new(), OwnedIndex::default());
        visit(&mut open, 0, archive, |_| {})?;
        let _ = open.end()?;
        let unfinished = Error::new(ErrorKind::Truncated { need: 1, have: 0 }, total);
        open.into_toc().ok_or(unfinished)
    }

    /// The view of the TOC.
    #[inline]
    pub fn toc(&self) -> Toc<'_> {
        Toc {
            bytes: &self.bytes,
            base: self.base,
            total: self.total,
            strictness: self.strictness,
            layout: self.layout,
        }
    }

    /// The number of kernels.
    pub fn len(&self) -> usize {
        self.index.live()
    }

    /// There is no kernel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of exactly this binary and architecture, by hash.
    ///
    /// # Errors
    /// In compatible reading, what is wrong with that entry's blob.
    #[inline]
    pub fn find(&self, binary: &[u8], arch: &[u8]) -> Result<Option<Entry<'_>>, Error> {
        self.index.find(&self.toc(), binary, arch)
    }

    /// The architectures: `gfx_arches` as it stands, duplicates kept, then, byte-sorted, those
    /// that only entries name. In compatible reading `gfx_arches` alone.
    pub fn arches(&self) -> Vec<&[u8]> {
        let toc = self.toc();
        let mut arches: Vec<&[u8]> = toc.arches().collect();
        if self.strictness == Strictness::Strict {
            let listed: BTreeSet<&[u8]> = arches.iter().copied().collect();
            let (_, rows) = self.index.rows();
            let named = rows.iter().map(|row| toc.name_at(row.at));
            let others: BTreeSet<&[u8]> = named.filter(|arch| !listed.contains(arch)).collect();
            arches.extend(others);
        }
        arches
    }

    /// The binaries' names, byte-sorted, each once; also those without an entry.
    pub fn binaries(&self) -> Vec<&[u8]> {
        let (rows, _) = self.index.rows();
        let live = rows.iter().filter(|row| !row.is_dead());
        let mut names: Vec<&[u8]> = live.map(|row| self.toc().name_at(row.at)).collect();
        names.sort_unstable();
        names
    }

    /// The order of enumeration: entries by their binary's bytes, then in the order of
    /// [`arches`](Self::arches). Made anew at each call; feed its numbers to
    /// [`entry`](Self::entry).
    pub fn order(&self) -> Vec<u32> {
        let toc = self.toc();
        let arches = self.arches();
        let mut ranks: BTreeMap<&[u8], u32> = BTreeMap::new();
        for (at, arch) in arches.iter().enumerate() {
            ranks.entry(arch).or_insert(at as u32);
        }
        let (binaries, entries) = self.index.rows();
        let live = |&id: &u32| !entries[id as usize].is_dead();
        let rank = |&id: &u32| {
            let arch = toc.name_at(entries[id as usize].at);
            (ranks.get(arch).copied().unwrap_or(u32::MAX), arch)
        };
        let mut named: Vec<(&[u8], u32)> =
            binaries.iter().zip(0..).map(|(row, id)| (toc.name_at(row.at), id)).collect();
        named.sort_unstable();
        let mut order = Vec::with_capacity(self.len());
        for (_, id) in named {
            let from = order.len();
            let run = self.index.run(id as usize);
            order.extend((run.start as u32..run.end as u32).filter(live));
            if order.len() - from > 1 {
                order[from..].sort_by_cached_key(rank);
            }
        }
        order
    }

    /// The architectures that a binary is there for, byte-sorted; none when there is no such
    /// binary.
    pub fn arches_of(&self, binary: &[u8]) -> Vec<&[u8]> {
        let toc = self.toc();
        let mut arches: Vec<&[u8]> = self.index.arches_of(&toc, binary).collect();
        arches.sort_unstable();
        arches
    }

    /// The entry with a number from [`order`](Self::order).
    ///
    /// # Errors
    /// In compatible reading, what is wrong with that entry's blob.
    ///
    /// # Panics
    /// When `id` is not such a number.
    pub fn entry(&self, id: u32) -> Result<Entry<'_>, Error> {
        let (_, entries) = self.index.rows();
        let toc = self.toc();
        self.index.locate(&toc, &self.index.record(&toc, entries[id as usize]))
    }

    /// As [`entry`](Self::entry), without resolving where it is stored: cannot fail.
    ///
    /// # Panics
    /// When `id` is not a number from [`order`](Self::order).
    pub fn record(&self, id: u32) -> Record<'_> {
        let (_, entries) = self.index.rows();
        self.index.record(&self.toc(), entries[id as usize])
    }
}

impl Open<Vec<u8>, OwnedIndex> {
    /// The TOC, once the machine has finished.
    pub fn into_toc(self) -> Option<OwnedToc> {
        let (strictness, total) = self.toc().map(|toc| (toc.strictness(), toc.total()))?;
        let (mut bytes, index, header, len, layout) = self.into_parts()?;
        bytes.truncate(len);
        Some(OwnedToc { bytes, base: header.toc_offset, total, strictness, layout, index })
    }
}

//! The views without an allocator, and the naive twin.

use std::collections::BTreeMap;

use rocload_core::kpack::{
    BinaryRow, Blob, Counts, Entry, EntryRow, Fault, Header, LentIndex, LentRows, Record, Slot,
    Strictness, Toc,
};
use rocload_core::{Error, ErrorKind, Limits};

use crate::{Verdict, require, same};

/// Memory to lend to an index.
#[derive(Debug)]
pub struct Memory {
    binaries: Vec<BinaryRow>,
    entries: Vec<EntryRow>,
    blobs: Vec<Blob>,
    slots: Vec<Slot>,
}

impl Memory {
    /// For a TOC of these counts, with so many slots for each binary or entry: two for a search
    /// by hash, one for a search by halving.
    pub fn for_counts(counts: Counts, slots: usize) -> Memory {
        let rows = counts.binaries.max(counts.entries) as usize;
        Memory {
            binaries: vec![BinaryRow::default(); counts.binaries as usize],
            entries: vec![EntryRow::default(); counts.entries as usize],
            blobs: vec![Blob::default(); counts.blobs as usize],
            slots: vec![Slot::default(); rows * slots],
        }
    }

    /// The memory, lent.
    pub fn lend(&mut self) -> LentRows<'_> {
        LentRows::lend(&mut self.binaries, &mut self.entries, &mut self.blobs, &mut self.slots)
    }
}

/// The entries that count, by the rule for duplicates alone: the last binary of a name, and of
/// its entries the last of an architecture.
pub(super) type Twin<'a> = BTreeMap<&'a [u8], BTreeMap<&'a [u8], Record<'a>>>;

pub(super) fn twin<'a>(toc: &Toc<'a>) -> Twin<'a> {
    let mut records = toc.entries();
    let mut twin = Twin::new();
    for binary in toc.binaries() {
        let under = records.by_ref().take(binary.entries as usize);
        twin.insert(binary.name, under.map(|record| (record.arch, record)).collect());
    }
    twin
}

/// A name stands twice somewhere.
fn repeats(toc: &Toc<'_>, twin: &Twin<'_>) -> bool {
    let entries = twin.values().map(BTreeMap::len).sum::<usize>();
    twin.len() != toc.counts().binaries as usize || entries != toc.counts().entries as usize
}

/// The TOC at the end of `archive`, when its header is sound: offset and bytes.
pub(super) fn toc_part(archive: &[u8]) -> Result<(u64, &[u8]), Error> {
    let header = Header::parse(archive, archive.len() as u64)?;
    Ok((header.toc_offset, archive.get(header.toc_offset as usize..).unwrap_or(&[])))
}

/// Every view without an allocator reads the same of `archive`: one verdict, but for what takes
/// all rows to see (duplicates, and sizes that differ from their blobs'); the same lookups as
/// the naive twin, for every entry and for names that are nearly right. `seed` chooses a few
/// entries; `None` = many.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn views_agree(
    archive: &[u8],
    limits: &Limits,
    strictness: Strictness,
    seed: Option<u64>,
) -> Verdict {
    let total = archive.len() as u64;
    let Ok((base, bytes)) = toc_part(archive) else { return Ok(()) };
    let parsed = Toc::parse(bytes, base, total, limits, strictness);
    // A fault that the walk finds comes before any row is found to be missing.
    let counts = parsed.map_or(Counts::default(), |toc| toc.counts());
    let (mut two, mut one) = (Memory::for_counts(counts, 2), Memory::for_counts(counts, 1));
    let hashed = two.lend().read(bytes, base, total, limits, strictness);
    let halved = one.lend().read(bytes, base, total, limits, strictness);
    let toc = match parsed {
        Err(error) => {
            same("rows are refused what the view is", &hashed.err(), &Some(error))?;
            return same("rows are refused what the view is", &halved.err(), &Some(error));
        }
        Ok(toc) => toc,
    };
    let twin = twin(&toc);
    let (hashed, halved) = match (hashed, halved) {
        (Ok(hashed), Ok(halved)) => (hashed, halved),
        (Err(one), Err(other)) => {
            same("both searches name one fault", &fault(one), &fault(other))?;
            return only_rows_tell(&toc, &twin, one);
        }
        (one, other) => {
            return same("both searches have one verdict", &one.err(), &other.err());
        }
    };
    require(
        strictness == Strictness::Compat || !repeats(&toc, &twin),
        "strict reading refuses names that stand twice",
        || format!("{:?} and {} binaries", toc.counts(), twin.len()),
    )?;
    each_lookup(&twin, seed, |binary, arch| {
        let expected = expect(&toc, &twin, binary, arch);
        same("the view finds what a twin finds", &toc.find(binary, arch), &expected)?;
        lookups_agree(&hashed, &halved, binary, arch, &expected)
    })
}

/// Pairs of names that are asked for at most.
const MOST: usize = 50;
/// And where a seed chooses them.
const FEW: usize = 6;

/// What a lookup must give.
pub(super) fn expect<'a>(
    toc: &Toc<'a>,
    twin: &Twin<'a>,
    binary: &[u8],
    arch: &[u8],
) -> Result<Option<Entry<'a>>, Error> {
    let record = twin.get(binary).and_then(|arches| arches.get(arch));
    record.map(|record| toc.locate(record)).transpose()
}

fn lookups_agree(
    hashed: &LentIndex<'_, '_>,
    halved: &LentIndex<'_, '_>,
    binary: &[u8],
    arch: &[u8],
    expected: &Result<Option<Entry<'_>>, Error>,
) -> Verdict {
    same("a search by hash finds what a twin finds", &hashed.find(binary, arch), expected)?;
    same("a search by halving finds what a twin finds", &halved.find(binary, arch), expected)
}

/// Asks for every pair of names (of many, for some), and for names near them.
pub(super) fn each_lookup(
    twin: &Twin<'_>,
    seed: Option<u64>,
    mut ask: impl FnMut(&[u8], &[u8]) -> Verdict,
) -> Verdict {
    ask(b"", b"")?;
    let count: usize = twin.values().map(BTreeMap::len).sum();
    // The view walks the whole TOC for each lookup: of many names some will do.
    let stride = count.div_ceil(if seed.is_some() { FEW } else { MOST }).max(1);
    let first = seed.unwrap_or(0) as usize % stride;
    let pairs =
        twin.iter().flat_map(|(binary, arches)| arches.keys().map(move |arch| (*binary, *arch)));
    for (binary, arch) in pairs.skip(first).step_by(stride) {
        ask(binary, arch)?;
        ask(arch, binary)?;
        ask(binary, &binary[..binary.len().min(40)])?;
        ask(&[binary, b"x"].concat(), arch)?;
        ask(binary, &[arch, b"\0"].concat())?;
        ask(&binary[..binary.len().saturating_sub(1)], arch)?;
        ask(binary, &arch[..arch.len().saturating_sub(1)])?;
    }
    Ok(())
}

/// The fault without its place: which of several repeated names is met first depends on the
/// order in which an index sees them.
pub(super) fn fault(error: Error) -> Option<Fault> {
    match error.kind {
        ErrorKind::Kpack(Fault::SizeMismatch { .. }) => None,
        ErrorKind::Kpack(fault) => Some(fault),
        _ => None,
    }
}

/// A fault that the view does not see is one that takes all rows to see, and is there.
pub(super) fn only_rows_tell(toc: &Toc<'_>, twin: &Twin<'_>, error: Error) -> Verdict {
    let there = match error.kind {
        ErrorKind::Kpack(Fault::Duplicate(_)) => repeats(toc, twin),
        ErrorKind::Kpack(Fault::SizeMismatch { declared, stored }) => {
            declared != stored && toc.entries().any(|record| toc.locate(&record) == Err(error))
        }
        _ => false,
    };
    require(there, "rows refuse more than the view only for what it cannot see", || {
        format!("{error:?}")
    })
}

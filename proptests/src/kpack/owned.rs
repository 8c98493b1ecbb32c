//! The owned table, and opening an archive in pieces.

use std::collections::BTreeSet;

use rocload_core::kpack::{Open, Opened, OwnedIndex, OwnedToc, Strictness, Toc};
use rocload_core::{Class, Limits};

use super::views::{each_lookup, expect, only_rows_tell, toc_part, twin};
use crate::split::{self, Ending, Rules};
use crate::{Broken, Verdict, require, same};

/// An item of [`Open`], to be compared: the header's offset, or what the TOC says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    /// Where the TOC begins.
    Header(u64),
    /// Its counts in words, and a digest of its entries.
    Toc(String),
}

fn keep(item: Opened<'_>) -> Kept {
    match item {
        Opened::Header(header) => Kept::Header(header.toc_offset),
        Opened::Toc(toc) => Kept::Toc(format!(
            "{:?} {:?} {:?} {:?}",
            toc.counts(),
            toc.scheme(),
            toc.zstd_blob(),
            toc.entries().map(|record| u64::from(record.ordinal)).sum::<u64>(),
        )),
    }
}

/// The machine that opens an archive gives the same however `archive` is cut, of a file of
/// `total` bytes (which may lie), and what [`OwnedToc::read`] gives when it does not. `seed`
/// chooses the cuts; `None` tries them all.
///
/// # Errors
/// [`Broken`].
pub fn open_any_way(
    archive: &[u8],
    total: u64,
    limits: &Limits,
    strictness: Strictness,
    seed: Option<u64>,
) -> Verdict {
    let make = || Open::new(total, *limits, strictness, Vec::new(), OwnedIndex::default());
    let rules = Rules { contiguous: limits.contiguous, ..Rules::new() };
    let outcome = match seed {
        Some(seed) => split::sample(make, keep, archive, &rules, seed),
        None => split::invariance(make, keep, archive, &rules),
    }?;
    if total != archive.len() as u64 {
        return Ok(());
    }
    let read = OwnedToc::read(archive, limits, strictness);
    let ending = match outcome.ending {
        Ending::Complete => Ok(()),
        Ending::Failed(error) => Err(error),
        Ending::Pending(what) => {
            return Err(Broken {
                law: "a file that is all there is never pending",
                found: what.into(),
            });
        }
    };
    same("reading at once has the machine's verdict", &read.map(|_| ()), &ending)
}

/// The owned table reads what the views read: the same verdict and lookups, and it lists each
/// entry that counts once, by its binary's bytes and then in the order of `arches`. `seed` as in
/// [`views_agree`](super::views_agree).
///
/// # Errors
/// [`Broken`].
pub fn owned_agrees(
    archive: &[u8],
    limits: &Limits,
    strictness: Strictness,
    seed: Option<u64>,
) -> Verdict {
    let owned = OwnedToc::read(archive, limits, strictness);
    let (base, bytes) = match toc_part(archive) {
        Ok(part) => part,
        Err(error) => return same("a bad header is refused", &owned.err(), &Some(error)),
    };
    let total = archive.len() as u64;
    let parsed = Toc::parse(bytes, base, total, limits, strictness);
    match (owned, parsed) {
        (Ok(owned), Ok(_)) => {
            let toc = owned.toc();
            let twin = twin(&toc);
            each_lookup(&twin, seed, |binary, arch| {
                let expected = expect(&toc, &twin, binary, arch);
                same(
                    "the owned table finds what a twin finds",
                    &owned.find(binary, arch),
                    &expected,
                )
            })?;
            let names: Vec<&[u8]> = twin.keys().copied().collect();
            same("binaries are listed once, sorted", &owned.binaries(), &names)?;
            ordered(&owned)
        }
        (Err(owned), Ok(toc)) => {
            // The view is told only of the bytes: the TOC's cap is the machine's to hold.
            if owned.class() == Class::Limit && bytes.len() as u64 > limits.toc_bytes {
                return Ok(());
            }
            only_rows_tell(&toc, &twin(&toc), owned)
        }
        (owned, Err(error)) => {
            let owned = owned.err();
            // Both find a TOC over the cap; the machine before it has read it.
            if owned.is_some_and(|owned| owned.kind == error.kind && owned.class() == Class::Limit)
            {
                return Ok(());
            }
            same("the owned table is refused what the view is", &owned, &Some(error))
        }
    }
}

/// The order of enumeration: every entry that counts, once, in the documented order.
fn ordered(owned: &OwnedToc) -> Verdict {
    let order = owned.order();
    let toc = owned.toc();
    let twin = twin(&toc);
    let listed: Vec<_> = order.iter().map(|&id| owned.record(id)).collect();
    same("the length is the number of entries", &owned.len(), &listed.len())?;
    let arches = owned.arches();
    let mut expected = Vec::new();
    for under in twin.values() {
        // First in `gfx_arches` order, then by bytes those that it does not name.
        let mut seen = BTreeSet::new();
        let named = arches.iter().filter(|arch| seen.insert(**arch));
        expected.extend(named.filter_map(|arch| under.get(arch)).copied());
        let known: BTreeSet<&[u8]> = arches.iter().copied().collect();
        expected.extend(under.iter().filter(|(arch, _)| !known.contains(**arch)).map(|(_, r)| *r));
    }
    same("entries are listed by binary, then by architecture", &listed, &expected)?;
    let listed_arches: BTreeSet<&[u8]> = toc.arches().collect();
    let named: Vec<&[u8]> = toc.arches().collect();
    require(arches.starts_with(&named), "architectures begin with `gfx_arches`", || {
        format!("{arches:?}")
    })?;
    if toc.strictness() == Strictness::Strict {
        let all: BTreeSet<&[u8]> = toc.entries().map(|record| record.arch).collect();
        let rest: Vec<&[u8]> = all.difference(&listed_arches).copied().collect();
        same(
            "architectures end with those that only entries name",
            &&arches[named.len()..],
            &&rest[..],
        )?;
    }
    for (&id, record) in order.iter().zip(&listed) {
        same("an entry is its record, located", &owned.entry(id), &toc.locate(record))?;
    }
    Ok(())
}

//! The hash table of an index: names of a TOC, by the positions that they stand at.
//!
//! A slot holds half of a name's hash and the name's position, so that a probe goes from the
//! slot straight to the TOC's bytes, and rarely in vain.

use super::rows::Slot;

/// How far from its place a name may stand. A name that would have to go farther is not taken:
/// names are hostile and may be chosen to collide.
const FARTHEST: usize = 128;

/// What became of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// The name is there, for the first time.
    New,
    /// An equal name was there, at this position, which the new one has replaced.
    Before(u32),
    /// It is not taken.
    TooFar,
}

/// A slot keeps the low half of the hash above the position; 0 is an empty slot, since no name
/// stands at the front of a TOC.
const TAG: u64 = u32::MAX as u64;

/// Enters `name`, which stands at `at`. The slots must have been empty at first.
#[inline]
pub(super) fn insert<'a>(
    slots: &mut [Slot],
    name: &[u8],
    at: u32,
    name_at: impl Fn(u32) -> &'a [u8],
) -> Inserted {
    let hash = hash(name);
    let Some(mut slot) = place(hash, slots.len()) else { return Inserted::TooFar };
    let new = (hash & TAG) << 32 | u64::from(at);
    for _ in 0..=FARTHEST {
        let there = slots[slot].0;
        if there == 0 {
            slots[slot] = Slot(new);
            return Inserted::New;
        }
        let other = there as u32;
        if there >> 32 == hash & TAG && name_at(other) == name {
            slots[slot] = Slot(new);
            return Inserted::Before(other);
        }
        slot = next(slot, slots.len());
    }
    Inserted::TooFar
}

/// The position of `name`, of those that were inserted.
#[inline]
pub(super) fn find<'a>(
    slots: &[Slot],
    name: &[u8],
    name_at: impl Fn(u32) -> &'a [u8],
) -> Option<u32> {
    let hash = hash(name);
    let mut slot = place(hash, slots.len())?;
    for _ in 0..=FARTHEST {
        let there = slots[slot].0;
        if there == 0 {
            return None;
        }
        if there >> 32 == hash & TAG && name_at(there as u32) == name {
            return Some(there as u32);
        }
        slot = next(slot, slots.len());
    }
    None
}

/// Where a name's search begins.
#[inline]
pub(super) fn place(hash: u64, slots: usize) -> Option<usize> {
    // The high half, scaled to the number of slots: no power of two is asked for.
    (slots > 0).then(|| ((u128::from(hash >> 32) * slots as u128) >> 32) as usize)
}

#[inline]
const fn next(slot: usize, slots: usize) -> usize {
    if slot + 1 == slots { 0 } else { slot + 1 }
}

/// Mixes sixteen bytes at a time by folded multiplication; the last ones may be mixed twice.
#[inline]
pub(super) fn hash(bytes: &[u8]) -> u64 {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    const B: u64 = 0xa076_1d64_78bd_642f;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ (product >> 64) as u64
    };
    let pair = |chunk: &[u8; 16]| {
        let both = u128::from_le_bytes(*chunk);
        (both as u64, (both >> 64) as u64)
    };
    let mut state = bytes.len() as u64 ^ 0xd6e8_feb8_6659_fd93;
    let (a, b) = if let Some(last) = bytes.last_chunk::<16>() {
        for chunk in bytes[..bytes.len() - 1].as_chunks::<16>().0 {
            let (a, b) = pair(chunk);
            state = fold(a ^ state, b ^ A);
        }
        pair(last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
    } else {
        let at = |n: usize| u64::from(bytes.get(n).copied().unwrap_or_default());
        (at(0) | at(1) << 8 | at(2) << 16, 0)
    };
    fold(fold(a ^ state, b ^ A), B)
}

//! The frame index against a naive walk over the region's length words.

use rocload_core::zstd::{FrameIndex, FrameSpan};
use rocload_core::{Error, Limits};

use crate::split::{self, Ending, Outcome, Rules};
use crate::{Verdict, require, same};

/// A zstd region of `size` bytes at `offset` of `source`, which may be shorter than that: any
/// chunking gives the same spans, and they are those of a naive walk. `seed` chooses the cuts;
/// `None` tries them all.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn walked(
    source: &[u8],
    offset: u64,
    size: u64,
    limits: &Limits,
    seed: Option<u64>,
) -> Verdict {
    let naive = naive(source, offset, size, limits);
    let Ok(first) = FrameIndex::new(offset, size, limits) else {
        return same("a region without room for its count is refused", &naive.1, &Stop::NoCount);
    };
    let make = || first.clone();
    let keep = |span: FrameSpan| span;
    let rules = Rules { contiguous: limits.contiguous, ..Rules::new() };
    let outcome = match seed {
        Some(seed) => split::sample(make, keep, source, &rules, seed),
        None => split::invariance(make, keep, source, &rules),
    };
    let Outcome { items, ending } = outcome?;
    same("the spans are those of a naive walk", &items, &naive.0)?;
    let agrees = match (ending, naive.1) {
        (Ending::Complete, Stop::Complete) | (Ending::Pending(_), Stop::Short) => true,
        (Ending::Failed(Error { offset, .. }), Stop::Fault(at)) => offset == at,
        _ => false,
    };
    require(agrees, "the walk ends as a naive one does", || {
        format!("{ending:?} against {:?}", naive.1)
    })
}

/// How a naive walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Complete,
    /// The source has no more bytes.
    Short,
    /// The word at this offset is impossible.
    Fault(u64),
    NoCount,
}

fn naive(source: &[u8], offset: u64, size: u64, limits: &Limits) -> (Vec<FrameSpan>, Stop) {
    let word = |at: u128| {
        let at = usize::try_from(at).ok()?;
        let bytes = source.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let (mut at, end) = (u128::from(offset), u128::from(offset) + u128::from(size));
    let mut spans = Vec::new();
    if size < 4 || end > u128::from(u64::MAX) {
        return (spans, Stop::NoCount);
    }
    let Some(count) = word(at) else { return (spans, Stop::Short) };
    if u128::from(count) * 4 > end - at - 4 || count > limits.kernels {
        return (spans, Stop::Fault(offset));
    }
    at += 4;
    for ordinal in 0..count {
        let Some(len) = word(at) else { return (spans, Stop::Short) };
        // Every later frame has a length word at least.
        let later = u128::from(count - ordinal - 1) * 4;
        if at + 4 + u128::from(len) + later > end {
            return (spans, Stop::Fault(at as u64));
        }
        spans.push(FrameSpan { ordinal, offset: at as u64 + 4, len });
        at += 4 + u128::from(len);
    }
    (spans, Stop::Complete)
}

/// The spans of a whole region, up to the first that is impossible.
#[cfg(feature = "alloc")]
pub(crate) fn spans(source: &[u8], offset: u64, size: u64, limits: &Limits) -> Vec<FrameSpan> {
    naive(source, offset, size, limits).0
}

/// The region at the front of `source`, all of it: see [`walked`].
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn whole_region(source: &[u8]) -> Verdict {
    walked(source, 0, source.len() as u64, &Limits::default(), None)
}

//! What a machine takes from the heap: nothing, where its memory is lent; and where it is owned,
//! no more than a multiple of what it was given.
//!
//! [`Counting`](crate::counting::Counting) must be the global allocator.

use rocload_core::gguf::{Check, Options, Reader, Strictness, Want};
use rocload_core::http::{Method, Response};
use rocload_core::kpack::{Measure, Open, Strictness as Kpack};
use rocload_core::llama::{self, Stream};
use rocload_core::{ItemKind, Limits, Machine, Need, bundle, sse};

use crate::counting::{Used, is_counting, measure};
use crate::{Verdict, require};

/// How much a machine may hold at once: so many bytes for each byte of its source, and so many
/// besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// For each byte of the source.
    pub per_byte: u64,
    /// Besides.
    pub more: u64,
}

/// Nothing at all.
pub const NOTHING: Bound = Bound { per_byte: 0, more: 0 };

/// A machine is made and driven over `source` in chunks of 1 KiB; its items are looked at and not
/// kept. It holds no more than `bound` at once; where that is [`NOTHING`] it never asks for memory.
///
/// # Errors
/// [`Broken`](crate::Broken), also where nobody counts.
pub fn bounded<M: Machine>(
    make: impl FnOnce() -> M,
    mut see: impl FnMut(<M::Kind as ItemKind>::Item<'_>),
    source: &[u8],
    bound: Bound,
) -> Verdict {
    let (used, ()) = measure(|| drive(&mut make(), &mut see, source));
    held(used, source.len(), bound)
}

/// What was used is no more than `bound` allows for an input of `len` bytes.
///
/// # Errors
/// [`Broken`](crate::Broken), also where nobody counts.
pub fn held(used: Used, len: usize, bound: Bound) -> Verdict {
    require(is_counting(), "somebody counts what is allocated", String::new)?;
    if bound == NOTHING {
        return require(used.allocated == 0, "what lends its memory allocates nothing", || {
            format!("{used:?}")
        });
    }
    let most = bound.per_byte.saturating_mul(len as u64).saturating_add(bound.more);
    require(used.peak <= most, "memory is bounded by the input", || {
        format!("{used:?} for {len} bytes, of which {most} are allowed")
    })
}

fn drive<M: Machine>(
    machine: &mut M,
    see: &mut impl FnMut(<M::Kind as ItemKind>::Item<'_>),
    source: &[u8],
) {
    let (mut at, mut end) = (0usize, 0usize);
    loop {
        match machine.need() {
            Need::Done => break,
            Need::More => {}
            Need::At { offset, min, .. } => {
                let wanted = usize::try_from(offset).unwrap_or(usize::MAX).min(source.len());
                if wanted < at || wanted > end {
                    end = wanted;
                }
                at = wanted;
                end = end.max(at.saturating_add(min)).min(source.len());
            }
        }
        let input = &source[at..end];
        match machine.step(at as u64, input) {
            Err(_) => return,
            Ok(step) => {
                if step.ready {
                    see(machine.item(input));
                }
                at += step.consumed;
                if !step.ready && step.consumed == 0 {
                    if end == source.len() {
                        break;
                    }
                    end = source.len().min(end + 1024);
                }
            }
        }
    }
    while let Ok(rocload_core::End::Item) = machine.end() {
        see(machine.item(&[]));
    }
}

/// The machines that open an archive: in lent memory without the heap, in owned memory within a
/// bound (with `alloc`).
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn kpack(bytes: &[u8], limits: &Limits) -> Verdict {
    let total = bytes.len() as u64;
    let mut toc = [0u8; 4096];
    bounded(|| Open::new(total, *limits, Kpack::Compat, &mut toc[..], ()), |_| {}, bytes, NOTHING)?;
    #[cfg(feature = "alloc")]
    {
        use rocload_core::kpack::OwnedIndex;
        let make = || Open::new(total, *limits, Kpack::Compat, Vec::new(), OwnedIndex::default());
        // A row, its slots and its hash for each entry, which takes some bytes.
        bounded(make, |_| {}, bytes, Bound { per_byte: 64, more: 4096 })?;
    }
    Ok(())
}

/// The reader and the check of a GGUF header, as [`kpack`].
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn gguf(bytes: &[u8], limits: &Limits) -> Verdict {
    let total = Some(bytes.len() as u64);
    let options = Options { limits: *limits, strictness: Strictness::Tolerant };
    let reader = || Reader::new(total, options, [0u8; 512], Want::Value);
    bounded(reader, |_| {}, bytes, NOTHING)?;
    let check = || Check::new(total, options, [0u8; 512], [0u8; 512], Want::Value);
    bounded(check, |_| {}, bytes, NOTHING)?;
    #[cfg(feature = "alloc")]
    {
        let check = || Check::new(total, options, Vec::new(), Vec::new(), Want::Value);
        bounded(check, |_| {}, bytes, Bound { per_byte: 16, more: 4096 })?;
    }
    Ok(())
}

/// The parser of events, as [`kpack`].
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn events(bytes: &[u8], limits: &Limits) -> Verdict {
    bounded(|| sse::Parser::new(limits, [0u8; 256]), |_| {}, bytes, NOTHING)?;
    #[cfg(feature = "alloc")]
    bounded(|| sse::Parser::new(limits, Vec::new()), |_| {}, bytes, OWNED)?;
    Ok(())
}

/// The reader of responses, as [`kpack`].
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn response(bytes: &[u8], limits: &Limits) -> Verdict {
    bounded(|| Response::new(Method::Get, limits, [0u8; 512]), |_| {}, bytes, NOTHING)?;
    #[cfg(feature = "alloc")]
    bounded(|| Response::new(Method::Get, limits, Vec::new()), |_| {}, bytes, OWNED)?;
    Ok(())
}

/// The reader of llama-server's streams, as [`kpack`].
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn stream(bytes: &[u8], limits: &Limits) -> Verdict {
    let options = llama::Options::new();
    bounded(|| Stream::new(options, limits, [0u8; 512], [0u8; 64]), |_| {}, bytes, NOTHING)?;
    #[cfg(feature = "alloc")]
    bounded(|| Stream::new(options, limits, Vec::new(), Vec::new()), |_| {}, bytes, OWNED)?;
    Ok(())
}

/// What grows by doubling to hold a part of the input, twice.
#[cfg(feature = "alloc")]
const OWNED: Bound = Bound { per_byte: 8, more: 4096 };

/// The machines that never keep bytes: measuring reference metadata, walking bundles and sections.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn walks(bytes: &[u8], limits: &Limits) -> Verdict {
    let total = bytes.len() as u64;
    bounded(|| Measure::new(limits), |_| {}, bytes, NOTHING)?;
    bounded(|| bundle::Bundles::new(0, total, limits), |_| {}, bytes, NOTHING)?;
    bounded(|| bundle::Sections::new(total), |_| {}, bytes, NOTHING)
}

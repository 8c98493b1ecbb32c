//! Limits are respected: whatever is given out is within each cap, and an error about a cap names
//! it, with the limit that it has and a value that exceeds it.

use rocload_core::gguf::{Item, Options, Reader, Strictness, ValueKind, Want};
use rocload_core::kpack::{Open, Opened, Reference, Strictness as Kpack};
use rocload_core::{Cap, Error, ErrorKind, Limits, Machine, Need, sse, visit};

use crate::gguf::Room;
use crate::random::Random;
use crate::{Verdict, require, same};

/// Caps so small that many inputs meet one.
pub fn small(seed: u64) -> Limits {
    let mut random = Random::new(seed);
    let mut small = |most: u64| random.below(most);
    let mut limits = Limits::default();
    limits.contiguous = 64 + small(200) as usize;
    limits.msgpack_depth = small(9) as u8;
    limits.toc_bytes = small(600);
    limits.kernels = small(9) as u32;
    limits.kernel_bytes = small(3000);
    limits.expansion = 1 + small(64) as u32;
    limits.key_bytes = small(40) as u32;
    limits.reference_bytes = small(200) as u32;
    limits.window_bytes = small(5000);
    limits.gguf_header_bytes = small(2000);
    limits.gguf_keys = small(6) as u32;
    limits.gguf_tensors = small(6) as u32;
    limits.gguf_key_bytes = 1 + small(40) as u32;
    limits.gguf_array = small(30);
    limits.gguf_depth = 1 + small(3) as u8;
    limits.gguf_alignment = 1 << small(8);
    limits.gguf_kept_string = small(30);
    limits.event_bytes = small(60);
    limits.head_bytes = small(300) as u32;
    limits.headers = small(8) as u8;
    limits.json_depth = small(6) as u8;
    limits
}

/// The cap's value; `None` = a cap that is not here.
fn of(limits: &Limits, cap: Cap) -> Option<u64> {
    Some(match cap {
        Cap::MsgpackDepth => limits.msgpack_depth.into(),
        Cap::TocBytes => limits.toc_bytes,
        Cap::Kernels => limits.kernels.into(),
        Cap::KernelBytes => limits.kernel_bytes,
        Cap::Expansion => limits.expansion.into(),
        Cap::KeyBytes => limits.key_bytes.into(),
        Cap::TargetFeatures => limits.target_features.into(),
        Cap::ReferenceBytes => limits.reference_bytes.into(),
        Cap::WindowBytes => limits.window_bytes,
        Cap::GgufHeaderBytes => limits.gguf_header_bytes,
        Cap::GgufKeys => limits.gguf_keys.into(),
        Cap::GgufTensors => limits.gguf_tensors.into(),
        Cap::GgufKeyBytes => limits.gguf_key_bytes.into(),
        Cap::GgufArray => limits.gguf_array,
        Cap::GgufDepth => limits.gguf_depth.into(),
        Cap::GgufAlignment => limits.gguf_alignment.into(),
        Cap::GgufKeptString => limits.gguf_kept_string,
        Cap::GgufKeptElements => limits.gguf_kept_elements,
        Cap::HeadBytes => limits.head_bytes.into(),
        Cap::Headers => limits.headers.into(),
        Cap::JsonDepth => limits.json_depth.into(),
        _ => return None,
    })
}

/// An error about a cap tells no higher limit than it has, and a value above it.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn told(error: &Error, limits: &Limits) -> Verdict {
    let ErrorKind::Limit { cap, value, limit } = error.kind else { return Ok(()) };
    let most = of(limits, cap);
    require(most.is_some_and(|most| limit <= most), "the limit told is the cap's", || {
        format!("{error:?} where {most:?} is the cap")
    })?;
    require(value > limit, "a limit is told where it is exceeded", || format!("{error:?}"))
}

/// A GGUF header under caps that `seed` makes.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn gguf(bytes: &[u8], seed: u64) -> Verdict {
    let limits = small(seed);
    let options = Options { limits, strictness: Strictness::Tolerant };
    let mut reader = Reader::new(Some(bytes.len() as u64), options, Room::default(), Want::Value);
    let (mut keys, mut tensors, mut over) = (0u32, 0u32, None);
    let mut see = |item: Item<'_>| {
        let within = match item {
            Item::Header(header) => {
                header.keys <= limits.gguf_keys.into()
                    && header.tensors <= limits.gguf_tensors.into()
            }
            Item::Key(key) => {
                keys += 1;
                let array = match key.kind {
                    ValueKind::Array { len, .. } => len <= limits.gguf_array,
                    _ => true,
                };
                array && key.name.len() as u64 <= limits.gguf_key_bytes.into()
            }
            Item::Inner { depth, len, .. } => {
                depth <= limits.gguf_depth && len <= limits.gguf_array
            }
            Item::Tensor(tensor) => {
                tensors += 1;
                tensor.name.len() as u64 <= limits.gguf_key_bytes.into()
            }
            _ => true,
        };
        if !within {
            over.get_or_insert_with(|| format!("{item:?}"));
        }
    };
    let mut ending = Ok(());
    while let Need::At { offset, min, .. } = reader.need() {
        require(min <= limits.contiguous, "`min` is within the cap", || format!("{min}"))?;
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        match visit(&mut reader, offset, &bytes[at..], &mut see) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                ending = Err(error);
                break;
            }
        }
    }
    require(over.is_none(), "each item is within the caps", || format!("{over:?}, {limits:?}"))?;
    require(
        keys <= limits.gguf_keys && tensors <= limits.gguf_tensors,
        "no more items than the caps allow",
        || format!("{keys} keys, {tensors} tensors, {limits:?}"),
    )?;
    if let Err(error) = ending {
        return told(&error, &limits);
    }
    let end = reader.data_start().map_or(0, |start| start.header_end);
    require(end <= limits.gguf_header_bytes, "the header is within the cap", || format!("{end}"))
}

/// An archive under caps that `seed` makes.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn kpack(bytes: &[u8], seed: u64) -> Verdict {
    let limits = small(seed);
    let mut toc = [0u8; 4096];
    let strictness = if seed.is_multiple_of(2) { Kpack::Strict } else { Kpack::Compat };
    let mut open = Open::new(bytes.len() as u64, limits, strictness, &mut toc[..], ());
    let mut over = None;
    while let Need::At { offset, min, .. } = open.need() {
        require(min <= limits.contiguous, "`min` is within the cap", || format!("{min}"))?;
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let done = visit(&mut open, offset, &bytes[at..], |item| {
            let Opened::Toc(toc) = item else { return };
            let counts = toc.counts();
            let names = toc.entries().all(|entry| {
                let longest = entry.binary.len().max(entry.arch.len());
                longest as u64 <= limits.key_bytes.into()
            });
            if counts.entries > limits.kernels || !names {
                over = Some(format!("{counts:?} {names}"));
            }
        });
        match done {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return told(&error, &limits),
        }
    }
    require(over.is_none(), "a table is within the caps", || format!("{over:?}, {limits:?}"))
}

/// Reference metadata under caps that `seed` makes.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn reference(bytes: &[u8], seed: u64) -> Verdict {
    let limits = small(seed);
    match Reference::parse(bytes, &limits) {
        Err(error) => told(&error, &limits),
        Ok(reference) => {
            let len = reference.len();
            require(
                len as u64 <= limits.reference_bytes.into(),
                "metadata is within its cap",
                || format!("{len}"),
            )
        }
    }
}

/// A stream of events under caps that `seed` makes.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn events(bytes: &[u8], seed: u64) -> Verdict {
    let limits = small(seed);
    let mut parser = sse::Parser::new(&limits, [0u8; 128]).comments(true).fields(true);
    let mut longest = 0;
    let used = visit(&mut parser, 0, bytes, |item| {
        longest = longest.max(match item {
            sse::Item::Event(event) => event.data.len(),
            sse::Item::Comment(text) => text.len(),
            sse::Item::Field(field) => field.value.len(),
            _ => 0,
        });
    });
    same("all is consumed", &used, &Ok(bytes.len()))?;
    require(longest as u64 <= limits.event_bytes, "an event is within its cap", || {
        format!("{longest} of {}", limits.event_bytes)
    })
}

/// A response under caps that `seed` makes.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn response(bytes: &[u8], seed: u64) -> Verdict {
    use rocload_core::http::{Item, Method, Response};
    let limits = small(seed);
    let mut response = Response::new(Method::Get, &limits, [0u8; 512]);
    let mut over = None;
    let done = visit(&mut response, 0, bytes, |item| {
        if let Item::Head(head) = item {
            let headers = head.headers().count();
            if head.bytes.len() as u64 > limits.head_bytes.into() || headers > limits.headers.into()
            {
                over = Some((head.bytes.len(), headers));
            }
        }
    });
    require(over.is_none(), "a head is within its caps", || format!("{over:?}, {limits:?}"))?;
    done.map_or_else(|error| told(&error, &limits), |_| Ok(()))
}

//! A whole archive, from its first byte to its last kernel.

use rocload_core::kpack::{Entry, OwnedToc, Scheme, Strictness, direct, load};
use rocload_core::zstd::Decompress;
use rocload_core::{Class, Error, ErrorKind, Limits};

use crate::decompress::{self, Given};
use crate::{Broken, Verdict, frames, require, same};

/// Kernels that are decoded of one archive at most; more would only take longer.
const MOST: usize = 64;

/// What came of an archive's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Decoded.
    pub decoded: usize,
    /// Refused, before or while they were decoded.
    pub refused: usize,
}

/// Opens `archive` and takes every kernel through the gates of [`load`] and through both ways
/// of `decoder`:
///
/// - the frame walk is a naive one's, whatever the cuts that `seed` chooses;
/// - what the table says of a frame's place is believed only inside the blob, and is the walk's
///   where both agree;
/// - nothing that passes the first gate is larger than the limits allow;
/// - a kernel that is refused before it is decoded cannot be decoded;
/// - both ways of decoding agree with each other and with the C library.
///
/// An archive that does not open, or whose length words are wrong, has no kernels to refuse.
///
/// # Errors
/// [`Broken`].
pub fn archive(
    decoder: &mut dyn Decompress,
    archive: &[u8],
    limits: &Limits,
    strictness: Strictness,
    seed: u64,
) -> Result<Tally, Broken> {
    let mut tally = Tally::default();
    let Ok(toc) = OwnedToc::read(archive, limits, strictness) else { return Ok(tally) };
    let region = toc.toc().zstd_blob();
    let mut spans = Vec::new();
    if let Some((offset, size)) = region {
        frames::walked(archive, offset, size, limits, Some(seed))?;
        spans = frames::spans(archive, offset, size, limits);
    }
    for id in toc.order().into_iter().take(MOST) {
        let Ok(entry) = toc.entry(id) else {
            same("strict reading leaves no faulty entry", &strictness, &Strictness::Compat)?;
            tally.refused += 1;
            continue;
        };
        if let Some(blob) = region {
            placed(archive, &entry, blob, strictness)?;
        }
        let place = match entry.scheme {
            Scheme::ZstdPerKernel => {
                spans.get(entry.ordinal as usize).map(|span| (span.offset, u64::from(span.len)))
            }
            _ => entry.offset.zip(entry.stored_size),
        };
        let Some((offset, len)) = place else { continue };
        let stored = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(len).ok())
            .and_then(|(at, len)| archive.get(at..)?.get(..len));
        let Some(stored) = stored else {
            let found = format!("{len} bytes at {offset} of {}", archive.len());
            return Err(Broken { law: "what opens is stored inside the file", found });
        };
        match kernel(decoder, &entry, offset, stored, limits)? {
            true => tally.decoded += 1,
            false => tally.refused += 1,
        }
    }
    Ok(tally)
}

/// What the table says of a frame's place, checked as a driver does.
fn placed(archive: &[u8], entry: &Entry<'_>, blob: (u64, u64), strictness: Strictness) -> Verdict {
    let at = match direct::word(entry, blob) {
        Ok(Some(at)) => at,
        Ok(None) => return Ok(()),
        Err(error) => {
            let compat = strictness == Strictness::Compat;
            return require(compat, "strict reading refuses a place outside the blob", || {
                format!("{error:?}")
            });
        }
    };
    let inside = archive.get(at as usize..).and_then(|rest| rest.first_chunk::<4>());
    let Some(&bytes) = inside else {
        let found = format!("{at} of {}", archive.len());
        return Err(Broken { law: "a length word lies inside the file", found });
    };
    let Ok(span) = direct::span(entry, blob, bytes) else { return Ok(()) };
    let end = span.offset + u64::from(span.len);
    let (first, last) = (blob.0 + 8, blob.0 + blob.1);
    require(
        span.offset >= first && end <= last,
        "a place that is believed is in the blob",
        || format!("{span:?} in {blob:?}"),
    )?;
    let word = (span.offset - 4, span.len);
    same("a place is behind its word", &word, &(at, u32::from_le_bytes(bytes)))?;
    let agrees = direct::agrees(entry, span.offset, u64::from(span.len));
    same("what is believed agrees with itself", &agrees, &Ok(()))
}

/// One kernel through the gates. Whether it was decoded.
fn kernel(
    decoder: &mut dyn Decompress,
    entry: &Entry<'_>,
    offset: u64,
    stored: &[u8],
    limits: &Limits,
) -> Result<bool, Broken> {
    if let Err(error) = load::admit(entry, offset, stored.len() as u64, limits) {
        same(
            "what is not admitted is not checked",
            &Err(error),
            &load::check(entry, offset, stored, limits),
        )?;
        return Ok(false);
    }
    require(entry.size <= limits.kernel_bytes, "what is admitted is within the limits", || {
        format!("{} bytes", entry.size)
    })?;
    let size = entry.size as usize;
    let checked = load::check(entry, offset, stored, limits);
    let mut kernel = vec![0x5a; size];
    let expanded = load::expand(entry, offset, stored, Some(&mut *decoder), &mut kernel);
    if let Err(error) = checked {
        let excused = expanded.is_err() || error.class() == Class::Limit;
        require(excused, "what is refused before it is decoded cannot be decoded", || {
            format!("{error:?}")
        })?;
        if entry.scheme != Scheme::None {
            let given = decompress::agrees(decoder, stored, size, limits)?;
            same(
                "a gate's verdict is the decoder's",
                &expanded.is_err(),
                &(given == Given::Refused),
            )?;
        }
        return Ok(false);
    }
    if entry.scheme == Scheme::None {
        same("a verbatim kernel is its stored bytes", &(expanded, &kernel[..]), &(Ok(()), stored))?;
        return Ok(true);
    }
    without_a_decoder(entry, offset, stored, &mut kernel)?;
    let given = decompress::agrees(decoder, stored, size, limits)?;
    same("a gate's verdict is the decoder's", &expanded.is_err(), &(given == Given::Refused))?;
    if let Err(error) = expanded {
        require(
            (offset..=offset + stored.len() as u64).contains(&error.offset),
            "a decoding error lies inside the frame",
            || format!("{error:?} for {} bytes at {offset}", stored.len()),
        )?;
    }
    Ok(expanded.is_ok())
}

fn without_a_decoder(
    entry: &Entry<'_>,
    offset: u64,
    stored: &[u8],
    kernel: &mut [u8],
) -> Result<(), Broken> {
    let error = load::expand(entry, offset, stored, None, kernel);
    let kind = ErrorKind::Kpack(rocload_core::kpack::Fault::NoDecoder);
    same("a frame without a decoder is refused", &error, &Err(Error::new(kind, offset)))
}

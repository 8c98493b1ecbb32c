//! Frames without a walk: the optional `frame_offset` and `frame_size` of an entry, checked.
//!
//! A TOC may say where each frame of a zstd archive is. What it says is believed only once the
//! length word before the frame agrees, so that one read of four bytes takes the place of a walk
//! over all the words before it:
//!
//! ```text
//!   word(entry, blob) --> offset of the length word --> the caller reads 4 bytes
//!   span(entry, blob, bytes) --> FrameSpan, or what is wrong
//!   None: the TOC does not say, zstd::FrameIndex walks --> agrees(entry, span)
//! ```
//!
//! ```
//! use rocload_core::kpack::{Header, Strictness, Toc, direct};
//! use rocload_core::zstd::FrameSpan;
//! # let mut archive = b"KPAK\x01\0\0\0\x4b\0\0\0\0\0\0\0".to_vec();
//! # archive.resize(64, 0);
//! # archive.extend_from_slice(b"\x01\0\0\0\x03\0\0\0abc");
//! # archive.extend_from_slice(b"\x86\xaeformat_version\x01\xaagfx_arches\x90\xb2compression_scheme\
//! # \xafzstd-per-kernel\xabzstd_offset\x40\xa9zstd_size\x0b\xa3toc\x81\xa1b\x81\xa1a\x84\xa7ordinal\0\
//! # \xadoriginal_size\x03\xacframe_offset\x48\xaaframe_size\x03");
//!
//! let total = archive.len() as u64;
//! let base = Header::parse(&archive, total)?.toc_offset;
//! let bytes = &archive[base as usize..];
//! let toc = Toc::parse(bytes, base, total, &Default::default(), Strictness::Strict)?;
//! let entry = toc.find(b"b", b"a")?.unwrap();
//! let blob = toc.zstd_blob().unwrap();
//! let at = direct::word(&entry, blob)?.unwrap() as usize;
//! let span = direct::span(&entry, blob, archive[at..at + 4].try_into().unwrap())?;
//! assert_eq!(span, FrameSpan { ordinal: 0, offset: 72, len: 3 });
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: these keys are this project's own; readers that do not know them ignore them.

use super::walk::{FIRST_FRAME, kpack};
use super::{Entry, Fault};
use crate::error::Error;
use crate::zstd::FrameSpan;

/// Length of the word before each frame, in bytes.
const WORD: u64 = 4;

/// Absolute offset of the length word, four bytes, of the frame of an entry that has a
/// `frame_offset`; `None` where it has none. `blob` is [`Toc::zstd_blob`](super::Toc::zstd_blob).
///
/// # Errors
/// [`Fault::FrameRange`] for a place outside the blob's frames, which strict reading has refused
/// at open already.
pub fn word(entry: &Entry<'_>, blob: (u64, u64)) -> Result<Option<u64>, Error> {
    let Some(start) = entry.frame_offset else { return Ok(None) };
    within(entry, blob, start, entry.frame_size.unwrap_or(0))?;
    Ok(Some(start - WORD))
}

/// The frame of an entry for which [`word`] gave an offset; `bytes` are those at that offset.
///
/// # Errors
/// [`Fault::FrameSize`] when the word is another than `frame_size`; [`Fault::FrameRange`] when it
/// leads out of the blob. An entry without `frame_offset` is in no range.
pub fn span(entry: &Entry<'_>, blob: (u64, u64), bytes: [u8; 4]) -> Result<FrameSpan, Error> {
    let offset = entry.frame_offset.unwrap_or(0);
    let stored = u32::from_le_bytes(bytes);
    match entry.frame_size {
        Some(declared) if declared != stored => {
            let at = offset.saturating_sub(WORD);
            return Err(kpack(Fault::FrameSize { declared, stored }, at));
        }
        _ => within(entry, blob, offset, stored)?,
    }
    Ok(FrameSpan { ordinal: entry.ordinal, offset, len: stored })
}

/// What a walk over the length words found is what the TOC says, where it says something.
///
/// # Errors
/// [`Fault::FrameOffset`] and [`Fault::FrameSize`].
pub fn agrees(entry: &Entry<'_>, offset: u64, size: u64) -> Result<(), Error> {
    if let Some(declared) = entry.frame_offset
        && declared != offset
    {
        return Err(kpack(Fault::FrameOffset { declared, stored: offset }, entry.at));
    }
    match (entry.frame_size, u32::try_from(size)) {
        (Some(declared), Ok(stored)) if declared != stored => {
            Err(kpack(Fault::FrameSize { declared, stored }, offset.saturating_sub(WORD)))
        }
        _ => Ok(()),
    }
}

fn within(entry: &Entry<'_>, blob: (u64, u64), start: u64, size: u32) -> Result<(), Error> {
    let (first, end) = (blob.0.saturating_add(FIRST_FRAME), blob.0.saturating_add(blob.1));
    if start >= first && start.checked_add(u64::from(size)).is_some_and(|last| last <= end) {
        return Ok(());
    }
    Err(kpack(Fault::FrameRange { ordinal: entry.ordinal, start, size }, entry.at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kpack::Scheme;

    const BLOB: (u64, u64) = (64, 100);

    fn entry(frame_offset: Option<u64>, frame_size: Option<u32>) -> Entry<'static> {
        Entry {
            scheme: Scheme::ZstdPerKernel,
            binary: b"b",
            arch: b"a",
            kind: None,
            ordinal: 3,
            size: 10,
            stored_size: None,
            offset: None,
            metadata: None,
            frame_offset,
            frame_size,
            sha256: None,
            at: 500,
        }
    }

    #[test]
    fn a_place_is_in_the_blob_behind_the_count_and_a_word() {
        assert_eq!(word(&entry(None, Some(5)), BLOB), Ok(None));
        assert_eq!(word(&entry(Some(72), Some(92)), BLOB), Ok(Some(68)));
        assert_eq!(word(&entry(Some(164), Some(0)), BLOB), Ok(Some(160)));
        for (start, size) in [(71, 0), (72, 93), (165, 0), (0, 5), (u64::MAX, 1), (u64::MAX, 0)] {
            let fault = Fault::FrameRange { ordinal: 3, start, size };
            assert_eq!(word(&entry(Some(start), Some(size)), BLOB), Err(kpack(fault, 500)));
        }
        // A blob that would end past the last u64.
        assert!(word(&entry(Some(u64::MAX), Some(1)), (u64::MAX - 20, 100)).is_err());
    }

    #[test]
    fn the_word_must_agree() {
        let both = entry(Some(80), Some(5));
        assert_eq!(
            span(&both, BLOB, [5, 0, 0, 0]).map(|span| (span.offset, span.len)),
            Ok((80, 5))
        );
        let fault = Fault::FrameSize { declared: 5, stored: 6 };
        assert_eq!(span(&both, BLOB, [6, 0, 0, 0]), Err(kpack(fault, 76)));
        // Without a size, the word's must fit.
        let alone = entry(Some(80), None);
        assert_eq!(span(&alone, BLOB, [84, 0, 0, 0]).map(|span| span.len), Ok(84));
        let fault = Fault::FrameRange { ordinal: 3, start: 80, size: 85 };
        assert_eq!(span(&alone, BLOB, [85, 0, 0, 0]), Err(kpack(fault, 500)));
    }

    #[test]
    fn a_walk_must_agree() {
        assert_eq!(agrees(&entry(None, None), 80, 5), Ok(()));
        assert_eq!(agrees(&entry(Some(80), Some(5)), 80, 5), Ok(()));
        let fault = Fault::FrameOffset { declared: 81, stored: 80 };
        assert_eq!(agrees(&entry(Some(81), None), 80, 5), Err(kpack(fault, 500)));
        let fault = Fault::FrameSize { declared: 4, stored: 5 };
        assert_eq!(agrees(&entry(None, Some(4)), 80, 5), Err(kpack(fault, 76)));
    }
}

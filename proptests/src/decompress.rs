//! A decompression backend: its two ways against each other, against what the block headers
//! say, and against the C library.
//!
//! What may differ from the C library, and why:
//!
//! - Here a compressed block is held to the frame's maximum by what it produces, as in RFC 8878,
//!   3.1.1.2.4; there by its own length. So the C library refuses a block that is longer than
//!   that and produces no more ([`LONG`]), and takes one that produces more.
//! - It holds raw and RLE blocks to no maximum at all, where RFC 8878, 3.1.1.2.3, sets one for
//!   every type ([`Fault::BlockTooLarge`]).
//! - It takes a Huffman stream that does not end with its last literal
//!   ([`Fault::HuffmanNotConsumed`]).
//! - A content size of 2^64 - 1 is its own mark for none, so that it takes such a frame whatever
//!   that holds; here it is a size, as in RFC 8878, 3.1.1.1.4, which no content has.
//! - It reads the description of a table that runs out of its block from the block's last bytes once
//!   more, and may find one; here nothing is there, as in RFC 8878, 4.1.1. It takes Huffman codes of
//!   12 bits; here 11 are the most, as in RFC 8878, 4.2.1.
//! - ruzstd compares only the sum of the lengths of a block's four Huffman streams ([`SHIFTED`]):
//!   a corrupt block without a checksum may decode to shifted bytes. Only frames that have such
//!   a block and no checksum are excused.
//!
//! And between the two ways of one backend: in a slice a match may reach beyond the declared
//! window, in a ring it may not. Only frames that hold more than their window are excused.

use rocload_core::zstd::{Decompress, Fault, Frames, Header, precheck, scan};
use rocload_core::{Error, ErrorKind, Limits, Storage};

use crate::zstd::tables;
use crate::{Broken, Verdict, require};

/// The excuse for blocks of four Huffman streams without a checksum.
pub const SHIFTED: &str = "four Huffman streams and no checksum";
/// The excuse for compressed blocks that are longer than the frame's block maximum.
pub const LONG: &str = "a compressed block that is longer than the maximum";

/// What a backend gave for frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Decoded, and the C library gives the same bytes.
    Decoded,
    /// Decoded, where the C library refuses or differs, for the reason named.
    Excused(&'static str),
    /// Refused.
    Refused,
}

/// `src` decoded as a kernel of `size` bytes by `decoder` in both ways, and by the C library.
///
/// # Errors
/// [`Broken`].
pub fn agrees(
    decoder: &mut dyn Decompress,
    src: &[u8],
    size: usize,
    limits: &Limits,
) -> Result<Given, Broken> {
    let mut dst = vec![0xa5; size];
    let whole = decoder.decode(src, &mut dst);
    let expected = whole.map(|()| &dst[..]);
    for room in [7, 4096] {
        let room = &mut &mut vec![0; room][..];
        by_pieces(decoder, src, size, limits, room, false, &expected)?;
    }
    by_pieces(decoder, src, size, limits, &mut Vec::new(), true, &expected)?;

    let oracle = zstd::bulk::decompress(src, size).ok().filter(|bytes| bytes.len() == size);
    if whole.is_err_and(|error| stricter(src, &error)) {
        return Ok(Given::Refused);
    }
    headers_tell_the_truth(src, oracle.as_deref().map(<[u8]>::len), limits)?;
    match (expected, oracle) {
        (Ok(ours), Some(theirs)) if theirs == ours => Ok(Given::Decoded),
        (Ok(_), other) => match excuse(src, decoder.name()) {
            Some(reason) => Ok(Given::Excused(reason)),
            None => {
                let found = match other {
                    Some(_) => "other bytes",
                    None => "the C library refuses it",
                };
                Err(Broken { law: "what is decoded, the C library decodes", found: found.into() })
            }
        },
        (Err(error), Some(_)) => {
            let law = "what the C library decodes to the size expected is decoded";
            Err(Broken { law, found: format!("{}: {error}", decoder.name()) })
        }
        (Err(_), None) => Ok(Given::Refused),
    }
}

/// By pieces in `room`, which `grows` or may be too small: what a whole slice gives.
fn by_pieces(
    decoder: &mut dyn Decompress,
    src: &[u8],
    size: usize,
    limits: &Limits,
    room: &mut dyn Storage,
    grows: bool,
    expected: &Result<&[u8], Error>,
) -> Verdict {
    let mut all = Vec::new();
    let given = decoder.decode_pieces(src, size as u64, limits, room, &mut |piece| {
        all.extend_from_slice(piece);
    });
    require(all.len() <= size, "pieces are never more than was expected", || {
        format!("{} bytes of {size}", all.len())
    })?;
    match (given, expected) {
        (Err(Error { kind: ErrorKind::Limit { .. }, .. }), _) => Ok(()),
        (Err(Error { kind: ErrorKind::Full(_), .. }), _) if !grows => Ok(()),
        (Ok(()), Ok(whole)) => {
            require(all == *whole, "both ways give the same bytes", || decoder.name().into())
        }
        (Err(_), Err(_)) => Ok(()),
        (Err(_), Ok(_)) if holds_more_than_its_window(src) => Ok(()),
        (given, expected) => {
            let found =
                format!("{}: {given:?} against {:?}", decoder.name(), expected.map(<[u8]>::len));
            Err(Broken { law: "both ways have one verdict", found })
        }
    }
}

/// The first frame that is refused declares a content of 2^64 - 1 bytes, which none can produce.
fn declares_the_largest_size(src: &[u8]) -> bool {
    let refused = Frames::new(src).find_map(Result::err);
    let header = refused.and_then(|error| Header::parse(src.get(error.offset as usize..)?).ok());
    header.is_some_and(|header| header.content_size == Some(u64::MAX))
}

/// What the C library may take all the same.
fn stricter(src: &[u8], error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Zstd(Fault::BlockTooLarge { .. } | Fault::HuffmanNotConsumed))
        || declares_the_largest_size(src)
        || tables::taken_by_c(src, error)
}

fn holds_more_than_its_window(src: &[u8]) -> bool {
    let mut frames = Frames::new(src).map_while(Result::ok);
    frames.any(|frame| frame.header.window_size < frame.header.content_size.unwrap_or(frame.most))
}

/// What decodes to `len` bytes passes the walk over its headers, which allows that length.
fn headers_tell_the_truth(src: &[u8], len: Option<usize>, limits: &Limits) -> Verdict {
    let Some(len) = len.map(|len| len as u64) else { return Ok(()) };
    let scan = scan(src);
    let allowed = scan.is_ok_and(|scan| {
        (scan.least..=scan.most).contains(&len) && scan.content_size.is_none_or(|size| size == len)
    });
    require(allowed, "block headers allow what a frame decodes to", || format!("{scan:?}, {len}"))?;
    match precheck(src, len, limits) {
        Err(error) if !matches!(error.kind, ErrorKind::Limit { .. }) => {
            let law = "what decodes passes the check before it";
            Err(Broken { law, found: error.to_string() })
        }
        _ => Ok(()),
    }
}

/// Why the C library may refuse frames that a backend of this name decodes.
fn excuse(src: &[u8], name: &str) -> Option<&'static str> {
    Frames::new(src).map_while(Result::ok).find_map(|frame| {
        let blocks = compressed_blocks(frame.blocks());
        if blocks.iter().any(|block| block.len() > frame.header.block_max() as usize) {
            return Some(LONG);
        }
        let shifted = name == "ruzstd" && blocks.iter().any(|block| four_streams(block));
        (shifted && !frame.header.checksum).then_some(SHIFTED)
    })
}

/// The contents of the compressed blocks.
fn compressed_blocks(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    while let Some((&[a, b, c], rest)) = bytes.split_first_chunk::<3>() {
        let word = u32::from_le_bytes([a, b, c, 0]);
        let (kind, size) = (word >> 1 & 3, (word >> 3) as usize);
        let Some((content, rest)) = rest.split_at_checked(if kind == 1 { 1 } else { size }) else {
            break;
        };
        if kind == 2 {
            blocks.push(content);
        }
        bytes = rest;
    }
    blocks
}

/// Huffman-coded literals (RFC 8878, 3.1.1.3.1.1) in four streams: type 2 or 3 and a size
/// format other than 0.
fn four_streams(block: &[u8]) -> bool {
    block.first().is_some_and(|head| head & 3 >= 2 && head >> 2 & 3 != 0)
}

#[cfg(test)]
mod tests {
    use rocload_core::zstd::Workspace;

    use super::*;

    #[test]
    fn a_content_of_the_largest_size_is_refused_here_alone() {
        // A window of 1 KiB, a content size of eight bytes, a raw block of three.
        let mut frame = b"\x28\xb5\x2f\xfd\xc0\x00".to_vec();
        frame.extend_from_slice(&u64::MAX.to_le_bytes());
        frame.extend_from_slice(b"\x19\x00\x00abc");
        assert_eq!(zstd::bulk::decompress(&frame, 3).unwrap(), b"abc");
        let mut decoder = Workspace::<0>::new();
        for size in [0, 3, 100] {
            let given = agrees(&mut decoder, &frame, size, &Limits::default()).unwrap();
            assert_eq!(given, Given::Refused, "{size}");
        }
    }
}

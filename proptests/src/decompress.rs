//! A decompression backend: its two ways against each other, against what the block headers
//! say, and against the C library.
//!
//! What may differ from the C library, and why:
//!
//! - ruzstd compares only the sum of the lengths of a block's four Huffman streams
//!   ([`SHIFTED`]): a corrupt block without a checksum may decode to shifted bytes. Only frames
//!   that have such a block and no checksum are excused.
//! - The C library holds a compressed block to the frame's maximum by its own length; here what
//!   it produces counts, as in RFC 8878, 3.1.1.2.4. So the C library refuses the frame of an
//!   empty single segment whose block is compressed.
//! - It holds raw and RLE blocks to no maximum at all, where RFC 8878, 3.1.1.2.3, sets one for
//!   every type ([`Fault::BlockTooLarge`]).

use rocload_core::zstd::{Decompress, Fault, Frames, precheck, scan};
use rocload_core::{Error, ErrorKind, Limits};

use crate::{Broken, Verdict, require, same};

/// The excuse for blocks of four Huffman streams without a checksum.
pub const SHIFTED: &str = "four Huffman streams and no checksum";

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
pub fn agrees<D>(decoder: &mut D, src: &[u8], size: usize, limits: &Limits) -> Result<Given, Broken>
where
    D: Decompress + ?Sized,
{
    let mut dst = vec![0xa5; size];
    let whole = decoder.decode(src, &mut dst);
    for room in [7, 4096] {
        let (mut window, mut all) = (vec![0; room], Vec::new());
        let by_pieces =
            decoder.decode_pieces(src, size as u64, limits, &mut &mut window[..], &mut |piece| {
                all.extend_from_slice(piece);
            });
        require(all.len() <= size, "pieces are never more than was expected", || {
            format!("{} bytes of {size}", all.len())
        })?;
        match by_pieces {
            Err(error) if matches!(error.kind, ErrorKind::Limit { .. }) => {}
            by_pieces => {
                same("both ways have one verdict", &whole, &by_pieces)?;
                require(
                    whole.is_err() || all == dst,
                    "both ways give the same bytes",
                    String::new,
                )?;
            }
        }
    }
    let oracle = zstd::bulk::decompress(src, size).ok().filter(|bytes| bytes.len() == size);
    if whole.is_err_and(too_large) {
        same("the walk over headers finds the large block", &scan(src).err(), &whole.err())?;
        return Ok(Given::Refused);
    }
    headers_tell_the_truth(src, oracle.as_deref().map(<[u8]>::len), limits)?;
    match (whole, oracle) {
        (Ok(()), Some(bytes)) if bytes == dst => Ok(Given::Decoded),
        (Ok(()), other) => match excuse(src) {
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
            Err(Broken { law, found: error.to_string() })
        }
        (Err(_), None) => Ok(Given::Refused),
    }
}

fn too_large(error: Error) -> bool {
    matches!(error.kind, ErrorKind::Zstd(Fault::BlockTooLarge { .. }))
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

/// Why the C library may refuse frames that the backend decodes.
fn excuse(src: &[u8]) -> Option<&'static str> {
    Frames::new(src).map_while(Result::ok).find_map(|frame| {
        let blocks = compressed_blocks(frame.blocks());
        if frame.header.block_max() == 0 && !blocks.is_empty() {
            return Some("a compressed block in an empty single segment");
        }
        let shifted = blocks.iter().any(|block| four_streams(block));
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

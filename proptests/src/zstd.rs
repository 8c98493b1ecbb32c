//! The project's zstd decoder: its two layouts, its entries and the C library against each other.
//!
//! What may differ from the C library, in broken frames alone:
//!
//! - It takes a Huffman stream that does not end with its last literal
//!   ([`Fault::HuffmanNotConsumed`]), and blocks that produce more than the frame's maximum
//!   ([`Fault::BlockTooLarge`]); both are refused here.
//! - A content size of 2^64 - 1 is its own mark for none, so that it takes such a frame whatever
//!   that holds; here it is a size, as in RFC 8878, 3.1.1.1.4, which no content has.
//! - It reads the description of a table that runs out of its block from the block's last bytes once
//!   more, and takes Huffman codes of 12 bits (`tables`); here nothing is there, and 11 are the most.
//! - It refuses a compressed block that is longer than the frame's maximum, by the length in which
//!   it is stored; here what the block produces counts, as in RFC 8878, 3.1.1.2.4.
//!
//! What may differ between slice and ring: a match beyond the declared window is taken in a slice,
//! and refused in a ring that has come round.

pub(crate) mod tables;

use core::fmt;

use rocload_core::zstd::{
    Decoded, Decompress, Fault, Frames, Header, LITERALS, Workspace, decode_all, decode_frame, scan,
};
use rocload_core::{Error, ErrorKind, Limits};
use zstd::zstd_safe::{self, DCtx};

use crate::decompress::Given;
use crate::{Broken, Verdict, require, same};

/// The excuse for compressed blocks over the frame's maximum.
pub const LONG_BLOCK: &str = "a compressed block is longer than its frame's maximum";

/// Both layouts and the C library's context, kept from input to input.
pub struct Decoders {
    fast: Box<Workspace>,
    small: Box<Workspace<0>>,
    c: DCtx<'static>,
}

impl fmt::Debug for Decoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoders").finish_non_exhaustive()
    }
}

impl Default for Decoders {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoders {
    /// Fresh ones.
    pub fn new() -> Self {
        Self {
            fast: Box::new(Workspace::new()),
            small: Box::new(Workspace::new()),
            c: DCtx::create(),
        }
    }

    /// What the C library makes of all frames in `src` in `size` bytes.
    ///
    /// # Errors
    /// The name of its error.
    pub fn by_c(&mut self, src: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
        let mut dst = vec![0xc3; size];
        match self.c.decompress(&mut dst[..], src) {
            Ok(len) => {
                dst.truncate(len);
                Ok(dst)
            }
            Err(code) => Err(zstd_safe::get_error_name(code)),
        }
    }

    /// The size of all content in `src`: what the C library decodes to where that is `cap` bytes
    /// or less, and else what the headers make possible.
    pub fn size(&mut self, src: &[u8], cap: usize) -> usize {
        match (self.by_c(src, cap), scan(src)) {
            (Ok(bytes), _) => bytes.len(),
            (_, Ok(scan)) => scan.content_size.unwrap_or(scan.most).min(cap as u64) as usize,
            _ => cap,
        }
    }
}

/// All frames of `src` into `size` bytes that hold `fill` before.
fn all<const L: usize>(
    workspace: &mut Workspace<L>,
    src: &[u8],
    size: usize,
    fill: u8,
) -> Result<Vec<u8>, Error> {
    let mut dst = vec![fill; size];
    let written = decode_all(workspace, src, &mut dst)?;
    dst.truncate(written);
    Ok(dst)
}

/// All frames of `src` into `size` bytes: both layouts have one verdict and the same bytes, and
/// these are the C library's.
///
/// # Errors
/// [`Broken`].
pub fn frames(decoders: &mut Decoders, src: &[u8], size: usize) -> Result<Given, Broken> {
    let ours = all(&mut decoders.fast, src, size, 0xa5);
    let small = all(&mut decoders.small, src, size, 0x5a);
    // In a block that is wrong in two ways each layout may see another one first.
    let place = |given: &Result<Vec<u8>, Error>| given.as_ref().err().map(|error| error.offset);
    same("both layouts have one verdict", &place(&ours), &place(&small))?;
    same("both layouts give the same bytes", &ours.as_ref().ok(), &small.as_ref().ok())?;
    match (ours, decoders.by_c(src, size)) {
        (Ok(ours), Ok(theirs)) => {
            same("the bytes are the C library's", &ours, &theirs)?;
            Ok(Given::Decoded)
        }
        (Ok(_), Err(_)) if has_long_block(src) => Ok(Given::Excused(LONG_BLOCK)),
        (Ok(_), Err(theirs)) => {
            let law = "what is decoded, the C library decodes";
            Err(Broken { law, found: format!("into {size} bytes it finds {theirs}") })
        }
        (Err(error), theirs) => {
            refusal(&error, src, size)?;
            let excused = matches!(
                error.kind,
                ErrorKind::Zstd(Fault::HuffmanNotConsumed | Fault::BlockTooLarge { .. })
            ) || declares_the_largest_size(src, &error)
                || tables::taken_by_c(src, &error);
            require(excused || theirs.is_err(), "what the C library decodes is decoded", || {
                format!("{error} ({error:?}) with room for {size} bytes")
            })?;
            Ok(Given::Refused)
        }
    }
}

/// A frame that is known to be sound, and what it holds: both layouts and the C library give that;
/// the latter may refuse a block that is stored in more bytes than it may hold.
///
/// # Errors
/// [`Broken`].
pub fn sound(decoders: &mut Decoders, src: &[u8], content: &[u8]) -> Verdict {
    let all = Ok(Decoded { consumed: src.len(), written: content.len() });
    let mut dst = vec![0xa5; content.len()];
    let fast = decode_frame(&mut decoders.fast, src, &mut dst);
    same("a sound frame is decoded", &fast, &all)?;
    same("to its content", &&dst[..], &content)?;
    dst.fill(0x5a);
    let small = decode_frame(&mut decoders.small, src, &mut dst);
    same("in little memory too", &small, &all)?;
    same("to the same content", &&dst[..], &content)?;
    let theirs = decoders.by_c(src, content.len());
    require(
        theirs.as_deref() == Ok(content) || (theirs.is_err() && has_long_block(src)),
        "the C library decodes what is sound",
        || format!("{theirs:?} of {}", src.escape_ascii()),
    )
}

/// The frame at which there is too little room declares a content of 2^64 - 1 bytes.
fn declares_the_largest_size(src: &[u8], error: &Error) -> bool {
    let header = src.get(error.offset as usize..).map(Header::parse);
    let size = header.and_then(Result::ok).and_then(|header| header.content_size);
    matches!(error.kind, ErrorKind::Full(_)) && size == Some(u64::MAX)
}

/// An error lies inside the input, and more memory is asked for only where there is too little.
fn refusal(error: &Error, src: &[u8], size: usize) -> Verdict {
    let inside = error.offset <= src.len() as u64;
    require(inside, "an error lies inside the input", || format!("{error:?} of {}", src.len()))?;
    if let ErrorKind::Full(full) = error.kind {
        require(full.need > size as u64, "what is full has less than it needs", || {
            format!("{error:?} with {size}")
        })?;
    }
    Ok(())
}

/// The first frame of `src` alone, in both layouts: as long as the C library says, the same
/// without what stands behind it and in exactly its own size, and not in less.
///
/// # Errors
/// [`Broken`].
pub fn first_frame(decoders: &mut Decoders, src: &[u8], size: usize) -> Verdict {
    let fast = one(&mut decoders.fast, src, size)?;
    let small = one(&mut decoders.small, src, size)?;
    same("both layouts decode one frame alike", &fast, &small)?;
    let Some((Decoded { consumed, .. }, _)) = fast else { return Ok(()) };
    let theirs = zstd_safe::find_frame_compressed_size(src).ok();
    require(
        theirs == Some(consumed) || has_long_block(src),
        "a frame is as long as the C library says",
        || format!("{consumed} against {theirs:?}"),
    )
}

/// What one frame decodes to.
type One = Option<(Decoded, Vec<u8>)>;

fn one<const L: usize>(
    workspace: &mut Workspace<L>,
    src: &[u8],
    size: usize,
) -> Result<One, Broken> {
    let mut dst = vec![0xa5; size];
    let decoded = match decode_frame(workspace, src, &mut dst) {
        Ok(decoded) => decoded,
        Err(error) => return refusal(&error, src, size).map(|()| None),
    };
    let Decoded { consumed, written } = decoded;
    require(
        consumed <= src.len() && written <= size,
        "no more is read or written than there is",
        || format!("{decoded:?} of {} and {size}", src.len()),
    )?;
    dst.truncate(written);
    let mut exact = vec![0x5a; written];
    let again = decode_frame(workspace, &src[..consumed], &mut exact);
    same("a frame needs no more than itself", &again, &Ok(decoded))?;
    same("a frame decodes alike in its own size", &exact, &dst)?;
    if let Some(less) = written.checked_sub(1) {
        let error = decode_frame(workspace, src, &mut exact[..less]);
        let full = error.is_err_and(
            |error| matches!(error.kind, ErrorKind::Full(full) if full.need > less as u64),
        );
        require(full, "a frame is not decoded in less than its size", || format!("{error:?}"))?;
    }
    if let Some(cut) = consumed.checked_sub(1) {
        let error = decode_frame(workspace, &src[..cut], &mut exact);
        require(error.is_err(), "a frame that is cut is refused", || format!("{error:?}"))?;
    }
    Ok(Some((decoded, dst)))
}

/// A compressed block is longer than its frame's block maximum.
fn has_long_block(src: &[u8]) -> bool {
    Frames::new(src).map_while(Result::ok).any(|frame| {
        let max = frame.header.block_max() as usize;
        let mut blocks = frame.blocks();
        while let Some((&[a, b, c], rest)) = blocks.split_first_chunk::<3>() {
            let word = u32::from_le_bytes([a, b, c, 0]);
            let (kind, size) = (word >> 1 & 3, (word >> 3) as usize);
            if kind == 2 && size > max {
                return true;
            }
            blocks = rest.get(if kind == 1 { 1 } else { size }..).unwrap_or(&[]);
        }
        false
    })
}

/// What decoding in rings gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// The same bytes as in a slice.
    Decoded,
    /// Refused, as in a slice.
    Refused,
    /// A match reaches beyond the declared window, which in a slice is no error.
    BeyondWindow,
    /// The window is larger than the limits allow.
    Limit,
}

/// All frames of `src`, said to hold `size` bytes, by pieces in both layouts: in exactly the memory
/// asked for, in `more` than that, and not in less. Slice and ring agree but for what lies beyond
/// the declared window; a window over the limits is refused, and no other.
///
/// # Errors
/// [`Broken`].
pub fn pieces(
    decoders: &mut Decoders,
    src: &[u8],
    size: usize,
    limits: &Limits,
    more: usize,
) -> Result<Ring, Broken> {
    let mut whole = vec![0xa5; size];
    let verdict = decoders.fast.decode(src, &mut whole);
    if let Ok(()) = verdict {
        let all = all(&mut decoders.small, src, size, 0x5a);
        same("both entries for slices give the same bytes", &all.as_ref(), &Ok(&whole))?;
    }
    let whole = verdict.map(|()| whole);
    let fast = in_rings::<LITERALS>(&mut decoders.fast, src, size, limits, more, &whole)?;
    let small = in_rings::<0>(&mut decoders.small, src, size, limits, more, &whole)?;
    same("both layouts have one verdict on a ring", &fast, &small)?;
    Ok(fast)
}

fn in_rings<const L: usize>(
    workspace: &mut Workspace<L>,
    src: &[u8],
    size: usize,
    limits: &Limits,
    more: usize,
    whole: &Result<Vec<u8>, Error>,
) -> Result<Ring, Broken> {
    // The memory asked for; without any, frames without content alone are decoded.
    let need = match in_ring(workspace, src, size, limits, 0)? {
        Err(Error { kind: ErrorKind::Full(full), .. }) => {
            let most = 2 * (size as u64 + 32);
            require(
                (1..=most).contains(&full.need),
                "a ring is no larger than the content",
                || format!("{} bytes for {size}", full.need),
            )?;
            full.need as usize
        }
        given => return ring_verdict(src, size, limits, whole, given),
    };
    let less = in_ring(workspace, src, size, limits, need - 1)?;
    let full = matches!(less, Err(Error { kind: ErrorKind::Full(full), .. })
        if full.need == need as u64);
    require(full, "less than the memory asked for is too little", || {
        format!("{:?} in {} bytes", less.as_ref().map(Vec::len), need - 1)
    })?;
    let given = in_ring(workspace, src, size, limits, need)?;
    let verdict = ring_verdict(src, size, limits, whole, given)?;
    let given = in_ring(workspace, src, size, limits, need + more)?;
    let roomy = ring_verdict(src, size, limits, whole, given)?;
    // What lies beyond the window may still be there in a larger ring.
    require(
        roomy == verdict || (verdict, roomy) == (Ring::BeyondWindow, Ring::Decoded),
        "a larger ring gives no less",
        || format!("{verdict:?} in {need} bytes, {roomy:?} in {more} more"),
    )?;
    Ok(verdict)
}

/// All pieces, joined, as made in `room` bytes.
fn in_ring<const L: usize>(
    workspace: &mut Workspace<L>,
    src: &[u8],
    size: usize,
    limits: &Limits,
    room: usize,
) -> Result<Result<Vec<u8>, Error>, Broken> {
    let (mut ring, mut joined) = (vec![0xc3; room], Vec::with_capacity(size));
    let sink = &mut |piece: &[u8]| joined.extend_from_slice(piece);
    let given = workspace.decode_pieces(src, size as u64, limits, &mut &mut ring[..], sink);
    require(joined.len() <= size, "pieces are never more than was expected", || {
        format!("{} bytes of {size}", joined.len())
    })?;
    if let Err(error) = &given {
        refusal(error, src, room)?;
    }
    Ok(given.map(|()| joined))
}

fn ring_verdict(
    src: &[u8],
    size: usize,
    limits: &Limits,
    whole: &Result<Vec<u8>, Error>,
    given: Result<Vec<u8>, Error>,
) -> Result<Ring, Broken> {
    let windows = || Frames::new(src).map_while(Result::ok).map(|frame| frame.effective_window());
    match (whole, given) {
        (_, Err(Error { kind: ErrorKind::Limit { value, .. }, .. })) => {
            let over = windows().any(|window| window.min(size as u64) == value);
            require(
                over && value > limits.window_bytes,
                "what is over a limit is a window over it",
                || format!("{value} against {}", limits.window_bytes),
            )?;
            Ok(Ring::Limit)
        }
        (whole, given) => {
            if given.is_ok() {
                let within = windows().all(|window| window.min(size as u64) <= limits.window_bytes);
                require(within, "what is decoded in a ring is within the limits", String::new)?;
            }
            match (whole, given) {
                (Ok(whole), Ok(joined)) => {
                    same("a ring gives the same bytes", whole, &joined)?;
                    Ok(Ring::Decoded)
                }
                (Err(_), Err(_)) => Ok(Ring::Refused),
                (Ok(_), Err(error)) => {
                    let beyond = error.kind == ErrorKind::Zstd(Fault::Offset)
                        && windows().any(|window| window < size as u64);
                    require(beyond, "what a slice holds, a ring holds", || format!("{error:?}"))?;
                    Ok(Ring::BeyondWindow)
                }
                (Err(error), Ok(_)) => {
                    let law = "what a slice refuses, a ring refuses";
                    Err(Broken { law, found: format!("{error:?}") })
                }
            }
        }
    }
}

//! The project's own decoder: from slice to slice, without a heap and without unsafe code.
//!
//! ```text
//! frame      header, blocks, content size, checksum (xxh64)
//!   block    literals section, sequences section, the tables that stay from block to block
//!     literals   huffman: its table; streams: one or four, side by side
//!     sequences  fse: the tables; tables: what the format fixes; the loop that matters
//!       output   the caller's slice as window; literals apart or at its tail
//! pieces     the same blocks in a ring, for content that is used up as it comes
//! ```
//!
//! ```text
//!              +--------- not the last -----------+
//!              v                                  |
//!  header --> block: raw, RLE ---------> output --+--> content size --> checksum --> Decoded
//!              | compressed                ^
//!              +--> literals --> sequences-+
//!                   tables that a block does not bring are those of the block before
//! ```
//!
//! The caller's slice is the window: each byte is written once, in its place, and matches are
//! copied from there. So nothing is proportional to what a frame declares, a large window costs
//! nothing, and the memory of a decoder is a constant, its [`Workspace`], in one of two sizes:
//!
//! | | bytes | literals of a slice | literals of a ring |
//! |---|---|---|---|
//! | `Workspace` | under 150 KiB | where they are stored, or at the slice's end | in its own buffer |
//! | `Workspace<0>` | under 16 KiB | at the slice's end | in memory that the caller lends |
//!
//! In a slice the small layout is as fast as the large one, but for stored literals, which it has
//! to copy. (Literals in a buffer of their own make it slower by 2 to 3 %: the loop has one more
//! slice to keep in registers.)
//!
//! The decoder is strict where the reference decoder is not: every Huffman stream has to end
//! with its last literal, and no block may produce more than its frame's maximum. Dictionaries
//! are refused by [`Fault::Dictionary`].
//!
//! What `dst` holds: the content in its first `written` bytes. Bytes behind them may have been
//! overwritten, as copies overshoot and literals may wait there; after an error all of `dst` is
//! unspecified, though never anything but zeros, old content of `dst`, or what the input made.
//!
//! ```
//! use rocload_core::zstd::{Decompress, Workspace, decode_frame};
//!
//! let frame = b"\x28\xb5\x2f\xfd\x20\x06\x31\0\0abcabc";
//! let mut workspace = Workspace::<0>::new();
//! let mut dst = [0u8; 6];
//! let decoded = decode_frame(&mut workspace, frame, &mut dst)?;
//! assert_eq!((decoded.consumed, decoded.written, &dst), (15, 6, b"abcabc"));
//!
//! // A workspace is also a backend of the decompression trait.
//! assert_eq!(workspace.name(), "rocload");
//! workspace.decode(frame, &mut dst)?;
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: RFC 8878.

use core::fmt;

use super::frame::Next;
use super::{Decompress, Fault, MAX_BLOCK, scan};
use crate::WIDE;
use crate::error::{Error, ErrorKind, Full};
use crate::limits::Limits;
use crate::need::Storage;

mod bits;
mod block;
mod frame;
mod fse;
mod huffman;
mod literals;
mod output;
mod pieces;
mod sequences;
mod streams;
mod tables;
#[cfg(test)]
mod tests;
mod xxh64;

pub use frame::Decoded;

const fn wrong(fault: Fault) -> ErrorKind {
    ErrorKind::Zstd(fault)
}

/// Bytes of literals in the fast [`Workspace`]: those of any block, and what a copy overshoots.
pub const LITERALS: usize = MAX_BLOCK as usize + 32;

/// All the memory that decoding takes besides input and output.
///
/// `L` is [`LITERALS`] for the fast layout or 0 for the small one; nothing else compiles. The
/// workspace is reusable, also after errors: no frame sees anything of an earlier one. A new one
/// is all zeros, so that a `static` of it takes no room in an image.
///
/// ```
/// use rocload_core::zstd::Workspace;
///
/// static FRESH: Workspace<0> = Workspace::new();
/// assert!(size_of_val(&FRESH) <= 16 << 10);
/// assert!(size_of::<Workspace>() <= 150 << 10);
/// ```
pub struct Workspace<const L: usize = LITERALS> {
    state: block::State,
    literals: [u8; L],
}

impl Workspace {
    /// A workspace of the fast layout. On the heap: `Box::new(Workspace::fast())`.
    pub const fn fast() -> Self {
        Self::new()
    }
}

impl<const L: usize> Workspace<L> {
    /// A workspace of the layout that `L` says.
    pub const fn new() -> Self {
        const { assert!(L == 0 || L == LITERALS, "0 or LITERALS bytes of literals") }
        Self { state: block::State::new(), literals: [0; L] }
    }
}

impl<const L: usize> Default for Workspace<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const L: usize> fmt::Debug for Workspace<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").field("literals", &L).finish_non_exhaustive()
    }
}

/// Decodes the one frame at the front of `src` into the front of `dst`. Bytes after the frame are
/// not looked at.
///
/// Matches may reach back to the start of the frame's content, also beyond its declared window, as
/// they may in the reference decoder's one-call function.
///
/// # Errors
/// [`ErrorKind::Full`] when `dst` is too small, with the content size where the frame declares it
/// and else with what is known to be needed at least; [`ErrorKind::Truncated`] and
/// [`ErrorKind::Zstd`] for a broken frame. Offsets count from the start of `src`.
pub fn decode_frame<const L: usize>(
    workspace: &mut Workspace<L>,
    src: &[u8],
    dst: &mut [u8],
) -> Result<Decoded, Error> {
    let Workspace { state, literals } = workspace;
    // The two ways of decoding share all their code where memory for code is short.
    if L == 0 && WIDE {
        frame::decode::<true>(state, literals, src, dst)
    } else {
        frame::decode::<false>(state, literals, src, dst)
    }
}

/// Decodes all frames in `src`, one after another, into `dst`, and returns how many bytes they
/// held. Skippable frames are passed over; no input at all holds no bytes.
///
/// # Errors
/// Those of [`decode_frame`], and [`Fault::TrailingBytes`] or [`Fault::Skippable`] for what is no
/// frame behind the first.
pub fn decode_all<const L: usize>(
    workspace: &mut Workspace<L>,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize, Error> {
    let (mut read, mut written) = (0, 0);
    loop {
        let rest = &src[read..];
        match Next::find(rest, read as u64)? {
            Next::End => return Ok(written),
            Next::Skippable(len) => read += len,
            Next::Frame => {
                let decoded = decode_frame(workspace, rest, &mut dst[written..]);
                let decoded = decoded.map_err(|error| {
                    let Error { kind, offset } = error.rebased(read as u64);
                    let kind = match kind {
                        ErrorKind::Full(Full { need }) => {
                            ErrorKind::Full(Full { need: need.saturating_add(written as u64) })
                        }
                        kind => kind,
                    };
                    Error { kind, offset }
                })?;
                read += decoded.consumed;
                written += decoded.written;
            }
        }
    }
}

impl<const L: usize> Decompress for Workspace<L> {
    fn name(&self) -> &'static str {
        "rocload"
    }

    fn decode(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(), Error> {
        let expected = dst.len() as u64;
        // Before the first byte is written: whatever the headers of later frames reveal.
        scan(src)?.expect(expected)?;
        let produced = |produced| wrong(Fault::Produced { produced, expected });
        let written = decode_all(self, src, dst).map_err(|error| match error.kind {
            // `dst` is as large as it has to be, so it is the frame that is wrong.
            ErrorKind::Full(Full { need }) => Error::new(produced(need), error.offset),
            _ => error,
        })?;
        if written < dst.len() {
            return Err(Error::new(produced(written as u64), 0));
        }
        Ok(())
    }

    fn decode_pieces(
        &mut self,
        src: &[u8],
        expected: u64,
        limits: &Limits,
        window: &mut dyn Storage,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        pieces::decode(self, src, expected, limits, window, sink)
    }
}

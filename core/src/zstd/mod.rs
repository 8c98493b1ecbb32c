//! zstd frames: their headers, the frame index of a kpack archive, and decompression.
//!
//! A stored kernel of the scheme "zstd-per-kernel" is one "frame" that may be several
//! concatenated zstd frames, skippable ones among them. Three things are done with it:
//!
//! - [`FrameIndex`] finds it in the archive, from the length word before each frame;
//! - [`precheck`] walks its block headers without decoding, so that an impossible size is
//!   refused before memory is taken for it;
//! - a [`Decompress`] decodes it, into the caller's slice or piece by piece.
//!
//! The trait has two implementations: [`Workspace`], the project's own decoder, needs no heap and
//! is the default everywhere; `Ruzstd` (feature `ruzstd`) is another's work to hold it against.
//! Whatever the backend, it verifies what a frame says of itself: checksum, content size,
//! reserved bit, block sizes, its exact end, and nothing after it.
//!
//! ```
//! use rocload_core::{Limits, zstd};
//!
//! // "abcabc" as one raw block, then a skippable frame.
//! let stored = b"\x28\xb5\x2f\xfd\x20\x06\x31\0\0abcabc\x50\x2a\x4d\x18\x02\0\0\0hi";
//! let scan = zstd::precheck(stored, 6, &Limits::default())?;
//! assert_eq!((scan.frames, scan.skippable, scan.content_size), (1, 1, Some(6)));
//!
//! use rocload_core::zstd::{Decompress, Workspace};
//!
//! let mut kernel = [0u8; 6];
//! Workspace::fast().decode(stored, &mut kernel)?;
//! assert_eq!(&kernel, b"abcabc");
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Sources: RFC 8878; kpack format, section 1.

use core::fmt;

use crate::error::{Class, Error};
use crate::limits::Limits;
use crate::need::Storage;

mod decode;
mod frame;
mod index;
#[cfg(feature = "ruzstd")]
mod ruzstd;
#[cfg(all(test, feature = "ruzstd"))]
mod tests;

pub use decode::{Decoded, LITERALS, Workspace, decode_all, decode_frame};
pub use frame::{Frame, Frames, Header, MAX_BLOCK, Scan, precheck, scan};
pub use index::{FrameIndex, FrameSpan, FrameSpans};
#[cfg(feature = "ruzstd")]
pub use ruzstd::Ruzstd;

/// A decompressor of stored kernels, reusable from one to the next.
///
/// Offsets in errors count from the start of `src`: see [`Error::rebased`]. A value is used by
/// one thread at a time; threads that decode in parallel have one each.
pub trait Decompress {
    /// The backend's name, lower-case, for reports.
    fn name(&self) -> &'static str;

    /// Decodes all frames in `src` so that they fill `dst` exactly.
    ///
    /// `dst` serves as history: no window is too large, and no memory is taken in proportion to
    /// anything but `dst.len()`. After an error the content of `dst` is unspecified.
    ///
    /// # Errors
    /// [`ErrorKind::Zstd`](crate::ErrorKind::Zstd) or
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) when `src` is not a whole number of
    /// sound frames with `dst.len()` bytes of content in all.
    fn decode(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(), Error>;

    /// Decodes all frames in `src`, which must hold `expected` bytes of content in all, and
    /// shows them to `sink` in order, in pieces of any size: for verifying and hashing a kernel
    /// without room for the whole of it.
    ///
    /// A frame may refer back over the smallest of its declared window, its own content and
    /// `expected`. That may not exceed [`Limits::window_bytes`], which bounds the memory in use.
    /// A backend that keeps the history in `window` also needs room there for a block, twice at
    /// most: for as much as the frame's header allows, or less by [`Limits::block_bytes`].
    ///
    /// `window` is memory that the pieces are made in; it is grown as far as it can be used. A
    /// backend without a heap keeps the history there too and needs room for it; one with
    /// history of its own works in a few bytes.
    ///
    /// The pieces shown before an error are not proven: a checksum stands at a frame's end.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode), [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too
    /// large a history or block and [`ErrorKind::Full`](crate::ErrorKind::Full) for too small a
    /// `window`.
    fn decode_pieces(
        &mut self,
        src: &[u8],
        expected: u64,
        limits: &Limits,
        window: &mut dyn Storage,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error>;
}

/// What can be wrong with stored frames or with the table that leads to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes begin with no frame's magic number.
    NotZstd {
        /// The first four bytes, as a little-endian number.
        found: u32,
    },
    /// Content is expected and there is no frame, or only skippable ones.
    Empty,
    /// Bytes after the last frame that begin no frame.
    TrailingBytes {
        /// How many.
        count: u64,
    },
    /// A skippable frame runs past the end.
    Skippable {
        /// The content size that it declares, in bytes.
        len: u32,
        /// The bytes there.
        left: u64,
    },
    /// The reserved bit of a frame header is set (RFC 8878, 3.1.1.1.1.4).
    ReservedBit,
    /// The reserved bits of a block's sequence modes are set (RFC 8878, 3.1.1.3.2.1).
    ReservedModes,
    /// A frame declares a window that no decoder has to keep.
    WindowTooLarge {
        /// The declared size, in bytes; 4 GiB or more.
        size: u64,
    },
    /// A frame needs a dictionary; kpack archives have none.
    Dictionary {
        /// The dictionary's id.
        id: u32,
    },
    /// A block of the reserved type 3 (RFC 8878, 3.1.1.2.2).
    ReservedBlock,
    /// A block, or the literals of one, over the frame's maximum (RFC 8878, 3.1.1.2.4).
    BlockTooLarge {
        /// Its size, in bytes.
        size: u32,
        /// The smaller of the window and 128 KiB, in bytes.
        max: u32,
    },
    /// The frames declare another total size than the archive does.
    ContentSize {
        /// The sum that the frame headers declare, in bytes.
        declared: u64,
        /// The size that is expected, in bytes.
        expected: u64,
    },
    /// The blocks cannot produce the size that is declared or expected.
    CannotProduce {
        /// The least that the blocks produce, in bytes.
        least: u64,
        /// The most that the blocks produce, in bytes.
        most: u64,
        /// The size that is declared or expected, in bytes.
        expected: u64,
    },
    /// Decoding gave another size than is declared or expected.
    Produced {
        /// What was decoded until this was certain, in bytes.
        produced: u64,
        /// The size that is declared or expected, in bytes.
        expected: u64,
    },
    /// The content does not have the checksum stored after it.
    Checksum {
        /// The checksum in the frame.
        stored: u32,
        /// The low 32 bits of the content's XXH64.
        computed: u32,
    },
    /// A block's content breaks the format.
    Corrupt,
    /// A description of a Huffman code that is none (RFC 8878, 4.2.1).
    HuffmanTable,
    /// A Huffman stream ends before or after its literals (RFC 8878, 4.2.2).
    HuffmanNotConsumed,
    /// A description of an FSE table that is none (RFC 8878, 4.1.1).
    FseTable,
    /// A block uses an earlier block's table, and there is none (RFC 8878, 3.1.1.3).
    NoTable,
    /// The bits of a block's sequences end before or after the sequences (RFC 8878, 3.1.1.3.2).
    SequenceBits,
    /// The sequences of a block need more literals than it has (RFC 8878, 3.1.1.4).
    Literals,
    /// An offset of 0, or one that lies before the start of the content (RFC 8878, 3.1.1.5).
    Offset,
    /// The zstd region of an archive is too small for its own frame count.
    BlobTooSmall {
        /// Its size, in bytes.
        size: u64,
    },
    /// The zstd region of an archive counts more frames than it has room for.
    FrameCount {
        /// The number of frames that it counts.
        count: u32,
        /// The number of length words that would fit.
        room: u64,
    },
    /// A frame runs past the room that the zstd region of an archive has for it.
    FrameLength {
        /// The frame's ordinal.
        ordinal: u32,
        /// Its length, in bytes.
        len: u32,
        /// The most that fits in front of the length words still to come, in bytes.
        left: u64,
    },
}

impl Fault {
    /// What a caller can do about it.
    pub(crate) const fn class(&self) -> Class {
        match self {
            Self::Dictionary { .. } => Class::Unsupported,
            _ => Class::Malformed,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotZstd { found } => {
                write!(f, "not a zstd frame: the magic number is {found:#010x}")
            }
            Self::Empty => f.write_str("no zstd frame where a kernel is expected"),
            Self::TrailingBytes { count } => {
                write!(f, "bytes after the last zstd frame: {count}")
            }
            Self::Skippable { len, left } => {
                write!(f, "a skippable frame of {len} bytes, of which {left} are there")
            }
            Self::ReservedBit => f.write_str("the reserved bit of the zstd frame header is set"),
            Self::ReservedModes => {
                f.write_str("the reserved bits of a zstd block's sequence modes are set")
            }
            Self::WindowTooLarge { size } => {
                write!(f, "the zstd frame declares a window of {size} bytes: 4 GiB is too large")
            }
            Self::Dictionary { id } => {
                write!(
                    f,
                    "the zstd frame needs dictionary {id}, and dictionaries are not supported"
                )
            }
            Self::ReservedBlock => f.write_str("a zstd block of the reserved type"),
            Self::BlockTooLarge { size, max } => {
                write!(f, "a zstd block of {size} bytes, over the frame's maximum of {max}")
            }
            Self::ContentSize { declared, expected } => {
                write!(f, "the zstd frames declare {declared} bytes where {expected} are expected")
            }
            Self::CannotProduce { least, most, expected } => write!(
                f,
                "the zstd blocks can produce {least} to {most} bytes and {expected} are expected"
            ),
            Self::Produced { produced, expected } => write!(
                f,
                "the zstd frame decodes to {produced} bytes or more where {expected} are expected"
            ),
            Self::Checksum { stored, computed } => write!(
                f,
                "the content's checksum is {computed:#010x} and the zstd frame says {stored:#010x}"
            ),
            Self::Corrupt => f.write_str("a zstd block is corrupt"),
            Self::HuffmanTable => f.write_str("a zstd block's huffman table is corrupt"),
            Self::HuffmanNotConsumed => {
                f.write_str("a huffman stream of a zstd block does not end with its literals")
            }
            Self::FseTable => f.write_str("a zstd block's sequence table is corrupt"),
            Self::NoTable => f.write_str("a zstd block repeats a table that there is not"),
            Self::SequenceBits => {
                f.write_str("the bits of a zstd block do not end with its sequences")
            }
            Self::Literals => f.write_str("a zstd block uses more literals than it has"),
            Self::Offset => f.write_str("a zstd block refers back to before the content's start"),
            Self::BlobTooSmall { size } => {
                write!(f, "a zstd region of {size} bytes has no room for its frame count")
            }
            Self::FrameCount { count, room } => {
                write!(f, "the zstd region counts {count} frames and has room for {room} at most")
            }
            Self::FrameLength { ordinal, len, left } => write!(
                f,
                "frame {ordinal} of {len} bytes runs past the zstd region, which has {left} for it"
            ),
        }
    }
}

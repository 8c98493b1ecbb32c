//! Frame headers, and the walk over block headers that needs no decoding.
//!
//! ```text
//! magic | descriptor [window] [dictionary id] [content size] | block header, block ... | [checksum]
//! ```
//!
//! [`Frames`] yields each frame with its extent and with the least and the most that its blocks
//! can produce: raw and RLE blocks state their size; a compressed block produces no less than
//! its literals, whose number stands in its first bytes, and no more than the block maximum.
//! [`scan`] sums that up, [`precheck`] holds it against what an archive promises.
//!
//! Sources: RFC 8878, 3.1.1 (frames), 3.1.1.2 (blocks), 3.1.1.3.1.1 (literals), 3.1.2 (skippable).

#[cfg(test)]
mod tests;

use super::Fault;
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};
use crate::limits::{Cap, Limits};

/// The most that one block holds or produces in any frame: 128 KiB (RFC 8878, 3.1.1.2.4).
pub const MAX_BLOCK: u32 = 128 << 10;

/// The largest window whose frames the reference decoder takes on 64-bit machines: windows
/// from 4 GiB on are refused whatever the memory (RFC 8878, 3.1.1.1.2, leaves the limit open).
const MAX_WINDOW_LOG: u8 = 31;

const MAGIC: u32 = 0xFD2F_B528;
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;
const SKIPPABLE_MASK: u32 = 0xFFFF_FFF0;

const fn at(offset: u64, fault: Fault) -> Error {
    Error::new(ErrorKind::Zstd(fault), offset)
}

/// What a frame's header says (RFC 8878, 3.1.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// How far back matches may reach, in bytes: declared, or the content size of a
    /// single-segment frame. Under 4 GiB, or up to 2^64 - 1 for a single segment.
    pub window_size: u64,
    /// The size of the content, in bytes, when the header has it.
    pub content_size: Option<u64>,
    /// A checksum follows the last block.
    pub checksum: bool,
    /// Length of the header, magic number included: 6 to 18 bytes.
    pub len: usize,
}

impl Header {
    /// Reads the header at the front of `src`.
    ///
    /// # Errors
    /// [`Fault::NotZstd`], [`Fault::ReservedBit`], [`Fault::Dictionary`] (an id of 0 means none),
    /// [`Fault::WindowTooLarge`] and [`ErrorKind::Truncated`]. Offsets count from the start of `src`.
    pub fn parse(src: &[u8]) -> Result<Header, Error> {
        let mut cursor = Cursor::new(src, 0);
        let found = cursor.u32_le()?;
        if found != MAGIC {
            return Err(at(0, Fault::NotZstd { found }));
        }
        let descriptor = cursor.u8()?;
        if descriptor & 0x08 != 0 {
            return Err(at(4, Fault::ReservedBit));
        }
        let single_segment = descriptor & 0x20 != 0;
        let declared_window = if single_segment { None } else { Some(cursor.u8()?) };

        let id_at = cursor.offset();
        let id = match descriptor & 3 {
            0 => 0,
            1 => u32::from(cursor.u8()?),
            2 => u32::from(cursor.u16_le()?),
            _ => cursor.u32_le()?,
        };
        if id != 0 {
            return Err(at(id_at, Fault::Dictionary { id }));
        }
        let content_size = match (descriptor >> 6, single_segment) {
            (0, false) => None,
            (0, true) => Some(u64::from(cursor.u8()?)),
            (1, _) => Some(u64::from(cursor.u16_le()?) + 256),
            (2, _) => Some(u64::from(cursor.u32_le()?)),
            _ => Some(cursor.u64_le()?),
        };
        let window_size = match declared_window {
            Some(byte) => {
                let log = 10 + (byte >> 3);
                let base = 1u64 << log;
                let size = base + base / 8 * u64::from(byte & 7);
                if log > MAX_WINDOW_LOG {
                    return Err(at(5, Fault::WindowTooLarge { size }));
                }
                size
            }
            None => content_size.unwrap_or(0),
        };
        Ok(Header {
            window_size,
            content_size,
            checksum: descriptor & 0x04 != 0,
            len: cursor.position(),
        })
    }

    /// The most that one block of the frame may hold or produce, in bytes.
    pub fn block_max(&self) -> u32 {
        u32::try_from(self.window_size).unwrap_or(u32::MAX).min(MAX_BLOCK)
    }
}

/// A frame whose extent and block headers are sound; its blocks are not decoded yet.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// What its header says.
    pub header: Header,
    /// Offset of its first byte in the slice given to [`Frames::new`].
    pub offset: u64,
    /// The least that its blocks produce, in bytes.
    pub least: u64,
    /// The most that its blocks produce, in bytes.
    pub most: u64,
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The whole frame.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its blocks, with their headers.
    pub fn blocks(&self) -> &'a [u8] {
        let end = self.bytes.len() - if self.header.checksum { 4 } else { 0 };
        &self.bytes[self.header.len..end]
    }

    /// The checksum stored after the last block: the low 32 bits of the content's XXH64.
    pub fn stored_checksum(&self) -> Option<u32> {
        let last = self.bytes.last_chunk::<4>()?;
        self.header.checksum.then(|| u32::from_le_bytes(*last))
    }

    /// How far back its matches can reach in fact, in bytes: no further than the declared
    /// window, and no further than there is content.
    pub fn effective_window(&self) -> u64 {
        self.header.window_size.min(self.header.content_size.unwrap_or(self.most))
    }

    /// Reads the frame at the front of `rest`, which begins at `offset` of the whole.
    fn read(rest: &'a [u8], offset: u64) -> Result<Frame<'a>, Error> {
        let header = Header::parse(rest).map_err(|error| error.rebased(offset))?;
        let mut cursor = Cursor::new(rest, offset);
        cursor.take(header.len)?;
        let (mut least, mut most) = (0u64, 0u64);
        loop {
            let block = Block::read(&mut cursor, header.block_max())?;
            // Each term is at most 128 KiB and stands for a stored byte at least.
            least += u64::from(block.least);
            most += u64::from(block.most);
            if block.last {
                break;
            }
        }
        if header.checksum {
            cursor.take(4)?;
        }
        if let Some(expected) = header.content_size
            && !(least..=most).contains(&expected)
        {
            return Err(at(offset, Fault::CannotProduce { least, most, expected }));
        }
        Ok(Frame { header, offset, least, most, bytes: &rest[..cursor.position()] })
    }
}

/// What is known of a block without decoding it.
struct Block {
    last: bool,
    least: u32,
    most: u32,
}

impl Block {
    /// Reads the block header at the cursor and passes over its content.
    fn read(cursor: &mut Cursor<'_>, max: u32) -> Result<Block, Error> {
        let offset = cursor.offset();
        let [a, b, c] = cursor.array::<3>()?;
        let word = u32::from_le_bytes([a, b, c, 0]);
        let (last, size) = (word & 1 != 0, word >> 3);
        let too_large = |size, max| at(offset, Fault::BlockTooLarge { size, max });
        match (word >> 1) & 3 {
            kind @ (0 | 1) => {
                if size > max {
                    return Err(too_large(size, max));
                }
                cursor.take(if kind == 0 { size as usize } else { 1 })?;
                Ok(Block { last, least: size, most: size })
            }
            2 => {
                // A compressed block may be longer than what it produces, as in the frame of an
                // empty single segment; only what it produces is bound to the frame's maximum.
                if size > MAX_BLOCK {
                    return Err(too_large(size, MAX_BLOCK));
                }
                let content = cursor.take(size as usize)?;
                let literals = Literals::read(content).ok_or(at(offset, Fault::Corrupt))?;
                if literals.reserved_modes(content) {
                    return Err(at(offset, Fault::ReservedModes));
                }
                let least = literals.count;
                if least > max {
                    return Err(too_large(least, max));
                }
                Ok(Block { last, least, most: max })
            }
            _ => Err(at(offset, Fault::ReservedBlock)),
        }
    }
}

/// What the header of a compressed block's literals section says (RFC 8878, 3.1.1.3.1.1).
pub(super) struct Literals {
    /// Raw (0), one byte repeated (1), compressed (2), or so by an earlier block's table (3).
    pub(super) kind: u8,
    /// Compressed in four streams, not one.
    pub(super) four: bool,
    /// How many literals there are.
    pub(super) count: u32,
    /// Length of the header in bytes.
    pub(super) header: usize,
    /// Length of what follows the header, in bytes.
    pub(super) stored: usize,
}

impl Literals {
    /// Reads the header at the front of a block's content.
    pub(super) fn read(content: &[u8]) -> Option<Literals> {
        let mut head = [0u8; 8];
        let there = content.len().min(5);
        head[..there].copy_from_slice(&content[..there]);
        let word = u64::from_le_bytes(head);
        let kind = word & 3;
        // Length of the header, width of each size in it, and where the first one begins.
        let (header, bits, shift) = match (kind < 2, (word >> 2) & 3) {
            (true, 0 | 2) => (1, 5, 3),
            (true, 1) => (2, 12, 4),
            (true, _) => (3, 20, 4),
            (false, 0 | 1) => (3, 10, 4),
            (false, 2) => (4, 14, 4),
            (false, _) => (5, 18, 4),
        };
        let size = |shift: u32| ((word >> shift) & ((1 << bits) - 1)) as u32;
        let count = size(shift);
        let stored = match kind {
            0 => count,
            1 => 1,
            _ => size(shift + bits),
        };
        let four = kind > 1 && (word >> 2) & 3 > 0;
        let (kind, stored) = (kind as u8, stored as usize);
        (content.len() >= header).then_some(Literals { kind, four, count, header, stored })
    }

    /// The reserved bits of the sequence section's modes are set. A section that ends before
    /// them is left to the decoder.
    fn reserved_modes(&self, content: &[u8]) -> bool {
        let modes = match content.get(self.header + self.stored..) {
            Some([0, ..] | [128, 0, ..]) => None,
            Some([1..=127, modes, ..]) => Some(modes),
            Some([128..=254, _, modes, ..]) => Some(modes),
            Some([255, _, _, modes, ..]) => Some(modes),
            _ => None,
        };
        modes.is_some_and(|modes| modes & 3 != 0)
    }
}

/// The frames in a slice, in order; skippable frames are passed over and counted.
///
/// Yields one error at most, and nothing after it.
#[derive(Debug, Clone)]
pub struct Frames<'a> {
    src: &'a [u8],
    pos: usize,
    skippable: u64,
}

impl<'a> Frames<'a> {
    /// The frames in `src`, which must end where the last frame ends.
    pub fn new(src: &'a [u8]) -> Self {
        Self { src, pos: 0, skippable: 0 }
    }

    /// Skippable frames passed so far.
    pub fn skippable(&self) -> u64 {
        self.skippable
    }

    fn read(&mut self) -> Result<Option<Frame<'a>>, Error> {
        loop {
            let rest = &self.src[self.pos..];
            let offset = self.pos as u64;
            match Next::find(rest, offset)? {
                Next::End => return Ok(None),
                Next::Skippable(len) => {
                    self.pos += len;
                    self.skippable += 1;
                }
                Next::Frame => {
                    let frame = Frame::read(rest, offset)?;
                    self.pos += frame.bytes.len();
                    return Ok(Some(frame));
                }
            }
        }
    }
}

/// What stands where a frame may begin.
pub(super) enum Next {
    /// Nothing more.
    End,
    /// A skippable frame of this length in bytes.
    Skippable(usize),
    /// A frame, by its magic number; at offset 0 possibly none, to be told by its header.
    Frame,
}

impl Next {
    /// Looks at the front of `rest`, which begins at `offset` of the whole.
    pub(super) fn find(rest: &[u8], offset: u64) -> Result<Next, Error> {
        let Some(magic) = rest.first_chunk::<4>().map(|magic| u32::from_le_bytes(*magic)) else {
            return match (rest.len(), offset) {
                (0, _) => Ok(Next::End),
                (have, 0) => {
                    Err(Error::new(ErrorKind::Truncated { need: 4, have: have as u64 }, 0))
                }
                (count, _) => Err(at(offset, Fault::TrailingBytes { count: count as u64 })),
            };
        };
        if magic & SKIPPABLE_MASK == SKIPPABLE_MAGIC {
            let mut cursor = Cursor::new(rest, offset);
            cursor.take(4)?;
            let len = cursor.u32_le()?;
            let left = cursor.rest().len();
            if usize::try_from(len).is_ok_and(|len| cursor.take(len).is_ok()) {
                return Ok(Next::Skippable(cursor.position()));
            }
            return Err(at(offset, Fault::Skippable { len, left: left as u64 }));
        }
        if magic != MAGIC && offset > 0 {
            return Err(at(offset, Fault::TrailingBytes { count: rest.len() as u64 }));
        }
        Ok(Next::Frame)
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.pos = self.src.len();
        }
        read.transpose()
    }
}

impl core::iter::FusedIterator for Frames<'_> {}

/// What a walk over all frames finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// Frames that hold content.
    pub frames: u64,
    /// Skippable frames.
    pub skippable: u64,
    /// The size of all content, in bytes, when every frame declares its own.
    pub content_size: Option<u64>,
    /// The least that the blocks produce, in bytes.
    pub least: u64,
    /// The most that the blocks produce, in bytes.
    pub most: u64,
    /// The largest [effective window](Frame::effective_window), in bytes.
    pub window: u64,
    /// At least one frame has a checksum.
    pub checksum: bool,
}

/// Walks all frames in `src` by their block headers, without decoding. The work grows with the
/// number of blocks.
///
/// # Errors
/// Whatever the headers reveal: a fault of [`Header::parse`], a reserved block type, a block over
/// the maximum, a declared content size that the frame's blocks cannot produce, a truncated
/// frame, bytes after the last one. Offsets count from the start of `src`.
pub fn scan(src: &[u8]) -> Result<Scan, Error> {
    let mut scan = Scan {
        frames: 0,
        skippable: 0,
        content_size: Some(0),
        least: 0,
        most: 0,
        window: 0,
        checksum: false,
    };
    let mut frames = Frames::new(src);
    for frame in &mut frames {
        let frame = frame?;
        scan.frames += 1;
        // No sum overflows: a declared size was held against the blocks, as `least` and `most` are.
        scan.content_size = scan.content_size.zip(frame.header.content_size).map(|(a, b)| a + b);
        scan.least += frame.least;
        scan.most += frame.most;
        scan.window = scan.window.max(frame.effective_window());
        scan.checksum |= frame.header.checksum;
    }
    scan.skippable = frames.skippable();
    Ok(scan)
}

impl Scan {
    /// Holds the frames against the size that is expected of them.
    ///
    /// # Errors
    /// [`Fault::Empty`], [`Fault::ContentSize`] or [`Fault::CannotProduce`], at offset 0.
    pub fn expect(&self, expected: u64) -> Result<(), Error> {
        let fault = match self.content_size {
            _ if self.frames == 0 && expected > 0 => Fault::Empty,
            Some(declared) if declared != expected => Fault::ContentSize { declared, expected },
            _ if !(self.least..=self.most).contains(&expected) => {
                Fault::CannotProduce { least: self.least, most: self.most, expected }
            }
            _ => return Ok(()),
        };
        Err(at(0, fault))
    }
}

/// Everything that can be refused before memory is taken for a kernel: `original_size` is
/// within the limits, and the frames in `src` declare it and can produce it.
///
/// # Errors
/// [`ErrorKind::Limit`] ([`Cap::KernelBytes`], [`Cap::Expansion`]), and those of [`scan`] and
/// [`Scan::expect`].
pub fn precheck(src: &[u8], original_size: u64, limits: &Limits) -> Result<Scan, Error> {
    let over = |cap, value, limit| Err(Error::new(ErrorKind::Limit { cap, value, limit }, 0));
    if original_size > limits.kernel_bytes {
        return over(Cap::KernelBytes, original_size, limits.kernel_bytes);
    }
    let (stored, most) = (src.len() as u64, u64::from(limits.expansion));
    if stored > 0 && original_size > stored.saturating_mul(most) {
        return over(Cap::Expansion, original_size.div_ceil(stored), most);
    }
    let scan = scan(src)?;
    scan.expect(original_size)?;
    Ok(scan)
}

//! The ruzstd backend, held to everything that it leaves out.
//!
//! ruzstd decodes blocks correctly and does not compare checksums or content sizes, lets the
//! reserved bit pass, reserves the whole declared window when it is reused, and takes one frame
//! at a time. So each frame goes in by hand: [`Frames`] has found its extent and refused what
//! headers reveal; a header of our own, with the window that the frame can really use, stands
//! in for the frame's; blocks are decoded one by one and drained at once; size and checksum are
//! compared at the end.
//!
//! Known gap: of the four Huffman streams of a block ruzstd compares only the sum of their
//! lengths, so that a corrupt block may decode to shifted bytes. Frames with a checksum are safe
//! from that; kpack's own tools write none.

use core::fmt;

use ::ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ::ruzstd::io::Read as _;

use super::{Decompress, Fault, Frame, Frames, MAX_BLOCK, scan};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use crate::need::Storage;

/// Rings above this, in bytes, are given back after use.
const KEEP: u64 = 8 << 20;
/// Pieces are no longer than this, in bytes.
const PIECE: usize = 64 << 10;
/// Length of the header that stands in for a frame's own.
const HEADER: usize = 13;

/// The decompressor on top of the crate `ruzstd`. Keeps its allocations from call to call.
///
/// ```
/// use rocload_core::zstd::{Decompress, Ruzstd};
///
/// let frame = b"\x28\xb5\x2f\xfd\x20\x06\x31\0\0abcabc";
/// let mut whole = Vec::new();
/// Ruzstd::new().decode_pieces(frame, 6, &Default::default(), &mut [0u8; 4], &mut |piece| {
///     whole.extend_from_slice(piece);
/// })?;
/// assert_eq!(whole, b"abcabc");
/// # Ok::<(), rocload_core::Error>(())
/// ```
pub struct Ruzstd {
    decoder: FrameDecoder,
}

impl Ruzstd {
    /// A decompressor that has allocated nothing yet.
    pub fn new() -> Self {
        Self { decoder: FrameDecoder::new() }
    }

    /// Decodes all frames of `src`, which must hold `expected` bytes, through `out`.
    fn run(
        &mut self,
        src: &[u8],
        expected: u64,
        window_cap: u64,
        out: &mut impl Out,
    ) -> Result<(), Error> {
        // Before the first byte is written: whatever the headers of later frames reveal.
        scan(src)?.expect(expected)?;
        let window_cap = window_cap.min(isize::MAX as u64);
        let (mut left, mut largest) = (expected, 0);
        let mut result = Ok(());
        for frame in Frames::new(src) {
            result = frame.and_then(|frame| {
                let window = frame.effective_window().min(left);
                if window > window_cap {
                    let cap = Cap::WindowBytes;
                    let kind = ErrorKind::Limit { cap, value: window, limit: window_cap };
                    return Err(Error::new(kind, frame.offset));
                }
                largest = window.max(largest);
                left -= self.frame(&frame, left, out)?;
                Ok(())
            });
            if result.is_err() {
                break;
            }
        }
        if largest > KEEP {
            *self = Self::new();
        }
        result?;
        if left > 0 {
            let fault = Fault::Produced { produced: expected - left, expected };
            return Err(Error::new(ErrorKind::Zstd(fault), 0));
        }
        Ok(())
    }

    /// Decodes one frame, which may hold `left` bytes at most, and says how many it held.
    fn frame(&mut self, frame: &Frame<'_>, left: u64, out: &mut impl Out) -> Result<u64, Error> {
        let fault = |fault, offset| Error::new(ErrorKind::Zstd(fault), offset);
        let blocks_at = frame.offset + frame.header.len as u64;
        let expected = frame.header.content_size.unwrap_or(left);
        if expected > left {
            let declared = expected;
            return Err(fault(Fault::ContentSize { declared, expected: left }, frame.offset));
        }
        // A frame that holds more than is left is told so, instead of a block of it being too
        // large for the window.
        let window = frame.effective_window().min(left.max(u64::from(MAX_BLOCK)));

        self.decoder.set_max_window_size(window);
        self.decoder
            .reset(&mut &header(window, frame.header.checksum)[..])
            .map_err(|_| fault(Fault::Corrupt, frame.offset))?;

        // With the checksum that stands behind the blocks, if any.
        let mut input = &frame.bytes()[frame.header.len..];
        let mut produced = 0u64;
        loop {
            let one = BlockDecodingStrategy::UptoBlocks(1);
            let finished = self.decoder.decode_blocks(&mut input, one).map_err(|_| {
                let read = self.decoder.bytes_read_from_source().saturating_sub(HEADER as u64);
                fault(Fault::Corrupt, blocks_at + read)
            })?;
            while self.decoder.can_collect() > 0 {
                let ready = self.decoder.can_collect() as u64;
                if ready > expected - produced {
                    let produced = produced + ready;
                    return Err(fault(Fault::Produced { produced, expected }, frame.offset));
                }
                produced += self.drain(out, frame.offset)?;
            }
            if finished {
                break;
            }
        }
        if !input.is_empty() {
            // Its idea of where the frame ends is another than that of the block headers.
            return Err(fault(Fault::Corrupt, frame.offset + frame.bytes().len() as u64));
        }
        if frame.header.content_size.is_some_and(|declared| declared != produced) {
            return Err(fault(Fault::Produced { produced, expected }, frame.offset));
        }
        if let Some(stored) = frame.stored_checksum() {
            let computed = self.decoder.get_calculated_checksum().unwrap_or(!stored);
            if computed != stored {
                let at = frame.offset + frame.bytes().len() as u64 - 4;
                return Err(fault(Fault::Checksum { stored, computed }, at));
            }
        }
        Ok(produced)
    }

    /// Moves what the decoder no longer needs to `out`, as far as it goes at once.
    fn drain(&mut self, out: &mut impl Out, frame_at: u64) -> Result<u64, Error> {
        let read = match self.decoder.read(out.room()) {
            Ok(read) if read > 0 => read,
            // Neither happens while bytes are ready and there is room for one.
            _ => return Err(Error::new(ErrorKind::Zstd(Fault::Corrupt), frame_at)),
        };
        out.filled(read);
        Ok(read as u64)
    }
}

impl Default for Ruzstd {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Ruzstd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ruzstd").finish_non_exhaustive()
    }
}

/// A single-segment frame header (RFC 8878, 3.1.1.1) for a window of exactly `window` bytes:
/// what ruzstd reserves. Its content size field is ruzstd's window and nothing else.
fn header(window: u64, checksum: bool) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&0xFD2F_B528_u32.to_le_bytes());
    header[4] = 0b1110_0000 | if checksum { 0b100 } else { 0 };
    header[5..].copy_from_slice(&window.to_le_bytes());
    header
}

/// Where decoded bytes go.
trait Out {
    /// Room for the next bytes; never empty while bytes are expected.
    fn room(&mut self) -> &mut [u8];
    /// `n` bytes of that room were written.
    fn filled(&mut self, n: usize);
}

/// The caller's slice and how much of it is filled.
struct Whole<'a>(&'a mut [u8], usize);

impl Out for Whole<'_> {
    fn room(&mut self) -> &mut [u8] {
        &mut self.0[self.1..]
    }
    fn filled(&mut self, n: usize) {
        self.1 += n;
    }
}

/// A buffer that is shown to a sink each time.
struct Pieces<'a>(&'a mut [u8], &'a mut dyn FnMut(&[u8]));

impl Out for Pieces<'_> {
    fn room(&mut self) -> &mut [u8] {
        self.0
    }
    fn filled(&mut self, n: usize) {
        self.1(&self.0[..n]);
    }
}

impl Decompress for Ruzstd {
    fn name(&self) -> &'static str {
        "ruzstd"
    }

    fn decode(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(), Error> {
        let expected = dst.len() as u64;
        self.run(src, expected, u64::MAX, &mut Whole(dst, 0))
    }

    fn decode_pieces(
        &mut self,
        src: &[u8],
        expected: u64,
        limits: &Limits,
        window: &mut dyn Storage,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        if expected > 0 {
            let useful = usize::try_from(expected).unwrap_or(PIECE).min(PIECE);
            // Any length will do: only an empty one leaves no way out for the bytes.
            if !window.grow(useful) && window.slots().is_empty() {
                return Err(Error::new(ErrorKind::Full(Full { need: 1 }), 0));
            }
        }
        self.run(src, expected, limits.window_bytes, &mut Pieces(window.slots_mut(), sink))
    }
}

//! Bits of a stream that is read from its end to its front, and of one that is read forward.
//!
//! A backward stream is a slice and a count: how many bits, from the front of the slice, are
//! still unread. [`window`] shows the 57 or more bits below that mark, at the top of a `u64`, by
//! one load of the eight bytes that end there; where there are not so many, zeros stand below
//! the stream's first bit. The hot loops have their own copy of that load without the padding,
//! and come here for what is left near a stream's front.

use super::wrong;
use crate::error::ErrorKind;
use crate::zstd::Fault;

/// The bits of `stream` below bit `end`, at the top of the word: 57 or more of them are valid,
/// and zeros follow where the stream begins before that. `end` is at most `8 * stream.len()`.
#[inline]
pub(super) fn window(stream: &[u8], end: usize) -> u64 {
    let bytes = end.div_ceil(8);
    let word = match stream.get(bytes.wrapping_sub(8)..bytes) {
        Some(last) => word(last),
        None => {
            let there = stream.get(..bytes).unwrap_or(stream);
            there.iter().enumerate().fold(0, |word, (at, byte)| {
                word | u64::from(*byte) << ((8 * (8 - there.len() + at)) as u32 & 63)
            })
        }
    };
    word << ((bytes * 8 - end) as u32 & 63)
}

/// Eight bytes as a number.
#[inline]
pub(super) fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A backward stream, read with a check at every field.
pub(super) struct Backward<'a> {
    stream: &'a [u8],
    /// Bits of `stream` that are unread.
    end: usize,
    /// Bits of `stream` in front of the first that may be read.
    front: usize,
}

impl<'a> Backward<'a> {
    /// Starts at the highest set bit of the last byte, which is no data (RFC 8878, 4.1).
    pub(super) fn new(stream: &'a [u8]) -> Option<Self> {
        let end = start(stream)?;
        Some(Self { stream, end, front: 0 })
    }

    /// Goes on at bit `end` of `stream`, whose first `front` bits are not to be read.
    pub(super) fn at(stream: &'a [u8], end: usize, front: usize) -> Self {
        Self { stream, end, front }
    }

    /// Bits left; `None` when more than there were have been read.
    pub(super) fn left(&self) -> Option<usize> {
        self.end.checked_sub(self.front)
    }

    /// The next `n` bits, at most 32, if there are so many.
    pub(super) fn read(&mut self, n: u32) -> Option<u32> {
        if self.left()? < n as usize {
            return None;
        }
        let top = window(self.stream, self.end);
        self.end -= n as usize;
        // Two shifts, as one by 64 does not exist.
        Some((top >> 1 >> (63 - n)) as u32)
    }

    /// The next 57 or more bits, at the top of the word: see [`window`].
    #[inline]
    pub(super) fn top(&self) -> u64 {
        window(self.stream, self.end)
    }

    /// Passes over `n` bits, which must be there.
    #[inline]
    pub(super) fn skip(&mut self, n: u32) {
        self.end = self.end.saturating_sub(n as usize);
    }

    /// As [`read`](Self::read), for the streams of a block's sequences.
    pub(super) fn need(&mut self, n: u32) -> Result<u32, ErrorKind> {
        self.read(n).ok_or(wrong(Fault::SequenceBits))
    }

    /// Where it stands: bits of the slice that are unread.
    pub(super) fn end(&self) -> usize {
        self.end
    }
}

/// The number of data bits in a backward stream, if it is one.
pub(super) fn start(stream: &[u8]) -> Option<usize> {
    let last = *stream.last()?;
    Some((stream.len() - 1) * 8 + last.checked_ilog2()? as usize)
}

/// The bits of `src` from bit `at` on, lowest first: 57 or more are valid, zeros behind the end.
#[inline]
pub(super) fn forward(src: &[u8], at: usize) -> u64 {
    let rest = src.get(at / 8..).unwrap_or(&[]);
    let word = match rest.first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    word >> (at % 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backward_reads_cross_bytes_and_stop_at_the_front() {
        let stream = [0b1010_0101, 0b1100_0011, 0b0000_1110];
        let mut bits = Backward::new(&stream).unwrap();
        assert_eq!(bits.left(), Some(19));
        assert_eq!(bits.read(0), Some(0));
        assert_eq!(bits.read(4), Some(0b1101));
        assert_eq!(bits.read(9), Some(0b1_0000_1110));
        assert_eq!(bits.read(7), None, "six are left");
        assert_eq!(bits.read(6), Some(0b10_0101));
        assert_eq!((bits.left(), bits.read(1)), (Some(0), None));
    }

    #[test]
    fn windows_of_every_length_agree() {
        let stream: [u8; 12] = core::array::from_fn(|at| (at as u8).wrapping_mul(0x9d) ^ 0x5a);
        for end in 1..=stream.len() * 8 {
            let top = window(&stream, end);
            for back in 1..=57 {
                let bit = end.checked_sub(back).map_or(0, |bit| stream[bit / 8] >> (bit % 8) & 1);
                assert_eq!((top << (back - 1) >> 63) as u8, bit, "bit {back} below {end}");
            }
        }
    }

    #[test]
    fn a_stream_needs_its_end_mark() {
        assert_eq!(start(&[]), None);
        assert_eq!(start(&[1, 0]), None);
        assert_eq!(start(&[1]), Some(0));
        assert_eq!(start(&[0, 0x80]), Some(15));
    }

    #[test]
    fn forward_reads_end_in_zeros() {
        assert_eq!(forward(&[0xf0, 0x0f], 4), 0xff);
        assert_eq!(forward(&[0xff], 800), 0);
        assert_eq!(forward(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 8), 0x0908_0706_0504_0302);
    }
}

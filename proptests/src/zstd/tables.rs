//! Tables that the C library takes and the specification does not.
//!
//! Near the end of its input the C library's reader of table descriptions keeps its place in a
//! word modulo 32 bits, so a description that goes on behind the block is read from the block's
//! last bytes once more, and may come to an end. RFC 8878, 4.1.1, has no such bytes. And it has room
//! for Huffman codes of 12 bits, of which RFC 8878, 4.2.1, has 11 at most.
//!
//! Whether a block is of such a kind is found here by readers of their own, whatever the decoder says.
//! Huffman weights that are compressed themselves are not looked into.

use rocload_core::zstd::Fault;
use rocload_core::{Error, ErrorKind};

/// `error` is that of a table which the C library may take: one whose description runs out of its
/// block, or a Huffman table of 12 bits.
pub(crate) fn taken_by_c(src: &[u8], error: &Error) -> bool {
    let Ok(at) = usize::try_from(error.offset) else { return false };
    match error.kind {
        ErrorKind::Zstd(Fault::FseTable) => runs_out(src, at) == Some(true),
        ErrorKind::Zstd(Fault::HuffmanTable) => depth(src, at) == Some(12),
        _ => false,
    }
}

/// The content of the compressed block whose header is at `at`; `None` where there is none.
fn compressed(src: &[u8], at: usize) -> Option<&[u8]> {
    let header = little(src.get(at..at + 3)?);
    let block = src.get(at + 3..)?.get(..(header >> 3) as usize)?;
    (header >> 1 & 3 == 2).then_some(block)
}

/// The longest code of the block's Huffman table, in bits, where its weights stand for themselves
/// (RFC 8878, 4.2.1.1).
fn depth(src: &[u8], at: usize) -> Option<u32> {
    let block = compressed(src, at)?;
    let (header, _) = literals(block).filter(|_| block[0] & 3 == 2)?;
    let count = usize::from(*block.get(header)?).checked_sub(127).filter(|count| *count > 0)?;
    let weights = block.get(header + 1..header + 1 + count.div_ceil(2))?;
    let weight = |i: usize| weights[i / 2] >> (4 * (1 - i % 2)) & 15;
    let total: u32 = (0..count).map(|i| (1 << weight(i)) >> 1).sum();
    // The last weight, which is not told, fills up to a power of two.
    total.checked_ilog2().map(|log| log + 1)
}

/// Whether a table of sequences of the block is described beyond the block's end.
fn runs_out(src: &[u8], at: usize) -> Option<bool> {
    let block = compressed(src, at)?;
    let (header, size) = literals(block)?;
    let sequences = block.get(header + size..)?;
    let count = match *sequences.first()? {
        0..=127 => 1,
        128..=254 => 2,
        255 => 3,
    };
    let modes = *sequences.get(count)?;
    let mut rest = &sequences[count + 1..];
    // Literal lengths, offsets, match lengths: where the mode is, and how many symbols there are.
    for (shift, symbols) in [(6, 36), (4, 32), (2, 53)] {
        let len = match modes >> shift & 3 {
            1 => 1,
            2 => description(rest, symbols).div_ceil(8),
            _ => 0,
        };
        let Some(behind) = rest.get(len..) else { return Some(true) };
        rest = behind;
    }
    Some(false)
}

/// The lengths of the literals section's header and of what follows that (RFC 8878, 3.1.1.3.1).
fn literals(block: &[u8]) -> Option<(usize, usize)> {
    let first = *block.first()?;
    let (kind, format) = (first & 3, first >> 2 & 3);
    let (header, size) = match (kind, format) {
        (0 | 1, 0 | 2) => (1, u64::from(first >> 3)),
        (0 | 1, 1) => (2, little(block.get(..2)?) >> 4),
        (0 | 1, _) => (3, little(block.get(..3)?) >> 4),
        (_, 0 | 1) => (3, little(block.get(..3)?) >> 14 & 0x3ff),
        (_, 2) => (4, little(block.get(..4)?) >> 18 & 0x3fff),
        (..) => (5, little(block.get(..5)?) >> 22 & 0x3_ffff),
    };
    Some((header, if kind == 1 { 1 } else { size as usize }))
}

/// How many bits a description takes (RFC 8878, 4.1.1), as far as it is in `src` and a little
/// further: zeros follow.
fn description(src: &[u8], symbols: usize) -> usize {
    let bits = |at: usize, n: usize| {
        let bit = |i: usize| src.get(i / 8).map_or(0, |byte| i32::from(byte >> (i % 8) & 1));
        (0..n).map(|i| bit(at + i) << i).sum::<i32>()
    };
    let mut left: i32 = (1 << (bits(0, 4) + 5)) + 1;
    let (mut at, mut read) = (4, 0);
    while left > 1 && read < symbols && at <= 8 * src.len() {
        let wide = left.ilog2() as usize + 1;
        let spare = (1 << wide) - 1 - left;
        let mut value = bits(at, wide - 1);
        if value < spare {
            at += wide - 1;
        } else {
            value = bits(at, wide);
            if value >= 1 << (wide - 1) {
                value -= spare;
            }
            at += wide;
        }
        left -= (value - 1).abs();
        read += 1;
        let mut more = value == 1;
        while more && at <= 8 * src.len() {
            let zeros = bits(at, 2);
            at += 2;
            read += zeros as usize;
            more = zeros == 3;
        }
    }
    at
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zstd::{Decoders, frames};

    /// A frame whose second table is described in ten bytes and would need eighteen; what fuzzing
    /// found.
    const RUNS_OUT: &[u8] = b"\x28\xb5\x2f\xfd\x40\x30\x73\x00\xa4\x00\x00\x32\x00\x01\x82\x10\x00\x0f\x01\x48\
        \x03\xb2\x08\x1a\x82\x90\xe0\x25\x0f\x00\x10\x14\x00\x00\x00\x00\x88\x00\x00\xff\xff\xff\x60\xff\xff\
        \xff\xff\xff\xff\xff\xff\xff\xff\xbd\x9d\x9d\xe3\x0a\x00\x65";

    #[test]
    fn a_description_that_runs_out_of_its_block_is_told_from_others() {
        assert_eq!(description(&RUNS_OUT[21..31], 53), 83);
        assert_eq!(runs_out(RUNS_OUT, 8), Some(true));
        // The block behind it has no sequences.
        assert_eq!(runs_out(RUNS_OUT, 31), None);

        // 32 states for one symbol: four bits of the accuracy, and six of the count.
        let whole = [0xf0, 0x03, 0];
        assert_eq!(description(&whole, 53), 10);
        assert_eq!(description(&whole[..1], 53), 9);
    }

    /// A frame with a Huffman table of 12 bits; what fuzzing found.
    const TOO_DEEP: &[u8] = b"\x28\xb5\x2f\xfd\x60\xe0\x0c\x00\x00\x00\x54\x02\x00\xfa\x01\x14\x01\xb8\xa0\x0a\x00\x90\x04\x00\
        \x40\x05\x00\x60\x01\x00\x10\x02\x00\x30\x03\x00\x30\x05\x00\x60\xbb\x00\x90\x07\x00\x70\x00\x09\
        \x00\x08\x00\x09\x00\x03\x06\x0c\x18\x18\x18\x18\x18\x08\x33\x60\xc0\x00\x07\x08\x0c\x08\x03\x03\
        \x03\x03\x03\x00\x98\x01\x01\x0e\x10\x18\x30\x60\xc0\x80\x00\x0b\x6e\x00\xcd";

    #[test]
    fn a_code_of_twelve_bits_is_told_from_others() {
        assert_eq!(depth(TOO_DEEP, 10), Some(12));
        // Without the two weights of 11.
        let mut sound = TOO_DEEP.to_vec();
        sound[40] = 0;
        assert_eq!(depth(&sound, 10), Some(11));
        assert_eq!(depth(TOO_DEEP, 7), None);
    }

    #[test]
    fn the_c_library_takes_them_and_that_is_excused() {
        let mut decoders = Decoders::new();
        for (frame, size) in [(RUNS_OUT, 371), (TOO_DEEP, 3552)] {
            assert!(frames(&mut decoders, frame, size).is_ok());
            let mut dst = vec![0; size];
            assert_eq!(zstd::bulk::decompress_to_buffer(frame, &mut dst).ok(), Some(size));
        }
    }
}

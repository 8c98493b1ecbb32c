//! Huffman tables: their description in the stream, and the table made from it.
//!
//! The table always has 2^11 places, whatever the longest code in it: the shift that makes an
//! index out of the bits is a constant, and eleven bits of a `u64` need no bounds check in an
//! array of 2,048. A shorter code fills more places. Left to right the places belong to the
//! longest codes first, which have the smallest numbers, and among equals to the lower symbol.
//!
//! Sources: RFC 8878, 4.2.1.

use super::bits::Backward;
use super::fse::{self, Scratch};
use super::tables::{Entry, LENGTH_SHIFT, small};
use super::wrong;
use crate::WIDE;
use crate::error::ErrorKind;
use crate::zstd::Fault;

/// Longest code in bits (RFC 8878, 4.2.1).
pub(super) const MAX_BITS: u32 = 11;

/// By the next eleven bits: the symbol in the high byte, its code's length in the low one.
pub(super) type Table = [u16; 1 << MAX_BITS];

/// Most states of the table for FSE-compressed weights.
const MAX_WEIGHT_LOG: u32 = 6;

const BAD: ErrorKind = wrong(Fault::HuffmanTable);

/// Reads the description at the front of `src`, makes `table`, and says how long it was.
pub(super) fn read(
    src: &[u8],
    table: &mut Table,
    scratch: &mut Scratch,
) -> Result<usize, ErrorKind> {
    let mut weights = [0u8; 256];
    let (&head, rest) = src.split_first().ok_or(BAD)?;
    let (len, symbols) = if head < 128 {
        let stored = rest.get(..usize::from(head)).ok_or(BAD)?;
        (stored.len(), compressed_weights(stored, &mut weights, scratch).ok_or(BAD)?)
    } else {
        let symbols = usize::from(head) - 127;
        let stored = rest.get(..symbols.div_ceil(2)).ok_or(BAD)?;
        for (pair, byte) in weights.chunks_exact_mut(2).zip(stored) {
            pair.copy_from_slice(&[byte >> 4, byte & 15]);
        }
        // An odd number leaves a nibble behind that means nothing.
        weights[symbols] = 0;
        (stored.len(), symbols)
    };
    fill(table, &mut weights, symbols).ok_or(BAD)?;
    Ok(1 + len)
}

/// Two interleaved FSE states yield the weights in turn, until the bits are used up
/// (RFC 8878, 4.2.1.2).
fn compressed_weights(src: &[u8], weights: &mut [u8; 256], scratch: &mut Scratch) -> Option<usize> {
    let description = fse::describe(src, MAX_WEIGHT_LOG, 256, &mut scratch.counts)?;
    let log = description.log;
    let table = small(log, &scratch.counts[..description.symbols]);
    let mut bits = Backward::new(&src[description.len..])?;
    let mut at = bits.read(log)?;
    let mut other = bits.read(log)?;
    let mut ready = 0;
    // Where the eight fields of the next eight weights are there for sure, one load shows them all.
    while WIDE && ready < 240 && bits.left()? >= 8 * MAX_WEIGHT_LOG as usize {
        let used = eight(bits.top(), [&mut at, &mut other], &table, &mut weights[ready..]);
        bits.skip(used);
        ready += 8;
    }
    // 255 at most: the last symbol's weight is not stored.
    for symbols in ready..254 {
        let entry = table[at as usize & 63];
        weights[symbols] = u8::try_from(entry >> LENGTH_SHIFT).unwrap_or(u8::MAX);
        let next = (entry >> 24) as u16;
        match bits.read(u32::from((entry >> 16) as u8)) {
            Some(bits) => at = core::mem::replace(&mut other, u32::from(next) + bits),
            None => {
                // The bits are over: the other state's symbol is the last.
                let entry = table[other as usize & 63];
                weights[symbols + 1] = u8::try_from(entry >> LENGTH_SHIFT).unwrap_or(u8::MAX);
                return Some(symbols + 2);
            }
        }
    }
    None
}

/// Writes eight weights from the bits in `top`, and moves both states; returns the bits used.
#[inline(always)]
fn eight(mut top: u64, states: [&mut u32; 2], table: &[Entry; 64], weights: &mut [u8]) -> u32 {
    let [at, other] = states;
    let mut used = 0;
    for pair in weights.chunks_exact_mut(2).take(4) {
        for (weight, state) in pair.iter_mut().zip([&mut *at, &mut *other]) {
            let entry = table[*state as usize & 63];
            let bits = u32::from((entry >> 16) as u8) & 63;
            *weight = (entry >> LENGTH_SHIFT) as u8;
            // Two shifts, as one by 64 does not exist.
            *state = u32::from((entry >> 24) as u16) + (top >> 1 >> (63 - bits)) as u32;
            top <<= bits;
            used += bits;
        }
    }
    used
}

/// Parts of the symbols that are counted and sorted side by side: symbols of one weight stand
/// together, and in a single row each would wait for the one before to be counted.
const LANES: usize = if WIDE { 4 } else { 1 };

/// By lane and weight.
type Ranks = [[u32; 16]; LANES];

/// Counts the first weights of all lanes, then the second ones, and so on; each lane is `len` long.
/// With the weight, which is 15 at most, `count` is told the symbol.
#[inline(always)]
fn in_lanes(
    weights: &[u8; 256],
    len: usize,
    ranks: &mut Ranks,
    mut count: impl FnMut(&mut u32, usize),
) {
    for at in 0..len {
        for (lane, ranks) in ranks.iter_mut().enumerate() {
            let symbol = (lane * len + at) & 255;
            count(&mut ranks[usize::from(weights[symbol].min(15))], symbol);
        }
    }
}

/// Makes the table for `symbols` weights and the last one, which follows from them. Behind them,
/// `weights` holds zeros.
fn fill(table: &mut Table, weights: &mut [u8; 256], symbols: usize) -> Option<()> {
    let len = (symbols + LANES) / LANES;
    let mut ranks = [[0; 16]; LANES];
    in_lanes(weights, len, &mut ranks, |rank, _| *rank += 1);
    // Anything above 11 is wrong, and is caught by the total.
    let sum = |weight: usize| ranks.iter().map(|ranks| ranks[weight]).sum::<u32>();
    let total: u32 = (1..16).map(|weight| sum(weight) << (weight - 1)).sum();
    let log = total.checked_ilog2()? + 1;
    let rest = (1u32 << log) - total;
    if log > MAX_BITS || !rest.is_power_of_two() {
        return None;
    }
    let last = rest.ilog2() + 1;
    *weights.get_mut(symbols)? = last as u8;
    // It was counted as a zero.
    let ranks_of_last = &mut ranks[symbols / len % LANES];
    ranks_of_last[0] -= 1;
    ranks_of_last[last as usize & 15] += 1;
    // The longest codes come in pairs; without any, the lengths are all one too long.
    let longest: u32 = ranks.iter().map(|ranks| ranks[1]).sum();
    if longest < 2 || !longest.is_multiple_of(2) {
        return None;
    }

    // Symbols by their weights, in their order, those without a code behind the others: then one
    // loop for each weight writes runs of one length.
    let mut sorted = [0u8; 256];
    let (mut ends, mut end) = ([[0; 16]; LANES], 0);
    for weight in 1..=16 {
        for (ends, ranks) in ends.iter_mut().zip(&ranks) {
            ends[weight & 15] = end;
            end += ranks[weight & 15];
        }
    }
    in_lanes(weights, len, &mut ends, |end, symbol| {
        sorted[*end as usize & 255] = symbol as u8;
        *end += 1;
    });
    let (mut symbols, mut places) = (&sorted[..], &mut table[..]);
    for weight in 1..=log {
        let of = |ranks: &[u32; 16]| ranks[weight as usize & 15] as usize;
        let count = ranks.iter().map(of).sum();
        let bits = (log + 1 - weight) as u16;
        let run = 1usize << (MAX_BITS - u32::from(bits));
        let (of_weight, rest) = symbols.split_at_checked(count)?;
        let (filled, free) = places.split_at_mut_checked(count * run)?;
        match run {
            1 if WIDE => runs::<1>(filled, of_weight, bits),
            2 if WIDE => runs::<2>(filled, of_weight, bits),
            4 if WIDE => runs::<4>(filled, of_weight, bits),
            8 if WIDE => runs::<8>(filled, of_weight, bits),
            16 if WIDE => runs::<16>(filled, of_weight, bits),
            _ => {
                for (places, &symbol) in filled.chunks_exact_mut(run).zip(of_weight) {
                    places.fill(u16::from(symbol) << 8 | bits);
                }
            }
        }
        (symbols, places) = (rest, free);
    }
    Some(())
}

/// Fills `RUN` places for each symbol.
fn runs<const RUN: usize>(places: &mut [u16], symbols: &[u8], bits: u16) {
    for (places, &symbol) in places.chunks_exact_mut(RUN).zip(symbols) {
        places.fill(u16::from(symbol) << 8 | bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(weights: &[u8]) -> Result<(usize, alloc::boxed::Box<Table>), ErrorKind> {
        let mut src = alloc::vec![127 + weights.len() as u8];
        src.extend(weights.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)));
        let mut table = alloc::boxed::Box::new([0; 2048]);
        read(&src, &mut table, &mut Scratch::new()).map(|len| (len, table))
    }

    /// The example of RFC 8878, 4.2.1.3: weights 4 3 2 0 1 and an implied 1.
    #[test]
    fn the_example_of_the_specification() {
        let (len, table) = direct(&[4, 3, 2, 0, 1]).unwrap();
        assert_eq!(len, 4);
        let entry = |code: usize, bits: u32| table[code << (MAX_BITS - bits)];
        assert_eq!(entry(0b0000, 4), 4 << 8 | 4);
        assert_eq!(entry(0b0001, 4), 5 << 8 | 4);
        assert_eq!(entry(0b001, 3), 2 << 8 | 3);
        assert_eq!(entry(0b01, 2), 1 << 8 | 2);
        assert_eq!(entry(0b1, 1), 1);
        assert_eq!(table[2047], 1);
    }

    #[test]
    fn lengths_that_do_not_add_up() {
        assert_eq!(direct(&[0]).unwrap_err(), BAD, "no symbol");
        assert_eq!(direct(&[2]).unwrap_err(), BAD, "two codes of one bit, called two long");
        assert_eq!(direct(&[4, 1]).unwrap_err(), BAD, "the rest is no power of two");
        assert_eq!(direct(&[12, 1]).unwrap_err(), BAD, "a code of 12 bits");
        assert_eq!(direct(&[15; 128]).unwrap_err(), BAD);
        assert!(direct(&[1]).is_ok());
        let mut table = [0; 2048];
        for short in [&[][..], &[130], &[130, 0x11], &[5, 0, 0], &[0]] {
            assert_eq!(read(short, &mut table, &mut Scratch::new()), Err(BAD), "{short:?}");
        }
    }
}

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
use super::tables::{LENGTH_SHIFT, small};
use super::wrong;
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
    // 255 at most: the last symbol's weight is not stored.
    for symbols in 0..254 {
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

/// Makes the table for `symbols` weights and the last one, which follows from them.
fn fill(table: &mut Table, weights: &mut [u8; 256], symbols: usize) -> Option<()> {
    let mut ranks = [0u32; 16];
    let mut total = 0u32;
    for &weight in &weights[..symbols] {
        // Anything above 11 is wrong, and is caught by the total.
        let weight = usize::from(weight.min(15));
        ranks[weight] += 1;
        total += (1 << weight) >> 1;
    }
    let log = total.checked_ilog2()? + 1;
    let rest = (1u32 << log) - total;
    if log > MAX_BITS || !rest.is_power_of_two() {
        return None;
    }
    let last = rest.ilog2() + 1;
    weights[symbols] = last as u8;
    ranks[last as usize & 15] += 1;
    // The longest codes come in pairs; without any, the lengths are all one too long.
    if ranks[1] < 2 || ranks[1] % 2 != 0 {
        return None;
    }

    // Where each weight's places begin, and how many each of its symbols fills.
    let mut places = [0usize; 16];
    let mut place = 0;
    for weight in 1..=log as usize {
        places[weight] = place;
        place += (ranks[weight] << (weight as u32 - 1 + MAX_BITS - log)) as usize;
    }
    for (symbol, &weight) in weights[..=symbols].iter().enumerate() {
        let weight = usize::from(weight & 15);
        if weight == 0 {
            continue;
        }
        let bits = log + 1 - weight as u32;
        let run = 1usize << (MAX_BITS - bits);
        let place = &mut places[weight];
        table.get_mut(*place..*place + run)?.fill((symbol as u16) << 8 | bits as u16);
        *place += run;
    }
    Some(())
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

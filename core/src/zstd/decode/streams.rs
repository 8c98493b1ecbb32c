//! Huffman-coded literals: one stream, or four that are decoded side by side.
//!
//! A decoded symbol tells how long its code was and so where the next one begins: a chain of a
//! load and a shift for each. Four streams are four such chains, and the processor works on all
//! of them at once. Each has its bits at the top of a `u64` whose lowest bit was set when it was
//! filled; shifted along with the rest, that bit counts what was taken, as the number of zeros
//! below it. Five symbols take 55 bits at most and leave it in place even where seven bits were
//! gone before, so one refill in five is enough and no count is kept.
//!
//! Both facts break easily: a sixth symbol a round, or a table of 12 bits, and the mark falls out.
//!
//! The end is strict. RFC 8878, 4.2.2, wants every stream used up to the bit, each by its own
//! quarter of the literals; the C library's fast path looks at the number of symbols alone, so
//! it takes some broken blocks that are refused here, as [`Fault::HuffmanNotConsumed`].

use super::bits::{start, window, word};
use super::huffman::{MAX_BITS, Table};
use super::wrong;
use crate::WIDE;
use crate::error::ErrorKind;
use crate::zstd::Fault;

/// Symbols between two refills.
const ROUND: usize = 5;
/// A stream this long, in bytes, can be refilled whatever was taken out of its last eight.
const ENOUGH: usize = 16;

/// A stream with bits in hand.
#[derive(Clone, Copy)]
struct Stream<'a> {
    /// What is unread; the last eight bytes are in `bits`.
    rest: &'a [u8],
    /// Unread bits from the top, and the mark below them.
    bits: u64,
}

impl<'a> Stream<'a> {
    /// For a stream of at least 8 bytes.
    fn new(src: &'a [u8]) -> Option<Self> {
        let taken = 8 * src.len() - start(src)?;
        let last = word(src.last_chunk::<8>()?);
        Some(Self { rest: src, bits: (last | 1) << (taken as u32 & 63) })
    }

    #[inline(always)]
    fn symbol(&mut self, table: &Table) -> u8 {
        let entry = table[(self.bits >> (64 - MAX_BITS)) as usize];
        self.bits = self.bits.wrapping_shl(u32::from(entry));
        (entry >> 8) as u8
    }

    /// After it `rest` has eight bytes at least, if it had [`ENOUGH`] before.
    #[inline(always)]
    fn refill(&mut self) {
        let taken = self.bits.trailing_zeros();
        let bytes = (taken >> 3 & 7) as usize;
        self.rest = &self.rest[..self.rest.len().wrapping_sub(bytes)];
        let last = self.rest.last_chunk::<8>().map_or(0, |last| u64::from_le_bytes(*last));
        self.bits = (last | 1) << (taken & 7);
    }

    /// Bits of `rest` that are unread.
    fn end(&self) -> usize {
        8 * self.rest.len() - self.bits.trailing_zeros() as usize
    }
}

/// Decodes the last symbols of a stream, of which `end` bits are left, and checks that both end
/// together.
fn finish(table: &Table, stream: &[u8], mut end: usize, out: &mut [u8]) -> Result<(), ErrorKind> {
    for round in out.chunks_mut(ROUND) {
        let mut bits = window(stream, end);
        for symbol in round {
            let entry = table[(bits >> (64 - MAX_BITS)) as usize];
            bits = bits.wrapping_shl(u32::from(entry));
            *symbol = (entry >> 8) as u8;
            end = end
                .checked_sub(usize::from(entry & 0xff))
                .ok_or(wrong(Fault::HuffmanNotConsumed))?;
        }
    }
    if end == 0 { Ok(()) } else { Err(wrong(Fault::HuffmanNotConsumed)) }
}

/// Decodes one stream that fills `out`.
pub(super) fn one(table: &Table, src: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    let end = start(src).ok_or(wrong(Fault::HuffmanNotConsumed))?;
    let Some(mut stream) = Stream::new(src) else { return finish(table, src, end, out) };
    let mut done = 0;
    for round in out.chunks_exact_mut(ROUND) {
        if stream.rest.len() < ENOUGH {
            break;
        }
        for symbol in round {
            *symbol = stream.symbol(table);
        }
        stream.refill();
        done += ROUND;
    }
    finish(table, stream.rest, stream.end(), &mut out[done..])
}

/// Decodes four streams behind their table of lengths, each for a quarter of `out`
/// (RFC 8878, 3.1.1.3.1.6).
pub(super) fn four(table: &Table, src: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    const CORRUPT: ErrorKind = wrong(Fault::Corrupt);
    let (lengths, src) = src.split_first_chunk::<6>().ok_or(CORRUPT)?;
    let length = |at: usize| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
    let (a, src) = src.split_at_checked(length(0)).ok_or(CORRUPT)?;
    let (b, src) = src.split_at_checked(length(2)).ok_or(CORRUPT)?;
    let (c, d) = src.split_at_checked(length(4)).ok_or(CORRUPT)?;
    // The first three quarters are rounded up and the last is what is left: for fewer symbols
    // than six that does not work out, and the C library refuses them all.
    if out.len() < 6 {
        return Err(CORRUPT);
    }
    let quarter = out.len().div_ceil(4);
    let (out_a, out) = out.split_at_mut_checked(quarter).ok_or(CORRUPT)?;
    let (out_b, out) = out.split_at_mut_checked(quarter).ok_or(CORRUPT)?;
    let (out_c, out_d) = out.split_at_mut_checked(quarter).ok_or(CORRUPT)?;

    let streams = [a, b, c, d];
    let parts = [out_a, out_b, out_c, out_d];
    if WIDE { side_by_side(table, streams, parts) } else { in_turn(table, streams, parts) }
}

/// The four streams one after another.
fn in_turn(table: &Table, streams: [&[u8]; 4], parts: [&mut [u8]; 4]) -> Result<(), ErrorKind> {
    streams.into_iter().zip(parts).try_for_each(|(stream, out)| one(table, stream, out))
}

/// The four streams at once, until the first of them is nearly used up.
fn side_by_side(
    table: &Table,
    [a, b, c, d]: [&[u8]; 4],
    [out_a, out_b, out_c, out_d]: [&mut [u8]; 4],
) -> Result<(), ErrorKind> {
    let long = (Stream::new(a), Stream::new(b), Stream::new(c), Stream::new(d));
    let (Some(mut a), Some(mut b), Some(mut c), Some(mut d)) = long else {
        return in_turn(table, [a, b, c, d], [out_a, out_b, out_c, out_d]);
    };
    let mut done = 0;
    let rounds = out_a
        .chunks_exact_mut(ROUND)
        .zip(out_b.chunks_exact_mut(ROUND))
        .zip(out_c.chunks_exact_mut(ROUND))
        .zip(out_d.chunks_exact_mut(ROUND));
    for (((out_a, out_b), out_c), out_d) in rounds {
        let shortest = a.rest.len().min(b.rest.len()).min(c.rest.len()).min(d.rest.len());
        if shortest < ENOUGH {
            break;
        }
        for at in 0..ROUND {
            out_a[at] = a.symbol(table);
            out_b[at] = b.symbol(table);
            out_c[at] = c.symbol(table);
            out_d[at] = d.symbol(table);
        }
        a.refill();
        b.refill();
        c.refill();
        d.refill();
        done += ROUND;
    }
    finish(table, a.rest, a.end(), &mut out_a[done..])?;
    finish(table, b.rest, b.end(), &mut out_b[done..])?;
    finish(table, c.rest, c.end(), &mut out_c[done..])?;
    finish(table, d.rest, d.end(), &mut out_d[done..])
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::zstd::decode::fse::Scratch;
    use crate::zstd::decode::huffman;

    const NOT_CONSUMED: ErrorKind = wrong(Fault::HuffmanNotConsumed);

    /// A table with codes of 1 to 11 bits for the symbols 0 to 11.
    fn table() -> Table {
        let src = [127 + 11, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10];
        let mut table = [0; 2048];
        huffman::read(&src, &mut table, &mut Scratch::new()).unwrap();
        table
    }

    /// The stream that these symbols make.
    fn encode(table: &Table, symbols: &[u8]) -> Vec<u8> {
        let mut bits = Vec::new();
        for &symbol in symbols.iter().rev() {
            let place = table.iter().position(|entry| entry >> 8 == u16::from(symbol)).unwrap();
            let len = table[place] & 0xff;
            bits.extend((0..len).map(|bit| place >> (11 - len + bit) & 1 == 1));
        }
        bits.push(true);
        let byte =
            |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
        bits.chunks(8).map(byte).collect()
    }

    fn symbols(len: usize, seed: usize) -> Vec<u8> {
        let mixed = |at: usize| (at * 7 + seed * 13 + at * at / 5) % 97;
        (0..len)
            .map(|at| mixed(at).trailing_zeros().min(11) as u8 + (mixed(at) % 3) as u8)
            .collect()
    }

    type Decode = fn(&Table, [&[u8]; 4], [&mut [u8]; 4]) -> Result<(), ErrorKind>;

    #[test]
    fn streams_of_every_length_side_by_side_and_in_turn() {
        let table = table();
        for len in (0..200).chain([1000, 5000]) {
            // The last is shorter, and the others are of uneven length in bits.
            let parts: [Vec<u8>; 4] =
                core::array::from_fn(|at| symbols(len - if at == 3 { len / 7 } else { 0 }, at));
            let parts = parts.map(|part| part.iter().map(|symbol| symbol % 12).collect::<Vec<_>>());
            let streams = [0, 1, 2, 3].map(|at| encode(&table, &parts[at]));
            for decode in [side_by_side as Decode, in_turn] {
                let run = |streams: &[Vec<u8>; 4]| {
                    let mut out = [0, 1, 2, 3].map(|at| vec![0xee; parts[at].len()]);
                    let [a, b, c, d] = &mut out;
                    let result =
                        decode(&table, [0, 1, 2, 3].map(|at| &streams[at][..]), [a, b, c, d]);
                    result.map(|()| out)
                };
                assert!(run(&streams).as_ref() == Ok(&parts), "{len}");
                for at in 0..4 {
                    // A symbol too many, and one too few.
                    let mut other = streams.clone();
                    other[at] = encode(&table, &[&parts[at][..], &[1]].concat());
                    assert_eq!(run(&other), Err(NOT_CONSUMED), "{len}");
                    if let Some((_, fewer)) = parts[at].split_last() {
                        other[at] = encode(&table, fewer);
                        assert_eq!(run(&other), Err(NOT_CONSUMED), "{len}");
                    }
                    other[at] = vec![];
                    assert_eq!(run(&other), Err(NOT_CONSUMED), "{len}");
                    other[at] = [&streams[at][..], &[0]].concat();
                    assert_eq!(run(&other), Err(NOT_CONSUMED), "{len}");
                }
            }
        }
    }
}

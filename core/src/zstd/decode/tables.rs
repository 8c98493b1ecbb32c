//! What the format fixes: the meaning of the sequence codes, and the predefined tables.
//!
//! A state of an FSE table is one `u64`, an [`Entry`]. Whatever a state says (the value of its
//! code, how many bits refine it, how many bits lead to the next state and where that lies) is
//! fetched by one load and is in a register one sequence before it is used.
//!
//! ```text
//! bits      0..8          8..16                16..24       24..40 (offsets: 24..32)   the rest
//!       extra bits   extra + state bits      state bits     next state, less its bits   value
//! ```
//!
//! The order is not free. The sum of the three entries of a sequence has in its second byte the
//! bits that the whole sequence takes (89 at most, so nothing carries over into it): one addition
//! and one comparison tell whether one refill is enough. The counts are whole bytes, so that
//! zero-extending moves extract them and [`MASK`] needs no bounds check.
//!
//! Every table here is computed at compile time from the counts of RFC 8878, 3.1.1.3.2.2; where memory
//! for code is short, the same functions make it when it is needed.

use crate::WIDE;

/// One state of an FSE table.
pub(super) type Entry = u64;

/// A number whose low `n` bits are set, for `n` up to 31.
#[inline(always)]
pub(super) fn mask(n: u8) -> u32 {
    if WIDE { MASK[usize::from(n)] } else { (1u32 << (n & 31)) - 1 }
}

/// Masks by their number of bits. All 256 places exist, so that a byte indexes it unchecked: on
/// baseline x86-64 this load costs less than making the mask.
static MASK: [u32; 256] = {
    let mut mask = [0; 256];
    let mut n = 0;
    while n < 32 {
        mask[n] = (1 << n) - 1;
        n += 1;
    }
    mask
};

/// Where an entry's value begins: 17 bits are enough for lengths.
pub(super) const LENGTH_SHIFT: u32 = 40;
/// Where an entry's value begins: offsets need 32 bits, and their states 8.
pub(super) const OFFSET_SHIFT: u32 = 32;

/// Extra bits of each literal length code (RFC 8878, 3.1.1.3.2.1.1).
static LITERAL_BITS: [u8; 36] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11,
    12, 13, 14, 15, 16,
];
/// Extra bits of each match length code (RFC 8878, 3.1.1.3.2.1.1).
static MATCH_BITS: [u8; 53] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
];

/// An entry without its state: `extra` bits refine a `value` that stands at bit `shift`.
const fn template(value: u32, extra: u8, shift: u32) -> Entry {
    (value as u64) << shift | (extra as u64) << 8 | extra as u64
}

/// What is added to a template for a state that `bits` bits lead away from, to `next` and up.
pub(super) const fn state(bits: u32, next: u32) -> Entry {
    ((next as u64) << 24) | (bits as u64 * 0x01_0100)
}

/// What the states of a table are made from, by symbol; beyond the last code there are zeros, so
/// that a masked symbol indexes it unchecked.
pub(super) type Templates = [Entry; 64];

/// Lengths follow one another without gaps. One copy serves both kinds.
#[inline(never)]
const fn lengths(first: u32, extra: &[u8]) -> Templates {
    let mut entries = [0; 64];
    let mut value = first;
    let mut code = 0;
    while code < extra.len() {
        entries[code] = template(value, extra[code], LENGTH_SHIFT);
        value += 1 << extra[code];
        code += 1;
    }
    entries
}

/// By literal length code.
pub(super) static LITERAL_LENGTHS: Templates = literal_lengths();
/// The same, made now.
pub(super) const fn literal_lengths() -> Templates {
    lengths(0, &LITERAL_BITS)
}

/// By match length code.
pub(super) static MATCH_LENGTHS: Templates = match_lengths();
/// The same, made now.
pub(super) const fn match_lengths() -> Templates {
    lengths(3, &MATCH_BITS)
}

/// By offset code. A value from 4 on is an offset plus 3. The two codes below that choose among
/// the repeated offsets have the choice itself, 0 to 2, as their value.
pub(super) static OFFSETS: Templates = offsets();
/// The same, made now.
pub(super) const fn offsets() -> Templates {
    let mut entries = [0; 64];
    let mut code = 0;
    while code < 32 {
        let value = if code < 2 { code as u32 } else { 1 << code };
        entries[code] = template(value, code as u8, OFFSET_SHIFT);
        code += 1;
    }
    entries
}

/// The plain construction of RFC 8878, 4.1.1, for tables of up to 64 states: entries whose value
/// is the symbol, at [`LENGTH_SHIFT`]. `counts` must sum up to `1 << log`, each -1 as 1.
pub(super) const fn small(log: u32, counts: &[i16]) -> [Entry; 64] {
    let size = 1usize << log;
    let mut next = [0u16; 256];
    let mut symbols = [0u8; 64];
    let mut high = size;
    let mut symbol = 0;
    while symbol < counts.len() {
        next[symbol] = counts[symbol] as u16;
        if counts[symbol] == -1 {
            high -= 1;
            symbols[high] = symbol as u8;
            next[symbol] = 1;
        }
        symbol += 1;
    }
    let step = (size >> 1) + (size >> 3) + 3;
    let mut at = 0;
    let mut symbol = 0;
    while symbol < counts.len() {
        let mut left = counts[symbol];
        while left > 0 {
            symbols[at] = symbol as u8;
            at = (at + step) & (size - 1);
            while at >= high && high > 0 {
                at = (at + step) & (size - 1);
            }
            left -= 1;
        }
        symbol += 1;
    }
    let mut entries = [0; 64];
    let mut at = 0;
    while at < size {
        let symbol = symbols[at] as usize;
        let count = next[symbol] as u32;
        next[symbol] += 1;
        let bits = log - count.ilog2();
        entries[at] = (symbol as u64) << LENGTH_SHIFT | state(bits, (count << bits) - size as u32);
        at += 1;
    }
    entries
}

/// The states of a predefined table, with each symbol's template for the symbol.
const fn predefined<const N: usize, const SYMBOLS: usize>(
    counts: &[i8; SYMBOLS],
    templates: &Templates,
) -> [Entry; N] {
    let mut wide = [0; SYMBOLS];
    let mut symbol = 0;
    while symbol < SYMBOLS {
        wide[symbol] = counts[symbol] as i16;
        symbol += 1;
    }
    let plain = small(N.ilog2(), &wide);
    let mut entries = [0; N];
    let mut at = 0;
    while at < N {
        let symbol = (plain[at] >> LENGTH_SHIFT) as usize;
        entries[at] = (plain[at] & ((1 << LENGTH_SHIFT) - 1)) + templates[symbol];
        at += 1;
    }
    entries
}

/// RFC 8878, 3.1.1.3.2.2.1.
pub(super) static LITERAL_COUNTS: [i8; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
/// RFC 8878, 3.1.1.3.2.2.2.
pub(super) static MATCH_COUNTS: [i8; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
/// RFC 8878, 3.1.1.3.2.2.3.
pub(super) static OFFSET_COUNTS: [i8; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];

/// The predefined table for literal lengths.
pub(super) static LITERAL_DEFAULT: [Entry; 64] = predefined(&LITERAL_COUNTS, &LITERAL_LENGTHS);
/// The predefined table for match lengths.
pub(super) static MATCH_DEFAULT: [Entry; 64] = predefined(&MATCH_COUNTS, &MATCH_LENGTHS);
/// The predefined table for offsets.
pub(super) static OFFSET_DEFAULT: [Entry; 32] = predefined(&OFFSET_COUNTS, &OFFSETS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_of_the_specification() {
        let length = |entry: Entry| (entry >> LENGTH_SHIFT, entry as u8);
        assert_eq!(length(LITERAL_LENGTHS[15]), (15, 0));
        assert_eq!(length(LITERAL_LENGTHS[25]), (64, 6));
        assert_eq!(length(LITERAL_LENGTHS[35]), (65_536, 16));
        assert_eq!(length(MATCH_LENGTHS[0]), (3, 0));
        assert_eq!(length(MATCH_LENGTHS[43]), (131, 7));
        assert_eq!(length(MATCH_LENGTHS[52]), (65_539, 16));
        assert_eq!(OFFSETS[31] >> OFFSET_SHIFT, 1 << 31);
        assert!((0..32).all(|n| mask(n) == (1u32 << n) - 1));
    }

    /// Rows of RFC 8878, Appendix A: state, symbol, number of bits, base.
    #[test]
    fn rows_of_the_tables_in_the_appendix() {
        let check = |entry: Entry, template: Entry, bits: u32, next: u32| {
            assert_eq!(entry, template + state(bits, next));
        };
        check(LITERAL_DEFAULT[0], LITERAL_LENGTHS[0], 4, 0);
        check(LITERAL_DEFAULT[1], LITERAL_LENGTHS[0], 4, 16);
        check(LITERAL_DEFAULT[2], LITERAL_LENGTHS[1], 5, 32);
        check(LITERAL_DEFAULT[63], LITERAL_LENGTHS[32], 6, 0);
        check(MATCH_DEFAULT[0], MATCH_LENGTHS[0], 6, 0);
        check(MATCH_DEFAULT[1], MATCH_LENGTHS[1], 4, 0);
        check(MATCH_DEFAULT[63], MATCH_LENGTHS[46], 6, 0);
        check(OFFSET_DEFAULT[0], OFFSETS[0], 5, 0);
        check(OFFSET_DEFAULT[1], OFFSETS[6], 4, 0);
        check(OFFSET_DEFAULT[31], OFFSETS[24], 5, 0);
    }
}

//! FSE tables: their description in the stream, and the tables made from it.
//!
//! The specification spreads each symbol over the table by a fixed odd stride and then walks the
//! table in order to number each symbol's states. Taken literally that is a pass of scattered
//! writes and a pass of reads. An odd stride has an inverse modulo a power of two, so the second
//! pass can say where in the *unspread* row of symbols the one for each state stands: the row is
//! written by plain runs, eight bytes at a time, and one pass remains.
//!
//! Symbols with "less than one" state sit at the table's end and are left out of the spread.
//! Their places in the row are marked first, in a bitmap, and the runs step over the marks.
//!
//! Sources: RFC 8878, 4.1 and 4.1.1.

use super::bits::forward;
use super::tables::{Entry, Templates, state};

/// Most states of any table: 2^9.
const MAX_SIZE: usize = 512;

/// Memory for reading and building tables; nothing in it outlives a call.
pub(super) struct Scratch {
    /// By symbol: how many states it has, -1 for less than one.
    pub(super) counts: [i16; 256],
    /// By symbol: the number of its next state.
    next: [u16; 256],
    /// The row of symbols, and room for the last run to overshoot.
    row: [u8; MAX_SIZE + 8],
}

impl Scratch {
    pub(super) const fn new() -> Self {
        Self { counts: [0; 256], next: [0; 256], row: [0; MAX_SIZE + 8] }
    }
}

/// A table's description, apart from the counts.
#[derive(Debug, PartialEq)]
pub(super) struct Description {
    /// The table has `1 << log` states.
    pub(super) log: u32,
    /// How many counts were read; the symbols above have none.
    pub(super) symbols: usize,
    /// Its length in bytes.
    pub(super) len: usize,
}

/// Reads the counts of up to `most` symbols at the front of `src`.
///
/// `None`: more states than `1 << max_log`, more symbols than `most`, counts that do not sum up,
/// or an early end.
pub(super) fn describe(
    src: &[u8],
    max_log: u32,
    most: usize,
    counts: &mut [i16; 256],
) -> Option<Description> {
    let log = (forward(src, 0) & 15) as u32 + 5;
    if log > max_log {
        return None;
    }
    let mut at = 4;
    // One more than the states that are still to be given out.
    let mut left = (1u32 << log) + 1;
    let mut symbols = 0;
    while left > 1 && symbols < most {
        // A number from 0 to `left`, in a bit less where that suffices.
        let threshold = 1u32 << left.ilog2();
        let short = 2 * threshold - 1 - left;
        let bits = forward(src, at) as u32 & (2 * threshold - 1);
        let mut value = bits & (threshold - 1);
        at += threshold.ilog2() as usize;
        if value >= short {
            at += 1;
            value = if bits >= threshold { bits - short } else { bits };
        }
        let count = value as i16 - 1;
        left = left.checked_sub(u32::from(count.unsigned_abs()))?;
        counts[symbols] = count;
        symbols += 1;
        if count == 0 {
            loop {
                let zeros = (forward(src, at) & 3) as usize;
                at += 2;
                counts.get_mut(symbols..symbols + zeros)?.fill(0);
                symbols += zeros;
                if zeros < 3 {
                    break;
                }
            }
        }
    }
    let len = at.div_ceil(8);
    (left == 1 && symbols <= most && len <= src.len()).then_some(Description { log, symbols, len })
}

/// By log from 5: the inverse of the stride modulo the number of states.
static INVERSE: [u16; 5] = [inverse(5), inverse(6), inverse(7), inverse(8), inverse(9)];

const fn inverse(log: u32) -> u16 {
    let size = 1u32 << log;
    let stride = (size >> 1) + (size >> 3) + 3;
    let mut inverse = 1;
    while (stride * inverse) & (size - 1) != 1 {
        inverse += 2;
    }
    inverse as u16
}

/// Makes the table that `scratch.counts` describes. A symbol's entries are `templates[symbol]`
/// with their states added.
pub(super) fn build(
    table: &mut [Entry],
    description: &Description,
    templates: &Templates,
    scratch: &mut Scratch,
) {
    let Scratch { counts, next, row } = scratch;
    let log = description.log;
    let size = 1usize << log;
    let mask = size - 1;
    let counts = &counts[..description.symbols];
    let inverse = usize::from(INVERSE[(log - 5) as usize % 5]);

    let mut marks = [0u64; MAX_SIZE / 64];
    let mut end = size;
    for (&count, next) in counts.iter().zip(next.iter_mut()) {
        *next = count.unsigned_abs();
        if count < 0 {
            end -= 1;
            let place = (end * inverse) & mask;
            marks[place / 64 % 8] |= 1 << (place % 64);
        }
    }
    spread(&mut row[..], counts, &marks, size);
    if end < size {
        let mut end = size;
        for (symbol, _) in counts.iter().enumerate().filter(|(_, count)| **count < 0) {
            end -= 1;
            row[(end * inverse) & mask] = symbol as u8;
        }
    }

    let row: &[u8; MAX_SIZE] = row.first_chunk().unwrap_or(&[0; MAX_SIZE]);
    let mut place = 0;
    for entry in &mut table[..size] {
        let symbol = row[place & mask & (MAX_SIZE - 1)];
        place += inverse;
        let count = u32::from(next[usize::from(symbol)]);
        next[usize::from(symbol)] = count as u16 + 1;
        let bits = log - (count | 1).ilog2();
        *entry = templates[usize::from(symbol) & 63] + state(bits, (count << bits) - size as u32);
    }
}

/// Writes each symbol as often as it counts, from the front of `row`, stepping over `marks`.
fn spread(row: &mut [u8], counts: &[i16], marks: &[u64; MAX_SIZE / 64], size: usize) {
    let mut marks = Marks { words: marks, word: marks[0], at: 0 };
    let mut gap = marks.next().unwrap_or(size);
    let mut at = 0;
    for (symbol, &count) in counts.iter().enumerate() {
        let mut left = usize::try_from(count).unwrap_or(0);
        while left > 0 {
            let run = left.min(gap - at);
            let mut done = 0;
            while done < run {
                row[at + done..at + done + 8].copy_from_slice(&[symbol as u8; 8]);
                done += 8;
            }
            at += run;
            left -= run;
            if at == gap && gap < size {
                at += 1;
                gap = marks.next().unwrap_or(size);
            }
        }
    }
}

/// The set bits of a bitmap, in order.
struct Marks<'a> {
    words: &'a [u64; MAX_SIZE / 64],
    word: u64,
    at: usize,
}

impl Iterator for Marks<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.at += 1;
            self.word = *self.words.get(self.at)?;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.at * 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zstd::decode::tables::{LENGTH_SHIFT, small};

    /// Each symbol's template is the symbol itself.
    fn names() -> Templates {
        core::array::from_fn(|symbol| (symbol as u64) << LENGTH_SHIFT)
    }

    /// Counts that sum up to `1 << log`, some of them "less than one".
    fn counts(log: u32, low: usize, random: &mut u32) -> alloc::vec::Vec<i16> {
        let mut left = (1 << log) - low as i32;
        let mut counts = alloc::vec![-1; low];
        while left > 0 && counts.len() < 52 {
            *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let count = (*random >> 16) as i32 % (left.min(40) + 1);
            let at = (*random >> 8) as usize % (counts.len() + 1);
            counts.insert(at, count as i16);
            left -= count;
        }
        counts.push(left as i16);
        counts
    }

    #[test]
    fn the_table_is_that_of_the_plain_construction() {
        let mut scratch = Scratch::new();
        let mut random = 1;
        for log in [5, 6] {
            for low in 0..20 {
                for _ in 0..20 {
                    let counts = counts(log, low, &mut random);
                    scratch.counts[..counts.len()].copy_from_slice(&counts);
                    let description = Description { log, symbols: counts.len(), len: 0 };
                    let mut table = [0; 64];
                    build(&mut table, &description, &names(), &mut scratch);
                    assert_eq!(table, small(log, &counts), "{counts:?}");
                }
            }
        }
    }

    /// In the larger tables, too, each symbol's states lead everywhere exactly once.
    #[test]
    fn every_symbol_leads_to_every_state() {
        let mut scratch = Scratch::new();
        let mut random = 2;
        for log in [7, 8, 9] {
            for low in [0, 1, 17, 40] {
                let counts = counts(log, low, &mut random);
                scratch.counts[..counts.len()].copy_from_slice(&counts);
                let description = Description { log, symbols: counts.len(), len: 0 };
                let mut table = alloc::vec![0; 1 << log];
                build(&mut table, &description, &names(), &mut scratch);
                for (symbol, &count) in counts.iter().enumerate() {
                    let mut reached = alloc::vec![0; 1 << log];
                    let of_symbol = |entry: &&Entry| (*entry >> LENGTH_SHIFT) as usize == symbol;
                    for entry in table.iter().filter(of_symbol) {
                        let next = usize::from((entry >> 24) as u16);
                        let bits = (entry >> 16) as u8;
                        reached[next..next + (1 << bits)].iter_mut().for_each(|times| *times += 1);
                    }
                    let times = i32::from(count != 0);
                    assert!(reached.iter().all(|reached| *reached == times), "{symbol}");
                }
            }
        }
    }

    /// Writes counts down as RFC 8878, 4.1.1, says.
    fn described(log: u32, counts: &[i16]) -> alloc::vec::Vec<u8> {
        let mut bits = alloc::vec![];
        let mut put = |value: u32, width: u32| {
            bits.extend((0..width).map(|bit| value >> bit & 1 == 1));
        };
        put(log - 5, 4);
        let mut left = (1u32 << log) + 1;
        let mut at = 0;
        while left > 1 {
            let width = left.ilog2();
            let short = (2 << width) - 1 - left;
            let value = (counts[at] + 1) as u32;
            match value {
                _ if value < short => put(value, width),
                _ if value < 1 << width => put(value, width + 1),
                _ => put(value + short, width + 1),
            }
            left -= u32::from(counts[at].unsigned_abs());
            at += 1;
            if counts[at - 1] == 0 {
                let mut zeros = counts[at..].iter().take_while(|count| **count == 0).count();
                at += zeros;
                while zeros >= 3 {
                    put(3, 2);
                    zeros -= 3;
                }
                put(zeros as u32, 2);
            }
        }
        let byte =
            |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
        bits.chunks(8).map(byte).collect()
    }

    #[test]
    fn descriptions_are_read_as_they_are_written() {
        let mut random = 3;
        let mut read = [0; 256];
        for log in 5..=9 {
            for low in [0, 1, 5, 30] {
                for _ in 0..50 {
                    let mut counts = counts(log, low, &mut random);
                    while counts.last() == Some(&0) {
                        counts.pop();
                    }
                    let mut src = described(log, &counts);
                    let (symbols, len) = (counts.len(), src.len());
                    let expected = Some(Description { log, symbols, len });
                    assert_eq!(describe(&src, 9, 53, &mut read), expected);
                    assert_eq!(read[..symbols], counts);
                    assert_eq!(describe(&src, log, symbols, &mut read), expected);
                    assert_eq!(describe(&src, log - 1, 53, &mut read), None);
                    assert_eq!(describe(&src, 9, symbols - 1, &mut read), None);
                    assert_eq!(describe(&src[..len - 1], 9, 53, &mut read), None);
                    src.extend([0xff; 9]);
                    assert_eq!(describe(&src, 9, 53, &mut read), expected);
                }
            }
        }
    }

    #[test]
    fn descriptions_that_are_none() {
        let mut counts = [0; 256];
        assert_eq!(describe(&[], 9, 36, &mut counts), None);
        assert_eq!(describe(&[5], 9, 36, &mut counts), None, "log 10");
        assert_eq!(describe(&[0xff; 8], 9, 36, &mut counts), None);
        assert_eq!(describe(&[0; 40], 9, 31, &mut counts), None, "32 symbols of less than one");
        // One count of 0, and then zeros without end.
        assert_eq!(describe(&[0x10; 1], 6, 256, &mut counts), None);
        let zeros = [&[0x10][..], &[0xfe], &[0xff; 90]].concat();
        assert_eq!(describe(&zeros, 6, 256, &mut counts), None);
    }
}

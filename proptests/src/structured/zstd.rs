//! A zstd frame of chosen blocks, with sound tables and streams.
//!
//! The bits of a sequence section are chosen while walking the decoding tables, so that whatever
//! is chosen decodes; what they stand for is written down at the same time, as the content that any
//! decoder must give.

use arbitrary::Arbitrary;

use super::{Lie, tell};

/// A frame.
#[derive(Debug, Clone, Arbitrary)]
pub struct Frame {
    /// Its window: 2^10 bytes, or up to 2^17.
    pub window: u8,
    /// The window is the content, whose size is told.
    pub single: bool,
    /// The size is told.
    pub sized: bool,
    /// Its blocks; the last is the last.
    pub blocks: Vec<Block>,
    /// What is not so.
    pub lies: Vec<Lie>,
}

/// A block.
#[derive(Debug, Clone, Arbitrary)]
pub enum Block {
    /// Bytes as they are.
    Raw(Vec<u8>),
    /// A byte so many times.
    Rle(u8, u16),
    /// Literals and matches.
    Compressed {
        /// How literals are stored, and where they come from.
        literals: Literals,
        /// How lengths of literals, offsets and lengths of matches are coded.
        tables: [Table; 3],
        /// The bits of the sequences.
        bits: Vec<u8>,
        /// Sequences, at most.
        count: u8,
        /// Literals behind the last match.
        rest: u8,
    },
}

/// Literals.
#[derive(Debug, Clone, Arbitrary)]
pub enum Literals {
    /// As they are.
    Raw(Vec<u8>),
    /// One byte.
    Rle(u8),
    /// By a Huffman table.
    Huffman {
        /// Where the tree is split: each makes two leaves of one.
        splits: Vec<u8>,
        /// Which symbols are chosen.
        picks: Vec<u8>,
        /// Four streams.
        four: bool,
        /// The table before is used where there is one.
        again: bool,
    },
}

/// A code of sequences.
#[derive(Debug, Clone, Arbitrary)]
pub enum Table {
    /// The standard's.
    Predefined,
    /// One symbol.
    Rle(u8),
    /// A distribution: its accuracy, and symbols with their shares.
    Described(u8, Vec<(u8, u8)>),
    /// The one before, where there is one.
    Repeat,
}

/// A step of a decoding table: symbol, bits to read, base of the next state.
type Cell = (u8, u8, u16);

#[derive(Debug, Clone)]
struct Fse {
    log: u8,
    cells: Vec<Cell>,
}

/// The most that a block of these frames holds, in bytes.
const MOST: usize = 4096;

const LL: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
const ML: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
const OF: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];
/// The highest symbol of each code, and the most accurate it may be.
const CODES: [(u8, u8); 3] = [(35, 9), (28, 8), (52, 9)];

const LL_EXTRA: [(u32, u8); 20] = [
    (16, 1),
    (18, 1),
    (20, 1),
    (22, 1),
    (24, 2),
    (28, 2),
    (32, 3),
    (40, 3),
    (48, 4),
    (64, 6),
    (128, 7),
    (256, 8),
    (512, 9),
    (1024, 10),
    (2048, 11),
    (4096, 12),
    (8192, 13),
    (16384, 14),
    (32768, 15),
    (65536, 16),
];
const ML_EXTRA: [(u32, u8); 21] = [
    (35, 1),
    (37, 1),
    (39, 1),
    (41, 1),
    (43, 2),
    (47, 2),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 5),
    (131, 7),
    (259, 8),
    (515, 9),
    (1027, 10),
    (2051, 11),
    (4099, 12),
    (8195, 13),
    (16387, 14),
    (32771, 15),
    (65539, 16),
];

fn literal_length(code: u8) -> (u32, u8) {
    if code < 16 { (code.into(), 0) } else { LL_EXTRA[usize::from(code) - 16] }
}

fn match_length(code: u8) -> (u32, u8) {
    if code < 32 { (u32::from(code) + 3, 0) } else { ML_EXTRA[usize::from(code) - 32] }
}

impl Fse {
    /// The table of a distribution (RFC 8878, 4.1.1).
    fn new(log: u8, counts: &[i16]) -> Fse {
        let size = 1usize << log;
        let (mut symbols, mut high) = (vec![0u8; size], size);
        let mut next: Vec<u16> = vec![0; counts.len()];
        for (symbol, &count) in counts.iter().enumerate() {
            if count == -1 {
                high -= 1;
                symbols[high] = symbol as u8;
                next[symbol] = 1;
            } else {
                next[symbol] = count as u16;
            }
        }
        let step = (size >> 1) + (size >> 3) + 3;
        let mut at = 0;
        for (symbol, &count) in counts.iter().enumerate() {
            for _ in 0..count.max(0) {
                symbols[at] = symbol as u8;
                loop {
                    at = (at + step) & (size - 1);
                    if at < high {
                        break;
                    }
                }
            }
        }
        let cell = |&symbol: &u8| {
            let state = next[usize::from(symbol)];
            next[usize::from(symbol)] += 1;
            let bits = log - state.ilog2() as u8;
            (symbol, bits, (state << bits) - size as u16)
        };
        let cells = symbols.iter().map(cell).collect();
        Fse { log, cells }
    }

    fn rle(symbol: u8) -> Fse {
        Fse { log: 0, cells: vec![(symbol, 0, 0)] }
    }
}

/// A distribution as it is described (RFC 8878, 4.1.1).
fn describe(log: u8, counts: &[i16]) -> Vec<u8> {
    let mut bits = Writer::default();
    bits.put(u32::from(log) - 5, 4);
    let (mut left, mut threshold, mut width) = ((1i32 << log) + 1, 1i32 << log, log + 1);
    let (mut symbol, mut zero) = (0, false);
    while left > 1 {
        if zero {
            let run = counts[symbol..].iter().take_while(|count| **count == 0).count();
            symbol += run;
            let mut run = run;
            while run >= 3 {
                bits.put(3, 2);
                run -= 3;
            }
            bits.put(run as u32, 2);
        }
        let count = i32::from(counts[symbol]);
        symbol += 1;
        let most = 2 * threshold - 1 - left;
        left -= count.abs();
        let mut value = count + 1;
        if value >= threshold {
            value += most;
        }
        let short = value < most;
        bits.put(value as u32, width - u8::from(short));
        zero = count == 0;
        while left < threshold {
            width -= 1;
            threshold >>= 1;
        }
    }
    bits.bytes()
}

/// Bits, the first in the lowest.
#[derive(Debug, Default)]
struct Writer {
    out: Vec<u8>,
    held: u64,
    count: u8,
}

impl Writer {
    fn put(&mut self, value: u32, bits: u8) {
        self.held |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    fn bytes(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.out.push(self.held as u8);
        }
        self.out
    }
}

/// Reads in a decoder's order, written so that it reads them from the end.
fn backwards(reads: &[(u32, u8)]) -> Vec<u8> {
    let mut bits = Writer::default();
    for &(value, width) in reads.iter().rev() {
        bits.put(value, width);
    }
    bits.put(1, 1);
    bits.bytes()
}

/// Bits to choose from; zero when they are used up.
struct Choice<'a> {
    bytes: core::slice::Iter<'a, u8>,
}

impl Choice<'_> {
    fn take(&mut self, bits: u8) -> u32 {
        let mut value = 0u32;
        for _ in 0..bits.div_ceil(8) {
            value = value << 8 | u32::from(self.bytes.next().copied().unwrap_or(0));
        }
        if bits == 0 { 0 } else { value & (u32::MAX >> (32 - bits)) }
    }
}

/// What is kept from block to block.
struct State {
    content: Vec<u8>,
    offsets: [u32; 3],
    tables: [Option<Fse>; 3],
    huffman: Option<Huffman>,
    window: usize,
}

#[derive(Debug, Clone)]
struct Huffman {
    /// Symbol, code, length.
    codes: Vec<(u8, u32, u8)>,
    description: Vec<u8>,
}

impl Huffman {
    /// A complete tree, its leaves given to symbols that ascend.
    fn new(splits: &[u8]) -> Huffman {
        let mut lengths = vec![1u8, 1];
        for split in splits.iter().take(40) {
            let at = usize::from(*split) % lengths.len();
            if lengths[at] < 11 {
                lengths[at] += 1;
                lengths.insert(at, lengths[at]);
            }
        }
        let longest = lengths.iter().copied().max().unwrap_or(1);
        // Every third byte is a symbol: the others have no weight.
        let symbols = lengths.len() * 3 - 2;
        let weights: Vec<u8> = (0..symbols)
            .map(|symbol| if symbol % 3 == 0 { longest + 1 - lengths[symbol / 3] } else { 0 })
            .collect();
        let mut codes = Vec::new();
        let mut at = 0u32;
        for weight in 1..=longest {
            for (symbol, _) in weights.iter().enumerate().filter(|(_, of)| **of == weight) {
                codes.push((symbol as u8, at >> (weight - 1), longest + 1 - weight));
                at += 1 << (weight - 1);
            }
        }
        // The last weight follows from the others.
        let told = &weights[..symbols - 1];
        let mut description = vec![127 + told.len() as u8];
        description.extend(told.chunks(2).map(|two| two[0] << 4 | two.get(1).unwrap_or(&0)));
        Huffman { codes, description }
    }
}

impl Frame {
    /// The frame, and its content unless lies are told.
    pub fn bytes(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let window = 1usize << (10 + self.window % 8);
        let mut state = State {
            content: Vec::new(),
            offsets: [1, 4, 8],
            tables: [None, None, None],
            huffman: None,
            window,
        };
        let mut blocks: Vec<(u8, u32, Vec<u8>)> = Vec::new();
        for block in self.blocks.iter().take(12) {
            // A block is no longer than the window, which a single segment may make small.
            blocks.push(block.store(&mut state));
        }
        if blocks.is_empty() {
            blocks.push((0, 0, Vec::new()));
        }
        let len = state.content.len();
        let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd];
        let (flag, size) = match (self.single || self.sized, len) {
            (false, _) => (0, Vec::new()),
            (true, 0..256) if self.single => (0, vec![len as u8]),
            (true, 256..65_792) => (1, (len as u16).wrapping_sub(256).to_le_bytes().to_vec()),
            (true, _) => (2, (len as u32).to_le_bytes().to_vec()),
        };
        bytes.push(flag << 6 | u8::from(self.single) << 5);
        if !self.single {
            bytes.push((self.window % 8) << 3);
        }
        bytes.extend(size);
        let last = blocks.len() - 1;
        for (at, (kind, size, body)) in blocks.iter().enumerate() {
            let head = u32::from(at == last) | u32::from(*kind) << 1 | size << 3;
            bytes.extend(&head.to_le_bytes()[..3]);
            bytes.extend(body);
        }
        tell(&self.lies, &mut bytes);
        (bytes, self.lies.is_empty().then_some(state.content))
    }
}

impl Block {
    /// Kind, size as it is told, bytes.
    fn store(&self, state: &mut State) -> (u8, u32, Vec<u8>) {
        let most = state.window.min(MOST);
        match self {
            Block::Raw(bytes) => {
                let bytes = &bytes[..bytes.len().min(most)];
                state.content.extend(bytes);
                (0, bytes.len() as u32, bytes.to_vec())
            }
            Block::Rle(byte, times) => {
                let times = usize::from(*times) % (most + 1);
                state.content.resize(state.content.len() + times, *byte);
                (1, times as u32, vec![*byte])
            }
            Block::Compressed { literals, tables, bits, count, rest } => {
                let (sequences, section) = sequences(state, tables, bits, *count, most);
                let wanted: usize = sequences.iter().map(|sequence| sequence.literals).sum();
                let (stored, literals) = literals.store(state, wanted + usize::from(rest % 32));
                let mut left = &literals[..];
                for Sequence { literals, offset, length } in &sequences {
                    let (now, later) = left.split_at(*literals);
                    state.content.extend(now);
                    left = later;
                    let from = state.content.len() - offset;
                    for at in from..from + length {
                        state.content.push(state.content[at]);
                    }
                }
                state.content.extend(left);
                let body = [stored, section].concat();
                (2, body.len() as u32, body)
            }
        }
    }
}

struct Sequence {
    literals: usize,
    offset: usize,
    length: usize,
}

/// The sequences that the bits stand for, and their section.
fn sequences(
    state: &mut State,
    tables: &[Table; 3],
    bits: &[u8],
    count: u8,
    most: usize,
) -> (Vec<Sequence>, Vec<u8>) {
    let mut choice = Choice { bytes: bits.iter() };
    let mut modes = 0u8;
    let mut descriptions = Vec::new();
    let mut used: Vec<Fse> = Vec::new();
    for (which, table) in tables.iter().enumerate() {
        let (mode, fse, description) = table.build(which, state.tables[which].as_ref());
        modes |= mode << (6 - 2 * which);
        descriptions.extend(description);
        used.push(fse);
    }
    let mut offsets = state.offsets;
    let mut done: Vec<Sequence> = Vec::new();
    let mut reads: Vec<(u32, u8)> = Vec::new();
    // 32 bytes for literals behind the last match, and what stands in the block.
    let mut room = most.saturating_sub(32);
    let mut history = state.content.len();
    let mut cells = [0usize; 3];
    for _ in 0..count.min(100) {
        let first = done.is_empty();
        let mut try_one = || {
            let mut now = Vec::new();
            let mut at = cells;
            // First states in the order of the tables, later ones in another.
            for which in if first { [0, 1, 2] } else { [0, 2, 1] } {
                let fse = &used[which];
                let (width, base) = match first {
                    true => (fse.log, 0),
                    false => (fse.cells[cells[which]].1, fse.cells[cells[which]].2),
                };
                let value = choice.take(width);
                now.push((value, width));
                at[which] = usize::from(base) + value as usize;
            }
            let [ll, of, ml] = [0, 1, 2].map(|which| used[which].cells[at[which]].0);
            let (ll_base, ll_bits) = literal_length(ll);
            let (ml_base, ml_bits) = match_length(ml);
            let of_value = choice.take(of.min(20));
            let (ml_value, ll_value) = (choice.take(ml_bits), choice.take(ll_bits));
            let literals = (ll_base + ll_value) as usize;
            let length = (ml_base + ml_value) as usize;
            let reach = (history + literals).min(state.window);
            if of > 20 || literals + length > room {
                return None;
            }
            let code = 1u32 << of;
            // An offset that lies too far back is brought near.
            let of_value = match (code + of_value) as usize > reach + 3 {
                true if of > 1 => (reach + 3).checked_sub(code as usize)? as u32,
                _ => of_value,
            };
            let mut after = offsets;
            let offset = repeat(&mut after, code + of_value, literals == 0);
            if offset == 0 || offset as usize > reach {
                return None;
            }
            now.extend([(of_value, of), (ml_value, ml_bits), (ll_value, ll_bits)]);
            let sequence = Sequence { literals, offset: offset as usize, length };
            Some((at, now, code + of_value, sequence))
        };
        let Some((at, now, value, sequence)) = (0..6).find_map(|_| try_one()) else { break };
        repeat(&mut offsets, value, sequence.literals == 0);
        cells = at;
        reads.extend(now);
        room -= sequence.literals + sequence.length;
        history += sequence.literals + sequence.length;
        done.push(sequence);
    }
    let mut section = vec![done.len() as u8];
    if !done.is_empty() {
        section.push(modes);
        section.extend(descriptions);
        section.extend(backwards(&reads));
        state.offsets = offsets;
        for (kept, fse) in state.tables.iter_mut().zip(used) {
            *kept = Some(fse);
        }
    }
    (done, section)
}

/// The offset that a value stands for (RFC 8878, 3.1.1.5); 0 = none.
fn repeat(offsets: &mut [u32; 3], value: u32, no_literals: bool) -> u32 {
    if value > 3 {
        *offsets = [value - 3, offsets[0], offsets[1]];
        return offsets[0];
    }
    let which = value as usize - 1 + usize::from(no_literals);
    let offset = match which {
        3 => offsets[0] - 1,
        which => offsets[which],
    };
    match which {
        0 => {}
        1 => *offsets = [offset, offsets[0], offsets[2]],
        _ => *offsets = [offset, offsets[0], offsets[1]],
    }
    offset
}

impl Table {
    /// Mode, table and description.
    fn build(&self, which: usize, before: Option<&Fse>) -> (u8, Fse, Vec<u8>) {
        let (highest, accurate) = CODES[which];
        match (self, before) {
            (Table::Repeat, Some(before)) => (3, before.clone(), Vec::new()),
            (Table::Rle(symbol), _) => {
                let symbol = symbol % (highest + 1);
                (1, Fse::rle(symbol), vec![symbol])
            }
            (Table::Described(log, shares), _) if shares.len() > 1 => {
                let log = 5 + log % (accurate - 4);
                let mut counts = vec![0i16; usize::from(highest) + 1];
                let mut left = 1i16 << log;
                for (symbol, share) in shares.iter().take(20) {
                    let count = &mut counts[usize::from(*symbol) % (usize::from(highest) + 1)];
                    if *count == 0 && left > 1 {
                        // A share of 0 is less than one: it stands for a cell.
                        let share = i16::from(*share) % left;
                        *count = if share == 0 { -1 } else { share };
                        left -= share.max(1);
                    }
                }
                // One symbol has all that is left; the description ends with the last of them.
                let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
                match counts[first] {
                    -1 => return (0, Fse::new([6, 5, 6][which], standard(which)), Vec::new()),
                    _ => counts[first] += left,
                }
                (2, Fse::new(log, &counts), describe(log, &counts))
            }
            _ => (0, Fse::new([6, 5, 6][which], standard(which)), Vec::new()),
        }
    }
}

fn standard(which: usize) -> &'static [i16] {
    [&LL[..], &OF, &ML][which]
}

impl Literals {
    /// So many literals as they are stored, and what they are.
    fn store(&self, state: &mut State, count: usize) -> (Vec<u8>, Vec<u8>) {
        let cycle = |bytes: &[u8]| -> Vec<u8> {
            match bytes {
                [] => vec![b'l'; count],
                bytes => bytes.iter().copied().cycle().take(count).collect(),
            }
        };
        match self {
            Literals::Rle(byte) => {
                let mut stored = sized(1, count);
                stored.push(*byte);
                (stored, vec![*byte; count])
            }
            Literals::Huffman { splits, picks, four, again } if count > 0 => {
                let known = state.huffman.clone().filter(|_| *again);
                let kind = if known.is_some() { 3 } else { 2 };
                let huffman = known.unwrap_or_else(|| Huffman::new(splits));
                let picks = cycle(picks);
                let coded: Vec<_> = picks
                    .iter()
                    .map(|pick| huffman.codes[usize::from(*pick) % huffman.codes.len()])
                    .collect();
                let literals = coded.iter().map(|(symbol, ..)| *symbol).collect();
                let stream = |coded: &[(u8, u32, u8)]| {
                    let reads: Vec<_> = coded.iter().map(|(_, code, len)| (*code, *len)).collect();
                    backwards(&reads)
                };
                let mut body = if kind == 2 { huffman.description.clone() } else { Vec::new() };
                let four = *four && count >= 6 || count > 512;
                if four && count < 6 {
                    return Literals::Raw(Vec::new()).store(state, count);
                }
                if four {
                    let streams: Vec<_> = coded.chunks(count.div_ceil(4)).map(stream).collect();
                    if streams.len() < 4 {
                        return Literals::Raw(Vec::new()).store(state, count);
                    }
                    for stream in &streams[..3] {
                        body.extend((stream.len() as u16).to_le_bytes());
                    }
                    body.extend(streams.concat());
                } else {
                    body.extend(stream(&coded));
                }
                state.huffman = Some(huffman);
                // 14 bits for each size with four streams, 10 with one.
                let (format, width) = if four { (2u64, 14) } else { (0, 10) };
                let head =
                    kind | format << 2 | (count as u64) << 4 | (body.len() as u64) << (4 + width);
                let bytes = if four { 4 } else { 3 };
                let mut stored = head.to_le_bytes()[..bytes].to_vec();
                stored.extend(body);
                (stored, literals)
            }
            Literals::Raw(bytes) => {
                let literals = cycle(bytes);
                ([sized(0, count), literals.clone()].concat(), literals)
            }
            Literals::Huffman { .. } => (sized(0, 0), Vec::new()),
        }
    }
}

/// The head of literals that are raw (0) or of one byte (1).
fn sized(kind: u8, count: usize) -> Vec<u8> {
    match count {
        0..32 => vec![kind | (count as u8) << 3],
        _ => (u16::from(kind) | 1 << 2 | (count as u16) << 4).to_le_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use arbitrary::Unstructured;

    use super::*;
    use crate::random::Random;
    use crate::zstd::{Decoders, sound};

    /// What there is to be coded comes up, and is decoded.
    #[test]
    fn every_kind_of_block_table_and_stream_is_made() {
        let (mut random, mut decoders) = (Random::new(1), Decoders::new());
        // By mode and code; by kind of literals, four streams apart; offsets that are repeated.
        let (mut modes, mut literals, mut sequences) = ([[0u32; 4]; 3], [0u32; 5], 0usize);
        for _ in 0..4000 {
            let bytes: Vec<u8> = (0..600).map(|_| random.next() as u8).collect();
            let Ok(mut frame) = Frame::arbitrary_take_rest(Unstructured::new(&bytes)) else {
                continue;
            };
            frame.lies.clear();
            let (bytes, content) = frame.bytes();
            sound(&mut decoders, &bytes, &content.unwrap()).unwrap();
            let mut state = State {
                content: Vec::new(),
                offsets: [1, 4, 8],
                tables: [None, None, None],
                huffman: None,
                window: 1 << 17,
            };
            for block in frame.blocks.iter().take(12) {
                let (kind, _, body) = block.store(&mut state);
                if kind != 2 {
                    continue;
                }
                let (size, stored) = literal_sizes(&body);
                literals[usize::from(body[0] & 3) + if body[0] & 15 == 10 { 2 } else { 0 }] += 1;
                assert!(size <= MOST);
                let section = &body[stored..];
                sequences += usize::from(section[0]);
                if section[0] > 0 {
                    for (which, seen) in modes.iter_mut().enumerate() {
                        seen[usize::from(section[1] >> (6 - 2 * which) & 3)] += 1;
                    }
                }
            }
        }
        let seen = modes.iter().flatten().chain(&literals).all(|seen| *seen > 20);
        assert!(seen && sequences > 4000, "{modes:?} {literals:?} {sequences}");
    }

    /// The size of the literals at the front of a block, and where its sequences begin.
    fn literal_sizes(body: &[u8]) -> (usize, usize) {
        let word = |len: usize| {
            body[..len].iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte))
        };
        let (kind, format) = (body[0] & 3, body[0] >> 2 & 3);
        match (kind, format) {
            (0 | 1, 0 | 2) => {
                let size = usize::from(body[0] >> 3);
                (size, 1 + if kind == 0 { size } else { 1 })
            }
            (0 | 1, _) => {
                let size = word(2) as usize >> 4;
                (size, 2 + if kind == 0 { size } else { 1 })
            }
            (_, 0) => {
                let word = word(3) as usize;
                (word >> 4 & 1023, 3 + (word >> 14))
            }
            (_, _) => {
                let word = word(4) as usize;
                (word >> 4 & 16_383, 4 + (word >> 18))
            }
        }
    }
}

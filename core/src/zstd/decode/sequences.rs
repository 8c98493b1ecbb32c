//! The sequences of a block: decoded and executed in one go.
//!
//! [`Run::fast`] is the loop that decides the decoder's speed. It takes what nearly every sequence is
//! and hands anything else to [`Run::decode`] and [`execute`], which check every step. Five ideas
//! carry it; each is easily lost in a refactoring, and an instruction count guards them all.
//!
//! 1. **Positions and lengths are `u32`, widened to `usize`.** The sum of a few of them cannot
//!    wrap, so the one comparison of `w + lit + len + 32` with the slice's length proves all
//!    copies in bounds, and the compiler drops their checks. With `usize` throughout it cannot
//!    know that, and each copy is checked again.
//! 2. **One refill a sequence, from a slice, for a total known ahead.** The sum of the three
//!    entries has the number of bits that all six fields take (see [`tables`](super::tables)): a
//!    sequence of more than 57 is not for the loop. Up to eight bytes of the block in front of the
//!    stream belong to the slice, so that eight can always be loaded; that the stream is used up
//!    exactly is checked at its end, and what a broken one yields until then stays in bounds.
//! 3. **Fields by rotation and mask.** The word is rotated left by a field's width, which brings
//!    the field to the bottom and the next one to the top: a width of 0 needs no special case, as
//!    it does with two shifts, and the mask comes from a table in place of three instructions.
//! 4. **Repeated offsets without branches.** Whether an offset is new or repeated is a coin flip
//!    in real data. [`select_unpredictable`] keeps the five choices conditional moves; a plain
//!    `if` is a branch again, which costs a tenth of the speed and no instruction.
//! 5. **The next entries are loaded before the copies.** Their latency passes while the bytes
//!    move. Sinking the loads below the copies, or decoding first and executing later, loses it.

use core::hint::select_unpredictable;

use super::bits::{Backward, start};
use super::output::{FastLiterals, Literals, Output};
use super::tables::{Entry, LENGTH_SHIFT, OFFSET_SHIFT, mask};
use super::wrong;
use crate::error::ErrorKind;
use crate::zstd::Fault;

/// The three tables of a block's sequences.
pub(super) struct Tables {
    /// Literal lengths: up to 2^9 states.
    pub(super) literal: [Entry; 512],
    /// Match lengths: up to 2^9 states.
    pub(super) matched: [Entry; 512],
    /// Offsets: up to 2^8 states.
    pub(super) offset: [Entry; 256],
    /// Each one's log, in this order; `None` while there is no table.
    pub(super) logs: [Option<u8>; 3],
}

impl Tables {
    pub(super) const fn new() -> Self {
        Self { literal: [0; 512], matched: [0; 512], offset: [0; 256], logs: [None; 3] }
    }

    fn literal(&self, state: u32) -> Entry {
        self.literal[state as usize & 511]
    }
    fn matched(&self, state: u32) -> Entry {
        self.matched[state as usize & 511]
    }
    fn offset(&self, state: u32) -> Entry {
        self.offset[state as usize & 255]
    }
}

/// Literals to copy, and then a match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    pub(super) matched: u32,
    pub(super) offset: u32,
}

/// The value of a length's entry, refined.
#[inline(always)]
fn length(entry: Entry, bits: u32) -> u32 {
    (entry >> LENGTH_SHIFT) as u32 + bits
}

/// Bits that refine the value.
#[inline(always)]
fn extra(entry: Entry) -> u32 {
    u32::from(entry as u8)
}

/// Bits that lead to the next state.
#[inline(always)]
fn state_bits(entry: Entry) -> u32 {
    u32::from((entry >> 16) as u8)
}

#[inline(always)]
fn next_length(entry: Entry, bits: u32) -> u32 {
    u32::from((entry >> 24) as u16) + bits
}

#[inline(always)]
fn next_offset(entry: Entry, bits: u32) -> u32 {
    u32::from((entry >> 24) as u8) + bits
}

/// The last three offsets, latest first.
pub(super) type Offsets = [u32; 3];

/// The offset that `value` stands for (RFC 8878, 3.1.1.5), with the offsets to remember. Those of
/// a broken block may be 0 or wrap around: the bounds check of the match refuses them.
#[inline(always)]
fn repeat([a, b, c]: Offsets, value: u32, no_literals: bool) -> (u32, Offsets) {
    // 0 to 3 choose among a, b, c and a - 1.
    let choice = value.wrapping_add(u32::from(no_literals));
    let repeated = a.wrapping_sub(u32::from(choice == 3));
    let repeated = select_unpredictable(choice == 1, b, repeated);
    let repeated = select_unpredictable(choice == 2, c, repeated);
    // Values from 4 on are new offsets, also where the choice counts one more.
    let offset = select_unpredictable(value > 3, value.wrapping_sub(3), repeated);
    let second = select_unpredictable(choice > 0, a, b);
    let third = select_unpredictable(choice > 1, b, c);
    (offset, [offset, second, third])
}

/// What a block's sequences are at.
pub(super) struct Run<'a> {
    tables: &'a Tables,
    /// Ends where the bit stream ends, and begins up to eight bytes before it.
    stream: &'a [u8],
    /// Bits of `stream` in front of the bit stream.
    front: u32,
    /// Bits of `stream` that are unread. Below `front` only in broken blocks.
    end: u32,
    /// The entries of the three states.
    literal: Entry,
    matched: Entry,
    offset: Entry,
    offsets: Offsets,
    /// Sequences that are not decoded yet.
    left: u32,
}

/// Decodes and executes `count` sequences, whose bits are `src[at..]`, those of the usual kind by
/// `fast`: that is [`Run::fast`], or [`never`] where there is no such loop.
#[expect(clippy::too_many_arguments, reason = "each is a part of the block's state of its own")]
pub(super) fn run<L: Literals + ?Sized>(
    tables: &Tables,
    offsets: &mut Offsets,
    src: &[u8],
    at: usize,
    count: u32,
    out: &mut Output<'_>,
    literals: &mut L,
    fast: impl Fn(&mut Run<'_>, &mut Output<'_>, &mut L) -> Option<Sequence>,
) -> Result<(), ErrorKind> {
    let from = at.saturating_sub(8);
    let stream = &src[from..];
    let end = start(&src[at..]).ok_or(wrong(Fault::SequenceBits))? + 8 * (at - from);
    let front = 8 * (at - from);
    let mut bits = Backward::at(stream, end, front);
    let [Some(literal), Some(matched), Some(offset)] = tables.logs else {
        return Err(wrong(Fault::NoTable));
    };
    let literal = tables.literal(bits.need(u32::from(literal))?);
    let offset = tables.offset(bits.need(u32::from(offset))?);
    let matched = tables.matched(bits.need(u32::from(matched))?);
    let mut run = Run {
        tables,
        stream,
        front: front as u32,
        end: bits.end() as u32,
        literal,
        matched,
        offset,
        offsets: *offsets,
        left: count,
    };
    while run.left > 0 {
        let sequence = match fast(&mut run, out, literals) {
            Some(sequence) => sequence,
            None => run.decode()?,
        };
        execute(sequence, out, literals)?;
    }
    *offsets = run.offsets;
    // The last sequence leaves no bit behind, and has taken none that is not there.
    if run.end == run.front { Ok(()) } else { Err(wrong(Fault::SequenceBits)) }
}

/// No sequence is of the usual kind.
pub(super) fn never(
    _: &mut Run<'_>,
    _: &mut Output<'_>,
    _: &mut (dyn Literals + '_),
) -> Option<Sequence> {
    None
}

impl Run<'_> {
    /// Decodes one sequence, with a check at every field.
    fn decode(&mut self) -> Result<Sequence, ErrorKind> {
        let mut bits = Backward::at(self.stream, self.end as usize, self.front as usize);
        let value = (self.offset >> OFFSET_SHIFT) as u32;
        let value = value.wrapping_add(bits.need(extra(self.offset))?);
        let matched = length(self.matched, bits.need(extra(self.matched))?);
        let literals = length(self.literal, bits.need(extra(self.literal))?);
        let (offset, offsets) = repeat(self.offsets, value, literals == 0);
        self.offsets = offsets;
        self.left -= 1;
        if self.left > 0 {
            let next = next_length(self.literal, bits.need(state_bits(self.literal))?);
            self.literal = self.tables.literal(next);
            let next = next_length(self.matched, bits.need(state_bits(self.matched))?);
            self.matched = self.tables.matched(next);
            let next = next_offset(self.offset, bits.need(state_bits(self.offset))?);
            self.offset = self.tables.offset(next);
        }
        self.end = bits.end() as u32;
        Ok(Sequence { literals, matched, offset })
    }

    /// Decodes and executes sequences until one is not of the usual kind: `None` when it has to
    /// be decoded by [`decode`](Self::decode), else what [`execute`] is to do.
    #[inline(never)]
    pub(super) fn fast<L: FastLiterals>(
        &mut self,
        out: &mut Output<'_>,
        literals: &mut L,
    ) -> Option<Sequence> {
        let Run { tables, stream, mut literal, mut matched, mut offset, mut left, .. } = *self;
        let mut offsets = self.offsets;
        // The first bit of the eight bytes to load, plus 7; it wraps around where they would
        // begin before the slice.
        let mut at = self.end.wrapping_sub(57);
        let mut w = out.at();
        let mut read = literals.at();
        let dst = out.bytes(L::SLACK);

        let result = loop {
            let sum = literal.wrapping_add(matched).wrapping_add(offset);
            let total = u32::from((sum >> 8) as u8);
            let from = (at >> 3) as usize;
            // The last sequence is not followed by a state, and is not for this loop.
            if total > 57 || from + 8 > stream.len() || left == 1 {
                break None;
            }
            let chunk = stream[from..from + 8].first_chunk::<8>();
            let mut bits = chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk));
            let field = |bits: &mut u64, skip: u32, width: u32| {
                *bits = bits.rotate_left(skip + width);
                *bits as u32 & mask(width as u8)
            };
            let value = field(&mut bits, !at & 7, extra(offset));
            let value = value.wrapping_add((offset >> OFFSET_SHIFT) as u32);
            let len = length(matched, field(&mut bits, 0, extra(matched)));
            let lit = length(literal, field(&mut bits, 0, extra(literal)));
            let next = next_length(literal, field(&mut bits, 0, state_bits(literal)));
            literal = tables.literal(next);
            let next = next_length(matched, field(&mut bits, 0, state_bits(matched)));
            matched = tables.matched(next);
            let next = next_offset(offset, field(&mut bits, 0, state_bits(offset)));
            offset = tables.offset(next);
            at = at.wrapping_sub(total);
            left -= 1;

            let distance;
            (distance, offsets) = repeat(offsets, value, lit == 0);
            let match_at = w + lit;
            let from = match_at.wrapping_sub(distance);
            // An offset of 0, or beyond what was written, gives a place that is not before the
            // match; an offset below the length, a match that repeats itself.
            if !literals.wide(dst, read, w, lit, len) || from >= match_at || len > distance {
                break Some(Sequence { literals: lit, matched: len, offset: distance });
            }
            copy_literals(literals, read, dst, w, lit);
            copy_match(dst, from, match_at, len);
            read += lit;
            w = match_at + len;
        };

        self.literal = literal;
        self.matched = matched;
        self.offset = offset;
        self.offsets = offsets;
        self.left = left;
        self.end = at.wrapping_add(57);
        out.set_at(w);
        literals.set_at(read);
        result
    }
}

/// Copies in steps of 16 bytes, up to 15 more than `len`.
#[inline(always)]
fn copy_literals<L: FastLiterals>(literals: &L, from: u32, dst: &mut [u8], to: u32, len: u32) {
    let (from, to, len) = (from as usize, to as usize, len as usize);
    let chunk: [u8; 16] = literals.chunk(dst, from);
    dst[to..to + 16].copy_from_slice(&chunk);
    if len > 16 {
        let mut done = 16;
        while done < len {
            let chunk: [u8; 16] = literals.chunk(dst, from + done);
            dst[to + done..to + done + 16].copy_from_slice(&chunk);
            done += 16;
        }
    }
}

/// Copies in steps of 32 bytes, up to 31 more than `len`, each loaded whole before it is stored.
/// The two places are at least `len` apart.
#[inline(always)]
fn copy_match(dst: &mut [u8], from: u32, to: u32, len: u32) {
    let (from, to, len) = (from as usize, to as usize, len as usize);
    copy_32(dst, from, to);
    if len > 32 {
        let whole = len & !31;
        let (before, after) = dst.split_at_mut(to);
        if let (Some(before), Some(after)) =
            (before.get(from..from + whole), after.get_mut(..whole))
        {
            for (from, to) in before.chunks_exact(32).zip(after.chunks_exact_mut(32)) {
                to.copy_from_slice(from);
            }
        }
        copy_32(dst, from + whole, to + whole);
    }
}

#[inline(always)]
fn copy_32(dst: &mut [u8], from: usize, to: usize) {
    let mut chunk = [0; 32];
    chunk.copy_from_slice(&dst[from..from + 32]);
    dst[to..to + 32].copy_from_slice(&chunk);
}

/// Executes any sequence, byte-exact and with every check.
fn execute<L: Literals + ?Sized>(
    sequence: Sequence,
    out: &mut Output<'_>,
    literals: &mut L,
) -> Result<(), ErrorKind> {
    literals.copy(sequence.literals as usize, sequence.matched as usize, out)?;
    out.repeat(sequence.offset, sequence.matched as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8878, 3.1.1.5, as it is written there.
    fn plainly([a, b, c]: Offsets, value: u32, no_literals: bool) -> (u32, Offsets) {
        match (value, no_literals) {
            (0, false) => (a, [a, b, c]),
            (1, false) | (0, true) => (b, [b, a, c]),
            (2, false) | (1, true) => (c, [c, a, b]),
            (2, true) => (a.wrapping_sub(1), [a.wrapping_sub(1), a, b]),
            _ => (value - 3, [value - 3, a, b]),
        }
    }

    #[test]
    fn repeated_offsets_as_the_specification_has_them() {
        for value in (0..40).filter(|value| *value != 3) {
            for offsets in [[1, 4, 8], [7, 7, 7], [100, 1, 30], [0, 5, u32::MAX]] {
                for no_literals in [false, true] {
                    let expected = plainly(offsets, value, no_literals);
                    assert_eq!(repeat(offsets, value, no_literals), expected);
                }
            }
        }
        // The largest offset that can be written down.
        assert_eq!(repeat([1, 4, 8], u32::MAX, true).0, u32::MAX - 3);
    }
}

//! A compressed block: literals, then sequences, from one set of tables to the next.
//!
//! Sources: RFC 8878, 3.1.1.3.

use super::fse::{self, Description, Scratch};
use super::literals::{self, Huffman};
use super::output::{Apart, FastLiterals, Literals, Output, Tail};
use super::sequences::{self, Offsets, Run, Sequence, Tables};
use super::tables::{
    Entry, LITERAL_COUNTS, LITERAL_DEFAULT, LITERAL_LENGTHS, MATCH_COUNTS, MATCH_DEFAULT,
    MATCH_LENGTHS, OFFSET_COUNTS, OFFSET_DEFAULT, OFFSETS, Templates, literal_lengths,
    match_lengths, offsets,
};
use super::wrong;
use crate::WIDE;
use crate::error::ErrorKind;
use crate::zstd::Fault;
use crate::zstd::frame::Literals as Section;

/// What one block leaves for the next.
pub(super) struct State {
    huffman: Huffman,
    tables: Tables,
    offsets: Offsets,
    scratch: Scratch,
}

impl State {
    pub(super) const fn new() -> Self {
        Self {
            huffman: Huffman::new(),
            tables: Tables::new(),
            offsets: [0; 3],
            scratch: Scratch::new(),
        }
    }

    /// What a frame begins with: no table, and the offsets of RFC 8878, 3.1.1.5.
    pub(super) fn begin(&mut self) {
        self.huffman.forget();
        self.tables.logs = [None; 3];
        self.offsets = [1, 4, 8];
    }
}

/// Decodes the block that is `src[at..]`; what stands before it is not looked at, but makes
/// loads possible. `buffer` is for the literals where they cannot wait in the output. With `TAIL`
/// they always can, and the code for anything else is left out.
pub(super) fn decode<const TAIL: bool>(
    state: &mut State,
    buffer: &mut [u8],
    src: &[u8],
    at: usize,
    out: &mut Output<'_>,
) -> Result<(), ErrorKind> {
    const CORRUPT: ErrorKind = wrong(Fault::Corrupt);
    let section = Section::read(&src[at..]).ok_or(CORRUPT)?;
    let count = section.count as usize;
    let begin = at + section.header;
    let after = begin + section.stored;
    let stored = src.get(begin..after).ok_or(CORRUPT)?;
    out.fits(count)?;

    let State { huffman, scratch, .. } = state;
    if TAIL || (section.kind != 0 && !out.is_ring()) {
        let (place, from) = out.tail(count)?;
        literals::decode(&section, stored, huffman, scratch, place)?;
        let literals = Tail::new(out, from);
        return execute(state, literals, src, after, out);
    }
    if section.kind == 0 {
        return execute(state, Apart::new(&src[begin..], count), src, after, out);
    }
    let place = buffer.get_mut(..count).ok_or(CORRUPT)?;
    literals::decode(&section, stored, huffman, scratch, place)?;
    execute(state, Apart::new(buffer, count), src, after, out)
}

/// Reads the sequences section, which is `src[at..]`, and executes it. Where there is no fast loop,
/// which is made for each kind of literals, one code serves them all.
fn execute<L: FastLiterals>(
    state: &mut State,
    mut literals: L,
    src: &[u8],
    at: usize,
    out: &mut Output<'_>,
) -> Result<(), ErrorKind> {
    if WIDE {
        let fast =
            |run: &mut Run<'_>, out: &mut Output<'_>, literals: &mut L| run.fast(out, literals);
        execute_by(state, &mut literals, src, at, out, fast)
    } else {
        execute_by::<dyn Literals>(state, &mut literals, src, at, out, sequences::never)
    }
}

/// See [`sequences::run`] for `fast`.
fn execute_by<L: Literals + ?Sized>(
    state: &mut State,
    literals: &mut L,
    src: &[u8],
    at: usize,
    out: &mut Output<'_>,
    fast: impl Fn(&mut Run<'_>, &mut Output<'_>, &mut L) -> Option<Sequence>,
) -> Result<(), ErrorKind> {
    let (count, len) = count(&src[at..]).ok_or(wrong(Fault::SequenceBits))?;
    if count > 0 {
        let bits = at + len + read_tables(state, &src[at + len..])?;
        let State { tables, offsets, .. } = state;
        sequences::run(tables, offsets, src, bits, count, out, literals, fast)?;
    } else if at + len < src.len() {
        return Err(wrong(Fault::SequenceBits));
    }
    let rest = literals.left();
    literals.copy(rest, 0, out)
}

/// The number of sequences and the length of that number (RFC 8878, 3.1.1.3.2.1).
fn count(src: &[u8]) -> Option<(u32, usize)> {
    match *src {
        [a @ 0..=127, ..] => Some((u32::from(a), 1)),
        [a @ 128..=254, b, ..] => Some(((u32::from(a) - 128) << 8 | u32::from(b), 2)),
        [255, b, c, ..] => Some((u32::from(u16::from_le_bytes([b, c])) + 0x7f00, 3)),
        _ => None,
    }
}

/// Reads the modes of the three tables and the tables themselves; returns how long they are.
fn read_tables(state: &mut State, src: &[u8]) -> Result<usize, ErrorKind> {
    let State { tables: Tables { literal, matched, offset, logs }, scratch, .. } = state;
    let modes = *src.first().ok_or(wrong(Fault::SequenceBits))?;
    if modes & 3 != 0 {
        return Err(wrong(Fault::ReservedModes));
    }
    let [literal_log, matched_log, offset_log] = logs;
    let mut len = 1;
    len += LITERAL.read(modes >> 6, &src[len..], literal, literal_log, scratch)?;
    len += OFFSET.read(modes >> 4 & 3, &src[len..], offset, offset_log, scratch)?;
    len += MATCH.read(modes >> 2 & 3, &src[len..], matched, matched_log, scratch)?;
    Ok(len)
}

static LITERAL: Kind = Kind {
    symbols: 36,
    max_log: 9,
    made: if WIDE { Some((&LITERAL_DEFAULT, &LITERAL_LENGTHS)) } else { None },
    counts: &LITERAL_COUNTS,
    templates: literal_lengths,
};
static OFFSET: Kind = Kind {
    symbols: 32,
    max_log: 8,
    made: if WIDE { Some((&OFFSET_DEFAULT, &OFFSETS)) } else { None },
    counts: &OFFSET_COUNTS,
    templates: offsets,
};
static MATCH: Kind = Kind {
    symbols: 53,
    max_log: 9,
    made: if WIDE { Some((&MATCH_DEFAULT, &MATCH_LENGTHS)) } else { None },
    counts: &MATCH_COUNTS,
    templates: match_lengths,
};

/// What the three kinds of table differ in.
struct Kind {
    symbols: usize,
    max_log: u32,
    /// The predefined table and the templates, where they are not made when they are needed.
    made: Option<(&'static [Entry], &'static Templates)>,
    /// What they are made from.
    counts: &'static [i8],
    templates: fn() -> Templates,
}

impl Kind {
    /// Makes the predefined table of `1 << log` states.
    fn build_default(&self, log: u32, table: &mut [Entry], scratch: &mut Scratch) {
        for (count, &of_default) in scratch.counts.iter_mut().zip(self.counts) {
            *count = of_default.into();
        }
        let description = Description { log, symbols: self.counts.len(), len: 0 };
        self.build(&description, table, scratch);
    }

    /// Makes the table that `scratch.counts` describes.
    fn build(&self, description: &Description, table: &mut [Entry], scratch: &mut Scratch) {
        match self.made {
            Some((_, templates)) => fse::build(table, description, templates, scratch),
            None => fse::build(table, description, &(self.templates)(), scratch),
        }
    }

    /// Makes the table ready that `mode` asks for, from the front of `src`; returns the bytes used.
    fn read(
        &self,
        mode: u8,
        src: &[u8],
        table: &mut [Entry],
        log: &mut Option<u8>,
        scratch: &mut Scratch,
    ) -> Result<usize, ErrorKind> {
        const BAD: ErrorKind = wrong(Fault::FseTable);
        match mode {
            0 => {
                let of_default = self.max_log - 3;
                match self.made {
                    Some((default, _)) => table[..default.len()].copy_from_slice(default),
                    None => self.build_default(of_default, table, scratch),
                }
                *log = Some(of_default as u8);
                Ok(0)
            }
            1 => {
                *log = None;
                let symbol = usize::from(*src.first().ok_or(BAD)?);
                if symbol >= self.symbols {
                    return Err(BAD);
                }
                // A single state, which no bits lead away from.
                table[0] = match self.made {
                    Some((_, templates)) => templates[symbol],
                    None => (self.templates)()[symbol],
                };
                *log = Some(0);
                Ok(1)
            }
            2 => {
                *log = None;
                let counts = &mut scratch.counts;
                let description =
                    fse::describe(src, self.max_log, self.symbols, counts).ok_or(BAD)?;
                self.build(&description, table, scratch);
                *log = Some(description.log as u8);
                Ok(description.len)
            }
            _ if log.is_none() => Err(wrong(Fault::NoTable)),
            _ => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_predefined_tables_are_what_their_counts_make() {
        let mut scratch = Scratch::new();
        let kinds: [(&Kind, u32, &[Entry]); 3] = [
            (&LITERAL, 6, &LITERAL_DEFAULT),
            (&OFFSET, 5, &OFFSET_DEFAULT),
            (&MATCH, 6, &MATCH_DEFAULT),
        ];
        for (kind, log, made) in kinds {
            let mut table = [0; 512];
            kind.build_default(log, &mut table, &mut scratch);
            assert_eq!(&table[..1 << log], made);
            // Made tables are room in an image, which narrow processors do without.
            assert_eq!(kind.made.map(|(table, _)| table), WIDE.then_some(made));
            assert_eq!(kind.max_log - 3, log);
        }
    }
}

//! The machine that checks a whole header and judges the file by it.
//!
//! It reads as [`Reader`] does and gives the same items, every key among them, and adds what
//! takes the whole table: names that stand twice, tensors that overlap, order and gaps, padding,
//! strings that are not UTF-8, and, where the input's length is known, bytes that are missing or
//! left over. Tensor data is not read.
//!
//! ```text
//!  Reader's items --> padding before the data --> Done
//!                                                  | end()
//!          warnings about the whole table <--------+--------> fault
//!                       |
//!                       v
//!                   verdict()
//! ```
//!
//! The verdict exists after [`Machine::end`] has said [`End::Complete`]; every driver calls it.
//!
//! Names and extents take 32 bytes each of the second storage, of keys and then of tensors.
//! Where it is too small, [`Note::Unchecked`] says which check was not made; tensors that lie in
//! the order of their table need none for overlap.
//!
//! ```
//! use rocload_core::gguf::{Check, Options, Want};
//! use rocload_core::{End, Machine, Need, visit};
//! # let file: &[u8] = rocload_core::gguf::EXAMPLE;
//!
//! // One byte of the tensor's 32 has not arrived.
//! let total = file.len() as u64 - 1;
//! let mut check = Check::new(Some(total), Options::default(), [0u8; 64], [0u8; 256], Want::Key);
//! while let Need::At { offset, .. } = check.need() {
//!     visit(&mut check, offset, &file[offset as usize..], |_| {})?;
//! }
//! assert_eq!(check.end()?, End::Complete);
//! assert_eq!(check.verdict().unwrap().missing, Some(1));
//! # Ok::<(), rocload_core::Error>(())
//! ```

use super::fault::{Fault, Level, Note, Strictness, Unchecked, Warning};
use super::interest::{Interest, Want};
use super::reader::{DataStart, Header, Item, Items, Key, Options, Reader};
use super::table::{Row, Table, hash};
use super::tensor::{TensorInfo, pad};
use super::value::{ValueKind, ValueType};
use crate::error::{Error, ErrorKind};
use crate::need::{End, Machine, Need, Step, Storage};

/// What a header says of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Where the header ends and the data begins.
    pub start: DataStart,
    /// Bytes of all tensors of a known size, without padding.
    pub data_bytes: u64,
    /// Tensors whose type, and so whose size, is not known.
    pub unsized_tensors: u64,
    /// Absolute offset behind the last byte that the header or a tensor of a known size takes:
    /// what the file must have.
    pub needed: u64,
    /// Bytes of those that the file has not; `None` = its length is not known.
    pub missing: Option<u64>,
    /// Bytes behind the last tensor and its padding; `None` = unknown.
    pub trailing: Option<u64>,
    /// Bytes between tensors, and before the first, that belong to none and are no padding;
    /// `None` = unknown.
    pub gaps: Option<u64>,
    /// Tensors lie in the order of their table.
    pub in_order: bool,
    /// How many warnings there were.
    pub warnings: u64,
}

impl Verdict {
    /// No byte is known to be missing.
    pub const fn is_whole(&self) -> bool {
        matches!(self.missing, None | Some(0))
    }
}

/// The caller's interest, and what the check wants besides.
#[derive(Debug, Clone)]
struct Careful<I> {
    inner: I,
    kept_string: u64,
}

impl<I: Interest> Interest for Careful<I> {
    fn want(&mut self, key: &Key<'_>, architecture: Option<&[u8]>) -> Want {
        let look = match key.kind {
            ValueKind::String { len } => len <= self.kept_string,
            ValueKind::Array { element, .. } => element == ValueType::Bool,
            ValueKind::Scalar(_) => false,
        };
        let want = self.inner.want(key, architecture);
        if look { Want::Value } else { want.max(Want::Key) }
    }
}

/// UTF-8 over the parts of a string.
#[derive(Debug, Clone, Copy, Default)]
struct Utf8 {
    /// The bytes of a character that a part ended within.
    open: [u8; 4],
    len: usize,
    bad: bool,
}

impl Utf8 {
    fn part(&mut self, mut bytes: &[u8]) {
        // Byte by byte to the end of the character that is open.
        while self.len > 0 && !self.bad {
            let Some((&byte, rest)) = bytes.split_first() else { return };
            bytes = rest;
            self.open[self.len] = byte;
            self.len += 1;
            match core::str::from_utf8(&self.open[..self.len]) {
                Ok(_) => self.len = 0,
                Err(error) => self.bad = error.error_len().is_some(),
            }
        }
        if let Err(error) = core::str::from_utf8(bytes) {
            let tail = &bytes[error.valid_up_to()..];
            match error.error_len() {
                Some(_) => self.bad = true,
                None => {
                    self.open[..tail.len()].copy_from_slice(tail);
                    self.len = tail.len();
                }
            }
        }
    }

    const fn is_broken(&self) -> bool {
        self.bad || self.len > 0
    }
}

/// Tensors in the order of their table: what needs no memory of each.
#[derive(Debug, Clone, Copy)]
struct Extents {
    /// The end of the tensor before, padded; `None` = its size is not known.
    next: Option<u64>,
    /// The start of the tensor before.
    last: u64,
    gaps: u64,
    /// The end of all tensors so far, laid one behind the other.
    packed: u64,
    /// The first tensor that does not begin there, and where that is.
    misplaced: Option<(u32, u64)>,
    /// The first tensor that begins before the end of the one ahead of it.
    out_of_order: Option<u32>,
    /// The end of the last tensor that has data.
    end: u64,
    /// A tensor of unknown size lies behind that.
    open: bool,
    data_bytes: u64,
    unsized_tensors: u64,
}

impl Extents {
    const NONE: Extents = Extents {
        next: Some(0),
        last: 0,
        gaps: 0,
        packed: 0,
        misplaced: None,
        out_of_order: None,
        end: 0,
        open: false,
        data_bytes: 0,
        unsized_tensors: 0,
    };

    fn add(&mut self, info: &TensorInfo, alignment: u32) {
        // A tensor of unknown type with elements has a byte at least.
        let size = info.size.unwrap_or(u64::from(info.elements > 0));
        let end = info.offset.saturating_add(size);
        self.data_bytes = self.data_bytes.saturating_add(info.size.unwrap_or(0));
        self.unsized_tensors += u64::from(info.size.is_none());
        if size > 0 && end >= self.end {
            self.end = end;
            self.open = info.size.is_none();
        }
        if info.offset != self.packed {
            self.misplaced.get_or_insert((info.ordinal, self.packed));
        }
        self.packed = self.packed.saturating_add(pad(size, alignment));
        let least = self.next.unwrap_or(self.last);
        if info.offset < least && size > 0 {
            self.out_of_order.get_or_insert(info.ordinal);
        } else if self.next.is_some() && size > 0 {
            self.gaps = self.gaps.saturating_add(info.offset.saturating_sub(least));
        }
        if size > 0 {
            self.last = end;
            self.next = info.size.map(|_| pad(end, alignment));
        }
    }
}

/// What `item` gives.
#[derive(Debug, Clone, Copy)]
enum Emit {
    Reader,
    Warning(Warning),
}

const NOTES: usize = 8;

/// Checks a header; see the module's text.
#[derive(Debug, Clone)]
pub struct Check<S, T, I> {
    reader: Reader<S, Careful<I>>,
    table: Table<T>,
    total: Option<u64>,
    strictness: Strictness,
    emit: Emit,
    notes: [Option<Warning>; NOTES],
    warnings: u64,
    utf8: Utf8,
    /// Where the current key begins, if its value is a string to look at.
    string: Option<u64>,
    /// What is judged is the whole table, no one entry.
    whole: bool,
    /// The rows of the table are tensors, no longer keys.
    tensors: bool,
    unchecked_keys: bool,
    extents: Extents,
    /// Padding that has been read.
    padding: u64,
    /// The first byte of it that is not 0.
    odd_padding: Option<u64>,
    verdict: Option<Verdict>,
    failed: Option<Error>,
}

impl<S: Storage, T: Storage, I: Interest> Check<S, T, I> {
    /// Checks an input of `total` bytes (`None` = unknown). `names` is the [`Reader`]'s
    /// storage, `table` that of the module's text. `interest` says which values are shown;
    /// more are: every key, short strings and arrays of bools. It is never asked whether it is
    /// satisfied.
    pub const fn new(
        total: Option<u64>,
        options: Options,
        names: S,
        table: T,
        interest: I,
    ) -> Self {
        let interest = Careful { inner: interest, kept_string: options.limits.gguf_kept_string };
        Check {
            reader: Reader::new(total, options, names, interest),
            table: Table::new(table),
            total,
            strictness: options.strictness,
            emit: Emit::Reader,
            notes: [None; NOTES],
            warnings: 0,
            utf8: Utf8 { open: [0; 4], len: 0, bad: false },
            string: None,
            whole: false,
            tensors: false,
            unchecked_keys: false,
            extents: Extents::NONE,
            padding: 0,
            odd_padding: None,
            verdict: None,
            failed: None,
        }
    }

    /// The verdict, once [`Machine::end`] has said that the reading is complete.
    pub const fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// The header: see [`Reader::header`].
    pub const fn header(&self) -> Header {
        self.reader.header()
    }

    /// The value of `general.architecture`: see [`Reader::architecture`].
    pub fn architecture(&self) -> Option<&[u8]> {
        self.reader.architecture()
    }

    /// Where the data begins: see [`Reader::data_start`].
    pub const fn data_start(&self) -> Option<DataStart> {
        self.reader.data_start()
    }

    /// The name of the key or tensor that is being read or was read last: see [`Reader::name`].
    /// Empty too when the last entry is not what an error is about.
    pub fn name(&self) -> &[u8] {
        if self.whole { &[] } else { self.reader.name() }
    }

    /// Absolute offset of what is to be read next, and how many bytes it has at least: see
    /// [`Reader::wanted`].
    pub fn wanted(&self) -> (u64, u64) {
        self.reader.wanted()
    }

    fn note(&mut self, note: Note, offset: u64) -> Result<(), Error> {
        match note.level(self.strictness) {
            Level::Silent => Ok(()),
            Level::Warn => {
                if let Some(slot) = self.notes.iter_mut().find(|slot| slot.is_none()) {
                    *slot = Some(Warning { note, offset });
                }
                Ok(())
            }
            Level::Refuse => Err(Error::new(ErrorKind::Gguf(Fault::Refused(note)), offset)),
        }
    }

    fn next_note(&mut self) -> Option<Warning> {
        let first = self.notes[0].take()?;
        self.notes.rotate_left(1);
        self.warnings += 1;
        Some(first)
    }

    /// Padding before the data that is still to be read.
    fn padding_left(&self) -> u64 {
        let Some(start) = self.reader.data_start() else { return 0 };
        start
            .offset
            .min(self.total.unwrap_or(u64::MAX))
            .saturating_sub(start.header_end + self.padding)
    }

    fn advance(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let Some(warning) = self.next_note() {
            self.emit = Emit::Warning(warning);
            return Ok(Step::item(0));
        }
        if self.reader.need() != Need::Done {
            let step = self.reader.step(offset, input)?;
            if step.ready {
                self.emit = Emit::Reader;
                self.look(input)?;
            }
            return Ok(step);
        }
        let Need::At { offset: wanted, .. } = self.need() else { return Ok(Step::WAIT) };
        if offset != wanted {
            return Err(Error::new(ErrorKind::Offset { wanted, given: offset }, offset));
        }
        let left = self.padding_left();
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        if let Some(at) = input[..len].iter().position(|&byte| byte != 0) {
            self.odd_padding.get_or_insert(offset + at as u64);
        }
        self.padding += len as u64;
        Ok(Step::consumed(len))
    }

    /// Looks at the reader's item.
    fn look(&mut self, input: &[u8]) -> Result<(), Error> {
        match self.reader.item(input) {
            Item::Key(key) => {
                let (begin, count) = (key.offset, self.reader.header().keys);
                let at = u32::try_from(begin).unwrap_or(u32::MAX);
                let row = Row { hash: hash(key.name), ordinal: key.ordinal, at, start: 0, end: 0 };
                let string = matches!(key.kind, ValueKind::String { .. }).then_some(begin);
                self.table.push(row, count);
                (self.string, self.utf8) = (string, Utf8::default());
            }
            Item::Text(text) => {
                if let Some(begin) = self.string {
                    self.utf8.part(text.bytes);
                    if text.is_last() && self.utf8.is_broken() {
                        self.note(Note::NotUtf8, begin)?;
                    }
                }
            }
            Item::Tensor(tensor) => {
                let (info, name) = (tensor.info, hash(tensor.name));
                if !self.tensors {
                    self.keys_over()?;
                }
                self.tensor(&info, name);
            }
            Item::Warning(_) => self.warnings += 1,
            Item::Header(_) | Item::Value(_) | Item::Elements(_) | Item::Inner { .. } => {}
        }
        Ok(())
    }

    /// All keys are known.
    fn keys_over(&mut self) -> Result<(), Error> {
        self.unchecked_keys = self.table.is_full();
        if let Some((one, two)) = self.table.repeated() {
            self.whole = true;
            let fault = Fault::DuplicateKey { first: one.ordinal, second: two.ordinal };
            return Err(Error::new(ErrorKind::Gguf(fault), two.at.into()));
        }
        self.table.clear();
        self.tensors = true;
        Ok(())
    }

    fn tensor(&mut self, info: &TensorInfo, hash: u64) {
        let size = info.size.unwrap_or(u64::from(info.elements > 0));
        let row = Row {
            hash,
            start: info.offset,
            end: info.offset.saturating_add(size),
            ordinal: info.ordinal,
            at: u32::try_from(info.row).unwrap_or(u32::MAX),
        };
        self.table.push(row, self.reader.header().tensors);
        // All keys have been read, so this is final.
        self.extents.add(info, self.reader.alignment());
    }

    /// Everything was read: judges it.
    fn finish(&mut self) -> Result<(), Error> {
        let Some(start) = self.reader.data_start() else { return Ok(()) };
        if !self.tensors {
            self.keys_over()?;
        }
        if self.unchecked_keys {
            self.note(Note::Unchecked(Unchecked::Keys), start.header_end)?;
        }
        if self.table.is_full() {
            self.note(Note::Unchecked(Unchecked::Names), start.header_end)?;
        }
        if let Some((one, two)) = self.table.repeated() {
            let fault = Fault::DuplicateTensor { first: one.ordinal, second: two.ordinal };
            return Err(Error::new(ErrorKind::Gguf(fault), two.at.into()));
        }
        let extents = self.extents;
        if let Some((ordinal, wanted)) = extents.misplaced {
            self.note(Note::Misplaced { ordinal, wanted }, start.header_end)?;
        }
        let gaps = match extents.out_of_order {
            None => Some(extents.gaps),
            Some(_) => self.gaps_out_of_order(&start)?,
        };
        if let Some(ordinal) = extents.out_of_order {
            self.note(Note::OutOfOrder { ordinal }, start.header_end)?;
            if gaps.is_none() {
                self.note(Note::Unchecked(Unchecked::Overlap), start.header_end)?;
            }
        }
        if let Some(bytes @ 1..) = gaps {
            self.note(Note::Gap { bytes }, start.offset)?;
        }
        if let Some(offset) = self.odd_padding {
            self.note(Note::PaddingNotZero, offset)?;
        }
        let needed = if extents.end == 0 { start.header_end } else { start.offset + extents.end };
        let behind = if extents.end == 0 { start.padded } else { pad(needed, start.alignment) };
        let trailing =
            self.total.filter(|_| !extents.open).map(|total| total.saturating_sub(behind));
        if let Some(bytes @ 1..) = trailing {
            self.note(Note::Trailing { bytes }, behind)?;
        }
        self.verdict = Some(Verdict {
            start,
            data_bytes: extents.data_bytes,
            unsized_tensors: extents.unsized_tensors,
            needed,
            missing: self.total.map(|total| needed.saturating_sub(total)),
            trailing,
            gaps,
            in_order: extents.out_of_order.is_none(),
            warnings: 0,
        });
        Ok(())
    }

    /// Overlap and gaps of tensors in any order; `None` = not all of them are in the table.
    fn gaps_out_of_order(&mut self, start: &DataStart) -> Result<Option<u64>, Error> {
        let (mut end, mut last, mut gaps) = (0u64, 0, 0u64);
        for row in self.table.in_order_of_data().filter(|row| row.end > row.start) {
            if row.start < end {
                let fault = Fault::Overlap { first: last, second: row.ordinal };
                let offset = start.offset.saturating_add(row.start);
                return Err(Error::new(ErrorKind::Gguf(fault), offset));
            }
            gaps = gaps.saturating_add(row.start.saturating_sub(pad(end, start.alignment)));
            (end, last) = (row.end, row.ordinal);
        }
        // After a tensor of unknown size there is no telling a gap from its data.
        let known = !self.table.is_full();
        Ok(known.then_some(if self.extents.unsized_tensors > 0 { 0 } else { gaps }))
    }
}

impl<S: Storage, T: Storage, I: Interest> Machine for Check<S, T, I> {
    type Kind = Items;

    fn need(&self) -> Need {
        if self.failed.is_some() {
            return Need::Done;
        }
        match self.reader.need() {
            Need::Done => {}
            need => return need,
        }
        let header_end = self.reader.data_start().map_or(0, |start| start.header_end);
        let at = |hint| Need::At { offset: header_end + self.padding, min: 1, hint };
        match self.padding_left() {
            0 if self.notes[0].is_none() || self.verdict.is_some() => Need::Done,
            left => at(left.max(1)),
        }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.verdict.is_some() {
            return Ok(Step::WAIT);
        }
        let step = self.advance(offset, input);
        self.failed = step.err();
        step
    }

    fn item<'i>(&'i self, input: &'i [u8]) -> Item<'i> {
        match self.emit {
            Emit::Reader => self.reader.item(input),
            Emit::Warning(warning) => Item::Warning(warning),
        }
    }

    fn end(&mut self) -> Result<End, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.reader.data_start().is_some() && self.verdict.is_none() {
            self.whole = true;
            let judged = self.finish();
            self.failed = judged.err();
            judged?;
        }
        if let Some(warning) = self.next_note() {
            self.emit = Emit::Warning(warning);
            return Ok(End::Item);
        }
        match self.reader.end() {
            Ok(End::Item) => {
                self.emit = Emit::Reader;
                self.warnings += 1;
                Ok(End::Item)
            }
            Ok(end) => {
                let warnings = self.warnings;
                if let Some(verdict) = &mut self.verdict {
                    verdict.warnings = warnings;
                }
                Ok(end)
            }
            Err(error) => {
                self.failed = Some(error);
                Err(error)
            }
        }
    }
}

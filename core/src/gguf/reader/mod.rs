//! The machine that reads a file's header: keys with their values, then the tensor table.
//!
//! ```text
//!  magic, version, counts --> item Header
//!    |
//!    v
//!  key's length, name, type, head --> item Key --wanted--> Value | Text.. | Elements.. | Inner..
//!    ^   |  |                                      |
//!    |   |  +--not wanted: jump, or walk strings --+
//!    |   +-- general.alignment and general.architecture are read in any case
//!    +------------------------------------------------- next key
//!    |
//!    v no key left
//!  name's length, name, dimensions, type, offset --> item Tensor --> next tensor --> Done
//! ```
//!
//! It keeps the name of the current key or tensor in the [`Storage`], and nothing else: a file
//! of any size is read in constant memory. [`Need::At`] runs ahead over what is not wanted, so
//! that a file is seeked and a socket is read on. Rules that need the whole table (names that
//! stand twice, overlap, bounds) are [`Check`](super::Check)'s.
//!
//! Every count and length is held against the bytes left, where the input's length is known,
//! before anything is done for it.
//!
//! ```
//! use rocload_core::gguf::{Item, Options, Reader, Want};
//! use rocload_core::{Machine, Need, visit};
//! # let file: &[u8] = rocload_core::gguf::EXAMPLE;
//!
//! let mut reader = Reader::new(Some(file.len() as u64), Options::default(), [0u8; 64], Want::Value);
//! let (mut keys, mut tensors) = (0, 0);
//! while let Need::At { offset, .. } = reader.need() {
//!     visit(&mut reader, offset, &file[offset as usize..], |item| match item {
//!         Item::Key(_) => keys += 1,
//!         Item::Tensor(tensor) => tensors += tensor.info.elements,
//!         _ => {}
//!     })?;
//! }
//! assert_eq!((keys, tensors), (3, 8));
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: the GGUF specification; version 1 and byte orders as llama.cpp's history has them.

mod item;
mod keys;
mod need;
mod start;
mod tensors;
mod walk;

pub use item::{DataStart, Header, Item, Items, Key};

use super::GgmlType;
use super::fault::{Fault, Level, Note, Strictness, Warning};
use super::interest::{Interest, Want};
use super::tensor::{MAX_DIMS, Tensor, TensorInfo, pad};
use super::value::{Elements, Endian, Scalar, Text, ValueKind, ValueType};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::need::{End, Machine, Need, Step, Storage};

/// The first four bytes, in either byte order.
pub const MAGIC: [u8; 4] = *b"GGUF";
/// The alignment where `general.alignment` is absent, in bytes.
pub const DEFAULT_ALIGNMENT: u32 = 32;
/// Arrays within arrays at most, whatever `Limits::gguf_depth` says.
pub const MAX_DEPTH: usize = 8;
/// The longest architecture that is kept, in bytes.
pub const MAX_ARCHITECTURE: usize = 64;

/// Warnings that one step may give.
const NOTES: usize = 4;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The caps: those whose names begin with `gguf`, and `contiguous`, which must be 64 or
    /// more.
    pub limits: Limits,
    /// What is refused beyond what no reader can make sense of.
    pub strictness: Strictness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Magic,
    Version,
    Counts,
    KeyLength,
    /// Bytes of the key's name that are in the storage.
    KeyName(usize),
    KeyType,
    StringLength,
    ArrayHead,
    Scalar,
    /// A string whose first bytes, so many, have been shown.
    Text(u64),
    ElementLength,
    Elements,
    /// Strings of an array that are walked over.
    Strings,
    Inner,
    NameLength,
    Name(usize),
    Dimensions,
    Row,
    /// All was read.
    Done,
    /// The interest is satisfied.
    Stopped,
    Failed(Error),
}

/// What `item` gives.
#[derive(Debug, Clone, Copy)]
enum Emit {
    Header,
    Key,
    Value(Scalar),
    /// Bytes of the input.
    Text {
        from: usize,
        len: usize,
        index: u64,
        start: u64,
        of: u64,
    },
    Elements {
        from: usize,
        len: usize,
        ty: ValueType,
        first: u64,
        of: u64,
    },
    Inner {
        depth: u8,
        element: ValueType,
        len: u64,
    },
    Tensor,
    Warning(Warning),
}

/// An array that is being read.
#[derive(Debug, Clone, Copy)]
struct Frame {
    element: ValueType,
    len: u64,
    left: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Alignment,
    Architecture,
    Other,
}

/// What one turn of the machine came to.
enum Turn {
    Wait,
    On,
    Ready(Emit),
}

/// Reads a header; see the module's text for the state graph.
#[derive(Debug, Clone)]
pub struct Reader<S, I> {
    storage: S,
    interest: I,
    total: Option<u64>,
    limits: Limits,
    strictness: Strictness,
    /// Absolute offset of the next byte wanted.
    at: u64,
    state: State,
    emit: Emit,
    header: Header,
    keys_left: u64,
    tensors_left: u64,
    /// Where the current entry begins.
    begin: u64,
    /// The key that is being read or was shown last; its name is in the storage.
    key: (u32, u64),
    name_len: usize,
    /// The storage has all of that name, and it is that of the current entry.
    named: bool,
    kind: ValueKind,
    role: Role,
    want: Want,
    frames: [Frame; MAX_DEPTH],
    depth: usize,
    /// Length and index of the string that is being read.
    text: (u64, u64),
    /// The first bool of the current value that is neither 0 nor 1, and where.
    odd_bool: Option<(u8, u64)>,
    info: TensorInfo,
    alignment: u32,
    architecture: [u8; MAX_ARCHITECTURE],
    architecture_len: Option<usize>,
    notes: [Option<Warning>; NOTES],
    /// What is wrong behind the last part that was shown: told after it, so that as much is
    /// shown of a long value that comes in one chunk as of one that comes in many.
    doom: Option<Error>,
}

impl<S: Storage, I: Interest> Reader<S, I> {
    /// Reads an input of `total` bytes (`None` = unknown: caps alone guard against counts that
    /// lie). `storage` must hold or grow to the longest name of a key or tensor.
    pub const fn new(total: Option<u64>, options: Options, storage: S, interest: I) -> Self {
        Reader {
            storage,
            interest,
            total,
            limits: options.limits,
            strictness: options.strictness,
            at: 0,
            state: State::Magic,
            emit: Emit::Header,
            header: Header { version: 0, endian: Endian::Little, tensors: 0, keys: 0 },
            keys_left: 0,
            tensors_left: 0,
            begin: 0,
            key: (0, 0),
            name_len: 0,
            named: false,
            kind: ValueKind::Scalar(ValueType::U8),
            role: Role::Other,
            want: Want::Nothing,
            frames: [Frame { element: ValueType::U8, len: 0, left: 0 }; MAX_DEPTH],
            depth: 0,
            text: (0, 0),
            odd_bool: None,
            info: TensorInfo {
                ordinal: 0,
                ty: GgmlType(0),
                dims: [0; MAX_DIMS],
                n_dims: 0,
                elements: 0,
                offset: 0,
                size: None,
                row: 0,
            },
            alignment: DEFAULT_ALIGNMENT,
            architecture: [0; MAX_ARCHITECTURE],
            architecture_len: None,
            notes: [None; NOTES],
            doom: None,
        }
    }

    /// The header; its version is 0 until it has been read.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// The value of `general.architecture`, once it has been read; `None` also when it is no
    /// string or longer than [`MAX_ARCHITECTURE`].
    pub fn architecture(&self) -> Option<&[u8]> {
        self.architecture.get(..self.architecture_len?)
    }

    /// Where the data begins; `None` until everything has been read.
    pub const fn data_start(&self) -> Option<DataStart> {
        if !matches!(self.state, State::Done) || self.tensors_left > 0 {
            return None;
        }
        let (header_end, alignment) = (self.at, self.alignment);
        let padded = pad(header_end, alignment);
        let offset = if self.header.tensors == 0 { header_end } else { padded };
        Some(DataStart { header_end, padded, offset, alignment })
    }

    /// The alignment in bytes, as far as it has been read.
    pub const fn alignment(&self) -> u32 {
        self.alignment
    }

    /// The interest stopped the reading before its end.
    pub const fn stopped(&self) -> bool {
        matches!(self.state, State::Stopped)
    }

    /// The interest, back.
    pub const fn interest(&self) -> &I {
        &self.interest
    }

    /// The name of the key or tensor that is being read or was read last; empty while a name is
    /// being read, and after an error or at an end that is none of that entry's.
    pub fn name(&self) -> &[u8] {
        let stored = if self.named { self.storage.slots().get(..self.name_len) } else { None };
        stored.unwrap_or(&[])
    }

    /// Absolute offset of what is to be read next, and how many bytes it has at least: of a name
    /// or a value all that are left. An input that ends before that is truncated.
    pub fn wanted(&self) -> (u64, u64) {
        let most = match self.state {
            State::KeyName(have) | State::Name(have) => self.name_len.saturating_sub(have) as u64,
            State::Text(done) => self.text.0 - done,
            State::Elements => {
                let size = |frame: Frame| frame.element.size().unwrap_or(1);
                self.frame().map_or(0, |frame| frame.left.saturating_mul(size(frame)))
            }
            _ => 0,
        };
        (self.at, most.max(self.min() as u64))
    }

    fn shown(&self) -> bool {
        self.want == Want::Value
    }

    fn error(&self, fault: Fault) -> Error {
        Error::new(ErrorKind::Gguf(fault), self.at)
    }

    /// Bytes of a count, a length or a dimension.
    const fn width(&self) -> usize {
        if self.header.version == 1 { 4 } else { 8 }
    }

    fn u32(&self, rest: &[u8]) -> Option<u32> {
        rest.first_chunk().map(|bytes| self.header.endian.u32(*bytes))
    }

    /// A count, a length or a dimension.
    fn word(&self, rest: &[u8]) -> Option<u64> {
        walk::word(rest, self.header)
    }

    /// The array that is being read; the innermost.
    fn frame(&self) -> Option<Frame> {
        self.frames.get(self.depth.checked_sub(1)?).copied()
    }

    /// Weighs what is unusual. What is worth a warning waits for the next item to be shown.
    fn note(&mut self, note: Note, offset: u64) -> Result<(), Error> {
        match note.level(self.strictness) {
            Level::Silent => {}
            Level::Warn => {
                if let Some(slot) = self.notes.iter_mut().find(|slot| slot.is_none()) {
                    *slot = Some(Warning { note, offset });
                }
            }
            Level::Refuse => {
                return Err(Error::new(ErrorKind::Gguf(Fault::Refused(note)), offset));
            }
        }
        Ok(())
    }

    /// Goes to a state whose bytes must be there.
    fn enter(&mut self, state: State) -> Result<Turn, Error> {
        self.state = state;
        let min = self.min() as u64;
        self.require(min)?;
        Ok(Turn::On)
    }

    fn advance(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let State::Failed(error) = self.state {
            return Err(error);
        }
        if matches!(self.state, State::ElementLength)
            && let Some(step) = self.next_string(offset, input)
        {
            return Ok(step);
        }
        if !self.in_head()
            && let Some(warning) = self.next_note()
        {
            self.emit = Emit::Warning(warning);
            return Ok(Step::item(0));
        }
        if matches!(self.state, State::Done | State::Stopped) {
            return Ok(Step::WAIT);
        }
        if offset != self.at {
            let kind = ErrorKind::Offset { wanted: self.at, given: offset };
            return Err(Error::new(kind, offset));
        }
        if let Some(error) = self.doom {
            return if input.len() < self.min() { Ok(Step::WAIT) } else { Err(error) };
        }
        loop {
            let from = self.gone(offset, input);
            match self.turn(&input[from..], from)? {
                Turn::Wait => return Ok(Step::consumed(from)),
                // What is noted of a key or tensor comes behind its item.
                Turn::On if self.in_head() => {}
                Turn::On => {
                    if let Some(warning) = self.next_note() {
                        self.emit = Emit::Warning(warning);
                        return Ok(Step::item(self.gone(offset, input)));
                    }
                }
                Turn::Ready(emit) => {
                    self.emit = emit;
                    return Ok(Step::item(self.gone(offset, input)));
                }
            }
            if let Some(error) = self.doom {
                return Err(error);
            }
        }
    }

    /// Bytes of the input that are used up: what is walked over may reach beyond it.
    fn gone(&self, offset: u64, input: &[u8]) -> usize {
        usize::try_from(self.at - offset).unwrap_or(usize::MAX).min(input.len())
    }

    fn between_entries(&self) -> bool {
        matches!(self.state, State::KeyLength | State::NameLength | State::Done | State::Stopped)
    }

    /// Before the item of a key or tensor: what is noted of it waits.
    fn in_head(&self) -> bool {
        matches!(
            self.state,
            State::Counts
                | State::KeyName(_)
                | State::KeyType
                | State::StringLength
                | State::ArrayHead
                | State::Name(_)
                | State::Dimensions
                | State::Row
        )
    }

    fn fail(&mut self, error: Error) {
        self.named &= !self.between_entries();
        self.state = State::Failed(error);
        self.notes = [None; NOTES];
    }

    fn next_note(&mut self) -> Option<Warning> {
        let first = self.notes[0].take()?;
        self.notes.rotate_left(1);
        Some(first)
    }

    fn turn(&mut self, rest: &[u8], from: usize) -> Result<Turn, Error> {
        match self.state {
            State::Magic => self.magic(rest),
            State::Version => self.version(rest),
            State::Counts => self.counts(rest),
            State::KeyLength => self.key_length(rest),
            State::KeyName(have) => self.collect(rest, have, State::KeyName, State::KeyType),
            State::KeyType => self.key_type(rest),
            State::StringLength => self.string_length(rest),
            State::ArrayHead => self.array_head(rest),
            State::Scalar => self.scalar(rest),
            State::Text(done) => self.string(rest, from, done),
            State::ElementLength => self.element_length(rest, from),
            State::Elements => self.elements(rest, from),
            State::Strings => self.strings(rest),
            State::Inner => self.inner(rest),
            State::NameLength => self.name_length(rest),
            State::Name(have) => self.collect(rest, have, State::Name, State::Dimensions),
            State::Dimensions => self.dimensions(rest),
            State::Row => self.row(rest),
            State::Done | State::Stopped | State::Failed(_) => Ok(Turn::Wait),
        }
    }
}

impl<S: Storage, I: Interest> Machine for Reader<S, I> {
    type Kind = Items;

    fn need(&self) -> Need {
        let over = matches!(self.state, State::Done | State::Stopped | State::Failed(_));
        if over && self.notes[0].is_none() {
            return Need::Done;
        }
        let min = self.min();
        Need::At { offset: self.at, min, hint: self.hint().max(min as u64) }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        let step = self.advance(offset, input);
        if let Err(error) = step {
            self.fail(error);
        }
        step
    }

    fn item<'i>(&'i self, input: &'i [u8]) -> Item<'i> {
        let part = |from: usize, len: usize| input.get(from..from + len).unwrap_or(&[]);
        match self.emit {
            Emit::Header => Item::Header(self.header),
            Emit::Key => {
                let (ordinal, offset) = self.key;
                Item::Key(Key { name: self.name(), ordinal, kind: self.kind, offset })
            }
            Emit::Value(value) => Item::Value(value),
            Emit::Text { from, len, index, start, of } => {
                Item::Text(Text { bytes: part(from, len), index, start, of })
            }
            Emit::Elements { from, len, ty, first, of } => Item::Elements(Elements {
                ty,
                endian: self.header.endian,
                first,
                of,
                bytes: part(from, len),
            }),
            Emit::Inner { depth, element, len } => Item::Inner { depth, element, len },
            Emit::Tensor => Item::Tensor(Tensor { name: self.name(), info: self.info }),
            Emit::Warning(warning) => Item::Warning(warning),
        }
    }

    fn end(&mut self) -> Result<End, Error> {
        if let State::Failed(error) = self.state {
            return Err(error);
        }
        if let Some(warning) = self.next_note() {
            self.emit = Emit::Warning(warning);
            return Ok(End::Item);
        }
        if let Some(error) = self.doom {
            self.fail(error);
            return Err(error);
        }
        // What the input lacks is no longer the last entry's.
        self.named &= !matches!(self.state, State::KeyLength | State::NameLength);
        Ok(match self.state {
            State::Done | State::Stopped => End::Complete,
            State::Magic | State::Version | State::Counts => End::Pending("the header"),
            State::KeyLength | State::KeyName(_) => End::Pending("a key"),
            State::NameLength | State::Name(_) => End::Pending("a tensor's name"),
            State::Dimensions | State::Row => End::Pending("a tensor"),
            _ => End::Pending("a value"),
        })
    }
}

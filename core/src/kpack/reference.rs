//! Reference metadata (HIPK): what a binary says of the archives that hold its device code.
//!
//! A binary whose device code was moved into archives keeps, for each translation unit, a
//! wrapper whose pointer leads to a MessagePack map such as
//! `{"kpack_search_paths": ["../.kpack/blas_lib_@GFXARCH@.kpack"], "kernel_name": "lib/libblas.so"}`.
//! The key in an archive is the kernel name, `#`, and the wrapper's co_index.
//!
//! Nothing says how long the map is. [`Measure`] finds out: it asks only for bytes that the ones
//! before have promised, and never looks into a string, so that a caller that has a bare pointer
//! touches nothing beyond the map. [`Reference`] is the view of it.
//!
//! ```text
//!   Measure: the head of each value, its payload passed over --> length in bytes --> Done
//!   Reference::parse(bytes) --> paths(), kernel_name(), key(co_index)
//! ```
//!
//! ```
//! use rocload_core::{Limits, Machine, Need};
//! use rocload_core::kpack::{Measure, Reference};
//!
//! let memory = b"\x82\xb2kpack_search_paths\x91\xa7a.kpack\xabkernel_name\xa8lib/a.so and more";
//! let limits = Limits::default();
//! let mut measure = Measure::new(&limits);
//! while let Need::At { offset, min, .. } = measure.need() {
//!     let at = offset as usize;
//!     let _ = measure.step(offset, &memory[at..at + min])?;
//! }
//! assert_eq!(measure.len(), Some(memory.len() as u64 - 9));
//!
//! let reference = Reference::parse(memory, &limits)?;
//! assert_eq!(reference.paths().collect::<Vec<_>>(), [b"a.kpack"]);
//! assert_eq!(reference.key(3).to_string(), "lib/a.so#3");
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: kpack format, section 3.

use core::fmt;

use super::fault::{Fault, Field};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use crate::msgpack::{Fault as MsgpackFault, Reader, Token, Type};
use crate::need::{End, ItemKind, Machine, Need, Step};

/// Reference metadata, borrowed from its bytes.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// At the first element of `kpack_search_paths`.
    paths: Reader<'a>,
    /// Elements there, whatever their types.
    elements: u32,
    depth: u8,
    kernel_name: &'a [u8],
    len: usize,
}

impl<'a> Reference<'a> {
    /// Reads the map at the front of `bytes`; what follows it is ignored, and so are keys that
    /// are not known and elements of the list that are no strings. Of a key that stands twice
    /// the last counts. At most [`Limits::reference_bytes`] are looked at.
    ///
    /// # Errors
    /// Broken MessagePack or none of a map; [`Fault::Missing`], [`Fault::Value`] and
    /// [`Fault::NoSearchPaths`]; [`ErrorKind::Limit`] where the map is longer than
    /// [`Limits::reference_bytes`] or the name than [`Limits::key_bytes`].
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Result<Self, Error> {
        let cap = limits.reference_bytes as usize;
        let capped = bytes.get(..cap).unwrap_or(bytes);
        let count = |fault: MsgpackFault| matches!(fault, MsgpackFault::Count { .. });
        Self::read(capped, limits).map_err(|error| {
            let cut = match error.kind {
                ErrorKind::Truncated { .. } => true,
                ErrorKind::Msgpack(fault) | ErrorKind::Kpack(Fault::Value { fault, .. }) => {
                    count(fault)
                }
                _ => false,
            };
            // It is not the input that ends there.
            if cut && capped.len() < bytes.len() {
                return too_long(bytes.len() as u64, limits);
            }
            error
        })
    }

    fn read(bytes: &'a [u8], limits: &Limits) -> Result<Self, Error> {
        let depth = limits.msgpack_depth;
        let mut reader = Reader::new(bytes, 0);
        let pairs = reader.map()?;
        let (mut paths, mut name) = (None, None);
        for _ in 0..pairs {
            let key = str_or_skip(&mut reader, depth.saturating_sub(1))?.unwrap_or(&[]);
            if key == Field::KpackSearchPaths.key().as_bytes() {
                let mut inside = reader;
                let elements =
                    inside.array().map_err(|error| value(Field::KpackSearchPaths, error))?;
                paths = Some((inside, elements));
                reader.skip(depth.saturating_sub(1))?;
            } else if key == Field::KernelName.key().as_bytes() {
                let at = reader.offset();
                name = Some((reader.str().map_err(|error| value(Field::KernelName, error))?, at));
            } else {
                reader.skip(depth.saturating_sub(1))?;
            }
        }
        let missing = |field| Error::new(ErrorKind::Kpack(Fault::Missing(field)), 0);
        let (paths, elements) = paths.ok_or_else(|| missing(Field::KpackSearchPaths))?;
        let (kernel_name, at) = name.ok_or_else(|| missing(Field::KernelName))?;
        if kernel_name.len() > limits.key_bytes as usize {
            let (value, limit) = (kernel_name.len() as u64, u64::from(limits.key_bytes));
            let kind = ErrorKind::Limit { cap: Cap::KeyBytes, value, limit };
            return Err(Error::new(kind, at));
        }
        let reference = Reference { paths, elements, depth, kernel_name, len: reader.position() };
        if reference.paths().next().is_none() {
            return Err(Error::new(ErrorKind::Kpack(Fault::NoSearchPaths), paths.offset()));
        }
        Ok(reference)
    }

    /// The paths of archives, in order: one or more. Not validated; `@GFXARCH@` stands for an
    /// architecture.
    pub const fn paths(&self) -> Paths<'a> {
        Paths { reader: self.paths, left: self.elements, depth: self.depth }
    }

    /// The binary's name as archives know it, without `#` and number.
    pub const fn kernel_name(&self) -> &'a [u8] {
        self.kernel_name
    }

    /// The key of a translation unit.
    pub const fn key(&self, co_index: u32) -> Key<'a> {
        Key { kernel_name: self.kernel_name, co_index }
    }

    /// The map's length, in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a map takes a byte at least")]
    pub const fn len(&self) -> usize {
        self.len
    }
}

/// The next value, if it is a string; another is passed over.
fn str_or_skip<'a>(reader: &mut Reader<'a>, depth: u8) -> Result<Option<&'a [u8]>, Error> {
    let mut ahead = *reader;
    if let Token::Str(text) = ahead.token()? {
        *reader = ahead;
        return Ok(Some(text));
    }
    reader.skip(depth)?;
    Ok(None)
}

/// The paths of [`Reference::paths`].
#[derive(Debug, Clone)]
pub struct Paths<'a> {
    reader: Reader<'a>,
    left: u32,
    depth: u8,
}

impl<'a> Iterator for Paths<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            if let Some(path) = str_or_skip(&mut self.reader, self.depth).ok()? {
                return Some(path);
            }
        }
        None
    }
}

impl core::iter::FusedIterator for Paths<'_> {}

fn value(field: Field, error: Error) -> Error {
    match error.kind {
        ErrorKind::Msgpack(fault) => {
            Error::new(ErrorKind::Kpack(Fault::Value { field, fault }), error.offset)
        }
        _ => error,
    }
}

fn too_long(value: u64, limits: &Limits) -> Error {
    let limit = u64::from(limits.reference_bytes);
    Error::new(ErrorKind::Limit { cap: Cap::ReferenceBytes, value, limit }, 0)
}

/// A key in an archive: `kernel_name#co_index`.
///
/// [`Display`](fmt::Display) shows bytes that are not UTF-8 as U+FFFD; the other methods are
/// exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    kernel_name: &'a [u8],
    co_index: u32,
}

impl<'a> Key<'a> {
    /// The key of a binary that archives know as `kernel_name`.
    pub const fn new(kernel_name: &'a [u8], co_index: u32) -> Self {
        Key { kernel_name, co_index }
    }

    /// The length in bytes; never 0.
    #[expect(clippy::len_without_is_empty, reason = "a key has two bytes at least")]
    pub fn len(&self) -> usize {
        self.kernel_name.len() + 1 + digits(self.co_index)
    }

    /// Writes the key to the front of `dst` and returns what was written.
    ///
    /// # Errors
    /// [`Full`] with the key's length, having written nothing.
    pub fn write_to<'d>(&self, dst: &'d mut [u8]) -> Result<&'d [u8], Full> {
        let need = self.len();
        let Some(dst) = dst.get_mut(..need) else {
            return Err(Full { need: need as u64 });
        };
        let (name, number) = dst.split_at_mut(self.kernel_name.len());
        name.copy_from_slice(self.kernel_name);
        number[0] = b'#';
        let mut left = self.co_index;
        for digit in number[1..].iter_mut().rev() {
            *digit = b'0' + (left % 10) as u8;
            left /= 10;
        }
        Ok(dst)
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::target::lossy(f, self.kernel_name)?;
        write!(f, "#{}", self.co_index)
    }
}

fn digits(number: u32) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Finds the length of reference metadata in memory whose end is not known.
///
/// As a [`Machine`] its one item is that length, in bytes. `min` of its [`Need::At`] is never more
/// than what the bytes before have promised, and payloads are passed over unread, so that a map
/// which is whole is measured without a look past it.
#[derive(Debug, Clone)]
pub struct Measure {
    at: u64,
    /// Values that are still to come.
    values: u64,
    /// A marker whose length or count is still to come: so many bytes of it.
    pending: Option<(u8, u8)>,
    limits: Limits,
    begun: bool,
    failed: Option<Error>,
}

impl Measure {
    /// Before the first byte. [`Limits::reference_bytes`] is the most that a map may take.
    pub const fn new(limits: &Limits) -> Self {
        let limits = *limits;
        Measure { at: 0, values: 1, pending: None, limits, begun: false, failed: None }
    }

    /// The length in bytes, once it is known.
    pub const fn len(&self) -> Option<u64> {
        if self.values == 0 && self.pending.is_none() { Some(self.at) } else { None }
    }

    /// Whether the map is not even measured to its end.
    pub const fn is_empty(&self) -> bool {
        self.len().is_none()
    }

    /// A marker of one byte, and how many bytes of length or count follow it.
    fn marker(&mut self, marker: u8) -> Result<(), Error> {
        let map = matches!(marker, 0x80..=0x8f | 0xde | 0xdf);
        if !self.begun && !map {
            let fault = match kind(marker) {
                Some(found) => MsgpackFault::Type { expected: Type::Map, found },
                None => MsgpackFault::Reserved,
            };
            return Err(Error::new(ErrorKind::Msgpack(fault), 0));
        }
        self.begun = true;
        let wide = |width| Some((marker, width));
        self.pending = match marker {
            0xc1 => return Err(Error::new(ErrorKind::Msgpack(MsgpackFault::Reserved), self.at)),
            0xc4 | 0xc7 | 0xd9 => wide(1),
            0xc5 | 0xc8 | 0xda | 0xdc | 0xde => wide(2),
            0xc6 | 0xc9 | 0xdb | 0xdd | 0xdf => wide(4),
            _ => None,
        };
        self.at += 1;
        if self.pending.is_some() {
            return Ok(());
        }
        let (payload, values) = match marker {
            0x80..=0x8f => (0, 2 * u64::from(marker & 0x0f)),
            0x90..=0x9f => (0, u64::from(marker & 0x0f)),
            0xa0..=0xbf => (u64::from(marker & 0x1f), 0),
            0xcc | 0xd0 => (1, 0),
            0xcd | 0xd1 => (2, 0),
            0xca | 0xce | 0xd2 => (4, 0),
            0xcb | 0xcf | 0xd3 => (8, 0),
            0xd4..=0xd8 => (1 + (1 << (marker - 0xd4)), 0),
            _ => (0, 0),
        };
        self.pass(payload, values)
    }

    /// The length or count after a marker.
    fn size(&mut self, marker: u8, bytes: &[u8]) -> Result<(), Error> {
        let size = bytes.iter().fold(0, |size, &byte| size << 8 | u64::from(byte));
        self.pending = None;
        self.at += bytes.len() as u64;
        match marker {
            0xdc | 0xdd => self.pass(0, size),
            0xde | 0xdf => self.pass(0, 2 * size),
            // An extension has its type before its bytes.
            0xc7..=0xc9 => self.pass(size + 1, 0),
            _ => self.pass(size, 0),
        }
    }

    /// A value is over, but for `payload` bytes and so many values within it.
    fn pass(&mut self, payload: u64, values: u64) -> Result<(), Error> {
        self.at += payload;
        self.values = self.values - 1 + values;
        // Each value takes a byte.
        let least = self.at + self.values;
        if least > u64::from(self.limits.reference_bytes) {
            return Err(too_long(least, &self.limits));
        }
        Ok(())
    }

    fn wanted(&self) -> usize {
        self.pending.map_or(1, |(_, width)| usize::from(width))
    }

    fn walk(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        let end = offset + input.len() as u64;
        loop {
            if self.len().is_some() {
                let consumed = self.at.min(end) - offset;
                return Ok(Step::item(consumed as usize));
            }
            let want = self.wanted();
            let have = usize::try_from(self.at - offset).ok().and_then(|at| input.get(at..));
            let Some(bytes) = have.and_then(|rest| rest.get(..want)) else {
                let consumed = self.at.min(end) - offset;
                return Ok(Step::consumed(consumed as usize));
            };
            match self.pending {
                Some((marker, _)) => self.size(marker, bytes)?,
                None => self.marker(bytes[0])?,
            }
        }
    }
}

/// The type of a value by its first byte.
const fn kind(marker: u8) -> Option<Type> {
    Some(match marker {
        0x00..=0x7f | 0xcc..=0xd3 | 0xe0..=0xff => Type::Integer,
        0x80..=0x8f | 0xde | 0xdf => Type::Map,
        0x90..=0x9f | 0xdc | 0xdd => Type::Array,
        0xa0..=0xbf | 0xd9..=0xdb => Type::Str,
        0xc0 => Type::Nil,
        0xc1 => return None,
        0xc2 | 0xc3 => Type::Bool,
        0xc4..=0xc6 => Type::Bin,
        0xc7..=0xc9 | 0xd4..=0xd8 => Type::Ext,
        0xca | 0xcb => Type::Float,
    })
}

/// The item of [`Measure`].
#[derive(Debug)]
pub struct MeasureKind;

impl ItemKind for MeasureKind {
    type Item<'i> = u64;
}

impl Machine for Measure {
    type Kind = MeasureKind;

    fn need(&self) -> Need {
        if self.failed.is_some() || self.len().is_some() {
            return Need::Done;
        }
        let min = self.wanted();
        Need::At { offset: self.at, min, hint: min as u64 }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.len().is_some() {
            return Ok(Step::WAIT);
        }
        let result = if offset == self.at {
            self.walk(offset, input)
        } else {
            let kind = ErrorKind::Offset { wanted: self.at, given: offset };
            Err(Error::new(kind, offset))
        };
        result.inspect_err(|error| self.failed = Some(*error))
    }

    fn item<'i>(&'i self, _input: &'i [u8]) -> u64 {
        self.at
    }

    fn end(&mut self) -> Result<End, Error> {
        match self.failed {
            Some(error) => Err(error),
            None if self.len().is_some() => Ok(End::Complete),
            None => Ok(End::Pending("the reference metadata")),
        }
    }
}

#[cfg(test)]
mod tests;

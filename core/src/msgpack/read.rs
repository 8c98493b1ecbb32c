//! The reader: one token at a time over a slice, and a skip with a fixed stack.

use super::{Fault, Integer, Type};
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};
use crate::limits::Cap;

/// The deepest nesting that [`Reader::skip`] can be allowed.
pub const MAX_DEPTH: u8 = 64;

/// One step through a document: a scalar, or the head of a container whose elements follow.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Token<'a> {
    /// `nil`.
    Nil,
    /// A boolean.
    Bool(bool),
    /// A non-negative integer, however it was encoded.
    Uint(u64),
    /// A negative integer.
    Int(i64),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// The bytes of a `str`; the specification asks for UTF-8, which is not checked here.
    Str(&'a [u8]),
    /// The bytes of a `bin`.
    Bin(&'a [u8]),
    /// An extension's type and bytes.
    Ext(i8, &'a [u8]),
    /// An array of so many elements, which follow.
    Array(u32),
    /// A map of so many pairs, which follow as key, value, key, value.
    Map(u32),
}

impl Token<'_> {
    /// The type of the value that the token is or begins.
    pub const fn kind(&self) -> Type {
        match self {
            Token::Nil => Type::Nil,
            Token::Bool(_) => Type::Bool,
            Token::Uint(_) | Token::Int(_) => Type::Integer,
            Token::F32(_) | Token::F64(_) => Type::Float,
            Token::Str(_) => Type::Str,
            Token::Bin(_) => Type::Bin,
            Token::Ext(..) => Type::Ext,
            Token::Array(_) => Type::Array,
            Token::Map(_) => Type::Map,
        }
    }
}

/// Reads tokens from a slice whose first byte stands at an absolute offset of the input.
///
/// A read that fails leaves the reader at the value it failed on.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, which begin at absolute offset `base`.
    pub const fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { cursor: Cursor::new(bytes, base) }
    }

    /// As [`new`](Self::new), with the first `position` bytes read already.
    pub(crate) const fn starting_at(bytes: &'a [u8], base: u64, position: usize) -> Self {
        Self { cursor: Cursor::starting_at(bytes, base, position) }
    }

    /// Bytes read so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.cursor.position()
    }

    /// Absolute offset of the next value.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.cursor.offset()
    }

    /// What has not been read.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Passes over `n` bytes that [`rest`](Self::rest) has shown to be there.
    #[inline]
    pub(crate) const fn pass(&mut self, n: usize) {
        self.cursor.pass(n);
    }

    /// The next token.
    ///
    /// # Errors
    /// Truncated input, the byte 0xc1, or a container with more elements than bytes are left.
    pub fn token(&mut self) -> Result<Token<'a>, Error> {
        let mut cursor = self.cursor;
        let token = self.read(&mut cursor)?;
        self.cursor = cursor;
        Ok(token)
    }

    #[inline]
    fn read(&self, cursor: &mut Cursor<'a>) -> Result<Token<'a>, Error> {
        let marker = cursor.u8()?;
        Ok(match marker {
            0x00..=0x7f => Token::Uint(u64::from(marker)),
            0x80..=0x8f => Token::Map(self.count(cursor, u32::from(marker & 0x0f), 2)?),
            0x90..=0x9f => Token::Array(self.count(cursor, u32::from(marker & 0x0f), 1)?),
            0xa0..=0xbf => Token::Str(cursor.take(usize::from(marker & 0x1f))?),
            0xc0 => Token::Nil,
            0xc1 => return Err(self.fault(Fault::Reserved)),
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            0xc4 | 0xd9 => {
                let len = usize::from(cursor.u8()?);
                bytes(marker, cursor.take(len)?)
            }
            0xc5 | 0xda => {
                let len = usize::from(cursor.u16_be()?);
                bytes(marker, cursor.take(len)?)
            }
            0xc6 | 0xdb => {
                let len = self.length(cursor)?;
                bytes(marker, cursor.take(len)?)
            }
            0xc7 => {
                let len = usize::from(cursor.u8()?);
                ext(cursor, len)?
            }
            0xc8 => {
                let len = usize::from(cursor.u16_be()?);
                ext(cursor, len)?
            }
            0xc9 => {
                let len = self.length(cursor)?;
                ext(cursor, len)?
            }
            0xca => Token::F32(f32::from_bits(cursor.u32_be()?)),
            0xcb => Token::F64(f64::from_bits(cursor.u64_be()?)),
            0xcc => Token::Uint(u64::from(cursor.u8()?)),
            0xcd => Token::Uint(u64::from(cursor.u16_be()?)),
            0xce => Token::Uint(u64::from(cursor.u32_be()?)),
            0xcf => Token::Uint(cursor.u64_be()?),
            0xd0 => signed(i64::from(cursor.u8()?.cast_signed())),
            0xd1 => signed(i64::from(cursor.i16_be()?)),
            0xd2 => signed(i64::from(cursor.i32_be()?)),
            0xd3 => signed(cursor.i64_be()?),
            0xd4..=0xd8 => ext(cursor, 1 << (marker - 0xd4))?,
            0xdc => {
                let count = u32::from(cursor.u16_be()?);
                Token::Array(self.count(cursor, count, 1)?)
            }
            0xdd => {
                let count = cursor.u32_be()?;
                Token::Array(self.count(cursor, count, 1)?)
            }
            0xde => {
                let count = u32::from(cursor.u16_be()?);
                Token::Map(self.count(cursor, count, 2)?)
            }
            0xdf => {
                let count = cursor.u32_be()?;
                Token::Map(self.count(cursor, count, 2)?)
            }
            0xe0..=0xff => Token::Int(i64::from(marker.cast_signed())),
        })
    }

    fn length(&self, cursor: &mut Cursor<'a>) -> Result<usize, Error> {
        let len = cursor.u32_be()?;
        let have = cursor.rest().len() as u64;
        usize::try_from(len)
            .map_err(|_| cursor.error(ErrorKind::Truncated { need: u64::from(len), have }))
    }

    /// A container's count, once the bytes left can hold that many elements.
    #[inline]
    fn count(&self, cursor: &Cursor<'a>, count: u32, width: u64) -> Result<u32, Error> {
        let elements = u64::from(count) * width;
        let left = cursor.rest().len() as u64;
        if elements > left {
            return Err(self.fault(Fault::Count { count: elements, left }));
        }
        Ok(count)
    }

    /// An error of `fault` at the next value.
    #[cold]
    fn fault(&self, fault: Fault) -> Error {
        self.cursor.error(ErrorKind::Msgpack(fault))
    }

    #[cold]
    fn mismatch(&self, expected: Type, found: Token<'_>) -> Error {
        self.fault(Fault::Type { expected, found: found.kind() })
    }

    /// A `str` as bytes.
    ///
    /// # Errors
    /// Another type, or truncated input.
    #[inline]
    pub fn str(&mut self) -> Result<&'a [u8], Error> {
        // Names are short: heads of one and of two bytes are worth a path of their own.
        let (bytes, at) = (self.cursor.bytes(), self.cursor.position());
        let (start, len) = match bytes.get(at) {
            Some(head @ 0xa0..=0xbf) => (at + 1, head & 0x1f),
            Some(0xd9) => match bytes.get(at + 1) {
                Some(len) => (at + 2, *len),
                None => return self.str_slow(),
            },
            _ => return self.str_slow(),
        };
        let end = start + usize::from(len);
        let Some(text) = bytes.get(start..end) else { return self.str_slow() };
        self.cursor.pass(end - at);
        Ok(text)
    }

    #[cold]
    fn str_slow(&mut self) -> Result<&'a [u8], Error> {
        let mut ahead = *self;
        match ahead.token()? {
            Token::Str(bytes) => {
                *self = ahead;
                Ok(bytes)
            }
            other => Err(self.mismatch(Type::Str, other)),
        }
    }

    /// A `bin` as bytes.
    ///
    /// # Errors
    /// Another type, or truncated input.
    pub fn bin(&mut self) -> Result<&'a [u8], Error> {
        let mut ahead = *self;
        match ahead.token()? {
            Token::Bin(bytes) => {
                *self = ahead;
                Ok(bytes)
            }
            other => Err(self.mismatch(Type::Bin, other)),
        }
    }

    /// The pairs of a map, which follow.
    ///
    /// # Errors
    /// Another type, truncated input, or more pairs than bytes are left for.
    #[inline]
    pub fn map(&mut self) -> Result<u32, Error> {
        let (bytes, at) = (self.cursor.bytes(), self.cursor.position());
        if let Some(head @ 0x80..=0x8f) = bytes.get(at) {
            let pairs = u32::from(head & 0x0f);
            if pairs as usize * 2 < bytes.len() - at {
                self.cursor.pass(1);
                return Ok(pairs);
            }
        }
        self.map_slow()
    }

    fn map_slow(&mut self) -> Result<u32, Error> {
        let mut ahead = *self;
        match ahead.token()? {
            Token::Map(pairs) => {
                *self = ahead;
                Ok(pairs)
            }
            other => Err(self.mismatch(Type::Map, other)),
        }
    }

    /// The elements of an array, which follow.
    ///
    /// # Errors
    /// Another type, truncated input, or more elements than bytes are left for.
    pub fn array(&mut self) -> Result<u32, Error> {
        let mut ahead = *self;
        match ahead.token()? {
            Token::Array(elements) => {
                *self = ahead;
                Ok(elements)
            }
            other => Err(self.mismatch(Type::Array, other)),
        }
    }

    /// A non-negative integer of any encoded width, at most `max`.
    ///
    /// # Errors
    /// Another type, a value out of range, or truncated input.
    #[inline]
    fn at_most(&mut self, max: u64) -> Result<u64, Error> {
        match front_uint(self.rest()) {
            Some((value, rest)) if value <= max => {
                self.cursor.pass(self.rest().len() - rest.len());
                Ok(value)
            }
            _ => self.at_most_slow(max),
        }
    }

    /// Any integer, and the error of what is none or out of range.
    #[cold]
    fn at_most_slow(&mut self, max: u64) -> Result<u64, Error> {
        let mut ahead = *self;
        match ahead.token()? {
            Token::Uint(value) if value <= max => {
                *self = ahead;
                Ok(value)
            }
            Token::Uint(value) => {
                Err(self.fault(Fault::Range { found: Integer::Unsigned(value), max }))
            }
            Token::Int(value) => {
                Err(self.fault(Fault::Range { found: Integer::Signed(value), max }))
            }
            other => Err(self.mismatch(Type::Integer, other)),
        }
    }

    /// A non-negative integer of any encoded width.
    ///
    /// # Errors
    /// Another type, a negative value, or truncated input.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Error> {
        self.at_most(u64::MAX)
    }

    /// An integer of any encoded width that fits a `u32`.
    ///
    /// # Errors
    /// Another type, a value outside 0..2^32, or truncated input.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Error> {
        Ok(self.at_most(u64::from(u32::MAX))? as u32)
    }

    /// Passes over one value of any shape, with its elements.
    ///
    /// `depth` is how deep containers may nest in it: 0 allows scalars alone. It is capped at
    /// [`MAX_DEPTH`].
    ///
    /// # Errors
    /// [`Cap::MsgpackDepth`] exceeded, or malformed bytes; the reader stays at the value.
    pub fn skip(&mut self, depth: u8) -> Result<(), Error> {
        let limit = usize::from(depth.min(MAX_DEPTH));
        let mut ahead = *self;
        // Elements still to come in each open container.
        let mut open = [0u64; MAX_DEPTH as usize];
        let mut level = 0usize;
        loop {
            let at = ahead.offset();
            let elements = match ahead.token()? {
                Token::Array(count) => u64::from(count),
                Token::Map(pairs) => u64::from(pairs) * 2,
                _ => 0,
            };
            if elements > 0 {
                if level == limit {
                    let (value, limit) = (limit as u64 + 1, limit as u64);
                    let kind = ErrorKind::Limit { cap: Cap::MsgpackDepth, value, limit };
                    return Err(Error::new(kind, at));
                }
                open[level] = elements;
                level += 1;
                continue;
            }
            // A value is complete: so may be the containers that it was the last element of.
            loop {
                if level == 0 {
                    *self = ahead;
                    return Ok(());
                }
                open[level - 1] -= 1;
                if open[level - 1] > 0 {
                    break;
                }
                level -= 1;
            }
        }
    }
}

/// The unsigned integer at the front of `bytes` and what follows it; `None` for what is cut,
/// signed, or no integer.
#[inline]
pub(crate) fn front_uint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    Some(match *bytes {
        [value @ 0x00..=0x7f, ref rest @ ..] => (u64::from(value), rest),
        [0xcc, value, ref rest @ ..] => (u64::from(value), rest),
        [0xcd, a, b, ref rest @ ..] => (u64::from(u16::from_be_bytes([a, b])), rest),
        [0xce, a, b, c, d, ref rest @ ..] => (u64::from(u32::from_be_bytes([a, b, c, d])), rest),
        [0xcf, a, b, c, d, e, f, g, h, ref rest @ ..] => {
            (u64::from_be_bytes([a, b, c, d, e, f, g, h]), rest)
        }
        _ => return None,
    })
}

fn bytes(marker: u8, bytes: &[u8]) -> Token<'_> {
    if marker < 0xd9 { Token::Bin(bytes) } else { Token::Str(bytes) }
}

fn ext<'a>(cursor: &mut Cursor<'a>, len: usize) -> Result<Token<'a>, Error> {
    let kind = cursor.u8()?.cast_signed();
    Ok(Token::Ext(kind, cursor.take(len)?))
}

fn signed(value: i64) -> Token<'static> {
    u64::try_from(value).map_or(Token::Int(value), Token::Uint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: &[u8]) -> Result<Token<'_>, Error> {
        Reader::new(bytes, 0).token()
    }

    fn fault(kind: Fault, offset: u64) -> Error {
        Error::new(ErrorKind::Msgpack(kind), offset)
    }

    #[test]
    fn integers_of_every_width_meet_in_one_value() {
        for bytes in [
            &[0x05][..],
            &[0xcc, 5],
            &[0xcd, 0, 5],
            &[0xce, 0, 0, 0, 5],
            &[0xcf, 0, 0, 0, 0, 0, 0, 0, 5],
            &[0xd0, 5],
            &[0xd1, 0, 5],
            &[0xd2, 0, 0, 0, 5],
            &[0xd3, 0, 0, 0, 0, 0, 0, 0, 5],
        ] {
            assert_eq!(Reader::new(bytes, 0).u32(), Ok(5), "{bytes:?}");
        }
        assert_eq!(one(&[0xff]), Ok(Token::Int(-1)));
        assert_eq!(one(&[0xd0, 0x80]), Ok(Token::Int(-128)));
    }

    #[test]
    fn ranges_are_checked_and_the_reader_stays() {
        let mut reader = Reader::new(&[0xcf, 0, 0, 0, 1, 0, 0, 0, 0], 10);
        let error = reader.u32().unwrap_err();
        assert_eq!(
            error,
            fault(Fault::Range { found: Integer::Unsigned(1 << 32), max: u32::MAX.into() }, 10)
        );
        assert_eq!(reader.u64(), Ok(1 << 32));
        let mut reader = Reader::new(&[0xe0], 0);
        assert_eq!(
            reader.u64(),
            Err(fault(Fault::Range { found: Integer::Signed(-32), max: u64::MAX }, 0))
        );
    }

    #[test]
    fn types_are_named() {
        let expected = Fault::Type { expected: Type::Integer, found: Type::Str };
        assert_eq!(Reader::new(b"\xa11", 3).u32(), Err(fault(expected, 3)));
        assert_eq!(one(&[0xc1]), Err(fault(Fault::Reserved, 0)));
        assert_eq!(one(&[0xd4, 0xff, 7]), Ok(Token::Ext(-1, &[7])));
        assert_eq!(one(&[0xc4, 1, 9]), Ok(Token::Bin(&[9])));
        assert_eq!(one(&[0xd9, 1, b'x']), Ok(Token::Str(b"x")));
    }

    #[test]
    fn counts_beyond_the_bytes_left_are_refused_at_the_head() {
        let hostile = [0xdd, 0xff, 0xff, 0xff, 0xff, 0, 0];
        let count = u64::from(u32::MAX);
        assert_eq!(one(&hostile), Err(fault(Fault::Count { count, left: 2 }, 0)));
        assert_eq!(one(&[0x82, 0, 0, 0]), Err(fault(Fault::Count { count: 4, left: 3 }, 0)));
        let kind = ErrorKind::Truncated { need: u64::from(u32::MAX), have: 0 };
        assert_eq!(one(&[0xdb, 0xff, 0xff, 0xff, 0xff]), Err(Error::new(kind, 5)));
    }

    #[test]
    fn skip_passes_over_exactly_one_value() {
        // {"a": [1, {"b": nil}], "c": -1}, then a string.
        let bytes = b"\x82\xa1a\x92\x01\x81\xa1b\xc0\xa1c\xff\xa3end";
        let mut reader = Reader::new(bytes, 0);
        reader.skip(3).unwrap();
        assert_eq!(reader.str(), Ok(&b"end"[..]));
        let error = Reader::new(bytes, 0).skip(2).unwrap_err();
        let kind = ErrorKind::Limit { cap: Cap::MsgpackDepth, value: 3, limit: 2 };
        assert_eq!(error, Error::new(kind, 5));
        assert!(Reader::new(&[0x90], 0).skip(0).is_ok(), "an empty container nests nothing");
    }

    #[test]
    fn deep_nesting_ends_at_the_cap() {
        let deep = [0x91u8; 100_000];
        let error = Reader::new(&deep, 0).skip(255).unwrap_err();
        assert_eq!(error.offset, u64::from(MAX_DEPTH));
    }
}

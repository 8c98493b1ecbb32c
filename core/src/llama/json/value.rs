//! Views over a text that has been checked.

use core::ops::Range;

use memchr::memchr2;

use super::scan::{Number, Scanner, Token};
use super::string::Str;
use crate::error::Error;
use crate::limits::Limits;

/// Checks a whole text, which begins at the absolute offset `base` of what errors speak of.
///
/// # Errors
/// As [`Scanner::next`].
pub fn check<'i>(bytes: &'i [u8], base: u64, limits: &Limits) -> Result<Value<'i>, Error> {
    run(Scanner::new(bytes, base, limits))
}

/// As [`check`], but strings need not be UTF-8: see [`Scanner::lossy`].
///
/// # Errors
/// As [`Scanner::next`].
pub fn check_lossy<'i>(bytes: &'i [u8], base: u64, limits: &Limits) -> Result<Value<'i>, Error> {
    run(Scanner::new(bytes, base, limits).lossy())
}

fn run(mut scanner: Scanner<'_>) -> Result<Value<'_>, Error> {
    let bytes = scanner.bytes();
    let range = scanner.skip_value()?;
    scanner.next()?;
    Ok(Value { bytes, range: (range.start, range.end) })
}

/// A value in a text that is known to be sound. Reading it skips over what is not asked for.
#[derive(Debug, Clone, Copy)]
pub struct Value<'i> {
    /// The whole text.
    bytes: &'i [u8],
    range: (usize, usize),
}

impl<'i> Value<'i> {
    /// The value that stands at `range` of a text that was checked.
    pub(crate) fn at(bytes: &'i [u8], range: Range<usize>) -> Self {
        Value { bytes, range: (range.start, range.end) }
    }

    /// Where it is in the text.
    pub const fn range(self) -> Range<usize> {
        self.range.0..self.range.1
    }

    /// The text of the value alone.
    pub fn raw(self) -> &'i [u8] {
        self.bytes.get(self.range()).unwrap_or_default()
    }

    fn scanner(self) -> Scanner<'i> {
        Scanner::trusted(self.raw())
    }

    /// Its first token.
    pub fn token(self) -> Token<'i> {
        self.scanner().next().unwrap_or(Token::Null)
    }

    /// It is `null`.
    pub fn is_null(self) -> bool {
        self.raw().first() == Some(&b'n')
    }

    /// It is an object.
    pub fn is_object(self) -> bool {
        self.raw().first() == Some(&b'{')
    }

    /// It is an array.
    pub fn is_array(self) -> bool {
        self.raw().first() == Some(&b'[')
    }

    /// The string, if it is one.
    pub fn as_str(self) -> Option<Str<'i>> {
        match self.raw().first()? {
            b'"' => match self.token() {
                Token::String(string) => Some(string),
                _ => None,
            },
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(self) -> Option<Number<'i>> {
        match self.token() {
            Token::Number(number) => Some(number),
            _ => None,
        }
    }

    /// See [`Number::as_i64`].
    pub fn as_i64(self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// See [`Number::as_u64`].
    pub fn as_u64(self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// See [`Number::as_f64`].
    pub fn as_f64(self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// `true` or `false`, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.raw().first()? {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// The members of an object, in their order; none of any other value.
    pub fn members(self) -> Members<'i> {
        let object = self.is_object();
        Members { bytes: if object { self.bytes } else { b"" }, at: self.range.0 + 1 }
    }

    /// The elements of an array, in their order; none of any other value.
    pub fn elements(self) -> Elements<'i> {
        let array = self.is_array();
        Elements { bytes: if array { self.bytes } else { b"" }, at: self.range.0 + 1 }
    }

    /// The member `key` of an object, unless it is absent or null. Of several the last one.
    pub fn get(self, key: &str) -> Option<Value<'i>> {
        let found = self.members().filter(|(name, _)| name.is(key)).last();
        found.map(|(_, value)| value).filter(|value| !value.is_null())
    }
}

/// The iterator of [`Value::members`].
#[derive(Debug, Clone)]
pub struct Members<'i> {
    bytes: &'i [u8],
    at: usize,
}

impl<'i> Iterator for Members<'i> {
    type Item = (Str<'i>, Value<'i>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = next_in(self.bytes, self.at)?;
        if self.bytes[start] != b'"' {
            self.bytes = b"";
            return None;
        }
        let end = skip(self.bytes, start);
        let value = next_in(self.bytes, end)?;
        self.at = skip(self.bytes, value);
        let key = Value::at(self.bytes, start..end).as_str()?;
        Some((key, Value::at(self.bytes, value..self.at)))
    }
}

/// The first byte from `at` on that is no white space and separates nothing.
fn next_in(bytes: &[u8], at: usize) -> Option<usize> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':');
    bytes.get(at..)?.iter().position(|byte| !blank(byte)).map(|gap| at + gap)
}

/// Where the value ends that begins at `at` of a text that was checked: brackets are counted,
/// nothing else is looked at.
fn skip(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = skip_string(bytes, at),
            b'{' | b'[' => (depth, at) = (depth + 1, at + 1),
            b'}' | b']' => (depth, at) = (depth.saturating_sub(1), at + 1),
            // Between values; or a number or a literal, which ends where another byte comes.
            _ if depth > 0 => at += 1,
            _ => {
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                return at + bytes[at..].iter().take_while(|byte| plain(byte)).count();
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

fn skip_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(stop) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += stop;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// The iterator of [`Value::elements`]. Where it stands is a number, so that a machine can put
/// it aside and go on later.
#[derive(Debug, Clone)]
pub struct Elements<'i> {
    bytes: &'i [u8],
    at: usize,
}

impl<'i> Elements<'i> {
    /// Goes on at a place that [`Elements::position`] told, in the same text.
    pub(crate) const fn resume(bytes: &'i [u8], at: usize) -> Self {
        Elements { bytes, at }
    }

    /// Where it stands: behind the last element.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }
}

impl<'i> Iterator for Elements<'i> {
    type Item = Value<'i>;

    fn next(&mut self) -> Option<Value<'i>> {
        let start = next_in(self.bytes, self.at)?;
        if self.bytes[start] == b']' {
            self.bytes = b"";
            return None;
        }
        self.at = skip(self.bytes, start);
        Some(Value::at(self.bytes, start..self.at))
    }
}

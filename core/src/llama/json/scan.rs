//! The pull scanner: one token a call.

use core::ops::Range;

use memchr::memchr2;

use super::fault::{Fault, Wanted};
use super::string::Str;
use crate::error::{Error, ErrorKind};
use crate::limits::{Cap, Limits};

/// The deepest nesting that a [`Scanner`] can follow: one bit of a word each.
pub const MAX_DEPTH: u8 = 64;

/// A token of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'i> {
    /// `{`
    ObjectBegin,
    /// `}`
    ObjectEnd,
    /// `[`
    ArrayBegin,
    /// `]`
    ArrayEnd,
    /// A member's name.
    Key(Str<'i>),
    /// A string that is a value.
    String(Str<'i>),
    /// A number.
    Number(Number<'i>),
    /// `true` or `false`.
    Bool(bool),
    /// `null`
    Null,
    /// The text is over and was sound.
    End,
}

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<'i> {
    text: &'i str,
}

impl<'i> Number<'i> {
    /// The exact text.
    pub const fn text(self) -> &'i str {
        self.text
    }

    /// Its value if it is written as an integer that fits.
    pub fn as_i64(self) -> Option<i64> {
        self.text.parse().ok()
    }

    /// Its value if it is written as an integer without a sign that fits.
    pub fn as_u64(self) -> Option<u64> {
        self.text.parse().ok()
    }

    /// The nearest double; `None` beyond the finite ones.
    pub fn as_f64(self) -> Option<f64> {
        self.text.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must come.
    Value,
    /// Behind `[`: a value or `]`.
    FirstElement,
    /// Behind `{`: a name or `}`.
    FirstKey,
    /// Behind `,` in an object: a name.
    Key,
    /// Behind a name: `:` and a value.
    Member,
    /// Behind a value: `,`, an end, or the end of the text.
    After,
    /// The text is over.
    Done,
}

/// Gives the tokens of one JSON text.
///
/// After an error each call gives that error again; after [`Token::End`] that token.
#[derive(Debug, Clone)]
pub struct Scanner<'i> {
    bytes: &'i [u8],
    at: usize,
    base: u64,
    /// One bit a level, the innermost lowest: 1 = object.
    levels: u64,
    depth: u8,
    cap: u8,
    state: State,
    lossy: bool,
    failed: Option<Error>,
    /// Where the last token began.
    token: usize,
}

impl<'i> Scanner<'i> {
    /// A scanner of `bytes`, which begin at the absolute offset `base` of what errors speak of.
    /// A string that is not UTF-8 is an error.
    pub fn new(bytes: &'i [u8], base: u64, limits: &Limits) -> Self {
        Scanner::with_cap(bytes, base, limits.json_depth.min(MAX_DEPTH))
    }

    fn with_cap(bytes: &'i [u8], base: u64, cap: u8) -> Self {
        Scanner {
            bytes,
            at: 0,
            base,
            levels: 0,
            depth: 0,
            cap,
            state: State::Value,
            lossy: false,
            failed: None,
            token: 0,
        }
    }

    /// Lets strings pass that are not UTF-8: they are decoded with U+FFFD in the place of each
    /// maximal ill-formed part, as the decoder of an event stream does.
    #[must_use]
    pub const fn lossy(mut self) -> Self {
        self.lossy = true;
        self
    }

    /// Bytes scanned so far.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// How many containers are open.
    pub const fn depth(&self) -> u8 {
        self.depth
    }

    /// The next token.
    ///
    /// # Errors
    /// [`ErrorKind::Json`] at the byte that breaks the grammar; [`ErrorKind::Limit`] for nesting
    /// beyond [`Limits::json_depth`].
    #[expect(clippy::should_implement_trait, reason = "the end is a token, errors are sticky")]
    pub fn next(&mut self) -> Result<Token<'i>, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let token = self.advance();
        if let Err(error) = token {
            self.failed = Some(error);
        }
        token
    }

    /// Skips one value, which must come next (as behind a key), however deep it is. Returns
    /// where it is in the text.
    ///
    /// # Errors
    /// Those of [`Scanner::next`]. Where no value comes next but the end of a container, that
    /// is read and its range returned.
    pub fn skip_value(&mut self) -> Result<Range<usize>, Error> {
        let first = self.next()?;
        let start = self.token;
        if matches!(first, Token::ObjectBegin | Token::ArrayBegin) {
            let outside = self.depth - 1;
            while self.depth > outside {
                self.next()?;
            }
        }
        Ok(start..self.at)
    }

    /// A scanner of a part of a text that was checked.
    pub(super) fn trusted(bytes: &'i [u8]) -> Self {
        Scanner::with_cap(bytes, 0, MAX_DEPTH).lossy()
    }

    pub(super) const fn bytes(&self) -> &'i [u8] {
        self.bytes
    }

    fn fail<T>(&self, at: usize, fault: Fault) -> Result<T, Error> {
        Err(Error::new(ErrorKind::Json(fault), self.base.saturating_add(at as u64)))
    }

    fn wanted<T>(&self, at: usize, wanted: Wanted) -> Result<T, Error> {
        match self.bytes.get(at) {
            Some(&found) => self.fail(at, Fault::Byte { found, wanted }),
            None => self.fail(at, Fault::End { wanted }),
        }
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn advance(&mut self) -> Result<Token<'i>, Error> {
        loop {
            let byte = self.peek();
            self.token = self.at;
            match self.state {
                State::Value => return self.value(byte),
                State::FirstElement if byte == Some(b']') => return Ok(self.close()),
                State::FirstElement => return self.value(byte),
                State::FirstKey if byte == Some(b'}') => return Ok(self.close()),
                State::FirstKey | State::Key if byte == Some(b'"') => {
                    self.state = State::Member;
                    return self.string().map(Token::Key);
                }
                State::FirstKey | State::Key => return self.wanted(self.at, Wanted::Key),
                State::Member if byte == Some(b':') => {
                    self.at += 1;
                    self.state = State::Value;
                }
                State::Member => return self.wanted(self.at, Wanted::Colon),
                State::After if self.depth == 0 => {
                    if byte.is_some() {
                        return self.fail(self.at, Fault::Trailing);
                    }
                    self.state = State::Done;
                }
                State::After => {
                    let object = self.levels & 1 == 1;
                    match (byte, object) {
                        (Some(b','), true) => self.state = State::Key,
                        (Some(b','), false) => self.state = State::Value,
                        (Some(b'}'), true) | (Some(b']'), false) => return Ok(self.close()),
                        (_, true) => return self.wanted(self.at, Wanted::CommaOrBrace),
                        (_, false) => return self.wanted(self.at, Wanted::CommaOrBracket),
                    }
                    self.at += 1;
                }
                State::Done => return Ok(Token::End),
            }
        }
    }

    fn open(&mut self, object: bool) -> Result<Token<'i>, Error> {
        if self.depth >= self.cap {
            let kind = ErrorKind::Limit {
                cap: Cap::JsonDepth,
                value: u64::from(self.depth) + 1,
                limit: u64::from(self.cap),
            };
            return Err(Error::new(kind, self.base.saturating_add(self.at as u64)));
        }
        self.at += 1;
        self.depth += 1;
        self.levels = self.levels << 1 | u64::from(object);
        self.state = if object { State::FirstKey } else { State::FirstElement };
        Ok(if object { Token::ObjectBegin } else { Token::ArrayBegin })
    }

    fn close(&mut self) -> Token<'i> {
        let object = self.levels & 1 == 1;
        self.at += 1;
        self.depth -= 1;
        self.levels >>= 1;
        self.state = State::After;
        if object { Token::ObjectEnd } else { Token::ArrayEnd }
    }

    fn value(&mut self, byte: Option<u8>) -> Result<Token<'i>, Error> {
        let token = match byte {
            Some(b'{') => return self.open(true),
            Some(b'[') => return self.open(false),
            Some(b'"') => Token::String(self.string()?),
            Some(b't') => self.literal(b"true", Token::Bool(true))?,
            Some(b'f') => self.literal(b"false", Token::Bool(false))?,
            Some(b'n') => self.literal(b"null", Token::Null)?,
            Some(b'-' | b'0'..=b'9') => Token::Number(self.number()?),
            _ => return self.wanted(self.at, Wanted::Value),
        };
        self.state = State::After;
        Ok(token)
    }

    fn literal(&mut self, word: &[u8], token: Token<'i>) -> Result<Token<'i>, Error> {
        for &byte in word {
            if self.bytes.get(self.at) != Some(&byte) {
                return self.wanted(self.at, Wanted::Literal);
            }
            self.at += 1;
        }
        Ok(token)
    }

    fn digits(&mut self) -> Result<(), Error> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { self.wanted(self.at, Wanted::Digit) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Number<'i>, Error> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        let first = self.at;
        self.digits()?;
        if self.bytes[first] == b'0' && self.at > first + 1 {
            return self.fail(first + 1, Fault::LeadingZero);
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        // Digits, signs, points and `e` are UTF-8.
        let text = core::str::from_utf8(&self.bytes[start..self.at]).unwrap_or("0");
        Ok(Number { text })
    }

    /// The string whose opening quote is next.
    fn string(&mut self) -> Result<Str<'i>, Error> {
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            let rest = &self.bytes[at..];
            let run = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            // One pass without branches first: control characters are rare.
            if rest[..run].iter().fold(false, |found, &byte| found | (byte < 0x20)) {
                let control = rest[..run].iter().position(|&byte| byte < 0x20).unwrap_or(0);
                return self.fail(at + control, Fault::Control { found: rest[control] });
            }
            at += run;
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(_) => at = self.escape(at)?,
                None => return self.fail(at, Fault::End { wanted: Wanted::Quote }),
            }
            escaped = true;
        }
        let raw = &self.bytes[start..at];
        let utf8 = match core::str::from_utf8(raw) {
            Ok(_) => true,
            Err(_) if self.lossy => false,
            Err(error) => return self.fail(start + error.valid_up_to(), Fault::Utf8),
        };
        self.at = at + 1;
        Ok(Str::new(raw, escaped, utf8))
    }

    /// Checks the escape at `at`; returns where it ends.
    fn escape(&self, at: usize) -> Result<usize, Error> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                for digit in at + 2..at + 6 {
                    match self.bytes.get(digit) {
                        Some(byte) if byte.is_ascii_hexdigit() => {}
                        Some(_) => return self.fail(at, Fault::Escape),
                        None => return self.fail(digit, Fault::End { wanted: Wanted::Quote }),
                    }
                }
                Ok(at + 6)
            }
            Some(_) => self.fail(at, Fault::Escape),
            None => self.fail(at + 1, Fault::End { wanted: Wanted::Quote }),
        }
    }
}

//! A string as it stands in the text, and its decoding.

use core::fmt;

use memchr::memchr;

use crate::error::Full;

/// A JSON string whose escapes are known to be sound, as the bytes between its quotes.
///
/// It is decoded on the way out: by [`Str::unescape_into`], by [`Display`](fmt::Display), piece
/// by piece ([`Str::pieces`]), or, with an allocator, into a [`Cow`](alloc::borrow::Cow). A
/// surrogate without its other half, and each maximal ill-formed part of what is not UTF-8,
/// becomes U+FFFD.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Str<'i> {
    raw: &'i [u8],
    escaped: bool,
    utf8: bool,
}

impl<'i> Str<'i> {
    pub(super) const fn new(raw: &'i [u8], escaped: bool, utf8: bool) -> Self {
        Str { raw, escaped, utf8 }
    }

    /// The bytes between the quotes, as they are written.
    pub const fn raw(self) -> &'i [u8] {
        self.raw
    }

    /// The string itself where nothing is escaped and all is UTF-8: no copy is needed.
    pub fn plain(self) -> Option<&'i str> {
        if self.escaped || !self.utf8 { None } else { core::str::from_utf8(self.raw).ok() }
    }

    /// The decoded string in pieces: runs of the input, and single characters.
    pub const fn pieces(self) -> Pieces<'i> {
        Pieces { rest: self.raw }
    }

    /// The decoded string, character by character.
    pub fn chars(self) -> impl Iterator<Item = char> + 'i {
        self.pieces().flat_map(|piece| {
            let (run, c) = match piece {
                Piece::Run(run) => (run, None),
                Piece::Char(c) => ("", Some(c)),
            };
            run.chars().chain(c)
        })
    }

    /// The decoded length in bytes.
    pub fn len(self) -> usize {
        if !self.escaped && self.utf8 {
            return self.raw.len();
        }
        self.pieces().map(Piece::len).sum()
    }

    /// It has no characters.
    pub const fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// Decodes into `out` and returns the part that is filled.
    ///
    /// # Errors
    /// [`Full`] with the decoded length when `out` is shorter.
    pub fn unescape_into(self, out: &mut [u8]) -> Result<&str, Full> {
        let need = self.len();
        let Some(out) = out.get_mut(..need) else { return Err(Full { need: need as u64 }) };
        let mut at = 0;
        for piece in self.pieces() {
            at += piece.copy_to(&mut out[at..]);
        }
        // Pieces are text, so what they fill is.
        Ok(core::str::from_utf8(out).unwrap_or_default())
    }

    /// The decoded string equals `text`.
    pub fn is(self, text: &str) -> bool {
        if !self.escaped {
            return self.raw == text.as_bytes();
        }
        let mut rest = text;
        for piece in self.pieces() {
            let mut buffer = [0; 4];
            let part = match &piece {
                Piece::Run(run) => run,
                Piece::Char(c) => &*c.encode_utf8(&mut buffer),
            };
            match rest.strip_prefix(part) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// The decoded string, borrowed where it can be.
    #[cfg(feature = "alloc")]
    pub fn to_cow(self) -> alloc::borrow::Cow<'i, str> {
        match self.plain() {
            Some(plain) => plain.into(),
            None => {
                let mut text = alloc::string::String::with_capacity(self.raw.len());
                for piece in self.pieces() {
                    match piece {
                        Piece::Run(run) => text.push_str(run),
                        Piece::Char(c) => text.push(c),
                    }
                }
                text.into()
            }
        }
    }
}

impl fmt::Display for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.pieces().try_for_each(|piece| match piece {
            Piece::Run(run) => f.write_str(run),
            Piece::Char(c) => f.write_char(c),
        })
    }
}

/// The decoded string in quotes, as [`str`] shows itself.
impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        f.write_char('"')?;
        for piece in self.pieces() {
            match piece {
                Piece::Run(run) => write!(f, "{}", run.escape_debug())?,
                Piece::Char(c) => write!(f, "{}", c.escape_debug())?,
            }
        }
        f.write_char('"')
    }
}

/// A part of a decoded string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'i> {
    /// Characters that stand in the text as they are.
    Run(&'i str),
    /// A character that was escaped, or U+FFFD for what is none.
    Char(char),
}

impl Piece<'_> {
    /// Its length in bytes of UTF-8; never 0.
    #[expect(clippy::len_without_is_empty, reason = "a piece is never empty")]
    pub fn len(self) -> usize {
        match self {
            Piece::Run(run) => run.len(),
            Piece::Char(c) => c.len_utf8(),
        }
    }

    fn copy_to(self, out: &mut [u8]) -> usize {
        match self {
            Piece::Run(run) => {
                out[..run.len()].copy_from_slice(run.as_bytes());
                run.len()
            }
            Piece::Char(c) => c.encode_utf8(out).len(),
        }
    }
}

/// The iterator of [`Str::pieces`].
#[derive(Debug, Clone)]
pub struct Pieces<'i> {
    rest: &'i [u8],
}

impl<'i> Pieces<'i> {
    /// The character of the escape at the front, and the escape's length.
    fn escape(&self) -> (char, usize) {
        const REPLACEMENT: (char, usize) = (char::REPLACEMENT_CHARACTER, 6);
        let simple = |c| (c, 2);
        match self.rest.get(1) {
            Some(b'b') => simple('\u{8}'),
            Some(b'f') => simple('\u{c}'),
            Some(b'n') => simple('\n'),
            Some(b'r') => simple('\r'),
            Some(b't') => simple('\t'),
            Some(b'u') => match unit(self.rest) {
                Some(high @ 0xd800..=0xdbff) => match unit(&self.rest[6..]) {
                    Some(low @ 0xdc00..=0xdfff) => {
                        let c = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                        char::from_u32(c).map_or(REPLACEMENT, |c| (c, 12))
                    }
                    _ => REPLACEMENT,
                },
                Some(c) => char::from_u32(c).map_or(REPLACEMENT, |c| (c, 6)),
                None => (char::REPLACEMENT_CHARACTER, self.rest.len()),
            },
            Some(&c) => simple(char::from(c)),
            None => (char::REPLACEMENT_CHARACTER, 1),
        }
    }
}

/// The UTF-16 unit that `\uXXXX` at the front of `bytes` stands for.
fn unit(bytes: &[u8]) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes else { return None };
    let digits = digits.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

impl<'i> Iterator for Pieces<'i> {
    type Item = Piece<'i>;

    fn next(&mut self) -> Option<Piece<'i>> {
        if *self.rest.first()? == b'\\' {
            let (c, len) = self.escape();
            self.rest = self.rest.get(len..).unwrap_or_default();
            return Some(Piece::Char(c));
        }
        let run = &self.rest[..memchr(b'\\', self.rest).unwrap_or(self.rest.len())];
        let (piece, len) = match core::str::from_utf8(run) {
            Ok(text) => (Piece::Run(text), run.len()),
            Err(error) if error.valid_up_to() > 0 => {
                let (valid, _) = run.split_at(error.valid_up_to());
                (Piece::Run(core::str::from_utf8(valid).unwrap_or_default()), valid.len())
            }
            Err(error) => {
                let len = error.error_len().unwrap_or(run.len());
                (Piece::Char(char::REPLACEMENT_CHARACTER), len)
            }
        };
        self.rest = &self.rest[len..];
        Some(piece)
    }
}

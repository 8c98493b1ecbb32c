//! What can be wrong with a JSON text.

use core::fmt;

/// What the grammar wants at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wanted {
    /// A value of any kind.
    Value,
    /// A member's name, in quotes.
    Key,
    /// The `:` behind a member's name.
    Colon,
    /// `,` or the end of the object.
    CommaOrBrace,
    /// `,` or the end of the array.
    CommaOrBracket,
    /// The closing `"` of a string.
    Quote,
    /// The rest of `true`, `false` or `null`.
    Literal,
    /// A digit of a number.
    Digit,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wanted::Value => "a value",
            Wanted::Key => "a member's name in quotes",
            Wanted::Colon => "`:`",
            Wanted::CommaOrBrace => "`,` or `}`",
            Wanted::CommaOrBracket => "`,` or `]`",
            Wanted::Quote => "the string's closing quote",
            Wanted::Literal => "`true`, `false` or `null`",
            Wanted::Digit => "a digit",
        })
    }
}

/// A broken rule of RFC 8259; the offset of the [`Error`](crate::Error) says where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The text ends where more is wanted.
    End {
        /// What is wanted.
        wanted: Wanted,
    },
    /// Another byte than the grammar allows.
    Byte {
        /// The byte found.
        found: u8,
        /// What is wanted.
        wanted: Wanted,
    },
    /// A backslash with something behind it that is no escape.
    Escape,
    /// A control character below U+0020 in a string, which must be escaped.
    Control {
        /// The character.
        found: u8,
    },
    /// A number with digits behind a leading zero.
    LeadingZero,
    /// A string that is not UTF-8.
    Utf8,
    /// Something behind the value.
    Trailing,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::End { wanted } => write!(f, "the json text ends where {wanted} is wanted"),
            Fault::Byte { found, wanted } if found.is_ascii_graphic() => {
                write!(f, "bad json: `{}` where {wanted} is wanted", char::from(*found))
            }
            Fault::Byte { found, wanted } => {
                write!(f, "bad json: byte {found:#04x} where {wanted} is wanted")
            }
            Fault::Escape => f.write_str("bad json: no such escape in a string"),
            Fault::Control { found } => {
                write!(f, "bad json: control character {found:#04x} in a string")
            }
            Fault::LeadingZero => f.write_str("bad json: a number with a leading zero"),
            Fault::Utf8 => f.write_str("bad json: a string is not utf-8"),
            Fault::Trailing => f.write_str("bad json: something follows the value"),
        }
    }
}

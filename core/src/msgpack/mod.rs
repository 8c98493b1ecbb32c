//! MessagePack without an allocator: a reader that borrows from a slice and a writer into one.
//!
//! The reader yields one token at a time and never recurses; [`Reader::skip`] passes over a
//! value of any shape with a fixed stack, so nesting is capped and hostile counts cost nothing.
//! Source: the MessagePack specification (github.com/msgpack/msgpack, `spec.md`).
//!
//! ```
//! use rocload_core::msgpack::{Reader, Writer};
//!
//! let mut buffer = [0u8; 32];
//! let mut writer = Writer::new(&mut buffer);
//! writer.map(2);
//! writer.str("ordinal");
//! writer.uint(7);
//! writer.str("notes");
//! writer.array(1);
//! writer.nil();
//! let written = writer.finish()?;
//!
//! let mut reader = Reader::new(written, 0);
//! let mut ordinal = None;
//! for _ in 0..reader.map()? {
//!     match reader.str()? {
//!         b"ordinal" => ordinal = Some(reader.u32()?),
//!         _ => reader.skip(16)?,
//!     }
//! }
//! assert_eq!(ordinal, Some(7));
//! # Ok::<(), rocload_core::Error>(())
//! ```

mod read;
mod write;

use core::fmt;

pub(crate) use read::front_uint;
pub use read::{MAX_DEPTH, Reader, Token};
pub use write::Writer;

/// The type of a MessagePack value, as its first byte tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// `nil`.
    Nil,
    /// `true` or `false`.
    Bool,
    /// A whole number of any width and sign.
    Integer,
    /// A 32- or 64-bit float.
    Float,
    /// `str`.
    Str,
    /// `bin`.
    Bin,
    /// An array.
    Array,
    /// A map.
    Map,
    /// An extension, timestamps included.
    Ext,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Nil => "nil",
            Type::Bool => "a boolean",
            Type::Integer => "an integer",
            Type::Float => "a float",
            Type::Str => "a string",
            Type::Bin => "binary data",
            Type::Array => "an array",
            Type::Map => "a map",
            Type::Ext => "an extension",
        })
    }
}

/// An integer of either sign, for messages. In words of 64 bits: an `i128` would align every
/// [`Error`](crate::Error) to 16 bytes, and rustc 1.95 was seen to copy such a result by aligned
/// moves to a place that is aligned to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integer {
    /// 0 or more.
    Unsigned(u64),
    /// Any, in most cases below 0.
    Signed(i64),
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Integer::Unsigned(value) => value.fmt(f),
            Integer::Signed(value) => value.fmt(f),
        }
    }
}

// See [`Integer`].
const _: () = assert!(align_of::<crate::Error>() <= 8);

/// What is wrong with MessagePack bytes. Truncation is
/// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The byte 0xc1, which the specification never uses.
    Reserved,
    /// A value of another type than the reader asked for.
    Type {
        /// The type asked for.
        expected: Type,
        /// The type found.
        found: Type,
    },
    /// An integer outside the range asked for.
    Range {
        /// The value found.
        found: Integer,
        /// The largest value allowed; the smallest is 0 for unsigned reads.
        max: u64,
    },
    /// A count of elements that the bytes left cannot hold.
    Count {
        /// Elements declared (for a map: keys and values together).
        count: u64,
        /// Bytes left; each element takes one or more.
        left: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Reserved => f.write_str("messagepack: the byte 0xc1 is never valid"),
            Fault::Type { expected, found } => {
                write!(f, "messagepack: expected {expected} and found {found}")
            }
            Fault::Range { found, max } => {
                write!(f, "messagepack: the integer {found} is not in 0..={max}")
            }
            Fault::Count { count, left } => {
                write!(f, "messagepack: {count} elements are declared and {left} bytes are left")
            }
        }
    }
}

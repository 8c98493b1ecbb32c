//! Errors: small, comparable, with the offending value and the byte offset it was found at.
//!
//! One [`Error`] serves the whole core; its [`ErrorKind`] nests each format's own faults.
//! Texts are one lower-case line. [`Class`] sorts the kinds by what a caller does about them:
//! a tool's exit status, a C library's result code.
//!
//! ```
//! use rocload_core::{Class, Error, ErrorKind, Full};
//!
//! let error = Error::new(ErrorKind::Full(Full { need: 1856 }), 16);
//! assert_eq!(error.class(), Class::Full);
//! assert_eq!(error.to_string(), "the caller's buffer is too small: 1856 bytes are needed (at offset 16)");
//! ```

use core::fmt;

use crate::limits::Cap;
use crate::{bundle, gguf, http, kpack, llama, msgpack, zstd};

/// A fault and where it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Absolute offset in the input, in bytes, of the first byte that shows it.
    pub offset: u64,
}

impl Error {
    /// An error of `kind` at `offset`.
    pub const fn new(kind: ErrorKind, offset: u64) -> Self {
        Self { kind, offset }
    }

    /// The same fault in an enclosing input that begins `base` bytes earlier.
    #[must_use]
    pub const fn rebased(self, base: u64) -> Self {
        Self { kind: self.kind, offset: self.offset.saturating_add(base) }
    }

    /// What a caller can do about it.
    pub const fn class(&self) -> Class {
        match self.kind {
            ErrorKind::Offset { .. } | ErrorKind::NeedsSeek { .. } => Class::Misuse,
            ErrorKind::Full(_) => Class::Full,
            ErrorKind::Limit { .. } => Class::Limit,
            ErrorKind::Kpack(fault) => fault.class(),
            ErrorKind::Zstd(fault) => fault.class(),
            ErrorKind::Gguf(fault) => fault.class(),
            ErrorKind::Http(fault) => fault.class(),
            ErrorKind::Truncated { .. } | ErrorKind::Msgpack(_) => Class::Malformed,
            ErrorKind::Json(_) => Class::Malformed,
            ErrorKind::Llama(fault) => fault.class(),
            ErrorKind::Bundle(fault) => fault.class(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at offset {})", self.kind, self.offset)
    }
}

impl core::error::Error for Error {}

/// What is wrong, apart from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `step` was called with bytes from `given` while the machine needs those at `wanted`.
    Offset {
        /// The offset in `need()`.
        wanted: u64,
        /// The offset passed to `step`.
        given: u64,
    },
    /// The machine must go back to an earlier offset, and the input cannot.
    NeedsSeek {
        /// The offset that it must read.
        wanted: u64,
    },
    /// The input ends before something that was begun.
    Truncated {
        /// Bytes needed from the error's offset on.
        need: u64,
        /// Bytes there.
        have: u64,
    },
    /// The caller's memory is too small; the input may be perfectly fine.
    Full(Full),
    /// A cap of [`Limits`](crate::Limits) is exceeded.
    Limit {
        /// Which cap.
        cap: Cap,
        /// The value found.
        value: u64,
        /// The cap's value.
        limit: u64,
    },
    /// The MessagePack bytes are malformed or hold another type than the format says.
    Msgpack(msgpack::Fault),
    /// A rule of the kpack format is broken.
    Kpack(kpack::Fault),
    /// A zstd frame cannot be decoded.
    Zstd(zstd::Fault),
    /// A rule of the GGUF format is broken.
    Gguf(gguf::Fault),
    /// An HTTP message breaks the protocol or uses what is not supported.
    Http(http::Fault),
    /// A JSON text breaks its grammar.
    Json(llama::json::Fault),
    /// A rule of llama-server's protocol is broken.
    Llama(llama::Fault),
    /// A container of code objects breaks its format.
    Bundle(bundle::Fault),
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset { wanted, given } => {
                write!(f, "bytes at offset {given} were offered where those at {wanted} are needed")
            }
            Self::NeedsSeek { wanted } => {
                write!(f, "needs a seekable source: offset {wanted} lies behind what was read")
            }
            Self::Truncated { need, have } => {
                write!(f, "the input ends too early: {need} bytes are needed and {have} are there")
            }
            Self::Full(full) => full.fmt(f),
            Self::Limit { cap, value, limit } => {
                write!(f, "{cap} is {value}, over the limit of {limit}")
            }
            Self::Msgpack(fault) => fault.fmt(f),
            Self::Kpack(fault) => fault.fmt(f),
            Self::Zstd(fault) => fault.fmt(f),
            Self::Gguf(fault) => fault.fmt(f),
            Self::Http(fault) => fault.fmt(f),
            Self::Json(fault) => fault.fmt(f),
            Self::Llama(fault) => fault.fmt(f),
            Self::Bundle(fault) => fault.fmt(f),
        }
    }
}

/// The caller's memory is too small: `need` units (bytes, unless the call says otherwise)
/// would do. Never a verdict on the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// How much would do.
    pub need: u64,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the caller's buffer is too small: {} bytes are needed", self.need)
    }
}

impl core::error::Error for Full {}

/// What an error asks of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// The input breaks its format.
    Malformed,
    /// The input may be sound and uses something that is not supported.
    Unsupported,
    /// The input exceeds a cap, which the caller may raise.
    Limit,
    /// The caller's memory is too small.
    Full,
    /// What was asked for is not there.
    NotFound,
    /// A call broke the contract: a defect of the driver, not of the input.
    Misuse,
}

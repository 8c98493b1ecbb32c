//! Two small machines, made for trying drivers and the law itself on: every part of the contract
//! is in one of them.
//!
//! - [`Records`] reads a stream: parts, a number that may be cut anywhere, warnings that parsing
//!   goes on after, a last item at the end.
//! - [`Chain`] jumps: nodes that point at each other, whole payloads and payloads in parts.

mod chain;
mod records;

pub use chain::{Chain, Link, LinkKind, node};
pub use records::{Record, RecordKind, Records};

use rocload_core::{Cap, Error, ErrorKind};

/// The error of both machines: `value` is over `limit`.
const fn over(value: u64, limit: u64, offset: u64) -> Error {
    Error::new(ErrorKind::Limit { cap: Cap::KeyBytes, value, limit }, offset)
}

/// An item of either machine with bytes of its own, to be kept and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Bytes of a text or of a payload in parts.
    Part(Vec<u8>),
    /// A payload that came whole.
    Whole(Vec<u8>),
    /// Anything else, with its values.
    Other(&'static str, u64, u64),
}

impl Kept {
    /// Appends a part to a part.
    pub fn join(last: &mut Kept, next: &Kept) -> bool {
        match (last, next) {
            (Kept::Part(last), Kept::Part(next)) => {
                last.extend_from_slice(next);
                true
            }
            _ => false,
        }
    }
}

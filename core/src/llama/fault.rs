//! What can be wrong with an answer, beyond broken JSON.

use core::fmt;

use super::json;
use crate::error::Class;

/// A broken rule of the protocol; the offset of the [`Error`](crate::Error) says where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An event's data is no JSON. The error's offset is that of the event's first line.
    Data {
        /// What is wrong with it.
        fault: json::Fault,
        /// Where in the event's data, in bytes.
        at: u64,
    },
    /// The JSON text is no object where one is wanted.
    NotObject,
    /// A member that the answer cannot be read without is absent or has another type.
    Member(&'static str),
    /// Members to pass through are not those of a JSON object, or one has the name of a field
    /// that the request has already.
    Extra,
    /// What is to be passed through as JSON is not of the kind that the field wants.
    Raw(&'static str),
}

impl Fault {
    /// What it asks of the caller.
    pub(crate) const fn class(self) -> Class {
        match self {
            Fault::Data { .. } | Fault::NotObject | Fault::Member(_) => Class::Malformed,
            Fault::Extra | Fault::Raw(_) => Class::Misuse,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Data { fault, at } => write!(f, "{fault}, at byte {at} of the event's data"),
            Fault::NotObject => f.write_str("the json text is no object"),
            Fault::Member(name) => write!(f, "`{name}` is absent or has another type"),
            Fault::Extra => f.write_str(
                "the extra members are not those of a json object, or repeat a field of the request",
            ),
            Fault::Raw(name) => write!(f, "`{name}` is no json of the kind that it must be"),
        }
    }
}

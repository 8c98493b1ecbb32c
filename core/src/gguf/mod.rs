//! GGUF model files: header, metadata, tensors, memory fit.
//!
//! A file is a header of metadata keys and tensor descriptions, and behind it the tensors' data.
//! Everything here works on the header alone:
//!
//! ```text
//!   bytes --> Reader --> Item: Key, Value, Text, Elements, Tensor --> Summary
//!               ^ asks an Interest what is wanted
//!   bytes --> Check  --> the same items, and a Verdict on the whole file
//! ```
//!
//! [`Reader`] knows the layout (versions 1 to 3, both byte orders) and rules of a single entry;
//! [`Check`] adds those of the whole table; [`Summary`] picks from their items what people ask
//! of a model. None of them allocates. Beside them: [`split`] sets, memory [`fit`], [`sniff`] for
//! what is no GGUF, and (feature `alloc`) the `write` module.
//!
//! Source: the GGUF specification (`docs/gguf.md` of ggml) and llama.cpp's build 11434.

mod check;
mod fault;
pub mod file_type;
pub mod fit;
pub mod ggml;
mod interest;
mod reader;
pub mod sniff;
pub mod split;
mod summary;
mod table;
mod tensor;
pub mod value;
#[cfg(feature = "alloc")]
pub mod write;

pub use check::{Check, Verdict};
pub use fault::{Counted, Fault, Level, Note, Strictness, Unchecked, Warning};
pub use file_type::FileType;
pub use ggml::GgmlType;
pub use interest::{Interest, Want, Wanted};
pub use reader::{
    DEFAULT_ALIGNMENT, DataStart, Header, Item, Items, Key, MAGIC, MAX_ARCHITECTURE, MAX_DEPTH,
    Options, Reader,
};
pub use summary::{
    Field, Found, Hparam, Kind, MAX_LAYERS, MAX_TEMPLATES, PerLayer, Short, Summary,
    SummaryInterest, Template, TextField,
};
pub use tensor::{MAX_DIMS, Tensor, TensorInfo};
pub use value::{Elements, Endian, Mismatch, Scalar, Text, ValueKind, ValueType};

/// A whole file of 224 bytes for examples: two strings and a number as keys, one tensor of 8
/// numbers.
#[doc(hidden)]
pub const EXAMPLE: &[u8] = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\
    \x14\0\0\0\0\0\0\0general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama\
    \x14\0\0\0\0\0\0\0llama.context_length\x04\0\0\0\0\x08\0\0\
    \x0c\0\0\0\0\0\0\0general.name\x08\0\0\0\x07\0\0\0\0\0\0\0example\
    \x06\0\0\0\0\0\0\0weight\x01\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\
    01234567890123456789012345678901";

//! What can be wrong with a GGUF file, and what is merely worth a warning.
//!
//! A [`Fault`] ends the reading. A [`Note`] is something unusual; how much it weighs depends on
//! the [`Strictness`]: nothing, a [`Warning`] among the items, or [`Fault::Refused`].
//!
//! ```
//! use rocload_core::gguf::{Level, Note, Strictness};
//!
//! let note = Note::Bool { found: 2 };
//! assert_eq!(note.level(Strictness::Tolerant), Level::Warn);
//! assert_eq!(note.level(Strictness::Specification), Level::Refuse);
//! assert_eq!(note.level(Strictness::Llama), Level::Warn);
//! ```

use core::fmt;

use super::GgmlType;
use super::value::ValueType;
use crate::error::Class;

/// How faithfully a file must follow the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Strictness {
    /// What a careful reader can make sense of: whatever is unusual is a [`Warning`].
    #[default]
    Tolerant,
    /// The rules that the specification states.
    Specification,
    /// What llama.cpp's own header reader (build 11434) takes: as [`Tolerant`](Self::Tolerant),
    /// but versions 2 and 3 in little-endian alone, a `u32` as `general.alignment`, no array in
    /// an array, tensor names below 64 bytes, no unknown tensor type, and tensors that lie in
    /// the order of their table without a gap.
    Llama,
}

/// What a [`Note`] amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Silent,
    /// A [`Warning`].
    Warn,
    /// [`Fault::Refused`].
    Refuse,
}

/// Something unusual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Version 1, which llama.cpp no longer reads.
    Version1,
    /// A big-endian file.
    BigEndian,
    /// A big-endian file of a version before 3, where the specification has none.
    BigEndianVersion {
        /// The version.
        version: u32,
    },
    /// A key of more than 65,535 bytes.
    KeyLong {
        /// Its length in bytes.
        len: u64,
    },
    /// A key that is not ASCII.
    KeyNotAscii,
    /// In version 1 a value type that came with version 2.
    NewerType {
        /// The type.
        found: ValueType,
    },
    /// An array within an array.
    Nested,
    /// A bool that is neither 0 nor 1. It counts as true.
    Bool {
        /// The byte.
        found: u8,
    },
    /// A string value that is not UTF-8. (Tokens may be halves of a character and are not
    /// looked at.)
    NotUtf8,
    /// `general.alignment` is a power of two below 8.
    AlignmentSmall {
        /// The alignment in bytes.
        alignment: u64,
    },
    /// `general.alignment` is an integer of another type than `u32`.
    AlignmentType {
        /// Its type.
        found: ValueType,
    },
    /// A tensor without a name.
    NameEmpty,
    /// A tensor's name of 64 bytes or more.
    NameLong {
        /// Its length in bytes.
        len: u64,
    },
    /// A tensor's type that is not known: its size is not known either.
    UnknownType {
        /// The type.
        found: GgmlType,
    },
    /// Tensors lie in another order than that of their table.
    OutOfOrder {
        /// The first tensor, from 0, that begins before the one listed ahead of it.
        ordinal: u32,
    },
    /// A tensor that does not begin where the one ahead of it in the table ends, padded: what
    /// llama.cpp insists on, for tensors without data too.
    Misplaced {
        /// The first such tensor, from 0.
        ordinal: u32,
        /// Where it should begin in the data.
        wanted: u64,
    },
    /// Bytes between tensors that belong to none.
    Gap {
        /// How many in all.
        bytes: u64,
    },
    /// Bytes between the tensor table and the data that are not zero.
    PaddingNotZero,
    /// Bytes behind the last tensor and its padding.
    Trailing {
        /// How many.
        bytes: u64,
    },
    /// The memory lent is too small for this check, so it was not made, or not of all entries.
    Unchecked(Unchecked),
}

/// A check that takes memory in proportion to the number of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unchecked {
    /// That no key stands twice.
    Keys,
    /// That no tensor's name stands twice.
    Names,
    /// That tensors which are out of order do not overlap.
    Overlap,
}

impl Note {
    /// How much it weighs.
    pub const fn level(self, strictness: Strictness) -> Level {
        use Strictness::{Llama, Specification, Tolerant};
        match (self, strictness) {
            (Note::Version1 | Note::BigEndian | Note::Nested | Note::Misplaced { .. }, Llama) => {
                Level::Refuse
            }
            (Note::Version1 | Note::BigEndian | Note::Nested | Note::Misplaced { .. }, _) => {
                Level::Silent
            }
            (
                Note::KeyLong { .. }
                | Note::KeyNotAscii
                | Note::Bool { .. }
                | Note::AlignmentSmall { .. }
                | Note::NameEmpty,
                Specification,
            ) => Level::Refuse,
            (Note::AlignmentType { .. } | Note::UnknownType { .. }, Specification | Llama) => {
                Level::Refuse
            }
            (Note::NameLong { .. }, Llama) => Level::Refuse,
            (Note::NameLong { len: 64 }, _) => Level::Silent,
            (Note::NameLong { .. }, Specification) => Level::Refuse,
            (_, Tolerant | Specification | Llama) => Level::Warn,
        }
    }
}

/// Something unusual, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// What.
    pub note: Note,
    /// Absolute offset, in bytes.
    pub offset: u64,
}

/// What a count in the header or of an array counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counted {
    /// Metadata keys.
    Keys,
    /// Tensors.
    Tensors,
    /// Elements of an array.
    Elements,
}

/// A broken rule of the format; the offset of the [`Error`](crate::Error) says where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The first four bytes are not `GGUF`.
    Magic {
        /// The bytes found.
        found: [u8; 4],
    },
    /// The version is 1, 2 or 3 in neither byte order.
    Version {
        /// The version read as little-endian.
        little: u32,
        /// The version read as big-endian.
        big: u32,
    },
    /// So many entries cannot fit into the bytes that are left.
    Count {
        /// What is counted.
        of: Counted,
        /// How many there are said to be.
        count: u64,
        /// How many there is room for.
        room: u64,
    },
    /// A key of no bytes.
    KeyEmpty,
    /// A key stands twice.
    DuplicateKey {
        /// Place of the first in the file, from 0.
        first: u32,
        /// Place of the second.
        second: u32,
    },
    /// A value type that is none.
    ValueType {
        /// The number found.
        found: u32,
    },
    /// `general.alignment` is 0 or no power of two.
    Alignment {
        /// The value; a negative one as its two's complement.
        found: u64,
    },
    /// `general.alignment` is no integer.
    AlignmentType {
        /// Its type.
        found: ValueType,
    },
    /// A tensor of more than 4 dimensions.
    Dimensions {
        /// How many.
        found: u32,
    },
    /// A tensor's dimension, or the product of all, is 2^63 or more.
    Elements,
    /// A tensor's rows are not whole blocks of its type.
    Row {
        /// Elements of a row: the first dimension.
        row: u64,
        /// Elements of a block.
        block: u64,
    },
    /// A type that was once in the format and has been removed.
    RemovedType {
        /// The type.
        found: GgmlType,
    },
    /// A tensor's size in bytes, or the place where it ends, is 2^63 or more.
    Size,
    /// A tensor does not begin at a multiple of the alignment.
    Unaligned {
        /// Its offset in the data.
        offset: u64,
        /// The alignment in bytes.
        alignment: u32,
    },
    /// Two tensors have one name.
    DuplicateTensor {
        /// Place of the first in the table, from 0.
        first: u32,
        /// Place of the second.
        second: u32,
    },
    /// Two tensors share bytes.
    Overlap {
        /// Place in the table, from 0, of the one that begins first.
        first: u32,
        /// Place of the other.
        second: u32,
    },
    /// Something unusual that the [`Strictness`] chosen does not allow.
    Refused(Note),
}

impl Fault {
    /// What a caller can do about it.
    pub const fn class(self) -> Class {
        match self {
            Fault::Version { .. } => Class::Unsupported,
            _ => Class::Malformed,
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Counted::Keys => "keys",
            Counted::Tensors => "tensors",
            Counted::Elements => "array elements",
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Version1 => {
                f.write_str("the file is of version 1, which llama.cpp no longer reads")
            }
            Note::BigEndian => f.write_str("the file is big-endian"),
            Note::BigEndianVersion { version } => {
                write!(
                    f,
                    "the file is big-endian and of version {version}: there are such files from version 3 on"
                )
            }
            Note::KeyLong { len } => write!(f, "a key has {len} bytes: at most 65535 are allowed"),
            Note::KeyNotAscii => f.write_str("a key is not ascii"),
            Note::NewerType { found } => {
                write!(
                    f,
                    "a value of type {found} in a file of version 1: the type came with version 2"
                )
            }
            Note::Nested => f.write_str("an array holds arrays"),
            Note::Bool { found } => write!(f, "a bool has the value {found}, not 0 or 1"),
            Note::NotUtf8 => f.write_str("a string is not utf-8"),
            Note::AlignmentSmall { alignment } => {
                write!(f, "general.alignment is {alignment}, no multiple of 8")
            }
            Note::AlignmentType { found } => {
                write!(f, "general.alignment is of type {found}, not u32")
            }
            Note::NameEmpty => f.write_str("a tensor has an empty name"),
            Note::NameLong { len } => {
                write!(
                    f,
                    "a tensor's name has {len} bytes: at most 64 are allowed, and 63 by llama.cpp"
                )
            }
            Note::UnknownType { found } => {
                write!(f, "a tensor has the unknown type {}: its size is not known", found.0)
            }
            Note::OutOfOrder { ordinal } => {
                write!(
                    f,
                    "the data of tensor {ordinal} lies before that of the tensor listed ahead of it"
                )
            }
            Note::Misplaced { ordinal, wanted } => {
                write!(
                    f,
                    "tensor {ordinal} does not begin at {wanted}, where the one ahead of it ends"
                )
            }
            Note::Gap { bytes } => write!(f, "{bytes} bytes between tensors belong to none"),
            Note::PaddingNotZero => f.write_str("the padding before the tensor data is not zero"),
            Note::Trailing { bytes } => {
                write!(f, "{bytes} bytes behind the last tensor belong to none")
            }
            Note::Unchecked(what) => {
                let what = match what {
                    Unchecked::Keys => "that no key stands twice",
                    Unchecked::Names => "that no tensor's name stands twice",
                    Unchecked::Overlap => "that no tensors overlap",
                };
                write!(f, "there is too little memory to check {what}")
            }
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at offset {})", self.note, self.offset)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Magic { found } => {
                write!(f, "this is no gguf file: it begins with the bytes")?;
                found.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            Fault::Version { little, big } => write!(
                f,
                "unknown gguf version {little} ({big} if the file is big-endian): versions 1 to 3 are known"
            ),
            Fault::Count { of, count, room } => {
                write!(f, "{count} {of} are declared where there is room for {room} at most")
            }
            Fault::KeyEmpty => f.write_str("a key is empty"),
            Fault::DuplicateKey { first, second } => {
                write!(f, "keys {first} and {second} are the same")
            }
            Fault::ValueType { found } => write!(f, "{found} is no value type"),
            Fault::Alignment { found } => {
                write!(f, "general.alignment is {found}: a power of two is needed")
            }
            Fault::AlignmentType { found } => {
                write!(f, "general.alignment is of type {found}, no integer")
            }
            Fault::Dimensions { found } => {
                write!(f, "a tensor has {found} dimensions: at most 4 are allowed")
            }
            Fault::Elements => f.write_str("a tensor has 2^63 elements or more"),
            Fault::Row { row, block } => {
                write!(f, "a tensor's rows of {row} elements are no whole blocks of {block}")
            }
            Fault::RemovedType { found } => match found.name() {
                Some(name) => write!(
                    f,
                    "a tensor has the type {name} ({}), which was removed from the format: convert the model anew",
                    found.0
                ),
                None => write!(f, "a tensor has the removed type {}", found.0),
            },
            Fault::Size => f.write_str("a tensor has, or ends behind, 2^63 bytes or more"),
            Fault::Unaligned { offset, alignment } => {
                write!(f, "a tensor's offset {offset} is no multiple of the alignment {alignment}")
            }
            Fault::DuplicateTensor { first, second } => {
                write!(f, "tensors {first} and {second} have one name")
            }
            Fault::Overlap { first, second } => {
                write!(f, "the data of tensors {first} and {second} overlap")
            }
            Fault::Refused(note) => write!(f, "not allowed here: {note}"),
        }
    }
}

//! What reading a header yields.

use super::super::fault::Warning;
use super::super::tensor::Tensor;
use super::super::value::{Elements, Endian, Scalar, Text, ValueKind, ValueType};
use crate::need::ItemKind;

/// The file's first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// 1, 2 or 3.
    pub version: u32,
    /// The byte order of all that follows the magic, tensor data included.
    pub endian: Endian,
    /// Tensors in the table.
    pub tensors: u64,
    /// Metadata keys.
    pub keys: u64,
}

/// A metadata key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'i> {
    /// Its name: ASCII by the specification, which nobody promises.
    pub name: &'i [u8],
    /// Place in the file, from 0.
    pub ordinal: u32,
    /// The type of its value, and its size.
    pub kind: ValueKind,
    /// Absolute offset of the key's first byte, which is that of its length.
    pub offset: u64,
}

impl<'i> Key<'i> {
    /// The name as UTF-8.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn as_str(&self) -> Result<&'i str, core::str::Utf8Error> {
        core::str::from_utf8(self.name)
    }

    /// What follows `architecture` and a dot, if the name begins so.
    pub fn of(&self, architecture: &[u8]) -> Option<&'i [u8]> {
        self.name.strip_prefix(architecture)?.strip_prefix(b".")
    }

    /// What precedes a dot and `rest`, if the name ends so and it is not empty.
    pub fn prefix(&self, rest: &[u8]) -> Option<&'i [u8]> {
        self.name.strip_suffix(rest)?.strip_suffix(b".").filter(|prefix| !prefix.is_empty())
    }
}

/// What reading yields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Item<'i> {
    /// The header has been read. The first item.
    Header(Header),
    /// A key; its value follows, if it is wanted.
    Key(Key<'i>),
    /// The value of the last key.
    Value(Scalar),
    /// The last key's string, unless it is empty, or the next string of its array; all of it,
    /// or a part.
    Text(Text<'i>),
    /// Elements of the last key's array, or of the array within it that was begun last.
    Elements(Elements<'i>),
    /// An array within an array begins; its elements follow.
    Inner {
        /// How deep it lies: 2 for an array within the key's array.
        depth: u8,
        /// Type of its elements.
        element: ValueType,
        /// How many they are.
        len: u64,
    },
    /// A tensor.
    Tensor(Tensor<'i>),
    /// Something unusual about what was read last.
    Warning(Warning),
}

/// The family of [`Item`].
#[derive(Debug)]
pub enum Items {}

impl ItemKind for Items {
    type Item<'i> = Item<'i>;
}

/// Where the tensor table ends and the data begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataStart {
    /// Absolute offset behind the tensor table, or behind the keys if there are no tensors.
    pub header_end: u64,
    /// That, rounded up to the alignment: where other readers see the data begin even in a file
    /// without tensors.
    pub padded: u64,
    /// Absolute offset of the data: as `padded`; without tensors as `header_end`, as in
    /// llama.cpp.
    pub offset: u64,
    /// The alignment in bytes: a power of two.
    pub alignment: u32,
}

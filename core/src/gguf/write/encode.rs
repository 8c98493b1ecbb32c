//! Numbers, strings and values as a file has them, and what cannot be written.

use alloc::vec::Vec;
use core::fmt;

use super::super::{Endian, GgmlType, Scalar, ValueType};
use super::{MAX_DEPTH, MAX_KEY, MAX_NAME};

/// A value to be written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'v> {
    /// A number or a bool.
    Scalar(Scalar),
    /// A string's bytes.
    String(&'v [u8]),
    /// An array.
    Array {
        /// The type of each item.
        element: ValueType,
        /// The items, all of that type.
        items: &'v [Value<'v>],
    },
}

impl Value<'_> {
    /// The value's type.
    pub fn ty(&self) -> ValueType {
        match self {
            Value::Scalar(scalar) => scalar.ty(),
            Value::String(_) => ValueType::String,
            Value::Array { .. } => ValueType::Array,
        }
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Value::String(text.as_bytes())
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Value::Scalar(Scalar::U32(number))
    }
}

impl From<f32> for Value<'_> {
    fn from(number: f32) -> Self {
        Value::Scalar(Scalar::F32(number))
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Value::Scalar(Scalar::Bool(flag))
    }
}

/// What cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteFault {
    /// A version that is not 1, 2 or 3, or not in this byte order: big-endian files are of
    /// version 3.
    Version,
    /// A key has no bytes, or more than 65,535.
    KeyLength(usize),
    /// A key is there already.
    KeyTwice,
    /// An item of an array has another type than the array's.
    Element {
        /// The array's.
        wanted: ValueType,
        /// The item's.
        found: ValueType,
    },
    /// Arrays are nested deeper than 8.
    Depth,
    /// Version 1 has no 64-bit values, and no lengths beyond 32 bits.
    Version1,
    /// `general.alignment` must be a `u32`: a power of two, from 8 to 2^20.
    Alignment,
    /// The alignment comes after a tensor, whose place depends on it.
    AlignmentLate,
    /// A tensor's name has no bytes, or more than 63.
    NameLength(usize),
    /// A tensor of this name is there already.
    TensorTwice,
    /// More than four dimensions.
    Dimensions(usize),
    /// The tensor's size is not known: an unknown or removed type, rows that are no whole number
    /// of blocks, or a size beyond 63 bits.
    Size(GgmlType),
}

impl fmt::Display for WriteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteFault::Version => {
                f.write_str("only versions 1 to 3 can be written, big-endian only 3")
            }
            WriteFault::KeyLength(len) => {
                write!(f, "a key of {len} bytes: 1 to {MAX_KEY} are allowed")
            }
            WriteFault::KeyTwice => f.write_str("the key is there already"),
            WriteFault::Element { wanted, found } => {
                write!(f, "an array of {wanted} cannot have an item of type {found}")
            }
            WriteFault::Depth => write!(f, "arrays are nested deeper than {MAX_DEPTH}"),
            WriteFault::Version1 => {
                f.write_str("version 1 has no 64-bit values, counts or lengths")
            }
            WriteFault::Alignment => {
                f.write_str("general.alignment must be a u32: a power of two from 8 to 1048576")
            }
            WriteFault::AlignmentLate => {
                f.write_str("general.alignment must come before the first tensor")
            }
            WriteFault::NameLength(len) => {
                write!(f, "a tensor's name of {len} bytes: 1 to {MAX_NAME} are allowed")
            }
            WriteFault::TensorTwice => f.write_str("a tensor of this name is there already"),
            WriteFault::Dimensions(found) => {
                write!(f, "a tensor of {found} dimensions: 4 are allowed")
            }
            WriteFault::Size(ty) => write!(f, "the size of this tensor of type {ty} is not known"),
        }
    }
}

impl core::error::Error for WriteFault {}

/// Numbers, strings and values in the layout of one version and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoder {
    version: u32,
    endian: Endian,
}

impl Encoder {
    /// For a version and byte order.
    ///
    /// # Errors
    /// [`WriteFault::Version`].
    pub fn new(version: u32, endian: Endian) -> Result<Encoder, WriteFault> {
        match (version, endian) {
            (1..=3, Endian::Little) | (3, Endian::Big) => Ok(Encoder { version, endian }),
            _ => Err(WriteFault::Version),
        }
    }

    /// The version.
    pub fn version(self) -> u32 {
        self.version
    }

    /// The byte order.
    pub fn endian(self) -> Endian {
        self.endian
    }

    /// A 32-bit number: types, dimensions' counts.
    pub fn u32(self, out: &mut Vec<u8>, number: u32) {
        out.extend(match self.endian {
            Endian::Little => number.to_le_bytes(),
            Endian::Big => number.to_be_bytes(),
        });
    }

    /// A 64-bit number in every version: tensor offsets.
    pub fn u64(self, out: &mut Vec<u8>, number: u64) {
        out.extend(match self.endian {
            Endian::Little => number.to_le_bytes(),
            Endian::Big => number.to_be_bytes(),
        });
    }

    /// A count, length or dimension: 32 bits in version 1, 64 later.
    ///
    /// # Errors
    /// [`WriteFault::Version1`].
    pub fn count(self, out: &mut Vec<u8>, number: u64) -> Result<(), WriteFault> {
        if self.version > 1 {
            self.u64(out, number);
        } else {
            self.u32(out, u32::try_from(number).map_err(|_| WriteFault::Version1)?);
        }
        Ok(())
    }

    /// A string: its length, then its bytes.
    ///
    /// # Errors
    /// [`WriteFault::Version1`].
    pub fn string(self, out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), WriteFault> {
        self.count(out, bytes.len() as u64)?;
        out.extend_from_slice(bytes);
        Ok(())
    }

    /// A key with its value.
    ///
    /// # Errors
    /// [`WriteFault`]; what is in `out` from its length on is then to be thrown away.
    pub fn pair(self, out: &mut Vec<u8>, key: &[u8], value: &Value<'_>) -> Result<(), WriteFault> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(WriteFault::KeyLength(key.len()));
        }
        self.string(out, key)?;
        self.u32(out, value.ty().id());
        self.value(out, value, 0)
    }

    fn value(self, out: &mut Vec<u8>, value: &Value<'_>, depth: u8) -> Result<(), WriteFault> {
        match value {
            Value::Scalar(scalar) => self.scalar(out, *scalar),
            Value::String(bytes) => self.string(out, bytes),
            Value::Array { element, items } => {
                if depth == MAX_DEPTH {
                    return Err(WriteFault::Depth);
                }
                self.u32(out, element.id());
                self.count(out, items.len() as u64)?;
                for item in *items {
                    if item.ty() != *element {
                        return Err(WriteFault::Element { wanted: *element, found: item.ty() });
                    }
                    self.value(out, item, depth + 1)?;
                }
                Ok(())
            }
        }
    }

    fn scalar(self, out: &mut Vec<u8>, scalar: Scalar) -> Result<(), WriteFault> {
        macro_rules! number {
            ($value:expr) => {
                match self.endian {
                    Endian::Little => out.extend($value.to_le_bytes()),
                    Endian::Big => out.extend($value.to_be_bytes()),
                }
            };
        }
        if self.version == 1 && matches!(scalar, Scalar::U64(_) | Scalar::I64(_) | Scalar::F64(_)) {
            return Err(WriteFault::Version1);
        }
        match scalar {
            Scalar::U8(value) => out.push(value),
            Scalar::I8(value) => number!(value),
            Scalar::U16(value) => number!(value),
            Scalar::I16(value) => number!(value),
            Scalar::U32(value) => number!(value),
            Scalar::I32(value) => number!(value),
            Scalar::F32(value) => number!(value),
            Scalar::Bool(value) => out.push(value.into()),
            Scalar::U64(value) => number!(value),
            Scalar::I64(value) => number!(value),
            Scalar::F64(value) => number!(value),
        }
        Ok(())
    }
}

//! Metadata values: their types, scalars, and views of arrays and strings.
//!
//! Nothing is converted silently: [`Scalar::to_u64`] gives an integer of any width that fits
//! and says why another does not.
//!
//! ```
//! use rocload_core::gguf::{Mismatch, Scalar};
//!
//! assert_eq!(Scalar::I32(4096).to_u64(), Ok(4096));
//! assert_eq!(Scalar::I32(-1).to_u64(), Err(Mismatch::Negative));
//! assert_eq!(Scalar::F32(4096.0).to_u64(), Err(Mismatch::NotInteger));
//! ```
//!
//! Source: the GGUF specification, "File Structure".

use core::fmt;
use core::str::Utf8Error;

/// The byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Endian {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// A `u32` of this byte order.
    #[inline]
    pub const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }

    /// A `u64` of this byte order.
    #[inline]
    pub const fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Endian::Little => u64::from_le_bytes(bytes),
            Endian::Big => u64::from_be_bytes(bytes),
        }
    }
}

impl fmt::Display for Endian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Endian::Little => "little",
            Endian::Big => "big",
        })
    }
}

/// A value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ValueType {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

impl ValueType {
    /// All, by number.
    pub const ALL: [ValueType; 13] = {
        use ValueType::{Array, Bool, F32, F64, I8, I16, I32, I64, String, U8, U16, U32, U64};
        [U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64]
    };

    /// The type of this number.
    pub fn from_id(id: u32) -> Option<ValueType> {
        ValueType::ALL.get(usize::try_from(id).ok()?).copied()
    }

    /// Its number in a file.
    pub const fn id(self) -> u32 {
        self as u32
    }

    /// Bytes that every value of this type takes; `None` for strings and arrays.
    pub const fn size(self) -> Option<u64> {
        use ValueType::{Array, Bool, F32, F64, I8, I16, I32, I64, String, U8, U16, U32, U64};
        match self {
            U8 | I8 | Bool => Some(1),
            U16 | I16 => Some(2),
            U32 | I32 | F32 => Some(4),
            U64 | I64 | F64 => Some(8),
            String | Array => None,
        }
    }

    /// The name, as `rocload` shows it: `u8`, `string`, `array`.
    pub const fn name(self) -> &'static str {
        match self {
            ValueType::U8 => "u8",
            ValueType::I8 => "i8",
            ValueType::U16 => "u16",
            ValueType::I16 => "i16",
            ValueType::U32 => "u32",
            ValueType::I32 => "i32",
            ValueType::F32 => "f32",
            ValueType::Bool => "bool",
            ValueType::String => "string",
            ValueType::Array => "array",
            ValueType::U64 => "u64",
            ValueType::I64 => "i64",
            ValueType::F64 => "f64",
        }
    }

    /// A whole number, signed or not.
    pub const fn is_integer(self) -> bool {
        use ValueType::{I8, I16, I32, I64, U8, U16, U32, U64};
        matches!(self, U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64)
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value's type, with what its head says of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A number or a bool: any type with a [`size`](ValueType::size).
    Scalar(ValueType),
    /// A string.
    String {
        /// Its length in bytes.
        len: u64,
    },
    /// An array.
    Array {
        /// The type of its elements.
        element: ValueType,
        /// How many they are.
        len: u64,
    },
}

impl ValueKind {
    /// The type alone.
    pub const fn ty(self) -> ValueType {
        match self {
            ValueKind::Scalar(ty) => ty,
            ValueKind::String { .. } => ValueType::String,
            ValueKind::Array { .. } => ValueType::Array,
        }
    }
}

impl fmt::Display for ValueKind {
    /// `u32`, `string` or `string[32000]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueKind::Scalar(ty) => ty.fmt(f),
            ValueKind::String { .. } => f.write_str("string"),
            ValueKind::Array { element, len } => write!(f, "{element}[{len}]"),
        }
    }
}

/// Why a value is not what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// A number below 0 where there is none.
    Negative,
    /// A number that the answer's type cannot hold.
    TooLarge,
    /// A scalar that is no integer.
    NotInteger,
    /// A scalar or an array where a string is needed.
    NotString,
    /// A string where a number is needed.
    String,
    /// An array where a single value is needed, or of elements of another type.
    Array,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mismatch::Negative => "negative",
            Mismatch::TooLarge => "too large",
            Mismatch::NotInteger => "no integer",
            Mismatch::NotString => "no string",
            Mismatch::String => "a string",
            Mismatch::Array => "an array",
        })
    }
}

/// A value of a fixed size.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Scalar {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    /// The stored byte is not 0.
    Bool(bool),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl Scalar {
    /// The value at the front of `bytes`; `None` when they are too few or the type has no
    /// fixed size.
    #[inline]
    pub fn read(ty: ValueType, endian: Endian, bytes: &[u8]) -> Option<Scalar> {
        macro_rules! number {
            ($variant:ident, $type:ty) => {{
                let bytes = *bytes.first_chunk()?;
                Scalar::$variant(match endian {
                    Endian::Little => <$type>::from_le_bytes(bytes),
                    Endian::Big => <$type>::from_be_bytes(bytes),
                })
            }};
        }
        Some(match ty {
            ValueType::U8 => number!(U8, u8),
            ValueType::I8 => number!(I8, i8),
            ValueType::U16 => number!(U16, u16),
            ValueType::I16 => number!(I16, i16),
            ValueType::U32 => number!(U32, u32),
            ValueType::I32 => number!(I32, i32),
            ValueType::F32 => number!(F32, f32),
            ValueType::Bool => Scalar::Bool(*bytes.first()? != 0),
            ValueType::U64 => number!(U64, u64),
            ValueType::I64 => number!(I64, i64),
            ValueType::F64 => number!(F64, f64),
            ValueType::String | ValueType::Array => return None,
        })
    }

    /// The type.
    pub const fn ty(self) -> ValueType {
        match self {
            Scalar::U8(_) => ValueType::U8,
            Scalar::I8(_) => ValueType::I8,
            Scalar::U16(_) => ValueType::U16,
            Scalar::I16(_) => ValueType::I16,
            Scalar::U32(_) => ValueType::U32,
            Scalar::I32(_) => ValueType::I32,
            Scalar::F32(_) => ValueType::F32,
            Scalar::Bool(_) => ValueType::Bool,
            Scalar::U64(_) => ValueType::U64,
            Scalar::I64(_) => ValueType::I64,
            Scalar::F64(_) => ValueType::F64,
        }
    }

    /// The value as a `u64`, from an integer of any type.
    ///
    /// # Errors
    /// [`Mismatch::Negative`] and, for floats and bools, [`Mismatch::NotInteger`].
    pub fn to_u64(self) -> Result<u64, Mismatch> {
        let signed = |value: i64| u64::try_from(value).map_err(|_| Mismatch::Negative);
        match self {
            Scalar::U8(value) => Ok(value.into()),
            Scalar::U16(value) => Ok(value.into()),
            Scalar::U32(value) => Ok(value.into()),
            Scalar::U64(value) => Ok(value),
            Scalar::I8(value) => signed(value.into()),
            Scalar::I16(value) => signed(value.into()),
            Scalar::I32(value) => signed(value.into()),
            Scalar::I64(value) => signed(value),
            Scalar::F32(_) | Scalar::F64(_) | Scalar::Bool(_) => Err(Mismatch::NotInteger),
        }
    }

    /// The value as a `u32`, from an integer of any type that fits.
    ///
    /// # Errors
    /// As [`to_u64`](Self::to_u64), and [`Mismatch::TooLarge`].
    pub fn to_u32(self) -> Result<u32, Mismatch> {
        u32::try_from(self.to_u64()?).map_err(|_| Mismatch::TooLarge)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::U8(value) => value.fmt(f),
            Scalar::I8(value) => value.fmt(f),
            Scalar::U16(value) => value.fmt(f),
            Scalar::I16(value) => value.fmt(f),
            Scalar::U32(value) => value.fmt(f),
            Scalar::I32(value) => value.fmt(f),
            Scalar::F32(value) => value.fmt(f),
            Scalar::Bool(value) => value.fmt(f),
            Scalar::U64(value) => value.fmt(f),
            Scalar::I64(value) => value.fmt(f),
            Scalar::F64(value) => value.fmt(f),
        }
    }
}

/// Consecutive elements of an array whose elements have a fixed size, as they stand in the file.
///
/// An array of up to `Limits::contiguous` bytes comes as one view of all elements. A longer one
/// comes as several; each begins where the one before has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elements<'i> {
    pub(super) ty: ValueType,
    pub(super) endian: Endian,
    pub(super) first: u64,
    pub(super) of: u64,
    pub(super) bytes: &'i [u8],
}

impl<'i> Elements<'i> {
    /// The elements' type.
    pub const fn ty(&self) -> ValueType {
        self.ty
    }

    /// The byte order.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// Index of the first in the whole array.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// How many the whole array has.
    pub const fn of(&self) -> u64 {
        self.of
    }

    /// The bytes, in the file's byte order.
    pub const fn bytes(&self) -> &'i [u8] {
        self.bytes
    }

    fn size(&self) -> usize {
        // Elements are made of types of 1 to 8 bytes alone.
        self.ty.size().map_or(1, |size| size as usize)
    }

    /// How many are here.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.size()
    }

    /// None is here.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The element at `index` of those here.
    pub fn get(&self, index: usize) -> Option<Scalar> {
        let at = index.checked_mul(self.size())?;
        Scalar::read(self.ty, self.endian, self.bytes.get(at..)?)
    }

    /// All that are here.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Scalar> + use<'i> {
        let (ty, endian) = (self.ty, self.endian);
        self.bytes
            .chunks_exact(self.size())
            .map(move |bytes| Scalar::read(ty, endian, bytes).unwrap_or(Scalar::U8(0)))
    }
}

/// Bytes of a string: all of them, or a part.
///
/// A string of up to `Limits::contiguous` bytes comes whole. A longer one comes in parts; each
/// begins where the one before has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'i> {
    /// The bytes: UTF-8 by the specification, which nobody promises.
    pub bytes: &'i [u8],
    /// Index of the string in the array that it is an element of; 0 for a single string.
    pub index: u64,
    /// Where the bytes begin in the string.
    pub start: u64,
    /// The string's length in bytes.
    pub of: u64,
}

impl<'i> Text<'i> {
    /// All of the string is here.
    pub const fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.of
    }

    /// The string ends here.
    pub const fn is_last(&self) -> bool {
        self.start + self.bytes.len() as u64 == self.of
    }

    /// The bytes as UTF-8. A part may begin or end within a character.
    ///
    /// # Errors
    /// They are not UTF-8.
    pub fn as_str(&self) -> Result<&'i str, Utf8Error> {
        core::str::from_utf8(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_numbers() {
        for (id, ty) in ValueType::ALL.into_iter().enumerate() {
            assert_eq!(ty.id(), id as u32);
            assert_eq!(ValueType::from_id(id as u32), Some(ty));
            let read = Scalar::read(ty, Endian::Big, &[0; 8]);
            assert_eq!(read.map(Scalar::ty), ty.size().map(|_| ty), "{ty}");
            if let Some(size) = ty.size() {
                assert_eq!(Scalar::read(ty, Endian::Little, &[0; 8][..size as usize - 1]), None);
            }
        }
        assert_eq!(ValueType::from_id(13), None);
        assert_eq!(ValueType::from_id(u32::MAX), None);
    }

    #[test]
    fn integers_of_any_type_that_fit() {
        for (scalar, wanted) in [
            (Scalar::U8(200), Ok(200)),
            (Scalar::I8(-1), Err(Mismatch::Negative)),
            (Scalar::U16(40_000), Ok(40_000)),
            (Scalar::I16(7), Ok(7)),
            (Scalar::U32(u32::MAX), Ok(u32::MAX)),
            (Scalar::I32(i32::MIN), Err(Mismatch::Negative)),
            (Scalar::U64(1 << 32), Err(Mismatch::TooLarge)),
            (Scalar::I64(9), Ok(9)),
            (Scalar::F64(1.0), Err(Mismatch::NotInteger)),
            (Scalar::Bool(true), Err(Mismatch::NotInteger)),
        ] {
            assert_eq!(scalar.to_u32(), wanted, "{scalar:?}");
        }
        assert_eq!(Scalar::U64(u64::MAX).to_u64(), Ok(u64::MAX));
    }

    #[test]
    fn a_view_of_either_byte_order() {
        let view = |endian, bytes| Elements { ty: ValueType::I16, endian, first: 3, of: 9, bytes };
        let little = view(Endian::Little, &[1, 0, 0xfe, 0xff]);
        let big = view(Endian::Big, &[0, 1, 0xff, 0xfe]);
        assert!(little.iter().eq(big.iter()));
        assert_eq!((little.len(), little.get(1), little.get(2)), (2, Some(Scalar::I16(-2)), None));
        assert_eq!(little.get(usize::MAX), None);
    }
}

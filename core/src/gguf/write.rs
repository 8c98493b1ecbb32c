//! Writing GGUF: keys, values and tensors of any version and byte order.
//!
//! A [`Writer`] gathers keys and tensors and lays them out; [`Writer::header`] is everything in
//! front of the tensor data. The data itself never passes through it: put each tensor at its
//! [`position`](Writer::position), or follow [`parts`](Writer::parts) to write a stream.
//!
//! ```
//! use rocload_core::gguf::write::{Part, Value, Writer};
//! use rocload_core::gguf::{Endian, GgmlType};
//!
//! let mut writer = Writer::new(3, Endian::Little)?;
//! writer.key(b"general.architecture", Value::from("llama"))?;
//! writer.key(b"llama.context_length", Value::from(2048u32))?;
//! writer.tensor(b"output_norm.weight", &[3], GgmlType::F32)?;
//!
//! let mut file = writer.header();
//! for part in writer.parts() {
//!     match part {
//!         Part::Zeros(len) => file.resize(file.len() + len as usize, 0),
//!         Part::Tensor { index: _, size } => file.extend(std::iter::repeat_n(0xff, size as usize)),
//!     }
//! }
//! assert_eq!(file.len() as u64, writer.len());
//! assert_eq!(&file[writer.position(0).unwrap() as usize..][..12], [0xff; 12]);
//! # Ok::<(), rocload_core::gguf::write::WriteFault>(())
//! ```
//!
//! Source: the GGUF specification; version 1 differs in that its counts, lengths and dimensions
//! have 32 bits.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;

use super::{DEFAULT_ALIGNMENT, Endian, GgmlType, Scalar, ValueType};

/// The key whose value tensor data is aligned to.
pub const ALIGNMENT_KEY: &[u8] = b"general.alignment";
/// Arrays in arrays, at most.
const MAX_DEPTH: u8 = super::MAX_DEPTH as u8;
/// The longest name that llama.cpp reads.
const MAX_NAME: usize = 63;
/// The longest key of the specification.
const MAX_KEY: usize = 65_535;

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

/// What follows the header, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// So many zero bytes.
    Zeros(u64),
    /// A tensor's data.
    Tensor {
        /// The tensor's place in the table.
        index: usize,
        /// Its bytes.
        size: u64,
    },
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// From the start of the data section.
    offset: u64,
    size: u64,
}

/// A file as it is put together.
#[derive(Debug, Clone)]
pub struct Writer {
    encoder: Encoder,
    alignment: u32,
    keys: BTreeSet<Vec<u8>>,
    pairs: Vec<u8>,
    names: BTreeSet<Vec<u8>>,
    table: Vec<u8>,
    places: Vec<Place>,
    /// Where the next tensor goes, from the start of the data section.
    next: u64,
}

fn padded(len: u64, alignment: u32) -> Option<u64> {
    len.checked_next_multiple_of(alignment.into())
}

impl Writer {
    /// A file without keys and tensors, of a version from 1 to 3 and a byte order.
    ///
    /// # Errors
    /// [`WriteFault::Version`].
    pub fn new(version: u32, endian: Endian) -> Result<Writer, WriteFault> {
        Ok(Writer {
            encoder: Encoder::new(version, endian)?,
            alignment: DEFAULT_ALIGNMENT,
            keys: BTreeSet::new(),
            pairs: Vec::new(),
            names: BTreeSet::new(),
            table: Vec::new(),
            places: Vec::new(),
            next: 0,
        })
    }

    /// Adds a key. [`ALIGNMENT_KEY`] sets the alignment too and must come before the tensors.
    ///
    /// # Errors
    /// [`WriteFault`]; the file is then as before.
    pub fn key(&mut self, key: &[u8], value: Value<'_>) -> Result<(), WriteFault> {
        let mut alignment = self.alignment;
        if key == ALIGNMENT_KEY {
            alignment = match value {
                Value::Scalar(Scalar::U32(n))
                    if n.is_power_of_two() && (8..=1 << 20).contains(&n) =>
                {
                    n
                }
                _ => return Err(WriteFault::Alignment),
            };
            if !self.places.is_empty() {
                return Err(WriteFault::AlignmentLate);
            }
        }
        if self.keys.contains(key) {
            return Err(WriteFault::KeyTwice);
        }
        let before = self.pairs.len();
        if let Err(fault) = self.encoder.pair(&mut self.pairs, key, &value) {
            self.pairs.truncate(before);
            return Err(fault);
        }
        self.keys.insert(key.to_vec());
        self.alignment = alignment;
        Ok(())
    }

    /// Adds a tensor of `dims`, the row's length first, behind the others. Returns its index.
    ///
    /// # Errors
    /// [`WriteFault`]; the file is then as before.
    pub fn tensor(&mut self, name: &[u8], dims: &[u64], ty: GgmlType) -> Result<usize, WriteFault> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(WriteFault::NameLength(name.len()));
        }
        if dims.len() > 4 {
            return Err(WriteFault::Dimensions(dims.len()));
        }
        if self.names.contains(name) {
            return Err(WriteFault::TensorTwice);
        }
        let unknown = WriteFault::Size(ty);
        let size = ty.tensor_bytes(dims).ok_or(unknown)?;
        let offset = self.next;
        let next = offset.checked_add(size).and_then(|end| padded(end, self.alignment));
        let next = next.filter(|&next| next <= i64::MAX as u64).ok_or(unknown)?;
        let before = self.table.len();
        if let Err(fault) = self.row(name, dims, ty, offset) {
            self.table.truncate(before);
            return Err(fault);
        }
        self.names.insert(name.to_vec());
        self.next = next;
        self.places.push(Place { offset, size });
        Ok(self.places.len() - 1)
    }

    fn row(
        &mut self,
        name: &[u8],
        dims: &[u64],
        ty: GgmlType,
        offset: u64,
    ) -> Result<(), WriteFault> {
        let (encoder, out) = (self.encoder, &mut self.table);
        encoder.string(out, name)?;
        encoder.u32(out, dims.len() as u32);
        for &dim in dims {
            encoder.count(out, dim)?;
        }
        encoder.u32(out, ty.0);
        encoder.u64(out, offset);
        Ok(())
    }

    /// Everything in front of the tensor data, padded to where that begins. A file without
    /// tensors ends unpadded.
    pub fn header(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.data_offset() as usize);
        out.extend(b"GGUF");
        self.encoder.u32(&mut out, self.encoder.version);
        // As many as there are in memory: they fit into 32 bits of version 1 too.
        let _ = self.encoder.count(&mut out, self.places.len() as u64);
        let _ = self.encoder.count(&mut out, self.keys.len() as u64);
        out.extend_from_slice(&self.pairs);
        out.extend_from_slice(&self.table);
        out.resize(self.data_offset() as usize, 0);
        out
    }

    /// Absolute offset of the tensor data.
    pub fn data_offset(&self) -> u64 {
        let counts = if self.encoder.version > 1 { 16 } else { 8 };
        let len = 8 + counts + (self.pairs.len() + self.table.len()) as u64;
        if self.places.is_empty() { len } else { len.next_multiple_of(self.alignment.into()) }
    }

    /// Absolute offset of a tensor's data.
    pub fn position(&self, index: usize) -> Option<u64> {
        self.places.get(index).map(|place| self.data_offset() + place.offset)
    }

    /// Length of the whole file, in bytes.
    pub fn len(&self) -> u64 {
        self.data_offset() + self.next
    }

    /// There is neither a key nor a tensor.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.places.is_empty()
    }

    /// What follows the header: tensors by their order in the table, each padded to the
    /// alignment, the last one too.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.places.iter().enumerate().flat_map(|(index, place)| {
            let end = place.offset + place.size;
            let next = self.places.get(index + 1).map_or(self.next, |next| next.offset);
            [Part::Tensor { index, size: place.size }, Part::Zeros(next - end)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_of_all_versions() {
        let file = |version, endian| {
            let mut writer = Writer::new(version, endian).unwrap();
            writer.key(b"k", Value::from(1u32)).unwrap();
            writer.tensor(b"t", &[2], GgmlType::F16).unwrap();
            (writer.header(), writer.len())
        };
        let v1 = b"GGUF\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0k\x04\0\0\0\x01\0\0\0\
                   \x01\0\0\0t\x01\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        let (header, len) = file(1, Endian::Little);
        assert_eq!(header[..54], v1[..54]);
        assert_eq!((header.len(), len), (64, 96));
        let (header, _) = file(3, Endian::Big);
        assert_eq!(header[..24], *b"GGUF\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01");
        assert_eq!(header[24..41], *b"\0\0\0\0\0\0\0\x01k\0\0\0\x04\0\0\0\x01");
        assert_eq!(Writer::new(2, Endian::Big).unwrap_err(), WriteFault::Version);
        assert_eq!(Writer::new(4, Endian::Little).unwrap_err(), WriteFault::Version);
        let empty = Writer::new(3, Endian::Little).unwrap();
        assert_eq!((empty.header().len(), empty.len(), empty.is_empty()), (24, 24, true));
    }

    #[test]
    fn what_is_refused_leaves_the_file_as_it_was() {
        let mut writer = Writer::new(1, Endian::Little).unwrap();
        writer.key(b"k", Value::from("v")).unwrap();
        writer.tensor(b"t", &[32, 2], GgmlType(8)).unwrap();
        let before = writer.header();
        let wide = [Value::Scalar(Scalar::U64(1))];
        let mixed = [Value::from(1u32), Value::from(true)];
        let array = |element, items| Value::Array { element, items };
        let cases = [
            (&b""[..], Value::from(true), WriteFault::KeyLength(0)),
            (b"k", Value::from(true), WriteFault::KeyTwice),
            (b"w", array(ValueType::U64, &wide), WriteFault::Version1),
            (
                b"m",
                array(ValueType::U32, &mixed),
                WriteFault::Element { wanted: ValueType::U32, found: ValueType::Bool },
            ),
            (ALIGNMENT_KEY, Value::from(12u32), WriteFault::Alignment),
            (ALIGNMENT_KEY, Value::from("32"), WriteFault::Alignment),
            (ALIGNMENT_KEY, Value::from(64u32), WriteFault::AlignmentLate),
        ];
        for (key, value, fault) in cases {
            assert_eq!(writer.key(key, value), Err(fault), "{}", fault);
        }
        let mut value = array(ValueType::U8, &[]);
        let mut levels = Vec::new();
        for _ in 0..8 {
            let items: &[Value<'_>] = alloc::vec![value].leak();
            levels.push(items);
            value = array(ValueType::Array, items);
        }
        assert_eq!(writer.key(b"deep", value), Err(WriteFault::Depth));
        for (name, dims, ty, fault) in [
            (&b""[..], &[1][..], 0, WriteFault::NameLength(0)),
            (&[b'n'; 64], &[1], 0, WriteFault::NameLength(64)),
            (b"t", &[1], 0, WriteFault::TensorTwice),
            (b"u", &[1; 5], 0, WriteFault::Dimensions(5)),
            (b"u", &[33], 8, WriteFault::Size(GgmlType(8))),
            (b"u", &[32], 99, WriteFault::Size(GgmlType(99))),
            (b"u", &[1 << 61], 0, WriteFault::Size(GgmlType(0))),
            (b"u", &[1 << 32], 0, WriteFault::Version1),
        ] {
            assert_eq!(writer.tensor(name, dims, GgmlType(ty)), Err(fault), "{}", fault);
        }
        assert_eq!(writer.header(), before);
    }

    #[test]
    fn tensors_are_aligned_and_padded() {
        let mut writer = Writer::new(3, Endian::Little).unwrap();
        writer.key(ALIGNMENT_KEY, Value::from(64u32)).unwrap();
        for (name, len) in [(b"a", 1), (b"b", 16), (b"c", 0), (b"d", 17)] {
            writer.tensor(name, &[len], GgmlType::F32).unwrap();
        }
        let start = writer.data_offset();
        assert_eq!(start % 64, 0);
        let places: Vec<u64> = (0..4).map(|at| writer.position(at).unwrap() - start).collect();
        assert_eq!(places, [0, 64, 128, 128]);
        assert_eq!(writer.position(4), None);
        let parts: Vec<Part> = writer.parts().collect();
        assert_eq!(parts[..2], [Part::Tensor { index: 0, size: 4 }, Part::Zeros(60)]);
        let sum: u64 = parts
            .iter()
            .map(|part| match part {
                Part::Zeros(len) => *len,
                Part::Tensor { size, .. } => *size,
            })
            .sum();
        assert_eq!(start + sum, writer.len());
    }
}

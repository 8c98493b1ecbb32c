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

mod encode;

pub use encode::{Encoder, Value, WriteFault};

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::{DEFAULT_ALIGNMENT, Endian, GgmlType, Scalar};

/// The key whose value tensor data is aligned to.
pub const ALIGNMENT_KEY: &[u8] = b"general.alignment";
/// Arrays in arrays, at most.
const MAX_DEPTH: u8 = super::MAX_DEPTH as u8;
/// The longest name that llama.cpp reads.
const MAX_NAME: usize = 63;
/// The longest key of the specification.
const MAX_KEY: usize = 65_535;

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
        self.encoder.u32(&mut out, self.encoder.version());
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
        let counts = if self.encoder.version() > 1 { 16 } else { 8 };
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
    use super::super::ValueType;
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

//! A reader of whole slices, as simple as it can be.

use rocload_core::Limits;
use rocload_core::gguf::{Endian, GgmlType, Header, ValueKind, ValueType};

use super::Kept;

/// What it reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// As the reader's items, without warnings.
    pub items: Vec<Kept>,
    /// Where the header ends.
    pub end: u64,
    /// In bytes.
    pub alignment: u64,
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u32,
    big: bool,
}

impl<'a> Input<'a> {
    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(len).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// An unsigned number of so many bytes.
    fn number(&mut self, len: u64) -> Option<u64> {
        let bytes = self.take(len)?;
        let fold = |number, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) })
    }

    fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    fn count(&mut self) -> Option<u64> {
        self.number(if self.version == 1 { 4 } else { 8 })
    }

    fn ty(&mut self) -> Option<ValueType> {
        ValueType::from_id(self.u32()?)
    }

    fn array(&mut self, depth: u8, limits: &Limits, items: &mut Vec<Kept>) -> Option<()> {
        let element = self.ty()?;
        let len = self.count()?;
        self.elements(element, len, depth, limits, items)
    }

    fn elements(
        &mut self,
        element: ValueType,
        len: u64,
        depth: u8,
        limits: &Limits,
        items: &mut Vec<Kept>,
    ) -> Option<()> {
        if depth > limits.gguf_depth || len > limits.gguf_array {
            return None;
        }
        match element {
            ValueType::String => {
                for index in 0..len {
                    let of = self.count()?;
                    let bytes = self.take(of)?.to_vec();
                    items.push(Kept::Text { bytes, index, start: 0, of });
                }
            }
            ValueType::Array => {
                for _ in 0..len {
                    let element = self.ty()?;
                    let len = self.count()?;
                    items.push(Kept::Inner { depth: depth + 1, element, len });
                    self.elements(element, len, depth + 1, limits, items)?;
                }
            }
            fixed => {
                let bytes = self.take(len.checked_mul(fixed.size()?)?)?.to_vec();
                if len > 0 {
                    items.push(Kept::Elements {
                        ty: fixed,
                        big: self.big,
                        first: 0,
                        of: len,
                        bytes,
                    });
                }
            }
        }
        Some(())
    }
}

/// Reads a header; `None` = it is broken.
pub fn read(bytes: &[u8], limits: &Limits) -> Option<Read> {
    let mut input = Input { bytes, at: 0, version: 3, big: false };
    if input.take(4)? != b"GGUF" {
        return None;
    }
    input.version = input.u32()?;
    if !(1..=3).contains(&input.version) {
        input.version = input.version.swap_bytes();
        input.big = true;
        if !(1..=3).contains(&input.version) {
            return None;
        }
    }
    let endian = if input.big { Endian::Big } else { Endian::Little };
    let (tensors, keys) = (input.count()?, input.count()?);
    if tensors > limits.gguf_tensors.into() || keys > limits.gguf_keys.into() {
        return None;
    }
    let header = Header { version: input.version, endian, tensors, keys };
    let (mut items, mut alignment) = (vec![Kept::Header(header)], 32);
    for ordinal in 0..keys as u32 {
        key(&mut input, ordinal, limits, &mut items, &mut alignment)?;
    }
    for ordinal in 0..tensors as u32 {
        items.push(tensor(&mut input, ordinal, alignment, limits)?);
    }
    let end = input.at as u64;
    (end <= limits.gguf_header_bytes).then_some(Read { items, end, alignment })
}

fn key(
    input: &mut Input<'_>,
    ordinal: u32,
    limits: &Limits,
    items: &mut Vec<Kept>,
    alignment: &mut u64,
) -> Option<()> {
    let offset = input.at as u64;
    let len = input.count()?;
    if len == 0 || len > limits.gguf_key_bytes.into() {
        return None;
    }
    let name = input.take(len)?.to_vec();
    let ty = input.ty()?;
    let aligns = name == b"general.alignment";
    if aligns && !ty.is_integer() {
        return None;
    }
    let key = |kind| Kept::Key { name, ordinal, kind, offset };
    match ty {
        ValueType::String => {
            let of = input.count()?;
            items.push(key(ValueKind::String { len: of }));
            let bytes = input.take(of)?.to_vec();
            if of > 0 {
                items.push(Kept::Text { bytes, index: 0, start: 0, of });
            }
        }
        ValueType::Array => {
            let at = input.at;
            let (element, len) = (input.ty()?, input.count()?);
            items.push(key(ValueKind::Array { element, len }));
            input.at = at;
            input.array(1, limits, items)?;
        }
        fixed => {
            let size = fixed.size()?;
            let value = input.number(size)?;
            if aligns {
                // A negative one has its highest bit set, and is too large or no power of two
                // unless that is the only one.
                let negative = matches!(
                    fixed,
                    ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64
                ) && value >> (size * 8 - 1) == 1;
                if negative || !value.is_power_of_two() || value > limits.gguf_alignment.into() {
                    return None;
                }
                *alignment = value;
            }
            items.push(key(ValueKind::Scalar(fixed)));
            let value = if fixed == ValueType::Bool { u64::from(value != 0) } else { value };
            items.push(Kept::Value(fixed, value));
        }
    }
    Some(())
}

fn tensor(input: &mut Input<'_>, ordinal: u32, alignment: u64, limits: &Limits) -> Option<Kept> {
    let row = input.at as u64;
    let len = input.count()?;
    if len > limits.gguf_key_bytes.into() {
        return None;
    }
    let name = input.take(len)?.to_vec();
    let n_dims = input.u32()?;
    if n_dims > 4 {
        return None;
    }
    let dims = (0..n_dims).map(|_| input.count()).collect::<Option<Vec<u64>>>()?;
    let ty = GgmlType(input.u32()?);
    let offset = input.number(8)?;
    let most = i64::MAX as u128;
    let product = |dims: &[u64]| {
        dims.iter().try_fold(1u128, |all, &dim| {
            all.checked_mul(dim.into()).filter(|all| *all <= most && u128::from(dim) <= most)
        })
    };
    let elements = product(&dims)?;
    // A dimension of 0 does not excuse the others.
    let nonzero: Vec<u64> = dims.iter().map(|&dim| dim.max(1)).collect();
    let full = product(&nonzero)?;
    if ty.removed() || offset % alignment != 0 {
        return None;
    }
    let size = match ty.block() {
        None => None,
        Some((block, bytes)) => {
            let first = dims.first().copied().unwrap_or(1);
            let full = full / u128::from(block) * u128::from(bytes);
            if first % block != 0 || full > most {
                return None;
            }
            Some((elements / u128::from(block) * u128::from(bytes)) as u64)
        }
    };
    if u128::from(offset) + u128::from(size.unwrap_or(0)) > most {
        return None;
    }
    Some(Kept::Tensor { name, row, ordinal, ty, dims, elements: elements as u64, offset, size })
}

//! ggml's tensor types: how many elements a block holds and how many bytes it takes.
//!
//! A row (the first dimension) is a whole number of blocks. An id that is not in the table is
//! kept as it is: newer writers invent types, and a header that names one can still be read.
//! Ids that ggml once had and took back have a name and no block.
//!
//! ```
//! use rocload_core::gguf::GgmlType;
//!
//! let q4_k = GgmlType(12);
//! assert_eq!(q4_k.name(), Some("q4_K"));
//! assert_eq!(q4_k.block(), Some((256, 144)));
//! assert_eq!(q4_k.tensor_bytes(&[512, 3]), Some(2 * 144 * 3));
//! assert_eq!(q4_k.tensor_bytes(&[500, 3]), None);
//! assert!(GgmlType(4).removed() && GgmlType(4).block().is_none());
//! ```
//!
//! Source: `ggml.h` (`enum ggml_type`) and the traits that libggml-base of llama.cpp's build
//! 11434 reports for each.

use core::fmt;

/// A tensor's type by its id in the file (`enum ggml_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GgmlType(
    /// The id, as stored.
    pub u32,
);

/// What the table says of one id: name, elements and bytes of a block (0 and 0: removed).
type Row = (&'static str, u16, u16);

const REMOVED: u16 = 0;

/// Indexed by id. Empty names are ids that never were.
const TABLE: [Row; 43] = [
    ("f32", 1, 4),
    ("f16", 1, 2),
    ("q4_0", 32, 18),
    ("q4_1", 32, 20),
    ("q4_2", REMOVED, 0),
    ("q4_3", REMOVED, 0),
    ("q5_0", 32, 22),
    ("q5_1", 32, 24),
    ("q8_0", 32, 34),
    ("q8_1", 32, 36),
    ("q2_K", 256, 84),
    ("q3_K", 256, 110),
    ("q4_K", 256, 144),
    ("q5_K", 256, 176),
    ("q6_K", 256, 210),
    ("q8_K", 256, 292),
    ("iq2_xxs", 256, 66),
    ("iq2_xs", 256, 74),
    ("iq3_xxs", 256, 98),
    ("iq1_s", 256, 50),
    ("iq4_nl", 32, 18),
    ("iq3_s", 256, 110),
    ("iq2_s", 256, 82),
    ("iq4_xs", 256, 136),
    ("i8", 1, 1),
    ("i16", 1, 2),
    ("i32", 1, 4),
    ("i64", 1, 8),
    ("f64", 1, 8),
    ("iq1_m", 256, 56),
    ("bf16", 1, 2),
    ("q4_0_4_4", REMOVED, 0),
    ("q4_0_4_8", REMOVED, 0),
    ("q4_0_8_8", REMOVED, 0),
    ("tq1_0", 256, 54),
    ("tq2_0", 256, 66),
    ("iq4_nl_4_4", REMOVED, 0),
    ("iq4_nl_4_8", REMOVED, 0),
    ("iq4_nl_8_8", REMOVED, 0),
    ("mxfp4", 32, 17),
    ("nvfp4", 64, 36),
    ("q1_0", 128, 18),
    ("q2_0", 64, 18),
];

impl GgmlType {
    /// 32-bit floats.
    pub const F32: Self = Self(0);
    /// 16-bit floats.
    pub const F16: Self = Self(1);

    fn row(self) -> Option<&'static Row> {
        usize::try_from(self.0).ok().and_then(|id| TABLE.get(id))
    }

    /// Elements and bytes of one block; `None` for unknown and removed types.
    pub fn block(self) -> Option<(u64, u64)> {
        self.row().filter(|row| row.1 != REMOVED).map(|row| (row.1.into(), row.2.into()))
    }

    /// The name ggml prints (`q4_K`); removed types keep theirs; `None` = unknown.
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.0)
    }

    /// ggml once had this type and took it back: no present reader can load it.
    pub fn removed(self) -> bool {
        self.row().is_some_and(|row| row.1 == REMOVED)
    }

    /// The type is in ggml's present list.
    pub fn known(self) -> bool {
        self.block().is_some()
    }

    /// The type with that name, in any case (`Q4_K`, `q4_k`); removed types are not found.
    pub fn from_name(name: &str) -> Option<Self> {
        (0u32..)
            .zip(TABLE)
            .find(|(_, row)| row.1 != REMOVED && row.0.eq_ignore_ascii_case(name))
            .map(|(id, _)| Self(id))
    }

    /// All types of ggml's present list, by id.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TABLE.len() as u32).map(Self).filter(|ty| ty.known())
    }

    /// Bytes of one row of `elements`. `None`: unknown or removed type, a row that is not a
    /// whole number of blocks, or a size beyond 64 bits.
    pub fn row_bytes(self, elements: u64) -> Option<u64> {
        let (count, bytes) = self.block()?;
        if !elements.is_multiple_of(count) {
            return None;
        }
        (elements / count).checked_mul(bytes)
    }

    /// Bytes of a tensor of `dims`, the row length first; no dimensions = one element. `None`
    /// as for [`row_bytes`](Self::row_bytes), or when the number of elements passes 64 bits
    /// before a zero dimension can hide it.
    pub fn tensor_bytes(self, dims: &[u64]) -> Option<u64> {
        let row = self.row_bytes(dims.first().copied().unwrap_or(1))?;
        let mut rows = 1u64;
        for &dim in dims.get(1..).unwrap_or(&[]) {
            rows = rows.checked_mul(dim)?;
        }
        dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim))?;
        row.checked_mul(rows)
    }
}

impl fmt::Display for GgmlType {
    /// The name, or `type 99` when there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn thirty_five_types_live_and_eight_are_removed() {
        assert_eq!(GgmlType::all().count(), 35);
        let removed: alloc::vec::Vec<u32> = (0..100).filter(|&id| GgmlType(id).removed()).collect();
        assert_eq!(removed, [4, 5, 31, 32, 33, 36, 37, 38]);
        assert!(!GgmlType(43).known() && !GgmlType(43).removed());
        assert_eq!(GgmlType(u32::MAX).name(), None);
        assert_eq!(GgmlType(99).to_string(), "type 99");
    }

    #[test]
    fn names_lead_back_to_their_types() {
        for ty in GgmlType::all() {
            assert_eq!(GgmlType::from_name(ty.name().unwrap()), Some(ty));
        }
        assert_eq!(GgmlType::from_name("Q8_0"), Some(GgmlType(8)));
        assert_eq!(GgmlType::from_name("q4_2"), None);
        assert_eq!(GgmlType::from_name(""), None);
    }

    #[test]
    fn sizes_are_checked_not_wrapped() {
        assert_eq!(GgmlType::F32.tensor_bytes(&[]), Some(4));
        assert_eq!(GgmlType::F32.tensor_bytes(&[0, 5]), Some(0));
        assert_eq!(GgmlType::F32.tensor_bytes(&[1 << 32, 1 << 32]), None);
        assert_eq!(GgmlType(24).tensor_bytes(&[1 << 32, 1 << 31]), Some(1 << 63));
        assert_eq!(GgmlType::F32.tensor_bytes(&[1 << 62, 1]), None);
        // A zero at the end does not make an overflow before it sound.
        assert_eq!(GgmlType(24).tensor_bytes(&[1 << 32, 1 << 32, 0]), None);
        assert_eq!(GgmlType(2).row_bytes(33), None);
        assert_eq!(GgmlType(2).row_bytes(64), Some(36));
    }
}

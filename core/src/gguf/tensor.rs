//! One row of the tensor table: name, dimensions, type, and where the data lies.
//!
//! Sizes are by checked arithmetic: nothing wraps, whatever a file declares.
//!
//! Source: the GGUF specification, "File Structure"; the limits are those of llama.cpp's reader.

use super::GgmlType;
use super::fault::Fault;

/// Dimensions of a tensor at most.
pub const MAX_DIMS: usize = 4;

/// A tensor as the table describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor<'i> {
    /// Its name: bytes, of any kind.
    pub name: &'i [u8],
    /// Its facts.
    pub info: TensorInfo,
}

/// What is known of a tensor apart from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorInfo {
    /// Place in the table, from 0.
    pub ordinal: u32,
    /// Type of its elements; not necessarily a known one.
    pub ty: GgmlType,
    pub(super) dims: [u64; MAX_DIMS],
    pub(super) n_dims: u8,
    /// How many elements it has: the product of its dimensions, below 2^63.
    pub elements: u64,
    /// Where its data begins, in bytes from the start of the data section.
    pub offset: u64,
    /// Bytes of its data; `None` = the type is unknown.
    pub size: Option<u64>,
    /// Absolute offset of its row in the table.
    pub row: u64,
}

impl TensorInfo {
    /// The dimensions, the row's length first; none for a single element.
    pub fn dims(&self) -> &[u64] {
        self.dims.get(..usize::from(self.n_dims)).unwrap_or(&self.dims)
    }

    /// Where the data ends, in bytes from the start of the data section; `None` = unknown.
    pub const fn end(&self) -> Option<u64> {
        match self.size {
            Some(size) => Some(self.offset.saturating_add(size)),
            None => None,
        }
    }
}

/// The elements of a tensor and their bytes, `None` where the type is unknown.
///
/// # Errors
/// [`Fault::Elements`], [`Fault::RemovedType`], [`Fault::Row`], [`Fault::Size`].
pub(super) fn measure(dims: &[u64], ty: GgmlType) -> Result<(u64, Option<u64>), Fault> {
    const MAX: u64 = i64::MAX as u64;
    // Factors of 0 are left out at first: none may hide that the others are too large.
    let product = dims.iter().try_fold(1u64, |product, &dim| {
        product.checked_mul(dim.max(1)).filter(|&product| product <= MAX && dim <= MAX)
    });
    let product = product.ok_or(Fault::Elements)?;
    let elements = if dims.contains(&0) { 0 } else { product };
    if ty.removed() {
        return Err(Fault::RemovedType { found: ty });
    }
    let Some((block, bytes)) = ty.block() else {
        return Ok((elements, None));
    };
    let row = dims.first().copied().unwrap_or(1);
    if row % block != 0 {
        return Err(Fault::Row { row, block });
    }
    match (product / block).checked_mul(bytes) {
        Some(size) if size <= MAX => Ok((elements, Some(if elements == 0 { 0 } else { size }))),
        _ => Err(Fault::Size),
    }
}

/// `offset` rounded up to a multiple of `alignment`, a power of two.
pub(super) const fn pad(offset: u64, alignment: u32) -> u64 {
    let mask = alignment as u64 - 1;
    match offset.checked_add(mask) {
        Some(above) => above & !mask,
        // The largest multiple there is.
        None => !mask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F32: GgmlType = GgmlType(0);
    const Q8_0: GgmlType = GgmlType(8);

    #[test]
    fn sizes_are_checked() {
        assert_eq!(measure(&[], F32), Ok((1, Some(4))));
        assert_eq!(measure(&[64, 3], Q8_0), Ok((192, Some(6 * 34))));
        assert_eq!(measure(&[64, 0], Q8_0), Ok((0, Some(0))));
        assert_eq!(measure(&[33], Q8_0), Err(Fault::Row { row: 33, block: 32 }));
        assert_eq!(measure(&[], Q8_0), Err(Fault::Row { row: 1, block: 32 }));
        assert_eq!(measure(&[7, 7], GgmlType(99)), Ok((49, None)));
        assert_eq!(measure(&[7], GgmlType(4)), Err(Fault::RemovedType { found: GgmlType(4) }));
    }

    #[test]
    fn nothing_wraps() {
        for dims in [
            &[u64::MAX][..],
            &[1 << 63],
            &[1 << 32, 1 << 32],
            &[1 << 62, 2],
            &[1 << 32, 1 << 32, 0],
            &[0, u64::MAX],
        ] {
            assert_eq!(measure(dims, F32), Err(Fault::Elements), "{dims:?}");
        }
        // 2^61 elements of 4 bytes are 2^63.
        assert_eq!(measure(&[1 << 61], F32), Err(Fault::Size));
        assert_eq!(measure(&[(1 << 61) - 1], F32).unwrap().1, Some((1 << 63) - 4));
        assert_eq!(pad(1, 32), 32);
        assert_eq!(pad(64, 32), 64);
        assert_eq!(pad(u64::MAX, 32), u64::MAX - 31);
    }
}

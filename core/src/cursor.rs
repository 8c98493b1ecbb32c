//! Bounds-checked reads over a slice that knows where it stands in the whole input.
//!
//! Every read either yields a value and moves on, or fails with the absolute offset and moves
//! nothing. Offsets are `u64` from end to end; `usize` appears only at the slice.
//!
//! ```
//! use rocload_core::{Cursor, ErrorKind};
//!
//! let mut cursor = Cursor::new(b"KPAK\x01\0\0\0", 0);
//! assert_eq!(cursor.array::<4>()?, *b"KPAK");
//! assert_eq!(cursor.u32_le()?, 1);
//! let error = cursor.u64_le().unwrap_err();
//! assert_eq!((error.offset, error.kind), (8, ErrorKind::Truncated { need: 8, have: 0 }));
//! # Ok::<(), rocload_core::Error>(())
//! ```

use crate::error::{Error, ErrorKind};

/// A read position in `bytes`, which begin at absolute offset `base`.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    base: u64,
}

macro_rules! integers {
    ($($name:ident $type:ty, $from:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        ///
        /// # Errors
        /// [`ErrorKind::Truncated`] when the slice ends first.
        #[inline]
        pub fn $name(&mut self) -> Result<$type, Error> {
            Ok(<$type>::$from(self.array()?))
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// Starts at the front of `bytes`, whose first byte has the absolute offset `base`.
    pub const fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, pos: 0, base }
    }

    /// As [`new`](Self::new), with the first `pos` bytes read already.
    pub(crate) const fn starting_at(bytes: &'a [u8], base: u64, pos: usize) -> Self {
        Self { bytes, pos, base }
    }

    /// Bytes read so far from the front of the slice.
    #[inline]
    pub const fn position(&self) -> usize {
        self.pos
    }

    /// Absolute offset of the next byte.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.base.saturating_add(self.pos as u64)
    }

    /// What is left.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or(&[])
    }

    /// The whole slice, read or not.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// An error of `kind` at the next byte.
    pub const fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.offset())
    }

    #[cold]
    fn truncated(&self, need: usize) -> Error {
        self.error(ErrorKind::Truncated { need: need as u64, have: self.rest().len() as u64 })
    }

    /// Passes over `n` bytes that [`rest`](Self::rest) has shown to be there.
    #[inline]
    pub(crate) const fn pass(&mut self, n: usize) {
        self.pos += n;
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] when fewer are left.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Error> {
        match self.rest().get(..n) {
            Some(taken) => {
                self.pos += n;
                Ok(taken)
            }
            None => Err(self.truncated(n)),
        }
    }

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] when fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.rest().first_chunk::<N>() {
            Some(chunk) => {
                self.pos += N;
                Ok(*chunk)
            }
            None => Err(self.truncated(N)),
        }
    }

    /// One byte.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] at the end of the slice.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    integers! {
        u16_le u16, from_le_bytes, "A little-endian `u16`.";
        u32_le u32, from_le_bytes, "A little-endian `u32`.";
        u64_le u64, from_le_bytes, "A little-endian `u64`.";
        u16_be u16, from_be_bytes, "A big-endian `u16`.";
        u32_be u32, from_be_bytes, "A big-endian `u32`.";
        u64_be u64, from_be_bytes, "A big-endian `u64`.";
        i16_le i16, from_le_bytes, "A little-endian `i16`.";
        i32_le i32, from_le_bytes, "A little-endian `i32`.";
        i64_le i64, from_le_bytes, "A little-endian `i64`.";
        i16_be i16, from_be_bytes, "A big-endian `i16`.";
        i32_be i32, from_be_bytes, "A big-endian `i32`.";
        i64_be i64, from_be_bytes, "A big-endian `i64`.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_moves_nothing() {
        let mut cursor = Cursor::new(&[1, 2, 3], 100);
        assert_eq!(cursor.u8(), Ok(1));
        assert_eq!(
            cursor.u32_be(),
            Err(Error::new(ErrorKind::Truncated { need: 4, have: 2 }, 101))
        );
        assert_eq!(cursor.u16_be(), Ok(0x0203));
        assert_eq!(cursor.rest(), &[] as &[u8]);
        assert_eq!(cursor.take(usize::MAX).unwrap_err().offset, 103);
    }

    #[test]
    fn both_byte_orders() {
        let bytes = [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x88];
        let read = || Cursor::new(&bytes, 0);
        assert_eq!(read().u64_le(), Ok(0x8807_0605_0403_0201));
        assert_eq!(read().u64_be(), Ok(0x0102_0304_0506_0788));
        assert_eq!(read().i32_le(), Ok(0x0403_0201));
        assert_eq!(Cursor::new(&[0xff, 0xfe], 0).i16_be(), Ok(-2));
    }

    #[test]
    fn offsets_saturate_rather_than_wrap() {
        let mut cursor = Cursor::new(&[0; 4], u64::MAX - 1);
        assert!(cursor.take(4).is_ok());
        assert_eq!(cursor.offset(), u64::MAX);
    }
}

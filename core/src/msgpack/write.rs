//! The writer: minimal encodings into a slice, counting on past its end.

use crate::error::{Error, ErrorKind, Full};

/// Writes MessagePack into a slice with the shortest encoding of each value.
///
/// A slice that is too small does not stop the writer: it goes on counting, and
/// [`finish`](Self::finish) tells the exact length needed. An empty slice measures.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    /// Writes to the front of `out`.
    pub const fn new(out: &'a mut [u8]) -> Self {
        Self { out, len: 0 }
    }

    /// Bytes that everything written so far takes, whether or not they fit.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Nothing has been written.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes written.
    ///
    /// # Errors
    /// [`Full`] with the length that all of it takes, in bytes.
    pub fn finish(self) -> Result<&'a [u8], Error> {
        match self.out.get(..self.len) {
            Some(written) => Ok(written),
            None => {
                let full = Full { need: self.len as u64 };
                Err(Error::new(ErrorKind::Full(full), self.out.len() as u64))
            }
        }
    }

    /// Bytes that are MessagePack already.
    pub fn raw(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(room) = self.out.get_mut(self.len..end) {
            room.copy_from_slice(bytes);
        }
        self.len = end;
    }

    fn head(&mut self, marker: u8, tail: &[u8]) {
        self.raw(&[marker]);
        self.raw(tail);
    }

    /// `nil`.
    pub fn nil(&mut self) {
        self.raw(&[0xc0]);
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        self.raw(&[if value { 0xc3 } else { 0xc2 }]);
    }

    /// A non-negative integer.
    pub fn uint(&mut self, value: u64) {
        if value < 0x80 {
            self.raw(&[value as u8]);
        } else if let Ok(value) = u8::try_from(value) {
            self.head(0xcc, &[value]);
        } else if let Ok(value) = u16::try_from(value) {
            self.head(0xcd, &value.to_be_bytes());
        } else if let Ok(value) = u32::try_from(value) {
            self.head(0xce, &value.to_be_bytes());
        } else {
            self.head(0xcf, &value.to_be_bytes());
        }
    }

    /// An integer of either sign.
    pub fn int(&mut self, value: i64) {
        if let Ok(value) = u64::try_from(value) {
            self.uint(value);
        } else if value >= -32 {
            self.raw(&(value as i8).to_be_bytes());
        } else if let Ok(value) = i8::try_from(value) {
            self.head(0xd0, &value.to_be_bytes());
        } else if let Ok(value) = i16::try_from(value) {
            self.head(0xd1, &value.to_be_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.head(0xd2, &value.to_be_bytes());
        } else {
            self.head(0xd3, &value.to_be_bytes());
        }
    }

    /// A 32-bit float.
    pub fn f32(&mut self, value: f32) {
        self.head(0xca, &value.to_bits().to_be_bytes());
    }

    /// A 64-bit float.
    pub fn f64(&mut self, value: f64) {
        self.head(0xcb, &value.to_bits().to_be_bytes());
    }

    /// A string.
    pub fn str(&mut self, text: &str) {
        self.str_bytes(text.as_bytes());
    }

    /// A string given as bytes, which the specification asks to be UTF-8. At most 2^32 - 1 of
    /// them are written.
    pub fn str_bytes(&mut self, bytes: &[u8]) {
        if bytes.len() < 32 {
            self.raw(&[0xa0 | bytes.len() as u8]);
            self.raw(bytes);
        } else {
            self.sized([0xd9, 0xda, 0xdb], bytes);
        }
    }

    /// Binary data. At most 2^32 - 1 bytes of it are written.
    pub fn bin(&mut self, bytes: &[u8]) {
        self.sized([0xc4, 0xc5, 0xc6], bytes);
    }

    fn sized(&mut self, markers: [u8; 3], bytes: &[u8]) {
        let max = u32::MAX as usize;
        let bytes = &bytes[..bytes.len().min(max)];
        if let Ok(len) = u8::try_from(bytes.len()) {
            self.head(markers[0], &[len]);
        } else if let Ok(len) = u16::try_from(bytes.len()) {
            self.head(markers[1], &len.to_be_bytes());
        } else {
            self.head(markers[2], &(bytes.len() as u32).to_be_bytes());
        }
        self.raw(bytes);
    }

    /// An extension of type `kind`. At most 2^32 - 1 bytes of it are written.
    pub fn ext(&mut self, kind: i8, bytes: &[u8]) {
        let max = u32::MAX as usize;
        let bytes = &bytes[..bytes.len().min(max)];
        let fixed = match bytes.len() {
            1 => Some(0xd4),
            2 => Some(0xd5),
            4 => Some(0xd6),
            8 => Some(0xd7),
            16 => Some(0xd8),
            _ => None,
        };
        if let Some(marker) = fixed {
            self.raw(&[marker]);
        } else if let Ok(len) = u8::try_from(bytes.len()) {
            self.head(0xc7, &[len]);
        } else if let Ok(len) = u16::try_from(bytes.len()) {
            self.head(0xc8, &len.to_be_bytes());
        } else {
            self.head(0xc9, &(bytes.len() as u32).to_be_bytes());
        }
        self.raw(&kind.to_be_bytes());
        self.raw(bytes);
    }

    /// The head of an array; its elements are written next.
    pub fn array(&mut self, elements: u32) {
        self.container(0x90, [0xdc, 0xdd], elements);
    }

    /// The head of a map; its pairs are written next as key, value.
    pub fn map(&mut self, pairs: u32) {
        self.container(0x80, [0xde, 0xdf], pairs);
    }

    fn container(&mut self, fixed: u8, markers: [u8; 2], count: u32) {
        if count < 16 {
            self.raw(&[fixed | count as u8]);
        } else if let Ok(count) = u16::try_from(count) {
            self.head(markers[0], &count.to_be_bytes());
        } else {
            self.head(markers[1], &count.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::{Reader, Token};

    #[test]
    fn a_short_slice_learns_the_length_it_needs() {
        let mut small = [0u8; 3];
        let mut writer = Writer::new(&mut small);
        writer.str("longer than three");
        let need = writer.len() as u64;
        assert_eq!(writer.finish().unwrap_err().kind, ErrorKind::Full(Full { need }));
        assert_eq!(need, 18);
    }

    #[test]
    fn every_head_reads_back_at_its_borders() {
        let mut buffer = std::vec![0u8; 1 << 18];
        let filler = std::vec![b'x'; 70_000];
        for len in [0, 1, 2, 4, 8, 16, 31, 32, 255, 256, 65_535, 65_536] {
            for form in 0..3 {
                let mut writer = Writer::new(&mut buffer);
                let expected = match form {
                    0 => {
                        writer.str_bytes(&filler[..len]);
                        Token::Str(&filler[..len])
                    }
                    1 => {
                        writer.bin(&filler[..len]);
                        Token::Bin(&filler[..len])
                    }
                    _ => {
                        writer.ext(-3, &filler[..len]);
                        Token::Ext(-3, &filler[..len])
                    }
                };
                let mut reader = Reader::new(writer.finish().unwrap(), 0);
                assert_eq!(reader.token(), Ok(expected), "{len} bytes, form {form}");
                assert!(reader.rest().is_empty());
            }
        }
    }

    #[test]
    fn integers_take_the_fewest_bytes() {
        for (value, len) in [
            (0i64, 1),
            (127, 1),
            (128, 2),
            (255, 2),
            (256, 3),
            (65_535, 3),
            (65_536, 5),
            (1 << 32, 9),
            (-1, 1),
            (-32, 1),
            (-33, 2),
            (-128, 2),
            (-129, 3),
            (-32_769, 5),
            (i64::MIN, 9),
        ] {
            let mut buffer = [0u8; 9];
            let mut writer = Writer::new(&mut buffer);
            writer.int(value);
            assert_eq!(writer.len(), len, "{value}");
            let token = Reader::new(writer.finish().unwrap(), 0).token().unwrap();
            let expected = u64::try_from(value).map_or(Token::Int(value), Token::Uint);
            assert_eq!(token, expected);
        }
    }
}

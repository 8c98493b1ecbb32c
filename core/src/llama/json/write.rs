//! Writing JSON into a slice.

use core::fmt::{self, Write as _};

use crate::error::{Error, ErrorKind, Full};

/// Writes one JSON text into a slice. What does not fit is counted, so that the error tells
/// how much would do.
///
/// Commas are put where they belong; braces, brackets and names are the caller's duty, as is
/// [`Writer::raw`]: what is written raw must be JSON.
///
/// ```
/// use rocload_core::llama::json::Writer;
///
/// let mut buffer = [0; 64];
/// let mut writer = Writer::new(&mut buffer);
/// writer.begin(b'{').key("prompt").string("a \"b\"\n").key("n").number(3).end(b'}');
/// let length = writer.finish()?;
/// assert_eq!(&buffer[..length], br#"{"prompt":"a \"b\"\n","n":3}"#);
/// # Ok::<(), rocload_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut [u8],
    len: usize,
    /// A comma is due before the next key or element.
    comma: bool,
}

impl<'b> Writer<'b> {
    /// A writer at the start of `out`.
    pub const fn new(out: &'b mut [u8]) -> Self {
        Writer { out, len: 0, comma: false }
    }

    fn put(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(place) = self.out.get_mut(self.len..end) {
            place.copy_from_slice(bytes);
        }
        self.len = end;
    }

    fn next(&mut self) {
        if self.comma {
            self.put(b",");
        }
        self.comma = true;
    }

    /// Begins an object (`{`) or an array (`[`).
    pub fn begin(&mut self, brace: u8) -> &mut Self {
        self.next();
        self.put(&[brace]);
        self.comma = false;
        self
    }

    /// Ends what was begun.
    pub fn end(&mut self, brace: u8) -> &mut Self {
        self.put(&[brace]);
        self.comma = true;
        self
    }

    /// A member's name; its value must follow.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.next();
        self.quoted(key);
        self.put(b":");
        self.comma = false;
        self
    }

    /// A member's name, escaped already.
    pub(crate) fn raw_key(&mut self, key: &[u8]) -> &mut Self {
        self.next();
        self.put(b"\"");
        self.put(key);
        self.put(b"\":");
        self.comma = false;
        self
    }

    /// A string, escaped as JSON wants: quotes, backslashes and control characters; anything
    /// else is written as UTF-8.
    pub fn string(&mut self, text: &str) -> &mut Self {
        self.next();
        self.quoted(text);
        self
    }

    /// A number that JSON can express: integers, and finite floats ([`Writer::float`]).
    pub fn number(&mut self, number: impl Into<i128>) -> &mut Self {
        self.next();
        let _ = write!(Digits(self), "{}", number.into());
        self
    }

    /// A float in the shortest form that reads back as the same one. JSON has no infinities
    /// and no NaN: those become `null`.
    pub fn float(&mut self, number: f64) -> &mut Self {
        self.next();
        if number.is_finite() {
            let _ = write!(Digits(self), "{number:?}");
        } else {
            self.put(b"null");
        }
        self
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.next();
        self.put(if value { b"true" } else { b"false" });
        self
    }

    /// A value, or members, written out already.
    pub fn raw(&mut self, json: &[u8]) -> &mut Self {
        self.next();
        self.put(json);
        self
    }

    fn quoted(&mut self, text: &str) {
        self.put(b"\"");
        let bytes = text.as_bytes();
        let mut done = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let hex;
            let escape: &[u8] = match byte {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                b'\n' => b"\\n",
                b'\r' => b"\\r",
                b'\t' => b"\\t",
                0..0x20 => {
                    const HEX: &[u8; 16] = b"0123456789abcdef";
                    let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                    hex = [b'\\', b'u', b'0', b'0', high, low];
                    &hex
                }
                _ => continue,
            };
            self.put(&bytes[done..at]);
            self.put(escape);
            done = at + 1;
        }
        self.put(&bytes[done..]);
        self.put(b"\"");
    }

    /// How many bytes were written.
    ///
    /// # Errors
    /// [`ErrorKind::Full`] with the length of the whole text when the slice is shorter.
    pub fn finish(self) -> Result<usize, Error> {
        if self.len > self.out.len() {
            let full = Full { need: self.len as u64 };
            return Err(Error::new(ErrorKind::Full(full), self.out.len() as u64));
        }
        Ok(self.len)
    }
}

struct Digits<'w, 'b>(&'w mut Writer<'b>);

impl fmt::Write for Digits<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.put(text.as_bytes());
        Ok(())
    }
}

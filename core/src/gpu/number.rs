//! Numbers and lines as the kernel writes them into small files.
//!
//! A file is at most [`MAX_FILE`] bytes: what lies behind them is not read. White space around a
//! number is trimmed, and what is left must be digits alone; anything else is no number, never
//! an error of the whole scan.

/// The most bytes of one file that are looked at: a page, which is also the kernel's own limit.
pub const MAX_FILE: usize = 4096;

/// The bytes without ASCII white space and zero bytes around them, of the first [`MAX_FILE`].
pub fn trim(bytes: &[u8]) -> &[u8] {
    let mut bytes = &bytes[..bytes.len().min(MAX_FILE)];
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    while let [first, rest @ ..] = bytes
        && blank(first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && blank(last)
    {
        bytes = rest;
    }
    bytes
}

/// A decimal number: 1 to 20 digits that fit 64 bits.
///
/// ```
/// use rocload_core::gpu::number::decimal;
///
/// assert_eq!(decimal(b"17163091968\n"), Some(17_163_091_968));
/// assert_eq!([decimal(b""), decimal(b"-1"), decimal(b"1e3"), decimal(b"18446744073709551616")], [None; 4]);
/// ```
pub fn decimal(bytes: &[u8]) -> Option<u64> {
    let digits = trim(bytes);
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value.checked_mul(10)?.checked_add(digit.into())
    })
}

/// A whole number of either sign, as temperatures are.
pub fn signed(bytes: &[u8]) -> Option<i64> {
    match trim(bytes) {
        [b'-', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => {
            i64::try_from(decimal(digits)?).ok().map(|value| -value)
        }
        digits => i64::try_from(decimal(digits)?).ok(),
    }
}

/// A hexadecimal number: 1 to 16 digits of either case, with or without `0x` in front.
///
/// ```
/// use rocload_core::gpu::number::hex;
///
/// assert_eq!(hex(b"0x1002\n"), Some(0x1002));
/// assert_eq!(hex(b"880ed6479d653a85\n"), Some(0x880e_d647_9d65_3a85));
/// assert_eq!([hex(b"0x"), hex(b"g"), hex(b"10000000000000000")], [None; 3]);
/// ```
pub fn hex(bytes: &[u8]) -> Option<u64> {
    let digits = trim(bytes);
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        Some(value << 4 | u64::from(digit))
    })
}

/// The lines `name value` of a KFD `properties` file, values decimal.
///
/// As libhsakmt does, it ends at the first line that is malformed, and after [`MAX_FILE`] bytes.
///
/// ```
/// use rocload_core::gpu::number::Properties;
///
/// let lines: Vec<_> = Properties::new(b"simd_count 120\nvendor_id 4098\nodd\nnum_xcc 1\n").collect();
/// assert_eq!(lines, [(&b"simd_count"[..], 120), (b"vendor_id", 4098)]);
/// ```
#[derive(Debug, Clone)]
pub struct Properties<'a> {
    rest: &'a [u8],
}

impl<'a> Properties<'a> {
    /// The lines of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Properties { rest: &bytes[..bytes.len().min(MAX_FILE)] }
    }
}

impl<'a> Iterator for Properties<'a> {
    type Item = (&'a [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        let (line, rest) = split(self.rest, b'\n');
        let (name, value) = split(line, b' ');
        self.rest = rest;
        let value = decimal(value).filter(|_| !name.is_empty());
        if value.is_none() {
            self.rest = b"";
        }
        Some((name, value?))
    }
}

/// The bytes before the first `at` and those behind it; none where there is no `at`.
pub(super) fn split(bytes: &[u8], at: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(at, bytes) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, b""),
    }
}

/// `MemAvailable` of `/proc/meminfo`, in bytes: what the system can give without swapping.
///
/// ```
/// let text = b"MemTotal:       65000000 kB\nMemAvailable:   50000000 kB\n";
/// assert_eq!(rocload_core::gpu::number::mem_available(text), Some(51_200_000_000));
/// ```
pub fn mem_available(meminfo: &[u8]) -> Option<u64> {
    let mut rest = &meminfo[..meminfo.len().min(MAX_FILE)];
    while !rest.is_empty() {
        let (line, behind) = split(rest, b'\n');
        rest = behind;
        if let Some(value) = line.strip_prefix(b"MemAvailable:") {
            return decimal(trim(value).strip_suffix(b"kB")?)?.checked_mul(1024);
        }
    }
    None
}

/// A short text of a file, printable ASCII alone: other bytes are dropped, and the rest where it is
/// longer than `N`, 255 at most.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

impl<const N: usize> Text<N> {
    /// No text.
    pub const EMPTY: Self = Text { bytes: [0; N], len: 0 };

    /// The text of a file.
    pub fn new(bytes: &[u8]) -> Self {
        let mut text = Text::EMPTY;
        let printable = trim(bytes).iter().filter(|byte| matches!(byte, b' '..=b'~'));
        for (at, byte) in text.bytes.iter_mut().take(255).zip(printable) {
            *at = *byte;
            text.len += 1;
        }
        text
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.bytes.get(..self.len.into()).and_then(|text| str::from_utf8(text).ok()).unwrap_or("")
    }

    /// There is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Text::EMPTY
    }
}

impl<const N: usize> core::fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!(decimal(b" \t42\r\n\0"), Some(42));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"000000000000000000001"), None, "21 digits");
        for wrong in [&b"+1"[..], b"1 2", b"0x10", b"\xff", b"1\n2", b"1."] {
            assert_eq!(decimal(wrong), None, "{wrong:?}");
        }
        assert_eq!(
            [signed(b"-5000\n"), signed(b"41000"), signed(b"--1")],
            [Some(-5000), Some(41_000), None]
        );
        assert_eq!(hex(b"0xFFFFffffFFFFffff"), Some(u64::MAX));
        assert_eq!(hex(b"-1"), None);
    }

    #[test]
    fn properties_end_at_the_first_bad_line() {
        let all = |bytes| Properties::new(bytes).map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(all(b"a 1\nb 2"), [1, 2]);
        assert_eq!(all(b"a 1\n\nb 2"), [1]);
        assert_eq!(all(b"a 1\n 3\nb 2"), [1]);
        assert_eq!(all(b"a\xff 1\nb 99999999999999999999\nc 3"), [1]);
        assert!(all(b"").is_empty());
        let long = b"a 1\n".repeat(2000);
        assert_eq!(all(&long).len(), 1024);
    }

    #[test]
    fn texts_are_short_and_printable() {
        let text = Text::<8>::new(b" a\x1b[31m\xffbcdefgh\n");
        assert_eq!(text.as_str(), "a[31mbcd");
        assert!(Text::<8>::new(b"\n").is_empty());
        assert_eq!(Text::<300>::new(&[b'x'; 400]).as_str().len(), 255);
        assert_eq!(mem_available(b"MemAvailable: 1 kB"), Some(1024));
        assert_eq!(mem_available(b"MemAvailable: 18446744073709551615 kB\n"), None);
        assert_eq!(mem_available(b"MemTotal: 1 kB\n"), None);
    }
}

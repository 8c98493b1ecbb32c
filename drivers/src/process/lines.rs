//! Output as lines.

use memchr::memchr;

/// The most of a line that is kept, in bytes.
pub const LINE_BYTES: usize = 64 << 10;

/// A line of output, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'l> {
    /// Its first [`LINE_BYTES`] at most; a CR before the LF is left out.
    pub bytes: &'l [u8],
    /// It was longer.
    pub cut: bool,
}

/// Cuts one stream of output into lines. A line that comes in several pieces is one line.
///
/// ```
/// use rocload::process::Lines;
///
/// let mut lines = Lines::default();
/// let mut found = Vec::new();
/// for piece in [&b"one\r\ntw"[..], b"o\n\nend"] {
///     lines.feed(piece, |line| found.push(line.bytes.to_vec()));
/// }
/// lines.end(|line| found.push(line.bytes.to_vec()));
/// assert_eq!(found, [&b"one"[..], b"two", b"", b"end"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Lines {
    begun: Vec<u8>,
    cut: bool,
}

impl Lines {
    /// Takes more output, and tells each line that is complete with it.
    pub fn feed(&mut self, mut bytes: &[u8], mut tell: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.begun.is_empty() && !self.cut {
                let cut = line.len() > LINE_BYTES;
                tell(Line { bytes: trimmed(&line[..line.len().min(LINE_BYTES)], cut), cut });
            } else {
                self.keep(line);
                self.end(&mut tell);
            }
        }
        self.keep(bytes);
    }

    /// The output is over: tells a last line without an end, if there is one.
    pub fn end(&mut self, mut tell: impl FnMut(Line<'_>)) {
        if !self.begun.is_empty() {
            tell(Line { bytes: trimmed(&self.begun, self.cut), cut: self.cut });
        }
        self.begun.clear();
        // A long line must not hold its memory for ever.
        self.begun.shrink_to(4 << 10);
        self.cut = false;
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES - self.begun.len();
        self.cut |= bytes.len() > room;
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

fn trimmed(line: &[u8], cut: bool) -> &[u8] {
    if cut { line } else { line.strip_suffix(b"\r").unwrap_or(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<(usize, bool)> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.feed(piece, |line| found.push((line.bytes.len(), line.cut)));
        }
        lines.end(|line| found.push((line.bytes.len(), line.cut)));
        found
    }

    #[test]
    fn any_two_pieces_give_the_same_lines() {
        let text = b"a\r\nbc\n\n\r\nd\re\n last";
        let whole = split(&[text]);
        assert_eq!(whole, [(1, false), (2, false), (0, false), (0, false), (3, false), (5, false)]);
        for at in 0..=text.len() {
            assert_eq!(split(&[&text[..at], &text[at..]]), whole, "{at}");
        }
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_is_whole() {
        let long = vec![b'x'; LINE_BYTES + 1];
        let found = [(LINE_BYTES, true), (3, false)];
        assert_eq!(split(&[&long, b"\nyyy\n"]), found);
        assert_eq!(split(&[&[&long[..], b"\nyyy\n"].concat()]), found);
        assert_eq!(split(&[&long[..LINE_BYTES], b"\nyyy"]), [(LINE_BYTES, false), (3, false)]);
        assert_eq!(split(&[&long[..LINE_BYTES], b"x", b"\r", b"\n", b"yyy"]), found);
    }

    #[test]
    fn a_flood_without_an_end_takes_no_more_than_a_line() {
        let mut lines = Lines::default();
        for _ in 0..100 {
            lines.feed(&[b'x'; 64 << 10], |line| panic!("{line:?}"));
        }
        assert!(lines.begun.capacity() <= 2 * LINE_BYTES);
    }
}

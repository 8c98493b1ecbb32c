//! What is kept of a process's output.

use std::collections::VecDeque;

use rocload_core::serve::log::is_backtrace;

use super::Line;

/// The first so many bytes are kept.
const HEAD: usize = 16 << 10;
/// The last so many bytes are kept.
const TAIL: usize = 256 << 10;
/// So many of the last lines that tell of an error are kept.
const ERRORS: usize = 64;
/// The most of such a line, in bytes.
const ERROR_LINE: usize = 4 << 10;

/// The beginning and the end of a process's output, and its last error lines: 530 KiB at most,
/// however much it writes.
#[derive(Debug, Default)]
pub struct Log {
    head: Vec<u8>,
    head_full: bool,
    tail: VecDeque<u8>,
    errors: VecDeque<Vec<u8>>,
    bytes: u64,
    lines: u64,
}

/// What a [`Log`] holds at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Excerpt {
    /// The first 16 KiB at most, in whole lines.
    pub head: Vec<u8>,
    /// Bytes between head and tail that were not kept.
    pub skipped: u64,
    /// The last 256 KiB at most, in whole lines, as far as they are not in the head.
    pub tail: Vec<u8>,
    /// The last 64 lines at most that tell of an error, oldest first, each cut at 4 KiB.
    pub errors: Vec<Vec<u8>>,
    /// Lines written in all.
    pub lines: u64,
}

impl Log {
    /// Adds a line; `error` = it tells of an error.
    pub fn push(&mut self, line: Line<'_>, error: bool) {
        self.lines += 1;
        self.bytes += line.bytes.len() as u64 + 1;
        if error {
            if self.errors.len() == ERRORS {
                self.errors.pop_front();
            }
            self.errors.push_back(line.bytes[..line.bytes.len().min(ERROR_LINE)].to_vec());
        }
        if !self.head_full {
            if self.head.len() + line.bytes.len() < HEAD {
                self.head.extend_from_slice(line.bytes);
                self.head.push(b'\n');
                return;
            }
            self.head_full = true;
        }
        let len = line.bytes.len() + 1;
        while self.tail.len() + len > TAIL && !self.tail.is_empty() {
            let end = self.tail.iter().position(|&byte| byte == b'\n').unwrap_or(self.tail.len());
            self.tail.drain(..(end + 1).min(self.tail.len()));
        }
        self.tail.extend(line.bytes);
        self.tail.push_back(b'\n');
    }

    /// What is kept.
    pub fn excerpt(&self) -> Excerpt {
        let kept = (self.head.len() + self.tail.len()) as u64;
        Excerpt {
            head: self.head.clone(),
            skipped: self.bytes - kept,
            tail: self.tail.iter().copied().collect(),
            errors: self.errors.iter().cloned().collect(),
            lines: self.lines,
        }
    }

    /// The last `most` lines that tell best why it failed: those that tell of an error, or if
    /// there are none the last ones of all but a debugger's.
    pub fn telling(&self, most: usize) -> Vec<Vec<u8>> {
        if !self.errors.is_empty() {
            let from = self.errors.len().saturating_sub(most);
            return self.errors.range(from..).cloned().collect();
        }
        let all: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        let mut lines: Vec<Vec<u8>> = all
            .rsplit(|&byte| byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty() && !is_backtrace(line))
            .take(most)
            .map(|line| line[..line.len().min(ERROR_LINE)].to_vec())
            .collect();
        lines.reverse();
        lines
    }
}

impl Excerpt {
    /// Head and tail as text, ill-formed UTF-8 replaced, with a line that tells what is missing
    /// between them.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.skipped > 0 {
            text.push_str(&format!("... {} bytes are not kept ...\n", self.skipped));
        }
        text.push_str(&String::from_utf8_lossy(&self.tail));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line { bytes: text.as_bytes(), cut: false }
    }

    #[test]
    fn a_flood_keeps_its_first_its_last_and_its_error_lines() {
        let mut log = Log::default();
        for at in 0..100_000 {
            log.push(line(&format!("line {at}")), at % 1000 == 0);
        }
        let kept = log.excerpt();
        assert!(kept.head.starts_with(b"line 0\nline 1\n") && kept.head.len() <= HEAD);
        assert!(kept.tail.ends_with(b"line 99998\nline 99999\n") && kept.tail.len() <= TAIL);
        assert!(kept.tail.starts_with(b"line "));
        assert!(kept.skipped > 0 && kept.lines == 100_000);
        assert_eq!((kept.errors.len(), &kept.errors[63][..]), (64, &b"line 99000"[..]));
        assert_eq!(log.telling(2), [&b"line 98000"[..], b"line 99000"]);
    }

    #[test]
    fn the_last_line_after_much_noise_is_told() {
        let mut log = Log::default();
        for _ in 0..32 << 10 {
            log.push(line("n"), false);
        }
        log.push(line("out of room"), false);
        log.push(line(""), false);
        assert_eq!(log.telling(2), [&b"n"[..], b"out of room"]);
    }

    #[test]
    fn the_longest_lines_fit() {
        let long = "x".repeat(64 << 10);
        let mut log = Log::default();
        for _ in 0..10 {
            log.push(line(&long), true);
        }
        let kept = log.excerpt();
        assert!(kept.head.is_empty() && kept.tail.len() <= TAIL && !kept.tail.is_empty());
        assert!(kept.errors.iter().all(|line| line.len() == ERROR_LINE));
        assert_eq!(Log::default().excerpt(), Excerpt::default());
    }
}

//! The frame index: where each frame of an archive's zstd region lies.
//!
//! The region has no table. It is a frame count, then each frame behind its own length word, so
//! that finding frame *n* takes a walk over the *n* words before it:
//!
//! ```text
//! u32 count | u32 len, frame 0 | u32 len, frame 1 | ... | bytes that nobody owns
//!
//!   Count --count = 0---------------------------> Done
//!     |                                            ^
//!     +--> Word --item FrameSpan, jump over it--+  | last frame
//!           ^                                   |--+
//!           +-----------------------------------+
//! ```
//!
//! [`FrameIndex`] keeps no table either: a driver stores the spans that come out, stops when it
//! has the one it wants, and goes on later with the same machine.
//!
//! ```
//! use rocload_core::{Limits, Machine, Need, visit};
//! use rocload_core::zstd::FrameIndex;
//!
//! // A region at offset 64: two "frames" of 3 and 2 bytes.
//! let region = b"\x02\0\0\0\x03\0\0\0abc\x02\0\0\0de";
//! let mut index = FrameIndex::new(64, region.len() as u64, &Limits::default())?;
//! let mut spans = Vec::new();
//! while let Need::At { offset, .. } = index.need() {
//!     visit(&mut index, offset, &region[offset as usize - 64..], |span| spans.push(span))?;
//! }
//! assert_eq!(index.count(), Some(2));
//! assert_eq!((spans[1].ordinal, spans[1].offset, spans[1].len), (1, 79, 2));
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: kpack format, section 1, scheme "zstd-per-kernel".

use super::Fault;
use crate::error::{Error, ErrorKind};
use crate::limits::{Cap, Limits};
use crate::need::{End, ItemKind, Machine, Need, Step};

/// Length of the count and of each frame's length, in bytes.
const WORD: u64 = 4;
/// Where frames are this small on average, it is cheaper to read them than to jump over them.
const SMALL_FRAME: u64 = 4 << 10;
/// The most that is worth reading at once.
const READ: u64 = 64 << 10;

/// One frame of the region: what the format calls a frame may be several zstd frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameSpan {
    /// Its number, from 0: the `ordinal` of a table entry.
    pub ordinal: u32,
    /// Absolute offset of its first byte, after the length word.
    pub offset: u64,
    /// Its length, in bytes.
    pub len: u32,
}

/// The items of a [`FrameIndex`]: [`FrameSpan`]s in the order of their ordinals.
#[derive(Debug)]
pub enum FrameSpans {}

impl ItemKind for FrameSpans {
    type Item<'i> = FrameSpan;
}

/// The machine that walks the length words. See the module's text.
#[derive(Debug, Clone)]
pub struct FrameIndex {
    /// Where the next word is.
    at: u64,
    /// End of the region.
    end: u64,
    kernels: u32,
    count: Option<u32>,
    /// Ordinal of the frame whose word is next.
    next: u32,
    span: FrameSpan,
    failed: Option<Error>,
}

impl FrameIndex {
    /// A walk over the region of `size` bytes at the absolute offset `offset`.
    ///
    /// # Errors
    /// [`Fault::BlobTooSmall`] when the count does not fit, at `offset`.
    pub fn new(offset: u64, size: u64, limits: &Limits) -> Result<FrameIndex, Error> {
        // A region that would end past the last u64 has no such end either.
        match offset.checked_add(size) {
            Some(end) if size >= WORD => Ok(FrameIndex {
                at: offset,
                end,
                kernels: limits.kernels,
                count: None,
                next: 0,
                span: FrameSpan::default(),
                failed: None,
            }),
            _ => Err(Error::new(ErrorKind::Zstd(Fault::BlobTooSmall { size }), offset)),
        }
    }

    /// The number of frames; `None` until it has been read.
    pub const fn count(&self) -> Option<u32> {
        self.count
    }

    /// Ordinal of the frame that the next item describes; the count when there is none.
    pub const fn next_ordinal(&self) -> u32 {
        self.next
    }

    /// Frames still to come, the count being known.
    fn remaining(&self, count: u32) -> u64 {
        u64::from(count - self.next)
    }

    fn finished(&self) -> bool {
        self.count == Some(self.next)
    }

    /// Bytes worth reading at the next word. Never more than 4 KiB for each frame to come, so
    /// that a whole walk reads no more than that and no more than the region.
    fn hint(&self) -> u64 {
        let left = self.end - self.at;
        match self.count {
            None if left <= SMALL_FRAME => left,
            None => WORD,
            Some(count) => {
                let small = self.remaining(count).saturating_mul(SMALL_FRAME);
                // The content of the last frame leads to no further word.
                if self.remaining(count) > 1 && left <= small { left.min(READ) } else { WORD }
            }
        }
    }

    fn read_count(&mut self, count: u32) -> Result<Step, Error> {
        let room = (self.end - self.at - WORD) / WORD;
        let kind = if u64::from(count) > room {
            ErrorKind::Zstd(Fault::FrameCount { count, room })
        } else if count > self.kernels {
            let (value, limit) = (u64::from(count), u64::from(self.kernels));
            ErrorKind::Limit { cap: Cap::Kernels, value, limit }
        } else {
            self.count = Some(count);
            self.at += WORD;
            return Ok(Step::consumed(WORD as usize));
        };
        Err(Error::new(kind, self.at))
    }

    fn read_word(&mut self, count: u32, len: u32) -> Result<Step, Error> {
        // Room for this word and all later ones is kept at every step, so nothing underflows.
        let words = self.remaining(count) * WORD;
        let left = self.end - self.at - words;
        if u64::from(len) > left {
            let fault = Fault::FrameLength { ordinal: self.next, len, left };
            return Err(Error::new(ErrorKind::Zstd(fault), self.at));
        }
        self.span = FrameSpan { ordinal: self.next, offset: self.at + WORD, len };
        self.at += WORD + u64::from(len);
        self.next += 1;
        Ok(Step::item(WORD as usize))
    }

    fn advance(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if self.finished() {
            return Ok(Step::WAIT);
        }
        if offset != self.at {
            return Err(Error::new(ErrorKind::Offset { wanted: self.at, given: offset }, offset));
        }
        let Some(word) = input.first_chunk::<4>() else {
            return Ok(Step::WAIT);
        };
        let word = u32::from_le_bytes(*word);
        match self.count {
            None => self.read_count(word),
            Some(count) => self.read_word(count, word),
        }
    }
}

impl Machine for FrameIndex {
    type Kind = FrameSpans;

    fn need(&self) -> Need {
        if self.finished() {
            return Need::Done;
        }
        Need::At { offset: self.at, min: WORD as usize, hint: self.hint() }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let step = self.advance(offset, input);
        self.failed = step.err();
        step
    }

    fn item<'i>(&'i self, _input: &'i [u8]) -> FrameSpan {
        self.span
    }

    fn end(&mut self) -> Result<End, Error> {
        match (self.failed, self.count) {
            (Some(error), _) => Err(error),
            (None, None) => Ok(End::Pending("the number of frames")),
            (None, Some(_)) if self.finished() => Ok(End::Complete),
            (None, Some(_)) => Ok(End::Pending("the length of a frame")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const BASE: u64 = 64;

    fn region(frames: &[&[u8]], tail: &[u8]) -> Vec<u8> {
        let mut bytes = (frames.len() as u32).to_le_bytes().to_vec();
        for frame in frames {
            bytes.extend((frame.len() as u32).to_le_bytes());
            bytes.extend(*frame);
        }
        bytes.extend(tail);
        bytes
    }

    fn start(bytes: &[u8]) -> FrameIndex {
        FrameIndex::new(BASE, bytes.len() as u64, &Limits::default()).unwrap()
    }

    /// Walks with inputs of `chunk` bytes at most, growing one only when it is too short.
    fn walk(bytes: &[u8], chunk: usize) -> (Vec<FrameSpan>, Option<Error>) {
        let (mut index, mut spans) = (start(bytes), Vec::new());
        while let Need::At { offset, min, .. } = index.need() {
            let at = (offset - BASE) as usize;
            let mut len = chunk;
            loop {
                let end = bytes.len().min(at + len);
                match index.step(offset, &bytes[at..end]) {
                    Err(error) => {
                        assert_eq!(index.step(0, &[]), Err(error), "poisoned");
                        assert_eq!(index.end(), Err(error), "poisoned");
                        return (spans, Some(error));
                    }
                    Ok(step) if step.ready => spans.push(index.item(&[])),
                    Ok(step) if step.consumed == 0 => {
                        assert!(end - at < min, "{min} bytes are progress");
                        assert!(end < bytes.len(), "asks for bytes beyond the region");
                        len += 1;
                        continue;
                    }
                    Ok(_) => {}
                }
                break;
            }
        }
        assert_eq!(index.end(), Ok(End::Complete));
        assert_eq!(index.step(7, &[1, 2, 3, 4]), Ok(Step::WAIT));
        (spans, None)
    }

    #[test]
    fn any_chunking_gives_the_same_spans() {
        let bytes = region(&[b"abc", b"", b"defgh", b"i"], b"not counted");
        let wanted = [(0, 72, 3), (1, 79, 0), (2, 83, 5), (3, 92, 1)]
            .map(|(ordinal, offset, len)| FrameSpan { ordinal, offset, len });
        for chunk in 0..=bytes.len() {
            assert_eq!(walk(&bytes, chunk), (wanted.to_vec(), None), "chunk {chunk}");
        }
    }

    #[test]
    fn a_walk_can_stop_and_go_on() {
        let bytes = region(&[b"abc", b"de"], b"");
        let mut index = start(&bytes);
        assert_eq!((index.count(), index.next_ordinal()), (None, 0));
        assert_eq!(index.end(), Ok(End::Pending("the number of frames")));
        assert_eq!(index.step(BASE, &bytes), Ok(Step::consumed(4)));
        assert_eq!(index.count(), Some(2));
        assert_eq!(index.step(BASE + 4, &bytes[4..]), Ok(Step::item(4)));
        let mut later = index.clone();
        assert_eq!(later.end(), Ok(End::Pending("the length of a frame")));
        assert_eq!(later.step(BASE + 11, &bytes[11..]), Ok(Step::item(4)));
        assert_eq!(later.item(&[]).len, 2);
        assert_eq!((later.next_ordinal(), later.need()), (2, Need::Done));
    }

    #[test]
    fn faults_carry_absolute_offsets_whatever_the_chunks() {
        let zstd = ErrorKind::Zstd;
        let mut counts_too_many = region(&[b"abc"], b"");
        counts_too_many[0] = 2;
        let mut lies = region(&[b"abc", b"de"], b"");
        lies[4] = 6;
        let mut long_last = region(&[b"abc", b"de"], b"");
        long_last[11] = 3;
        let mut huge = region(&[b"abc"], b"");
        huge[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        for (bytes, spans, kind, offset) in [
            (counts_too_many, 0, zstd(Fault::FrameCount { count: 2, room: 1 }), BASE),
            (huge, 0, zstd(Fault::FrameCount { count: u32::MAX, room: 1 }), BASE),
            (lies, 0, zstd(Fault::FrameLength { ordinal: 0, len: 6, left: 5 }), BASE + 4),
            (long_last, 1, zstd(Fault::FrameLength { ordinal: 1, len: 3, left: 2 }), BASE + 11),
        ] {
            for chunk in 0..=bytes.len() {
                let (seen, error) = walk(&bytes, chunk);
                assert_eq!((seen.len(), error), (spans, Some(Error::new(kind, offset))));
            }
        }
    }

    #[test]
    fn caps_and_misuse() {
        let limits = Limits { kernels: 1, ..Limits::default() };
        let bytes = region(&[b"", b""], b"");
        let mut index = FrameIndex::new(BASE, bytes.len() as u64, &limits).unwrap();
        let kind = ErrorKind::Limit { cap: Cap::Kernels, value: 2, limit: 1 };
        assert_eq!(index.step(BASE, &bytes), Err(Error::new(kind, BASE)));

        let kind = ErrorKind::Offset { wanted: BASE, given: 0 };
        assert_eq!(start(&bytes).step(0, &bytes), Err(Error::new(kind, 0)));

        for (offset, size) in [(BASE, 3), (BASE, 0), (u64::MAX - 3, 4)] {
            let error = FrameIndex::new(offset, size, &limits).unwrap_err();
            let kind = ErrorKind::Zstd(Fault::BlobTooSmall { size });
            assert_eq!(error, Error::new(kind, offset));
        }
        assert_eq!(walk(&region(&[], b"tail"), 4), (Vec::new(), None));
    }

    #[test]
    fn hints_are_large_where_frames_are_small() {
        let hint = |index: &FrameIndex| match index.need() {
            Need::At { hint, .. } => hint,
            _ => panic!("more is needed"),
        };
        let small: Vec<&[u8]> = alloc::vec![&[0; 100]; 1000];
        let bytes = region(&small, b"");
        let mut index = start(&bytes);
        assert_eq!(hint(&index), 4, "nothing is known of the frames yet");
        assert_eq!(index.step(BASE, &bytes), Ok(Step::consumed(4)));
        assert_eq!(hint(&index), 64 << 10);
        for n in 0..999 {
            let at = 4 + n * 104;
            assert!(hint(&index) <= (bytes.len() - at) as u64, "never past the region");
            assert_eq!(index.step(BASE + at as u64, &bytes[at..]), Ok(Step::item(4)));
        }
        assert_eq!(hint(&index), 4, "the last frame itself is of no use");

        let large: Vec<&[u8]> = alloc::vec![&[0; 5000]; 3];
        let bytes = region(&large, b"");
        let mut index = start(&bytes);
        assert_eq!(index.step(BASE, &bytes), Ok(Step::consumed(4)));
        assert_eq!(hint(&index), 4);
    }
}

//! Where a block's content goes, and where its literals wait.
//!
//! The caller's slice is the window: a match is copied from where its bytes were written, nothing
//! is moved a second time, and no window can be too large. The copies of the fast loop overshoot,
//! so the slice reaches up to 32 bytes beyond what the block may fill; where the caller's memory
//! ends earlier, the last sequences are copied byte-exact.
//!
//! Literals wait at the end of the very room that the block may fill ([`Tail`]). That works without
//! any spare byte: what is still to be written is what waits plus the matches to come, so the write
//! position never passes the read position in a sound block, and in a broken one the check says so.
//! Nor is it slower than a buffer of their own: the loop keeps one slice in registers, not two.
//! In a ring that room holds history, so there they wait in a buffer, and literals that are stored
//! uncompressed can stay where they are ([`Apart`]).

use super::wrong;
use crate::error::{ErrorKind, Full};
use crate::limits::Cap;
use crate::zstd::Fault;

/// How far positions go: they are `u32` in the fast loop. A slice that is longer is entered this
/// far before the write position, more than any offset of a window under 4 GiB reaches.
const REACH: usize = (u32::MAX - (1 << 19)) as usize;

/// Whose limit a block runs into.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    /// The frame's block maximum, in bytes.
    Block(u32),
    /// The content size that the frame declares, in bytes.
    Content(u64),
    /// The caller's limit for a block, in bytes.
    Limit(u32),
    /// The caller's memory.
    Room,
}

/// A part of the output that one block writes to.
pub(super) struct Output<'a> {
    dst: &'a mut [u8],
    /// Write position.
    at: usize,
    /// Where the block began.
    start: usize,
    /// How far the block may write.
    limit: usize,
    bound: Bound,
    /// Content of the frame before the block, in bytes.
    before: u64,
    /// In a ring: where the older part of the history ends, which begins before the start of
    /// `dst`; and how far back it may be referred to.
    older: Option<(usize, usize)>,
    /// What was cut off the front of the caller's slice.
    base: usize,
}

impl<'a> Output<'a> {
    /// For a block that may produce up to `max` bytes from `at` on, in a slice that begins with the
    /// frame's content.
    pub(super) fn new(dst: &'a mut [u8], at: usize, max: usize, bound: Bound, before: u64) -> Self {
        Self::reaching(REACH, dst, at, max, bound, before)
    }

    fn reaching(
        reach: usize,
        dst: &'a mut [u8],
        at: usize,
        max: usize,
        bound: Bound,
        before: u64,
    ) -> Self {
        let base = at.saturating_sub(reach);
        let room = dst.len() - at;
        let dst = &mut dst[base..];
        let at = at - base;
        let (limit, bound) = if max > room { (at + room, Bound::Room) } else { (at + max, bound) };
        Self { dst, at, start: at, limit, bound, before, older: None, base }
    }

    /// The same, in a ring whose older part ends at `older` and may be used `reach` bytes back.
    pub(super) fn in_ring(self, older: Option<(usize, usize)>) -> Self {
        Self { older, ..self }
    }

    /// What lies behind the block's room is history.
    pub(super) fn is_ring(&self) -> bool {
        self.older.is_some()
    }

    /// Where it stands in the caller's slice.
    pub(super) fn end(&self) -> usize {
        self.base + self.at
    }

    /// What the block has written so far.
    pub(super) fn written(&self) -> &[u8] {
        &self.dst[self.start..self.at]
    }

    pub(super) fn at(&self) -> u32 {
        self.at as u32
    }

    pub(super) fn set_at(&mut self, at: u32) {
        self.at = at as usize;
    }

    /// How much the block may still write.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.at)
    }

    /// All that may be overwritten or referred to, for a loop that overshoots by `slack`.
    pub(super) fn bytes(&mut self, slack: usize) -> &mut [u8] {
        // A ring's older part may lie anywhere; `fits` is asked at the block's end.
        let end = if self.older.is_some() { self.dst.len() } else { self.limit + slack };
        let end = end.min(self.dst.len());
        &mut self.dst[..end]
    }

    /// Refuses `n` more bytes that do not fit.
    pub(super) fn fits(&self, n: usize) -> Result<(), ErrorKind> {
        if n <= self.room() && self.at <= self.limit { Ok(()) } else { Err(self.over(n)) }
    }

    #[cold]
    fn over(&self, n: usize) -> ErrorKind {
        let size = (self.at - self.start).saturating_add(n);
        let produced = self.before.saturating_add(size as u64);
        match self.bound {
            Bound::Block(max) => {
                let size = u32::try_from(size).unwrap_or(u32::MAX);
                wrong(Fault::BlockTooLarge { size, max })
            }
            Bound::Content(expected) => wrong(Fault::Produced { produced, expected }),
            Bound::Limit(limit) => {
                let (cap, value, limit) = (Cap::BlockBytes, size as u64, limit.into());
                ErrorKind::Limit { cap, value, limit }
            }
            Bound::Room => ErrorKind::Full(Full { need: produced }),
        }
    }

    /// Appends bytes.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), ErrorKind> {
        self.fits(bytes.len())?;
        self.dst[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        Ok(())
    }

    /// Appends one byte `n` times.
    pub(super) fn fill(&mut self, byte: u8, n: usize) -> Result<(), ErrorKind> {
        self.fits(n)?;
        self.dst[self.at..self.at + n].fill(byte);
        self.at += n;
        Ok(())
    }

    /// Room for `n` literals, at the very end of what the block may write; and where it begins.
    pub(super) fn tail(&mut self, n: usize) -> Result<(&mut [u8], usize), ErrorKind> {
        self.fits(n)?;
        let from = self.limit - n;
        Ok((&mut self.dst[from..self.limit], from))
    }

    /// Appends `len` bytes from `offset` bytes back.
    pub(super) fn repeat(&mut self, offset: u32, len: usize) -> Result<(), ErrorKind> {
        const BAD: ErrorKind = wrong(Fault::Offset);
        self.fits(len)?;
        let offset = usize::try_from(offset).map_err(|_| BAD)?;
        let mut len = len;
        if offset > self.at {
            // Into the older part of a ring, and on from the front of the newer one.
            let (older, reach) = self.older.ok_or(BAD)?;
            let from = older.checked_sub(offset - self.at).ok_or(BAD)?;
            if offset > reach {
                return Err(BAD);
            }
            let part = len.min(older - from);
            self.dst.copy_within(from..from + part, self.at);
            self.at += part;
            len -= part;
            if len == 0 {
                return Ok(());
            }
        }
        if offset == 0 {
            return Err(BAD);
        }
        let (from, to) = (self.at - offset, self.at);
        self.at += len;
        if offset == 1 {
            let byte = self.dst[from];
            self.dst[to..to + len].fill(byte);
            return Ok(());
        }
        // What was copied is there to be copied again: a repeated pattern doubles each time.
        let mut done = 0;
        while done < len {
            let part = (offset + done).min(len - done);
            self.dst.copy_within(from..from + part, to + done);
            done += part;
        }
        Ok(())
    }
}

/// Literals of a block that wait to be copied.
pub(super) trait Literals {
    /// Moves `n` literals to `out`, where `matched` bytes will follow, with all checks.
    fn copy(&mut self, n: usize, matched: usize, out: &mut Output<'_>) -> Result<(), ErrorKind>;
    /// How many are left.
    fn left(&self) -> usize;
}

/// What the fast loop does with them.
pub(super) trait FastLiterals: Literals {
    /// Bytes that the fast loop may touch beyond what the block may write.
    const SLACK: usize;
    /// Read position.
    fn at(&self) -> u32;
    fn set_at(&mut self, at: u32);
    /// Whether copies that overshoot, of `literals` bytes from `at` by 16 and of `matched` bytes by
    /// 32, touch nothing but what the block is still to write, from `w` on in `dst`.
    fn wide(&self, dst: &[u8], at: u32, w: u32, literals: u32, matched: u32) -> bool;
    /// Sixteen bytes at `from`.
    fn chunk(&self, dst: &[u8], from: usize) -> [u8; 16];
}

/// Literals in memory of their own, or in the input where they are stored as they are.
pub(super) struct Apart<'a> {
    /// With up to 16 more bytes, which may be read and mean nothing.
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Apart<'a> {
    /// The first `n` of `bytes`.
    pub(super) fn new(bytes: &'a [u8], n: usize) -> Self {
        Self { bytes: &bytes[..bytes.len().min(n + 16)], at: 0, end: n }
    }
}

impl Literals for Apart<'_> {
    fn copy(&mut self, n: usize, matched: usize, out: &mut Output<'_>) -> Result<(), ErrorKind> {
        if n > self.left() {
            return Err(wrong(Fault::Literals));
        }
        out.fits(n + matched)?;
        out.extend(&self.bytes[self.at..self.at + n])?;
        self.at += n;
        Ok(())
    }

    fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }
}

impl FastLiterals for Apart<'_> {
    const SLACK: usize = 32;

    #[inline(always)]
    fn at(&self) -> u32 {
        self.at as u32
    }

    #[inline(always)]
    fn set_at(&mut self, at: u32) {
        self.at = at as usize;
    }

    #[inline(always)]
    fn wide(&self, dst: &[u8], at: u32, w: u32, literals: u32, matched: u32) -> bool {
        let (literals, matched) = (literals as usize, matched as usize);
        at as usize + literals + 16 <= self.bytes.len()
            && w as usize + literals + matched + 32 <= dst.len()
    }

    #[inline(always)]
    fn chunk(&self, _: &[u8], from: usize) -> [u8; 16] {
        let mut chunk = [0; 16];
        chunk.copy_from_slice(&self.bytes[from..from + 16]);
        chunk
    }
}

/// Literals at the end of the room that the block may write.
pub(super) struct Tail {
    at: usize,
    end: usize,
}

impl Tail {
    /// Those in `out` from `at` on.
    pub(super) fn new(out: &Output<'_>, at: usize) -> Self {
        Self { at, end: out.limit }
    }
}

impl Literals for Tail {
    fn copy(&mut self, n: usize, matched: usize, out: &mut Output<'_>) -> Result<(), ErrorKind> {
        let after = self.left().checked_sub(n).ok_or(wrong(Fault::Literals))?;
        // The literals after these have to fit behind the match, too.
        out.fits(n + matched + after)?;
        out.dst.copy_within(self.at..self.at + n, out.at);
        out.at += n;
        self.at += n;
        Ok(())
    }

    fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }
}

impl FastLiterals for Tail {
    const SLACK: usize = 16;

    #[inline(always)]
    fn at(&self) -> u32 {
        self.at as u32
    }

    #[inline(always)]
    fn set_at(&mut self, at: u32) {
        self.at = at as usize;
    }

    #[inline(always)]
    fn wide(&self, dst: &[u8], at: u32, w: u32, literals: u32, matched: u32) -> bool {
        // No literal is overwritten before it is read, the ones of this sequence included.
        at as usize + literals as usize + 16 <= dst.len()
            && w as usize + matched as usize + 32 <= at as usize
    }

    #[inline(always)]
    fn chunk(&self, dst: &[u8], from: usize) -> [u8; 16] {
        let mut chunk = [0; 16];
        chunk.copy_from_slice(&dst[from..from + 16]);
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(dst: &mut [u8], at: usize, max: usize) -> Output<'_> {
        Output::new(dst, at, max, Bound::Block(max as u32), at as u64)
    }

    #[test]
    fn matches_at_every_distance_and_length() {
        for offset in 1..50 {
            for len in 0..120 {
                let mut dst: [u8; 200] = core::array::from_fn(|at| at as u8);
                let mut out = output(&mut dst, 60, 130);
                assert_eq!(out.repeat(offset as u32, len), Ok(()));
                assert_eq!((out.end(), out.written().len()), (60 + len, len));
                for at in 60..60 + len {
                    assert_eq!(dst[at], dst[at - offset], "{offset} {len}");
                }
                assert!((60 + len..200).all(|at| dst[at] == at as u8));
            }
        }
    }

    #[test]
    fn offsets_and_lengths_that_do_not_fit() {
        let mut dst = [0; 100];
        let mut out = output(&mut dst, 10, 20);
        assert_eq!(out.repeat(0, 3), Err(wrong(Fault::Offset)));
        assert_eq!(out.repeat(11, 3), Err(wrong(Fault::Offset)));
        assert_eq!(out.repeat(u32::MAX, 3), Err(wrong(Fault::Offset)));
        let over = |size, max| Err(wrong(Fault::BlockTooLarge { size, max }));
        assert_eq!(out.repeat(10, 21), over(21, 20));
        assert_eq!(out.fill(0, usize::MAX), over(u32::MAX, 20));
        assert_eq!(out.extend(&[1; 20]), Ok(()));
        assert_eq!(out.extend(&[1]), over(21, 20));
        let mut out = output(&mut dst, 90, 20);
        assert_eq!(out.fill(0, 11), Err(ErrorKind::Full(Full { need: 101 })));
    }

    /// As if `u32` ended at 1,000: what lies further back is cut off, and places stay the same.
    #[test]
    fn positions_beyond_what_a_number_holds() {
        let mut dst: [u8; 3000] = core::array::from_fn(|at| (at / 7) as u8);
        for at in [0, 999, 1000, 1001, 2500] {
            let bound = Bound::Block(100);
            let mut out = Output::reaching(1000, &mut dst, at, 100, bound, at as u64);
            assert!(out.at() <= 1000);
            assert_eq!(out.repeat(1001, 5), Err(wrong(Fault::Offset)));
            assert_eq!(out.repeat(1000, 5).is_ok(), at >= 1000);
            assert_eq!(out.end(), if at >= 1000 { at + 5 } else { at });
        }
        for at in [1000, 1001, 2500] {
            assert!((at..at + 5).all(|at| dst[at] == dst[at - 1000]), "{at}");
        }
    }

    /// The newer part is `dst[..20]`, the older one ends at 90.
    #[test]
    fn history_on_both_sides_of_a_rings_end() {
        for offset in 1..=58 {
            for len in 1..70 {
                let mut dst: [u8; 100] = core::array::from_fn(|at| at as u8);
                let history = [&dst[32..90], &dst[..20]].concat();
                let mut out = output(&mut dst, 20, 70).in_ring(Some((90, 58)));
                assert_eq!(out.repeat(offset as u32, len.min(offset)), Ok(()), "{offset} {len}");
                let from = history.len() - offset;
                assert_eq!(out.written(), &history[from..from + len.min(offset)]);
            }
        }
        let mut dst = [0; 100];
        let mut out = output(&mut dst, 20, 70).in_ring(Some((90, 58)));
        assert_eq!(out.repeat(59, 3), Err(wrong(Fault::Offset)), "beyond the window");
        assert_eq!(out.repeat(500, 3), Err(wrong(Fault::Offset)));
    }
}

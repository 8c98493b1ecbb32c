//! A frame: header, blocks, content size, checksum.
//!
//! Sources: RFC 8878, 3.1.1.

use super::block::{self, State};
use super::output::{Bound, Output};
use super::wrong;
use super::xxh64::Xxh64;
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};
use crate::zstd::Fault;
use crate::zstd::frame::{Header, MAX_BLOCK};

/// What decoding a frame took and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// The frame's length in the input, in bytes.
    pub consumed: usize,
    /// The content's length in the output, in bytes.
    pub written: usize,
}

/// A frame in the course of being decoded: what lies between its blocks.
pub(super) struct Progress<'a> {
    pub(super) header: Header,
    cursor: Cursor<'a>,
    hash: Xxh64,
    /// Content so far, in bytes.
    pub(super) produced: u64,
    last: bool,
}

impl<'a> Progress<'a> {
    /// Reads the header at the front of `src` and makes `state` ready for the first block.
    pub(super) fn new(src: &'a [u8], state: &mut State) -> Result<Self, Error> {
        let header = Header::parse(src)?;
        let mut cursor = Cursor::new(src, 0);
        cursor.take(header.len)?;
        state.begin();
        Ok(Self { header, cursor, hash: Xxh64::new(), produced: 0, last: false })
    }

    /// The most that the next block may produce, in bytes, and what limits it.
    pub(super) fn bound(&self) -> (usize, Bound) {
        let max = self.header.block_max();
        match self.header.content_size {
            Some(size) if size - self.produced < u64::from(max) => {
                ((size - self.produced) as usize, Bound::Content(size))
            }
            _ => (max as usize, Bound::Block(max)),
        }
    }

    /// The last block is done.
    pub(super) fn is_over(&self) -> bool {
        self.last
    }

    /// Decodes the next block into `out`, made for [`bound`](Self::bound).
    pub(super) fn block<const TAIL: bool>(
        &mut self,
        state: &mut State,
        buffer: &mut [u8],
        mut out: Output<'_>,
    ) -> Result<usize, Error> {
        let at = self.cursor.offset();
        let fail = |kind| Error::new(kind, at);
        let [a, b, c] = self.cursor.array::<3>()?;
        let word = u32::from_le_bytes([a, b, c, 0]);
        let (kind, size) = (word >> 1 & 3, word >> 3);
        self.last = word & 1 != 0;
        // A compressed block may be longer than what it produces: in a frame without content it
        // always is. What it produces is held to the frame's maximum by `out`.
        let max = if kind == 2 { MAX_BLOCK } else { self.header.block_max() };
        if kind < 3 && size > max {
            return Err(fail(wrong(Fault::BlockTooLarge { size, max })));
        }
        match kind {
            0 => out.extend(self.cursor.take(size as usize)?),
            1 => out.fill(self.cursor.u8()?, size as usize),
            2 => {
                let begin = self.cursor.position();
                self.cursor.take(size as usize)?;
                let src = &self.cursor.bytes()[..self.cursor.position()];
                block::decode::<TAIL>(state, buffer, src, begin, &mut out)
            }
            _ => Err(wrong(Fault::ReservedBlock)),
        }
        .and_then(|()| out.fits(0))
        .map_err(fail)?;
        let written = out.written();
        self.produced += written.len() as u64;
        if self.header.checksum {
            self.hash.update(written);
        }
        Ok(out.end())
    }

    /// Compares content size and checksum, and returns the frame's length in bytes.
    pub(super) fn finish(mut self) -> Result<usize, Error> {
        let produced = self.produced;
        if let Some(expected) = self.header.content_size
            && expected != produced
        {
            return Err(Error::new(wrong(Fault::Produced { produced, expected }), 0));
        }
        if self.header.checksum {
            let at = self.cursor.offset();
            let (stored, computed) = (self.cursor.u32_le()?, self.hash.digest() as u32);
            if stored != computed {
                return Err(Error::new(wrong(Fault::Checksum { stored, computed }), at));
            }
        }
        Ok(self.cursor.position())
    }
}

/// Decodes the frame at the front of `src` into the front of `dst`.
pub(super) fn decode<const TAIL: bool>(
    state: &mut State,
    buffer: &mut [u8],
    src: &[u8],
    dst: &mut [u8],
) -> Result<Decoded, Error> {
    let mut frame = Progress::new(src, state)?;
    if let Some(need) = frame.header.content_size
        && need > dst.len() as u64
    {
        return Err(Error::new(ErrorKind::Full(crate::Full { need }), 0));
    }
    let mut written = 0;
    while !frame.is_over() {
        let (max, bound) = frame.bound();
        let out = Output::new(dst, written, max, bound, frame.produced);
        written = frame.block::<TAIL>(state, buffer, out)?;
    }
    Ok(Decoded { consumed: frame.finish()?, written })
}

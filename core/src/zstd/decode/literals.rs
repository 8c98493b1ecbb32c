//! The literals section of a block.
//!
//! Sources: RFC 8878, 3.1.1.3.1.

use super::fse::Scratch;
use super::huffman::{self, Table};
use super::{streams, wrong};
use crate::error::ErrorKind;
use crate::zstd::Fault;
use crate::zstd::frame::Literals as Section;

/// A Huffman table that later blocks of the frame may use again.
pub(super) struct Huffman {
    table: Table,
    ready: bool,
}

impl Huffman {
    pub(super) const fn new() -> Self {
        Self { table: [0; 2048], ready: false }
    }

    /// What a new frame begins with.
    pub(super) fn forget(&mut self) {
        self.ready = false;
    }
}

/// Puts the literals of the section into `out`, which has their size. `stored` is the section
/// without its header.
pub(super) fn decode(
    section: &Section,
    stored: &[u8],
    huffman: &mut Huffman,
    scratch: &mut Scratch,
    out: &mut [u8],
) -> Result<(), ErrorKind> {
    let mut stored = stored;
    match section.kind {
        0 => {
            out.copy_from_slice(stored.get(..out.len()).ok_or(wrong(Fault::Corrupt))?);
            return Ok(());
        }
        1 => {
            out.fill(*stored.first().ok_or(wrong(Fault::Corrupt))?);
            return Ok(());
        }
        2 => {
            huffman.ready = false;
            let len = huffman::read(stored, &mut huffman.table, scratch)?;
            huffman.ready = true;
            stored = &stored[len..];
        }
        _ if !huffman.ready => return Err(wrong(Fault::NoTable)),
        _ => {}
    }
    if section.four {
        streams::four(&huffman.table, stored, out)
    } else {
        streams::one(&huffman.table, stored, out)
    }
}

//! Content that is used up as it is decoded: the window is a ring in memory that the caller lends.
//!
//! A block is decoded into the ring as into any slice, and shown. Where the next one might not
//! fit before the ring's end, it starts at the front again, and what was written up to there is
//! the older part of the history: a match that reaches back beyond the front goes on from that
//! part's end. Such matches are left to the byte-exact function, so the fast loop knows nothing
//! of rings.
//!
//! ```text
//!  0            at                          older               ring's end
//!  | newer part | being overwritten | older part |    left over     |
//! ```
//!
//! With room for the window, one block and what a copy overshoots, nothing within the window
//! is overwritten while it can still be referred to: the byte that is `window` back always lies 32
//! or more bytes ahead of the write position. Content that fits whole needs no more than itself.
//! A block may be as long as the window; a caller that knows of frames with shorter ones says so
//! by [`Limits::block_bytes`] and lends less.
//!
//! A match beyond the declared window is refused here once the ring has come round; in a slice
//! it is as good as any other. Sound frames have none.

use super::output::{Bound, Output};
use super::{LITERALS, Workspace, frame::Progress, wrong};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use crate::need::Storage;
use crate::zstd::{Fault, Frame, Frames, scan};

/// What the copies of the fast loop overshoot, in bytes.
const SLACK: u64 = 32;
/// Windows above this are refused whatever the limits, in bytes: positions in the ring are `u32`.
const MAX_WINDOW: u64 = 15 << 28;

/// The room that a frame takes in a ring, if no more than `left` bytes are to come in all and none
/// of its blocks has more than `block`. In bytes.
fn room(frame: &Frame<'_>, left: u64, block: u64) -> u64 {
    let content = frame.header.content_size.unwrap_or(frame.most).min(left);
    let window = frame.effective_window().min(left);
    content.min(window + block + SLACK)
}

/// See [`Decompress::decode_pieces`](crate::zstd::Decompress::decode_pieces).
pub(super) fn decode<const L: usize>(
    workspace: &mut Workspace<L>,
    src: &[u8],
    expected: u64,
    limits: &Limits,
    storage: &mut dyn Storage,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Error> {
    scan(src)?.expect(expected)?;
    let (mut ring, mut literals) = (0, 0);
    for frame in Frames::new(src) {
        let frame = frame?;
        let window = frame.effective_window().min(expected);
        let limit = limits.window_bytes.min(MAX_WINDOW);
        if window > limit {
            let kind = ErrorKind::Limit { cap: Cap::WindowBytes, value: window, limit };
            return Err(Error::new(kind, frame.offset));
        }
        let block = u64::from(frame.header.block_max().min(limits.block_bytes));
        ring = ring.max(room(&frame, expected, block));
        // Without a buffer of the workspace's own, literals wait in the caller's memory, too.
        if L == 0 {
            literals = literals.max(expected.min(block) + SLACK);
        }
    }
    let need = if expected == 0 { 0 } else { ring + literals };
    let full = Error::new(ErrorKind::Full(Full { need }), 0);
    let fits = usize::try_from(need).is_ok_and(|need| {
        (storage.slots().len() >= need || storage.grow(need)) && storage.slots().len() >= need
    });
    if !fits {
        return Err(full);
    }
    let slots = storage.slots_mut();
    let (ring, spare) =
        slots.split_at_mut(slots.len() - if expected == 0 { 0 } else { literals as usize });
    let ring_len = ring.len().min((MAX_WINDOW + LITERALS as u64) as usize);
    let ring = &mut ring[..ring_len];

    let mut left = expected;
    for frame in Frames::new(src) {
        let frame = frame?;
        let rebase = |error: Error| error.rebased(frame.offset);
        let buffer = if L == 0 { &mut *spare } else { &mut workspace.literals };
        let mut progress = Progress::new(frame.bytes(), &mut workspace.state).map_err(rebase)?;
        let reach = usize::try_from(frame.effective_window()).unwrap_or(usize::MAX);
        let (mut at, mut older) = (0, None);
        while !progress.is_over() {
            let (mut max, mut bound) = progress.bound();
            if max as u64 > left {
                (max, bound) = (left as usize, Bound::Content(progress.produced + left));
            }
            let limit = limits.block_bytes;
            if max as u64 > u64::from(limit) {
                (max, bound) = (limit as usize, Bound::Limit(limit));
            }
            if ring.len() - at < max {
                older = Some((at, reach.min(at.saturating_sub(SLACK as usize))));
                at = 0;
            }
            let out = Output::new(ring, at, max, bound, progress.produced).in_ring(older);
            let end = progress.block::<false>(&mut workspace.state, buffer, out).map_err(rebase)?;
            sink(&ring[at..end]);
            left -= (end - at) as u64;
            at = end;
        }
        progress.finish().map_err(rebase)?;
    }
    if left > 0 {
        let fault = Fault::Produced { produced: expected - left, expected };
        return Err(Error::new(wrong(fault), 0));
    }
    Ok(())
}

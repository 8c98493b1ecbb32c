//! The targets of the zstd decoder. An input is a few bytes that choose sizes, then frames.

use core::cell::RefCell;

use laws::frames::walked;
use laws::zstd::{Decoders, first_frame, frames, pieces};
use rocload_core::Limits;

use crate::{hold, seed};

/// The most that an input may decode to, in bytes. Enough for a small window's ring to come round
/// many times.
const CAP: usize = 32 << 10;

thread_local! {
    // Kept from input to input, so that nothing of one frame may show in the next.
    static DECODERS: RefCell<Decoders> = RefCell::new(Decoders::new());
}

/// The size that the front of an input chooses, and the frames after it. In most cases the size is
/// what the frames hold.
fn sized<'a>(decoders: &mut Decoders, bytes: &'a [u8]) -> Option<(usize, &'a [u8])> {
    let (&[how, by], src) = bytes.split_first_chunk::<2>()?;
    let mut exact = || decoders.size(src, CAP);
    let by = usize::from(by);
    let size = match how >> 5 {
        0..=4 => exact(),
        5 => exact() + by,
        6 => exact().saturating_sub(by),
        _ => (usize::from(how & 31) << 8 | by) << 2,
    };
    Some((size, src))
}

/// A region of frames alone: two bytes that say where it lies and how much of it is missing or too
/// much, then the source.
pub fn frame_index(bytes: &[u8]) {
    let Some((&[offset, differs], source)) = bytes.split_first_chunk::<2>() else { return };
    let seed = seed(bytes);
    let mut limits = Limits::default();
    limits.kernels = if seed.is_multiple_of(4) { (seed >> 8) as u32 % 16 } else { 4096 };
    let offset = u64::from(offset % 32);
    let size = (source.len() as u64).saturating_sub(offset);
    let size = match differs {
        0..=191 => size,
        192..=254 => (size + u64::from(differs)).saturating_sub(223),
        // To the end of what can be said, and beyond it.
        255 => (u64::MAX - offset).saturating_add(seed & 1),
    };
    hold(walked(source, offset, size, &limits, Some(seed)));
}

/// Frames into a slice, in both layouts, against the C library.
pub fn zstd_frame(bytes: &[u8]) {
    DECODERS.with_borrow_mut(|decoders| {
        let Some((size, src)) = sized(decoders, bytes) else { return };
        hold(frames(decoders, src, size).map(|_| ()));
        hold(first_frame(decoders, src, size));
    });
}

/// Frames by pieces in rings of several sizes, in both layouts, against a slice.
pub fn zstd_stream(bytes: &[u8]) {
    DECODERS.with_borrow_mut(|decoders| {
        let Some((size, src)) = sized(decoders, bytes) else { return };
        let seed = seed(bytes);
        let mut limits = Limits::default();
        // One in eight with a limit that windows are likely to exceed.
        limits.window_bytes = if bytes[0] & 7 == 7 { 1 << (seed % 14) } else { CAP as u64 };
        let more = [1, 31, 32, 500, CAP][(seed >> 8) as usize % 5];
        hold(pieces(decoders, src, size, &limits, more).map(|_| ()));
    });
}

//! The zstd decoder with the small workspace in a program that does nothing else. Both slices come
//! from outside, so nothing about them is known when this is compiled.
#![no_std]

use rocload_core::zstd::{Workspace, decode_frame};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Bytes written, or a number that says that the frame is broken.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub fn entry(workspace: &mut Workspace<0>, src: &[u8], dst: &mut [u8]) -> usize {
    decode_frame(workspace, src, dst).map_or(usize::MAX, |decoded| decoded.written)
}

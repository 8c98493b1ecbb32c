//! A loader without a heap and without an operating system: Stellaris LM3S6965, a Cortex-M3 with
//! 256 KiB of flash and 64 KiB of RAM. See ../README.md.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use common::Kit;
use cortex::Console;
use cortex_m_rt::entry;
use rocload_core::zstd;

#[allow(unsafe_code)]
mod image;

#[entry]
fn main() -> ! {
    // The entry macro hands these out once, as unique references.
    static mut WORKSPACE: zstd::Workspace<0> = zstd::Workspace::new();
    static mut BUFFER: [u8; common::BUFFER] = [0; common::BUFFER];

    let (mut out, mut files) = (Console::open(), image::files());
    let mut kit = Kit { files: &mut files, workspace: WORKSPACE, buffer: BUFFER, out: &mut out };
    let result = common::all(&mut kit);
    cortex::finish(out, result)
}

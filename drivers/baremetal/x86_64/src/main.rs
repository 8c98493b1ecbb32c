//! A loader on a bare x86-64 machine: no operating system, no heap, no vector instructions. See
//! ../README.md.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::fmt::Write;
use core::panic::PanicInfo;

use common::{BUFFER, Kit, expect, tell};
use rocload_core::zstd;

#[allow(unsafe_code)]
mod boot;
#[allow(unsafe_code)]
mod image;
#[allow(unsafe_code)]
mod port;

use port::Serial;

/// What [`boot`] calls when the processor is in 64-bit mode and there is a stack.
fn main() -> ! {
    let (mut out, mut files) = (Serial, image::files());
    // The stack is large enough for what boards keep in statics.
    let (mut workspace, mut buffer) = (zstd::Workspace::new(), [0; BUFFER]);
    let mut kit =
        Kit { files: &mut files, workspace: &mut workspace, buffer: &mut buffer, out: &mut out };
    let result =
        common::all(&mut kit).and_then(|()| common::more(&mut kit, |_| [0; 1024])).and_then(|()| {
            let (used, room) = boot::stack();
            tell!(&mut out, "stack: ", used, " bytes")?;
            expect(used < room, "the stack was too small")
        });
    if let Err(wrong) = result {
        // Where even that cannot be told, the status does.
        let _ = wrong.tell(&mut out, "FAILED: ");
        port::exit(port::FAILED)
    }
    port::exit(port::PASSED)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Serial, "FAILED: {info}");
    port::exit(port::FAILED)
}

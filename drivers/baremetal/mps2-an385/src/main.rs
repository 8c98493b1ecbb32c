//! A loader with a small heap: ARM MPS2 with image AN385, a Cortex-M3; of its RAM 160 KiB are
//! used. See ../README.md.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use common::{Kit, expect, tell};
use cortex::Console;
use cortex_m_rt::entry;
use rocload_core::zstd;

#[allow(unsafe_code)]
mod heap;
#[allow(unsafe_code)]
mod image;

#[entry]
fn main() -> ! {
    // The entry macro hands these out once, as unique references.
    static mut WORKSPACE: zstd::Workspace<0> = zstd::Workspace::new();
    static mut BUFFER: [u8; common::BUFFER] = [0; common::BUFFER];
    heap::init();

    let (mut out, mut files) = (Console::open(), image::files());
    let mut kit = Kit { files: &mut files, workspace: WORKSPACE, buffer: BUFFER, out: &mut out };
    let result = common::all(&mut kit)
        // So far without a heap, though there is one.
        .and_then(|()| expect(heap::peak() == 0, "memory of the heap where none is needed"))
        .and_then(|()| common::owned::all(&mut kit))
        .and_then(|()| tell!(kit.out, "heap: ", heap::peak(), " bytes of ", heap::SIZE));
    cortex::finish(out, result)
}

//! A loader in WebAssembly: without std, without a heap; the host reads files and prints. See
//! ../README.md.
#![no_std]
#![deny(unsafe_code)]

use core::fmt::{self, Write};
use core::panic::PanicInfo;

use common::{BUFFER, File, Files, Kit};
use rocload_core::zstd;

#[allow(unsafe_code)]
mod host;

/// Bytes of the largest frame that can be lent.
const FRAME: usize = 48 << 10;

struct Host {
    frame: [u8; FRAME],
}

impl Files for Host {
    fn len(&self, file: File) -> u64 {
        host::file_len(file)
    }

    fn read(&mut self, file: File, offset: u64, into: &mut [u8]) -> usize {
        host::file_read(file, offset, into)
    }

    fn lend(&mut self, file: File, offset: u64, len: usize) -> Option<&[u8]> {
        let room = self.frame.get_mut(..len)?;
        (host::file_read(file, offset, room) == len).then_some(room)
    }
}

struct Console;

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        host::write(text);
        Ok(())
    }
}

/// What [`host`] exports: whether all is as it should be.
fn run() -> bool {
    let (mut files, mut workspace) = (Host { frame: [0; FRAME] }, zstd::Workspace::new());
    let (mut buffer, mut out) = ([0; BUFFER], Console);
    let mut kit =
        Kit { files: &mut files, workspace: &mut workspace, buffer: &mut buffer, out: &mut out };
    let result = common::all(&mut kit).and_then(|()| common::more(&mut kit, |_| [0; 1024]));
    if let Err(wrong) = result {
        let _ = wrong.tell(&mut out, "FAILED: ");
    }
    result.is_ok()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Console, "FAILED: {info}");
    host::trap()
}

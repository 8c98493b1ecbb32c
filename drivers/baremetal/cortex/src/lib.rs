//! What both Cortex-M loaders share: output and the exit status by semihosting, which QEMU or a
//! debugger answers, and how deep the stack was.
//!
//! Unsafe code is in [`stack`] and [`fault`] alone.
#![no_std]
#![deny(unsafe_code)]

use core::fmt::{self, Write};
use core::panic::PanicInfo;

use common::{Wrong, expect, tell};
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::hio::{HostStream, hstdout};

#[allow(unsafe_code)]
pub mod fault;
#[allow(unsafe_code)]
pub mod stack;

/// The host's console.
pub struct Console(Option<HostStream>);

impl Console {
    /// Opens it.
    pub fn open() -> Console {
        Console(hstdout().ok())
    }
}

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.as_mut().map_or(Err(fmt::Error), |stream| stream.write_str(text))
    }
}

/// Tells how it went, and ends the run with that status.
pub fn finish(mut out: Console, result: Result<(), Wrong>) -> ! {
    let result = result.and_then(|()| {
        let (used, room) = stack::depth();
        tell!(&mut out, "stack: ", used, " bytes")?;
        expect(used < room, "the stack was too small")
    });
    match result {
        Ok(()) => exit(EXIT_SUCCESS),
        Err(wrong) => {
            // Where even that cannot be told, the status does.
            let _ = wrong.tell(&mut out, "FAILED: ");
            exit(EXIT_FAILURE);
        }
    }
    halt()
}

/// Without a host that ends the run, nothing is left to do.
fn halt() -> ! {
    loop {
        cortex_m::asm::wfi();
    }
}

/// What a panic would come to, were it not built as an instruction that faults.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    exit(EXIT_FAILURE);
    halt()
}

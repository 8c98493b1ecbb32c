//! What the host does for the loader, and what the loader does for the host.

use common::File;

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    safe fn len(file: u32) -> u64;
    fn read(file: u32, offset: u64, into: *mut u8, len: usize) -> usize;
    fn print(text: *const u8, len: usize);
}

/// Runs all checks: 1 when all is as it should be.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
extern "C" fn run() -> u32 {
    crate::run().into()
}

/// A file's length in bytes.
pub(crate) fn file_len(file: File) -> u64 {
    len(file as u32)
}

/// Reads at `offset`; returns how many bytes came.
pub(crate) fn file_read(file: File, offset: u64, into: &mut [u8]) -> usize {
    // SAFETY: the host writes into these bytes alone, which are borrowed for the call.
    let read = unsafe { read(file as u32, offset, into.as_mut_ptr(), into.len()) };
    // What the host says is not believed.
    read.min(into.len())
}

/// Prints.
pub(crate) fn write(text: &str) {
    // SAFETY: the host reads these bytes alone, which are borrowed for the call.
    unsafe { print(text.as_ptr(), text.len()) };
}

/// Ends the run in a way that the host sees as an exception.
pub(crate) fn trap() -> ! {
    core::arch::wasm32::unreachable()
}

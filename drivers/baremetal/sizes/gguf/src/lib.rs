//! The GGUF reader, its check and summary in a program that does nothing else: the machines are
//! generic, so that only a use of them is code.
#![no_std]

use rocload_core::gguf::{Check, Hparam, Options, Summary};
use rocload_core::{Limits, Machine, Need, visit};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The context length that a model's header tells, or a number that says why there is none.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub fn entry(file: &[u8], table: &mut [u8], summary: &mut Summary) -> u64 {
    let options = Options { limits: Limits::embedded(), ..Options::default() };
    let total = Some(file.len() as u64);
    let mut check = Check::new(total, options, [0; 128], table, Summary::interest());
    while let need @ Need::At { offset, .. } = check.need() {
        let input = usize::try_from(offset).ok().and_then(|at| file.get(at..)).unwrap_or(&[]);
        match visit(&mut check, offset, input, |item| summary.see(&item)) {
            Err(_) => return u64::MAX,
            // The file ends early.
            Ok(0) if check.need() == need => break,
            Ok(_) => {}
        }
    }
    if check.end().is_err() || check.verdict().is_none() {
        return u64::MAX - 1;
    }
    summary.get(Hparam::ContextLength).value().unwrap_or(0)
}

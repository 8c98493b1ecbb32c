//! See [`rocload_fuzz::serve_lines`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::serve_lines(bytes));

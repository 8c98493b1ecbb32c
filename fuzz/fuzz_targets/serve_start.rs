//! See [`rocload_fuzz::serve_start`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::serve_start(bytes));

//! See [`rocload_fuzz::sse`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::sse(bytes));

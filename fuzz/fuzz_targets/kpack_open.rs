//! See [`rocload_fuzz::kpack_open`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::kpack_open(bytes));

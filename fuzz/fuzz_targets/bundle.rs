//! See [`rocload_fuzz::bundle`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::bundle(bytes));

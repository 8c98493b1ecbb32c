//! See [`rocload_fuzz::json_scan`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::json_scan(bytes));

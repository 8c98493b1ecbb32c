//! See [`rocload_fuzz::http_request`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::http_request(bytes));

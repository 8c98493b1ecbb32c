//! See [`rocload_fuzz::target_id`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::target_id(bytes));

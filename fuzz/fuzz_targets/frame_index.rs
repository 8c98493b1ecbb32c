//! See [`rocload_fuzz::frame_index`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::frame_index(bytes));

//! See [`rocload_fuzz::kpack_roundtrip`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::kpack_roundtrip(bytes));

//! See [`rocload_fuzz::kpack_model`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::kpack_model(bytes));

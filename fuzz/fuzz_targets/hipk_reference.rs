//! See [`rocload_fuzz::hipk_reference`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::hipk_reference(bytes));

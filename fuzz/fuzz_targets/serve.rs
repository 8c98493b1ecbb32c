//! See [`rocload_fuzz::serve`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::serve(bytes));

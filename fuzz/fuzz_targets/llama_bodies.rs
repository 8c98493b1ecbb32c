//! See [`rocload_fuzz::llama_bodies`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::llama_bodies(bytes));

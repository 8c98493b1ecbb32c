//! See [`rocload_fuzz::llama_events`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::llama_events(bytes));

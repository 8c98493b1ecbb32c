//! See [`rocload_fuzz::gguf_write`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::gguf_write(bytes));

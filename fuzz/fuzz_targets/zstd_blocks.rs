//! See [`rocload_fuzz::zstd_blocks`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::zstd_blocks(bytes));

//! See [`rocload_fuzz::msgpack`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::msgpack(bytes));

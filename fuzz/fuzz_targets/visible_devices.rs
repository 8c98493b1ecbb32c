//! See [`rocload_fuzz::visible_devices`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::visible_devices(bytes));

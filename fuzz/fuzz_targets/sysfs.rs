//! See [`rocload_fuzz::sysfs`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rocload_fuzz::sysfs(bytes));

//! The C libraries as C and C++ programs use them.
//!
//! The programs stand in `tests/c`; [`toolchain`] compiles each of them as C and as C++ against both
//! interfaces, with the libraries that this very run of cargo has built. A machine without a C
//! compiler cannot link Rust either; without a C++ compiler, valgrind, pkg-config or cmake what needs
//! them is skipped and says so, unless `ROCLOAD_CAPI_ALL` is set, as the gate does.
#![cfg(target_os = "linux")]

mod archives;
mod faults;
mod headers;
mod install;
mod search;
mod symbols;
mod threads;
mod toolchain;
mod valgrind;

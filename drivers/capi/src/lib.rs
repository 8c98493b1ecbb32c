//! `librocm_kpack`: the interface that the shipped library has, in Rust.
//!
//! Fourteen functions for C and C++, declared in `include/rocm_kpack/kpack.h`, which says what each of
//! them does; README.md beside it says how to build, install and link. The functions here turn C
//! pointers into values and hand them to [`rocload_capi_common`].
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
#[allow(unsafe_code)]
mod loader;

pub use abi::*;
pub use loader::*;

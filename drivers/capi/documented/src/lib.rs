//! `librocm_kpack` with the interface of its design document: seven functions for C and C++, declared in
//! `include/rocm_kpack/kpack.h`, which says what each of them does.
//!
//! Its `kpack_free_kernel` has two arguments where that of the shipped library has one, so that a
//! program is written for one of them; this one is installed under the same name, by choice.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;

pub use abi::*;

//! What the two C libraries share: everything but the exported functions.
//!
//! `rocload-capi` (the shipped interface) and `rocload-capi-documented` (that of the design
//! document) are thin: each function turns C pointers into values ([`pointer`](mod@pointer)), calls one function of
//! this crate inside [`guard`](guard()) and gives back a number ([`Code`]). Here nothing is exported, since two
//! libraries with functions of the same names must not share one that is.
//!
//! | module | what |
//! |---|---|
//! | [`code`] | the result codes, and which failure is which |
//! | [`guard`](mod@guard) | no panic leaves a function |
//! | [`pointer`](mod@pointer) | strings, places for results, handles |
//! | [`memory`] | kernels and lists in memory of `malloc`'s |
//! | [`archive`] | an open archive with its lists of names |
//! | [`names`] | names that end in NUL, packed |
//! | [`loader`] | the cache of archives, and the file behind an address |
//!
//! Nothing is written to a caller's place before a call has succeeded.
#![deny(unsafe_code)]

pub mod archive;
pub mod code;
pub mod guard;
pub mod loader;
#[allow(unsafe_code)]
pub mod memory;
pub mod names;
#[allow(unsafe_code)]
pub mod pointer;

pub use archive::Archive;
pub use code::{Code, Failure};
pub use guard::guard;
pub use loader::Cache;

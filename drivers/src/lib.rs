//! rocload: loads what AMD GPUs run.
//!
//! The formats live in [`rocload_core`], which never reads; this crate gives it files and
//! threads. [`Archive`] opens a ROCm kernel archive (`.kpack`), tells what is in it and fetches
//! kernels:
//!
//! ```no_run
//! use rocload::Archive;
//!
//! let archive = Archive::open("/opt/rocm/lib/.kpack/blas_lib_gfx1100.kpack")?;
//! let entry = archive.entry("lib/librocblas.so.5#0", "gfx1100")?;
//! println!("{} bytes, before anything is allocated for them", entry.size);
//! let code_object = archive.kernel("lib/librocblas.so.5#0", "gfx1100")?;
//! # Ok::<(), rocload::Error>(())
//! ```
//!
//! | feature | what |
//! |---|---|
//! | `blocking` (default) | drivers that block the calling thread |
//! | `tokio` | the same for tokio |
//! | `tracing` | `tracing` events |
//! | `zstd` | an encoder for [`pack`]: the C library |
//! | `zrip` | an encoder for [`pack`] in pure Rust |
#![deny(unsafe_code)]

#[cfg(feature = "blocking")]
pub mod archive;
#[cfg(feature = "blocking")]
pub mod decoder;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod drive;
#[cfg(feature = "blocking")]
pub mod encoder;
#[cfg(feature = "blocking")]
pub mod error;
#[cfg(feature = "blocking")]
pub mod file;
#[cfg(feature = "blocking")]
mod frames;
#[cfg(feature = "blocking")]
mod ordered;
#[cfg(feature = "blocking")]
pub mod pack;
#[cfg(feature = "blocking")]
pub mod parallel;
#[cfg(feature = "tokio")]
pub mod tokio;
#[cfg(feature = "blocking")]
mod trace;
#[cfg(feature = "blocking")]
pub mod verify;
#[cfg(feature = "blocking")]
pub mod worker;

pub use rocload_core::{self as core, Limits, bundle, kpack, zstd};

#[cfg(feature = "blocking")]
pub use archive::{Archive, Options};
#[cfg(feature = "blocking")]
pub use error::{Error, ErrorKind};
#[cfg(feature = "blocking")]
pub use file::{FileAt, ReadAt};
#[cfg(feature = "blocking")]
pub use frames::Extent;
#[cfg(feature = "blocking")]
pub use parallel::default_threads;
#[cfg(feature = "blocking")]
pub use verify::Verdict;
#[cfg(feature = "blocking")]
pub use worker::Worker;

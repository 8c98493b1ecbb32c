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
//! The same with bytes in memory, as it can be tried anywhere:
//!
//! ```
//! use rocload::{Archive, Options};
//!
//! let archive = Archive::from_source(rocload::kpack::EXAMPLE, &Options::default())?;
//! assert_eq!(archive.kernel("lib/libsmall.so#0", "gfx90a")?, b"a code objec");
//! # Ok::<(), rocload::Error>(())
//! ```
//!
//! with tokio, by the same names:
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # fn main() -> Result<(), rocload::Error> {
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use rocload::{Options, tokio::Archive};
//!
//! let archive = Archive::from_source(rocload::kpack::EXAMPLE, &Options::default()).await?;
//! assert_eq!(archive.kernel("lib/libsmall.so#0", "gfx90a").await?, b"a code objec");
//! # Ok(())
//! # })
//! # }
//! # #[cfg(not(feature = "tokio"))]
//! # fn main() {}
//! ```
//!
//! and through a memory mapping:
//!
//! ```
//! # #[cfg(feature = "mmap")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use rocload::{Archive, Mapped, Options};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("small.kpack");
//! # std::fs::write(&path, rocload::kpack::EXAMPLE)?;
//!
//! // SAFETY: nobody truncates this file or writes to it.
//! let mapped = unsafe { Mapped::open(&path)? };
//! let archive = Archive::from_source(mapped, &Options::default())?;
//! // Scheme none: lent where it lies, not copied.
//! assert_eq!(&*archive.kernel_cow("lib/libsmall.so#0", "gfx90a")?, b"a code objec");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "mmap"))]
//! # fn main() {}
//! ```
//!
//! [`Loader`] finds a binary's kernel among archives, as the ROCm runtime does; [`Binary`] tells what
//! device code a library holds itself.
//!
//! [`Model`] opens a model file (GGUF) and tells what it is and whether it is whole; [`discover()`]
//! finds those of a folder. The module `gpu` looks at a machine's AMD GPUs and chooses among them.
//!
//! | feature | what |
//! |---|---|
//! | `blocking` (default) | drivers that block the calling thread |
//! | `mmap` (default) | `Mapped`: an archive through a memory mapping |
//! | `tokio` | the same for tokio, in the module `tokio` |
//! | `tracing` | `tracing` events |
//! | `zstd` | an encoder for [`pack`]: the C library |
//! | `zrip` | an encoder for [`pack`] in pure Rust |
#![deny(unsafe_code)]

#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod archive;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod binary;
#[cfg(all(feature = "blocking", unix))]
pub mod blocking;
/// Exchanges and servers are for unix systems; of their names, this one alone is known elsewhere.
#[cfg(all(feature = "blocking", not(unix)))]
pub mod blocking {
    pub use crate::elsewhere::blocking::{Builder, Server};
}
#[cfg(all(feature = "blocking", target_os = "linux"))]
#[allow(unsafe_code)]
mod death_guard;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod decoder;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod discover;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod drive;
#[cfg(all(any(feature = "blocking", feature = "tokio"), not(target_os = "linux")))]
mod elsewhere;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod encoder;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod error;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod file;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod frames;
#[cfg(all(any(feature = "blocking", feature = "tokio"), unix))]
pub mod gpu;
#[cfg(all(any(feature = "blocking", feature = "tokio"), unix))]
pub mod http;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod loader;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod many;
#[cfg(all(feature = "mmap", any(feature = "blocking", feature = "tokio")))]
#[allow(unsafe_code)]
mod map;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod model;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod ordered;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod pack;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod parallel;
#[cfg(all(any(feature = "blocking", feature = "tokio"), target_os = "linux"))]
pub mod process;
#[cfg(all(any(feature = "blocking", feature = "tokio"), target_os = "linux"))]
pub mod serve;
#[cfg(feature = "tokio")]
pub mod tokio;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod trace;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod verify;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub mod worker;

/// The programs of the front page compile.
#[cfg(all(doctest, feature = "tokio", target_os = "linux"))]
#[doc = include_str!("../README.md")]
struct FrontPage;

pub use rocload_core::{self as core, Limits, bundle, gguf, kpack, llama, sse, zstd};

#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use archive::{Archive, Options};
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use binary::Binary;
#[cfg(feature = "blocking")]
pub use discover::discover;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use error::{Error, ErrorKind};
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use file::{FileAt, ReadAt};
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use frames::Extent;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use loader::Loader;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use many::Archives;
#[cfg(all(feature = "mmap", any(feature = "blocking", feature = "tokio")))]
pub use map::Mapped;
#[cfg(feature = "blocking")]
pub use model::Model;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use parallel::default_threads;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use verify::Verdict;
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use worker::{Room, Worker};

//! The core of rocload: formats and protocols as pure state machines.
//!
//! Nothing here reads a file, a socket, a clock or the environment: bytes are handed in, items
//! and demands for more bytes come out. The drivers in the crate `rocload` do the reading.
//!
//! # Tiers
//!
//! | features | what works |
//! |---|---|
//! | none | every reader and machine, over storage that the caller lends |
//! | `alloc` (default) | owned tables of contents, growing storage |
//! | `std` (default) | nothing more: searches pick the processor's vector instructions at run time |
//! | `heapless` | `heapless::Vec` as storage |
//! | `serde` | owned values of llama-server's answers (implies `alloc`) |
//! | `ruzstd` | ruzstd as a second backend of [`zstd::Decompress`] (implies `alloc`) |
//!
//! # Tour
//!
//! - [`need`]: the machine contract ([`Machine`], [`Need`], [`Step`], [`End`]) and [`visit`].
//! - [`cursor`], [`error`], [`limits`]: reads, errors and caps that everything shares.
//! - [`msgpack`]: a borrowed MessagePack reader and a writer into a slice.
//! - [`kpack`]: ROCm kernel archives: header, table of contents, index, target IDs.
//! - [`zstd`]: frame headers, the frame index of an archive, decompression from slice to slice.
//! - [`http`]: the client side of HTTP/1.1: requests out, responses in, deadlines.
//! - [`sse`]: server-sent events.
//! - [`gguf`]: model files: header reader, check of a whole file by it, summary, memory fit.
//! - [`llama`]: llama-server's protocol: requests, streamed and whole answers, JSON.
//! - [`serve`]: supervising a llama-server: its start, its health, its end.
//! - [`gpu`]: AMD GPUs from what the kernel tells of them: finding, choosing, masks.
//! - [`bundle`]: binaries, offload bundles and compressed ones; telling what a code object is.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::alloc_instead_of_core, clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

#[cfg(any(feature = "alloc", test))]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bundle;
pub mod cursor;
pub mod error;
pub mod gguf;
pub mod gpu;
pub mod http;
pub mod kpack;
pub mod limits;
pub mod llama;
pub mod msgpack;
pub mod need;
pub mod serve;
pub mod sse;
mod store;
pub mod zstd;

pub use cursor::Cursor;
pub use error::{Class, Error, ErrorKind, Full};
pub use limits::{Cap, Limits};
#[cfg(feature = "alloc")]
pub use need::Capped;
pub use need::{End, ItemKind, Machine, Millis, Need, Step, Storage, visit};

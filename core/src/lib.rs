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
//!
//! # Without an allocator
//!
//! The caller lends all memory, and a machine says which bytes it needs next:
//!
//! ```
//! use rocload_core::kpack::{Open, Strictness, load};
//! use rocload_core::{Limits, Machine, Need, visit};
//! # let flash: &[u8] = rocload_core::kpack::EXAMPLE;
//!
//! let (limits, total) = (Limits::embedded(), flash.len() as u64);
//! let mut open = Open::new(total, limits, Strictness::Strict, [0u8; 1024], ());
//! while let Need::At { offset, .. } = open.need() {
//!     // A board reads a few hundred bytes here.
//!     visit(&mut open, offset, &flash[offset as usize..], |_| {})?;
//! }
//! let entry = open.toc().unwrap().find_target(b"lib/libsmall.so#0", "gfx90a:xnack-")?.unwrap();
//! let (offset, len) = (entry.offset.unwrap(), entry.stored_size.unwrap());
//! load::admit(&entry, offset, len, &limits)?;
//! let mut kernel = [0; 12];
//! load::expand(&entry, offset, &flash[offset as usize..][..len as usize], None, &mut kernel)?;
//! assert_eq!(&kernel, b"a code objec");
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! # With `alloc`
//!
//! The same machines over vectors that grow, and tables of contents that own themselves:
//!
//! ```
//! # #[cfg(feature = "alloc")]
//! # fn owned(archive: &[u8]) -> Result<(), rocload_core::Error> {
//! use rocload_core::Limits;
//! use rocload_core::kpack::{OwnedToc, Strictness};
//!
//! let toc = OwnedToc::read(archive, &Limits::default(), Strictness::Strict)?;
//! assert_eq!(toc.arches_of(b"lib/libsmall.so#0"), [b"gfx90a"]);
//! # Ok(())
//! # }
//! # #[cfg(feature = "alloc")]
//! # owned(rocload_core::kpack::EXAMPLE)?;
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! # With `heapless`
//!
//! Storage that grows within an array, so that it need not be as long as its cap from the start:
//!
//! ```
//! # #[cfg(feature = "heapless")]
//! # fn lent() -> Result<(), rocload_core::Error> {
//! use rocload_core::sse::{Item, Parser};
//! use rocload_core::{Limits, visit};
//!
//! let mut parser = Parser::new(&Limits::embedded(), heapless::Vec::<u8, 256>::new());
//! let mut events = 0;
//! for piece in [&b"data: in two "[..], b"pieces\n\n"] {
//!     visit(&mut parser, 0, piece, |item| events += usize::from(matches!(item, Item::Event(_))))?;
//! }
//! assert_eq!(events, 1);
//! # Ok(())
//! # }
//! # #[cfg(feature = "heapless")]
//! # lent()?;
//! # Ok::<(), rocload_core::Error>(())
//! ```
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

/// Registers have 64 bits. Where they do not, what saves instructions there costs more than it saves,
/// and memory for code is short: the zstd decoder computes masks, decodes streams one after another,
/// copies each sequence with its checks and makes what its tables are made from when it is needed, and
/// the usual shapes of a table of contents are read as any other.
pub(crate) const WIDE: bool = cfg!(target_pointer_width = "64");

pub use cursor::Cursor;
pub use error::{Class, Error, ErrorKind, Full};
pub use limits::{Cap, Limits};
#[cfg(feature = "alloc")]
pub use need::Capped;
pub use need::{End, ItemKind, Machine, Millis, Need, Step, Storage, visit};

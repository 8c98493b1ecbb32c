//! What the benchmarks and the report share: inputs, peers, and the counting of reads, memory
//! and time.
//!
//! Every figure of this project stands beside a peer's from the same run: a machine that is
//! slower or busier today is so for both. The peers are what a straightforward program would
//! do, not straw men: they read through the page cache as we do, keep their buffers, and are
//! given their keys in the form they like best.
// The crate always has the standard library, so there is nothing to import from elsewhere.
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

pub mod child;
pub mod count;
pub mod decode;
pub mod gguf;
pub mod input;
pub mod memory;
pub mod peer;
pub mod plot;
pub mod table;
pub mod time;

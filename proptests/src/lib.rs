//! Laws: what must hold for every input, as functions that tests, property tests and fuzz targets
//! share.
//!
//! A law takes bytes or a model and returns a [`Verdict`]: a law that is broken says so in a
//! [`Broken`], it does not panic, so that a test can show that it is able to fail.
//!
//! Eight kinds of them: split invariance, round trip, oracle agreement, no allocation, bounded
//! memory, bounded work (steps are counted, no clock is read), poisoned after error, and limits
//! respected. `proptests/README.md` has the table of which machine is held to what.
//!
//! - [`split`]: any chunking of the same bytes gives the same items and the same error; work is
//!   bounded, and errors stay. One law for every [`Machine`](rocload_core::Machine).
//! - [`memory`]: what machines take from the heap, by an allocator that counts ([`counting`]).
//! - [`limits`]: nothing that is given out exceeds its cap.
//! - [`msgpack`]: the reader and the writer against the crate `rmpv`.
//! - [`kpack`]: the views and indexes of a table of contents against each other and a naive twin.
//! - [`frames`]: the frame index against a naive walk.
//! - [`gguf`]: the GGUF reader against a naive one, its check against a twin, and any chunking.
//! - [`gguf_split`]: names of shards and sets of them against a naive twin.
//! - `gguf_write` (feature `alloc`): the GGUF writer against the reader.
//! - [`gguf_fit`]: the verdicts of memory fit against each other and the numbers.
//! - [`gpu`]: machines of any kind, and choices among any devices.
//! - `decompress` (feature `alloc`): a backend's two ways against each other and the C library.
//! - `zstd` (feature `alloc`): the project's decoder, its layouts and entries, against each other and the C library.
//! - `kernel` (feature `alloc`): a whole archive, from its first byte to its last kernel.
//! - [`reference`](mod@reference): reference metadata against the crate `rmpv`, and measuring it.
//! - [`target`]: target IDs and their candidates against a naive twin.
//! - [`search`]: the search for a kernel against a naive one.
//! - [`bundle`]: regions of offload bundles and sections of binaries against naive readers.
//! - [`json`]: the scanner and the writer against the crate `serde_json`.
//! - [`llama`]: streams of llama-server, in memory of any size.
//! - [`http`]: responses in any chunking, against a naive reader.
//! - [`serve`]: the supervisor by its properties, over scripts of what can happen.
//! - [`sse`]: the parser of events against naive readers of streams.
//! - `structured` (feature `structured`): models that arbitrary bytes choose.
//! - [`machines`]: two machines to try drivers and the law itself on.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::zstd::{FrameIndex, FrameSpan};
//!
//! let region = b"\x02\0\0\0\x03\0\0\0abc\x02\0\0\0de";
//! let make = || FrameIndex::new(0, 17, &Limits::default()).unwrap();
//! let outcome = laws::split::invariance(make, |span: FrameSpan| span.len, region, &laws::split::Rules::new())?;
//! assert_eq!(outcome.items, [3, 2]);
//! # Ok::<(), laws::Broken>(())
//! ```

use core::fmt;

pub mod bundle;
pub mod counting;
#[cfg(feature = "alloc")]
pub mod decompress;
pub mod frames;
pub mod gguf;
pub mod gguf_fit;
pub mod gguf_split;
#[cfg(feature = "alloc")]
pub mod gguf_write;
pub mod gpu;
pub mod http;
pub mod json;
#[cfg(feature = "alloc")]
pub mod kernel;
pub mod kpack;
pub mod limits;
pub mod llama;
pub mod machines;
pub mod memory;
pub mod msgpack;
pub mod random;
pub mod reference;
pub mod search;
pub mod serve;
pub mod split;
pub mod sse;
#[cfg(feature = "structured")]
pub mod structured;
pub mod target;
#[cfg(feature = "alloc")]
pub mod zstd;

/// A law that did not hold, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The law in a few words.
    pub law: &'static str,
    /// What was found instead, with the values.
    pub found: String,
}

/// Whether a law held.
pub type Verdict = Result<(), Broken>;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not so: {}: {}", self.law, self.found)
    }
}

impl core::error::Error for Broken {}

/// Fails with what `found` tells unless `holds`.
///
/// # Errors
/// [`Broken`] when the law does not hold.
pub fn require(holds: bool, law: &'static str, found: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Broken { law, found: found() }) }
}

/// Fails unless both values are equal.
///
/// # Errors
/// [`Broken`] with both values when they differ.
pub fn same<T: PartialEq + fmt::Debug>(law: &'static str, one: &T, other: &T) -> Verdict {
    require(one == other, law, || format!("{} against {}", short(one), short(other)))
}

/// A value's debug text, cut where it is too long to read.
fn short(value: &impl fmt::Debug) -> String {
    let mut text = format!("{value:?}");
    if let Some((at, _)) = text.char_indices().nth(2000) {
        text.truncate(at);
        text.push_str("...");
    }
    text
}

//! ROCm kernel archives (`.kpack`, version 1): header, table of contents, index, target IDs.
//!
//! An archive is a 64-byte header, a region of stored code objects, and a MessagePack table of
//! contents (TOC) at its end. [`Open`] reads the header and the TOC and nothing else;
//! [`Toc`] is a view of the TOC that needs no memory of its own; [`Index`] finds an entry by
//! hash in rows that the caller lends, or owns with `alloc` ([`OwnedToc`]). Kernels are fetched
//! afterwards: [`Entry`] says where and how large one is before anything is allocated.
//!
//! ```text
//!   Open: header 0..16 --> Opened::Header --> toc_offset..end --> Opened::Toc --> Done
//!   Toc / Index: find(binary, arch) --> Entry { size, stored_size, offset, .. }
//!   scheme none:            offset and stored_size are in the Entry
//!   scheme zstd-per-kernel: zstd::FrameIndex walks to the ordinal --> FrameSpan,
//!                           or direct::word and direct::span where the TOC says the place
//!   load::check --> the caller makes room --> load::expand
//! ```
//!
//! `Writer` (with `alloc`) makes archives, as bytes to put at offsets.
//!
//! Reading is strict by default; [`Strictness::Compat`] relaxes what the shipped runtime
//! lets pass without harm.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::kpack::{Header, Strictness, Toc};
//! # let archive: &[u8] = rocload_core::kpack::EXAMPLE;
//!
//! let total = archive.len() as u64;
//! let header = Header::parse(archive, total)?;
//! let bytes = &archive[header.toc_offset as usize..];
//! let toc = Toc::parse(bytes, header.toc_offset, total, &Limits::default(), Strictness::Strict)?;
//! let entry = toc.find_target(b"lib/libsmall.so#0", "amdgcn-amd-amdhsa--gfx90a:xnack-")?.unwrap();
//! assert_eq!((entry.arch, entry.size), (&b"gfx90a"[..], 12));
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: the `shared/kpack` tools and runtime of ROCm/rocm-systems.

pub mod direct;
mod fault;
mod fields;
mod header;
mod index;
pub mod load;
mod open;
#[cfg(feature = "alloc")]
mod owned;
mod reference;
mod rows;
pub mod search;
mod slots;
pub mod target;
mod toc;
mod walk;
#[cfg(feature = "alloc")]
mod write;

pub use fault::{Fault, Field, Repeated};
pub use header::{HEADER_LEN, Header, MAGIC, VERSION};
pub use index::{Index, LentIndex, LentRows};
pub use open::{Open, Opened, OpenedKind};
#[cfg(feature = "alloc")]
pub use owned::{OwnedIndex, OwnedToc};
pub use reference::{Key, Measure, MeasureKind, Paths, Reference};
#[cfg(feature = "alloc")]
pub use rows::Owned;
pub use rows::{BinaryRow, Blob, EntryRow, Lent, Rows, Slot};
pub use search::Search;
pub use target::TargetId;
pub use toc::{Binary, Counts, Entry, Record, Toc};
pub use walk::Tables;
#[cfg(feature = "alloc")]
pub use write::{Finished, Kernel, Place, Put, WriteOptions, Writer};

/// How faithfully an archive must follow the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Everything that the header and the TOC prove wrong is refused at open.
    #[default]
    Strict,
    /// As the C libraries read: `format_version` is not looked at; of duplicate keys the last
    /// one counts; a blob's own size wins over `original_size`; an ordinal out of range or a
    /// blob beyond the file fails when it is fetched, not at open.
    Compat,
}

/// How kernels are stored (`compression_scheme`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// `none`: verbatim, located by the `blobs` array. Also what a missing key means.
    None,
    /// `zstd-per-kernel`: one length-prefixed zstd frame a kernel, in one blob.
    ZstdPerKernel,
}

impl Scheme {
    /// The name in the TOC.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::None => "none",
            Scheme::ZstdPerKernel => "zstd-per-kernel",
        }
    }
}

/// An archive with one 12-byte kernel, `lib/libsmall.so#0` for `gfx90a`, scheme none, for
/// examples and smoke tests.
pub const EXAMPLE: &[u8] = b"KPAK\x01\0\0\0\x4c\0\0\0\0\0\0\0\
\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
a code objec\
\x87\xaeformat_version\x01\xaagroup_name\xa5small\xafgfx_arch_family\xa6gfx90a\xaagf\
x_arches\x91\xa6gfx90a\xa3toc\x81\xb1lib/libsmall.so#0\x81\xa6gfx90a\x83\xa4type\xa5\
hsaco\xa7ordinal\0\xadoriginal_size\x0c\xb2compression_scheme\xa4none\xa5blobs\x91\
\x82\xa6offset@\xa4size\x0c";

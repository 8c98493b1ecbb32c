//! Writing kpack archives, async: the blocking [`pack`], at work on other threads. The
//! same names, with what they hold their own.
//!
//! ```
//! use rocload::tokio::pack::{Content, Item, Pack, PackOptions};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let mut pack = Pack::new("small", "gfx90a");
//! let code = Content::Bytes(b"a code objec".to_vec());
//! pack.items.push(Item::new("lib/libsmall.so#0", "gfx90a", code));
//! let output = Vec::new(); // or a std::fs::File
//! let (archive, packed) = pack.write(output, &PackOptions::default(), |_, _| ()).await?;
//! assert_eq!((packed.kernels, &archive[..]), (1, rocload::kpack::EXAMPLE));
//! # Ok::<(), rocload::Error>(())
//! # }).unwrap();
//! ```

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rocload_core::kpack::WriteOptions;

use super::Archive;
use super::off::run;
use crate::encoder::Encoder;
use crate::error::{Error, ErrorKind};
use crate::file::ReadAt;
use crate::pack;
pub use crate::pack::{Kernels, Packed, WriteAt};

/// What an archive is to hold; as the blocking [`Pack`](pack::Pack).
#[derive(Debug, Clone, Default)]
pub struct Pack {
    /// `group_name`.
    pub group: Vec<u8>,
    /// `gfx_arch_family`.
    pub family: Vec<u8>,
    /// Architectures that are listed before those of the items, in this order.
    pub arches: Vec<Vec<u8>>,
    /// The kernels in the order of their ordinals.
    pub items: Vec<Item>,
}

/// A kernel to pack; as the blocking [`Item`](pack::Item).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Item {
    /// The key in the table: `{relative path}#{N}` in practice.
    pub binary: Vec<u8>,
    /// The architecture.
    pub arch: Vec<u8>,
    /// The entry's type: `hsaco` unless set otherwise.
    pub kind: Option<Vec<u8>>,
    /// The entry's metadata: a MessagePack map.
    pub metadata: Option<Vec<u8>>,
    /// The SHA-256 of the kernel where it is known; [`PackOptions::checksums`] computes it.
    pub sha256: Option<[u8; 32]>,
    /// Where its bytes come from.
    pub content: Content,
}

/// Where a kernel's bytes come from; as the blocking [`Content`](pack::Content).
#[derive(Clone)]
#[non_exhaustive]
pub enum Content {
    /// From memory.
    Bytes(Vec<u8>),
    /// From a regular file, read when its turn comes.
    File(PathBuf),
    /// From an archive: the entry with this number from [`Archive::order`]. [`Content::entry`]
    /// makes one.
    Entry(Arc<dyn Kernels + Send>, u32),
    /// Those of an item before, by its number: they are stored once.
    Same(usize),
}

impl Content {
    /// The kernel of an archive with this number from [`Archive::order`].
    pub fn entry<R: ReadAt + Send + Sync + 'static>(archive: &Archive<R>, id: u32) -> Content {
        Content::Entry(archive.shared(), id)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Content::File(path) => f.debug_tuple("File").field(path).finish(),
            Content::Entry(_, id) => f.debug_tuple("Entry").field(id).finish(),
            Content::Same(item) => f.debug_tuple("Same").field(item).finish(),
        }
    }
}

impl Item {
    /// A kernel of the type `hsaco` without metadata.
    pub fn new(binary: impl AsRef<[u8]>, arch: impl AsRef<[u8]>, content: Content) -> Item {
        Item {
            binary: binary.as_ref().to_vec(),
            arch: arch.as_ref().to_vec(),
            kind: Some(b"hsaco".to_vec()),
            metadata: None,
            sha256: None,
            content,
        }
    }

    fn borrowed(&self) -> pack::Item<'_> {
        let content = match &self.content {
            Content::Bytes(bytes) => pack::Content::Bytes(bytes),
            Content::File(path) => pack::Content::File(path),
            Content::Entry(archive, id) => pack::Content::Entry(&**archive, *id),
            Content::Same(item) => pack::Content::Same(*item),
        };
        let mut item = pack::Item::new(&self.binary, &self.arch, content);
        item.kind = self.kind.as_deref();
        item.metadata = self.metadata.as_deref();
        item.sha256 = self.sha256;
        item
    }
}

/// How an archive is made; as the blocking [`PackOptions`](pack::PackOptions), whose defaults it
/// has.
#[derive(Clone)]
#[non_exhaustive]
pub struct PackOptions {
    /// How it is written: scheme, alignment, optional keys, caps.
    pub write: WriteOptions,
    /// Threads that read and compress.
    pub threads: NonZeroUsize,
    /// What compresses.
    pub encoder: Option<Arc<dyn Encoder>>,
    /// Compresses anew what is compressed already.
    pub recompress: bool,
    /// Computes the SHA-256 of every kernel.
    pub checksums: bool,
    /// Kernels that are in memory at once, in bytes.
    pub in_flight: u64,
}

impl Default for PackOptions {
    fn default() -> Self {
        let pack::PackOptions { write, threads, recompress, checksums, in_flight, .. } =
            pack::PackOptions::default();
        PackOptions { write, threads, encoder: None, recompress, checksums, in_flight }
    }
}

impl PackOptions {
    fn borrowed(&self) -> pack::PackOptions<'_> {
        pack::PackOptions {
            write: self.write,
            threads: self.threads,
            encoder: self.encoder.as_deref(),
            recompress: self.recompress,
            checksums: self.checksums,
            in_flight: self.in_flight,
        }
    }
}

impl fmt::Debug for PackOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrowed().fmt(f)
    }
}

const WRITING: &str = "writing the archive";

impl Pack {
    /// An empty list for an archive with these `group_name` and `gfx_arch_family`.
    pub fn new(group: impl AsRef<[u8]>, family: impl AsRef<[u8]>) -> Pack {
        let (group, family) = (group.as_ref().to_vec(), family.as_ref().to_vec());
        Pack { group, family, arches: Vec::new(), items: Vec::new() }
    }

    /// Makes the archive, and gives the output back. `progress` is told on another thread how
    /// much is done and of how much, in bytes of kernels.
    ///
    /// Where the future is dropped the work ends at its next write: the output, which is dropped
    /// then, holds a part of an archive.
    ///
    /// # Errors
    /// As the blocking [`Pack::write`](pack::Pack::write).
    pub async fn write<W: WriteAt + Send + 'static>(
        self,
        output: W,
        options: &PackOptions,
        progress: impl Fn(u64, u64) + Send + 'static,
    ) -> Result<(W, Packed), Error> {
        let options = options.clone();
        let given_up = GivenUp(Arc::default());
        let mut output = Until { output, given_up: Arc::clone(&given_up.0) };
        let work = move || {
            let mut pack = pack::Pack::new(&self.group, &self.family);
            pack.arches = self.arches.iter().map(Vec::as_slice).collect();
            pack.items = self.items.iter().map(Item::borrowed).collect();
            let packed = pack.write(&mut output, &options.borrowed(), &progress)?;
            Ok((output.output, packed))
        };
        let done = run(move || Ok(work())).await;
        done.map_err(|error| Error::new(ErrorKind::Io(error), WRITING))?
    }
}

/// Dropped with the future.
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An output until nobody wants it any more.
struct Until<W> {
    output: W,
    given_up: Arc<AtomicBool>,
}

impl<W: WriteAt> WriteAt for Until<W> {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(io::Error::other("nobody waits for it"));
        }
        self.output.write_all_at(bytes, offset)
    }

    fn seeks(&self) -> bool {
        self.output.seeks()
    }
}

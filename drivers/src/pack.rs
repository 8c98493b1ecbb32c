//! Writing kpack archives: kernels from memory, files and other archives, compressed on several
//! threads and stored in order.
//!
//! A [`Pack`] lists what an archive is to hold; [`Pack::write`] makes it, on any output that can
//! be written at offsets ([`WriteAt`]). Few kernels are in memory at once, however many there
//! are. The same list and options make the same bytes, whatever the number of threads.
//!
//! ```
//! use rocload::pack::{Content, Item, Pack, PackOptions};
//! use rocload::{Archive, Options};
//!
//! let mut pack = Pack::new(b"small", b"gfx90a");
//! pack.items.push(Item::new(b"lib/libsmall.so#0", b"gfx90a", Content::Bytes(b"a code objec")));
//! let mut archive = Vec::new(); // or a std::fs::File
//! let packed = pack.write(&mut archive, &PackOptions::default(), &|_, _| ())?;
//! assert_eq!((packed.kernels, &archive[..]), (1, rocload::kpack::EXAMPLE));
//! # let archive = Archive::from_source(archive, &Options::default())?;
//! # assert_eq!(archive.kernel("lib/libsmall.so#0", "gfx90a")?, b"a code objec");
//! # Ok::<(), rocload::Error>(())
//! ```

mod output;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use rocload_core::kpack::{Entry, Fault, Kernel, Scheme, WriteOptions, Writer};
use rocload_core::{Cap, Error as CoreError, ErrorKind as CoreKind};
use sha2::{Digest, Sha256};

use self::output::Buffered;
pub use self::output::{Stream, WriteAt};
use crate::archive::Archive;
use crate::encoder::{Compress, Encoder};
use crate::error::{Error, ErrorKind};
use crate::file::{FileAt, ReadAt};
use crate::ordered::ordered;
use crate::parallel::default_threads;

/// What an archive is to hold.
#[derive(Debug, Clone, Default)]
pub struct Pack<'a> {
    /// `group_name`.
    pub group: &'a [u8],
    /// `gfx_arch_family`.
    pub family: &'a [u8],
    /// Architectures that are listed before those of the items, in this order.
    pub arches: Vec<&'a [u8]>,
    /// The kernels in the order of their ordinals.
    pub items: Vec<Item<'a>>,
}

/// A kernel to pack.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Item<'a> {
    /// The key in the table: `{relative path}#{N}` in practice.
    pub binary: &'a [u8],
    /// The architecture.
    pub arch: &'a [u8],
    /// The entry's type: `hsaco` unless set otherwise.
    pub kind: Option<&'a [u8]>,
    /// The entry's metadata: a MessagePack map.
    pub metadata: Option<&'a [u8]>,
    /// The SHA-256 of the kernel where it is known; [`PackOptions::checksums`] computes it.
    pub sha256: Option<[u8; 32]>,
    /// Where its bytes come from.
    pub content: Content<'a>,
}

/// Where a kernel's bytes come from.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Content<'a> {
    /// From memory.
    Bytes(&'a [u8]),
    /// From a regular file, read when its turn comes.
    File(&'a Path),
    /// From an archive: the entry with this number from [`Archive::order`]. Its stored bytes are
    /// copied where they can stay as they are.
    Entry(&'a dyn Kernels, u32),
    /// Those of an item before, by its number: they are stored once.
    Same(usize),
}

impl<'a> Item<'a> {
    /// A kernel of the type `hsaco` without metadata.
    pub const fn new(binary: &'a [u8], arch: &'a [u8], content: Content<'a>) -> Self {
        Item { binary, arch, kind: Some(b"hsaco"), metadata: None, sha256: None, content }
    }
}

/// How an archive is made.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PackOptions<'a> {
    /// How it is written: scheme, alignment, optional keys, caps.
    pub write: WriteOptions,
    /// Threads that read and compress: one for each processor.
    pub threads: NonZeroUsize,
    /// What compresses. Without it the scheme `zstd-per-kernel` takes only what is stored so
    /// already.
    pub encoder: Option<&'a dyn Encoder>,
    /// Compresses anew what is compressed already.
    pub recompress: bool,
    /// Computes the SHA-256 of every kernel, for the key `sha256`.
    pub checksums: bool,
    /// Kernels that are in memory at once, in bytes: 256 MiB, unless a single one is larger.
    pub in_flight: u64,
}

impl Default for PackOptions<'_> {
    fn default() -> Self {
        PackOptions {
            write: WriteOptions::default(),
            threads: default_threads(),
            encoder: None,
            recompress: false,
            checksums: false,
            in_flight: 256 << 20,
        }
    }
}

impl fmt::Debug for PackOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackOptions")
            .field("write", &self.write)
            .field("threads", &self.threads)
            .field("encoder", &self.encoder.map(|encoder| (encoder.name(), encoder.level())))
            .field("recompress", &self.recompress)
            .field("checksums", &self.checksums)
            .field("in_flight", &self.in_flight)
            .finish()
    }
}

/// What was written. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Packed {
    /// Entries of the table.
    pub kernels: u64,
    /// The kernels, decompressed.
    pub size: u64,
    /// What was stored of them; what entries share counts once.
    pub stored: u64,
    /// Kernels that were compressed, the others having been copied as they are.
    pub compressed: u64,
    /// The archive.
    pub total: u64,
}

/// The kernels of an archive by their numbers, whatever the archive reads from.
pub trait Kernels: Sync {
    /// How they are stored.
    fn scheme(&self) -> Scheme;
    /// Size of the decompressed kernel in bytes.
    ///
    /// # Errors
    /// In compatible reading, what is wrong with that entry.
    fn size(&self, id: u32) -> Result<u64, Error>;
    /// The decompressed kernel.
    ///
    /// # Errors
    /// As [`Archive::kernel`].
    fn content(&self, id: u32) -> Result<Vec<u8>, Error>;
    /// The kernel as it is stored: structure and sizes are checked, and nothing is decoded.
    ///
    /// # Errors
    /// As [`Archive::kernel`].
    fn stored(&self, id: u32) -> Result<Vec<u8>, Error>;
}

impl<R: ReadAt + Sync> Kernels for Archive<R> {
    fn scheme(&self) -> Scheme {
        self.toc().toc().scheme()
    }

    fn size(&self, id: u32) -> Result<u64, Error> {
        self.entry_at(id).map(|entry: Entry<'_>| entry.size)
    }

    fn content(&self, id: u32) -> Result<Vec<u8>, Error> {
        self.worker().kernel(&self.entry_at(id)?)
    }

    fn stored(&self, id: u32) -> Result<Vec<u8>, Error> {
        self.worker().into_stored(&self.entry_at(id)?)
    }
}

impl fmt::Debug for dyn Kernels + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernels").field("scheme", &self.scheme()).finish_non_exhaustive()
    }
}

const READING: &str = "reading the kernel";
const COMPRESSING: &str = "compressing the kernel";
const WRITING: &str = "writing the archive";
/// Buffers above this, in bytes, are given back after use.
const KEEP: usize = 32 << 20;

impl<'a> Pack<'a> {
    /// An empty list for an archive with these `group_name` and `gfx_arch_family`.
    pub const fn new(group: &'a [u8], family: &'a [u8]) -> Self {
        Pack { group, family, arches: Vec::new(), items: Vec::new() }
    }

    /// Makes the archive. `progress` is told how much is done and of how much, in bytes of
    /// kernels: first of all, and after each kernel.
    ///
    /// After an error the output holds no archive, and no more than a part of one.
    ///
    /// # Errors
    /// The first that concerns an item, with its names; the output's; caps of
    /// [`WriteOptions::limits`]; and, for an output that cannot seek, a scheme whose sizes are
    /// not known beforehand.
    pub fn write<W: WriteAt + ?Sized>(
        &self,
        output: &mut W,
        options: &PackOptions<'_>,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Packed, Error> {
        let format = |error| Error::new(ErrorKind::Format(error), WRITING);
        let mut writer = Writer::new(self.group, self.family, &options.write).map_err(format)?;
        for arch in &self.arches {
            writer.arch(arch).map_err(format)?;
        }
        let sizes = self.sizes(options)?;
        if !output.seeks() {
            if options.write.scheme != Scheme::None {
                let text = "needs a seekable output: the sizes of frames are not known beforehand";
                let error = io::Error::new(io::ErrorKind::NotSeekable, text);
                return Err(Error::new(ErrorKind::Io(error), WRITING));
            }
            let stored = self.items.iter().zip(&sizes);
            let stored = stored.filter(|(item, _)| !matches!(item.content, Content::Same(_)));
            writer.announce(stored.map(|(_, size)| *size)).map_err(format)?;
        }
        let mut run = Run {
            writer,
            output: Buffered::new(output),
            ordinals: Vec::with_capacity(self.items.len()),
            sizes: Vec::with_capacity(self.items.len()),
            packed: Packed::default(),
        };
        let total = sizes.iter().copied().fold(0, u64::saturating_add);
        let mut done = 0u64;
        progress(done, total);
        run.output.put(&run.writer.header()).map_err(io_error)?;
        let flow = ordered(
            &sizes,
            options.threads,
            options.in_flight,
            Means::default,
            |means, at| means.make(&self.items[at], options),
            |at, made| match made.and_then(|made| run.store(&self.items[at], made)) {
                Ok(()) => {
                    done = done.saturating_add(sizes[at]);
                    progress(done, total);
                    ControlFlow::Continue(())
                }
                Err(error) => ControlFlow::Break(error),
            },
        );
        match flow {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => run.finish(),
        }
    }

    /// The sizes of the items in bytes, decompressed; a repeated one takes nothing.
    fn sizes(&self, options: &PackOptions<'_>) -> Result<Vec<u64>, Error> {
        let size = |item: &Item<'_>| {
            let size = match item.content {
                Content::Bytes(bytes) => bytes.len() as u64,
                Content::File(path) => {
                    let meta = std::fs::metadata(path);
                    meta.map_err(|error| failed(item, ErrorKind::Io(error), READING))?.len()
                }
                Content::Entry(archive, id) => archive.size(id)?,
                Content::Same(_) => 0,
            };
            // Before anything is read for it.
            let limit = options.write.limits.kernel_bytes;
            if size > limit {
                let kind = CoreKind::Limit { cap: Cap::KernelBytes, value: size, limit };
                return Err(failed(item, ErrorKind::Format(CoreError::new(kind, 0)), READING));
            }
            Ok(size)
        };
        self.items.iter().map(size).collect()
    }
}

/// An error about an item: with its names, and its file if it is one.
fn failed(item: &Item<'_>, kind: ErrorKind, doing: &'static str) -> Error {
    let path = match item.content {
        Content::File(path) => Some(path),
        _ => None,
    };
    Error::new(kind, doing).with_path(path).with_kernel(item.binary, item.arch)
}

fn io_error(error: io::Error) -> Error {
    Error::new(ErrorKind::Io(error), WRITING)
}

/// What is stored of an item.
enum Made<'a> {
    Stored { bytes: Cow<'a, [u8]>, size: u64, sha256: Option<[u8; 32]>, compressed: bool },
    Same(usize),
}

/// What a thread keeps from one item to the next.
#[derive(Default)]
struct Means {
    compressor: Option<Box<dyn Compress>>,
    raw: Vec<u8>,
    frame: Vec<u8>,
}

impl Means {
    fn make<'a>(&mut self, item: &Item<'a>, options: &PackOptions<'_>) -> Result<Made<'a>, Error> {
        let scheme = options.write.scheme;
        let hash = |content: &[u8]| options.checksums.then(|| Sha256::digest(content).into());
        let made = match item.content {
            Content::Same(before) => return Ok(Made::Same(before)),
            Content::Bytes(bytes) => {
                let sha256 = hash(bytes);
                let stored = match scheme {
                    Scheme::None => Cow::Borrowed(bytes),
                    _ => Cow::Owned(self.compress(item, bytes, options)?),
                };
                (stored, bytes.len(), sha256)
            }
            Content::File(path) => {
                let mut raw = std::mem::take(&mut self.raw);
                let len = read_file(item, path, &mut raw, options)?;
                let sha256 = hash(&raw[..len]);
                let stored = match scheme {
                    Scheme::None => {
                        raw.truncate(len);
                        std::mem::take(&mut raw)
                    }
                    _ => self.compress(item, &raw[..len], options)?,
                };
                if raw.capacity() <= KEEP {
                    self.raw = raw;
                }
                (Cow::Owned(stored), len, sha256)
            }
            Content::Entry(archive, id) => return self.archived(item, archive, id, options),
        };
        let (bytes, size, sha256) = made;
        let compressed = scheme != Scheme::None;
        Ok(Made::Stored { bytes, size: size as u64, sha256, compressed })
    }

    fn archived<'a>(
        &mut self,
        item: &Item<'a>,
        archive: &dyn Kernels,
        id: u32,
        options: &PackOptions<'_>,
    ) -> Result<Made<'a>, Error> {
        let scheme = options.write.scheme;
        let compressed =
            scheme == Scheme::ZstdPerKernel && (archive.scheme() != scheme || options.recompress);
        let copied = archive.scheme() == scheme && !compressed;
        let size = archive.size(id)?;
        if copied && !options.checksums {
            let bytes = Cow::Owned(archive.stored(id)?);
            return Ok(Made::Stored { bytes, size, sha256: None, compressed });
        }
        let content = archive.content(id)?;
        let told = item.sha256.is_some();
        let sha256: Option<[u8; 32]> =
            (options.checksums || told).then(|| Sha256::digest(&content).into());
        // What the archive says of the kernel is not handed on unproven where it can be proven.
        if told && sha256 != item.sha256 {
            let error = CoreError::new(CoreKind::Kpack(Fault::Sha256), 0);
            return Err(failed(item, ErrorKind::Format(error), READING));
        }
        let bytes = match scheme {
            Scheme::None => content,
            _ if copied => archive.stored(id)?,
            _ => self.compress(item, &content, options)?,
        };
        Ok(Made::Stored { bytes: Cow::Owned(bytes), size, sha256, compressed })
    }

    fn compress(
        &mut self,
        item: &Item<'_>,
        kernel: &[u8],
        options: &PackOptions<'_>,
    ) -> Result<Vec<u8>, Error> {
        let io = |error| failed(item, ErrorKind::Io(error), COMPRESSING);
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            None => {
                let encoder = options.encoder.ok_or_else(|| {
                    io(io::Error::new(io::ErrorKind::Unsupported, "no encoder was given"))
                })?;
                self.compressor.insert(encoder.compressor(options.threads).map_err(io)?)
            }
        };
        compressor.compress(kernel, &mut self.frame).map_err(io)?;
        // The buffer has room for the worst case and is used again: a copy that fits is kept.
        let mut frame = Vec::new();
        let bytes = self.frame.len() as u64;
        frame
            .try_reserve_exact(self.frame.len())
            .map_err(|_| failed(item, ErrorKind::Memory { bytes }, COMPRESSING))?;
        frame.extend_from_slice(&self.frame);
        if self.frame.capacity() > KEEP {
            self.frame = Vec::new();
        }
        Ok(frame)
    }
}

/// Reads a file into the front of `raw`; returns its length.
fn read_file(
    item: &Item<'_>,
    path: &Path,
    raw: &mut Vec<u8>,
    options: &PackOptions<'_>,
) -> Result<usize, Error> {
    let io = |error| failed(item, ErrorKind::Io(error), READING);
    let file = FileAt::open(path).map_err(io)?;
    let total = file.total().map_err(io)?;
    let limit = options.write.limits.kernel_bytes;
    if total > limit {
        let kind = CoreKind::Limit { cap: Cap::KernelBytes, value: total, limit };
        return Err(failed(item, ErrorKind::Format(CoreError::new(kind, 0)), READING));
    }
    let no_memory = || failed(item, ErrorKind::Memory { bytes: total }, READING);
    let len = usize::try_from(total).map_err(|_| no_memory())?;
    if raw.len() < len {
        raw.try_reserve_exact(len - raw.len()).map_err(|_| no_memory())?;
        raw.resize(len, 0);
    }
    let got = file.read_full_at(&mut raw[..len], 0).map_err(io)?;
    if got < len || file.changed() {
        return Err(failed(item, ErrorKind::Changed, READING));
    }
    Ok(len)
}

/// An archive that is being written.
struct Run<'w, W: ?Sized> {
    writer: Writer,
    output: Buffered<'w, W>,
    /// The ordinal and the size of each item so far.
    ordinals: Vec<u32>,
    sizes: Vec<u64>,
    packed: Packed,
}

impl<W: WriteAt + ?Sized> Run<'_, W> {
    fn store(&mut self, item: &Item<'_>, made: Made<'_>) -> Result<(), Error> {
        let format = |error| failed(item, ErrorKind::Format(error), WRITING);
        let mut kernel = Kernel::new(item.binary, item.arch, 0);
        (kernel.kind, kernel.metadata, kernel.sha256) = (item.kind, item.metadata, item.sha256);
        let ordinal = match made {
            Made::Stored { bytes, size, sha256, compressed } => {
                kernel.size = size;
                kernel.sha256 = sha256.or(kernel.sha256);
                let ordinal = self.writer.stored();
                for put in self.writer.add(&kernel, &bytes).map_err(format)? {
                    self.output.put(&put).map_err(io_error)?;
                }
                self.packed.stored += bytes.len() as u64;
                self.packed.compressed += u64::from(compressed);
                ordinal
            }
            Made::Same(before) => {
                // No item of that number: no ordinal either.
                let ordinal = self.ordinals.get(before).copied().unwrap_or(u32::MAX);
                kernel.size = self.sizes.get(before).copied().unwrap_or_default();
                self.writer.link(&kernel, ordinal).map_err(format)?;
                ordinal
            }
        };
        self.ordinals.push(ordinal);
        self.sizes.push(kernel.size);
        self.packed.kernels += 1;
        self.packed.size = self.packed.size.saturating_add(kernel.size);
        Ok(())
    }

    fn finish(mut self) -> Result<Packed, Error> {
        let format = |error: CoreError| {
            let changed = matches!(error.kind, CoreKind::Kpack(Fault::Announced { .. }));
            let kind = if changed { ErrorKind::Changed } else { ErrorKind::Format(error) };
            Error::new(kind, WRITING)
        };
        let finished = self.writer.finish().map_err(format)?;
        for put in finished.puts() {
            self.output.put(&put).map_err(io_error)?;
        }
        self.output.flush().map_err(io_error)?;
        self.packed.total = finished.total();
        Ok(self.packed)
    }
}

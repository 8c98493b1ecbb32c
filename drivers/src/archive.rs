//! A kpack archive over any source of bytes: open, look up, fetch.
//!
//! Opening reads the header and the table of contents, nothing else. A lookup is a hash probe
//! in memory. The first fetch from a zstd archive walks the frame lengths as far as it needs,
//! unless the table says where the frame is; later ones know. `&Archive` is `Sync`: any number of
//! threads fetch at once, and no lock is held while one of them decompresses.
//!
//! ```
//! use rocload::{Archive, Options};
//!
//! // A file by path: Archive::open("libs.kpack")?; here, bytes in memory.
//! let archive = Archive::from_source(rocload::kpack::EXAMPLE, &Options::default())?;
//! for entry in archive.entries() {
//!     let entry = entry?;
//!     println!("{} {} bytes", entry.binary.escape_ascii(), entry.size);
//! }
//! let kernel = archive.kernel(b"lib/libsmall.so#0", b"gfx90a")?;
//! assert_eq!(kernel, b"a code objec");
//! # Ok::<(), rocload::Error>(())
//! ```

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rocload_core::kpack::{
    Entry, HEADER_LEN, Open, OwnedIndex, OwnedToc, Record, Strictness, TargetId, direct,
};
use rocload_core::{Limits, Machine, Need};

use crate::decoder::{Bench, Decoders};
use crate::error::{Error, ErrorKind};
use crate::file::{FileAt, ReadAt};
use crate::frames::{Extent, Frames};
use crate::trace::debug;
use crate::worker::{Room, Worker};

/// How an archive is read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Options {
    /// The caps.
    pub limits: Limits,
    /// Strict unless set otherwise.
    pub strictness: Strictness,
}

/// An open archive.
#[derive(Debug)]
pub struct Archive<R = FileAt> {
    pub(crate) source: R,
    path: Option<PathBuf>,
    pub(crate) limits: Limits,
    toc: OwnedToc,
    frames: Option<Frames>,
    order: OnceLock<Vec<u32>>,
    decoders: Arc<Decoders>,
}

const OPENING: &str = "opening the archive";
const READING_TOC: &str = "reading the table of contents";
const PLACING: &str = "finding the frame";

impl Archive<FileAt> {
    /// Opens the archive at `path`, strictly and with the default limits.
    ///
    /// # Errors
    /// The system's, or whatever the header and the TOC prove wrong.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &Options::default())
    }

    /// Opens the archive at `path`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let path = path.as_ref();
        let named = |error: Error| error.with_path(Some(path));
        let source =
            FileAt::open(path).map_err(|error| named(Error::new(ErrorKind::io(error), OPENING)))?;
        let archive = Self::from_source(source, options).map_err(named)?;
        Ok(archive.with_path(path))
    }
}

impl<R: ReadAt> Archive<R> {
    /// Opens the archive that `source` holds.
    ///
    /// # Errors
    /// The source's, or whatever the header and the TOC prove wrong.
    pub fn from_source(source: R, options: &Options) -> Result<Self, Error> {
        Self::sharing(source, options, Arc::default(), true)
    }

    /// Opens the archive that `source` holds, whose decoders rest with those of others, and which
    /// keeps what it has read ahead only if `keep` is set.
    pub(crate) fn sharing(
        source: R,
        options: &Options,
        decoders: Arc<Decoders>,
        keep: bool,
    ) -> Result<Self, Error> {
        let limits = options.limits;
        let toc = read_toc(&source, options)?;
        let frames = match toc.toc().zstd_blob() {
            Some((offset, size)) => Some(
                Frames::new(offset, size, &limits, keep)
                    .map_err(|error| Error::new(ErrorKind::Format(error), OPENING))?,
            ),
            None => None,
        };
        debug!(kernels = toc.len(), toc_bytes = toc.toc().bytes().len(), "opened an archive");
        Ok(Archive { source, path: None, limits, toc, frames, order: OnceLock::new(), decoders })
    }

    /// Names the source in errors, as [`open`](Archive::open) does.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The table of contents.
    pub fn toc(&self) -> &OwnedToc {
        &self.toc
    }

    /// The path that it was opened by.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The source of its bytes.
    pub fn source(&self) -> &R {
        &self.source
    }

    /// The number of kernels.
    pub fn len(&self) -> usize {
        self.toc.len()
    }

    /// There is no kernel.
    pub fn is_empty(&self) -> bool {
        self.toc.is_empty()
    }

    /// Numbers of all entries in the order of enumeration: binaries byte-sorted, then
    /// `gfx_arches` order. Made at the first call.
    pub fn order(&self) -> &[u32] {
        self.order.get_or_init(|| self.toc.order())
    }

    /// All entries in the order of enumeration, with their sizes. `offset` and `stored_size`
    /// are filled in for a zstd archive once its frames were walked
    /// ([`walk_frames`](Self::walk_frames)).
    ///
    /// An item is an error only in compatible reading, where a faulty entry does not prevent
    /// the others from being used.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Result<Entry<'_>, Error>> {
        self.order().iter().map(|&id| self.entry_at(id))
    }

    /// The entry with a number from [`order`](Self::order).
    ///
    /// # Errors
    /// In compatible reading, what is wrong with that entry's blob.
    ///
    /// # Panics
    /// When `id` is not such a number.
    pub fn entry_at(&self, id: u32) -> Result<Entry<'_>, Error> {
        let entry = self.toc.entry(id).map_err(|error| {
            let Record { binary, arch, .. } = self.toc.record(id);
            self.failed(Error::new(ErrorKind::Format(error), "looking up"), binary, arch)
        })?;
        Ok(self.complete(entry))
    }

    /// The names of an entry with a number from [`order`](Self::order).
    ///
    /// # Panics
    /// When `id` is not such a number.
    pub fn record_at(&self, id: u32) -> Record<'_> {
        self.toc.record(id)
    }

    /// The entry of exactly this binary and architecture, byte for byte: sizes and metadata,
    /// before anything is allocated for the kernel.
    ///
    /// # Errors
    /// [`ErrorKind::NoBinary`] and [`ErrorKind::NoArch`]; in compatible reading, what is wrong
    /// with the entry's blob.
    pub fn entry(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
    ) -> Result<Entry<'_>, Error> {
        let (binary, arch) = (binary.as_ref(), arch.as_ref());
        let kind = match self.toc.find(binary, arch) {
            Ok(Some(entry)) => return Ok(self.complete(entry)),
            Ok(None) => self.missing(binary),
            Err(error) => ErrorKind::Format(error),
        };
        Err(self.failed(Error::new(kind, "looking up"), binary, arch))
    }

    /// The entry of `binary` that best fits an agent's ISA, such as
    /// `amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-`: the most specific architecture first, then
    /// with features dropped, never with others.
    ///
    /// # Errors
    /// As [`entry`](Self::entry), and a target ID with more features than
    /// [`Limits::target_features`].
    pub fn entry_for(&self, binary: impl AsRef<[u8]>, isa: &str) -> Result<Entry<'_>, Error> {
        let binary = binary.as_ref();
        let failed = |kind| self.failed(Error::new(kind, "looking up"), binary, isa.as_bytes());
        let target =
            TargetId::parse(isa, &self.limits).map_err(|error| failed(ErrorKind::Format(error)))?;
        let mut arch = Vec::new();
        for candidate in target.candidates() {
            arch.resize(candidate.len(), 0);
            if candidate.write_to(&mut arch).is_err() {
                continue;
            }
            match self.toc.find(binary, &arch) {
                Ok(None) => {}
                Ok(Some(entry)) => return Ok(self.complete(entry)),
                Err(error) => return Err(failed(ErrorKind::Format(error))),
            }
        }
        Err(failed(self.missing(binary)))
    }

    #[cold]
    fn missing(&self, binary: &[u8]) -> ErrorKind {
        let arches = self.toc.arches_of(binary);
        if arches.is_empty() {
            return ErrorKind::NoBinary;
        }
        let text = |arch: &&[u8]| String::from_utf8_lossy(arch).into_owned();
        ErrorKind::NoArch { available: arches.iter().map(text).collect() }
    }

    /// Adds to an entry where its frame is, if that is known.
    fn complete<'a>(&self, mut entry: Entry<'a>) -> Entry<'a> {
        if let Some(extent) = self.frames.as_ref().and_then(|table| table.known(entry.ordinal)) {
            entry.offset = Some(extent.offset);
            entry.stored_size = Some(extent.len);
        }
        entry
    }

    /// Where a kernel is stored. In a zstd archive this reads the frame's length word where the
    /// table says its place, and may walk the frame lengths where it does not.
    ///
    /// # Errors
    /// What is wrong with the frame lengths up to this kernel's, or with its ordinal; in strict
    /// reading, a place in the table that is not the frame's.
    pub fn extent(&self, entry: &Entry<'_>) -> Result<Extent, Error> {
        let named = |error| self.failed(error, entry.binary, entry.arch);
        match (&self.frames, entry.offset, entry.stored_size) {
            (None, Some(offset), Some(len)) => Ok(Extent { offset, len }),
            (Some(frames), ..) => self.frame(frames, entry).map_err(named),
            // Not an entry of this archive.
            (None, ..) => Err(named(Error::new(ErrorKind::NoBinary, "looking up"))),
        }
    }

    /// The extent of an entry's frame: as the table says it, if the length word agrees, else
    /// found by a walk, which must agree with the table. Compatible reading does not hold the
    /// table to it, as readers do that do not know of places.
    fn frame(&self, frames: &Frames, entry: &Entry<'_>) -> Result<Extent, Error> {
        let strict = self.toc.toc().strictness() == Strictness::Strict;
        if frames.known(entry.ordinal).is_none() {
            match self.placed(entry)? {
                Ok(Some(extent)) => return Ok(extent),
                Err(error) if strict => return Err(Error::new(ErrorKind::Format(error), PLACING)),
                Ok(None) | Err(_) => {}
            }
        }
        let extent = frames.find(&self.source, entry.ordinal, entry.at)?;
        match direct::agrees(entry, extent.offset, extent.len) {
            Err(error) if strict => Err(Error::new(ErrorKind::Format(error), PLACING)),
            _ => Ok(extent),
        }
    }

    /// The extent that the table says, checked against the length word.
    fn placed(
        &self,
        entry: &Entry<'_>,
    ) -> Result<Result<Option<Extent>, rocload_core::Error>, Error> {
        let Some(blob) = self.toc.toc().zstd_blob() else { return Ok(Ok(None)) };
        let at = match direct::word(entry, blob) {
            Ok(Some(at)) => at,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        };
        let mut word = [0; 4];
        match self.source.read_full_at(&mut word, at) {
            Ok(4) => {}
            // The blob was checked against the file's length: the file is shorter now.
            Ok(_) => return Err(Error::new(ErrorKind::Changed, PLACING)),
            Err(error) => return Err(Error::new(ErrorKind::io(error), PLACING)),
        }
        let span = direct::span(entry, blob, word);
        Ok(span.map(|span| Some(Extent { offset: span.offset, len: u64::from(span.len) })))
    }

    /// Walks all frame lengths of a zstd archive, which checks them and completes what
    /// [`entries`](Self::entries) tells. Returns the number of stored kernels.
    ///
    /// # Errors
    /// What is wrong with the frame lengths.
    pub fn walk_frames(&self) -> Result<u32, Error> {
        match &self.frames {
            Some(frames) => frames.count(&self.source).map_err(|error| self.explain(error)),
            None => Ok(self.toc.toc().counts().blobs),
        }
    }

    /// A kernel in memory of its own.
    ///
    /// # Errors
    /// Not found, a limit exceeded, the file's faults, or [`ErrorKind::Memory`].
    pub fn kernel(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
    ) -> Result<Vec<u8>, Error> {
        let entry = self.entry(binary, arch)?;
        self.worker().kernel(&entry)
    }

    /// A kernel without a copy where the source lies in memory (`[u8]`, `Mapped`) and the archive
    /// stores it as it is, else in memory of its own.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel).
    pub fn kernel_cow(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
    ) -> Result<Cow<'_, [u8]>, Error> {
        let entry = self.entry(binary, arch)?;
        self.worker().kernel_cow(&entry)
    }

    /// A kernel into the front of `dst`; returns its size in bytes. What lies behind it is
    /// left alone; after an error the whole of `dst` is unspecified.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel), and [`Full`](rocload_core::Full) with the size needed.
    pub fn kernel_into(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
        dst: &mut [u8],
    ) -> Result<usize, Error> {
        let entry = self.entry(binary, arch)?;
        self.worker().kernel_into(&entry, dst)
    }

    /// A kernel into memory that is asked for once its size is known; returns its size in bytes.
    ///
    /// # Errors
    /// As [`kernel_into`](Self::kernel_into).
    pub fn kernel_in(
        &self,
        binary: impl AsRef<[u8]>,
        arch: impl AsRef<[u8]>,
        room: &mut dyn Room,
    ) -> Result<usize, Error> {
        let entry = self.entry(binary, arch)?;
        self.worker().kernel_in(&entry, room)
    }

    /// A worker: a decoder and buffers for one thread that fetches several kernels.
    pub fn worker(&self) -> Worker<'_, R> {
        Worker::new(self, self.decoders.take())
    }

    pub(crate) fn put_back(&self, bench: Bench) {
        self.decoders.put_back(bench);
    }

    /// Names the kernel in an error too.
    pub(crate) fn failed(&self, error: Error, binary: &[u8], arch: &[u8]) -> Error {
        let error = self.explain(error).with_kernel(binary, arch);
        debug!(%error, "a kernel could not be fetched");
        error
    }

    /// Names the file in an error; a fault in a file that has changed since it was opened is no
    /// fault of the archive.
    fn explain(&self, error: Error) -> Error {
        let error = match error.kind() {
            ErrorKind::Format(_) if self.source.changed() => {
                Error::new(ErrorKind::Changed, error.doing())
            }
            _ => error,
        };
        error.with_path(self.path())
    }
}

/// Drives the opening machine over `source`.
fn read_toc<R: ReadAt>(source: &R, options: &Options) -> Result<OwnedToc, Error> {
    let io = |error| Error::new(ErrorKind::io(error), READING_TOC);
    let total = source.total().map_err(io)?;
    let Options { limits, strictness } = *options;
    let mut open = Open::new(total, limits, strictness, Vec::new(), OwnedIndex::default());
    let mut header = [0; HEADER_LEN];
    while let Need::At { offset, min, .. } = open.need() {
        // The table is read to where it stays; the header has no such place.
        let room = open.room();
        let (got, step) = if room.is_empty() {
            let got = source.read_full_at(&mut header, offset).map_err(io)?;
            (got, open.step(offset, &header[..got]))
        } else {
            let got = source.read_full_at(room, offset).map_err(io)?;
            (got, open.filled(got))
        };
        let result = match step {
            Ok(step) if step.consumed == 0 && got < min.max(1) => open.end().map(|_| ()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            let kind = if source.changed() { ErrorKind::Changed } else { ErrorKind::Format(error) };
            let failed = Error::new(kind, READING_TOC);
            return Err(match open.place() {
                Some((binary, arch)) => failed.with_kernel(binary, arch),
                None => failed,
            });
        }
    }
    open.into_toc().ok_or_else(|| Error::new(ErrorKind::Changed, READING_TOC))
}

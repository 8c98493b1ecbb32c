//! The writer: an archive as bytes to put at offsets, kernel after kernel.
//!
//! It keeps the table of contents in the making and no kernel: the caller stores each kernel's
//! bytes where it is told to. Compressing them is the caller's as well.
//!
//! ```text
//!   header() --> Put at 0
//!   add(kernel, stored) --> Put of padding or a length word, Put of the stored bytes
//!     (or place(kernel, len), for bytes that are not in memory at once)
//!   link(kernel, ordinal) --> another name for a stored kernel
//!   finish() --> Put of the TOC, then of the words at the front that are known only now
//! ```
//!
//! Each [`Put`] begins where the one before has ended, but for the last ones, at the front: the
//! frame count, and the 16 bytes of the header, without which the file is no archive. An output
//! that cannot seek is served too: where the stored sizes are known beforehand,
//! [`Writer::announce`] brings the words to the front at once, and all is in order.
//!
//! The same calls make the same bytes. Under scheme none they are those of the public Python
//! writer, unless [`WriteOptions`] asks for something that it does not write.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::kpack::{Kernel, OwnedToc, Strictness, WriteOptions, Writer};
//!
//! let mut archive = Vec::new();
//! let mut writer = Writer::new(b"small", b"gfx90a", &WriteOptions::default())?;
//! writer.header().write_to(&mut archive);
//! let kernel = Kernel::new(b"lib/libsmall.so#0", b"gfx90a", 12);
//! for put in writer.add(&kernel, b"a code objec")? {
//!     put.write_to(&mut archive);
//! }
//! for put in writer.finish()?.puts() {
//!     put.write_to(&mut archive);
//! }
//! assert_eq!(archive, rocload_core::kpack::EXAMPLE);
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: kpack format, version 1, as the public Python writer lays it out.

mod table;
#[cfg(test)]
mod tests;

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::fields::{ENTRY_DEPTH, skip_at};
use super::{Fault, HEADER_LEN, MAGIC, Repeated, Scheme, VERSION};
use crate::error::{Error, ErrorKind};
use crate::limits::{Cap, Limits};
use crate::msgpack::Reader;

/// Where the data begins: behind the header and its padding.
const DATA_AT: usize = 64;
/// Length of the frame count and of each length word.
const WORD: usize = 4;
const MOST_ALIGN: u32 = 4096;
static ZEROS: [u8; MOST_ALIGN as usize] = [0; MOST_ALIGN as usize];

/// How an archive is written. The default is what the public Python writer does under scheme
/// none.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WriteOptions {
    /// How kernels are stored.
    pub scheme: Scheme,
    /// What the offset of each kernel is a multiple of, in bytes: 1, or under scheme none a power
    /// of two up to 4,096.
    pub align: u32,
    /// Tells each entry where its frame is: `frame_offset`, absolute, of the frame's first byte,
    /// and `frame_size` without the length word, both in bytes. Readers that do not know these
    /// keys pass over them; under scheme none, where `blobs` says as much, they are not written.
    pub index: bool,
    /// Keeps `\` in binaries' names. The public writer turns it into `/`.
    pub verbatim: bool,
    /// The caps: an archive over them is not written.
    pub limits: Limits,
}

impl Default for WriteOptions {
    fn default() -> Self {
        let limits = Limits::default();
        Self { scheme: Scheme::None, align: 1, index: false, verbatim: false, limits }
    }
}

/// A kernel to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel<'a> {
    /// The key in `toc`: `{relative path}#{N}` in practice.
    pub binary: &'a [u8],
    /// The key under the binary.
    pub arch: &'a [u8],
    /// `type`: `hsaco` unless set otherwise; `None` leaves it out.
    pub kind: Option<&'a [u8]>,
    /// Length of the code object in bytes, decompressed.
    pub size: u64,
    /// The `metadata` map, as MessagePack.
    pub metadata: Option<&'a [u8]>,
    /// SHA-256 of the decompressed code object, for the key `sha256`, which other readers pass
    /// over.
    pub sha256: Option<[u8; 32]>,
}

impl<'a> Kernel<'a> {
    /// A kernel of the type `hsaco` with nothing but names and a size.
    pub const fn new(binary: &'a [u8], arch: &'a [u8], size: u64) -> Self {
        Self { binary, arch, kind: Some(b"hsaco"), size, metadata: None, sha256: None }
    }
}

/// Bytes and where they belong in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the bytes must be written"]
pub struct Put<'a> {
    /// Absolute offset of the first byte.
    pub offset: u64,
    /// The bytes; may be none.
    pub bytes: &'a [u8],
}

impl Put<'_> {
    /// Writes the bytes into an archive in memory, which grows as it must.
    ///
    /// # Panics
    /// When the offset is beyond what memory can hold.
    pub fn write_to(&self, archive: &mut Vec<u8>) {
        let start = usize::try_from(self.offset).expect("the archive fits into memory");
        let end = start + self.bytes.len();
        if archive.len() < end {
            archive.resize(end, 0);
        }
        archive[start..end].copy_from_slice(self.bytes);
    }
}

/// Where a kernel's stored bytes go, and what goes in front of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'w> {
    /// The kernel's number.
    pub ordinal: u32,
    /// Padding, or the length word of a frame; may be empty.
    pub lead: Put<'w>,
    /// Absolute offset of the first stored byte.
    pub offset: u64,
}

/// What goes into the words at the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Front {
    kernels: u32,
    toc_offset: u64,
}

/// Writes an archive; see the module's text.
#[derive(Debug)]
pub struct Writer {
    options: WriteOptions,
    group: Vec<u8>,
    family: Vec<u8>,
    /// Architectures in the order of `gfx_arches`, and each one's number.
    arches: Vec<Vec<u8>>,
    arch_ids: BTreeMap<Vec<u8>, u32>,
    binaries: Vec<table::Binary>,
    binary_ids: BTreeMap<Vec<u8>, u32>,
    /// Which (binary, architecture) there are.
    seen: BTreeSet<(u32, u32)>,
    /// Offset and length of each stored kernel, by its ordinal.
    stored: Vec<(u64, u64)>,
    /// Behind the last stored byte.
    at: u64,
    /// What the names and the metadata take in the TOC, in bytes: it is no shorter than that.
    least_toc: u64,
    announced: Option<Front>,
    front: [u8; DATA_AT + WORD],
    word: [u8; WORD],
}

impl Writer {
    /// A writer of an archive with these `group_name` and `gfx_arch_family`.
    ///
    /// # Errors
    /// [`Fault::Align`] and [`Cap::KeyBytes`].
    pub fn new(group: &[u8], family: &[u8], options: &WriteOptions) -> Result<Writer, Error> {
        let WriteOptions { align, scheme, .. } = *options;
        let most = if scheme == Scheme::None { MOST_ALIGN } else { 1 };
        if !align.is_power_of_two() || align > most {
            return Err(Error::new(ErrorKind::Kpack(Fault::Align { align }), 0));
        }
        let writer = Writer {
            options: *options,
            group: group.to_vec(),
            family: family.to_vec(),
            arches: Vec::new(),
            arch_ids: BTreeMap::new(),
            binaries: Vec::new(),
            binary_ids: BTreeMap::new(),
            seen: BTreeSet::new(),
            stored: Vec::new(),
            at: front_len(scheme) as u64,
            least_toc: 0,
            announced: None,
            front: [0; DATA_AT + WORD],
            word: [0; WORD],
        };
        writer.check_name(group)?;
        writer.check_name(family)?;
        Ok(writer)
    }

    /// Lists an architecture in `gfx_arches` now. Those of kernels that follow are listed when
    /// they first appear.
    ///
    /// # Errors
    /// [`Cap::KeyBytes`] and [`Cap::TocBytes`].
    pub fn arch(&mut self, arch: &[u8]) -> Result<(), Error> {
        self.check_name(arch)?;
        if !self.arch_ids.contains_key(arch) {
            self.check_toc(arch.len() as u64)?;
            self.intern_arch(arch);
        }
        Ok(())
    }

    /// Announces the stored sizes, in bytes, of all kernels that [`add`](Self::add) or
    /// [`place`](Self::place) will be told, in order: the header is then complete from the
    /// beginning, and every byte can be written in order.
    ///
    /// # Errors
    /// A size that cannot be stored, and [`Cap::Kernels`]. The writer is then as before.
    pub fn announce(&mut self, sizes: impl IntoIterator<Item = u64>) -> Result<(), Error> {
        let mut at = front_len(self.options.scheme) as u64;
        let mut kernels = 0;
        for size in sizes {
            self.check_count(u64::from(kernels) + 1)?;
            let (_, end) = self.room(kernels, at, size)?;
            (kernels, at) = (kernels + 1, end);
        }
        let front = Front { kernels, toc_offset: at };
        self.announced = Some(front);
        self.front[..HEADER_LEN].copy_from_slice(&header_words(front));
        self.front[DATA_AT..].copy_from_slice(&kernels.to_le_bytes());
        Ok(())
    }

    /// What is in front of the first kernel: zeros that [`finish`](Self::finish) makes words of,
    /// or the words themselves where they are [announced](Self::announce).
    pub fn header(&self) -> Put<'_> {
        Put { offset: 0, bytes: &self.front[..front_len(self.options.scheme)] }
    }

    /// Behind the last stored byte: absolute, in bytes.
    pub const fn position(&self) -> u64 {
        self.at
    }

    /// The number of kernels stored so far; links do not count.
    pub fn stored(&self) -> u32 {
        // Capped by `Limits::kernels`.
        self.stored.len() as u32
    }

    /// Adds a kernel whose stored bytes are all there: the code object itself, or its frame.
    /// Write both [`Put`]s, in order.
    ///
    /// # Errors
    /// Those of [`place`](Self::place).
    pub fn add<'w>(
        &'w mut self,
        kernel: &Kernel<'_>,
        stored: &'w [u8],
    ) -> Result<[Put<'w>; 2], Error> {
        let place = self.place(kernel, stored.len() as u64)?;
        Ok([place.lead, Put { offset: place.offset, bytes: stored }])
    }

    /// Adds a kernel of `stored_size` bytes, which are written where it says.
    ///
    /// # Errors
    /// Caps, a repeated name, a size that differs from the stored one (scheme none),
    /// [`Fault::FrameTooLong`], [`Fault::Metadata`], [`Fault::Announced`]. The writer is then as
    /// before. Offsets in errors are where the kernel would have been stored.
    pub fn place(&mut self, kernel: &Kernel<'_>, stored_size: u64) -> Result<Place<'_>, Error> {
        let ordinal = self.stored();
        self.check_count(u64::from(ordinal) + 1)?;
        self.check_size(kernel, stored_size)?;
        let (offset, end) = self.room(ordinal, self.at, stored_size)?;
        if let Some(front) = self.announced
            && (ordinal >= front.kernels || end > front.toc_offset)
        {
            return Err(self.unannounced(front));
        }
        self.enter(kernel, ordinal)?;
        self.stored.push((offset, stored_size));
        let before = core::mem::replace(&mut self.at, end);
        let lead = match self.options.scheme {
            Scheme::None => &ZEROS[..(offset - before) as usize],
            Scheme::ZstdPerKernel => {
                // `room` has seen that it fits.
                self.word = (stored_size as u32).to_le_bytes();
                &self.word[..]
            }
        };
        Ok(Place { ordinal, lead: Put { offset: before, bytes: lead }, offset })
    }

    /// Adds a kernel that is the one stored with this ordinal, under another name.
    ///
    /// # Errors
    /// Those of [`place`](Self::place), and [`Fault::Ordinal`].
    pub fn link(&mut self, kernel: &Kernel<'_>, ordinal: u32) -> Result<(), Error> {
        let Some(&(_, stored_size)) = self.stored.get(ordinal as usize) else {
            return Err(self.fault(Fault::Ordinal { ordinal, count: self.stored() }));
        };
        self.check_size(kernel, stored_size)?;
        self.enter(kernel, ordinal)
    }

    /// The rest of the archive.
    ///
    /// # Errors
    /// [`Cap::TocBytes`], and [`Fault::Announced`] when other kernels came than were announced.
    pub fn finish(self) -> Result<Finished, Error> {
        let front = Front { kernels: self.stored(), toc_offset: self.at };
        if let Some(announced) = self.announced.filter(|announced| *announced != front) {
            return Err(self.unannounced(announced));
        }
        let toc = self.toc()?;
        Ok(Finished {
            front,
            toc,
            count: (self.options.scheme == Scheme::ZstdPerKernel)
                .then(|| front.kernels.to_le_bytes()),
            header: header_words(front),
            announced: self.announced.is_some(),
        })
    }

    /// Puts a checked kernel into the table.
    fn enter(&mut self, kernel: &Kernel<'_>, ordinal: u32) -> Result<(), Error> {
        self.check_count(self.seen.len() as u64 + 1)?;
        let name = self.key(kernel.binary);
        self.check_name(&name)?;
        self.check_name(kernel.arch)?;
        let metadata = kernel.metadata.unwrap_or_default();
        if kernel.metadata.is_some() && !self.is_map(metadata) {
            return Err(self.fault(Fault::Metadata));
        }
        let known = (self.binary_ids.get(&*name), self.arch_ids.get(kernel.arch));
        if let (Some(&binary), Some(&arch)) = known
            && self.seen.contains(&(binary, arch))
        {
            return Err(self.fault(Fault::Duplicate(Repeated::Arch)));
        }
        let kind = kernel.kind.unwrap_or_default();
        self.check_name(kind)?;
        let new_name = if known.0.is_none() { name.len() } else { 0 };
        self.check_toc((new_name + kernel.arch.len() + kind.len() + metadata.len()) as u64)?;

        let arch = self.intern_arch(kernel.arch);
        let binary = match known_id(&self.binary_ids, &name) {
            Some(id) => id,
            None => {
                let id = self.binaries.len() as u32;
                self.binaries.push(table::Binary::new(&name));
                self.binary_ids.insert(name.into_owned(), id);
                id
            }
        };
        self.seen.insert((binary, arch));
        self.binaries[binary as usize].push(table::Entry::new(kernel, arch, ordinal));
        Ok(())
    }

    fn key<'k>(&self, binary: &'k [u8]) -> Cow<'k, [u8]> {
        if self.options.verbatim || !binary.contains(&b'\\') {
            return Cow::Borrowed(binary);
        }
        let slash = |&byte: &u8| if byte == b'\\' { b'/' } else { byte };
        Cow::Owned(binary.iter().map(slash).collect())
    }

    fn intern_arch(&mut self, arch: &[u8]) -> u32 {
        match known_id(&self.arch_ids, arch) {
            Some(id) => id,
            None => {
                let id = self.arches.len() as u32;
                self.arches.push(arch.to_vec());
                self.arch_ids.insert(arch.to_vec(), id);
                id
            }
        }
    }

    /// Where a kernel of `size` stored bytes behind `at` begins and ends.
    fn room(&self, ordinal: u32, at: u64, size: u64) -> Result<(u64, u64), Error> {
        let frames = self.options.scheme == Scheme::ZstdPerKernel;
        if frames && size > u64::from(u32::MAX) {
            return Err(Error::new(ErrorKind::Kpack(Fault::FrameTooLong { size }), at));
        }
        let start = match frames {
            true => at.checked_add(WORD as u64),
            false => at.checked_next_multiple_of(u64::from(self.options.align)),
        };
        let extent = start.and_then(|start| Some((start, start.checked_add(size)?)));
        extent.ok_or_else(|| {
            let fault = Fault::BlobRange { ordinal, start: at, size, total: u64::MAX };
            Error::new(ErrorKind::Kpack(fault), at)
        })
    }

    /// Exactly one map, nested no deeper than the caps allow where it will stand.
    fn is_map(&self, metadata: &[u8]) -> bool {
        let mut reader = Reader::new(metadata, 0);
        let mut head = reader;
        head.map().is_ok()
            && skip_at(&mut reader, self.options.limits.msgpack_depth, ENTRY_DEPTH).is_ok()
            && reader.rest().is_empty()
    }

    fn check_size(&self, kernel: &Kernel<'_>, stored: u64) -> Result<(), Error> {
        let limits = &self.options.limits;
        if kernel.size > limits.kernel_bytes {
            return Err(self.over(Cap::KernelBytes, kernel.size, limits.kernel_bytes));
        }
        let expansion = u64::from(limits.expansion);
        match self.options.scheme {
            Scheme::None if kernel.size != stored => {
                Err(self.fault(Fault::SizeMismatch { declared: kernel.size, stored }))
            }
            // No reader would take it.
            Scheme::ZstdPerKernel if kernel.size > stored.saturating_mul(expansion) => {
                let value = kernel.size.div_ceil(stored.max(1));
                Err(self.over(Cap::Expansion, value, expansion))
            }
            _ => Ok(()),
        }
    }

    fn check_count(&self, count: u64) -> Result<(), Error> {
        let limit = u64::from(self.options.limits.kernels);
        if count > limit { Err(self.over(Cap::Kernels, count, limit)) } else { Ok(()) }
    }

    fn check_name(&self, name: &[u8]) -> Result<(), Error> {
        let (value, limit) = (name.len() as u64, u64::from(self.options.limits.key_bytes));
        if value > limit { Err(self.over(Cap::KeyBytes, value, limit)) } else { Ok(()) }
    }

    /// Counts what the TOC grows by, so that it is refused before it is made.
    fn check_toc(&mut self, more: u64) -> Result<(), Error> {
        let (value, limit) = (self.least_toc.saturating_add(more), self.toc_limit());
        if value > limit {
            return Err(self.over(Cap::TocBytes, value, limit));
        }
        self.least_toc = value;
        Ok(())
    }

    fn toc_limit(&self) -> u64 {
        self.options.limits.toc_bytes.min(u64::from(u32::MAX))
    }

    fn over(&self, cap: Cap, value: u64, limit: u64) -> Error {
        Error::new(ErrorKind::Limit { cap, value, limit }, self.at)
    }

    fn unannounced(&self, front: Front) -> Error {
        let Front { kernels, toc_offset } = front;
        self.fault(Fault::Announced { kernels, toc_offset })
    }

    fn fault(&self, fault: Fault) -> Error {
        Error::new(ErrorKind::Kpack(fault), self.at)
    }
}

fn known_id(ids: &BTreeMap<Vec<u8>, u32>, name: &[u8]) -> Option<u32> {
    ids.get(name).copied()
}

/// The header's length with its padding, and with the frame count where there is one.
fn front_len(scheme: Scheme) -> usize {
    match scheme {
        Scheme::None => DATA_AT,
        Scheme::ZstdPerKernel => DATA_AT + WORD,
    }
}

fn header_words(front: Front) -> [u8; HEADER_LEN] {
    let mut words = [0; HEADER_LEN];
    words[..4].copy_from_slice(&MAGIC);
    words[4..8].copy_from_slice(&VERSION.to_le_bytes());
    words[8..].copy_from_slice(&front.toc_offset.to_le_bytes());
    words
}

/// The end of an archive: its table, and the words at its front.
#[derive(Debug, Clone)]
#[must_use = "the table must be written"]
pub struct Finished {
    front: Front,
    toc: Vec<u8>,
    count: Option<[u8; WORD]>,
    header: [u8; HEADER_LEN],
    announced: bool,
}

impl Finished {
    /// What is left to write, in order; the header, which makes the file an archive, is last.
    pub fn puts(&self) -> impl Iterator<Item = Put<'_>> {
        let toc = Put { offset: self.front.toc_offset, bytes: &self.toc };
        let count = self.count.as_ref().map(|word| Put { offset: DATA_AT as u64, bytes: word });
        let header = Put { offset: 0, bytes: &self.header };
        let front = count.into_iter().chain([header]);
        core::iter::once(toc).chain(front.take(if self.announced { 0 } else { 2 }))
    }

    /// Absolute offset of the TOC, in bytes.
    pub const fn toc_offset(&self) -> u64 {
        self.front.toc_offset
    }

    /// Length of the archive in bytes.
    pub const fn total(&self) -> u64 {
        self.front.toc_offset + self.toc.len() as u64
    }

    /// The number of kernels stored.
    pub const fn kernels(&self) -> u32 {
        self.front.kernels
    }
}

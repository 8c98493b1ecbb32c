//! A view of a checked TOC that keeps no rows: everything is read from its bytes again.
//!
//! Finding an entry is a walk over the names, which suits a loader that fetches a handful of
//! kernels and has no memory to spare. [`Index`](super::Index) finds by hash instead.

use super::fields::{Values, read_blob, read_entry};
use super::rows::Span;
use super::target::TargetId;
use super::walk::{self, Rules, check_blob, kpack};
use super::{Blob, Fault, Repeated, Scheme, Strictness};
use crate::error::Error;
use crate::limits::Limits;
use crate::msgpack::Reader;

/// How many rows of each kind a TOC has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Elements of `gfx_arches`, duplicates counted.
    pub arches: u32,
    /// Binaries in `toc`.
    pub binaries: u32,
    /// Entries under all the binaries: the kernels.
    pub entries: u32,
    /// Elements of `blobs` (scheme none).
    pub blobs: u32,
}

/// Where the parts of a TOC stand in its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) scheme: Scheme,
    pub(crate) group: Span,
    pub(crate) family: Span,
    /// First element of `gfx_arches`, first pair of `toc`, first element of `blobs`.
    pub(crate) arches: u32,
    pub(crate) toc: u32,
    pub(crate) blobs: u32,
    pub(crate) zstd: Option<(u64, u64)>,
    pub(crate) counts: Counts,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            scheme: Scheme::None,
            group: Span::default(),
            family: Span::default(),
            arches: 0,
            toc: 0,
            blobs: 0,
            zstd: None,
            counts: Counts::ZERO,
        }
    }
}

/// A checked table of contents.
#[derive(Debug, Clone, Copy)]
pub struct Toc<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) base: u64,
    pub(crate) total: u64,
    pub(crate) strictness: Strictness,
    pub(crate) layout: Layout,
}

/// A binary's name and how many entries stand under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binary<'a> {
    /// The key in `toc`.
    pub name: &'a [u8],
    /// Its entries, one an architecture.
    pub entries: u32,
}

/// An entry as the TOC has it: what is stored where is not resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The key in `toc`.
    pub binary: &'a [u8],
    /// The key under the binary.
    pub arch: &'a [u8],
    /// `type`, `hsaco` in practice.
    pub kind: Option<&'a [u8]>,
    /// Which stored kernel it is, from 0.
    pub ordinal: u32,
    /// `original_size` in bytes; may be absent under scheme none.
    pub original_size: Option<u64>,
    /// The `metadata` map, as MessagePack.
    pub metadata: Option<&'a [u8]>,
    /// `frame_offset`: absolute offset of the first byte of its frame, as the TOC says.
    pub frame_offset: Option<u64>,
    /// `frame_size`: bytes of its frame, without the length word, as the TOC says.
    pub frame_size: Option<u32>,
    /// `sha256` of the code object, decompressed, as the TOC says.
    pub sha256: Option<&'a [u8; 32]>,
    /// Absolute offset of the architecture's name in the file, for messages.
    pub at: u64,
}

/// A kernel that can be fetched, with its sizes, before anything is allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// How it is stored.
    pub scheme: Scheme,
    /// The key in `toc`.
    pub binary: &'a [u8],
    /// The key under the binary.
    pub arch: &'a [u8],
    /// `type`, `hsaco` in practice.
    pub kind: Option<&'a [u8]>,
    /// Which stored kernel it is, from 0.
    pub ordinal: u32,
    /// Length of the code object in bytes, decompressed.
    pub size: u64,
    /// Bytes that it takes in the file, without a length word. `None` under
    /// `zstd-per-kernel`: the frame index knows.
    pub stored_size: Option<u64>,
    /// Absolute offset of its first stored byte. `None` under `zstd-per-kernel`.
    pub offset: Option<u64>,
    /// The `metadata` map, as MessagePack.
    pub metadata: Option<&'a [u8]>,
    /// `frame_offset`: absolute offset of the first byte of its frame, as the TOC says;
    /// [`direct`](super::direct) checks it. `None` under scheme none.
    pub frame_offset: Option<u64>,
    /// `frame_size`: bytes of its frame, as the TOC says. `None` under scheme none.
    pub frame_size: Option<u32>,
    /// `sha256` of the code object, decompressed, as the TOC says.
    pub sha256: Option<&'a [u8; 32]>,
    /// Absolute offset of the architecture's name in the file, for messages.
    pub at: u64,
}

impl<'a> Toc<'a> {
    /// Checks the TOC in `bytes`, which begin at offset `base` of a file of `total` bytes and
    /// reach to its end. Duplicate names are found by an index, or by [`find`](Self::find) when
    /// it meets them.
    ///
    /// # Errors
    /// Whatever the header and the TOC prove wrong, with its absolute offset.
    pub fn parse(
        bytes: &'a [u8],
        base: u64,
        total: u64,
        limits: &Limits,
        strictness: Strictness,
    ) -> Result<Toc<'a>, Error> {
        let rules = Rules { total, limits, strictness };
        walk::walk(bytes, base, rules, &mut ())
    }

    /// How kernels are stored.
    pub const fn scheme(&self) -> Scheme {
        self.layout.scheme
    }

    /// How this TOC was read.
    pub const fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// How many rows there are.
    pub const fn counts(&self) -> Counts {
        self.layout.counts
    }

    /// Absolute offset of the TOC in bytes.
    pub const fn offset(&self) -> u64 {
        self.base
    }

    /// The file's length in bytes.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The TOC's bytes, to the end of the file.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// `group_name`.
    pub fn group_name(&self) -> Option<&'a [u8]> {
        self.optional(self.layout.group)
    }

    /// `gfx_arch_family`.
    pub fn gfx_arch_family(&self) -> Option<&'a [u8]> {
        self.optional(self.layout.family)
    }

    /// Offset and length, in bytes, of the zstd blob (scheme `zstd-per-kernel`).
    pub const fn zstd_blob(&self) -> Option<(u64, u64)> {
        self.layout.zstd
    }

    /// `gfx_arches`, in its order, duplicates kept.
    pub fn arches(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut reader = self.reader(self.layout.arches);
        (0..self.layout.counts.arches).map_while(move |_| reader.str().ok())
    }

    /// The binaries, in the TOC's order.
    pub fn binaries(&self) -> impl Iterator<Item = Binary<'a>> + use<'a> {
        let mut reader = self.reader(self.layout.toc);
        (0..self.layout.counts.binaries).map_while(move |_| {
            let name = reader.str().ok()?;
            let mut inside = reader;
            let entries = inside.map().ok()?;
            reader.skip(u8::MAX).ok()?;
            Some(Binary { name, entries })
        })
    }

    /// Every entry, in the TOC's order.
    pub fn entries(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let toc = *self;
        let mut reader = self.reader(self.layout.toc);
        let mut binary: &'a [u8] = &[];
        let mut left = 0u32;
        (0..self.layout.counts.entries).map_while(move |_| {
            while left == 0 {
                binary = reader.str().ok()?;
                left = reader.map().ok()?;
            }
            left -= 1;
            toc.read_record(&mut reader, binary)
        })
    }

    /// The entry of exactly this binary and architecture, byte for byte. Walks the TOC once.
    ///
    /// # Errors
    /// In strict reading a duplicate of what was looked for; and what [`locate`](Self::locate)
    /// finds wrong with it.
    pub fn find(&self, binary: &[u8], arch: &[u8]) -> Result<Option<Entry<'a>>, Error> {
        self.find_best(binary, |name| (name == arch).then_some(0))
    }

    /// The entry of `binary` that best fits the agent's ISA: its candidates are tried from the
    /// most specific one down, as [`TargetId::candidates`] gives them. Walks the TOC once.
    ///
    /// # Errors
    /// Those of [`find`](Self::find), and a target ID with too many features.
    pub fn find_target(&self, binary: &[u8], isa: &str) -> Result<Option<Entry<'a>>, Error> {
        let target = TargetId::parse(isa, &Limits::default())?;
        self.find_best(binary, |arch| target.candidates().position(|one| one.matches(arch)))
    }

    /// The entry of `binary` whose architecture has the lowest rank.
    fn find_best(
        &self,
        binary: &[u8],
        rank: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Option<Entry<'a>>, Error> {
        let mut best = None;
        let mut seen = false;
        let mut reader = self.reader(self.layout.toc);
        for _ in 0..self.layout.counts.binaries {
            let at = reader.offset();
            let name = reader.str()?;
            if name != binary {
                reader.skip(u8::MAX)?;
                continue;
            }
            if seen && self.strictness == Strictness::Strict {
                return Err(kpack(Fault::Duplicate(Repeated::Binary), at));
            }
            seen = true;
            best = self.best_arch(&mut reader, name, &rank)?;
        }
        best.map(|record| self.locate(&record)).transpose()
    }

    fn best_arch(
        &self,
        reader: &mut Reader<'a>,
        binary: &'a [u8],
        rank: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Option<Record<'a>>, Error> {
        let mut best: Option<(usize, Record<'a>)> = None;
        for _ in 0..reader.map()? {
            let at = reader.offset();
            let Some(record) = self.read_record(reader, binary) else { break };
            let Some(rank) = rank(record.arch) else { continue };
            if best.is_some_and(|(other, _)| other == rank) && self.strictness == Strictness::Strict
            {
                return Err(kpack(Fault::Duplicate(Repeated::Arch), at));
            }
            if best.is_none_or(|(other, _)| rank <= other) {
                best = Some((rank, record));
            }
        }
        Ok(best.map(|(_, record)| record))
    }

    /// Resolves where a record's kernel is stored and how large it is.
    ///
    /// # Errors
    /// Under scheme none: an ordinal without a blob, a blob outside the file, and in strict
    /// reading a size that differs from `original_size`.
    pub fn locate(&self, record: &Record<'a>) -> Result<Entry<'a>, Error> {
        let blob = match self.layout.scheme {
            Scheme::ZstdPerKernel => None,
            Scheme::None => self.blob(record.ordinal)?,
        };
        self.entry(record, blob)
    }

    /// The blob of an ordinal, by walking `blobs`.
    fn blob(&self, ordinal: u32) -> Result<Option<Blob>, Error> {
        if ordinal >= self.layout.counts.blobs {
            return Ok(None);
        }
        let mut reader = self.reader(self.layout.blobs);
        for _ in 0..ordinal {
            reader.skip(u8::MAX)?;
        }
        read_blob(&mut reader, u8::MAX, false).map(Some)
    }

    /// Puts a record and its blob together.
    #[inline]
    pub(crate) fn entry(
        &self,
        record: &Record<'a>,
        blob: Option<Blob>,
    ) -> Result<Entry<'a>, Error> {
        let &Record { binary, arch, kind, ordinal, original_size, metadata, sha256, at, .. } =
            record;
        let scheme = self.layout.scheme;
        let (size, stored_size, offset) = match (scheme, blob) {
            (Scheme::ZstdPerKernel, _) => (original_size.unwrap_or(0), None, None),
            (Scheme::None, None) => {
                let count = self.layout.counts.blobs;
                return Err(kpack(Fault::Ordinal { ordinal, count }, at));
            }
            (Scheme::None, Some(blob)) => {
                check_blob(blob, ordinal, self.total, at)?;
                self.check_size(original_size, blob.size, at)?;
                (blob.size, Some(blob.size), Some(blob.offset))
            }
        };
        let (frame_offset, frame_size) = match scheme {
            Scheme::ZstdPerKernel => (record.frame_offset, record.frame_size),
            Scheme::None => (None, None),
        };
        Ok(Entry {
            scheme,
            binary,
            arch,
            kind,
            ordinal,
            size,
            stored_size,
            offset,
            metadata,
            frame_offset,
            frame_size,
            sha256,
            at,
        })
    }

    /// `original_size` and the blob's own size agree, unless compatibility waives it.
    pub(crate) fn check_size(
        &self,
        declared: Option<u64>,
        stored: u64,
        at: u64,
    ) -> Result<(), Error> {
        match declared {
            Some(declared) if declared != stored && self.strictness == Strictness::Strict => {
                Err(kpack(Fault::SizeMismatch { declared, stored }, at))
            }
            _ => Ok(()),
        }
    }

    /// The name whose head stands at `at`.
    #[inline]
    pub(crate) fn name_at(&self, at: u32) -> &'a [u8] {
        self.reader(at).str().unwrap_or_default()
    }

    /// Absolute offset of the bytes of that name, behind their head.
    pub(crate) fn name_offset(&self, at: u32) -> u64 {
        let mut reader = self.reader(at);
        let len = reader.str().unwrap_or_default().len() as u64;
        reader.offset().saturating_sub(len)
    }

    /// The record of `binary` whose architecture's head stands at `at`.
    #[inline]
    pub(crate) fn record_at(&self, binary: &'a [u8], at: u32) -> Record<'a> {
        // A row of a checked TOC leads to a record; one of other bytes to one of nothing.
        self.read_record(&mut self.reader(at), binary).unwrap_or(Record {
            binary,
            arch: &[],
            kind: None,
            ordinal: u32::MAX,
            original_size: None,
            metadata: None,
            frame_offset: None,
            frame_size: None,
            sha256: None,
            at: self.base,
        })
    }

    /// Passes over an entry's map; `None` cannot happen to a checked TOC.
    #[inline]
    pub(crate) fn pass_entry(&self, reader: &mut Reader<'a>) -> Option<()> {
        read_entry(reader, u8::MAX, false).ok().map(|_| ())
    }

    /// One architecture and its entry; `None` cannot happen to a checked TOC.
    #[inline]
    pub(crate) fn read_record(
        &self,
        reader: &mut Reader<'a>,
        binary: &'a [u8],
    ) -> Option<Record<'a>> {
        let arch = reader.str().ok()?;
        let at = reader.offset().saturating_sub(arch.len() as u64);
        let values = read_entry(reader, u8::MAX, false).ok()?;
        let Values { kind, ordinal, original_size, metadata, .. } = values;
        let Values { frame_offset, frame_size, sha256, .. } = values;
        Some(Record {
            binary,
            arch,
            kind,
            ordinal,
            original_size,
            metadata,
            frame_offset,
            frame_size,
            sha256,
            at,
        })
    }

    fn optional(&self, span: Span) -> Option<&'a [u8]> {
        (span.start != 0).then(|| span.of(self.bytes))
    }

    #[inline]
    pub(crate) fn reader(&self, start: u32) -> Reader<'a> {
        Reader::starting_at(self.bytes, self.base, start as usize)
    }
}

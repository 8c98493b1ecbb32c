//! The one pass over a TOC that checks all of it and tells its rows as they come.
//!
//! The pass keeps no rows itself: it hands them to a [`Tables`], which may be `()`. Keys may
//! stand in any order, so what depends on two of them (the scheme and the entries, the entries
//! and the blobs) is checked when the pass is over.

use super::fields::{in_field, once, read_blob, read_entry, skip_at};
use super::rows::Span;
use super::toc::{Counts, Layout, Toc};
use super::{BinaryRow, Blob, EntryRow, Fault, Field, HEADER_LEN, Scheme, Strictness};
use crate::error::{Error, ErrorKind};
use crate::limits::{Cap, Limits};
use crate::msgpack::Reader;

/// Receives the rows of a TOC in the order in which they stand there.
pub trait Tables {
    /// Forgets every binary and entry: a second `toc` takes the first one's place.
    fn clear_entries(&mut self) {}
    /// Forgets every blob.
    fn clear_blobs(&mut self) {}
    /// About so many binaries, with an entry or more each, will follow.
    fn expect(&mut self, _binaries: usize) {}
    /// A binary; the entries that follow are its own.
    fn binary(&mut self, _row: BinaryRow) {}
    /// An entry of the last binary.
    fn entry(&mut self, _row: EntryRow) {}
    /// The next blob.
    fn blob(&mut self, _blob: Blob) {}
    /// All rows have been told.
    ///
    /// # Errors
    /// A fault that only all the rows together show, such as a duplicate; or
    /// [`Full`](crate::Full) when the rows did not fit.
    fn finish(&mut self, _toc: &Toc<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// Keeps nothing: the TOC is checked all the same, but for duplicate names.
impl Tables for () {}

/// What a TOC is judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'r> {
    /// Length of the whole file in bytes.
    pub(crate) total: u64,
    pub(crate) limits: &'r Limits,
    pub(crate) strictness: Strictness,
}

/// The binary and the architecture that the byte at absolute `offset` of a TOC, sound or not,
/// belongs to; the architecture may be empty. For messages: names are looked for only once
/// something is wrong.
pub(crate) fn place_of(bytes: &[u8], base: u64, offset: u64) -> Option<(&[u8], &[u8])> {
    let mut reader = Reader::new(bytes, base);
    for _ in 0..reader.map().ok()? {
        if reader.str().ok()? == b"toc" {
            return place_in(&mut reader, offset);
        }
        reader.skip(u8::MAX).ok()?;
    }
    None
}

fn place_in<'a>(reader: &mut Reader<'a>, offset: u64) -> Option<(&'a [u8], &'a [u8])> {
    if offset < reader.offset() {
        return None;
    }
    for _ in 0..reader.map().ok()? {
        let binary = reader.str().ok()?;
        if offset < reader.offset() {
            return Some((binary, &[]));
        }
        let Ok(arches) = reader.map() else { return Some((binary, &[])) };
        for _ in 0..arches {
            let Ok(arch) = reader.str() else { return Some((binary, &[])) };
            let sound = reader.skip(u8::MAX).is_ok();
            if !sound || offset < reader.offset() {
                return Some((binary, arch));
            }
        }
    }
    None
}

/// Checks the TOC in `bytes`, which begin at offset `base` of the file, and fills `tables`.
pub(crate) fn walk<'a, T: Tables>(
    bytes: &'a [u8],
    base: u64,
    rules: Rules<'_>,
    tables: &mut T,
) -> Result<Toc<'a>, Error> {
    let limit = rules.limits.toc_bytes.min(u64::from(u32::MAX));
    if bytes.len() as u64 > limit {
        let kind = ErrorKind::Limit { cap: Cap::TocBytes, value: bytes.len() as u64, limit };
        return Err(Error::new(kind, base));
    }
    let mut walk = Walk {
        reader: Reader::new(bytes, base),
        rules,
        tables,
        layout: Layout::default(),
        seen: 0,
        zstd_offset: 0,
        zstd_size: 0,
        unsized_at: None,
        highest: None,
        frames: None,
    };
    walk.top()?;
    walk.judge(base)?;
    let layout = walk.layout;
    let toc = Toc { bytes, base, total: rules.total, strictness: rules.strictness, layout };
    tables.finish(&toc)?;
    Ok(toc)
}

/// Checks `bytes` as the beginning of a TOC: what is wrong with it whatever follows.
pub(crate) fn begins(bytes: &[u8], base: u64, rules: Rules<'_>) -> Result<(), Error> {
    match walk(bytes, base, rules, &mut ()) {
        Err(error) if !may_go_on(error.kind) => Err(error),
        _ => Ok(()),
    }
}

/// A fault that more bytes may mend.
fn may_go_on(kind: ErrorKind) -> bool {
    use crate::msgpack::Fault::Count;
    matches!(
        kind,
        ErrorKind::Truncated { .. }
            | ErrorKind::Msgpack(Count { .. })
            | ErrorKind::Kpack(Fault::Value { fault: Count { .. }, .. })
    )
}

/// The fewest bytes of a binary with one entry: two empty names, two map heads, an ordinal.
const LEAST_BINARY: usize = 13;

/// Where an entry says that its frame is.
#[derive(Debug, Clone, Copy)]
struct Placed {
    ordinal: u32,
    start: u64,
    size: u32,
    /// Where the entry stands.
    at: u64,
}

impl Placed {
    fn end(self) -> u64 {
        self.start.saturating_add(u64::from(self.size))
    }
}

struct Walk<'a, 'w, T> {
    reader: Reader<'a>,
    rules: Rules<'w>,
    tables: &'w mut T,
    layout: Layout,
    /// One bit a [`Field`] of the top level.
    seen: u32,
    zstd_offset: u64,
    zstd_size: u64,
    /// Where the first entry without `original_size` stands.
    unsized_at: Option<u64>,
    /// The highest ordinal, and where its entry stands.
    highest: Option<(u32, u64)>,
    /// The frames that entries place first and last in the file.
    frames: Option<(Placed, Placed)>,
}

impl<T: Tables> Walk<'_, '_, T> {
    fn strict(&self) -> bool {
        self.rules.strictness == Strictness::Strict
    }

    fn top(&mut self) -> Result<(), Error> {
        let strict = self.strict();
        let pairs = self.reader.map()?;
        for _ in 0..pairs {
            let at = self.reader.offset();
            let Some(field) = top_field(self.reader.str()?) else {
                skip_at(&mut self.reader, self.rules.limits.msgpack_depth, 1)?;
                continue;
            };
            once(&mut self.seen, field, at, strict)?;
            self.value(field).map_err(|error| in_field(field, error))?;
        }
        Ok(())
    }

    fn value(&mut self, field: Field) -> Result<(), Error> {
        match field {
            Field::FormatVersion if !self.strict() => {
                skip_at(&mut self.reader, self.rules.limits.msgpack_depth, 1)?;
            }
            Field::FormatVersion => {
                let at = self.reader.offset();
                let found = self.reader.u64()?;
                if found != 1 {
                    return Err(kpack(Fault::FormatVersion { found }, at));
                }
            }
            Field::GroupName => self.layout.group = self.text()?,
            Field::GfxArchFamily => self.layout.family = self.text()?,
            Field::GfxArches => self.arches()?,
            Field::CompressionScheme => {
                let at = self.reader.offset();
                self.layout.scheme = match self.reader.str()? {
                    b"none" => Scheme::None,
                    b"zstd-per-kernel" => Scheme::ZstdPerKernel,
                    _ => return Err(kpack(Fault::Scheme, at)),
                };
            }
            Field::Toc => self.binaries()?,
            Field::Blobs => self.blobs()?,
            Field::ZstdOffset => self.zstd_offset = self.reader.u64()?,
            Field::ZstdSize => self.zstd_size = self.reader.u64()?,
            // The fields of entries and blobs are no fields of the top level.
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self) -> Result<Span, Error> {
        let text = self.reader.str()?;
        Ok(Span::ending(self.reader.position(), text))
    }

    /// Passes over a name, which is capped in length.
    #[inline]
    fn name(&mut self) -> Result<(), Error> {
        let at = self.reader.offset();
        let value = self.reader.str()?.len() as u64;
        let limit = u64::from(self.rules.limits.key_bytes);
        if value > limit {
            return Err(Error::new(ErrorKind::Limit { cap: Cap::KeyBytes, value, limit }, at));
        }
        Ok(())
    }

    /// Refuses a count of kernels beyond the cap, before any of them is read.
    fn kernels(&self, count: u64) -> Result<(), Error> {
        let limit = u64::from(self.rules.limits.kernels);
        if count > limit {
            let kind = ErrorKind::Limit { cap: Cap::Kernels, value: count, limit };
            return Err(Error::new(kind, self.reader.offset()));
        }
        Ok(())
    }

    fn arches(&mut self) -> Result<(), Error> {
        let count = self.reader.array()?;
        self.kernels(u64::from(count))?;
        self.layout.arches = self.reader.position() as u32;
        self.layout.counts.arches = count;
        for _ in 0..count {
            self.name()?;
        }
        Ok(())
    }

    fn binaries(&mut self) -> Result<(), Error> {
        self.tables.clear_entries();
        (self.unsized_at, self.highest, self.frames) = (None, None, None);
        let count = self.reader.map()?;
        self.kernels(u64::from(count))?;
        self.layout.toc = self.reader.position() as u32;
        self.layout.counts.binaries = count;
        self.layout.counts.entries = 0;
        // A hostile count must not reserve more than the bytes left can mean.
        self.tables.expect((count as usize).min(self.reader.rest().len() / LEAST_BINARY));
        for binary in 0..count {
            let at = self.reader.position() as u32;
            self.name()?;
            let entries = self.reader.map()?;
            let first = self.layout.counts.entries;
            self.kernels(u64::from(first) + u64::from(entries))?;
            self.layout.counts.entries += entries;
            self.tables.binary(BinaryRow::new(at, first));
            for _ in 0..entries {
                let at = self.reader.position() as u32;
                self.name()?;
                self.entry()?;
                self.tables.entry(EntryRow::new(at, binary));
            }
        }
        Ok(())
    }

    fn entry(&mut self) -> Result<(), Error> {
        let at = self.reader.offset();
        let depth = self.rules.limits.msgpack_depth;
        let strict = self.strict();
        let values = read_entry(&mut self.reader, depth, strict)?;
        if values.original_size.is_none() && self.unsized_at.is_none() {
            self.unsized_at = Some(at);
        }
        if self.highest.is_none_or(|(ordinal, _)| values.ordinal > ordinal) {
            self.highest = Some((values.ordinal, at));
        }
        if let Some(start) = values.frame_offset {
            let size = values.frame_size.unwrap_or(0);
            self.place(Placed { ordinal: values.ordinal, start, size, at });
        }
        Ok(())
    }

    fn place(&mut self, frame: Placed) {
        let (first, last) = self.frames.get_or_insert((frame, frame));
        if frame.start < first.start {
            *first = frame;
        }
        if frame.end() > last.end() {
            *last = frame;
        }
    }

    fn blobs(&mut self) -> Result<(), Error> {
        let strict = self.strict();
        self.tables.clear_blobs();
        let count = self.reader.array()?;
        self.kernels(u64::from(count))?;
        self.layout.blobs = self.reader.position() as u32;
        self.layout.counts.blobs = count;
        let depth = self.rules.limits.msgpack_depth;
        for ordinal in 0..count {
            let at = self.reader.offset();
            let blob = read_blob(&mut self.reader, depth, strict)?;
            if strict {
                check_blob(blob, ordinal, self.rules.total, at)?;
            }
            self.tables.blob(blob);
        }
        Ok(())
    }

    /// What takes more than one key to see.
    fn judge(&mut self, base: u64) -> Result<(), Error> {
        let require = |field: Field, seen: u32| match seen & (1 << field as u32) {
            0 => Err(kpack(Fault::Missing(field), base)),
            _ => Ok(()),
        };
        if self.strict() {
            require(Field::FormatVersion, self.seen)?;
        }
        require(Field::GfxArches, self.seen)?;
        require(Field::Toc, self.seen)?;
        match self.layout.scheme {
            Scheme::None => {
                require(Field::Blobs, self.seen)?;
                let count = self.layout.counts.blobs;
                match self.highest {
                    Some((ordinal, at)) if ordinal >= count && self.strict() => {
                        Err(kpack(Fault::Ordinal { ordinal, count }, at))
                    }
                    _ => Ok(()),
                }
            }
            Scheme::ZstdPerKernel => {
                require(Field::ZstdOffset, self.seen)?;
                require(Field::ZstdSize, self.seen)?;
                let (start, size, total) = (self.zstd_offset, self.zstd_size, self.rules.total);
                if !within(start, size, total) {
                    return Err(kpack(Fault::ZstdRange { start, size, total }, base));
                }
                if size < 4 {
                    return Err(kpack(Fault::ZstdSize { size }, base));
                }
                self.layout.zstd = Some((start, size));
                if let Some(at) = self.unsized_at {
                    return Err(kpack(Fault::Missing(Field::OriginalSize), at));
                }
                if self.strict() { self.judge_frames(start, start + size) } else { Ok(()) }
            }
        }
    }

    /// Every frame that an entry places lies in the blob from `start` to `end`.
    fn judge_frames(&self, start: u64, end: u64) -> Result<(), Error> {
        let Some((first, last)) = self.frames else { return Ok(()) };
        let early = (first.start < start.saturating_add(FIRST_FRAME)).then_some(first);
        let late = (last.end() > end).then_some(last);
        match early.into_iter().chain(late).min_by_key(|frame| frame.at) {
            Some(Placed { ordinal, start, size, at }) => {
                Err(kpack(Fault::FrameRange { ordinal, start, size }, at))
            }
            None => Ok(()),
        }
    }
}

/// The counts of a TOC's rows before any is stored.
impl Counts {
    pub(crate) const ZERO: Counts = Counts { arches: 0, binaries: 0, entries: 0, blobs: 0 };
}

#[cold]
pub(crate) fn kpack(fault: Fault, offset: u64) -> Error {
    Error::new(ErrorKind::Kpack(fault), offset)
}

fn top_field(key: &[u8]) -> Option<Field> {
    Some(match key {
        b"format_version" => Field::FormatVersion,
        b"group_name" => Field::GroupName,
        b"gfx_arch_family" => Field::GfxArchFamily,
        b"gfx_arches" => Field::GfxArches,
        b"toc" => Field::Toc,
        b"compression_scheme" => Field::CompressionScheme,
        b"blobs" => Field::Blobs,
        b"zstd_offset" => Field::ZstdOffset,
        b"zstd_size" => Field::ZstdSize,
        _ => return None,
    })
}

/// `start..start + size` lies behind the header's fields and inside the file.
fn within(start: u64, size: u64, total: u64) -> bool {
    start >= HEADER_LEN as u64 && start.checked_add(size).is_some_and(|end| end <= total)
}

/// Refuses a blob outside the file's data; `at` is where it is described.
pub(crate) fn check_blob(blob: Blob, ordinal: u32, total: u64, at: u64) -> Result<(), Error> {
    let Blob { offset: start, size } = blob;
    if within(start, size, total) {
        return Ok(());
    }
    Err(kpack(Fault::BlobRange { ordinal, start, size, total }, at))
}

/// Bytes of a zstd blob before its first frame: the count and that frame's length word.
pub(crate) const FIRST_FRAME: u64 = 8;

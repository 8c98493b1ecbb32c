//! What the writer writes, the reader reads: any set of kernels, in any way of writing.

use core::cell::RefCell;
use std::collections::BTreeMap;

use rocload_core::kpack::{
    Entry, Fault, Kernel, OwnedToc, Record, Repeated, Scheme, Strictness, WriteOptions, Writer,
};
use rocload_core::msgpack::Reader;
use rocload_core::zstd::{Decompress, FrameSpan};
use rocload_core::{ErrorKind, Limits};
use zstd::bulk::Compressor;

use super::Name;
use crate::{Broken, Verdict, frames, require, same};

/// A kernel to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Its key.
    pub binary: Name,
    /// Its architecture.
    pub arch: Name,
    /// Its type, if it has one.
    pub kind: Option<Name>,
    /// Its metadata, which must be a MessagePack map to be taken.
    pub metadata: Option<Vec<u8>>,
    /// Its checksum, which nobody computes here.
    pub sha256: Option<[u8; 32]>,
    /// The code object; not looked at where it is the one of another kernel.
    pub content: Vec<u8>,
    /// The stored kernel that it is, of those before it.
    pub link: Option<u32>,
}

/// An archive to be written.
#[derive(Debug, Clone)]
pub struct Writing {
    /// `group_name`, and `gfx_arch_family`.
    pub group: Name,
    /// Architectures that are listed first.
    pub arches: Vec<Name>,
    /// The kernels in their order.
    pub kernels: Vec<Written>,
    /// How they are written.
    pub options: WriteOptions,
    /// The sizes are announced, so that all is written in order.
    pub announced: bool,
}

/// What must be read again of a kernel that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expected {
    ordinal: u32,
    kind: Option<Name>,
    metadata: Option<Vec<u8>>,
    sha256: Option<[u8; 32]>,
    content: Vec<u8>,
}

/// The key of a kernel in the table: binary, then architecture.
type Key = (Name, Name);

/// Writes the kernels and reads them back:
///
/// - a kernel is refused exactly when it repeats a name, is linked to nothing or has metadata that
///   is none, and leaves no trace;
/// - every put begins where the one before ended, but for the words at the front;
/// - strict reading finds every kernel, its names, metadata, checksum, place and content, and
///   nothing else; architectures stand in their order;
/// - what was read, written once more, gives the same bytes.
///
/// Returns the archive.
///
/// # Errors
/// [`Broken`].
pub fn survives(writing: &Writing, decoder: &mut dyn Decompress) -> Result<Vec<u8>, Broken> {
    let (archive, expected) = write(writing, &stored(writing))?;
    let limits = writing.options.limits;
    let toc = OwnedToc::read(&archive, &limits, Strictness::Strict)
        .map_err(|error| broken("what was written can be read", &error))?;
    same("all kernels are there", &toc.len(), &expected.len())?;
    same("the scheme is kept", &toc.toc().scheme(), &writing.options.scheme)?;
    let group = Some(&writing.group[..]);
    same("the group is kept", &toc.toc().group_name(), &group)?;
    same("the family is kept", &toc.toc().gfx_arch_family(), &group)?;
    same("architectures are in order", &toc.arches(), &arches(writing))?;
    let spans = match toc.toc().zstd_blob() {
        Some((offset, size)) => frames::spans(&archive, offset, size, &limits),
        None => Vec::new(),
    };
    for ((binary, arch), wanted) in &expected {
        let entry = toc.find(binary, arch).map_err(|error| broken("a kernel is sound", &error))?;
        let Some(entry) = entry else {
            return Err(broken("a kernel is found by its names", &(binary, arch)));
        };
        kernel(writing, &archive, &entry, wanted, &spans, decoder)?;
    }
    again(writing, &archive, &toc, &spans)?;
    Ok(archive)
}

fn broken(law: &'static str, found: &impl core::fmt::Debug) -> Broken {
    Broken { law, found: format!("{found:?}") }
}

/// The kernels as the scheme stores them.
fn stored(writing: &Writing) -> Vec<Vec<u8>> {
    thread_local! {
        static COMPRESSOR: RefCell<Compressor<'static>> = RefCell::new({
            let mut compressor = Compressor::new(1).expect("level 1 exists");
            compressor.include_checksum(true).expect("a known parameter");
            compressor
        });
    }
    let contents = writing.kernels.iter().map(|kernel| &kernel.content);
    if writing.options.scheme == Scheme::None {
        return contents.cloned().collect();
    }
    COMPRESSOR.with_borrow_mut(|compressor| {
        contents.map(|content| compressor.compress(content).expect("the buffer fits")).collect()
    })
}

/// The key as it is written.
fn key(writing: &Writing, kernel: &Written) -> Key {
    let slash = |&byte: &u8| match byte {
        b'\\' if !writing.options.verbatim => b'/',
        byte => byte,
    };
    (kernel.binary.iter().map(slash).collect(), kernel.arch.clone())
}

/// One map and nothing else, nested 16 deep at most with the 4 containers around it. What the
/// reader takes for one is another law's.
fn is_map(metadata: &[u8]) -> bool {
    let mut reader = Reader::new(metadata, 0);
    let map = Reader::new(metadata, 0).map().is_ok();
    map && reader.skip(12).is_ok() && reader.rest().is_empty()
}

/// Which kernels are taken: their places in the list, and what must be read of them.
fn taken(writing: &Writing) -> (BTreeMap<Key, Expected>, Vec<Option<ErrorKind>>) {
    let mut expected: BTreeMap<Key, Expected> = BTreeMap::new();
    let mut contents: Vec<&[u8]> = Vec::new();
    let mut verdicts = Vec::new();
    for kernel in &writing.kernels {
        let count = contents.len() as u32;
        let content = match kernel.link {
            None => Some(&kernel.content[..]),
            Some(ordinal) => contents.get(ordinal as usize).copied(),
        };
        let key = key(writing, kernel);
        let fault = if content.is_none() {
            Some(Fault::Ordinal { ordinal: kernel.link.unwrap_or_default(), count })
        } else if kernel.metadata.as_ref().is_some_and(|metadata| !is_map(metadata)) {
            Some(Fault::Metadata)
        } else if expected.contains_key(&key) {
            Some(Fault::Duplicate(Repeated::Arch))
        } else {
            None
        };
        verdicts.push(fault.map(ErrorKind::Kpack));
        if let (None, Some(content)) = (fault, content) {
            if kernel.link.is_none() {
                contents.push(content);
            }
            let expect = Expected {
                ordinal: kernel.link.unwrap_or(count),
                kind: kernel.kind.clone(),
                metadata: kernel.metadata.clone(),
                sha256: kernel.sha256,
                content: content.to_vec(),
            };
            expected.insert(key, expect);
        }
    }
    (expected, verdicts)
}

fn write(
    writing: &Writing,
    frames: &[Vec<u8>],
) -> Result<(Vec<u8>, BTreeMap<Key, Expected>), Broken> {
    let (expected, verdicts) = taken(writing);
    let failed = |error| broken("nothing else is refused", &error);
    let mut writer =
        Writer::new(&writing.group, &writing.group, &writing.options).map_err(failed)?;
    for arch in &writing.arches {
        writer.arch(arch).map_err(failed)?;
    }
    if writing.announced {
        let stored = writing.kernels.iter().zip(frames).zip(&verdicts);
        let sizes = stored
            .filter(|((kernel, _), verdict)| kernel.link.is_none() && verdict.is_none())
            .map(|((_, frame), _)| frame.len() as u64);
        writer.announce(sizes).map_err(failed)?;
    }
    let mut archive = Vec::new();
    writer.header().write_to(&mut archive);
    let mut contents: Vec<&[u8]> = Vec::new();
    let mut ordered = true;
    for ((kernel, frame), verdict) in writing.kernels.iter().zip(frames).zip(&verdicts) {
        let linked = kernel.link.and_then(|ordinal| contents.get(ordinal as usize).copied());
        let content = linked.unwrap_or(&kernel.content);
        let mut new = Kernel::new(&kernel.binary, &kernel.arch, content.len() as u64);
        new.kind = kernel.kind.as_deref();
        new.metadata = kernel.metadata.as_deref();
        new.sha256 = kernel.sha256;
        let before = (writer.position(), writer.stored());
        let done = match kernel.link {
            Some(ordinal) => writer.link(&new, ordinal),
            None => writer.add(&new, frame).map(|puts| {
                for put in puts {
                    ordered &= put.offset == archive.len() as u64;
                    put.write_to(&mut archive);
                }
            }),
        };
        let kind = done.err().map(|error| error.kind);
        // An announced end is overrun by what would be refused for another reason.
        let overrun = matches!(kind, Some(ErrorKind::Kpack(Fault::Announced { .. })));
        if !(overrun && writing.announced && verdict.is_some()) {
            same("a kernel is taken or refused for what it is", &kind, verdict)?;
        }
        match kind {
            Some(_) => {
                let after = (writer.position(), writer.stored());
                same("a refused kernel leaves no trace", &after, &before)?;
            }
            None if kernel.link.is_none() => contents.push(&kernel.content),
            None => {}
        }
        let at = archive.len() as u64;
        require(ordered && at == writer.position(), "puts follow one another", || {
            format!("{at} against {}", writer.position())
        })?;
    }
    let finished = writer.finish().map_err(failed)?;
    let puts: Vec<_> = finished.puts().collect();
    same("the table follows the kernels", &puts[0].offset, &(archive.len() as u64))?;
    require(!writing.announced || puts.len() == 1, "what is announced is at the front", || {
        format!("{puts:?}")
    })?;
    puts.iter().for_each(|put| put.write_to(&mut archive));
    same("the length is told", &finished.total(), &(archive.len() as u64))?;
    Ok((archive, expected))
}

/// `gfx_arches` as it must be: those listed first, then those of kernels that were taken.
fn arches(writing: &Writing) -> Vec<&[u8]> {
    let (_, verdicts) = taken(writing);
    let kernels = writing.kernels.iter().zip(&verdicts);
    let taken = kernels.filter(|(_, verdict)| verdict.is_none()).map(|(kernel, _)| &kernel.arch);
    let mut arches: Vec<&[u8]> = Vec::new();
    for arch in writing.arches.iter().chain(taken) {
        if !arches.contains(&&arch[..]) {
            arches.push(arch);
        }
    }
    arches
}

fn kernel(
    writing: &Writing,
    archive: &[u8],
    entry: &Entry<'_>,
    wanted: &Expected,
    spans: &[FrameSpan],
    decoder: &mut dyn Decompress,
) -> Verdict {
    let found = Expected {
        ordinal: entry.ordinal,
        kind: entry.kind.map(<[u8]>::to_vec),
        metadata: entry.metadata.map(<[u8]>::to_vec),
        sha256: entry.sha256.copied(),
        content: content(archive, entry, spans, decoder)?,
    };
    same("a kernel is what it was", &found, wanted)?;
    same("its size is told", &entry.size, &(wanted.content.len() as u64))?;
    match writing.options.scheme {
        Scheme::None => {
            let align = u64::from(writing.options.align);
            let off = entry.offset.unwrap_or(1) % align;
            same("a kernel is aligned", &off, &0)
        }
        _ => {
            let span = spans[entry.ordinal as usize];
            let place = writing.options.index.then_some((span.offset, span.len));
            let told = entry.frame_offset.zip(entry.frame_size);
            same("an entry tells its frame's place if it is to", &told, &place)
        }
    }
}

fn content(
    archive: &[u8],
    entry: &Entry<'_>,
    spans: &[FrameSpan],
    decoder: &mut dyn Decompress,
) -> Result<Vec<u8>, Broken> {
    let range = |offset: u64, len: u64| archive.get(offset as usize..(offset + len) as usize);
    match (entry.scheme, entry.offset.zip(entry.stored_size), spans.get(entry.ordinal as usize)) {
        (Scheme::None, Some((offset, len)), _) => range(offset, len).map(<[u8]>::to_vec),
        (_, _, Some(span)) => {
            let mut kernel = vec![0; entry.size as usize];
            let frame = range(span.offset, u64::from(span.len)).unwrap_or_default();
            decoder.decode(frame, &mut kernel).ok().map(|()| kernel)
        }
        _ => None,
    }
    .ok_or_else(|| broken("a kernel's bytes are there", entry))
}

/// Writes what was read once more, in the order of the ordinals and of the table.
fn again(writing: &Writing, archive: &[u8], toc: &OwnedToc, spans: &[FrameSpan]) -> Verdict {
    let failed = |error| broken("what was read can be written", &error);
    let mut options = writing.options;
    options.verbatim = true;
    let mut writer = Writer::new(&writing.group, &writing.group, &options).map_err(failed)?;
    for arch in toc.arches() {
        writer.arch(arch).map_err(failed)?;
    }
    let mut copy = Vec::new();
    writer.header().write_to(&mut copy);
    let mut records: Vec<Record<'_>> = toc.toc().entries().collect();
    // A link may stand before the kernel that it is a link to, under the binary of both.
    records.sort_by_key(|record| (record.ordinal, record.at));
    for record in &records {
        let entry = toc.toc().locate(record).map_err(failed)?;
        let place = match spans.get(record.ordinal as usize) {
            Some(span) => (span.offset, u64::from(span.len)),
            None => entry.offset.zip(entry.stored_size).unwrap_or_default(),
        };
        let mut kernel = Kernel::new(record.binary, record.arch, entry.size);
        (kernel.kind, kernel.metadata) = (record.kind, record.metadata);
        kernel.sha256 = record.sha256.copied();
        if record.ordinal < writer.stored() {
            writer.link(&kernel, record.ordinal).map_err(failed)?;
            continue;
        }
        let bytes = &archive[place.0 as usize..(place.0 + place.1) as usize];
        for put in writer.add(&kernel, bytes).map_err(failed)? {
            put.write_to(&mut copy);
        }
    }
    for put in writer.finish().map_err(failed)?.puts() {
        put.write_to(&mut copy);
    }
    // With links the table's order may be another one: they come with their kernel now.
    if writing.kernels.iter().any(|kernel| kernel.link.is_some()) {
        let read = OwnedToc::read(&copy, &Limits::default(), Strictness::Strict).map_err(failed)?;
        return same("a copy has as many kernels", &read.len(), &toc.len());
    }
    require(copy == archive, "written once more it is the same", || {
        format!("{} against {}", copy.escape_ascii(), archive.escape_ascii())
    })
}

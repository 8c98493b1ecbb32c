//! Containers of code objects: the walk through a region and the sections of a binary, in any
//! chunking, against naive readers of whole slices.

use elf::ElfBytes;
use elf::endian::{AnyEndian, EndianParse as _};
use rocload_core::Limits;
use rocload_core::bundle::{
    Bundles, Ccob, Format, Method, Part, Section, SectionKind, Sections, ccob,
};
use rocload_core::zstd::Decompress;

use crate::split::{self, Ending, Rules};
use crate::{Broken, Verdict, require, same};

/// A part that is kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// A bundle: where, and how many entries.
    Bundle(u64, u64),
    /// An entry: its id, where its content is and how long.
    Entry(Vec<u8>, u64, u64),
    /// A compressed bundle.
    Ccob(Ccob),
}

fn keep(part: Part<'_>) -> Kept {
    match part {
        Part::Bundle { offset, entries } => Kept::Bundle(offset, entries),
        Part::Entry(entry) => Kept::Entry(entry.id.to_vec(), entry.offset, entry.size),
        Part::Ccob(ccob) => Kept::Ccob(ccob),
    }
}

/// Bytes as a region, alone and within others: the parts are the naive reader's, and what is
/// compressed in it is judged before it is decompressed, then walked in its turn. Returns the parts.
///
/// # Errors
/// [`Broken`].
pub fn walks_as_the_naive_one(
    bytes: &[u8],
    limits: &Limits,
    decoder: &mut dyn Decompress,
    seed: u64,
) -> Result<Vec<Kept>, Broken> {
    let rules = Rules::new();
    let make = || Bundles::new(0, bytes.len() as u64, limits);
    let walked = split::sample(make, keep, bytes, &rules, seed)?;
    let (parts, sound) = naive(bytes, limits);
    same("the parts are the naive reader's", &walked.items, &parts)?;
    same("so is the verdict", &(walked.ending == Ending::Complete), &sound)?;
    // A region that is all there leaves nothing to wait for.
    require(!matches!(walked.ending, Ending::Pending(_)), "a region is judged whole", || {
        format!("{:?}", walked.ending)
    })?;

    let around = [b"before", bytes, b"\xffbehind"].concat();
    let make = || Bundles::new(6, bytes.len() as u64, limits);
    let within = split::sample(make, keep, &around, &rules, seed)?;
    let moved: Vec<Kept> = parts.iter().map(|part| moved(part, 6)).collect();
    same("what stands around a region changes nothing", &within.items, &moved)?;
    same("nor the verdict", &(within.ending == Ending::Complete), &sound)?;

    for part in &parts {
        let Kept::Ccob(ccob) = part else { continue };
        let body = &bytes[ccob.body() as usize..][..ccob.body_size() as usize];
        if let Some(inner) = expanded(ccob, body, limits, decoder)? {
            let make = || Bundles::new(0, inner.len() as u64, limits);
            let walked = split::sample(make, keep, &inner, &rules, seed)?;
            same("so are the parts inside", &walked.items, &naive(&inner, limits).0)?;
        }
    }
    Ok(parts)
}

fn moved(part: &Kept, by: u64) -> Kept {
    match part.clone() {
        Kept::Bundle(offset, entries) => Kept::Bundle(offset + by, entries),
        Kept::Entry(id, offset, size) => Kept::Entry(id, offset + by, size),
        Kept::Ccob(ccob) => Kept::Ccob(Ccob { offset: ccob.offset + by, ..ccob }),
    }
}

/// What a compressed bundle holds, if it can be had within the limits.
fn expanded(
    it: &Ccob,
    body: &[u8],
    limits: &Limits,
    decoder: &mut dyn Decompress,
) -> Result<Option<Vec<u8>>, Broken> {
    if ccob::check(it, body, limits).is_err() {
        return Ok(None);
    }
    let fits = it.uncompressed <= limits.kernel_bytes;
    require(fits, "nothing over the limit passes the check", || format!("{it:?}"))?;
    require(!matches!(it.method, Method::Other(_)), "nor an unknown method", || format!("{it:?}"))?;
    let mut inner = vec![0; it.uncompressed as usize];
    let exact = ccob::expand(it, body, decoder, &mut inner).is_ok();
    let mut longer = vec![0; inner.len() + 1];
    let refused = ccob::expand(it, body, decoder, &mut longer).is_err();
    require(refused, "only the exact room will do", || format!("{it:?}"))?;
    Ok(exact.then_some(inner))
}

/// The parts of a region, and whether it is sound to its end.
fn naive(bytes: &[u8], limits: &Limits) -> (Vec<Kept>, bool) {
    let mut parts = Vec::new();
    let mut at = 0;
    loop {
        while bytes.get(at) == Some(&0) {
            at += 1;
        }
        if at == bytes.len() {
            return (parts, true);
        }
        let next = match &bytes[at..] {
            rest if rest.starts_with(b"CCOB") => naive_ccob(rest, at, &mut parts),
            rest if rest.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") => {
                naive_bundle(rest, at, limits, &mut parts)
            }
            _ => None,
        };
        match next {
            Some(len) => at += len,
            None => return (parts, false),
        }
    }
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

fn naive_ccob(rest: &[u8], at: usize, parts: &mut Vec<Kept>) -> Option<usize> {
    let (version, method) = (number(rest, 4, 2)? as u16, number(rest, 6, 2)? as u16);
    let width = match version {
        1 => 0,
        2 => 4,
        3 => 8,
        _ => return None,
    };
    let total = if width == 0 { rest.len() as u64 } else { number(rest, 8, width)? };
    let uncompressed = number(rest, 8 + width, width.max(4))?;
    let hash = number(rest, 8 + width + width.max(4), 8)?;
    let header = 8 + width + width.max(4) + 8;
    if total < header as u64 || total > rest.len() as u64 {
        return None;
    }
    let method = match method {
        0 => Method::Zlib,
        1 => Method::Zstd,
        other => Method::Other(other),
    };
    let (offset, header) = (at as u64, header as u8);
    parts.push(Kept::Ccob(Ccob { offset, version, method, header, total, uncompressed, hash }));
    Some(total as usize)
}

fn naive_bundle(rest: &[u8], at: usize, limits: &Limits, parts: &mut Vec<Kept>) -> Option<usize> {
    let count = number(rest, 24, 8)?;
    if count > (rest.len() as u64 - 32) / 24 {
        return None;
    }
    parts.push(Kept::Bundle(at as u64, count));
    let (mut head, mut reach) = (32, 32);
    for index in 0..count {
        let [start, size, len] =
            [number(rest, head, 8)?, number(rest, head + 8, 8)?, number(rest, head + 16, 8)?];
        let end = start.checked_add(size).filter(|&end| end <= rest.len() as u64)?;
        let behind = rest.len() as u64 - head as u64 - 24 * (count - index);
        if len > behind || len > u64::from(limits.key_bytes) {
            return None;
        }
        let id = rest[head + 24..][..len as usize].to_vec();
        parts.push(Kept::Entry(id, at as u64 + start, size));
        head += 24 + len as usize;
        reach = reach.max(end as usize);
    }
    Some(reach.max(head))
}

/// Bytes as a binary: the sections are found in any chunking, lie within the file, and are those
/// that the crate `elf` finds in a file that it takes.
///
/// # Errors
/// [`Broken`].
pub fn sections_agree(bytes: &[u8], seed: u64) -> Verdict {
    let total = bytes.len() as u64;
    let mut rules = Rules::new();
    // A section and its name are read elsewhere than the last ones.
    rules.steps_per_byte = 4;
    let walked = split::sample(|| Sections::new(total), |section| section, bytes, &rules, seed)?;
    for section in &walked.items {
        let end = section.offset.checked_add(section.size);
        let within = section.nobits || end.is_some_and(|end| end <= total);
        require(within, "a section lies within the file", || format!("{section:?}"))?;
    }
    let mut machine = Sections::new(total);
    split::run(&mut machine, &|section| section, bytes, &rules, split::Feeding::Whole)?;
    if walked.ending != Ending::Complete || !matches!(machine.format(), Format::Elf { .. }) {
        return Ok(());
    }
    let Some(twin) = naive_sections(bytes) else { return Ok(()) };
    same("the sections are those of the crate elf", &walked.items, &twin)
}

fn naive_sections(bytes: &[u8]) -> Option<Vec<Section>> {
    let file = ElfBytes::<AnyEndian>::minimal_parse(bytes).ok()?;
    let headers = file.section_headers()?;
    let zero = headers.get(0).ok()?;
    let names = match file.ehdr.e_shstrndx {
        0xffff => zero.sh_link,
        names => names.into(),
    };
    if names == 0 || names as usize >= headers.len() {
        return Some(Vec::new());
    }
    let names = headers.get(names as usize).ok()?;
    let names = bytes.get(names.sh_offset as usize..)?.get(..names.sh_size as usize)?;
    let wide = file.ehdr.class == elf::file::Class::ELF64 && file.ehdr.endianness.is_little();
    let mut sections = Vec::new();
    for header in headers.iter().skip(1) {
        let name = names.get(header.sh_name as usize..).unwrap_or(&[]);
        let name = name.split(|&byte| byte == 0).next().unwrap_or(&[]);
        let kind = match name {
            _ if header.sh_type == elf::abi::SHT_RELA && wide => SectionKind::Relocations,
            _ if header.sh_type == elf::abi::SHT_RELA => continue,
            b".hip_fatbin" | b".hip_fat" => SectionKind::Fatbin,
            b".hipFatBinSegment" | b".hipFatB" => SectionKind::Wrappers,
            b".rocm_kpack_ref" | b".kpackrf" => SectionKind::Reference,
            _ => continue,
        };
        let (offset, size, address) = (header.sh_offset, header.sh_size, header.sh_addr);
        let nobits = header.sh_type == elf::abi::SHT_NOBITS;
        sections.push(Section { kind, offset, size, address, nobits });
    }
    Some(sections)
}

//! Containers, sound and broken, with the places of their faults.

use alloc::vec;
use alloc::vec::Vec;

use rocload_fixtures::fat::{self, NOBITS, RELA};
use rocload_fixtures::object::{self, bundle};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::limits::{Cap, Limits};
use crate::need::{End, Machine, Need, visit};
use crate::zstd::{Decompress, Workspace};

/// What a machine gives for bytes from offset 0 on, as texts, and how it ends.
fn driven<M: Machine>(
    machine: &mut M,
    bytes: &[u8],
    mut see: impl FnMut(<M::Kind as crate::ItemKind>::Item<'_>),
) -> Result<End, Error> {
    while let Need::At { offset, .. } = machine.need() {
        let Some(input) = bytes.get(offset as usize..).filter(|input| !input.is_empty()) else {
            break;
        };
        if visit(machine, offset, input, &mut see)? == 0 {
            break;
        }
    }
    machine.end()
}

/// Ids and contents of the entries of a region; its compressed bundles.
type Walked = (Vec<(Vec<u8>, Vec<u8>)>, Vec<Ccob>);

fn walk(bytes: &[u8]) -> Result<Walked, Error> {
    let mut machine = Bundles::new(0, bytes.len() as u64, &Limits::default());
    let (mut entries, mut ccobs) = (Vec::new(), Vec::new());
    let end = driven(&mut machine, bytes, |part| match part {
        Part::Bundle { .. } => {}
        Part::Entry(entry) => {
            let content = &bytes[entry.offset as usize..][..entry.size as usize];
            entries.push((entry.id.to_vec(), content.to_vec()));
        }
        Part::Ccob(ccob) => ccobs.push(ccob),
    })?;
    assert_eq!(end, End::Complete);
    Ok((entries, ccobs))
}

const IDS: [(&str, &[u8]); 2] =
    [("host-x86_64-unknown-linux--", b""), ("hipv4-amdgcn-amd-amdhsa--gfx1030", b"one object")];

fn entries() -> Vec<(Vec<u8>, Vec<u8>)> {
    IDS.iter().map(|(id, content)| (id.as_bytes().to_vec(), content.to_vec())).collect()
}

#[test]
fn bundles_stand_back_to_back_with_zeros_between() {
    let one = bundle(&IDS, 64);
    let twice = [&one[..], &[0; 77], &one, &[0; 3]].concat();
    let (found, ccobs) = walk(&twice).unwrap();
    assert_eq!(found, [entries(), entries()].concat());
    assert!(ccobs.is_empty());
    assert_eq!(walk(b"").unwrap().0.len(), 0);
    assert_eq!(walk(&[0; 100]).unwrap().0.len(), 0);
    assert_eq!(walk(&bundle(&[], 1)).unwrap().0.len(), 0);
}

#[test]
fn faults_have_their_places() {
    let whole = bundle(&IDS, 1);
    let fault = |bytes: &[u8]| walk(bytes).unwrap_err();
    let at = |fault, offset| Error::new(ErrorKind::Bundle(fault), offset);
    let with = |at: usize, value: u64| {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let len = whole.len() as u64;
    let count = Fault::EntryCount { count: 1 << 40, room: (len - 32) / 24 };
    assert_eq!(fault(&with(24, 1 << 40)), at(count, 28 - 24));
    let range = |start, size| Fault::EntryRange { start, size, left: len };
    assert_eq!(fault(&with(32, u64::MAX)), at(range(u64::MAX, 0), 32));
    assert_eq!(fault(&with(40, len)), at(range(len - 10, len), 32));
    let id = Fault::EntryId { len: len - 79, left: len - 80 };
    assert_eq!(fault(&with(48, len - 79)), at(id, 32));
    assert_eq!(fault(b"\0\0nothing"), at(Fault::NoBundle { found: *b"noth" }, 2));
    assert_eq!(fault(b"\0ab"), at(Fault::NoBundle { found: *b"ab\0\0" }, 1));
    let trailing = [&whole[..], b"x"].concat();
    assert_eq!(fault(&trailing), at(Fault::NoBundle { found: *b"x\0\0\0" }, len));
    let long = "i".repeat(5000);
    let over = ErrorKind::Limit { cap: Cap::KeyBytes, value: 5000, limit: 4096 };
    assert_eq!(fault(&bundle(&[(&long, b"")], 1)), Error::new(over, 32));
    for cut in 1..whole.len() {
        assert!(walk(&whole[..cut]).is_err(), "cut at {cut}");
    }
}

fn expanded(ccob: &Ccob, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let body = &bytes[ccob.body() as usize..][..ccob.body_size() as usize];
    ccob::check(ccob, body, &Limits::default())?;
    let mut inner = vec![0; ccob.uncompressed as usize];
    ccob::expand(ccob, body, &mut Workspace::<0>::new() as &mut dyn Decompress, &mut inner)?;
    Ok(inner)
}

/// A header of version 2 around a compressed body.
fn ccob_of(method: u16, uncompressed: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"CCOB\x02\0".to_vec();
    bytes.extend_from_slice(&method.to_le_bytes());
    bytes.extend_from_slice(&(24 + body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&uncompressed.to_le_bytes());
    bytes.extend_from_slice(&[0x5a; 8]);
    bytes.extend_from_slice(body);
    bytes
}

/// "code", stored in a zlib stream.
const ZLIB: &[u8] = b"\x78\x01\x01\x04\x00\xfb\xffcode\x04\x0a\x01\x9c";

#[test]
fn compressed_bundles_follow_each_other() {
    let plain = bundle(&IDS, 64);
    let two = object::ccob(object::Ccob::V2, &plain);
    let three = object::ccob(object::Ccob::V3, &plain);
    let zlib = ccob_of(0, 4, ZLIB);
    let mut one = two.clone();
    one.splice(4..12, *b"\x01\0\x01\0");
    let all = [&two[..], &three, &[0; 11], &zlib, &plain, &one].concat();
    let (found, ccobs) = walk(&all).unwrap();
    assert_eq!(found, entries());
    let versions: Vec<(u16, Method)> = ccobs.iter().map(|it| (it.version, it.method)).collect();
    let zstd = Method::Zstd;
    assert_eq!(versions, [(2, zstd), (3, zstd), (2, Method::Zlib), (1, zstd)]);
    for (ccob, wanted) in ccobs.iter().zip([&plain[..], &plain, b"code", &plain]) {
        assert_eq!(expanded(ccob, &all).unwrap(), wanted, "{ccob:?}");
    }
}

#[test]
fn compressed_bundles_are_judged_before_they_are_expanded() {
    let fault = |bytes: &[u8]| {
        let (_, ccobs) = walk(bytes)?;
        expanded(&ccobs[0], bytes)
    };
    let at = |fault, offset| Err(Error::new(ErrorKind::Bundle(fault), offset));
    assert_eq!(fault(&ccob_of(7, 4, ZLIB)), at(Fault::CcobMethod { found: 7 }, 0));
    assert_eq!(fault(&ccob_of(0, 3, ZLIB)), at(Fault::Zlib { expected: 3 }, 24));
    assert_eq!(fault(&ccob_of(0, 5, ZLIB)), at(Fault::Zlib { expected: 5 }, 24));
    let mut sum = ZLIB.to_vec();
    *sum.last_mut().unwrap() ^= 1;
    assert_eq!(fault(&ccob_of(0, 4, &sum)), at(Fault::Zlib { expected: 4 }, 24));
    let huge = fault(&ccob_of(0, u32::MAX, ZLIB)).unwrap_err().kind;
    assert!(matches!(huge, ErrorKind::Limit { cap: Cap::KernelBytes, .. }), "{huge}");
    let wide = fault(&ccob_of(0, 1 << 24, ZLIB)).unwrap_err().kind;
    assert!(matches!(wide, ErrorKind::Limit { cap: Cap::Expansion, .. }), "{wide}");
    assert!(matches!(
        fault(&ccob_of(1, 4, ZLIB)),
        Err(Error { kind: ErrorKind::Zstd(_), offset: 24 })
    ));

    let mut bad = ccob_of(0, 4, ZLIB);
    let total = bad.len() as u64;
    bad[8] += 1;
    assert_eq!(fault(&bad), at(Fault::CcobTotal { total: total + 1, left: total }, 8));
    bad[8] = 23;
    assert_eq!(fault(&bad), at(Fault::CcobTotal { total: 23, left: total }, 8));
    bad[4] = 4;
    assert_eq!(fault(&bad), at(Fault::CcobVersion { found: 4 }, 4));
}

fn sections(bytes: &[u8]) -> Result<(Format, Vec<Section>), Error> {
    let mut machine = Sections::new(bytes.len() as u64);
    let mut found = Vec::new();
    assert_eq!(driven(&mut machine, bytes, |section| found.push(section))?, End::Complete);
    Ok((machine.format(), found))
}

#[test]
fn sections_are_known_by_their_names() {
    let code = bundle(&IDS, 16);
    let wrappers = fat::wrapper(b"FPIH", 0x1000, 0);
    let relocations = fat::relative(0x2008, 0x1000);
    let of = |section: &fat::Section<'_>, file: &[u8], kind| {
        let offset = file.windows(section.content.len()).position(|it| it == section.content);
        let (offset, size) = (offset.unwrap() as u64, section.content.len() as u64);
        Section { kind, offset, size, address: section.address, nobits: false }
    };
    let made = [
        fat::Section::new(".text", 0x500, b"host code"),
        fat::Section::new(".hip_fatbin", 0x1000, &code),
        fat::Section::new(".hipFatBinSegment", 0x2000, &wrappers),
        fat::Section::new(".rocm_kpack_ref", 0x3000, b"metadata"),
        fat::Section::new(".rela.dyn", 0x4000, &relocations).of(RELA),
        fat::Section::new(".hip_fatbin_of_others", 0x5000, b"another name"),
    ];
    let file = fat::elf(&made);
    use SectionKind::{Fatbin, Reference, Relocations, Wrappers};
    let wanted = [
        of(&made[1], &file, Fatbin),
        of(&made[2], &file, Wrappers),
        of(&made[3], &file, Reference),
        of(&made[4], &file, Relocations),
    ];
    assert_eq!(sections(&file), Ok((Format::Elf { machine: 62 }, wanted.to_vec())));
    assert_eq!(wanted[0].offset_of(0x1005), Some(wanted[0].offset + 5));
    for outside in [0xfff, 0x1000 + wanted[0].size] {
        assert_eq!(wanted[0].offset_of(outside), None);
    }

    let short = [
        fat::Section::new(".hip_fat", 0x1000, &code),
        fat::Section::new(".hipFatB", 0x2000, &wrappers),
        fat::Section::new(".kpackrf", 0x3000, b"metadata"),
        fat::Section::new(".text", 0x500, b"host code"),
        fat::Section::new(".hipFatBinSegment", 0x4000, b"a long name"),
    ];
    for (base, format) in [(None, Format::Coff), (Some(0x1_8000_0000), Format::Pe)] {
        let file = fat::coff(&short, base);
        let kinds = [(0, Fatbin), (1, Wrappers), (2, Reference), (4, Wrappers)];
        let wanted: Vec<Section> = kinds
            .iter()
            .map(|&(at, kind)| {
                let section = of(&short[at], &file, kind);
                Section { address: section.address + base.unwrap_or(0), ..section }
            })
            .collect();
        assert_eq!(sections(&file), Ok((format, wanted)));
    }
}

#[test]
fn code_that_was_split_off_is_no_fault() {
    let gone = [fat::Section::new(".hip_fatbin", 0x1000, &[0; 1 << 20]).of(NOBITS)];
    for file in [fat::elf(&gone), fat::coff(&gone, Some(0x1000))] {
        let (_, found) = sections(&file).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].nobits);
        assert_eq!(found[0].offset_of(0x1000), None);
    }
}

#[test]
fn what_is_no_binary_has_no_sections() {
    let none = Ok((Format::Other, vec![]));
    for bytes in [&b""[..], b"x", b"text that is long enough", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"]
    {
        assert_eq!(sections(bytes), none);
    }
    // A program for DOS: nothing where the pointer leads.
    let mut dos = vec![0; 0x80];
    dos[..2].copy_from_slice(b"MZ");
    assert_eq!(sections(&dos), none);
    dos[0x3c..0x40].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(sections(&dos), none);
}

#[test]
fn headers_that_lie_are_refused() {
    let file = fat::elf(&[fat::Section::new(".hip_fatbin", 0, b"code")]);
    let with = |at: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        sections(&file).unwrap_err().kind
    };
    for (at, byte) in [(4, 3), (4, 0), (5, 9), (6, 2)] {
        assert_eq!(with(at, &[byte]), ErrorKind::Bundle(Fault::ElfHeader), "byte {at}");
    }
    for (at, bytes) in [(40, &u64::MAX.to_le_bytes()[..]), (58, &[65]), (60, &[0xff, 0xfe])] {
        let kind = with(at, bytes);
        let table = matches!(kind, ErrorKind::Bundle(Fault::SectionTable { .. }));
        assert!(table, "{kind} for {at}");
    }
    let table = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
    for section in [1, 2] {
        let kind = with(table + 64 * section + 32, &u64::MAX.to_le_bytes());
        assert!(matches!(kind, ErrorKind::Bundle(Fault::SectionRange { .. })), "{kind}");
    }
    // The counts may stand in section 0.
    let mut zero = file.clone();
    zero[60..64].copy_from_slice(&[0, 0, 0xff, 0xff]);
    zero[table + 32] = 3;
    zero[table + 40] = 2;
    assert_eq!(sections(&zero), sections(&file));
    zero[table + 39] = 0xff;
    let kind = sections(&zero).unwrap_err().kind;
    assert!(matches!(kind, ErrorKind::Bundle(Fault::SectionTable { .. })), "{kind}");
}

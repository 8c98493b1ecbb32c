//! The index against a naive twin: a map filled row by row, where the last duplicate wins.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::kpack::OwnedToc;
use crate::msgpack::Writer;

const BASE: u64 = 64;

type Binaries = Vec<(String, Vec<String>)>;

/// A TOC whose entries are numbered by `ordinal` as they stand.
fn toc(binaries: &Binaries) -> Vec<u8> {
    let names = binaries.iter().map(|(name, arches)| {
        name.len() + 16 + arches.iter().map(|arch| arch.len() + 48).sum::<usize>()
    });
    let mut out = vec![0; 256 + names.sum::<usize>()];
    let mut writer = Writer::new(&mut out);
    writer.map(6);
    writer.str("format_version");
    writer.uint(1);
    writer.str("gfx_arches");
    writer.array(0);
    writer.str("compression_scheme");
    writer.str("zstd-per-kernel");
    writer.str("zstd_offset");
    writer.uint(16);
    writer.str("zstd_size");
    writer.uint(BASE - 16);
    writer.str("toc");
    writer.map(binaries.len() as u32);
    let mut ordinal = 0;
    for (name, arches) in binaries {
        writer.str(name);
        writer.map(arches.len() as u32);
        for arch in arches {
            writer.str(arch);
            writer.map(3);
            writer.str("type");
            writer.str("hsaco");
            writer.str("ordinal");
            writer.uint(ordinal);
            writer.str("original_size");
            writer.uint(ordinal * 100);
            ordinal += 1;
        }
    }
    writer.finish().expect("there is room").to_vec()
}

/// What is to be found, and the first name, in the TOC's order, that stands twice.
fn twin(binaries: &Binaries) -> (BTreeMap<(&str, &str), u32>, Option<Repeated>) {
    let mut found = BTreeMap::new();
    let mut ordinal = 0;
    let (mut binary_again, mut arch_again) = (false, false);
    for (at, (name, arches)) in binaries.iter().enumerate() {
        binary_again |= binaries[..at].iter().any(|(other, _)| other == name);
        found.retain(|(binary, _), _| binary != name);
        for arch in arches {
            arch_again |= found.insert((name.as_str(), arch.as_str()), ordinal).is_some();
            ordinal += 1;
        }
    }
    let repeated = match (binary_again, arch_again) {
        (true, _) => Some(Repeated::Binary),
        (false, true) => Some(Repeated::Arch),
        (false, false) => None,
    };
    (found, repeated)
}

/// Reads with so many slots a binary, and checks every answer against the twin's.
fn check(binaries: &Binaries, slots: usize, sorted: bool) {
    let bytes = toc(binaries);
    let (found, repeated) = twin(binaries);
    let entries = binaries.iter().map(|(_, arches)| arches.len()).sum();
    let total = BASE + bytes.len() as u64;
    let read = |strictness, see: &mut dyn FnMut(LentIndex<'_, '_>)| {
        let mut binary_rows = vec![BinaryRow::default(); binaries.len()];
        let mut entry_rows = vec![EntryRow::default(); entries];
        let mut slots = vec![Slot::default(); binaries.len() * slots];
        let rows = LentRows::lend(&mut binary_rows, &mut entry_rows, &mut [], &mut slots);
        let limits = Limits::default();
        rows.read(&bytes, BASE, total, &limits, strictness).map(see)
    };

    let strict = read(Strictness::Strict, &mut |index| {
        assert_eq!(index.rows.sorted, sorted && !binaries.is_empty());
    });
    match (strict, repeated) {
        (Ok(()), None) => {}
        (Err(error), Some(repeated)) => {
            assert_eq!(error.kind, ErrorKind::Kpack(Fault::Duplicate(repeated)));
            assert_eq!(error.offset, first_repeated(binaries, &bytes, repeated));
        }
        (result, expected) => panic!("{result:?} where {expected:?} is expected"),
    }

    read(Strictness::Compat, &mut |index| {
        assert_eq!(index.rows.sorted, sorted && !binaries.is_empty());
        for (name, arches) in binaries {
            for arch in arches.iter().map(String::as_str).chain(["", "gfx"]) {
                let entry = index.find(name.as_bytes(), arch.as_bytes()).expect("no blobs");
                let ordinal = entry.map(|entry| entry.ordinal);
                assert_eq!(ordinal, found.get(&(name.as_str(), arch)).copied(), "{name} {arch}");
            }
            let longer = format!("{name}#");
            assert_eq!(index.find(longer.as_bytes(), b"gfx0"), Ok(None));
            let mut arches: Vec<_> = index.rows.arches_of(&index.toc, name.as_bytes()).collect();
            arches.sort_unstable();
            let mut expected: Vec<_> = found.keys().filter(|key| key.0 == name).collect();
            expected.sort_unstable();
            assert!(arches.iter().copied().eq(expected.iter().map(|key| key.1.as_bytes())));
        }
    })
    .expect("compat takes the last");
}

/// Where the first duplicate stands.
fn first_repeated(binaries: &Binaries, bytes: &[u8], repeated: Repeated) -> u64 {
    let view = Toc::parse(bytes, BASE, u64::MAX, &Limits::default(), Strictness::Strict);
    let offset = |part: &[u8]| BASE + (part.as_ptr() as usize - bytes.as_ptr() as usize) as u64;
    let view = view.expect("the view looks for no duplicates");
    match repeated {
        Repeated::Binary => {
            let again = |at: usize| binaries[..at].iter().any(|other| other.0 == binaries[at].0);
            let at = (0..binaries.len()).find(|&at| again(at)).expect("there is one");
            offset(view.binaries().nth(at).expect("it is there").name)
        }
        _ => {
            let all: Vec<_> = view.entries().map(|one| (one.binary, one.arch, one.at)).collect();
            let again = |at: &usize| {
                all[..*at].iter().any(|other| (other.0, other.1) == (all[*at].0, all[*at].1))
            };
            all[(0..all.len()).find(again).expect("there is one")].2
        }
    }
}

fn arches(count: usize) -> Vec<String> {
    // Neither in their own order nor in that of their lengths.
    (0..count).map(|n| format!("gfx{}", n * 7919 % count)).collect()
}

fn binaries(count: usize, arch_count: usize) -> Binaries {
    let name = |n| format!("lib/{}lib{n}.so#0", "x".repeat(n % 40));
    (0..count).map(|n| (name(n), arches(arch_count + n % 3))).collect()
}

fn check_all_forms(binaries: &Binaries) {
    check(binaries, 2, false);
    check(binaries, 3, false);
    check(binaries, 1, true);
}

#[test]
fn every_entry_is_found_and_nothing_else() {
    for (count, arch_count) in [(0, 0), (1, 1), (9, 0), (100, 2), (40, FEW - 1), (12, 300)] {
        check_all_forms(&binaries(count, arch_count));
    }
}

#[test]
fn names_of_every_length_are_found() {
    let names = (0..70).map(|n| ("n".repeat(n), arches(1)));
    let others = (1..70).map(|n| (format!("{}m", "n".repeat(n - 1)), arches(2)));
    check_all_forms(&names.chain(others).collect());
}

#[test]
fn the_last_duplicate_wins_or_the_first_is_named() {
    for arch_count in [0, 1, 3, 60] {
        let mut list = binaries(30, arch_count);
        list.push((list[7].0.clone(), arches(2)));
        list.push((list[7].0.clone(), arches(3)));
        list.insert(5, (list[20].0.clone(), arches(1)));
        check_all_forms(&list);
    }
    for arch_count in [2, FEW - 1, FEW, FEW + 1, 100] {
        let mut list = binaries(5, arch_count);
        for at in [4, 2] {
            let again = list[at].1[0].clone();
            list[at].1.extend([again.clone(), String::from("gfx90a"), again]);
        }
        check_all_forms(&list);
    }
}

#[test]
fn names_that_collide_are_sorted_instead() {
    let want = 300;
    let collide =
        |n: &usize| slots::place(slots::hash(format!("{n}").as_bytes()), want * 2) == Some(77);
    let names = (0usize..).filter(collide).map(|n| (format!("{n}"), arches(2)));
    let mut list: Binaries = names.take(want).collect();
    check(&list, 2, true);
    // The duplicates that were met before it came to that count too.
    list[40].0 = list[3].0.clone();
    list[299].0 = list[3].0.clone();
    list[298].0 = list[297].0.clone();
    check(&list, 2, true);
}

#[test]
fn too_few_rows_are_told() {
    let list = binaries(8, 2);
    let bytes = toc(&list);
    let read = |binaries, entries, slots| {
        let mut binary_rows = vec![BinaryRow::default(); binaries];
        let mut entry_rows = vec![EntryRow::default(); entries];
        let mut slots = vec![Slot::default(); slots];
        let rows = LentRows::lend(&mut binary_rows, &mut entry_rows, &mut [], &mut slots);
        let (total, limits) = (BASE + bytes.len() as u64, Limits::default());
        rows.read(&bytes, BASE, total, &limits, Strictness::Strict).map(|_| ())
    };
    let entries = list.iter().map(|(_, arches)| arches.len()).sum::<usize>();
    let full = |need| Err(Error::new(ErrorKind::Full(Full { need }), BASE));
    assert_eq!(read(8, entries, 8), Ok(()));
    assert_eq!(read(7, entries, 8), full(8));
    assert_eq!(read(8, entries - 1, 8), full(entries as u64));
    assert_eq!(read(8, entries, 7), full(8));
}

#[test]
fn the_order_of_enumeration_is_by_name_then_architecture() {
    let mut list = binaries(20, 30);
    list.extend(binaries(3, 2));
    let bytes = toc(&list);
    let mut archive = b"KPAK\x01\0\0\0\x40\0\0\0\0\0\0\0".to_vec();
    archive.resize(BASE as usize, 0);
    archive.extend(&bytes);
    let owned = OwnedToc::read(&archive, &Limits::default(), Strictness::Compat).expect("reads");
    let order = owned.order();
    let named: Vec<_> =
        order.iter().map(|&id| owned.record(id)).map(|one| (one.binary, one.arch)).collect();
    let (found, _) = twin(&list);
    // `gfx_arches` is empty: byte order stands in for its order.
    let expected = found.keys().map(|(binary, arch)| (binary.as_bytes(), arch.as_bytes()));
    assert!(named.iter().copied().eq(expected));
    assert_eq!(owned.len(), found.len());
    let list_of = |binary: &str| -> Vec<&[u8]> {
        found.keys().filter(|key| key.0 == binary).map(|key| key.1.as_bytes()).collect()
    };
    for (name, _) in &list {
        assert_eq!(owned.arches_of(name.as_bytes()), list_of(name));
    }
}

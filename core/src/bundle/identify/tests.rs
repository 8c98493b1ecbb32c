use super::*;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use std::path::PathBuf;

/// A gfx1030 code object with one segment of `body` bytes, then one section header table.
fn elf(body: usize) -> Vec<u8> {
    let mut bytes = vec![0u8; 64];
    bytes[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x40\x02");
    put(&mut bytes, 18, &224u16.to_le_bytes());
    put(&mut bytes, 32, &64u64.to_le_bytes());
    let sections_at = 64 + 56 + body as u64;
    put(&mut bytes, 40, &sections_at.to_le_bytes());
    put(&mut bytes, 48, &0x36u32.to_le_bytes());
    for (at, value) in [(52, 64u16), (54, 56), (56, 1), (58, 64), (60, 2)] {
        put(&mut bytes, at, &value.to_le_bytes());
    }
    let mut program = [0u8; 56];
    put(&mut program, 8, &120u64.to_le_bytes());
    put(&mut program, 32, &(body as u64).to_le_bytes());
    bytes.extend(program);
    bytes.extend(vec![0xcc; body]);
    // The null section, and one without bits that seems to reach far beyond the file.
    let mut bss = [0u8; 128];
    put(&mut bss, 64 + 4, &8u32.to_le_bytes());
    put(&mut bss, 64 + 24, &120u64.to_le_bytes());
    put(&mut bss, 64 + 32, &u64::MAX.to_le_bytes());
    bytes.extend(bss);
    bytes
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn bundle_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let table: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
    let mut bytes = BUNDLE_MAGIC.to_vec();
    bytes.extend((entries.len() as u64).to_le_bytes());
    let mut offset = 32 + table;
    for (id, content) in entries {
        for value in [offset, content.len(), id.len()] {
            bytes.extend((value as u64).to_le_bytes());
        }
        bytes.extend(id.bytes());
        offset += content.len();
    }
    for (_, content) in entries {
        bytes.extend(*content);
    }
    bytes
}

#[test]
fn one_elf_and_several() {
    let one = elf(100);
    let object = identify(&one);
    assert_eq!((object.name(), &*object.target().unwrap().to_string()), ("elf", "gfx1030"));
    assert_eq!(identify(&[&one[..], &[0; 4000]].concat()), object, "padding is no file");
    assert_eq!(identify(&[&one[..], b"more"].concat()), object, "nor is anything else");

    for padding in [0, 1, 3968] {
        let gap = vec![0; padding];
        let three = [&one[..], &gap, &elf(0), &gap, &one, &gap].concat();
        let object = identify(&three);
        assert_eq!((object.name(), object.target().is_some()), ("elfs", true));
        assert!(matches!(object, Object::Elfs { count: 3, .. }), "{object:?}");
    }
}

#[test]
fn an_elf_inside_another_is_its_content() {
    let inner = elf(10);
    let mut outer = elf(inner.len());
    put(&mut outer, 120, &inner);
    assert_eq!(identify(&outer).name(), "elf");
}

#[test]
fn counts_that_stand_in_the_first_section_header() {
    // 0xffff program headers "or more": the number is in the first section's sh_info, and with
    // e_shnum = 0 the number of sections is in its sh_size.
    let mut one = elf(100);
    let first_section = 64 + 56 + 100;
    put(&mut one, 56, &[0xff, 0xff]);
    put(&mut one, first_section + 44, &1u32.to_le_bytes());
    put(&mut one, 60, &[0, 0]);
    put(&mut one, first_section + 32, &2u64.to_le_bytes());
    let object = identify(&[&one[..], &elf(5)].concat());
    assert!(matches!(object, Object::Elfs { count: 2, .. }), "{object:?}");
}

#[test]
fn an_elf_that_leads_beyond_its_bytes_reaches_to_their_end() {
    let two = [elf(100), elf(5)].concat();
    for (at, value) in [(32, u64::MAX), (40, u64::MAX - 10), (40, 1 << 40), (64 + 8, 1 << 40)] {
        let mut bad = two.clone();
        put(&mut bad, at, &value.to_le_bytes());
        let object = identify(&bad);
        assert_eq!(object.name(), "elf", "field at {at}");
        assert!(object.target().is_some());
    }
}

#[test]
fn foreign_and_broken_elfs() {
    let mut foreign = elf(10);
    put(&mut foreign, 18, &62u16.to_le_bytes());
    assert_eq!(identify(&foreign), Object::Elf { target: None });
    let mut narrow = elf(10);
    narrow[4] = 1;
    assert_eq!(identify(&narrow), Object::Elf { target: None });
    assert_eq!(identify(&narrow[..51]), Object::Unknown);
    assert_eq!(identify(&elf(10)[..63]), Object::Unknown);
}

#[test]
fn bundles_are_checked() {
    let whole = bundle_of(&[
        ("host-x86_64-unknown-linux-gnu-", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx1100:xnack-", b"code"),
    ]);
    assert_eq!(identify(&whole), Object::Bundle { entries: 2 });
    assert_eq!(identify(&bundle_of(&[])), Object::Bundle { entries: 0 });
    for cut in 0..whole.len() {
        assert_eq!(identify(&whole[..cut]), Object::Unknown, "cut at {cut}");
    }
    for (at, value) in [(24, u64::MAX), (24, 1 << 32), (32, u64::MAX), (40, 1000), (48, u64::MAX)] {
        let mut bad = whole.clone();
        put(&mut bad, at, &value.to_le_bytes());
        assert_eq!(identify(&bad), Object::Unknown, "field at {at}");
    }
}

#[test]
fn compressed_bundles_of_each_version() {
    let hash = [0x5a; 8];
    let v1 = [b"CCOB\x01\0\x00\0", &700u32.to_le_bytes()[..], &hash, b"body"].concat();
    let v2 = [b"CCOB\x02\0\x01\0", &28u32.to_le_bytes()[..], &700u32.to_le_bytes(), &hash, b"body"];
    let v3 = [b"CCOB\x03\0\x07\0", &36u64.to_le_bytes()[..], &700u64.to_le_bytes(), &hash, b"body"];
    let (v2, v3) = (v2.concat(), v3.concat());
    let ccob = |version, method, total| Object::Ccob { version, method, total, uncompressed: 700 };
    assert_eq!(identify(&v1), ccob(1, Method::Zlib, 24));
    assert_eq!(identify(&v2), ccob(2, Method::Zstd, 28));
    assert_eq!(identify(&v3), ccob(3, Method::Other(7), 36));
    assert_eq!(identify(&[&v2[..], &v2].concat()), ccob(2, Method::Zstd, 28), "the first counts");

    for (whole, header) in [(&v1, 20), (&v2, 24), (&v3, 32)] {
        for cut in 0..header {
            assert_eq!(identify(&whole[..cut]), Object::Unknown, "cut at {cut}");
        }
    }
    let mut bad = v2.clone();
    put(&mut bad, 8, &29u32.to_le_bytes());
    assert_eq!(identify(&bad), Object::Unknown, "longer than its bytes");
    put(&mut bad, 8, &23u32.to_le_bytes());
    assert_eq!(identify(&bad), Object::Unknown, "shorter than its header");
    bad[4] = 4;
    assert_eq!(identify(&bad), Object::Unknown, "a version from the future");
}

#[test]
fn any_bytes_are_survived() {
    let seeds = [
        [elf(100), elf(5)].concat(),
        bundle_of(&[("host-", b""), ("hip-amdgcn", b"code")]),
        b"CCOB\x02\0\x01\0\x1c\0\0\0\xff\0\0\0hash....body".to_vec(),
    ];
    for seed in seeds {
        for at in 0..seed.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = seed.clone();
                bytes[at] = value;
                // No claim about the verdict, except that it is one of the five and there is one.
                assert!(
                    ["elf", "elfs", "bundle", "ccob", "unknown"].contains(&identify(&bytes).name())
                );
                identify(&bytes[..at]);
            }
        }
    }
}

/// A folder of real inputs, or `None` after saying so.
fn shared(test: &str, folder: &str) -> Option<PathBuf> {
    rocload_fixtures::shared_data_or_skip(test).map(|root| root.join(folder))
}

#[test]
fn real_code_objects_say_what_their_names_say() {
    let Some(folder) = shared("real_code_objects_say_what_their_names_say", "zstd/code_objects")
    else {
        return;
    };
    let (mut named, mut pieces) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let object = ::zstd::decode_all(&std::fs::read(&path).unwrap()[..]).unwrap();
        let object = identify(&object);
        let Some((_, rest)) = name.split_once("amdhsa--") else {
            pieces += 1;
            continue;
        };
        let target = rest.strip_suffix(".hsaco.zst").unwrap().replace('_', ":");
        assert_eq!(
            (object.name(), object.target().unwrap().to_string()),
            ("elf", target),
            "{name}"
        );
        named += 1;
    }
    assert!(named > 0, "{pieces} pieces without a name");
}

/// The frames of an archive, found by hand: the region begins at 64 and is counted.
fn kernels(archive: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_le_bytes(archive[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 68;
    let frames = (0..word(64)).map(|_| {
        let frame = &archive[at + 4..at + 4 + word(at)];
        at += 4 + frame.len();
        ::zstd::decode_all(frame).unwrap()
    });
    frames.collect()
}

/// How often each target occurs.
fn tally(mut targets: Vec<String>) -> Vec<(String, usize)> {
    targets.sort();
    targets.chunk_by(|a, b| a == b).map(|same| (same[0].clone(), same.len())).collect()
}

#[test]
fn kernels_of_real_archives_are_for_the_arches_of_their_manifests() {
    let Some(folder) =
        shared("kernels_of_real_archives_are_for_the_arches_of_their_manifests", "kpack")
    else {
        return;
    };
    for name in ["a_small_zstd", "b_2000_zstd", "e_rocrand_zstd"] {
        let archive = std::fs::read(folder.join(format!("{name}.kpack"))).unwrap();
        let found = kernels(&archive).into_iter().map(|kernel| {
            let object = identify(&kernel);
            assert_eq!(object.name(), "elf", "{name}");
            object.target().unwrap().to_string()
        });
        let manifest =
            std::fs::read_to_string(folder.join(format!("{name}.manifest.json"))).unwrap();
        // Rows of [key, arch, size, sha256]; the arch is the second string of each.
        let strings: Vec<&str> = manifest.split('"').skip(1).step_by(2).collect();
        let wanted = strings.chunks_exact(3).map(|row| String::from(row[1]));
        assert_eq!(tally(found.collect()), tally(wanted.collect()), "{name}");
    }
}

//! Broken archives through the C interface, in a process of their own: the code is returned, no place
//! is written to, and the process lives.
//!
//! The shipped library ends the process on some of these, and calls others a success.

use std::fs;
use std::path::Path;

use rocload_fixtures::kpack::{Builder, Draft, Scheme};
use rocload_fixtures::msgpack::Value;
use rocload_fixtures::{Fixture, Stage, bad_archives};

use crate::toolchain::{BOTH, Language, Library, Linking, program, run};

const A: &str = "lib/liba.so#0";
const ARCH: &str = "gfx1030";

/// What is done to a sound archive of one kernel, and the codes of the shipped interface: that of
/// opening, and, where it opens, that of fetching.
type Case = (&'static str, Scheme, fn(&mut Draft), &'static [i32]);

fn set(draft: &mut Draft, field: &'static str, value: impl Into<Value>) {
    draft.entry(A, ARCH).set(field, value.into());
}

/// The cases of the format's list: what aborts the shipped library, what it answers wrongly.
const CASES: &[Case] = &[
    ("ordinal is a string", Scheme::None, |d| set(d, "ordinal", "0"), &[10]),
    ("ordinal is a string, zstd", Scheme::ZstdPerKernel, |d| set(d, "ordinal", "0"), &[10]),
    ("ordinal is negative", Scheme::None, |d| set(d, "ordinal", Value::Int(-1)), &[10]),
    (
        "ordinal is negative, zstd",
        Scheme::ZstdPerKernel,
        |d| set(d, "ordinal", Value::Int(-1)),
        &[10],
    ),
    ("ordinal is 2^32", Scheme::None, |d| set(d, "ordinal", 1u64 << 32), &[10]),
    ("ordinal is 2^32, zstd", Scheme::ZstdPerKernel, |d| set(d, "ordinal", 1u64 << 32), &[10]),
    ("ordinal is 2^64 - 1", Scheme::ZstdPerKernel, |d| set(d, "ordinal", u64::MAX), &[10]),
    (
        "zstd_offset is a string",
        Scheme::ZstdPerKernel,
        |d| d.toc.set("zstd_offset", "64".into()),
        &[10],
    ),
    (
        "original_size is 2^40",
        Scheme::ZstdPerKernel,
        |d| set(d, "original_size", 1u64 << 40),
        &[0, 7],
    ),
    (
        "original_size is 2^63",
        Scheme::ZstdPerKernel,
        |d| set(d, "original_size", 1u64 << 63),
        &[0, 7],
    ),
    ("blob size is 2^40", Scheme::None, |d| d.blob(0).set("size", (1u64 << 40).into()), &[0, 9]),
    ("no ordinal", Scheme::None, |d| d.entry(A, ARCH).remove("ordinal"), &[10]),
    ("no ordinal, zstd", Scheme::ZstdPerKernel, |d| d.entry(A, ARCH).remove("ordinal"), &[10]),
    ("no blob offset", Scheme::None, |d| d.blob(0).remove("offset"), &[10]),
    ("no blob size", Scheme::None, |d| d.blob(0).remove("size"), &[10]),
    ("blob offset is 0: the header", Scheme::None, |d| d.blob(0).set("offset", 0.into()), &[0, 3]),
    ("blob offset is 15", Scheme::None, |d| d.blob(0).set("offset", 15.into()), &[0, 3]),
    ("an unknown scheme", Scheme::None, |d| d.toc.set("compression_scheme", "lz4".into()), &[3]),
    ("an empty scheme", Scheme::None, |d| d.toc.set("compression_scheme", "".into()), &[3]),
    (
        "a scheme that is a number",
        Scheme::None,
        |d| d.toc.set("compression_scheme", 1.into()),
        &[10],
    ),
    ("a scheme that is nil", Scheme::None, |d| d.toc.set("compression_scheme", Value::Nil), &[10]),
    ("ordinal out of range", Scheme::None, |d| set(d, "ordinal", 1), &[0, 5]),
    ("ordinal out of range, zstd", Scheme::ZstdPerKernel, |d| set(d, "ordinal", 1), &[0, 5]),
    ("ordinal is 2^32 - 1", Scheme::None, |d| set(d, "ordinal", u64::from(u32::MAX)), &[0, 5]),
    (
        "blob beyond the end",
        Scheme::None,
        |d| d.blob(0).set("offset", (1u64 << 20).into()),
        &[0, 9],
    ),
    (
        "blob offset and size wrap",
        Scheme::None,
        |d| d.blob(0).set("offset", u64::MAX.into()),
        &[0, 9],
    ),
    ("blob offset is a string", Scheme::None, |d| d.blob(0).set("offset", "64".into()), &[10]),
    ("blob size is negative", Scheme::None, |d| d.blob(0).set("size", Value::Int(-1)), &[10]),
    ("original_size is a string", Scheme::ZstdPerKernel, |d| set(d, "original_size", "6"), &[10]),
    (
        "no original_size, zstd",
        Scheme::ZstdPerKernel,
        |d| d.entry(A, ARCH).remove("original_size"),
        &[10],
    ),
    ("original_size is one more", Scheme::ZstdPerKernel, |d| set(d, "original_size", 18), &[0, 6]),
    ("original_size is one less", Scheme::ZstdPerKernel, |d| set(d, "original_size", 16), &[0, 6]),
    ("original_size is 0", Scheme::ZstdPerKernel, |d| set(d, "original_size", 0), &[0, 6]),
    ("original_size is one more, none", Scheme::None, |d| set(d, "original_size", 18), &[0, 0]),
    ("zstd_offset is 0", Scheme::ZstdPerKernel, |d| d.toc.set("zstd_offset", 0.into()), &[3]),
    (
        "zstd_offset beyond the end",
        Scheme::ZstdPerKernel,
        |d| d.toc.set("zstd_offset", (1u64 << 40).into()),
        &[3],
    ),
    (
        "zstd_size beyond the end",
        Scheme::ZstdPerKernel,
        |d| d.toc.set("zstd_size", (1u64 << 40).into()),
        &[3],
    ),
    ("zstd_size is 3", Scheme::ZstdPerKernel, |d| d.toc.set("zstd_size", 3.into()), &[3]),
    ("a frame count of 2^32 - 1", Scheme::ZstdPerKernel, |d| d.data[..4].fill(0xff), &[0, 3]),
    ("a frame longer than the blob", Scheme::ZstdPerKernel, |d| d.data[4..8].fill(0xff), &[0, 3]),
    ("no frame", Scheme::ZstdPerKernel, |d| d.data[8..12].fill(0), &[0, 6]),
    ("no toc", Scheme::None, |d| d.toc.remove("toc"), &[10]),
    ("toc is an array", Scheme::None, |d| d.toc.set("toc", Value::Array(Vec::new())), &[10]),
    ("the table is no map", Scheme::None, |d| d.toc = Value::Array(Vec::new()), &[10]),
    ("another magic number", Scheme::None, |d| d.magic = *b"KPAC", &[3]),
    (
        "another magic number and version",
        Scheme::None,
        |d| (d.magic, d.version) = (*b"KPAC", 2),
        &[3],
    ),
    ("version 2", Scheme::None, |d| d.version = 2, &[4]),
    (
        "version 2 and a table nowhere",
        Scheme::None,
        |d| (d.version, d.toc_offset) = (2, Some(0)),
        &[4],
    ),
    ("the table at 0", Scheme::None, |d| d.toc_offset = Some(0), &[3]),
    ("the table at 15", Scheme::None, |d| d.toc_offset = Some(15), &[3]),
    ("the table at 2^63", Scheme::None, |d| d.toc_offset = Some(1 << 63), &[3]),
    ("format_version 2", Scheme::None, |d| d.toc.set("format_version", 2.into()), &[0, 0]),
];

/// Archives that are cut: so many bytes are left, and the code of opening them.
const CUT: [(usize, i32); 6] = [(0, 9), (1, 3), (4, 3), (15, 3), (16, 3), (64, 3)];

fn documented(codes: &[i32]) -> Vec<i32> {
    codes.iter().map(|&code| if code > 8 { 3 } else { code }).collect()
}

fn codes(program: &Path, archives: &[&Path]) -> Vec<Vec<i32>> {
    let written = String::from_utf8(run(program, archives)).unwrap();
    let numbers = |line: &str| line.split(' ').map(|code| code.parse().unwrap()).collect();
    written.lines().map(numbers).collect()
}

#[test]
fn what_aborts_the_shipped_library_or_misleads_it_is_a_code() {
    let folder = tempfile::tempdir().unwrap();
    let sound = |scheme| Builder::new(scheme).kernel(A, ARCH, b"a code object too").draft();
    for library in BOTH {
        let made = program(library, Language::C, Linking::Shared, "probe.c");
        let Some(program) = made else { return };
        let check = |what: &str, bytes: &[u8], expected: &[i32]| {
            let path = folder.path().join("broken.kpack");
            fs::write(&path, bytes).unwrap();
            let expected = match library {
                Library::Shipped => expected.to_vec(),
                Library::Documented => documented(expected),
            };
            // A process for each, so that one that ends is known by its case.
            assert_eq!(codes(&program, &[&path]), [expected], "{library:?}: {what}");
        };
        for &(what, scheme, change, expected) in CASES {
            let mut draft = sound(scheme);
            check(what, &draft.bytes(), &[0, 0]);
            change(&mut draft);
            check(what, &draft.bytes(), expected);
        }
        let whole = sound(Scheme::None).bytes();
        for (left, expected) in CUT {
            check(&format!("{left} bytes are left"), &whole[..left], &[expected]);
        }
        let table = sound(Scheme::None).toc_at() as usize;
        for left in table + 1..whole.len() {
            check(&format!("the table is cut at {left}"), &whole[..left], &[10]);
        }
    }
}

/// What a broken fixture may give: never a success where the fault is met.
#[test]
fn every_broken_fixture_is_refused() {
    for library in BOTH {
        let made = program(library, Language::C, Linking::Shared, "probe.c");
        let Some(program) = made else { return };
        for fixture in bad_archives() {
            let path = fixture.file();
            let codes = codes(&program, &[&path]).remove(0);
            let allowed = if library == Library::Shipped { 0..=10 } else { 0..=8 };
            assert!(codes.iter().all(|code| allowed.contains(code)), "{}: {codes:?}", fixture.path);
            let refused = codes.iter().any(|&code| code != 0);
            // Compatible reading takes what these say, as the fixtures in `compat` do.
            assert_eq!(refused, !waived(&fixture), "{library:?} {}: {codes:?}", fixture.path);
        }
    }
}

/// Faults that the shipped library passes over without harm.
fn waived(fixture: &Fixture) -> bool {
    let name = fixture.name();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    match fixture.stage {
        // Where a frame is and what a kernel hashes to is not believed, so it may be wrong.
        Some(Stage::Place | Stage::Sum) => true,
        Some(Stage::Open) => {
            starts(&["duplicate-", "format-version-", "frame-offset-", "frame-size-", "sha256-"])
                || ["missing-format-version", "original-size-differs"].contains(&name)
        }
        _ => false,
    }
}

/// A file that is cut while it is open: what is gone is an error of the system, and what is still
/// there is fetched.
#[test]
fn a_file_that_shrinks_while_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    for library in BOTH {
        let made = program(library, Language::C, Linking::Shared, "shrink.c");
        let Some(program) = made else { return };
        for scheme in [Scheme::None, Scheme::ZstdPerKernel] {
            let path = folder.path().join("shrinks.kpack");
            let noise: Vec<u8> =
                (0..9000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
            let archive = Builder::new(scheme)
                .kernel("a", ARCH, b"the first kernel, which stays")
                .kernel("b", ARCH, &noise)
                .build();
            fs::write(&path, archive).unwrap();
            run(&program, &[&path]);
        }
    }
}

/// A frame that is sound and holds `blocks` times 128 KiB of one byte.
fn zeros(blocks: u32) -> Vec<u8> {
    let mut frame = b"\x28\xb5\x2f\xfd\xa0".to_vec();
    frame.extend_from_slice(&(blocks << 17).to_le_bytes());
    for block in 1..=blocks {
        let header = (131_072u32 << 3) | 1 << 1 | u32::from(block == blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

#[test]
fn too_little_memory_is_a_code() {
    const OUT_OF_MEMORY: i32 = 7;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, draft: &Draft| {
        let path = folder.path().join(name);
        fs::write(&path, draft.bytes()).unwrap();
        path
    };
    // A kernel of 1 GiB, and a table of 200,000 entries.
    let mut large =
        Builder::new(Scheme::ZstdPerKernel).kernel_as("a", ARCH, b"", zeros(8192)).draft();
    large.entry("a", ARCH).set("original_size", (1u64 << 30).into());
    let large = write("large.kpack", &large);
    let mut many = Builder::new(Scheme::None).kernel("a", ARCH, b"a code object").draft();
    let entry = many.toc.at("toc").at("a").clone();
    let binaries = many.toc.at("toc").entries();
    binaries
        .extend((0..200_000).map(|n| (format!("lib/lib{n}.so#0").as_str().into(), entry.clone())));
    let many = write("many.kpack", &many);
    for library in BOTH {
        let made = program(library, Language::C, Linking::Shared, "memory.c");
        let Some(program) = made else { return };
        let codes = |archive: &Path, mib: u32| {
            let kib = (mib << 10).to_string();
            let written = run(&program, &[archive.as_os_str(), kib.as_ref()]);
            let written = String::from_utf8(written).unwrap();
            let codes = written.trim_end().split(' ').map(|code| code.parse().unwrap());
            codes.collect::<Vec<i32>>()
        };
        assert_eq!(codes(&large, 256), [0, OUT_OF_MEMORY], "{library:?}");
        assert_eq!(codes(&large, 1200), [0, 0], "{library:?}");
        for mib in [1, 2, 4, 8] {
            assert_eq!(codes(&many, mib), [OUT_OF_MEMORY], "{library:?}: {mib} MiB");
        }
        for mib in [12, 16, 20, 24] {
            let codes = codes(&many, mib);
            assert!(
                codes == [OUT_OF_MEMORY] || codes == [0, 0],
                "{library:?}: {mib} MiB: {codes:?}"
            );
        }
        assert_eq!(codes(&many, 128), [0, 0], "{library:?}");
    }
}

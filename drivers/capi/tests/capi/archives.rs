//! Archives that are sound: every name and every kernel, and what the functions promise besides.

use std::collections::BTreeSet;
use std::path::Path;

use rocload_fixtures::manifest::read_kernel_rows;
use rocload_fixtures::{KernelRow, compat_archives, good_archives, hash, shared_data_or_skip};

use crate::toolchain::{Language, Library, Linking, each, program, run};

/// What `dump` wrote: the records' names, and the kernels.
struct Dump {
    arches: Vec<String>,
    binaries: Vec<String>,
    kernels: Vec<KernelRow>,
}

fn dump(program: &Path, archive: &Path) -> Dump {
    let written = run(program, &[archive]);
    let mut rest = &written[..];
    let mut dump = Dump { arches: Vec::new(), binaries: Vec::new(), kernels: Vec::new() };
    while !rest.is_empty() {
        // Names may hold anything but tabs: the fixtures' have newlines in them.
        let tabs = match rest.starts_with(b"kernel\t") {
            true => 3,
            false => 2,
        };
        let mut fields = rest.splitn(tabs + 1, |&byte| byte == b'\t');
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let names: Vec<String> = (0..tabs).map(|_| text(fields.next().unwrap())).collect();
        let tail = fields.next().unwrap();
        let end = tail.iter().position(|&byte| byte == b'\n').unwrap();
        let size: usize = text(&tail[..end]).parse().unwrap();
        let (bytes, after) = tail[end + 1..].split_at(size);
        match names[0].as_str() {
            "arch" => dump.arches.push(names[1].clone()),
            "binary" => dump.binaries.push(names[1].clone()),
            "kernel" => dump.kernels.push(KernelRow {
                binary: names[1].clone(),
                arch: names[2].clone(),
                size: size as u64,
                sha256: hash::sha256_hex(bytes),
            }),
            other => panic!("{other}"),
        }
        rest = after;
    }
    dump
}

/// What a C program can ask for: names without NUL, of architectures that are listed, each once.
fn reachable(rows: &[KernelRow], dump: &Dump) -> Vec<KernelRow> {
    let listed: BTreeSet<&String> = dump.arches.iter().collect();
    let plain = |row: &&KernelRow| !row.binary.contains(['\0', '\t']) && listed.contains(&row.arch);
    sorted(rows.iter().filter(plain).cloned().collect())
}

fn sorted(mut rows: Vec<KernelRow>) -> Vec<KernelRow> {
    rows.sort_by(|a, b| (&a.binary, &a.arch).cmp(&(&b.binary, &b.arch)));
    rows
}

fn holds(program: &Path, archive: &Path, rows: &[KernelRow]) {
    let dump = dump(program, archive);
    let mut kernels = sorted(dump.kernels.clone());
    // An architecture that is listed twice is asked for twice.
    kernels.dedup();
    assert_eq!(kernels, reachable(rows, &dump), "{}", archive.display());
    let binaries: BTreeSet<&String> = rows.iter().map(|row| &row.binary).collect();
    for binary in binaries.into_iter().filter(|name| !name.contains(['\0', '\t'])) {
        assert!(dump.binaries.contains(binary), "{}: {binary:?}", archive.display());
    }
    assert!(dump.binaries.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()));
}

#[test]
fn every_kernel_of_every_fixture_in_both_languages() {
    each("dump.c", |_, program| {
        for fixture in good_archives().chain(compat_archives()) {
            if has_odd_names(&fixture.kernels()) {
                continue;
            }
            holds(program, &fixture.file(), &fixture.kernels());
        }
    });
}

/// Names that the text form of `dump` cannot tell apart; `names_of_any_bytes` sees to them.
fn has_odd_names(rows: &[KernelRow]) -> bool {
    rows.iter().any(|row| row.binary.contains(['\0', '\t']) || row.arch.contains(['\0', '\t']))
}

#[test]
fn every_kernel_of_the_shared_archives() {
    let Some(data) = shared_data_or_skip("every_kernel_of_the_shared_archives") else { return };
    for library in crate::toolchain::BOTH {
        let Some(program) = program(library, Language::C, Linking::Shared, "dump.c") else {
            return;
        };
        for name in ["a_small_none", "a_small_zstd", "b_2000_zstd", "e_rocrand_zstd"] {
            let archive = data.join(format!("kpack/{name}.kpack"));
            let rows = read_kernel_rows(&archive.with_extension("manifest.json"));
            assert!(!rows.is_empty());
            holds(&program, &archive, &rows);
        }
    }
}

#[test]
fn null_numbers_out_of_range_and_names_that_are_not_there() {
    each("contract.c", |_, program| {
        for name in ["demo_none", "demo_zstd"] {
            run(program, &[rocload_fixtures::fixtures_dir().join(format!("kpack/{name}.kpack"))]);
        }
    });
}

#[test]
fn what_a_callback_throws_reaches_the_caller() {
    for linking in [Linking::Shared, Linking::Static] {
        let made = program(Library::Shipped, Language::Cpp, linking, "throw.cpp");
        let Some(program) = made else { return };
        run(&program, &[rocload_fixtures::fixtures_dir().join("kpack/demo_zstd.kpack")]);
    }
}

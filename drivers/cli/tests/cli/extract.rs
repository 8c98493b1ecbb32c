//! `extract`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rocload_fixtures::hash::sha256_hex;
use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::manifest::{KernelRow, read_kernel_rows};
use rocload_fixtures::{bad_archives, good_archives, shared_data_or_skip};
use serde_json::Value;
use tempfile::TempDir;

use super::{Ran, command, demo, good, kpack, rocload};

/// `extract ARCHIVE` with more arguments.
fn extract<S: Into<OsString>>(archive: &Path, rest: impl IntoIterator<Item = S>) -> Ran {
    let mut args: Vec<OsString> = vec!["kpack".into(), "extract".into(), archive.into()];
    args.extend(rest.into_iter().map(Into::into));
    rocload(args)
}

/// `extract ARCHIVE -d DIR` with words.
fn extract_to(archive: &Path, dir: &Path, words: &str) -> Ran {
    let words = words.split_whitespace().map(OsString::from);
    extract(archive, words.chain(["-d".into(), dir.into()]))
}

/// All files below a folder, by their paths there; links count as files of their own.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, root: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            if kind.is_dir() {
                walk(&path, root, found);
            } else {
                assert!(kind.is_file(), "{}", path.display());
                found.insert(path.strip_prefix(root).unwrap().into(), fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(dir, dir, &mut found);
    found
}

fn by_digest(files: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let mut digests: Vec<String> = files.values().map(|bytes| sha256_hex(bytes)).collect();
    digests.sort();
    digests
}

fn digests(rows: &[KernelRow]) -> Vec<String> {
    let mut digests: Vec<String> = rows.iter().map(|row| row.sha256.clone()).collect();
    digests.sort();
    digests
}

#[test]
fn every_sound_archive_comes_out_whole() {
    for archive in good_archives() {
        let dir = TempDir::new().unwrap();
        let ran = extract_to(&archive.file(), dir.path(), "--all --json").fine().json();
        let found = files(dir.path());
        assert_eq!(by_digest(&found), digests(&archive.kernels()), "{}", archive.path);
        // The report says which kernel is where.
        let listed: Vec<(String, String)> = ran["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| {
                let path = file["path"].as_str().unwrap();
                let bytes = &found[Path::new(path).strip_prefix(dir.path()).unwrap()];
                assert_eq!(file["size"], bytes.len() as u64);
                assert_eq!(file["sha256"], sha256_hex(bytes));
                (file["binary"].as_str().unwrap().into(), file["sha256"].as_str().unwrap().into())
            })
            .collect();
        let expected: Vec<(String, String)> =
            archive.kernels().into_iter().map(|row| (row.binary, row.sha256)).collect();
        assert_eq!(listed, expected);
    }
}

#[test]
fn a_real_archive_comes_out_whole() {
    let Some(data) = shared_data_or_skip("a_real_archive_comes_out_whole") else { return };
    for name in ["a_small_zstd", "b_2000_zstd"] {
        let archive = data.join(format!("kpack/{name}.kpack"));
        let dir = TempDir::new().unwrap();
        extract_to(&archive, dir.path(), "--all").fine();
        let rows = read_kernel_rows(&archive.with_extension("manifest.json"));
        assert!(by_digest(&files(dir.path())) == digests(&rows), "{name}");
        let first = &rows[0];
        let path = format!("{}/{}.hsaco", first.arch.replace(':', "-"), first.binary);
        assert_eq!(sha256_hex(&fs::read(dir.path().join(path)).unwrap()), first.sha256);
    }
}

#[test]
fn one_kernel() {
    let dir = TempDir::new().unwrap();
    let manifest = read_kernel_rows(&demo("zstd").with_extension("manifest.json"));
    let output = dir.path().join("out.hsaco");
    for row in &manifest {
        let args = ["--binary", &row.binary, "--arch", &row.arch, "-o", output.to_str().unwrap()];
        let ran = extract(&demo("zstd"), args).fine();
        assert!(ran.out.contains(&format!("{} for {}, ", row.binary, row.arch)), "{ran:?}");
        assert_eq!(sha256_hex(&fs::read(&output).unwrap()), row.sha256);

        let args = ["--binary", &row.binary, "--arch", &row.arch, "-o", "-"];
        let piped =
            command().args(["kpack", "extract"]).arg(demo("none")).args(args).output().unwrap();
        assert!(piped.status.success());
        assert_eq!(sha256_hex(&piped.stdout), row.sha256, "byte for byte, escapes included");
        assert!(piped.stderr.is_empty());
    }
    assert_eq!(files(dir.path()).len(), 1);
}

#[test]
fn the_architecture_that_fits_a_device() {
    let dir = TempDir::new().unwrap();
    let output = dir.path().join("out");
    let take = |isa: &str| {
        let output = output.to_str().unwrap();
        extract(
            &demo("zstd"),
            ["--binary", "lib/libdemo.so#1", "--isa", isa, "-o", output, "--json"],
        )
    };
    for (isa, arch) in [
        ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:xnack-"),
        ("gfx90a:xnack+", "gfx90a"),
        ("gfx1030", "gfx1030"),
    ] {
        assert_eq!(take(isa).fine().json()["files"][0]["arch"], arch);
    }
    let ran = take("gfx1201");
    assert_eq!((ran.code, &ran.json()["error"]["kind"]), (Some(4), &"no_arch".into()));
    assert_eq!(take("gfx1:a:b:c:d:e:f:g").code, Some(2));
}

#[test]
fn names_that_are_not_there() {
    let archive = demo("zstd");
    let take = |binary: &str, arch: &str| {
        extract(&archive, ["--binary", binary, "--arch", arch, "-o", "/dev/null"])
    };
    let ran = take("lib/libdemo.so", "gfx906")
        .failed(4, "lib/libdemo.so for gfx906: the archive has no such binary");
    assert!(
        ran.err.contains("hint: did you mean lib/libdemo.so#0 or lib/libdemo.so#1?"),
        "{ran:?}"
    );
    let ran = take("q", "gfx906").failed(4, "no such binary");
    assert!(ran.err.contains("hint: `rocload kpack list "), "{ran:?}");
    let ran = take("lib/libdemo.so#0", "gfx90a:sramecc+");
    ran.failed(4, "the archive has this binary only for gfx1030, gfx906, gfx90a, gfx90a:xnack-");
    take("lib/libdemo.so*", "gfx906").failed(4, "no such binary");
}

#[test]
fn names_that_are_not_utf8_are_taken_byte_for_byte() {
    // A name with a byte that no UTF-8 has, made by changing one of a sound archive.
    let mut bytes = Builder::new(Scheme::None).kernel("a@b", "gfx906", b"a kernel").build();
    let at = bytes.windows(3).position(|name| name == b"a@b").unwrap();
    bytes[at + 1] = 0xff;
    let dir = TempDir::new().unwrap();
    let archive = dir.path().join("a.kpack");
    fs::write(&archive, bytes).unwrap();
    let binary = OsString::from_vec(b"a\xffb".to_vec());
    let output = dir.path().join("out");
    let args = ["--binary".into(), binary, "--arch".into(), "gfx906".into(), "-o".into()];
    extract(&archive, args.into_iter().chain([output.clone().into()])).fine();
    assert_eq!(fs::read(output).unwrap(), b"a kernel");

    let listing = kpack("list --json", &archive).fine().json();
    assert_eq!(listing["entries"][0]["binary"], "a\u{fffd}b");
    assert_eq!(listing["entries"][0]["binary_hex"], "61ff62");
    extract_to(&archive, &dir.path().join("d"), "--all").fine();
    let found = files(&dir.path().join("d"));
    assert_eq!(found.keys().next().unwrap().as_os_str().as_bytes(), b"gfx906/a\xffb.hsaco");
}

#[test]
fn hostile_names_stay_inside() {
    let around = TempDir::new().unwrap();
    let dir = around.path().join("a/b/c/out");
    extract_to(&good("keys-hostile").file(), &dir, "--all").fine();
    assert_eq!(files(around.path()).len(), files(&dir).len(), "nothing beside the folder");
    let found = files(&dir);
    let paths: Vec<&str> = found.keys().map(|path| path.to_str().unwrap()).collect();
    for path in [
        "gfx1030/%2E%2E/%2E%2E/etc/passwd.hsaco",
        "gfx1030/%2Fetc/passwd.hsaco",
        "gfx1030/a/%2E%2E/b.hsaco",
        "gfx1030/a%00b.hsaco",
        "%2E%2E/%2E%2E/%2E%2E/arch/plain.hsaco",
    ] {
        assert!(paths.contains(&path), "{path}: {paths:?}");
    }
}

#[test]
fn colliding_and_nested_names_all_come_out() {
    let kernels = [
        ("gfx90a:xnack-", "a:b"),
        ("gfx90a-xnack-", "a:b"),
        ("gfx90a:xnack-", "a-b"),
        ("gfx90a:xnack-", "x"),
        ("gfx90a:xnack-", "x.hsaco/y"),
        ("gfx90a:xnack-", "x/y/../z"),
        ("gfx90a:xnack-", "."),
        ("gfx90a:xnack-", "%2E"),
        ("gfx90a:xnack-", "//"),
    ];
    let mut builder = Builder::new(Scheme::ZstdPerKernel);
    let long =
        [format!("{}1", "n".repeat(300)), format!("{}2", "n".repeat(300)), "d/".repeat(1000)];
    for (n, (arch, binary)) in kernels.iter().enumerate() {
        builder = builder.kernel(binary, arch, format!("kernel {n}").as_bytes());
    }
    for name in &long {
        builder = builder.kernel(name, "gfx906", name.as_bytes());
    }
    let dir = TempDir::new().unwrap();
    let archive = dir.path().join("a.kpack");
    fs::write(&archive, builder.build()).unwrap();
    let out = dir.path().join("out");
    extract_to(&archive, &out, "--all").fine();
    let all = files(&out);
    assert_eq!(by_digest(&all), digests(&builder.rows()));
    // A part of them goes where the whole put it.
    let ran = extract_to(&archive, &out, "--binary a-b --json").fine().json();
    assert_eq!(ran["files"][0]["written"], false, "{ran}");
    assert_eq!(files(&out), all);
}

#[test]
fn links_in_the_folder_are_not_followed() {
    let around = TempDir::new().unwrap();
    let (dir, outside) = (around.path().join("out"), around.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(dir.join("gfx906/lib")).unwrap();
    fs::write(outside.join("file"), "precious").unwrap();
    symlink(&outside, dir.join("gfx1030")).unwrap();
    symlink(outside.join("file"), dir.join("gfx906/lib/libdemo.so#0.hsaco")).unwrap();
    symlink(outside.join("new"), dir.join("gfx906/lib/libdemo.so#1.hsaco")).unwrap();

    let ran = extract_to(&demo("zstd"), &dir, "--all");
    assert_eq!(ran.code, Some(1));
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 3, "two files, and a sum: {ran:?}");
    assert!(
        lines[0].contains("gfx1030 is there and is no folder: links are not followed"),
        "{ran:?}"
    );
    assert_eq!(files(&outside).len(), 1);
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"precious");
    fs::remove_file(dir.join("gfx1030")).unwrap();
    assert_eq!(files(&dir).len(), 6, "links in the place of files were replaced");
}

#[test]
fn what_is_there_is_left_alone() {
    let dir = TempDir::new().unwrap();
    let run = |words: &str| extract_to(&demo("zstd"), dir.path(), words).fine();
    assert!(run("--all").out.ends_with(": 8 kernels, 25.8 KiB\n"));
    let whole = files(dir.path());
    let path = |number: usize| dir.path().join(whole.keys().nth(number).unwrap());
    let inode = |number: usize| fs::metadata(path(number)).unwrap().ino();
    let before: Vec<u64> = (0..8).map(inode).collect();
    assert!(run("--all").out.ends_with("all there already\n"));
    assert_eq!((0..8).map(inode).collect::<Vec<_>>(), before, "not even touched");

    // One is gone, one is cut, one has another byte.
    fs::remove_file(path(0)).unwrap();
    fs::write(path(1), b"half").unwrap();
    let mut other = fs::read(path(2)).unwrap();
    *other.last_mut().unwrap() ^= 1;
    fs::write(path(2), other).unwrap();
    assert!(run("--all").out.ends_with(": 3 written, 5 there already\n"));
    assert_eq!(files(dir.path()), whole);
    let report = run("--all --json").json();
    assert!(report["files"].as_array().unwrap().iter().all(|file| file["written"] == false));
}

#[test]
fn filters_choose() {
    let dir = TempDir::new().unwrap();
    extract_to(&demo("zstd"), dir.path(), "--arch gfx90a* --binary *#1").fine();
    let found = files(dir.path());
    let paths: Vec<&str> = found.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(paths, ["gfx90a/lib/libdemo.so#1.hsaco", "gfx90a-xnack-/lib/libdemo.so#1.hsaco"]);
    let empty = dir.path().join("empty");
    extract_to(&demo("zstd"), &empty, "--arch gfx12")
        .failed(4, "no architecture matches --arch gfx12");
    assert!(!empty.exists(), "nothing is made for nothing");
    let verbose = extract_to(&demo("zstd"), dir.path(), "-v --all").fine().out;
    assert_eq!(verbose.lines().count(), 9);
    assert_eq!(extract_to(&demo("zstd"), dir.path(), "-q --all").fine().out, "");
}

#[test]
fn a_broken_kernel_does_not_keep_the_others() {
    let bad = bad_archives().find(|archive| archive.name() == "checksum-wrong").unwrap().file();
    let dir = TempDir::new().unwrap();
    extract_to(&bad, dir.path(), "--all").failed(3, "lib/liba.so#0 for gfx1030");
    let found = files(dir.path());
    let paths: Vec<&str> = found.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(paths, ["gfx1030/lib/libb.so#0.hsaco"], "no half-written file either");
    let ran = extract_to(&bad, dir.path(), "--all --json");
    assert_eq!((ran.code, &*ran.err), (Some(3), ""));
    let report: Value = ran.json();
    assert_eq!(report["errors"][0]["kind"], "malformed");
    assert!(report["errors"][0]["offset"].is_u64());
    assert_eq!(report["files"][0]["written"], false);

    let output = dir.path().join("one");
    let args = ["--binary", "lib/liba.so#0", "--arch", "gfx1030", "-o", output.to_str().unwrap()];
    extract(&bad, args).failed(3, "lib/liba.so#0 for gfx1030");
    assert!(!output.exists());
}

#[test]
fn outputs_that_cannot_be() {
    let dir = TempDir::new().unwrap();
    let take = |output: &str| {
        extract(&demo("zstd"), ["--binary", "lib/libdemo.so#0", "--arch", "gfx906", "-o", output])
    };
    take("/dev/full").failed(1, "/dev/full: writing: no space left on device");
    take(dir.path().to_str().unwrap()).failed(1, "is a directory");
    let absent = dir.path().join("absent/out");
    take(absent.to_str().unwrap()).failed(4, "absent/out: writing: no such file or directory");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    extract_to(&demo("zstd"), &file, "--all").failed(1, "file: opening: ");
    take("/dev/null").fine();

    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut piped = command();
    piped.args(["kpack", "extract"]).arg(demo("zstd"));
    piped.args(["--binary", "lib/libdemo.so#0", "--arch", "gfx906", "-o", "-"]);
    let ran: Ran = piped.stdout(full).stderr(Stdio::piped()).output().unwrap().into();
    ran.failed(1, "writing to standard output: no space left on device");
}

#[test]
fn the_extracted_json_is_a_manifest() {
    let dir = TempDir::new().unwrap();
    let report = extract_to(&demo("zstd"), &dir.path().join("out"), "--all --json").fine().json();
    let rows: Vec<Value> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| serde_json::json!([f["binary"], f["arch"], f["size"], f["sha256"]]))
        .collect();
    let manifest = dir.path().join("m.json");
    fs::write(&manifest, serde_json::to_vec(&rows).unwrap()).unwrap();
    let args = ["kpack", "verify", "-m", manifest.to_str().unwrap()].map(OsString::from);
    assert!(
        rocload(args.into_iter().chain([demo("none").into()]))
            .fine()
            .out
            .ends_with("all as in the manifest\n")
    );
}

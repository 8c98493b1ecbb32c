//! Wrong usage, errors as JSON, and output that nobody reads.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use super::{Ran, command, demo, kpack, rocload};

fn usage(line: &str) -> Ran {
    let ran = rocload(line.split_whitespace());
    assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{line}: {ran:?}");
    ran
}

#[test]
fn wrong_usage() {
    for (line, text) in [
        ("", "Usage: rocload"),
        ("kpak list", "unrecognized subcommand 'kpak'"),
        ("kpack", "Usage: rocload kpack"),
        ("kpack list", "<ARCHIVE>"),
        ("kpack list x --nonsense", "unexpected argument '--nonsense'"),
        ("kpack list x -v -q", "cannot be used with"),
        ("kpack verify x --threads 0", "0 is not in 1..=1024"),
        (
            "kpack verify x --max-window much",
            "a size is a number of bytes, or one with K, M, G or T",
        ),
        ("kpack verify --manifest m x y", "2 archives cannot be compared with 1 manifest"),
        ("kpack extract x", "where to? give -o FILE for one kernel, or --all -d DIR"),
        ("kpack extract x --all", "--directory <DIR>"),
        ("kpack extract x -d out", "which kernels?"),
        ("kpack extract x -o out", "give --binary once"),
        ("kpack extract x -o out --binary a", "give --arch or --isa once"),
        ("kpack extract x -o out --binary a --binary b --arch c", "give --binary once"),
        ("kpack extract x -o out --binary a --arch b --isa c", "cannot be used with"),
        ("kpack extract x -o out --all -d d", "cannot be used with"),
        ("completions tcsh", "invalid value 'tcsh'"),
    ] {
        let ran = usage(line);
        assert!(ran.err.contains(text), "{line}: {ran:?}");
        assert!(ran.err.contains("Usage: rocload") || ran.err.contains("try '--help'"), "{ran:?}");
    }
}

#[test]
fn wrong_usage_as_json() {
    for (line, text) in [
        ("kpack list --json", "<ARCHIVE>..."),
        ("kpack list --json x --nonsense", "unexpected argument '--nonsense' found"),
        ("kpack extract --json x", "where to?"),
        ("kpack extract x -o - --binary a --arch b --json", "both write to standard output"),
        ("kpack --json verify --manifest m x y", "2 archives cannot be compared"),
    ] {
        let ran = rocload(line.split_whitespace());
        assert_eq!((ran.code, &*ran.err), (Some(2), ""), "{line}: {ran:?}");
        let error = &ran.json()["error"];
        assert_eq!(error["kind"], "usage");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(text) && !message.contains('\n'), "{line}: {message}");
        assert!(error["hint"].as_str().unwrap().starts_with("usage: rocload kpack"), "{error}");
    }
}

#[test]
fn errors_as_json_have_one_schema() {
    let cut = |archive: &rocload_fixtures::Fixture| archive.name() == "toc-cut-half";
    let bad = rocload_fixtures::bad_archives().find(cut).unwrap().file();
    let cases = [
        (kpack("list --json", Path::new("absent.kpack")), 4, "not_found"),
        (kpack("info --json", &bad), 3, "malformed"),
        (kpack("list --json", Path::new("/")), 1, "io"),
        (kpack("extract --json --all -d out", Path::new("absent.kpack")), 4, "not_found"),
        (kpack("extract --json -o x --binary a --arch b", &demo("zstd")), 4, "no_binary"),
    ];
    for (ran, code, kind) in cases {
        assert_eq!((ran.code, &*ran.err), (Some(code), ""), "{ran:?}");
        let value = ran.json();
        let error = value["error"].as_object().unwrap();
        let keys: Vec<&String> = error.keys().collect();
        assert_eq!(keys, ["hint", "kind", "message", "offset", "path"]);
        assert_eq!(error["kind"], kind);
        assert_eq!(error["offset"].is_u64(), code == 3);
        assert!(error["path"].is_string());
    }
    // What is listed stays, and what no filter found follows.
    let ran = kpack("list --json --arch gfx906 --arch gfx9", &demo("zstd"));
    assert_eq!(ran.code, Some(4));
    let lines = ran.json_lines();
    assert_eq!(lines[0]["entries"].as_array().unwrap().len(), 2);
    assert_eq!(lines[1]["error"]["kind"], "no_match");
}

#[test]
fn files_that_are_no_archives() {
    kpack("info", Path::new("absent.kpack"))
        .failed(4, "absent.kpack: opening the archive: no such file");
    kpack("info", Path::new("/dev/null/x")).failed(4, "opening the archive: not a directory");
    kpack("info", Path::new("/")).failed(1, "is a directory");
    kpack("verify", Path::new("/dev/zero")).failed(1, "/dev/zero: ");
    kpack("list", Path::new(super::ROCLOAD)).failed(3, "not a kpack archive: it begins with");
}

#[test]
fn a_reader_that_goes_away_is_not_missed() {
    let large = rocload_fixtures::large::Large::new(
        4000,
        700,
        &["gfx1030", "gfx906"],
        rocload_fixtures::kpack::Scheme::ZstdPerKernel,
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.kpack");
    large.write(&path).unwrap();
    for words in [&["list"][..], &["list", "--json"], &["list", "-v", "--identify"]] {
        let mut child = command()
            .arg("kpack")
            .args(words)
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // More than a pipe holds is to come when the reader leaves.
        let mut first = [0; 100];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut first).unwrap();
        drop(out);
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), &*err), (Some(0), ""), "{words:?}");
    }

    // The verdict counts, whether or not anybody reads it.
    let bad = rocload_fixtures::bad_archives().next().unwrap().file();
    for words in [&["verify", "--json"][..], &["list", "--json"]] {
        let mut child =
            command().arg("kpack").args(words).arg(&bad).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }
}

#[test]
fn output_that_cannot_be_written() {
    for words in [&["kpack", "list"][..], &["kpack", "list", "--json"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut run = command();
        run.args(words).arg(demo("zstd")).stdout(full).stderr(Stdio::piped());
        let ran: Ran = run.output().unwrap().into();
        ran.failed(1, "writing to standard output: no space left on device");
    }
    // Nothing to read, nothing to write to: still the right status.
    let closed = std::process::Command::new("sh")
        .args(["-c", "exec \"$0\" kpack verify \"$1\" >&- 2>&-", super::ROCLOAD])
        .arg(demo("zstd"))
        .status()
        .unwrap();
    assert_eq!(closed.code(), Some(0));
}

#[test]
fn help_has_examples() {
    for line in
        ["", "kpack list", "kpack info", "kpack verify", "kpack extract", "demo", "completions"]
    {
        let ran = rocload(line.split_whitespace().chain(["--help"])).fine();
        assert!(ran.out.contains("Examples:\n  rocload "), "{line}: {}", ran.out);
        assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{}", ran.out);
    }
    let version = rocload(["--version"]).fine().out;
    assert_eq!(version, format!("rocload {}\n", env!("CARGO_PKG_VERSION")));
}

//! Every listed GGUF file through the built command: exit status, what is told, memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rocload_fixtures::gguf::{Verdict, committed};

use super::{ROCLOAD, Ran, gguf};

/// The files of both lists: path, default verdict, strict verdict.
fn files() -> Vec<(PathBuf, [Verdict; 2])> {
    let own = committed().into_iter().map(|case| (case.file(), [case.default, case.strict]));
    let mut files: Vec<_> = own.collect();
    if let Some(data) = rocload_fixtures::shared_data_or_skip("gguf_files") {
        let list = fs::read_to_string(data.join("gguf/MANIFEST.tsv")).unwrap();
        for line in list.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            let verdicts = [cells[2], cells[3]].map(Verdict::parse);
            files.push((data.join("gguf").join(cells[0]), verdicts));
        }
        assert!(files.len() > 150, "{}", files.len());
    }
    files
}

#[track_caller]
fn judged(ran: &Ran, verdict: Verdict, path: &Path) {
    let what = format!("{}: {}: {ran:?}", path.display(), verdict.as_str());
    assert!(!ran.err.contains("panicked"), "{what}");
    match verdict {
        Verdict::Ok => assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{what}"),
        Verdict::Warn => {
            assert_eq!(ran.code, Some(0), "{what}");
            assert!(ran.err.contains(": warning: "), "{what}");
        }
        Verdict::Malformed => {
            assert_eq!(ran.code, Some(3), "{what}");
            assert!(!ran.err.contains("the header is sound"), "{what}");
        }
        Verdict::Short => {
            assert_eq!(ran.code, Some(3), "{what}");
            assert!(ran.err.contains("of tensor data are missing"), "{what}");
        }
        Verdict::Set => {
            let missing = ran.err.contains(" missing");
            assert_eq!(ran.code, Some(if missing { 4 } else { 3 }), "{what}");
            assert!(ran.err.contains("shard") || ran.err.contains("split."), "{what}");
        }
        Verdict::Either => assert!(matches!(ran.code, Some(0 | 3)), "{what}"),
    }
}

#[test]
fn verify_gives_every_file_its_verdict() {
    for (path, [default, strict]) in files() {
        judged(&gguf("verify", [&path]), default, &path);
        judged(&gguf("verify --strict", [&path]), strict, &path);
        judged(&gguf("verify --strict=spec", [&path]), strict, &path);
        let json = gguf("verify --json", [&path]);
        let value = json.json();
        assert_eq!(value["ok"], json.code == Some(0), "{json:?}");
        assert_eq!(json.err, "", "{json:?}");
        match (default, value["verdict"].as_str().unwrap()) {
            (Verdict::Either, "ok" | "warn" | "malformed") => {}
            (default, found) => assert_eq!(found, default.as_str(), "{json:?}"),
        }
    }
}

#[test]
fn strict_llama_takes_what_llama_cpp_takes() {
    let Some(data) = rocload_fixtures::shared_data_or_skip("strict_llama") else { return };
    let list = fs::read_to_string(data.join("gguf/MANIFEST.tsv")).unwrap();
    let mut seen = 0;
    for line in list.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, _, default, _, llama, ..] = cells[..] else { panic!("{line}") };
        // Its header reader does not look at data or sets, and one sum near 2^64 is refused here.
        if matches!(default, "short" | "set" | "either") || file.contains("tensor-sum-overflow") {
            continue;
        }
        let ran = gguf("verify --strict=llama", [data.join("gguf").join(file)]);
        let wanted = if llama == "accept" { 0 } else { 3 };
        assert_eq!(ran.code, Some(wanted), "{file}: {ran:?}");
        seen += 1;
    }
    assert!(seen > 90, "{seen}");
}

/// Data and stacks of the process, in KiB: with 8 MiB for the program itself less than 64 MiB.
const MEMORY: &str = "ulimit -d 57344";

#[test]
fn no_file_takes_64_mib_or_a_crash() {
    for (path, _) in files() {
        for words in [
            &["verify"][..],
            &["show", "--json"],
            &["show", "--all"],
            &["tensors"],
            &["template", "--list"],
            &["fit", "--vram", "8G"],
            &["hash"],
        ] {
            let script = format!("{MEMORY} && exec \"$0\" gguf \"$@\"");
            let mut command = Command::new("sh");
            command.args(["-c", &script, ROCLOAD]).args(words).arg(&path).stdin(Stdio::null());
            let ran: Ran = command.output().unwrap().into();
            let what = format!("{words:?} {}: {ran:?}", path.display());
            assert!(matches!(ran.code, Some(0 | 3 | 4)), "{what}");
            assert!(!ran.err.contains("no memory") && !ran.err.contains("panicked"), "{what}");
        }
    }
}

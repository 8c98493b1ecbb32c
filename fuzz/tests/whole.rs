//! Nothing of a target is missing: its function, binary, corpus, dictionary, replay and its lines in
//! the README; and the sums of the ledger are right.
//!
//! `ROCLOAD_UPDATE=1 cargo test -p rocload-fuzz --test whole` writes the sums anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rocload_fuzz::TARGETS;

/// Without a dictionary: their bytes are choices, or counts and lengths.
const WITHOUT: [&str; 11] = [
    "frame_index",
    "gguf_fit",
    "gguf_header",
    "gguf_write",
    "http_deadline",
    "http_reply",
    "http_request",
    "kpack_model",
    "llama_events",
    "llama_request",
    "zstd_blocks",
];
/// The most that a corpus may take, in bytes.
const MOST: u64 = 2 << 20;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_target_is_whole() {
    let (manifest, replay, readme) =
        (read("Cargo.toml"), read("tests/replay.rs"), read("README.md"));
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    for (name, _) in TARGETS {
        let binary = format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"");
        assert!(manifest.contains(&binary), "{name}: no binary");
        let call = format!("rocload_fuzz::{name}(bytes)");
        assert!(read(format!("fuzz_targets/{name}.rs")).contains(&call), "{name}: other call");
        let replayed = format!("replay(\"{name}\", rocload_fuzz::{name});");
        assert!(replay.contains(&replayed), "{name}: no replay");
        assert!(readme.contains(&format!("\n| `{name}` | ")), "{name}: no row in README.md");
        let files = fs::read_dir(root().join("corpus").join(name));
        let files: Vec<_> = files.unwrap_or_else(|_| panic!("{name}: no corpus")).collect();
        assert!(!files.is_empty(), "{name}: an empty corpus");
        let bytes: u64 =
            files.into_iter().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= MOST, "{name}: {bytes} bytes of corpus");
    }
}

/// The tokens of a dictionary, in the form that libFuzzer reads: `"..."` or `name="..."`.
fn tokens(text: &str) -> Option<usize> {
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let quoted = line.get(line.find('"')?..)?.strip_prefix('"')?.strip_suffix('"')?;
        let mut rest = quoted.bytes();
        while let Some(byte) = rest.next() {
            match byte {
                b'\\' => match rest.next()? {
                    b'\\' | b'"' => {}
                    b'x' if rest.next()?.is_ascii_hexdigit()
                        && rest.next()?.is_ascii_hexdigit() => {}
                    _ => return None,
                },
                b'"' => return None,
                b' '..=b'~' => {}
                _ => return None,
            }
        }
        count += 1;
    }
    Some(count)
}

#[test]
fn dictionaries_can_be_read_and_belong_to_targets() {
    assert_eq!(tokens("# none\na=\"\\x0Ab\\\\\\\"\"\n\"c\""), Some(2));
    assert_eq!((tokens("\"\\n\""), tokens("a"), tokens("\"a\"b\"")), (None, None, None));
    for (name, _) in TARGETS {
        let path = root().join("dict").join(format!("{name}.dict"));
        assert_ne!(path.exists(), WITHOUT.contains(name), "{name}: a dictionary or a reason");
        if path.exists() {
            let count = tokens(&fs::read_to_string(path).unwrap());
            assert!(count.is_some_and(|count| count > 0), "{name}: its dictionary cannot be read");
        }
    }
    for file in fs::read_dir(root().join("dict")).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(TARGETS.iter().any(|(target, _)| *target == name), "{name}: no target");
    }
}

/// The executions of each target, by the ledger.
fn sums(readme: &str) -> BTreeMap<&str, u64> {
    let mut sums: BTreeMap<&str, u64> = TARGETS.iter().map(|(name, _)| (*name, 0)).collect();
    let (_, ledger) = readme.split_once("## Ledger").expect("a ledger");
    for row in ledger.lines().take_while(|line| !line.starts_with("## ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, date, _, target, executions, _, _, _, _] = cells[..] else { continue };
        if !date.starts_with("20") {
            continue;
        }
        let target = target.split(' ').next().unwrap_or_default();
        let count: u64 = executions.replace(',', "").parse().unwrap_or_else(|_| panic!("{row}"));
        *sums.get_mut(target).unwrap_or_else(|| panic!("{row}: no such target")) += count;
    }
    sums
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

#[test]
fn the_sums_are_those_of_the_ledger() {
    const BEGIN: &str = "<!-- sums -->\n";
    const END: &str = "<!-- end of the sums -->";
    let readme = read("README.md");
    let mut table = String::from("| target | executions in all |\n|---|---|\n");
    for (name, sum) in sums(&readme) {
        table.push_str(&format!("| {name} | {} |\n", grouped(sum)));
    }
    let (before, rest) = readme.split_once(BEGIN).expect("the table of sums");
    let (found, after) = rest.split_once(END).expect("its end");
    if found != table && std::env::var_os("ROCLOAD_UPDATE").is_some() {
        fs::write(root().join("README.md"), [before, BEGIN, &table, END, after].concat()).unwrap();
        return;
    }
    assert!(found == table, "the sums of the ledger are:\n{table}");
    assert_eq!(grouped(1_234_567), "1,234,567");
}

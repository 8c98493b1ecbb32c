//! The programs run on what is committed, and the guide shows them as they are.

use std::fs;
use std::path::Path;
use std::process::Command;

const PROGRAMS: [(&str, &str); 4] = [
    ("file", env!("CARGO_BIN_EXE_file")),
    ("socket", env!("CARGO_BIN_EXE_socket")),
    ("flash", env!("CARGO_BIN_EXE_flash")),
    ("object_store", env!("CARGO_BIN_EXE_object_store")),
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of code of the guide, each with the comment `<!-- ... -->` before it.
fn blocks(guide: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    for part in guide.split("<!-- ").skip(1) {
        let (about, rest) = part.split_once(" -->\n").expect("a comment on a line of its own");
        let block = rest.strip_prefix("```").and_then(|rest| rest.split_once('\n'));
        let (_, block) = block.expect("a block of code follows at once");
        blocks.push((about, block.split("```").next().unwrap()));
    }
    blocks
}

#[test]
fn each_prints_what_the_guide_says() {
    let guide = read("docs/embedding.md");
    let blocks = blocks(&guide);
    for (name, program) in PROGRAMS {
        let ran = Command::new(program).output().unwrap();
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && error.is_empty(), "{name}: {error}");
        let said = blocks.iter().find(|(about, _)| *about == format!("prints: {name}"));
        let (_, said) = said.unwrap_or_else(|| panic!("the guide shows what {name} prints"));
        assert_eq!(String::from_utf8_lossy(&ran.stdout), *said, "{name}");
    }
}

#[test]
fn the_guide_quotes_them() {
    let guide = read("docs/embedding.md");
    let mut quoted = Vec::new();
    for (about, block) in blocks(&guide) {
        let Some(file) = about.strip_prefix("from: ") else { continue };
        assert!(block.lines().count() > 5, "{file}");
        assert!(read(file).contains(block), "{file} has not: {block}");
        quoted.push(file);
    }
    for (name, _) in PROGRAMS {
        assert!(quoted.contains(&&*format!("examples/{name}.rs")), "{name} is not quoted");
    }
    // No block escapes the comparison.
    let fences = guide.lines().filter(|line| line.starts_with("```rust")).count();
    assert_eq!(fences, quoted.len());
}

#[test]
fn a_file_that_is_cut_is_an_error_and_not_a_panic() {
    let folder = std::env::temp_dir().join(format!("rocload-examples-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let whole =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/kpack/demo_zstd.kpack"));
    let (whole, cut) = (whole.unwrap(), folder.join("cut.kpack"));
    for len in [0, 1, 15, 16, 64, 5000, whole.len() - 1] {
        fs::write(&cut, &whole[..len]).unwrap();
        let ran = Command::new(PROGRAMS[0].1).arg(&cut).output().unwrap();
        assert_eq!(ran.status.code(), Some(1), "{len}: {ran:?}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

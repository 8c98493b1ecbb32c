//! The front page's programs are those of the examples, which are compiled.

use std::fs;
use std::path::Path;

/// The blocks of code of a text that begin with this line.
fn block<'t>(text: &'t str, first: &str) -> &'t str {
    let start = text.find(&format!("```rust\n{first}\n\n")).expect("the block is there");
    let block = &text[start + "```rust\n".len() + first.len() + 2..];
    &block[..block.find("```").expect("a block ends")]
}

/// Without what stands before each line.
fn flat(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_same_program_blocking_and_with_tokio() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("../README.md")).unwrap();
    let blocking = block(&readme, "use rocload::blocking::Server;");
    let tokio = block(&readme, "use rocload::tokio::Server;");
    for (name, block) in [("chat_blocking", blocking), ("chat_tokio", tokio)] {
        let example = fs::read_to_string(root.join(format!("examples/{name}.rs"))).unwrap();
        let (example, block) = (flat(&example), flat(block));
        assert!(block.len() > 5);
        assert!(example.windows(block.len()).any(|lines| lines == block), "{name}: {block:?}");
    }
    assert_eq!(tokio.replace(".await", ""), blocking);
}

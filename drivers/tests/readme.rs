//! The front page's programs are those of the examples, which are compiled, and the tour runs.

use std::fs;
use std::path::Path;

#[path = "../examples/tour.rs"]
#[allow(dead_code, reason = "it has a main of its own")]
mod tour;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The blocks of Rust, each with the file that the line before it names.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    for part in text.split("<!-- from: ").skip(1) {
        let (file, rest) = part.split_once(" -->\n```rust\n").expect("a block of Rust follows");
        blocks.push((file, rest.split("```").next().unwrap()));
    }
    blocks
}

/// Without what stands before each line.
fn flat(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn programs_are_those_of_the_examples() {
    let readme = read("README.md");
    let blocks = blocks(&readme);
    assert!(blocks.len() >= 6, "{}", blocks.len());
    let fences = readme.lines().filter(|line| line.starts_with("```rust")).count();
    assert_eq!(fences, blocks.len(), "a block that is from nowhere");
    for (file, block) in blocks {
        let (example, block) = (read(file), flat(block));
        let example = flat(&example);
        // What is imported may stand apart from the rest.
        let (used, rest) =
            block.split_at(block.iter().take_while(|line| line.starts_with("use ")).count());
        assert!(rest.len() > 5, "{file}");
        assert!(used.iter().all(|line| example.contains(line)), "{file}: {used:?}");
        assert!(example.windows(rest.len()).any(|lines| lines == rest), "{file}: {rest:?}");
    }
}

#[test]
fn the_same_program_blocking_and_with_tokio() {
    let readme = read("README.md");
    let blocks = blocks(&readme);
    let find = |name: &str| {
        let block = blocks.iter().find(|(file, _)| file.ends_with(name)).expect(name).1;
        block.split_once(";\n").expect("what it uses").1
    };
    assert_eq!(find("chat_tokio.rs").replace(".await", ""), find("chat_blocking.rs"));
}

#[cfg(unix)]
#[test]
fn the_tour_runs() {
    tour::tour().unwrap();
}

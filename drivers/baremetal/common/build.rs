//! Makes what the loaders read and are checked against: the rows of the archive's manifest, which
//! the fixtures' generator wrote, the front of a model, the events of an answer.

use std::path::PathBuf;
use std::{env, fs};

/// How much of the model a small flash holds: its header and the first of its tensors.
const FRONT: usize = 8 << 10;

fn main() {
    let fixtures = PathBuf::from("../../../fixtures");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let read = |path: &str| {
        let path = fixtures.join(path);
        println!("cargo::rerun-if-changed={}", path.display());
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };

    // A row a line: ["binary","arch",size,"sha256"].
    let manifest = String::from_utf8(read("kpack/board.manifest.json")).expect("UTF-8");
    let rows: Vec<String> = manifest
        .lines()
        .filter(|line| line.starts_with("[\""))
        .map(|line| {
            let cells: Vec<&str> =
                line.trim_end_matches(',').trim_matches(['[', ']']).split(',').collect();
            let [binary, arch, size, sum] = cells[..] else { panic!("four cells: {line}") };
            let sum = sum.trim_matches('"');
            let byte = |at| u8::from_str_radix(&sum[at..at + 2], 16).expect("a byte");
            let sum: Vec<u8> = (0..64).step_by(2).map(byte).collect();
            format!("Row {{ binary: {binary}, arch: {arch}, size: {size}, sha256: {sum:?} }}")
        })
        .collect();
    assert!(!rows.is_empty(), "the manifest has rows");
    let rows = format!("&[\n{}\n]\n", rows.join(",\n"));
    fs::write(out.join("rows.rs"), rows).expect("OUT_DIR can be written");

    let model = read("gguf/tiny-llama.gguf");
    fs::write(out.join("model.gguf"), &model[..FRONT]).expect("OUT_DIR can be written");
    fs::write(out.join("events.txt"), body(&read("sse/chat.http"))).expect("it can be written");
    fs::write(out.join("model.len"), format!("{}\n", model.len())).expect("it can be written");
}

/// The body of a response in chunks: a length in hexadecimal digits, CR LF, so many bytes, CR LF.
fn body(response: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(response).expect("UTF-8");
    let (_, mut rest) = text.split_once("\r\n\r\n").expect("a head");
    let mut body = String::new();
    while let Some((len, chunk)) = rest.split_once("\r\n") {
        let (data, after) = chunk.split_at(usize::from_str_radix(len, 16).expect("a length"));
        body.push_str(data);
        rest = after.strip_prefix("\r\n").expect("the end of a chunk");
    }
    body.into_bytes()
}

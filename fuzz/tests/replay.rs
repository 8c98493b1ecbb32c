//! Every committed input of every target, on any toolchain.

use std::fs;
use std::io::Write as _;
use std::path::Path;

/// Runs `target` over the files of its corpus.
fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{}: no inputs", folder.display());
    let mut bytes = 0;
    for file in &files {
        let input = fs::read(file).unwrap();
        // Shown by the test runner when the input breaks a law.
        println!("{}", file.display());
        target(&input);
        bytes += input.len();
    }
    // Not captured by the test runner: a gate's log shows that the corpora were there.
    let mut log = std::io::stderr();
    writeln!(log, "{name}: {} inputs, {bytes} bytes replayed", files.len()).unwrap();
}

#[test]
fn kpack_open() {
    replay("kpack_open", rocload_fuzz::kpack_open);
}

#[test]
fn kpack_kernel() {
    replay("kpack_kernel", rocload_fuzz::kpack_kernel);
}

#[test]
fn kpack_roundtrip() {
    replay("kpack_roundtrip", rocload_fuzz::kpack_roundtrip);
}

#[test]
fn msgpack() {
    replay("msgpack", rocload_fuzz::msgpack);
}

#[test]
fn zstd_frame() {
    replay("zstd_frame", rocload_fuzz::zstd_frame);
}

#[test]
fn zstd_stream() {
    replay("zstd_stream", rocload_fuzz::zstd_stream);
}

#[test]
fn gguf_split() {
    replay("gguf_split", rocload_fuzz::gguf_split);
}

#[test]
fn gguf_reader() {
    replay("gguf_reader", rocload_fuzz::gguf_reader);
}

#[test]
fn gguf_tensors() {
    replay("gguf_tensors", rocload_fuzz::gguf_tensors);
}

#[test]
fn serve() {
    replay("serve", rocload_fuzz::serve);
}

#[test]
fn sysfs() {
    replay("sysfs", rocload_fuzz::sysfs);
}

#[test]
fn sse() {
    replay("sse", rocload_fuzz::sse);
}

#[test]
fn http_response() {
    replay("http_response", rocload_fuzz::http_response);
}

#[test]
fn llama_chunk() {
    replay("llama_chunk", rocload_fuzz::llama_chunk);
}

#[test]
fn json_scan() {
    replay("json_scan", rocload_fuzz::json_scan);
}

#[test]
fn bundle() {
    replay("bundle", rocload_fuzz::bundle);
}

#[test]
fn hipk_reference() {
    replay("hipk_reference", rocload_fuzz::hipk_reference);
}

#[test]
fn kpack_search() {
    replay("kpack_search", rocload_fuzz::kpack_search);
}

#[test]
fn target_id() {
    replay("target_id", rocload_fuzz::target_id);
}

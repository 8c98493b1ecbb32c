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

#[test]
fn kpack_model() {
    replay("kpack_model", rocload_fuzz::kpack_model);
}

#[test]
fn zstd_blocks() {
    replay("zstd_blocks", rocload_fuzz::zstd_blocks);
}

#[test]
fn gguf_header() {
    replay("gguf_header", rocload_fuzz::gguf_header);
}

#[test]
fn gguf_write() {
    replay("gguf_write", rocload_fuzz::gguf_write);
}

#[test]
fn gguf_fit() {
    replay("gguf_fit", rocload_fuzz::gguf_fit);
}

#[test]
fn http_reply() {
    replay("http_reply", rocload_fuzz::http_reply);
}

#[test]
fn http_request() {
    replay("http_request", rocload_fuzz::http_request);
}

#[test]
fn http_deadline() {
    replay("http_deadline", rocload_fuzz::http_deadline);
}

#[test]
fn llama_events() {
    replay("llama_events", rocload_fuzz::llama_events);
}

#[test]
fn llama_request() {
    replay("llama_request", rocload_fuzz::llama_request);
}

#[test]
fn llama_bodies() {
    replay("llama_bodies", rocload_fuzz::llama_bodies);
}

#[test]
fn visible_devices() {
    replay("visible_devices", rocload_fuzz::visible_devices);
}

#[test]
fn serve_lines() {
    replay("serve_lines", rocload_fuzz::serve_lines);
}

#[test]
fn serve_start() {
    replay("serve_start", rocload_fuzz::serve_start);
}

#[test]
fn frame_index() {
    replay("frame_index", rocload_fuzz::frame_index);
}

//! The writer makes, byte for byte, what writers that know nothing of it have made.

use laws::gguf_write::{read, rewrites, write};
use rocload_fixtures::gguf::{Verdict, committed};
use rocload_fixtures::tiny_llama::tiny_llama;

#[test]
fn the_tiny_model_is_made_byte_for_byte() {
    let model = tiny_llama();
    let file = read(&model).unwrap();
    let mut ours = write(&file).unwrap();
    assert_eq!(ours.len(), model.len());
    // The generator's keys, tensors and layout; then its weights in their places.
    let data = ours.len()
        - file
            .tensors
            .iter()
            .map(|(_, dims, ty)| ty.tensor_bytes(dims).unwrap().next_multiple_of(32) as usize)
            .sum::<usize>();
    ours[data..].copy_from_slice(&model[data..]);
    assert!(ours == model, "the header differs");
}

#[test]
fn sound_fixtures_are_written_again() {
    let mut seen = 0;
    for case in committed() {
        if case.default == Verdict::Ok {
            let bytes = std::fs::read(case.file()).unwrap();
            rewrites(&bytes).unwrap_or_else(|broken| panic!("{}: {broken}", case.path));
            seen += 1;
        }
    }
    assert!(seen >= 14, "{seen}");
}

#[test]
fn shared_files_are_written_again() {
    let Some(data) = rocload_fixtures::shared_data_or_skip("shared_files_are_written_again") else {
        return;
    };
    for name in [
        "tiny-llama-f32",
        "align-64",
        "align-8",
        "big-endian-v3",
        "v1",
        "v2",
        "v1-mini",
        "v2-mini",
        "v3-mini",
        "all-value-types",
        "all-ggml-types",
        "head-count-arrays",
        "mmproj-tiny-f32",
        "imatrix",
        "zero-dim",
        "header-only",
        "string-non-utf8",
        "token-non-utf8",
        "split/tiny-00002-of-00003",
    ] {
        let bytes = std::fs::read(data.join(format!("gguf/ok/{name}.gguf"))).unwrap();
        rewrites(&bytes).unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
}

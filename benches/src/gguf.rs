//! Model files that are measured, and the readers of their headers: ours and the peers'.

use std::fs::{self, File};
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::Content;
use rocload::drive::{Window, read_at};
use rocload::{FileAt, ReadAt};
use rocload_core::gguf::{Check, Options, Reader, Summary, Verdict, Want, Wanted};
use rocload_core::{Capped, End};
use rocload_fixtures::gguf::{Raw, ty};
use rocload_fixtures::rng::Rng;

use crate::input::target;
use crate::peer;

/// Bytes of the sparse model: 6 GB.
pub const SPARSE_BYTES: u64 = 6_000_000_000;
/// Tokens of its vocabulary; as many merges.
pub const SPARSE_TOKENS: u32 = 262_144;
/// Tokens of the vocabulary file of 6 MB.
pub const VOCABULARY_TOKENS: u32 = 151_936;

/// What somebody who lists models wants of one.
pub const WANTED: [&str; 5] = [
    "general.architecture",
    "general.name",
    "{arch}.context_length",
    "{arch}.block_count",
    "{arch}.embedding_length",
];

/// A token of 1 to 12 letters, about 6.
fn token(rng: &mut Rng, text: &mut String) {
    text.clear();
    let len = 1 + rng.below(6) + rng.below(7);
    text.extend((0..len).map(|_| char::from(b'a' + rng.below(26) as u8)));
}

/// The keys that precede a vocabulary in files of llama.cpp's writer, and the vocabulary.
fn keys(raw: &mut Raw, tokens: u32, merges: u32) {
    let mut rng = Rng::new(0x0006_60ff);
    raw.text_pair("general.architecture", "gemma3");
    raw.text_pair("general.type", "model");
    raw.text_pair("general.name", "A model to measure with");
    raw.text_pair("general.size_label", "12B");
    raw.u32_pair("general.file_type", 15);
    for (name, value) in [
        ("context_length", 131_072),
        ("block_count", 48),
        ("embedding_length", 3840),
        ("feed_forward_length", 15_360),
        ("attention.head_count", 16),
        ("attention.head_count_kv", 8),
        ("attention.key_length", 256),
        ("attention.value_length", 256),
        ("attention.sliding_window", 1024),
    ] {
        raw.u32_pair(&format!("gemma3.{name}"), value);
    }
    raw.text_pair("tokenizer.ggml.model", "gpt2");
    raw.text_pair("tokenizer.ggml.pre", "default");
    let mut text = String::new();
    raw.array("tokenizer.ggml.tokens", ty::STRING, tokens.into());
    for _ in 0..tokens {
        token(&mut rng, &mut text);
        raw.text(&text);
    }
    raw.array("tokenizer.ggml.scores", ty::F32, tokens.into());
    (0..tokens).for_each(|at| raw.u32((-(at as f32)).to_bits()));
    raw.array("tokenizer.ggml.token_type", ty::I32, tokens.into());
    (0..tokens).for_each(|_| raw.u32(1));
    raw.array("tokenizer.ggml.merges", ty::STRING, merges.into());
    let mut second = String::new();
    for _ in 0..merges {
        token(&mut rng, &mut text);
        token(&mut rng, &mut second);
        raw.text(&format!("{text} {second}"));
    }
    raw.u32_pair("tokenizer.ggml.bos_token_id", 2);
    raw.text_pair("tokenizer.chat_template", &"{% for message in messages %}".repeat(80));
}

const KEYS: u64 = 22;

/// The sparse model: its header is written, the rest is a hole.
fn sparse_header() -> Vec<u8> {
    // Layers of 12 tensors; the types are ones that every peer knows.
    let layers = 48u64;
    let mut raw = Raw::new(3, false);
    raw.counts(2 + layers * 12, KEYS);
    keys(&mut raw, SPARSE_TOKENS, SPARSE_TOKENS);
    let mut offset = 0u64;
    let mut row = |raw: &mut Raw, name: &str, dims: &[u64], ty: u32, block: (u64, u64)| {
        raw.tensor(name, dims, ty, offset);
        let bytes = dims.iter().product::<u64>() / block.0 * block.1;
        offset += bytes.next_multiple_of(32);
    };
    let (q4_k, q6_k, f32) = ((12, (256, 144)), (14, (256, 210)), (0, (1, 4)));
    let wide = 3840u64;
    row(&mut raw, "token_embd.weight", &[wide, SPARSE_TOKENS.into()], q6_k.0, q6_k.1);
    for layer in 0..layers {
        for (name, dims, (ty, block)) in [
            ("attn_q", &[wide, 4096][..], q4_k),
            ("attn_k", &[wide, 2048], q4_k),
            ("attn_v", &[wide, 2048], q6_k),
            ("attn_output", &[4096, wide], q4_k),
            ("ffn_gate", &[wide, 11_264], q4_k),
            ("ffn_up", &[wide, 12_288], q4_k),
            ("ffn_down", &[12_288, wide], q4_k),
            ("attn_norm", &[wide], f32),
            ("ffn_norm", &[wide], f32),
            ("attn_q_norm", &[256], f32),
            ("attn_k_norm", &[256], f32),
            ("post_attention_norm", &[wide], f32),
        ] {
            row(&mut raw, &format!("blk.{layer}.{name}.weight"), dims, ty, block);
        }
    }
    row(&mut raw, "output_norm.weight", &[wide], f32.0, f32.1);
    raw.align(32);
    let end = raw.0.len() as u64 + offset;
    assert!(end < SPARSE_BYTES, "{end} bytes are needed");
    raw.0
}

fn make(name: &str, bytes: impl FnOnce() -> Vec<u8>, len: u64) -> PathBuf {
    let folder = target().join("rocload-benches");
    let path = folder.join(name);
    if !path.is_file() {
        fs::create_dir_all(&folder).expect("the target folder takes a folder");
        let new = folder.join(format!("{name}.new"));
        fs::write(&new, bytes()).expect("the target folder takes the model");
        if len > 0 {
            let file = File::options().write(true).open(&new).expect("it is there");
            file.set_len(len).expect("the file system takes a hole");
        }
        fs::rename(&new, &path).expect("one folder");
    }
    path
}

/// The sparse model of 6 GB with a vocabulary of 262,144 tokens; made at the first call.
///
/// # Panics
/// When it cannot be written.
pub fn sparse() -> PathBuf {
    make("sparse-6g.gguf", sparse_header, SPARSE_BYTES)
}

/// A vocabulary without a model, 6 MB; made at the first call.
///
/// # Panics
/// When it cannot be written.
pub fn vocabulary() -> PathBuf {
    let bytes = || {
        let mut raw = Raw::new(3, false);
        raw.counts(0, KEYS);
        keys(&mut raw, VOCABULARY_TOKENS, 112_000);
        raw.0
    };
    make("vocabulary-6m.gguf", bytes, 0)
}

/// The project's own tiny model.
pub fn tiny() -> PathBuf {
    rocload_fixtures::fixtures_dir().join("gguf/tiny-llama.gguf")
}

/// Reads the whole header for its summary.
///
/// # Errors
/// The file's.
pub fn summary(source: &(impl ReadAt + ?Sized)) -> peer::Result<Summary> {
    let mut summary = Summary::new();
    let total = source.total()?;
    let mut reader = Reader::new(Some(total), Options::default(), [0u8; 256], Summary::interest());
    let flow = read_at(source, &mut reader, &mut Window::new(), |item| {
        summary.see(&item);
        ControlFlow::<()>::Continue(())
    })?;
    match flow {
        ControlFlow::Continue(End::Complete) => Ok(summary),
        other => Err(format!("{other:?}").into()),
    }
}

/// Reads the whole header with the check of all rules.
///
/// # Errors
/// The file's.
pub fn check(source: &(impl ReadAt + ?Sized)) -> peer::Result<Verdict> {
    let total = source.total()?;
    let table = Capped::new(64 << 20);
    let mut check = Check::new(Some(total), Options::default(), [0u8; 256], table, Want::Nothing);
    let _ = read_at(source, &mut check, &mut Window::new(), |_| ControlFlow::<()>::Continue(()))?;
    check.verdict().ok_or_else(|| "no verdict".into())
}

/// Reads the keys of [`WANTED`] and stops; how many values there were.
///
/// # Errors
/// The file's.
pub fn wanted(source: &(impl ReadAt + ?Sized)) -> peer::Result<u32> {
    let total = source.total()?;
    let wanted = Wanted::new(&WANTED);
    let mut reader = Reader::new(Some(total), Options::default(), [0u8; 256], wanted);
    let mut keys = 0;
    let _ = read_at(source, &mut reader, &mut Window::new(), |item| {
        keys += u32::from(matches!(item, rocload_core::gguf::Item::Key(_)));
        ControlFlow::<()>::Continue(())
    })?;
    Ok(keys)
}

/// [`summary`] of a file.
///
/// # Errors
/// The file's.
pub fn open_summary(path: &Path) -> peer::Result<Summary> {
    summary(&FileAt::open(path)?)
}

/// [`check`] of a file.
///
/// # Errors
/// The file's.
pub fn open_check(path: &Path) -> peer::Result<Verdict> {
    check(&FileAt::open(path)?)
}

/// [`wanted`] of a file.
///
/// # Errors
/// The file's.
pub fn open_wanted(path: &Path) -> peer::Result<u32> {
    wanted(&FileAt::open(path)?)
}

/// The header as candle-core reads it.
///
/// # Errors
/// The file's.
pub fn candle(path: &Path) -> peer::Result<Content> {
    Ok(Content::read(&mut BufReader::new(File::open(path)?))?)
}

/// The header as gguf-rs reads it, with `elements` of each array.
///
/// # Errors
/// The file's.
pub fn gguf_rs(path: &Path, elements: u64) -> peer::Result<gguf_rs::GGUFModel> {
    let path = path.to_str().ok_or("a path in UTF-8")?;
    Ok(gguf_rs::get_gguf_container_array_size(path, elements)?.decode()?)
}

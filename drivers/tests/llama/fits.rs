//! Memory fit against what a real server logs that it allocates: for the project's own model, and
//! for one of each kind of cache, made for this with weights of no meaning.

use std::fs;
use std::path::{Path, PathBuf};

use laws::gguf_write::{File, Owned, read, write};
use rocload::Model;
use rocload::gguf::fit::{Settings, Unknown};
use rocload::gguf::{GgmlType, Scalar, ValueType};
use rocload_fixtures::tiny_llama::tiny_llama;

use crate::server::{Server, program_or_skip};

const F32: GgmlType = GgmlType(0);
const Q8_0: GgmlType = GgmlType(8);
const Q4_0: GgmlType = GgmlType(2);

const EMBEDDING: u64 = 64;
const FEED_FORWARD: u64 = 96;
const HEAD: u64 = 32;
const HEADS: u64 = 4;

/// What a model of this kind has beside the keys of all.
struct Kind {
    arch: &'static str,
    layers: u64,
    /// Key and value heads.
    heads_kv: u64,
    keys: Vec<(&'static str, Scalar)>,
    /// Of each block: name, dimensions; a `0` stands for the width of its keys.
    block: Vec<(&'static str, Vec<u64>)>,
}

fn kinds() -> Vec<Kind> {
    let (e, f, q) = (EMBEDDING, FEED_FORWARD, HEADS * HEAD);
    let attention = || {
        vec![
            ("attn_norm.weight", vec![e]),
            ("attn_q.weight", vec![e, q]),
            ("attn_k.weight", vec![e, 0]),
            ("attn_v.weight", vec![e, 0]),
            ("attn_output.weight", vec![q, e]),
        ]
    };
    let feed_forward = || {
        vec![
            ("ffn_norm.weight", vec![e]),
            ("ffn_gate.weight", vec![e, f]),
            ("ffn_up.weight", vec![e, f]),
            ("ffn_down.weight", vec![f, e]),
        ]
    };
    let both = |more: Vec<(&'static str, Vec<u64>)>| [attention(), feed_forward(), more].concat();
    let epsilon = ("attention.layer_norm_rms_epsilon", Scalar::F32(1e-5));
    let head_norms = vec![("attn_q_norm.weight", vec![HEAD]), ("attn_k_norm.weight", vec![HEAD])];
    let posts = vec![("post_attention_norm.weight", vec![e]), ("post_ffw_norm.weight", vec![e])];
    vec![
        Kind { arch: "llama", layers: 3, heads_kv: 2, keys: vec![epsilon], block: both(vec![]) },
        Kind {
            arch: "qwen3",
            layers: 2,
            heads_kv: 2,
            keys: vec![epsilon],
            block: both(head_norms.clone()),
        },
        Kind {
            arch: "gemma2",
            layers: 5,
            heads_kv: 2,
            keys: vec![epsilon, ("attention.sliding_window", Scalar::U32(300))],
            block: both(posts.clone()),
        },
        Kind {
            arch: "gemma3",
            layers: 7,
            heads_kv: 1,
            keys: vec![epsilon, ("attention.sliding_window", Scalar::U32(1000))],
            block: both([head_norms, posts].concat()),
        },
        Kind {
            arch: "cohere2",
            layers: 6,
            heads_kv: 1,
            keys: vec![
                ("attention.layer_norm_epsilon", Scalar::F32(1e-5)),
                ("attention.sliding_window", Scalar::U32(700)),
                ("logit_scale", Scalar::F32(1.0)),
            ],
            // Its heads fill the residual stream, and it has one norm for both halves.
            block: both(vec![])
                .into_iter()
                .filter(|(name, _)| *name != "ffn_norm.weight")
                .map(|(name, dims)| {
                    (name, dims.into_iter().map(|n| if n == q { e } else { n }).collect())
                })
                .collect(),
        },
    ]
}

/// Tokens beyond those of the tiny model, so that the output is of a size that shows.
const MORE_TOKENS: usize = 6_000;

/// Makes a model of this kind.
fn make(kind: &Kind, tiny: &File) -> File {
    let heads = if kind.arch == "cohere2" { EMBEDDING / HEAD } else { HEADS };
    let number = |n: u64| Owned::Scalar(Scalar::U32(n as u32));
    let mut keys = vec![
        (b"general.architecture".to_vec(), Owned::String(kind.arch.into())),
        (b"general.type".to_vec(), Owned::String(b"model".to_vec())),
    ];
    let mut put = |name: &str, value: Owned| {
        keys.push((format!("{}.{name}", kind.arch).into_bytes(), value));
    };
    put("context_length", number(40_000));
    put("embedding_length", number(EMBEDDING));
    put("block_count", number(kind.layers));
    put("feed_forward_length", number(FEED_FORWARD));
    put("attention.head_count", number(heads));
    put("attention.head_count_kv", number(kind.heads_kv));
    put("attention.key_length", number(HEAD));
    put("attention.value_length", number(HEAD));
    put("rope.dimension_count", number(HEAD));
    for (name, value) in &kind.keys {
        put(name, Owned::Scalar(*value));
    }
    for (name, value) in tiny.keys.iter().filter(|(name, _)| name.starts_with(b"tokenizer.")) {
        let mut value = value.clone();
        if let Owned::Array { items, element } = &mut value {
            if name == b"tokenizer.ggml.tokens" {
                items.extend(
                    (0..MORE_TOKENS).map(|n| Owned::String(format!("<more-{n}>").into_bytes())),
                );
            } else if *element == ValueType::I32 {
                items.extend((0..MORE_TOKENS).map(|_| Owned::Scalar(Scalar::I32(1))));
            }
        }
        keys.push((name.clone(), value));
    }
    let tokens = 267 + MORE_TOKENS as u64;
    let mut tensors = vec![
        (b"token_embd.weight".to_vec(), vec![EMBEDDING, tokens], F32),
        (b"output_norm.weight".to_vec(), vec![EMBEDDING], F32),
    ];
    for layer in 0..kind.layers {
        for (name, dims) in &kind.block {
            let width = kind.heads_kv * HEAD;
            let dims = dims.iter().map(|&n| if n == 0 { width } else { n }).collect();
            tensors.push((format!("blk.{layer}.{name}").into_bytes(), dims, F32));
        }
    }
    File { version: 3, keys, tensors, ..tiny.clone() }
}

/// Settings, and the arguments that say the same.
fn settings() -> Vec<(Settings, Vec<&'static str>)> {
    let of =
        |context, parallel| Settings { context, parallel: Some(parallel), ..Settings::default() };
    vec![
        (Settings { context: 33_000, ..Settings::default() }, vec!["-c", "33000"]),
        (of(0, 1), vec!["-c", "0", "-np", "1"]),
        (of(200, 1), vec!["-c", "200", "-np", "1"]),
        (of(10_000, 3), vec!["-c", "10000", "-np", "3"]),
        (
            Settings { unified: Some(true), ..of(20_000, 3) },
            vec!["-c", "20000", "-np", "3", "-kvu"],
        ),
        (
            Settings { unified: Some(false), context: 9000, ..Settings::default() },
            vec!["-c", "9000", "-no-kvu"],
        ),
        (
            Settings { keys: Q8_0, values: Q4_0, ..of(16_384, 2) },
            vec!["-c", "16384", "-np", "2", "-ctk", "q8_0", "-ctv", "q4_0", "-fa", "on"],
        ),
        (
            Settings { ubatch: 64, swa_full: true, ..of(8192, 2) },
            vec!["-c", "8192", "-np", "2", "-ub", "64", "--swa-full"],
        ),
        (Settings { batch: 100, ..of(30_000, 2) }, vec!["-c", "30000", "-np", "2", "-b", "100"]),
    ]
}

/// Sizes on the lines that have `what`, in hundredths of a MiB.
fn logged(log: &str, what: &str) -> Vec<u64> {
    log.lines()
        .filter_map(|line| line.split_once(what))
        .map(|(_, size)| {
            let number = size.split_whitespace().next().expect("a number");
            number.replace('.', "").parse().expect("two decimals")
        })
        .collect()
}

/// Rounded as `printf` does: halves to the even side.
fn hundredths(bytes: u64) -> u64 {
    let (whole, rest) = ((bytes * 100) >> 20, (bytes * 100) & ((1 << 20) - 1));
    whole + u64::from(rest > 1 << 19 || (rest == 1 << 19 && whole % 2 == 1))
}

/// Starts the server on a model under each setting, or every so many, and compares.
fn compare(program: &Path, path: &Path, every: usize) {
    let model = Model::open(path).unwrap();
    for (settings, args) in settings().into_iter().step_by(every) {
        let what = format!("{}: {args:?}", path.display());
        let law = model.facts().fit(&settings, None).unwrap_or_else(|why| panic!("{what}: {why}"));
        let need = law.need().unwrap();
        let common = ["-lv", "4", "-fit", "off", "--no-warmup"];
        let server = Server::start(program, path, &[&common[..], &args[..]].concat());
        let log = server.log();
        let cache: Vec<u64> = logged(&log, " KV buffer size =");
        let own: Vec<u64> = [need.kv - need.kv_windowed, need.kv_windowed]
            .into_iter()
            .filter(|&bytes| bytes > 0)
            .map(hundredths)
            .collect();
        assert_eq!(cache, own, "{what}: {need:?}");
        assert_eq!(logged(&log, "output buffer size ="), [hundredths(need.output)], "{what}");
        let compute: u64 = logged(&log, "compute buffer size =").iter().sum();
        let range = need.compute.unwrap();
        let range = hundredths(range.low)..=hundredths(range.high);
        assert!(range.contains(&compute), "{what}: compute {compute} not in {range:?}");
    }
}

#[test]
fn the_tiny_model_fits_as_computed() {
    let Some(program) = program_or_skip("the_tiny_model_fits_as_computed") else { return };
    let path = rocload_fixtures::fixtures_dir().join("gguf/tiny-llama.gguf");
    compare(&program, &path, 1);
}

#[test]
fn a_model_of_each_cache_fits_as_computed() {
    let Some(program) = program_or_skip("a_model_of_each_cache_fits_as_computed") else { return };
    let tiny = read(&tiny_llama()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for kind in kinds() {
        let path: PathBuf = folder.path().join(format!("{}.gguf", kind.arch));
        fs::write(&path, write(&make(&kind, &tiny)).unwrap()).unwrap();
        // Windows have the most to get wrong; a start of the server takes a while.
        compare(&program, &path, if kind.arch == "gemma3" { 1 } else { 2 });
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_model_of_an_unknown_cache_has_no_number() {
    let tiny = read(&tiny_llama()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unknown.gguf");
    let kind = Kind { arch: "mamba", ..kinds().remove(0) };
    fs::write(&path, write(&make(&kind, &tiny)).unwrap()).unwrap();
    let fit = Model::open(&path).unwrap().facts().fit(&Settings::default(), None);
    assert_eq!(fit.unwrap_err(), Unknown::Architecture);
}

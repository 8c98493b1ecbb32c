//! The GGUF reader over files that others wrote, whole and broken, and over every way of
//! feeding them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use laws::gguf::{self, Kept, any_chunking, facts, judge};
use rocload_core::gguf::{Found, Hparam, Kind, Options, PerLayer, Strictness, TextField};
use rocload_fixtures::gguf::{Verdict, committed};
use rocload_fixtures::shared_data_or_skip;

const ALL: [Strictness; 3] = [Strictness::Tolerant, Strictness::Specification, Strictness::Llama];

fn options(strictness: Strictness) -> Options {
    Options { strictness, ..Options::default() }
}

/// The word a list may have for what was found.
fn allows(listed: &str, found: &str) -> bool {
    match listed {
        // That a set is incomplete is not seen in one file.
        "set" | "accept" => matches!(found, "ok" | "warn"),
        "either" => true,
        // llama.cpp's reader looks at no data.
        "reject" => found == "malformed",
        listed => listed == found,
    }
}

#[test]
fn every_file_of_the_shared_list_has_its_verdicts() {
    let Some(data) = shared_data_or_skip("every_file_of_the_shared_list_has_its_verdicts") else {
        return;
    };
    let data = data.join("gguf");
    let list = fs::read_to_string(data.join("MANIFEST.tsv")).unwrap();
    let (mut checked, mut wrong) = (0, Vec::new());
    for line in list.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let bytes = fs::read(data.join(cells[0])).unwrap();
        for (strictness, listed) in ALL.into_iter().zip([cells[2], cells[3], cells[4]]) {
            let run = judge(&bytes, options(strictness));
            let mut found = run.word();
            if strictness == Strictness::Llama {
                // The list tells of llama.cpp's header reader, which looks at no data.
                if found == "short" && listed == "accept" {
                    found = "ok";
                }
                // llama.cpp adds the sizes up without the place where the data begins.
                if cells[0] == "bad/tensor-sum-overflow.gguf" {
                    found = if found == "malformed" { "ok" } else { found };
                }
            }
            if !allows(listed, found) {
                wrong.push(format!("{} {strictness:?}: {found} {:?}", cells[0], run.ending));
            }
            checked += 1;
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(checked >= 3 * 100, "{checked}");
}

#[test]
fn every_committed_file_has_its_verdicts() {
    let mut wrong = Vec::new();
    for case in committed() {
        let bytes = fs::read(case.file()).unwrap();
        for (strictness, listed) in ALL.into_iter().zip([case.default, case.strict]) {
            let run = judge(&bytes, options(strictness));
            if !allows(listed.as_str(), run.word()) {
                wrong.push(format!(
                    "{} {strictness:?}: {} {:?}",
                    case.path,
                    run.word(),
                    run.ending
                ));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Every file at hand, by path.
fn files(test: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files: BTreeMap<String, Vec<u8>> = committed()
        .iter()
        .map(|case| (case.path.clone(), fs::read(case.file()).unwrap()))
        .collect();
    if let Some(data) = shared_data_or_skip(test) {
        let list = fs::read_to_string(data.join("gguf/MANIFEST.tsv")).unwrap();
        for path in list.lines().skip(1).filter_map(|line| line.split('\t').next()) {
            files.insert(format!("shared/{path}"), fs::read(data.join("gguf").join(path)).unwrap());
        }
    }
    files
}

#[test]
fn any_chunking_of_any_file_gives_the_same() {
    for (path, bytes) in files("any_chunking_of_any_file_gives_the_same") {
        let total = Some(bytes.len() as u64);
        // Every cut of files of up to 16 KiB, seeded ones of longer ones.
        let seeds: &[Option<u64>] = match bytes.len() {
            0..=0x4000 => &[None],
            0x4001..=0xf_ffff => &[Some(1), Some(2), Some(3)],
            _ => &[Some(4)],
        };
        for &seed in seeds {
            any_chunking(&bytes, total, Options::default(), seed)
                .unwrap_or_else(|broken| panic!("{path}: {broken}"));
        }
        if bytes.len() > 4 << 10 {
            continue;
        }
        for strictness in [Strictness::Specification, Strictness::Llama] {
            any_chunking(&bytes, total, options(strictness), seeds[0])
                .unwrap_or_else(|broken| panic!("{path} {strictness:?}: {broken}"));
        }
        for total in [None, Some(bytes.len() as u64 / 2), Some(bytes.len() as u64 + 9)] {
            any_chunking(&bytes, total, Options::default(), seeds[0])
                .unwrap_or_else(|broken| panic!("{path} of {total:?}: {broken}"));
        }
    }
}

#[test]
fn the_naive_reader_agrees_on_every_file() {
    for (path, bytes) in files("the_naive_reader_agrees_on_every_file") {
        let verdict = gguf::reads_as_the_naive_reader(&bytes, Options::default())
            .and_then(|()| gguf::wanting_changes_nothing(&bytes, Options::default()));
        verdict.unwrap_or_else(|broken| panic!("{path}: {broken}"));
        if bytes.len() < 1 << 20 {
            for strictness in ALL {
                gguf::table::judged_as_by_the_twin(&bytes, options(strictness))
                    .unwrap_or_else(|broken| panic!("{path}: {broken}"));
            }
        }
    }
}

#[test]
fn wanted_keys_of_every_file() {
    let names = [
        "general.architecture",
        "{arch}.context_length",
        "{arch}.attention.head_count",
        "tokenizer.ggml.model",
        "no.such.key",
    ];
    for (path, bytes) in files("wanted_keys_of_every_file") {
        for names in [&names[..1], &names[1..2], &names[..2], &names[..4], &names] {
            gguf::wanted_keys_are_found(&bytes, names)
                .unwrap_or_else(|broken| panic!("{path}: {broken}"));
        }
    }
}

fn summary_of(path: &Path) -> rocload_core::gguf::Summary {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    gguf::summary(&bytes, Options::default()).unwrap()
}

#[test]
fn twins_of_every_version_and_byte_order_give_one_summary() {
    let twins = committed().into_iter().filter(|case| case.path.starts_with("ok/twin-"));
    let twins: Vec<_> = twins.map(|case| facts(&summary_of(&case.file()))).collect();
    assert!(twins.len() == 4 && twins.iter().all(|facts| *facts == twins[0]));

    let Some(data) = shared_data_or_skip("twins_of_every_version_and_byte_order") else { return };
    let ok = data.join("gguf/ok");
    let whole = facts(&summary_of(&ok.join("tiny-llama-f32.gguf")));
    for twin in ["v1.gguf", "v2.gguf", "big-endian-v3.gguf"] {
        assert_eq!(facts(&summary_of(&ok.join(twin))), whole, "{twin}");
    }
    let mini = facts(&summary_of(&ok.join("v3-mini.gguf")));
    for twin in ["v1-mini.gguf", "v2-mini.gguf", "v2-big-endian-mini.gguf"] {
        assert_eq!(facts(&summary_of(&ok.join(twin))), mini, "{twin}");
    }
}

#[test]
fn summaries_say_what_is_there_and_what_is_wrong() {
    use rocload_core::gguf::Mismatch;
    let Some(data) = shared_data_or_skip("summaries_say_what_is_there_and_what_is_wrong") else {
        return;
    };
    let of = |name: &str| summary_of(&data.join("gguf/ok").join(name));
    let tiny = of("tiny-llama-f32.gguf");
    assert_eq!(tiny.architecture(), Some(&b"llama"[..]));
    assert_eq!(tiny.kind(), Kind::Model);
    assert!(tiny.get(Hparam::ContextLength).value().is_some());
    assert!(tiny.tokens().is_some_and(|tokens| tokens > 0));
    assert!(!tiny.is_incomplete());

    let too_big = of("u64-context-too-big.gguf").get(Hparam::ContextLength);
    assert!(too_big.value().is_some_and(|value| value > u64::from(u32::MAX)), "{too_big:?}");
    let context = |name: &str| of(name).get(Hparam::ContextLength);
    assert_eq!(context("context-float.gguf"), Found::Wrong(Mismatch::NotInteger));
    assert_eq!(context("context-negative.gguf"), Found::Wrong(Mismatch::Negative));
    assert_eq!(context("arch-mismatch.gguf"), Found::Absent);
    assert_eq!(context("no-arch.gguf"), Found::Absent);
    let wrong = of("arch-wrong-type.gguf").text_of(TextField::Architecture);
    assert_eq!(wrong, Found::Wrong(Mismatch::NotString));
    let layered = of("head-count-arrays.gguf");
    let heads = layered.per_layer(Hparam::HeadCountKv);
    assert_eq!(heads, PerLayer::Each { values: &[2, 0], len: 2 });
    assert_eq!(of("imatrix.gguf").kind(), Kind::ImportanceMatrix);
    assert_eq!(of("mmproj-tiny-f32.gguf").kind(), Kind::Projector);
    assert!(of("ftype-guessed.gguf").file_type().unwrap().guessed());
    let duplicates = of("many-keys-dup-suffix.gguf");
    assert!(duplicates.get(Hparam::ContextLength).value().is_some());
    let second = summary_of(&data.join("gguf/ok/split/tiny-00002-of-00003.gguf"));
    assert_eq!(second.kind(), Kind::Shard);
}

#[test]
fn the_committed_oddities_are_read() {
    let case = |name: &str| {
        let path = format!("ok/{name}.gguf");
        summary_of(&committed().iter().find(|case| case.path == path).unwrap().file())
    };
    use rocload_core::gguf::Field;
    assert_eq!(case("block-count-4096").get(Hparam::BlockCount), Found::Value(4096));
    let special = case("special-token-past-vocabulary");
    assert!(special.field(Field::EosTokenId).value().is_some());
    assert_eq!(special.token(Field::EosTokenId), None);
    assert_eq!(case("template-named").templates().len(), 3);
    let lora = case("lora-type-u32").text_of(TextField::Type);
    assert!(matches!(lora, Found::Wrong(_)), "{lora:?}");
}

#[test]
fn the_lists_word_for_a_verdict_can_be_wrong() {
    // The comparison itself is able to fail.
    assert!(!allows("ok", "warn") && !allows("reject", "ok") && !allows("accept", "malformed"));
    let run = judge(b"GGUF\x03\0\0\0", Options::default());
    assert_eq!(run.word(), "malformed");
    assert_eq!(run.items, Vec::<Kept>::new());
    assert_eq!(Verdict::Either.as_str(), "either");
}

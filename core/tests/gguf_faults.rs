//! The faults that other readers of GGUF had, one by one, with what is right for each. Every
//! test makes its own input; the reports are those that the comments name.

use laws::gguf::{Kept, Run, judge, summary};
use rocload_core::gguf::{
    Counted, Fault, Field, Found, Hparam, Mismatch, Note, Options, PerLayer, Strictness, TextField,
    ValueKind, ValueType,
};
use rocload_core::{Cap, Error, ErrorKind};
use rocload_fixtures::gguf::{Raw, ty};

/// A file of these counts, which go before what is added to it.
fn start(tensors: u64, keys: u64) -> Raw {
    let mut raw = Raw::new(3, false);
    raw.counts(tensors, keys);
    raw
}

fn tolerant(bytes: &[u8]) -> Run {
    judge(bytes, Options::default())
}

/// The error that a file ends in.
#[track_caller]
fn error(bytes: &[u8]) -> Error {
    let run = tolerant(bytes);
    match laws::gguf::failed(run.ending) {
        Some(error) => error,
        None => panic!("{:?} {:?}", run.ending, run.judged),
    }
}

#[track_caller]
fn refused(bytes: &[u8], fault: Fault, offset: u64) {
    assert_eq!(error(bytes), Error::new(ErrorKind::Gguf(fault), offset));
}

#[track_caller]
fn truncated(bytes: &[u8], need: u64, have: u64, offset: u64) {
    assert_eq!(error(bytes), Error::new(ErrorKind::Truncated { need, have }, offset));
}

/// One tensor `t` of these dimensions, type and offset, with `data` bytes behind the padding.
fn tensor(dims: &[u64], ggml_type: u32, offset: u64, data: usize) -> Vec<u8> {
    let mut raw = start(1, 0);
    raw.tensor("t", dims, ggml_type, offset);
    raw.align(32);
    raw.0.resize(raw.0.len() + data, 0);
    raw.0
}

/// Where the row of [`tensor`] has its dimensions.
const DIMS_AT: u64 = 24 + 9 + 4;

fn has(run: &Run, wanted: impl Fn(&Note) -> bool) -> bool {
    run.items.iter().any(|item| matches!(item, Kept::Warning(warning) if wanted(&warning.note)))
}

// 1, 2: CVE-2024-39720 and CVE-2024-12055 of ollama, reads past the end of a short file.
#[test]
fn a_file_that_ends_is_short_of_so_many_bytes() {
    truncated(b"GGUF", 4, 0, 4);
    truncated(b"GGUF\x03\0\0\0", 16, 0, 8);
    truncated(b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, 12, 8);
    assert_eq!(tolerant(&start(0, 0).0).word(), "ok", "a header alone is a file");
    let mut raw = start(0, 1);
    raw.key("a", ty::STRING);
    raw.count(9);
    raw.0.extend(b"12345678");
    truncated(&raw.0, 9, 8, 45);
}

// 3, 9, 35: CVE-2025-0315 of ollama, llama.cpp 15711, CVE-2024-21836 and 23605: counts.
#[test]
fn counts_are_held_against_the_bytes_left() {
    for (tensors, keys, of, room) in [
        (0, 1 << 40, Counted::Keys, 4),
        (u64::MAX, 0, Counted::Tensors, 2),
        (1 << 31, 0, Counted::Tensors, 2),
        (u64::MAX / 50, 0, Counted::Tensors, 2),
        (2, 1, Counted::Keys, 0),
    ] {
        let mut raw = start(tensors, keys);
        raw.0.resize(24 + 60, 0);
        let (count, offset) = if of == Counted::Keys { (keys, 16) } else { (tensors, 8) };
        refused(&raw.0, Fault::Count { of, count, room }, offset);
    }
}

// 5, 7: ollama 16189 and gguf-py's hang (llama.cpp 27188): an array's length.
#[test]
fn an_arrays_length_is_held_against_the_bytes_left() {
    for (element, count, room) in [
        (ty::U32, u64::MAX, 2),
        (ty::U32, 1 << 63, 2),
        (ty::U8, 9, 8),
        (ty::STRING, 1 << 30, 1),
        (ty::ARRAY, 1, 0),
        (ty::U64, 1 << 61, 1),
    ] {
        let mut raw = start(0, 1);
        raw.array("a", element, count);
        raw.0.extend([0; 8]);
        refused(&raw.0, Fault::Count { of: Counted::Elements, count, room }, 41);
    }
}

// 6, 13, 35: ollama 17032, candle 3533, CVE-2024-23496: a string's length.
#[test]
fn a_strings_length_is_held_against_the_bytes_left() {
    for len in [u64::MAX, 1 << 63, 1 << 30, 9, u64::MAX - 44] {
        let mut raw = start(0, 1);
        raw.key("a", ty::STRING);
        raw.count(len);
        raw.0.extend([0; 8]);
        truncated(&raw.0, len, 8, 45);
    }
    // A key's length, past what 32 bits hold.
    let mut raw = start(0, 1);
    raw.count((1 << 32) + 1);
    raw.0.extend([0; 20]);
    let (cap, value, limit) = (Cap::GgufKeyBytes, (1 << 32) + 1, 1 << 20);
    assert_eq!(error(&raw.0), Error::new(ErrorKind::Limit { cap, value, limit }, 24));
}

// 4: CVE-2026-7482 of ollama: a tensor past the end of the file is bytes that are missing.
#[test]
fn a_tensor_past_the_end_is_missing() {
    let run = tolerant(&tensor(&[8], 0, 1 << 40, 32));
    let judged = run.judged.unwrap();
    assert_eq!(judged.missing, Some(1 << 40));
    assert!(!judged.is_whole());
}

// 8, 35: llama.cpp 25378, CVE-2024-21802: dimensions.
#[test]
fn dimensions_are_few_and_do_not_wrap() {
    for found in [5, u32::MAX] {
        let mut raw = start(1, 0);
        raw.text("t");
        raw.u32(found);
        raw.0.resize(256, 0);
        refused(&raw.0, Fault::Dimensions { found }, 33);
    }
    for dims in [&[1 << 32, 1 << 32][..], &[u64::MAX], &[1 << 62, 2, 2], &[0, 1 << 32, 1 << 32]] {
        refused(&tensor(dims, 0, 0, 0), Fault::Elements, DIMS_AT);
    }
}

// 10, 11, 12: CVE-2025-53630, CVE-2026-33298, PR 26318: sizes, their sum and their padding.
#[test]
fn sizes_do_not_wrap() {
    refused(&tensor(&[(1 << 62) + 1], 0, 0, 0), Fault::Size, DIMS_AT);
    // 2^64 - 16 bytes: padded they would be 0.
    refused(&tensor(&[(1 << 62) - 4], 0, 0, 0), Fault::Size, DIMS_AT);
    // Each fits, the end of the second does not.
    let mut raw = start(2, 0);
    let elements = (1 << 62) - 32;
    raw.tensor("a", &[elements], 24, 0);
    raw.tensor("b", &[elements + (1 << 61)], 24, 1 << 62);
    raw.0.resize(256, 0);
    let row = DIMS_AT + 8 + 12;
    refused(&raw.0, Fault::Size, row + 13 + 8 + 4);
    // An offset that wraps with the start of the data.
    refused(&tensor(&[8], 0, u64::MAX - 31, 0), Fault::Size, DIMS_AT + 12);
}

fn aligned(ty: u32, value: u64) -> Vec<u8> {
    let mut raw = start(0, 1);
    raw.key("general.alignment", ty);
    match ty {
        ty::U8 => raw.0.push(value as u8),
        ty::U16 => raw.u16(value as u16),
        ty::U32 | ty::I32 | ty::F32 => raw.u32(value as u32),
        _ => raw.u64(value),
    }
    raw.0
}

// 14, 15, 16: candle PR 3876, llama.cpp PR 24997 and 26318: the alignment.
#[test]
fn the_alignment_is_a_power_of_two_of_an_integer_type() {
    const VALUE_AT: u64 = 24 + 8 + 17 + 4;
    for found in [0, 3, 48, u64::from(u32::MAX)] {
        refused(&aligned(ty::U32, found), Fault::Alignment { found }, VALUE_AT);
    }
    refused(
        &aligned(ty::I32, -8i32 as u32 as u64),
        Fault::Alignment { found: -8i64 as u64 },
        VALUE_AT,
    );
    let (cap, value, limit) = (Cap::GgufAlignment, 1 << 31, 1 << 20);
    let kind = ErrorKind::Limit { cap, value, limit };
    assert_eq!(error(&aligned(ty::U32, 1 << 31)), Error::new(kind, VALUE_AT));
    refused(&aligned(ty::F32, 0), Fault::AlignmentType { found: ValueType::F32 }, VALUE_AT - 4);
    let mut raw = start(0, 1);
    raw.text_pair("general.alignment", "32");
    refused(&raw.0, Fault::AlignmentType { found: ValueType::String }, VALUE_AT - 4);

    let run = tolerant(&aligned(ty::U64, 64));
    assert!(has(&run, |note| *note == Note::AlignmentType { found: ValueType::U64 }));
    assert_eq!(run.judged.unwrap().start.alignment, 64);
    let run = tolerant(&aligned(ty::U8, 1));
    assert!(has(&run, |note| *note == Note::AlignmentSmall { alignment: 1 }));
    assert_eq!(run.judged.unwrap().start.alignment, 1);
}

// 17: llama.cpp 24884: a key of no bytes.
#[test]
fn an_empty_key_is_refused() {
    let mut raw = start(0, 1);
    raw.key("", ty::U32);
    raw.u32(7);
    raw.0.extend([0; 8]);
    refused(&raw.0, Fault::KeyEmpty, 24);
}

// 18: llama.cpp PR 21428: bools are bytes, and true when they are not 0.
#[test]
fn a_bool_is_a_byte() {
    let mut raw = start(0, 2);
    raw.key("a", ty::BOOL);
    raw.0.push(2);
    raw.array("b", ty::BOOL, 3);
    raw.0.extend([0, 1, 255]);
    let run = tolerant(&raw.0);
    assert!(run.items.contains(&Kept::Value(ValueType::Bool, 1)));
    assert!(has(&run, |note| *note == Note::Bool { found: 2 }));
    assert!(has(&run, |note| *note == Note::Bool { found: 255 }));
    let strict = Options { strictness: Strictness::Specification, ..Options::default() };
    let ending = judge(&raw.0, strict).ending;
    let fault = Fault::Refused(Note::Bool { found: 2 });
    assert_eq!(laws::gguf::failed(ending), Some(Error::new(ErrorKind::Gguf(fault), 37)));
}

// 19: llama.cpp PR 26690: scores of another type are views of that type.
#[test]
fn an_array_is_of_its_own_type() {
    let mut raw = start(0, 1);
    raw.array("tokenizer.ggml.scores", ty::U8, 4);
    raw.0.extend([1, 2, 3, 4]);
    let run = tolerant(&raw.0);
    let elements = run.items.iter().find_map(|item| match item {
        Kept::Elements { ty, of, bytes, .. } => Some((*ty, *of, bytes.clone())),
        _ => None,
    });
    assert_eq!(elements, Some((ValueType::U8, 4, vec![1, 2, 3, 4])));
}

// 20: llama.cpp 24885, mistral.rs PR 2282: special tokens past the vocabulary.
#[test]
fn a_special_token_is_one_of_the_vocabulary() {
    let file = |id: u32| {
        let mut raw = start(0, 2);
        raw.array("tokenizer.ggml.tokens", ty::STRING, 2);
        raw.text("a");
        raw.text("a");
        raw.u32_pair("tokenizer.ggml.eos_token_id", id);
        summary(&raw.0, Options::default()).unwrap()
    };
    assert_eq!(file(1).token(Field::EosTokenId), Some(1));
    assert_eq!(file(2).token(Field::EosTokenId), None);
    assert_eq!(file(2).field(Field::EosTokenId), Found::Value(2));
    assert_eq!(file(2).token(Field::FileType), None, "no token");
}

fn llama(keys: u64, more: impl FnOnce(&mut Raw)) -> rocload_core::gguf::Summary {
    let mut raw = start(0, 1 + keys);
    raw.text_pair("general.architecture", "llama");
    more(&mut raw);
    summary(&raw.0, Options::default()).unwrap()
}

// 21, 22: ollama 9984, gguf-parser-go 31: heads for each layer.
#[test]
fn heads_are_one_number_or_one_for_each_layer() {
    let of = llama(3, |raw| {
        raw.array("llama.attention.head_count_kv", ty::I32, 4);
        [0, 0, 8, 2].into_iter().for_each(|heads| raw.u32(heads));
        raw.u32_pair("llama.attention.head_count", 16);
        raw.array("llama.attention.sliding_window_pattern", ty::BOOL, 3);
        raw.0.extend([1, 1, 0]);
    });
    let heads = of.per_layer(Hparam::HeadCountKv);
    assert_eq!(heads, PerLayer::Each { values: &[0, 0, 8, 2], len: 4 });
    assert_eq!((heads.at(2), heads.at(4), heads.max()), (Some(8), None, Some(8)));
    assert_eq!(of.get(Hparam::HeadCountKv), Found::Wrong(Mismatch::Array));
    assert_eq!(of.per_layer(Hparam::HeadCount).at(99), Some(16));
    let pattern = of.per_layer(Hparam::SlidingWindowPattern);
    assert_eq!(pattern, PerLayer::Each { values: &[1, 1, 0], len: 3 });
    let negative = llama(1, |raw| {
        raw.array("llama.attention.head_count", ty::I32, 2);
        [1, u32::MAX].into_iter().for_each(|heads| raw.u32(heads));
    });
    assert_eq!(negative.per_layer(Hparam::HeadCount), PerLayer::Wrong(Mismatch::Negative));
}

// Another prefix's values are not the model's, wherever they stand.
/// Writes one pair.
type Put<'a> = &'a dyn Fn(&mut Raw);

#[test]
fn a_summary_takes_its_own_architectures_keys_alone() {
    let clip = |raw: &mut Raw| {
        raw.array("clip.vision.attention.head_count", ty::U32, 2);
        [5, 6].into_iter().for_each(|heads| raw.u32(heads));
        raw.u32_pair("clip.vision.block_count", 77);
    };
    let own = |raw: &mut Raw| {
        raw.array("llama.attention.head_count", ty::U32, 2);
        [1, 2].into_iter().for_each(|heads| raw.u32(heads));
        raw.u32_pair("llama.block_count", 3);
    };
    let name = |raw: &mut Raw| raw.text_pair("general.architecture", "llama");
    let orders: [[Put<'_>; 3]; 6] = [
        [&clip, &own, &name],
        [&clip, &name, &own],
        [&own, &clip, &name],
        [&own, &name, &clip],
        [&name, &own, &clip],
        [&name, &clip, &own],
    ];
    for order in orders {
        let mut raw = start(0, 5);
        order.iter().for_each(|write| write(&mut raw));
        let of = summary(&raw.0, Options::default()).unwrap();
        assert_eq!(of.get(Hparam::BlockCount), Found::Value(3));
        let heads = of.per_layer(Hparam::HeadCount);
        assert_eq!(heads, PerLayer::Each { values: &[1, 2], len: 2 });
        assert!(!of.is_incomplete());
    }
    // More prefixes than are kept: it says so, and a second pass has it all.
    let mut raw = start(0, 8);
    (0..6).for_each(|at| raw.u32_pair(&format!("p{at}.block_count"), at));
    raw.u32_pair("llama.block_count", 9);
    name(&mut raw);
    let first = summary(&raw.0, Options::default()).unwrap();
    assert!(first.is_incomplete());
    let mut second = rocload_core::gguf::Summary::of(first.architecture().unwrap());
    see_all(&raw.0, &mut second);
    assert_eq!(second.get(Hparam::BlockCount), Found::Value(9));
    assert!(!second.is_incomplete());
}

fn see_all(bytes: &[u8], summary: &mut rocload_core::gguf::Summary) {
    use rocload_core::gguf::Reader;
    use rocload_core::{Machine, Need, visit};
    let interest = rocload_core::gguf::Summary::interest();
    let mut reader = Reader::new(Some(bytes.len() as u64), Options::default(), [0u8; 64], interest);
    while let Need::At { offset, .. } = reader.need() {
        visit(&mut reader, offset, &bytes[offset as usize..], |item| summary.see(&item)).unwrap();
    }
}

// What is wanted ends the reading, wherever the architecture stands.
#[test]
fn a_reader_stops_when_it_has_what_is_wanted() {
    use rocload_core::gguf::{Reader, Wanted};
    use rocload_core::{Machine, Need, visit};
    for architecture_first in [true, false] {
        let mut raw = start(0, 4);
        raw.u32_pair("clip.block_count", 1);
        if architecture_first {
            raw.text_pair("general.architecture", "llama");
            raw.u32_pair("llama.block_count", 2);
        } else {
            raw.u32_pair("llama.block_count", 2);
            raw.text_pair("general.architecture", "llama");
        }
        let wanted_until = raw.0.len() as u64;
        raw.array("tokenizer.ggml.tokens", ty::STRING, 100);
        (0..100).for_each(|at| raw.text(&format!("token{at}")));
        let names = ["general.architecture", "{arch}.block_count"];
        let total = Some(raw.0.len() as u64);
        let wanted = Wanted::new(&names);
        let mut reader = Reader::new(total, Options::default(), [0u8; 64], wanted);
        let mut used = 0;
        while let Need::At { offset, .. } = reader.need() {
            let input = &raw.0[offset as usize..];
            used = offset + visit(&mut reader, offset, input, |_| {}).unwrap() as u64;
        }
        assert_eq!((used, reader.stopped()), (wanted_until, true), "{architecture_first}");
    }
}

// 23: node-llama-cpp 418: text is UTF-8, and its bytes are there when it is not.
#[test]
fn text_is_utf_8() {
    let mut raw = start(0, 2);
    raw.text_pair("a", "gr\u{fc}n \u{1f7e2}");
    raw.key("b", ty::STRING);
    raw.count(3);
    raw.0.extend([b'x', 0xff, b'y']);
    let run = tolerant(&raw.0);
    let texts: Vec<_> = run
        .items
        .iter()
        .filter_map(|item| match item {
            Kept::Text { bytes, .. } => Some(bytes.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(texts[0], "gr\u{fc}n \u{1f7e2}".as_bytes());
    assert_eq!(texts[1], [b'x', 0xff, b'y']);
    let notes = run.items.iter().filter(|item| matches!(item, Kept::Warning(_))).count();
    assert_eq!((notes, has(&run, |note| *note == Note::NotUtf8)), (1, true));
}

// 24: llama.cpp 3298, ramalama PR 1444: byte order is told, and a mix is refused.
#[test]
fn byte_order_is_told_by_the_version() {
    let mut raw = Raw::new(3, true);
    raw.counts(0, 1);
    raw.u32_pair("llama.context_length", 4096);
    let run = tolerant(&raw.0);
    assert!(run.items.contains(&Kept::Value(ValueType::U32, 4096)));
    raw.0[8..24].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let (of, count) = (Counted::Keys, 1 << 56);
    let fault = error(&raw.0).kind;
    assert!(
        matches!(fault, ErrorKind::Gguf(Fault::Count { of: o, count: c, .. }) if (o, c) == (of, count))
    );
    // 0x00010000 is a version in neither order.
    let (little, big) = (0x0001_0000, 0x0000_0100);
    refused(b"GGUF\0\0\x01\0................", Fault::Version { little, big }, 4);
    refused(b"GGUF\x04\0\0\0................", Fault::Version { little: 4, big: 4 << 24 }, 4);
    // Big-endian before version 3 is read, with a warning.
    for version in [1, 2] {
        let mut raw = Raw::new(version, true);
        raw.counts(0, 1);
        raw.u32_pair("a", 7);
        let run = tolerant(&raw.0);
        assert!(has(&run, |note| *note == Note::BigEndianVersion { version }));
        assert!(run.items.contains(&Kept::Value(ValueType::U32, 7)));
    }
}

// 25, 26, 30: what is no GGUF is refused by its first four bytes, and an empty file is short.
#[test]
fn the_magic_is_that_of_the_format() {
    for found in [*b"vers", *b"<!DO", *b"{\"er", *b"FUGG", *b"gguf", *b"tjgg"] {
        refused(&[&found[..], &[0; 60]].concat(), Fault::Magic { found }, 0);
    }
    assert!(matches!(
        tolerant(b"").ending,
        laws::split::Ending::Failed(_) | laws::split::Ending::Pending(_)
    ));
}

// 27, 28: llama.cpp PR 6885, aprender 2535: short by byte arithmetic and by nothing else.
#[test]
fn missing_bytes_are_counted() {
    let whole = tensor(&[8], 0, 0, 32);
    assert_eq!(tolerant(&whole).judged.unwrap().missing, Some(0));
    for cut in [1, 31, 32, 39] {
        let run = tolerant(&whole[..whole.len() - cut]);
        assert_eq!(run.judged.unwrap().missing, Some(cut as u64), "{cut}");
    }
    // Padding behind the last tensor may be missing.
    let mut raw = start(2, 0);
    raw.tensor("a", &[3], 0, 0);
    raw.tensor("b", &[3], 0, 32);
    raw.align(32);
    raw.0.resize(raw.0.len() + 44, 0);
    assert_eq!(tolerant(&raw.0).word(), "ok");
}

// 29, 33: shards with split keys of any integer type.
#[test]
fn split_keys_are_integers_of_any_type() {
    let mut raw = start(0, 4);
    raw.u32_pair("split.no", 1);
    raw.key("split.count", ty::U8);
    raw.0.push(2);
    raw.key("split.tensors.count", ty::U64);
    raw.u64(9);
    raw.u32_pair("general.type", 5);
    let of = summary(&raw.0, Options::default()).unwrap();
    let field = |field| of.field(field).value();
    assert_eq!(field(Field::SplitNo), Some(1));
    assert_eq!(field(Field::SplitCount), Some(2));
    assert_eq!(field(Field::SplitTensorsCount), Some(9));
    assert_eq!(of.text_of(TextField::Type), Found::Wrong(Mismatch::NotString));
    assert_eq!(of.kind(), rocload_core::gguf::Kind::Shard);
}

// 31: llama.cpp PR 25821: a block count is a number, used as no index.
#[test]
fn a_large_block_count_is_told_as_it_is() {
    let of = llama(2, |raw| {
        raw.u32_pair("llama.block_count", u32::MAX);
        raw.array("llama.attention.head_count", ty::U32, 2000);
        (0..2000).for_each(|heads| raw.u32(heads));
    });
    assert_eq!(of.get(Hparam::BlockCount), Found::Value(u32::MAX.into()));
    let heads = of.per_layer(Hparam::HeadCount);
    assert!(matches!(heads, PerLayer::Each { values, len: 2000 } if values.len() == 512));
    assert_eq!((heads.at(511), heads.at(512), heads.at(u64::MAX)), (Some(511), None, None));
}

// 32: llama.cpp PR 19919: nothing is read twice; see the reads counted in the drivers' tests.
#[test]
fn every_byte_is_asked_for_once() {
    use rocload_core::gguf::{Reader, Want};
    use rocload_core::{Machine, Need};
    let mut raw = start(0, 1);
    raw.array("a", ty::STRING, 1000);
    (0..1000).for_each(|at| raw.text(&"x".repeat(at % 50)));
    let mut reader = Reader::new(Some(raw.0.len() as u64), Options::default(), [0u8; 8], Want::Key);
    let (mut steps, mut last) = (0, 0);
    while let Need::At { offset, min, hint } = reader.need() {
        assert!(offset >= last, "never back");
        let end = (offset as usize + (hint as usize).max(min)).min(raw.0.len());
        let step = reader.step(offset, &raw.0[offset as usize..end]).unwrap();
        (steps, last) = (steps + 1, offset + step.consumed as u64);
    }
    assert!(steps <= 8, "{steps} steps for 1000 strings");
}

// 34: gguf-rs's panic on types that it does not know.
#[test]
fn an_unknown_type_is_kept() {
    let run = tolerant(&tensor(&[8], 1000, 0, 32));
    assert_eq!(run.word(), "warn");
    assert!(has(&run, |note| matches!(note, Note::UnknownType { found } if found.0 == 1000)));
    assert_eq!(run.judged.unwrap().unsized_tensors, 1);
    let found = rocload_core::gguf::GgmlType(4);
    refused(&tensor(&[8], 4, 0, 32), Fault::RemovedType { found }, DIMS_AT + 8);
}

// 35: CVE-2024-21825: arrays in arrays.
#[test]
fn nesting_has_an_end() {
    let nested = |depth: u32| {
        let mut raw = start(0, 1);
        raw.key("a", ty::ARRAY);
        for _ in 1..depth {
            raw.u32(ty::ARRAY);
            raw.count(1);
        }
        raw.u32(ty::U8);
        raw.count(1);
        raw.0.push(7);
        raw.0
    };
    assert_eq!(tolerant(&nested(8)).word(), "ok");
    let (cap, value, limit) = (Cap::GgufDepth, 9, 8);
    for depth in [9, 10, 100_000] {
        let kind = ErrorKind::Limit { cap, value, limit };
        assert_eq!(error(&nested(depth)), Error::new(kind, 37 + 8 * 12), "{depth}");
    }
}

#[test]
fn a_key_that_stands_twice_is_named_by_its_place() {
    let mut raw = start(0, 3);
    for name in ["a", "b", "a"] {
        raw.u32_pair(name, 1);
    }
    refused(&raw.0, Fault::DuplicateKey { first: 0, second: 2 }, 24 + 2 * 17);
}

#[test]
fn tensors_that_share_a_name_or_bytes_are_refused() {
    let rows = |rows: &[(&str, u64)]| {
        let mut raw = start(rows.len() as u64, 0);
        for (name, offset) in rows {
            raw.tensor(name, &[16], 0, *offset);
        }
        raw.align(32);
        raw.0.resize(raw.0.len() + 64 * rows.len(), 0);
        raw.0
    };
    let row = 9 + 4 + 8 + 12;
    let twice = Fault::DuplicateTensor { first: 0, second: 1 };
    refused(&rows(&[("a", 0), ("a", 64)]), twice, 24 + row);
    let shared = Fault::Overlap { first: 1, second: 0 };
    refused(&rows(&[("a", 32), ("b", 0)]), shared, 96 + 32);
    // By a single byte, out of order.
    let mut raw = start(2, 0);
    raw.tensor("a", &[8], 24, 32);
    raw.tensor("b", &[33], 24, 0);
    raw.align(32);
    raw.0.resize(raw.0.len() + 64, 0);
    let data = raw.0.len() as u64 - 64;
    refused(&raw.0, Fault::Overlap { first: 1, second: 0 }, data + 32);
    let run = tolerant(&rows(&[("a", 64), ("b", 0)]));
    assert!(has(&run, |note| *note == Note::OutOfOrder { ordinal: 1 }));
    let judged = run.judged.unwrap();
    assert_eq!((judged.in_order, judged.gaps, judged.trailing), (false, Some(0), Some(0)));
    let run = tolerant(&rows(&[("a", 0), ("b", 96)]));
    assert!(has(&run, |note| *note == Note::Gap { bytes: 32 }));
    assert_eq!(run.judged.unwrap().missing, Some(32));
}

#[test]
fn llama_wants_tensors_one_behind_the_other_even_without_data() {
    let rows = |second: u64| {
        let mut raw = start(3, 0);
        raw.tensor("a", &[16], 0, 0);
        raw.tensor("b", &[0], 0, second);
        raw.tensor("c", &[16], 0, 64);
        raw.align(32);
        raw.0.resize(raw.0.len() + 128, 0);
        judge(&raw.0, Options { strictness: Strictness::Llama, ..Options::default() })
    };
    assert_eq!(rows(64).word(), "ok");
    let note = Note::Misplaced { ordinal: 1, wanted: 64 };
    let error = laws::gguf::failed(rows(0).ending).unwrap();
    assert_eq!(error.kind, ErrorKind::Gguf(Fault::Refused(note)));
}

#[test]
fn a_string_of_any_length_is_passed_over_and_one_of_the_key_is_not() {
    let mut raw = start(0, 2);
    raw.text_pair(&"k".repeat(70_000), "v");
    raw.text_pair("b", &"x".repeat(200_000));
    let run = tolerant(&raw.0);
    assert!(has(&run, |note| *note == Note::KeyLong { len: 70_000 }));
    let kind = run.items.iter().find_map(|item| match item {
        Kept::Key { ordinal: 1, kind, .. } => Some(*kind),
        _ => None,
    });
    assert_eq!(kind, Some(ValueKind::String { len: 200_000 }));
    let mut raw = start(0, 1);
    raw.text_pair(&"k".repeat((1 << 20) + 1), "v");
    let (cap, value, limit) = (Cap::GgufKeyBytes, (1 << 20) + 1, 1 << 20);
    assert_eq!(error(&raw.0), Error::new(ErrorKind::Limit { cap, value, limit }, 24));
}

use super::*;

/// The model of the recorded log.
fn gemma() -> Model<'static> {
    Model {
        layers: 18,
        heads: Heads::Same(4),
        heads_kv: Heads::Same(1),
        key_length: 256,
        value_length: 256,
        embedding: 640,
        feed_forward: Some(2048),
        window: Some(512),
        vocabulary: 262_144,
        context: Some(32_768),
        weights: 235 << 20,
        ..Model::new(b"gemma3")
    }
}

fn ctx(context: u32, parallel: u32) -> Settings {
    Settings { context, parallel: Some(parallel), ..Settings::default() }
}

const Q8_0: GgmlType = GgmlType(8);

/// Hundredths of a MiB.
fn hundredths(bytes: u64) -> u64 {
    (bytes * 100 + (1 << 19)) >> 20
}

#[test]
fn the_ten_recorded_settings() {
    let q8 = Settings { keys: Q8_0, values: Q8_0, ..ctx(4096, 1) };
    // Settings, then hundredths of a MiB as logged: cache of full layers, of layers with a
    // window, output, compute.
    let recorded = [
        (ctx(2048, 1), 600, 1500, 100, 2077),
        (ctx(8192, 1), 2400, 1500, 100, 2677),
        (ctx(8192, 4), 2400, 6000, 400, 2077),
        (Settings { unified: Some(true), ..ctx(8192, 4) }, 2400, 3750, 400, 2827),
        (q8, 638, 797, 100, 2330),
        (Settings { ubatch: 128, ..ctx(4096, 1) }, 1200, 1125, 100, 563),
        (Settings { swa_full: true, ..ctx(4096, 1) }, 1200, 6000, 100, 2577),
        (ctx(0, 1), 9600, 1500, 100, 5077),
        (ctx(4100, 1), 1275, 1500, 100, 2302),
        (Settings { context: 4096, ..Settings::default() }, 1200, 3750, 400, 2427),
    ];
    for (settings, full, windowed, output, compute) in recorded {
        let need = Law::new(&gemma(), &settings).unwrap().need().unwrap();
        let found = [need.kv - need.kv_windowed, need.kv_windowed, need.output].map(hundredths);
        assert_eq!(found, [full, windowed, output], "{settings:?}");
        let estimate = need.compute.unwrap();
        let range = hundredths(estimate.low)..=hundredths(estimate.high);
        assert!(range.contains(&compute), "{settings:?}: {compute} in {range:?}");
        let off = hundredths(estimate.likely).abs_diff(compute);
        assert!(off * 10 <= compute, "{settings:?}: {} for {compute}", hundredths(estimate.likely));
    }
}

#[test]
fn contexts_are_rounded_as_the_server_does() {
    let need = |settings| Law::new(&gemma(), &settings).unwrap().need().unwrap();
    let shape = |need: Need| (need.context, need.per_sequence, need.parallel);
    assert_eq!(shape(need(ctx(4100, 1))), (4352, 4352, 1));
    assert_eq!(shape(need(ctx(1000, 3))), (1536, 512, 3));
    assert_eq!(shape(need(Settings { context: 4096, ..Settings::default() })), (4096, 4096, 4));
    assert_eq!(shape(need(ctx(0, 1))), (32_768, 32_768, 1));
    // A window wider than the context keeps no more than the context.
    let wide = Model { window: Some(1 << 20), ..gemma() };
    let need = Law::new(&wide, &ctx(1024, 1)).unwrap().need().unwrap();
    assert_eq!(need.kv, 18 * 1024 * 2 * 2 * 256);
}

#[test]
fn layers_may_differ() {
    let heads = [2, 0, 4];
    let model = Model {
        layers: 3,
        heads: Heads::Same(4),
        heads_kv: Heads::Each(&heads),
        key_length: 64,
        value_length: 32,
        vocabulary: 1,
        embedding: 256,
        ..Model::new(b"llama")
    };
    let need = Law::new(&model, &ctx(256, 1)).unwrap().need().unwrap();
    assert_eq!(need.kv, 256 * 6 * (64 + 32) * 2);
    let short = Model { layers: 4, ..model };
    assert_eq!(Law::new(&short, &ctx(256, 1)).unwrap_err(), Unknown::Layers);

    let by_layer = Model {
        window: Some(256),
        pattern: Some(Pattern::Each(&[1, 0, 7])),
        key_length_swa: Some(32),
        ..Model { arch: b"gemma3", ..model }
    };
    let settings = Settings { ubatch: 256, ..ctx(2048, 1) };
    let need = Law::new(&by_layer, &settings).unwrap().need().unwrap();
    // Layer 1 keeps all and has no heads; layers 0 and 2 have a window and shorter keys.
    assert_eq!((need.kv, need.kv_windowed), (512 * 6 * (32 + 32) * 2, need.kv));
}

#[test]
fn what_is_not_known_has_no_number() {
    let unknown = |model: Model<'_>, settings| Law::new(&model, &settings).unwrap_err();
    for arch in ["deepseek2", "mamba", "gemma3n", "llama4", "bert", "Llama", ""] {
        let model = Model { arch: arch.as_bytes(), ..gemma() };
        assert_eq!(unknown(model, ctx(0, 1)), Unknown::Architecture, "{arch}");
    }
    let latent = Model { other: Some(OtherCache::Latent), ..gemma() };
    assert_eq!(unknown(latent, ctx(0, 1)), Unknown::Cache(OtherCache::Latent));
    assert_eq!(unknown(Model { layers: 0, ..gemma() }, ctx(0, 1)), Unknown::Missing("block count"));
    for layers in [513, u32::MAX] {
        let why = unknown(Model { layers, ..gemma() }, ctx(0, 1));
        assert_eq!(why, Unknown::TooManyLayers(layers));
    }
    assert_eq!(
        unknown(Model { context: None, ..gemma() }, ctx(0, 1)),
        Unknown::Missing("context length")
    );
    assert_eq!(
        unknown(Model { vocabulary: 0, ..gemma() }, ctx(0, 1)),
        Unknown::Missing("vocabulary")
    );
    assert_eq!(
        unknown(Model { key_length: 0, ..gemma() }, ctx(0, 1)),
        Unknown::Missing("key and value length")
    );
    assert_eq!(unknown(gemma(), ctx(0, 0)), Unknown::Settings("number of sequences"));
    assert_eq!(unknown(gemma(), ctx(0, 257)), Unknown::Settings("number of sequences"));
    assert_eq!(unknown(gemma(), Settings { ubatch: 0, ..ctx(0, 1) }), Unknown::Settings("batch"));
    for ty in [4, 12, 99] {
        // Removed; a row of 256 is a block of q4_K, one of 128 is not; unknown.
        let model = Model { key_length: 128, ..gemma() };
        let settings = Settings { keys: GgmlType(ty), ..ctx(0, 1) };
        assert_eq!(unknown(model, settings), Unknown::CacheType(GgmlType(ty)));
    }
    let slow = Settings { flash: false, ..ctx(0, 1) };
    assert_eq!(unknown(gemma(), Settings { values: Q8_0, ..slow }), Unknown::CacheType(Q8_0));
    let law = Law::new(&gemma(), &slow).unwrap();
    assert_eq!(law.need().unwrap().compute, None);
    assert_eq!(law.verdict(u64::MAX), Verdict::Unknown(Unknown::Compute));
    assert_eq!(law.verdict(1 << 20), Verdict::DoesNotFit);
    let huge = Model { weights: u64::MAX, vocabulary: u64::MAX, ..gemma() };
    let law = Law::new(&huge, &ctx(0, 4)).unwrap();
    assert_eq!(law.need(), Err(Unknown::TooLarge));
    assert_eq!(law.verdict(u64::MAX), Verdict::DoesNotFit);
}

#[test]
fn verdicts_around_the_border() {
    let settings = Settings { margin: 0, ..ctx(32_768, 1) };
    let law = Law::new(&gemma(), &settings).unwrap();
    let need = law.need().unwrap();
    let high = need.high().unwrap();
    assert_eq!(law.verdict(high), Verdict::Fits);
    let Verdict::FitsWithCtx(context) = law.verdict(high - 1) else { panic!() };
    assert_eq!(context, 32_512);
    let tight = Law::new(&gemma(), &Settings { context: context as u32, ..settings }).unwrap();
    assert_eq!(tight.verdict(high - 1), Verdict::Fits);
    assert_eq!(law.largest_context(high - 1), Some(32_512));
    let least = Law::new(&gemma(), &Settings { context: 256, ..settings }).unwrap().need().unwrap();
    assert_eq!(law.verdict(least.high().unwrap()), Verdict::FitsWithCtx(256));
    assert_eq!(law.verdict(least.high().unwrap() - 1), Verdict::Unknown(Unknown::WithinEstimate));
    assert_eq!(law.verdict(least.low()), Verdict::Unknown(Unknown::WithinEstimate));
    assert_eq!(law.verdict(least.low() - 1), Verdict::DoesNotFit);
    assert_eq!(law.verdict(0), Verdict::DoesNotFit);
}

#[test]
fn the_cache_has_the_servers_types_alone() {
    // A head of 256 is a whole number of blocks of every type there is.
    let names: alloc::vec::Vec<_> = GgmlType::all()
        .filter(|&ty| {
            let keys = Law::new(&gemma(), &Settings { keys: ty, ..ctx(0, 1) });
            let values = Law::new(&gemma(), &Settings { values: ty, ..ctx(0, 1) });
            for law in [&keys, &values] {
                assert!(law.is_ok() || *law.as_ref().unwrap_err() == Unknown::CacheType(ty));
            }
            assert_eq!(keys.is_ok(), values.is_ok());
            keys.is_ok()
        })
        .filter_map(GgmlType::name)
        .collect();
    assert_eq!(names, ["f32", "f16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "bf16"]);
}

/// A header with the keys of a small model and one more, or one instead of another.
#[cfg(feature = "alloc")]
fn of_keys(
    arch: &str,
    name: &str,
    value: &super::super::write::Value<'_>,
) -> Result<Need, Unknown> {
    use super::super::write::{Encoder, Value};
    use super::super::{Endian, Options, Reader, Scalar, Summary};
    use crate::{Machine, Need as Wants, visit};

    let encoder = Encoder::new(3, Endian::Little).unwrap();
    let mut keys = alloc::vec::Vec::new();
    let mut count = 1;
    encoder.pair(&mut keys, b"general.architecture", &Value::String(arch.as_bytes())).unwrap();
    let base = [
        ("context_length", 4096),
        ("embedding_length", 256),
        ("block_count", 6),
        ("attention.head_count", 4),
        ("vocab_size", 100),
    ];
    for (key, number) in base.into_iter().filter(|(key, _)| *key != name) {
        let key = alloc::format!("{arch}.{key}");
        encoder.pair(&mut keys, key.as_bytes(), &Value::Scalar(Scalar::U32(number))).unwrap();
        count += 1;
    }
    encoder.pair(&mut keys, alloc::format!("{arch}.{name}").as_bytes(), value).unwrap();
    let mut file = b"GGUF".to_vec();
    encoder.u32(&mut file, 3);
    encoder.count(&mut file, 1).unwrap();
    encoder.count(&mut file, count + 1).unwrap();
    file.extend(keys);
    // One tensor: its name, a dimension of 1, f32, offset 0, and its data.
    encoder.count(&mut file, 1).unwrap();
    file.push(b't');
    encoder.u32(&mut file, 1);
    encoder.count(&mut file, 1).unwrap();
    encoder.u32(&mut file, 0);
    encoder.count(&mut file, 0).unwrap();
    file.resize(file.len().next_multiple_of(32) + 32, 0);

    let mut summary = Summary::new();
    let total = Some(file.len() as u64);
    let mut reader = Reader::new(total, Options::default(), [0u8; 64], Summary::interest());
    while let Wants::At { offset, .. } = reader.need() {
        visit(&mut reader, offset, &file[offset as usize..], |item| summary.see(&item)).unwrap();
    }
    Model::of(&summary, 4)
        .and_then(|model| Law::new(&model, &ctx(1024, 1)))
        .and_then(|law| law.need())
}

#[cfg(feature = "alloc")]
#[test]
fn a_key_of_another_kind_is_not_an_absent_one() {
    use super::super::write::Value;
    use super::super::{Mismatch, Scalar, ValueType};
    use alloc::string::ToString;

    let sound = of_keys("gemma3", "attention.key_length", &Value::Scalar(Scalar::U64(64))).unwrap();
    assert_eq!(sound.kv, 1024 * 6 * 4 * (64 + 64) * 2);
    let items = [Value::Scalar(Scalar::F32(64.0)), Value::Scalar(Scalar::F32(64.0))];
    let wrong = [
        (Value::String(b"64"), Mismatch::String),
        (Value::Scalar(Scalar::F32(64.0)), Mismatch::NotInteger),
        (Value::Scalar(Scalar::Bool(true)), Mismatch::NotInteger),
        (Value::Scalar(Scalar::I32(-1)), Mismatch::Negative),
        (Value::Scalar(Scalar::U64(1 << 33)), Mismatch::TooLarge),
        (Value::Array { element: ValueType::F32, items: &items }, Mismatch::Array),
    ];
    let keys = [
        Hparam::ContextLength,
        Hparam::EmbeddingLength,
        Hparam::BlockCount,
        Hparam::FeedForwardLength,
        Hparam::ExpertUsedCount,
        Hparam::HeadCount,
        Hparam::HeadCountKv,
        Hparam::KeyLength,
        Hparam::ValueLength,
        Hparam::KeyLengthSwa,
        Hparam::ValueLengthSwa,
        Hparam::SlidingWindow,
        Hparam::SlidingWindowPattern,
        Hparam::KvLoraRank,
    ];
    for arch in ["llama", "gemma3"] {
        for key in keys {
            for (value, why) in &wrong {
                let found = of_keys(arch, key.key(), value);
                if key == Hparam::KvLoraRank && *why == Mismatch::TooLarge {
                    assert_eq!(found, Err(Unknown::Cache(OtherCache::Latent)));
                    continue;
                }
                assert_eq!(found, Err(Unknown::Wrong(key, *why)), "{arch} {key:?} {value:?}");
                let text = found.unwrap_err().to_string();
                assert!(text.contains(key.key()), "{text}");
            }
        }
    }
    let absent = of_keys("llama", "block_count", &Value::Scalar(Scalar::U32(0))).unwrap_err();
    assert_eq!(absent.to_string(), "the model's block count is absent or 0");
}

#[test]
fn the_largest_context_holds_what_was_asked_for() {
    let largest = |settings, budget| {
        let law = Law::new(&gemma(), &settings).unwrap();
        (law.verdict(budget), law.largest_context(budget))
    };
    // With room for all, it is what the model was trained with, or what was asked for.
    for context in [1, 10, 100, 4096, 4100, 32_768] {
        assert_eq!(largest(ctx(context, 1), 8 << 30), (Verdict::Fits, Some(32_768)), "{context}");
    }
    assert_eq!(largest(ctx(50_000, 1), 8 << 30), (Verdict::Fits, Some(50_176)));
    assert_eq!(largest(ctx(u32::MAX, 1), u64::MAX), (Verdict::Fits, Some(1 << 32)));
    // With room for what was asked for and no more, it is that, as the server rounds it.
    for (context, parallel, rounded) in
        [(1, 1, 256), (300, 1, 512), (4100, 1, 4352), (1000, 3, 1536), (4096, 16, 4096)]
    {
        let settings = ctx(context, parallel);
        let need = Law::new(&gemma(), &settings).unwrap().need().unwrap();
        assert_eq!(need.context, rounded);
        let high = need.high().unwrap();
        assert_eq!(largest(settings, high), (Verdict::Fits, Some(rounded)), "{context}");
        assert_ne!(largest(settings, high - 1).0, Verdict::Fits, "{context}");
    }
    // More than was asked for, up to the border.
    let more = Law::new(&gemma(), &ctx(8192, 1)).unwrap().need().unwrap().high().unwrap();
    assert_eq!(largest(ctx(1024, 1), more), (Verdict::Fits, Some(8192)));
    assert_eq!(largest(ctx(1024, 1), more - 1), (Verdict::Fits, Some(8192 - 256)));
    let untrained = Law::new(&Model { context: None, ..gemma() }, &ctx(1024, 1)).unwrap();
    assert_eq!(untrained.largest_context(8 << 30), Some(1024));
}

#[test]
fn the_number_of_sequences_asked_for_is_judged_alone() {
    // 16 sequences share 4096 cells evenly; 15 would have 512 each.
    let law = |parallel| Law::new(&gemma(), &ctx(4096, parallel)).unwrap();
    let [many, fewer] = [16, 15].map(|parallel| law(parallel).need().unwrap().high().unwrap());
    assert!(many < fewer);
    assert_eq!(law(16).verdict(many), Verdict::Fits);
    assert_ne!(law(15).verdict(many), Verdict::Fits);
    // Where both divide the context evenly, more sequences need more.
    for pair in [1, 2, 4, 8, 16].windows(2) {
        let [one, other] = [pair[0], pair[1]].map(|parallel| law(parallel).need().unwrap());
        assert!(one.exact() < other.exact() && one.high() < other.high(), "{pair:?}");
    }
}

//! The laws of memory fit over generated models and settings.

use laws::gguf_fit::monotone;
use proptest::prelude::*;
use rocload_core::gguf::GgmlType;
use rocload_core::gguf::fit::{Heads, Law, Model, Pattern, Settings};

fn model() -> impl Strategy<Value = Model<'static>> {
    let arch = prop::sample::select(vec!["llama", "gemma3", "gemma2", "cohere2", "mamba"]);
    let sizes = (0u32..100, 0u32..20, 1u32..5, 1u32..5, any::<bool>());
    let tokens = (prop_oneof![Just(0u32), 1..8192u32, any::<u32>()], any::<u32>(), 0u32..300_000);
    let weights = prop_oneof![8 => 0..1u64 << 20, 4 => 0..1u64 << 36, 1 => any::<u64>()];
    (arch, sizes, tokens, weights, prop_oneof![Just(None), (0u32..8).prop_map(Some)]).prop_map(
        |(
            arch,
            (layers, heads, key, value, some),
            (window, context, vocabulary),
            weights,
            period,
        )| Model {
            layers,
            heads: Heads::Same(heads),
            heads_kv: Heads::Same(heads),
            key_length: key * 32,
            value_length: value * 32,
            embedding: heads * key * 32,
            feed_forward: some.then_some(1024),
            window: some.then_some(window),
            pattern: period.map(Pattern::Period),
            vocabulary: vocabulary.into(),
            context: Some(context),
            weights,
            ..Model::new(arch.as_bytes())
        },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    // Multiples of 256 too, which some numbers of sequences divide evenly.
    let context = prop_oneof![1..70_000u32, any::<u32>(), (1..300u32).prop_map(|n| n * 256)];
    let parallel = prop_oneof![4 => 1..9u32, 1 => 0..300u32];
    let ubatch = prop_oneof![1..2048u32, any::<u32>()];
    let unified = prop_oneof![Just(None), any::<bool>().prop_map(Some)];
    let ty =
        prop_oneof![Just(GgmlType(1)), Just(GgmlType(8)), Just(GgmlType(2)), Just(GgmlType(12))];
    (
        context,
        parallel,
        ubatch,
        unified,
        ty,
        any::<bool>(),
        prop_oneof![4 => Just(true), 1 => Just(false)],
        0..1u64 << 31,
    )
        .prop_map(|(context, parallel, ubatch, unified, keys, swa_full, flash, margin)| {
            Settings {
                context,
                parallel: Some(parallel),
                unified,
                ubatch,
                keys,
                swa_full,
                flash,
                margin,
                ..Settings::default()
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(20_000), ..ProptestConfig::default() })]

    #[test]
    fn a_verdict_is_monotone(model in model(), settings in settings(), context in prop_oneof![0..40_000u32, (0..150u32).prop_map(|n| n * 256)], parallel in prop_oneof![Just(0), 0..6u32],
                             ubatch in 0..1024u32, near in prop::array::uniform2((0..4u8, 900..1100u64)), any in any::<u64>()) {
        let more = Settings {
            context: settings.context.saturating_add(context),
            parallel: settings.parallel.map(|n| n + parallel),
            ubatch: settings.ubatch.saturating_add(ubatch),
            ..settings
        };
        // Borders are where verdicts change.
        let budgets = near.map(|(border, share)| {
            let settings = if border < 2 { settings } else { Settings { context: 256, ..settings } };
            let need = Law::new(&model, &settings).and_then(|law| law.need());
            let border = need.map_or(any, |need| match border % 2 {
                0 => need.low(),
                _ => need.high().unwrap_or(any),
            });
            (u128::from(border) * u128::from(share) / 1000).try_into().unwrap_or(u64::MAX)
        });
        monotone(&model, &settings, &more, budgets).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }
}

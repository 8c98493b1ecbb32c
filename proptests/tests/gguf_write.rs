//! The writer over generated files.

use laws::gguf_write::{File, Owned, round_trip};
use proptest::collection::vec;
use proptest::prelude::*;
use rocload_core::gguf::{Endian, GgmlType, Scalar, ValueType};

fn scalar() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        any::<u8>().prop_map(Scalar::U8),
        any::<i8>().prop_map(Scalar::I8),
        any::<u16>().prop_map(Scalar::U16),
        any::<i16>().prop_map(Scalar::I16),
        any::<u32>().prop_map(Scalar::U32),
        any::<i32>().prop_map(Scalar::I32),
        any::<u32>().prop_map(|bits| Scalar::F32(f32::from_bits(bits))),
        any::<bool>().prop_map(Scalar::Bool),
        any::<u64>().prop_map(Scalar::U64),
        any::<i64>().prop_map(Scalar::I64),
        any::<u64>().prop_map(|bits| Scalar::F64(f64::from_bits(bits))),
    ]
}

fn value() -> impl Strategy<Value = Owned> {
    let leaf = prop_oneof![
        scalar().prop_map(Owned::Scalar),
        vec(any::<u8>(), 0..40).prop_map(Owned::String),
        // Longer than what is shown at once.
        (any::<u8>(), 65_530..65_600usize).prop_map(|(byte, len)| Owned::String(vec![byte; len])),
        (any::<u32>(), 0..40_000usize).prop_map(|(n, len)| Owned::Array {
            element: ValueType::U32,
            items: vec![Owned::Scalar(Scalar::U32(n)); len],
        }),
        vec(vec(any::<u8>(), 0..9), 0..20).prop_map(|items| Owned::Array {
            element: ValueType::String,
            items: items.into_iter().map(Owned::String).collect(),
        }),
    ];
    let array = |element, items| Owned::Array { element, items };
    leaf.prop_recursive(3, 12, 4, move |inner| {
        vec(inner, 0..4).prop_map(move |items| {
            let arrays: Vec<Owned> =
                items.into_iter().filter(|item| matches!(item, Owned::Array { .. })).collect();
            array(ValueType::Array, arrays)
        })
    })
}

fn file() -> impl Strategy<Value = File> {
    let layout = prop_oneof![
        Just((1, Endian::Little)),
        Just((2, Endian::Little)),
        Just((3, Endian::Little)),
        Just((3, Endian::Big))
    ];
    let keys = prop::collection::btree_map(vec(any::<u8>(), 1..20), value(), 0..6);
    let ty = prop::sample::select(GgmlType::all().collect::<Vec<_>>());
    let tensors =
        prop::collection::btree_map(vec(any::<u8>(), 1..63), (vec(0u64..4, 0..5), ty), 0..5);
    (layout, keys, tensors, prop::option::of(3u32..12)).prop_map(
        |((version, endian), keys, tensors, alignment)| {
            let mut keys: Vec<_> = keys.into_iter().collect();
            if let Some(power) = alignment {
                keys.push((b"general.alignment".to_vec(), Owned::Scalar(Scalar::U32(1 << power))));
            }
            let block = |ty: GgmlType| ty.block().map_or(1, |(elements, _)| elements);
            let tensors = tensors.into_iter().map(|(name, (mut dims, ty))| {
                match dims.first_mut() {
                    Some(first) => *first *= block(ty),
                    None => dims.push(block(ty)),
                }
                (name, dims, ty)
            });
            File { version, endian, keys, tensors: tensors.collect() }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(300), ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(file in file()) {
        round_trip(&file).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }
}

//! The laws of what a loader reads and how it searches, over generated inputs.

use laws::search::{Asked, goes_as_the_naive_one};
use laws::{bundle, reference, target};
use proptest::collection::vec;
use proptest::prelude::*;
use rocload_core::Limits;
use rocload_core::zstd::Workspace;
use rocload_fixtures::fat;
use rocload_fixtures::msgpack::{Value, encode};
use rocload_fixtures::object::{self, Ccob};

fn fail(broken: laws::Broken) -> TestCaseError {
    TestCaseError::fail(broken.to_string())
}

/// A MessagePack value of any kind, not deep.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<u64>().prop_map(Value::Uint),
        any::<i64>().prop_map(Value::Int),
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<f64>().prop_map(Value::Float),
        "[a-z]{0,40}".prop_map(Value::Str),
        vec(any::<u8>(), 0..40).prop_map(Value::Bin),
        Just(Value::Raw(vec![0xd5, 1, 2, 3])),
        Just(Value::Raw(vec![0xc1])),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((inner.clone(), inner), 0..3).prop_map(Value::Map),
        ]
    })
}

/// Metadata with its keys in any order, some missing, doubled or of another type, and others.
fn metadata() -> impl Strategy<Value = Vec<u8>> {
    let path = prop_oneof![4 => "[./a-z@]{0,12}".prop_map(Value::Str), 1 => value()];
    let paths = prop_oneof![6 => vec(path, 0..4).prop_map(Value::Array), 1 => value()];
    let name = prop_oneof![6 => "[a-z/.]{0,40}".prop_map(Value::Str), 1 => value()];
    let key = |key: &'static str| Just(Value::from(key));
    let pair = prop_oneof![
        4 => (key("kpack_search_paths"), paths),
        4 => (key("kernel_name"), name),
        2 => (value(), value()),
    ];
    (vec(pair, 0..5), vec(any::<u8>(), 0..4)).prop_map(|(pairs, tail)| {
        let mut bytes = encode(&Value::Map(pairs));
        bytes.extend(tail);
        bytes
    })
}

/// A region: bundles, compressed ones and zeros, some of it damaged.
fn region() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![
        "host-[a-z]{0,4}",
        "hipv4-amdgcn-amd-amdhsa--gfx[0-9a-f:+-]{0,8}",
        "[a-z-]{0,6}"
    ];
    let made =
        (vec((id, vec(any::<u8>(), 0..40)), 0..4), 0usize..4).prop_map(|(entries, align)| {
            let entries: Vec<(&str, &[u8])> =
                entries.iter().map(|(id, content)| (id.as_str(), &content[..])).collect();
            object::bundle(&entries, 1 << (2 * align))
        });
    let part = prop_oneof![
        4 => made.clone(),
        2 => made.clone().prop_map(|bundle| object::ccob(Ccob::V2, &bundle)),
        2 => made.prop_map(|bundle| object::ccob(Ccob::V3, &bundle)),
        2 => (0usize..40).prop_map(|zeros| vec![0; zeros]),
        1 => vec(any::<u8>(), 1..8),
    ];
    let damage = prop::option::weighted(0.4, (any::<prop::sample::Index>(), any::<u8>()));
    (vec(part, 0..4), damage).prop_map(|(parts, damage)| {
        let mut bytes = parts.concat();
        if let Some((at, to)) = damage.filter(|_| !bytes.is_empty()) {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        bytes
    })
}

fn binary() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![
        Just(".hip_fatbin"),
        Just(".hipFatBinSegment"),
        Just(".rocm_kpack_ref"),
        Just(".hip_fat"),
        Just(".hipFatB"),
        Just(".kpackrf"),
        Just(".text"),
        Just(".hip_fatbin2"),
        Just(""),
    ];
    let kind = prop_oneof![4 => Just(fat::PROGBITS), 1 => Just(fat::NOBITS), 1 => Just(fat::RELA)];
    let section = (name, kind, any::<u32>(), vec(any::<u8>(), 0..40));
    let damage = vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (vec(section, 0..6), 0u8..3, damage).prop_map(|(sections, container, damage)| {
        let sections: Vec<fat::Section<'_>> = sections
            .iter()
            .map(|(name, kind, address, content)| {
                fat::Section::new(name, u64::from(*address), content).of(*kind)
            })
            .collect();
        let mut file = match container {
            0 => fat::elf(&sections),
            1 => fat::coff(&sections, None),
            _ => fat::coff(&sections, Some(0x1_4000_0000)),
        };
        for (at, to) in damage {
            let at = at.index(file.len());
            file[at] = to;
        }
        file
    })
}

fn walk(bytes: &[u8], seed: u64) -> Result<Vec<bundle::Kept>, TestCaseError> {
    let mut limits = Limits::default();
    limits.kernel_bytes = 1 << 16;
    let mut decoder = Workspace::<0>::new();
    bundle::walks_as_the_naive_one(bytes, &limits, &mut decoder, seed).map_err(fail)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(1500), ..ProptestConfig::default() })]

    #[test]
    fn metadata_is_read_and_measured(bytes in metadata(), seed in any::<u64>()) {
        reference::reads_and_measures(&bytes, seed).map_err(fail)?;
    }

    #[test]
    fn so_are_any_bytes(bytes in vec(any::<u8>(), 0..80), seed in any::<u64>()) {
        reference::reads_and_measures(&bytes, seed).map_err(fail)?;
        bundle::sections_agree(&bytes, seed).map_err(fail)?;
        walk(&bytes, seed)?;
    }

    #[test]
    fn target_ids_have_the_candidates_of_the_twin(
        prefix in prop_oneof![Just(""), Just("amdgcn-amd-amdhsa--"), Just("amdgcn-amd-")],
        processor in prop_oneof!["gfx(9|10|11|12)[0-9a-f]{1,2}", "[a-z]{0,2}"],
        features in vec(prop_oneof![Just("xnack-"), Just("xnack+"), Just("sramecc+"), Just("sramecc-"), Just("a"), Just("")], 0..9),
        other in "p?:?a?:?b?",
    ) {
        let features: String = features.iter().map(|feature| format!(":{feature}")).collect();
        let id = format!("{prefix}{processor}{features}");
        target::candidates_agree(id.as_bytes()).map_err(fail)?;
        target::membership_agrees(id.as_bytes(), other.as_bytes()).map_err(fail)?;
        target::membership_agrees(other.as_bytes(), id.as_bytes()).map_err(fail)?;
    }

    #[test]
    fn a_search_goes_as_the_naive_one(
        arches in vec("(p|q|p:a|p:a:b|p:b|q:a:b:c|:a|)", 1..5),
        replace in prop_oneof![3 => Just(String::new()), 1 => "[ab:\\\\/]{0,9}"],
        prefix in "[abc:\\\\/]{0,9}",
        binary in "[xy/]{0,5}", linked in "[xy/]{0,5}",
        paths in vec("(/?[de./]{0,3}(@GFXARCH@)?f?|@GFXARCH@@GFXARCH@)", 1..6),
        seed in any::<u64>(),
    ) {
        let text = [vec![arches.join(","), replace, prefix, binary, linked], paths].concat().join("\n");
        goes_as_the_naive_one(&Asked::new(text.as_bytes()), seed).map_err(fail)?;
    }

    #[test]
    fn long_lists_are_cut_as_the_naive_search_cuts_them(
        items in vec("[a-f]", 20..50), paths in 20usize..40, seed in any::<u64>(),
    ) {
        let paths: Vec<String> = (0..paths).map(|i| format!("p{i}")).collect();
        let text = format!("p\n\n{}\n/b\n/l\n{}", items.join(":"), paths.join("\n"));
        goes_as_the_naive_one(&Asked::new(text.as_bytes()), seed).map_err(fail)?;
    }

    #[test]
    fn regions_are_walked_as_the_naive_reader_does(bytes in region(), seed in any::<u64>()) {
        walk(&bytes, seed)?;
    }

    #[test]
    fn sections_are_those_of_the_crate_elf(bytes in binary(), seed in any::<u64>()) {
        bundle::sections_agree(&bytes, seed).map_err(fail)?;
    }
}

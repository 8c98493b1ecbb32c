//! The laws of GGUF headers over generated models, and over files with changed bytes.

use laws::gguf::{self, any_chunking, judge, table};
use laws::{Broken, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use rocload_core::gguf::{Options, Strictness};
use rocload_fixtures::gguf::{Raw, committed, ty};

/// A value of a key, in the words of the fixtures' writer.
#[derive(Debug, Clone)]
enum Value {
    Number(u32, u64),
    Text(String),
    Array(u32, Vec<u64>),
    Texts(Vec<String>),
    Nested(Vec<Value>),
}

/// Bytes of a number of this type.
fn size(ty: u32) -> usize {
    match ty {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        _ => 8,
    }
}

fn number(raw: &mut Raw, ty: u32, number: u64) {
    match (size(ty), ty) {
        (1, 7) => raw.0.push((number & 1) as u8),
        (1, _) => raw.0.push(number as u8),
        (2, _) => raw.u16(number as u16),
        (4, _) => raw.u32(number as u32),
        _ => raw.u64(number),
    }
}

impl Value {
    fn ty(&self) -> u32 {
        match self {
            Value::Number(ty, _) => *ty,
            Value::Text(_) => ty::STRING,
            _ => ty::ARRAY,
        }
    }

    fn write(&self, raw: &mut Raw) {
        match self {
            Value::Number(ty, value) => number(raw, *ty, *value),
            Value::Text(text) => raw.text(text),
            Value::Array(ty, values) => {
                raw.u32(*ty);
                raw.count(values.len() as u64);
                values.iter().for_each(|value| number(raw, *ty, *value));
            }
            Value::Texts(texts) => {
                raw.u32(ty::STRING);
                raw.count(texts.len() as u64);
                texts.iter().for_each(|text| raw.text(text));
            }
            Value::Nested(arrays) => {
                raw.u32(ty::ARRAY);
                raw.count(arrays.len() as u64);
                arrays.iter().for_each(|array| array.write(raw));
            }
        }
    }
}

fn fixed() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(0u32),
        Just(1),
        Just(2),
        Just(3),
        Just(4),
        Just(5),
        Just(6),
        Just(7),
        Just(10),
        Just(12)
    ]
}

fn array() -> impl Strategy<Value = Value> {
    let numbers = (fixed(), vec(any::<u64>(), 0..12)).prop_map(|(ty, all)| Value::Array(ty, all));
    let texts = vec("[a-z\u{e9}]{0,9}", 0..9).prop_map(Value::Texts);
    let flat = prop_oneof![3 => numbers, 2 => texts];
    flat.prop_recursive(3, 20, 3, |inner| vec(inner, 0..3).prop_map(Value::Nested))
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (fixed(), any::<u64>()).prop_map(|(ty, value)| Value::Number(ty, value)),
        3 => "[a-z ]{0,20}".prop_map(Value::Text),
        3 => array(),
    ]
}

#[derive(Debug, Clone)]
struct Model {
    version: u32,
    big: bool,
    keys: Vec<(String, Value)>,
    architecture_at: usize,
    /// Rows: dimensions, and whether of bytes or of floats.
    tensors: Vec<(Vec<u64>, bool)>,
    alignment: Option<u32>,
}

fn model() -> impl Strategy<Value = Model> {
    let name = prop_oneof![
        2 => "[a-z]{1,6}\\.[a-z_]{1,8}",
        1 => Just("llama.context_length".to_owned()),
        1 => Just("clip.context_length".to_owned()),
        1 => Just("llama.attention.head_count".to_owned()),
    ];
    let tensor = (vec(0..6u64, 0..4), any::<bool>());
    let alignment = prop_oneof![2 => Just(None), 1 => (3..8u32).prop_map(|log| Some(1 << log))];
    (
        (1..4u32, any::<bool>()),
        vec((name, value()), 0..8),
        any::<prop::sample::Index>(),
        vec(tensor, 0..5),
        alignment,
    )
        .prop_map(|((version, big), mut keys, at, tensors, alignment)| {
            // Names differ.
            for (place, (name, _)) in keys.iter_mut().enumerate() {
                if place > 2 || !name.ends_with("length") {
                    name.push_str(&place.to_string());
                }
            }
            keys.sort_by(|one, two| one.0.cmp(&two.0));
            keys.dedup_by(|one, two| one.0 == two.0);
            let architecture_at = at.index(keys.len() + 1);
            Model { version, big, keys, architecture_at, tensors, alignment }
        })
}

impl Model {
    fn bytes(&self) -> Vec<u8> {
        let mut raw = Raw::new(self.version, self.big);
        let more = 1 + u64::from(self.alignment.is_some());
        raw.counts(self.tensors.len() as u64, self.keys.len() as u64 + more);
        for at in 0..=self.keys.len() {
            if at == self.architecture_at {
                raw.text_pair("general.architecture", "llama");
            }
            if let Some((name, value)) = self.keys.get(at) {
                raw.key(name, value.ty());
                value.write(&mut raw);
            }
        }
        if let Some(alignment) = self.alignment {
            raw.u32_pair("general.alignment", alignment);
        }
        let alignment = u64::from(self.alignment.unwrap_or(32));
        let mut offset = 0;
        for (at, (dims, float)) in self.tensors.iter().enumerate() {
            raw.tensor(&format!("blk.{at}.weight"), dims, if *float { 0 } else { 24 }, offset);
            let size = dims.iter().product::<u64>() * if *float { 4 } else { 1 };
            offset += size.next_multiple_of(alignment);
        }
        raw.align(alignment as usize);
        raw.0.resize(raw.0.len() + offset as usize, 0xaa);
        raw.0
    }
}

fn every_law(bytes: &[u8]) -> Verdict {
    gguf::reads_as_the_naive_reader(bytes, Options::default())?;
    gguf::wanting_changes_nothing(bytes, Options::default())?;
    table::judged_as_by_the_twin(bytes, Options::default())?;
    gguf::summary(bytes, Options::default())?;
    gguf::wanted_keys_are_found(bytes, &["{arch}.context_length", "general.architecture"])
}

fn fail(broken: Broken) -> TestCaseError {
    TestCaseError::fail(broken.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(2000), ..ProptestConfig::default() })]

    #[test]
    fn a_model_is_read_as_it_was_written(model in model()) {
        let bytes = model.bytes();
        every_law(&bytes).map_err(fail)?;
        let run = judge(&bytes, Options::default());
        prop_assert!(matches!(run.word(), "ok" | "warn"), "{} {:?}", run.word(), run.ending);
        let shown: Vec<Vec<u8>> = run.items.iter().filter_map(|item| match item {
            gguf::Kept::Key { name, .. } => Some(name.clone()),
            _ => None,
        }).collect();
        for (name, _) in &model.keys {
            prop_assert!(shown.contains(&name.clone().into_bytes()), "{name}");
        }
    }

    #[test]
    fn and_with_changed_bytes(
        model in model(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop_oneof![3 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)],
    ) {
        let mut bytes = model.bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        every_law(&bytes).map_err(fail)?;
    }

    #[test]
    fn tensors_in_any_place_are_judged_as_by_the_twin(bytes in vec(any::<u8>(), 0..60)) {
        let file = table::model(&bytes);
        for strictness in [Strictness::Tolerant, Strictness::Specification, Strictness::Llama] {
            let options = Options { strictness, ..Options::default() };
            table::judged_as_by_the_twin(&file, options).map_err(fail)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(100), ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_of_a_model(model in model(), lie in prop_oneof![2 => Just(0i64), 1 => -40..40i64]) {
        let bytes = model.bytes();
        let total = (bytes.len() as u64).saturating_add_signed(lie);
        any_chunking(&bytes, Some(total), Options::default(), None).map_err(fail)?;
        let mut small = Options::default();
        small.limits.contiguous = 64;
        small.limits.gguf_depth = 2;
        any_chunking(&bytes, None, small, None).map_err(fail)?;
    }
}

#[test]
fn every_byte_of_every_committed_file_changed() {
    let mut count = 0;
    for case in committed() {
        let bytes = std::fs::read(case.file()).unwrap();
        if bytes.len() > 512 {
            continue;
        }
        for at in 0..bytes.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                every_law(&bytes).unwrap_or_else(|broken| panic!("{} {at}: {broken}", case.path));
                count += 1;
            }
        }
    }
    println!("{count} files");
    assert!(count > 10_000);
}

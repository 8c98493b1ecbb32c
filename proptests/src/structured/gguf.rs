//! A GGUF header of keys of any kind and tensors, and a model and settings for memory fit.

use arbitrary::Arbitrary;
use rocload_core::gguf::fit::{CACHE_TYPES, Heads, Model, Pattern, Settings};
use rocload_core::gguf::{Endian, GgmlType, Scalar, ValueType};

use super::{Lie, tell};
use crate::gguf_write::{File, Owned, write};

/// A header.
#[derive(Debug, Clone, Arbitrary)]
pub struct Header {
    /// Version and byte order.
    pub layout: u8,
    /// Its keys.
    pub keys: Vec<(Name, Value)>,
    /// `general.alignment`, as a power of two.
    pub alignment: Option<u8>,
    /// Its tensors.
    pub tensors: Vec<Tensor>,
    /// What is not so.
    pub lies: Vec<Lie>,
}

/// A key's name.
#[derive(Debug, Clone, Arbitrary)]
pub enum Name {
    /// One that a summary looks for.
    Known(u8),
    /// Any other.
    Other(Vec<u8>),
}

/// A value.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "as the format's types")]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(u32),
    Bool(bool),
    U64(u64),
    I64(i64),
    F64(u64),
    String(Vec<u8>),
    Numbers(Vec<i32>),
    Bytes(Vec<u8>),
    Strings(Vec<Vec<u8>>),
    /// Arrays within an array.
    Arrays(Vec<Value>),
}

/// A tensor.
#[derive(Debug, Clone, Arbitrary)]
pub struct Tensor {
    /// Its name.
    pub name: Vec<u8>,
    /// Blocks in its first dimension, then the other dimensions.
    pub dims: Vec<u8>,
    /// Its type, of those that there are.
    pub ty: u8,
}

const KNOWN: [&str; 24] = [
    "general.architecture",
    "general.type",
    "general.name",
    "general.file_type",
    "general.quantization_version",
    "llama.block_count",
    "llama.context_length",
    "llama.embedding_length",
    "llama.feed_forward_length",
    "llama.attention.head_count",
    "llama.attention.head_count_kv",
    "llama.attention.key_length",
    "llama.attention.value_length",
    "llama.attention.sliding_window",
    "llama.vocab_size",
    "llama.expert_count",
    "split.no",
    "split.count",
    "split.tensors.count",
    "tokenizer.ggml.model",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.eos_token_id",
    "tokenizer.chat_template",
    "clip.has_vision_encoder",
];

impl Value {
    fn owned(&self, depth: u8) -> Owned {
        let scalar = match *self {
            Value::U8(value) => Scalar::U8(value),
            Value::I8(value) => Scalar::I8(value),
            Value::U16(value) => Scalar::U16(value),
            Value::I16(value) => Scalar::I16(value),
            Value::U32(value) => Scalar::U32(value),
            Value::I32(value) => Scalar::I32(value),
            Value::F32(bits) => Scalar::F32(f32::from_bits(bits)),
            Value::Bool(value) => Scalar::Bool(value),
            Value::U64(value) => Scalar::U64(value),
            Value::I64(value) => Scalar::I64(value),
            Value::F64(bits) => Scalar::F64(f64::from_bits(bits)),
            Value::String(ref bytes) => return text(bytes),
            Value::Numbers(ref all) => {
                let items = all.iter().map(|one| Owned::Scalar(Scalar::I32(*one)));
                return Owned::Array { element: ValueType::I32, items: items.collect() };
            }
            Value::Bytes(ref all) => {
                let items = all.iter().map(|one| Owned::Scalar(Scalar::U8(*one)));
                return Owned::Array { element: ValueType::U8, items: items.collect() };
            }
            Value::Strings(ref all) => {
                let items = all.iter().map(|one| text(one)).collect();
                return Owned::Array { element: ValueType::String, items };
            }
            Value::Arrays(ref all) => {
                let inner = all.iter().take(if depth < 4 { 4 } else { 0 });
                let items = inner.map(|one| one.owned(depth + 1));
                let items = items.filter(|one| matches!(one, Owned::Array { .. })).collect();
                return Owned::Array { element: ValueType::Array, items };
            }
        };
        Owned::Scalar(scalar)
    }
}

fn text(bytes: &[u8]) -> Owned {
    let known: [&[u8]; 6] = [b"llama", b"gemma3", b"gpt2", b"mmproj", b"adapter", b"model"];
    Owned::String(match bytes {
        // A text of one byte is mostly a word that means something.
        [at] => known.get(usize::from(*at) % 8).map_or_else(|| vec![*at], |word| word.to_vec()),
        bytes => bytes.to_vec(),
    })
}

impl Header {
    /// The file that the writer is given.
    pub fn file(&self) -> File {
        let (version, endian) = match self.layout % 4 {
            0 => (1, Endian::Little),
            1 => (2, Endian::Little),
            2 => (3, Endian::Big),
            _ => (3, Endian::Little),
        };
        let keys = self.keys.iter().take(20).map(|(name, value)| {
            let name = match name {
                Name::Known(at) => KNOWN[usize::from(*at) % KNOWN.len()].into(),
                Name::Other(name) => name.clone(),
            };
            (name, value.owned(0))
        });
        let mut keys: Vec<(Vec<u8>, Owned)> = keys.collect();
        if let Some(power) = self.alignment {
            let value = Owned::Scalar(Scalar::U32(1 << (power % 12)));
            keys.push((b"general.alignment".to_vec(), value));
        }
        let types: Vec<GgmlType> = GgmlType::all().collect();
        let tensors = self.tensors.iter().take(20).map(|tensor| {
            let ty = types[usize::from(tensor.ty) % types.len()];
            let mut dims: Vec<u64> =
                tensor.dims.iter().take(4).map(|dim| u64::from(*dim) % 5).collect();
            let block = ty.block().map_or(1, |(elements, _)| elements);
            match dims.first_mut() {
                Some(first) => *first *= block,
                None => dims.push(block),
            }
            (tensor.name.clone(), dims, ty)
        });
        File { version, endian, keys, tensors: tensors.collect() }
    }

    /// The file with its lies; `None` where the writer takes none like it.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = write(&self.file()).ok()?;
        tell(&self.lies, &mut bytes);
        Some(bytes)
    }
}

/// A model, settings, harder settings and two budgets.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "as the fields of the core's `Model` and `Settings`")]
pub struct Fit {
    pub arch: u8,
    pub layers: u8,
    pub heads: (u8, u8),
    pub lengths: (u8, u8),
    pub feed_forward: Option<u16>,
    pub window: Option<u32>,
    pub period: Option<u8>,
    pub vocabulary: u32,
    pub trained: Option<u32>,
    pub weights: u64,
    pub small: bool,
    pub context: u32,
    pub multiple: bool,
    pub parallel: Option<u8>,
    pub unified: Option<bool>,
    pub ubatch: u16,
    pub types: (u8, u8),
    pub swa_full: bool,
    pub flash: bool,
    pub margin: u32,
    pub more: (u16, u8, u8),
    pub budgets: [u64; 2],
    pub near: [u16; 2],
}

impl Fit {
    /// The four things that the law of memory fit takes.
    pub fn parts(&self) -> (Model<'static>, Settings, Settings, [u64; 2]) {
        let arches = ["llama", "gemma3", "gemma2", "cohere2", "mamba", "qwen3", "gpt-oss"];
        let arch = arches[usize::from(self.arch) % arches.len()];
        let (key, value) = (u32::from(self.lengths.0 % 5), u32::from(self.lengths.1 % 5));
        let heads = u32::from(self.heads.0 % 20);
        let model = Model {
            layers: self.layers.into(),
            heads: Heads::Same(heads),
            heads_kv: Heads::Same(u32::from(self.heads.1 % 20)),
            key_length: key * 32,
            value_length: value * 32,
            embedding: heads * key * 32,
            feed_forward: self.feed_forward.map(u64::from),
            window: self.window,
            pattern: self.period.map(|period| Pattern::Period(u32::from(period % 8))),
            vocabulary: self.vocabulary.into(),
            context: self.trained,
            weights: if self.small { self.weights >> 30 } else { self.weights },
            ..Model::new(arch.as_bytes())
        };
        let context = if self.multiple { self.context % 300 * 256 } else { self.context };
        let cache = |at: u8| CACHE_TYPES[usize::from(at) % CACHE_TYPES.len()];
        let settings = Settings {
            context,
            parallel: self.parallel.map(u32::from),
            unified: self.unified,
            ubatch: self.ubatch.into(),
            keys: cache(self.types.0),
            values: cache(self.types.1),
            swa_full: self.swa_full,
            flash: self.flash,
            margin: self.margin.into(),
            ..Settings::default()
        };
        let (tokens, sequences, ubatch) = self.more;
        let more = Settings {
            context: match context {
                // 0 is what the model was trained with, and more than any may be less than that.
                0 => 0,
                some => {
                    some.saturating_add(u32::from(tokens) * if self.multiple { 256 } else { 1 })
                }
            },
            parallel: settings.parallel.map(|count| count + u32::from(sequences % 6)),
            ubatch: settings.ubatch + u32::from(ubatch),
            ..settings
        };
        (model, settings, more, self.budgets)
    }
}

//! What of a model decides the memory it takes, and the architectures whose cache is known.

use core::fmt;

use super::Unknown;
use crate::gguf::value::Mismatch;
use crate::gguf::{Found, Hparam, Kind, PerLayer, Summary};

/// A number for each layer, or one for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heads<'a> {
    /// Each layer has as many.
    Same(u32),
    /// Layer by layer; must have one for each layer.
    Each(&'a [u32]),
}

impl Heads<'_> {
    pub(super) fn of(&self, layer: u32) -> Option<u32> {
        match self {
            Heads::Same(heads) => Some(*heads),
            Heads::Each(heads) => usize::try_from(layer).ok().and_then(|at| heads.get(at)).copied(),
        }
    }
}

/// Which layers have a sliding window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern<'a> {
    /// The last of every so many layers attends to all, the others to a window; 0 = all to a
    /// window, 1 = none.
    Period(u32),
    /// Layer by layer, nonzero = a window.
    Each(&'a [u32]),
}

impl Pattern<'_> {
    pub(super) fn windowed(&self, layer: u32) -> Option<bool> {
        match self {
            Pattern::Period(0) => Some(true),
            Pattern::Period(period) => Some(layer % period < period - 1),
            Pattern::Each(flags) => {
                usize::try_from(layer).ok().and_then(|at| flags.get(at)).map(|&flag| flag != 0)
            }
        }
    }
}

/// How an architecture of llama.cpp keeps its keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Every layer keeps every cell, whatever window the file names.
    Full,
    /// Layers with a window, by the period that holds where the file names no pattern.
    Windowed {
        /// As in [`Pattern::Period`].
        period: u32,
        /// The window where the file names none; `None` = then no layer has one.
        default_window: Option<u32>,
    },
}

/// Architectures whose layers all attend to everything and cache plain keys and values.
const FULL: [&[u8]; 26] = [
    b"llama",
    b"qwen2",
    b"qwen2moe",
    b"qwen3",
    b"qwen3moe",
    b"gemma",
    b"phi2",
    b"phi3",
    b"starcoder2",
    b"stablelm",
    b"falcon",
    b"gpt2",
    b"gptneox",
    b"mpt",
    b"bloom",
    b"command-r",
    b"olmo",
    b"olmoe",
    b"internlm2",
    b"baichuan",
    b"granite",
    b"granitemoe",
    b"orion",
    b"codeshell",
    b"xverse",
    b"refact",
];

impl Cache {
    /// The cache of an architecture by its name in `general.architecture`; `None` = unknown.
    ///
    /// Latent attention (`deepseek2` and others), recurrent and hybrid models, models whose layers
    /// share caches (`gemma3n`), chunked attention (`llama4`) and encoders are unknown on purpose:
    /// their caches follow other laws.
    pub fn of(arch: &[u8]) -> Option<Cache> {
        match arch {
            b"gemma2" => Some(Cache::Windowed { period: 2, default_window: Some(4096) }),
            b"gemma3" => Some(Cache::Windowed { period: 6, default_window: None }),
            b"gpt-oss" => Some(Cache::Windowed { period: 2, default_window: None }),
            b"cohere2" => Some(Cache::Windowed { period: 4, default_window: None }),
            _ => FULL.contains(&arch).then_some(Cache::Full),
        }
    }
}

/// What of a model decides the memory it takes.
#[derive(Debug, Clone, Copy)]
pub struct Model<'a> {
    /// `general.architecture`.
    pub arch: &'a [u8],
    /// `{arch}.block_count`.
    pub layers: u32,
    /// `{arch}.attention.head_count`; used for the estimate alone.
    pub heads: Heads<'a>,
    /// `{arch}.attention.head_count_kv`; where absent, `head_count`.
    pub heads_kv: Heads<'a>,
    /// `{arch}.attention.key_length` in elements; where absent, embedding length by heads.
    pub key_length: u32,
    /// `{arch}.attention.value_length`, likewise.
    pub value_length: u32,
    /// `{arch}.attention.key_length_swa`; where absent, `key_length`.
    pub key_length_swa: Option<u32>,
    /// `{arch}.attention.value_length_swa`, likewise.
    pub value_length_swa: Option<u32>,
    /// `{arch}.embedding_length`; used for the estimate alone.
    pub embedding: u32,
    /// `{arch}.feed_forward_length`, the largest of all layers, or for experts the length of one
    /// times those used; used for the estimate alone.
    pub feed_forward: Option<u64>,
    /// `{arch}.attention.sliding_window` in tokens.
    pub window: Option<u32>,
    /// `{arch}.attention.sliding_window_pattern`.
    pub pattern: Option<Pattern<'a>>,
    /// Tokens of the vocabulary.
    pub vocabulary: u64,
    /// `{arch}.context_length`: what a context of 0 stands for.
    pub context: Option<u32>,
    /// Sum of the tensors' sizes, in bytes.
    pub weights: u64,
    /// The file has a key of another kind of cache, which llama.cpp then uses.
    pub other: Option<OtherCache>,
}

impl<'a> Model<'a> {
    /// A model of that architecture without layers, to be filled in.
    pub const fn new(arch: &'a [u8]) -> Self {
        Model {
            arch,
            layers: 0,
            heads: Heads::Same(0),
            heads_kv: Heads::Same(0),
            key_length: 0,
            value_length: 0,
            key_length_swa: None,
            value_length_swa: None,
            embedding: 0,
            feed_forward: None,
            window: None,
            pattern: None,
            vocabulary: 0,
            context: None,
            weights: 0,
            other: None,
        }
    }

    /// The model that a file's summary describes; `weights` are the bytes of its tensors, over
    /// all its files.
    ///
    /// # Errors
    /// [`Unknown`], when the file is no model, or a key is absent or not what it should be: a key
    /// that is there with a value of another kind is [`Unknown::Wrong`], never as if it were absent.
    pub fn of(summary: &'a Summary, weights: u64) -> Result<Self, Unknown> {
        if !matches!(summary.kind(), Kind::Model | Kind::Vocabulary) {
            return Err(Unknown::NoModel);
        }
        if summary.unsized_tensors() > 0 {
            return Err(Unknown::TensorType);
        }
        let narrow = |hparam, n: u64| {
            u32::try_from(n).map_err(|_| Unknown::Wrong(hparam, Mismatch::TooLarge))
        };
        let number = |hparam| match summary.get(hparam) {
            Found::Absent => Ok(None),
            Found::Value(n) => narrow(hparam, n).map(Some),
            Found::Wrong(why) => Err(Unknown::Wrong(hparam, why)),
        };
        let missing = |name: &'static str| Unknown::Missing(name);
        // One for all layers, or one for each.
        let heads = |hparam| match summary.per_layer(hparam) {
            PerLayer::Absent => Ok(None),
            PerLayer::Same(n) => narrow(hparam, n).map(|n| Some(Heads::Same(n))),
            PerLayer::Each { values, .. } => Ok(Some(Heads::Each(values))),
            PerLayer::Wrong(why) => Err(Unknown::Wrong(hparam, why)),
        };
        let arch = summary.architecture().ok_or(missing("architecture"))?;
        let embedding = number(Hparam::EmbeddingLength)?.ok_or(missing("embedding length"))?;
        let all_heads = heads(Hparam::HeadCount)?.ok_or(missing("head count"))?;
        let default_length = all_heads.of(0).and_then(|heads| embedding.checked_div(heads));
        let length = |hparam| Ok(number(hparam)?.or(default_length).unwrap_or(0));
        let used = number(Hparam::ExpertUsedCount)?.unwrap_or(1).max(1);
        let feed_forward = match heads(Hparam::FeedForwardLength)? {
            None => None,
            Some(Heads::Same(n)) => Some(n),
            Some(Heads::Each(values)) => values.iter().max().copied(),
        };
        let vocabulary = match (summary.tokens(), summary.get(Hparam::VocabSize)) {
            (Some(tokens), _) => tokens,
            (None, Found::Wrong(why)) => return Err(Unknown::Wrong(Hparam::VocabSize, why)),
            (None, size) => size.value().unwrap_or(0),
        };
        let mut other = None;
        for (hparam, kind) in ANNOUNCED {
            let announced = match summary.per_layer(hparam) {
                PerLayer::Absent => false,
                PerLayer::Wrong(why) => return Err(Unknown::Wrong(hparam, why)),
                found => found.max() != Some(0),
            };
            other = other.or(announced.then_some(kind));
        }
        Ok(Model {
            arch,
            layers: number(Hparam::BlockCount)?.ok_or(missing("block count"))?,
            heads: all_heads,
            heads_kv: heads(Hparam::HeadCountKv)?.unwrap_or(all_heads),
            key_length: length(Hparam::KeyLength)?,
            value_length: length(Hparam::ValueLength)?,
            key_length_swa: number(Hparam::KeyLengthSwa)?,
            value_length_swa: number(Hparam::ValueLengthSwa)?,
            embedding,
            feed_forward: feed_forward.map(|n| u64::from(n) * u64::from(used)),
            window: number(Hparam::SlidingWindow)?,
            pattern: heads(Hparam::SlidingWindowPattern)?.map(|pattern| match pattern {
                Heads::Same(period) => Pattern::Period(period),
                Heads::Each(flags) => Pattern::Each(flags),
            }),
            vocabulary,
            context: number(Hparam::ContextLength)?,
            weights,
            other,
        })
    }
}

/// A kind of cache whose law is not known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherCache {
    /// Latent attention: `attention.kv_lora_rank`.
    Latent,
    /// State-space or recurrent layers: `ssm.state_size`, `attention.recurrent_layers`,
    /// `full_attention_interval`.
    Recurrent,
    /// Layers that use another layer's cache: `attention.shared_kv_layers`.
    Shared,
    /// Prediction layers beside the trunk: `nextn_predict_layers`.
    Prediction,
    /// An encoder or embedding model, which may keep no cache: `pooling_type`.
    Encoder,
}

/// What a key announces by a number other than 0.
const ANNOUNCED: [(Hparam, OtherCache); 9] = [
    (Hparam::KvLoraRank, OtherCache::Latent),
    (Hparam::KeyLengthMla, OtherCache::Latent),
    (Hparam::ValueLengthMla, OtherCache::Latent),
    (Hparam::RecurrentLayers, OtherCache::Recurrent),
    (Hparam::FullAttentionInterval, OtherCache::Recurrent),
    (Hparam::SsmStateSize, OtherCache::Recurrent),
    (Hparam::SharedKvLayers, OtherCache::Shared),
    (Hparam::NextnPredictLayers, OtherCache::Prediction),
    (Hparam::PoolingType, OtherCache::Encoder),
];

impl fmt::Display for OtherCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OtherCache::Latent => "latent attention",
            OtherCache::Recurrent => "recurrent layers",
            OtherCache::Shared => "layers that share a cache",
            OtherCache::Prediction => "prediction layers",
            OtherCache::Encoder => "an encoder",
        })
    }
}

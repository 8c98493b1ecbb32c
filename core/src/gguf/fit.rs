//! Memory fit: what llama-server will allocate for a model, and whether it fits.
//!
//! ```text
//! need = weights + KV cache + output + compute + margin
//! ```
//!
//! Weights, KV cache and output are exact, by the server's own rounding: a context is a multiple
//! of 256 cells, shared by all sequences (unified) or divided among them; layers with a sliding
//! window keep only the window and one micro-batch. The compute buffers depend on the model's
//! graph and are an [`Estimate`] with its range. What is not known is [`Unknown`], never a number:
//! only architectures of [`Cache::of`] have a cache law here.
//!
//! A [`Law`] is made once from a [`Model`] and [`Settings`]; it answers [`need`](Law::need),
//! [`verdict`](Law::verdict) and [`largest_context`](Law::largest_context). The verdict is
//! monotone: more context or a larger micro-batch never makes it better, more memory never worse.
//! So do more sequences where they share a cache, and where both numbers divide the context in
//! multiples of 256. Where they do not, the server rounds each sequence's share up: 16 sequences
//! of 4096 tokens have 4096 cells, 15 have 7680, so that 16 may fit where 15 do not.
//!
//! ```
//! use rocload_core::gguf::fit::{Heads, Law, Model, Settings, Verdict};
//!
//! let model = Model {
//!     layers: 18, heads: Heads::Same(4), heads_kv: Heads::Same(1), key_length: 256, value_length: 256,
//!     embedding: 640, feed_forward: Some(2048), window: Some(512), vocabulary: 262_144,
//!     context: Some(32_768), weights: 235 << 20, ..Model::new(b"gemma3")
//! };
//! let law = Law::new(&model, &Settings { context: 8192, parallel: Some(1), ..Settings::default() })?;
//! let need = law.need()?;
//! assert_eq!((need.kv, need.output), ((24 + 15) << 20, 1 << 20));
//! assert_eq!(law.verdict(2 << 30), Verdict::Fits);
//! # Ok::<(), rocload_core::gguf::fit::Unknown>(())
//! ```
//!
//! Source: llama.cpp's build 11434 (`llama-context.cpp`, `llama-kv-cache-iswa.cpp`, `models/`)
//! and its log of ten settings of one model.

use core::fmt;

use super::value::Mismatch;
use super::{GgmlType, Hparam};

mod model;

pub use model::{Cache, Heads, Model, OtherCache, Pattern};

/// Cells of a cache come in multiples of this.
const CELLS: u64 = 256;
/// Sequences that the server admits (`LLAMA_MAX_SEQ`).
pub const MAX_PARALLEL: u32 = 256;
/// Layers that llama.cpp admits (`LLAMA_MAX_LAYERS`).
pub const MAX_LAYERS: u32 = 512;
/// Types that the server takes for its cache (`-ctk`, `-ctv`); it refuses every other.
pub const CACHE_TYPES: [GgmlType; 9] = [
    GgmlType::F32,
    GgmlType::F16,
    GgmlType(30), // bf16
    GgmlType(8),  // q8_0
    GgmlType(2),  // q4_0
    GgmlType(3),  // q4_1
    GgmlType(20), // iq4_nl
    GgmlType(6),  // q5_0
    GgmlType(7),  // q5_1
];

/// How the server is to be started; the defaults are the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// `-c`: tokens of context over all sequences; 0 = what the model was trained with.
    pub context: u32,
    /// `-np`: sequences; `None` = 4 that share one cache.
    pub parallel: Option<u32>,
    /// `-kvu` or `-no-kvu`: sequences share one cache; `None` = they do not. Where `parallel` is
    /// `None` they always do.
    pub unified: Option<bool>,
    /// `-b`: tokens of a batch: 2048.
    pub batch: u32,
    /// `-ub`: tokens of a micro-batch: 512.
    pub ubatch: u32,
    /// `-ctk`: type of cached keys, one of [`CACHE_TYPES`]: f16.
    pub keys: GgmlType,
    /// `-ctv`: type of cached values: f16.
    pub values: GgmlType,
    /// `--swa-full`: layers with a window keep every cell.
    pub swa_full: bool,
    /// `-fa`: flash attention is on, as it is wherever the device has it.
    pub flash: bool,
    /// Bytes to leave free on the device: 1 GiB, as the server's `--fit-target`.
    pub margin: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            context: 0,
            parallel: None,
            unified: None,
            batch: 2048,
            ubatch: 512,
            keys: GgmlType::F16,
            values: GgmlType::F16,
            swa_full: false,
            flash: true,
            margin: 1 << 30,
        }
    }
}

/// Why there is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unknown {
    /// The architecture is not in the table of [`Cache::of`].
    Architecture,
    /// The file is no model: an adapter, a projector, a shard without the model's keys.
    NoModel,
    /// A tensor's type is not known, so the weights are not.
    TensorType,
    /// The file announces a cache whose law is not known here.
    Cache(OtherCache),
    /// A key that the law needs is absent or 0.
    Missing(&'static str),
    /// A key is there, but not as an integer of 32 bits. The server does not load such a model,
    /// so nothing stands in for its value.
    Wrong(Hparam, Mismatch),
    /// A list by layer is shorter than the layers.
    Layers,
    /// There are more layers than [`MAX_LAYERS`].
    TooManyLayers(u32),
    /// The cache cannot have this type: none of [`CACHE_TYPES`], rows that are no whole number of
    /// blocks, or quantized values without flash attention.
    CacheType(GgmlType),
    /// `parallel`, `batch` or `ubatch` is outside of what the server admits.
    Settings(&'static str),
    /// A size passes 64 bits.
    TooLarge,
    /// Without flash attention the compute buffers follow another law.
    Compute,
    /// The estimate's range spans the budget.
    WithinEstimate,
    /// The model has other files, and what they hold is not known.
    Shards,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Architecture => {
                f.write_str("how this architecture keeps its cache is not known")
            }
            Unknown::Shards => {
                f.write_str("the model has other shards, and not all of them are known")
            }
            Unknown::NoModel => f.write_str("the file is no model of its own"),
            Unknown::TensorType => f.write_str("a tensor has a type whose size is not known"),
            Unknown::Cache(kind) => {
                write!(f, "the model has {kind}, whose cache follows another law")
            }
            Unknown::Missing(key) => write!(f, "the model's {key} is absent or 0"),
            Unknown::Wrong(key, why) => {
                write!(f, "the model's {} cannot be used: it is {why}", key.key())
            }
            Unknown::Layers => f.write_str("a list by layer is shorter than the number of layers"),
            Unknown::TooManyLayers(layers) => {
                write!(f, "the model has {layers} layers, and the server admits {MAX_LAYERS}")
            }
            Unknown::CacheType(ty) => write!(f, "the cache cannot be kept as {ty}"),
            Unknown::Settings(name) => write!(f, "the server does not admit this {name}"),
            Unknown::TooLarge => f.write_str("a size passes 64 bits"),
            Unknown::Compute => {
                f.write_str("without flash attention the compute buffers are not known")
            }
            Unknown::WithinEstimate => {
                f.write_str("it is too close to call: the compute buffers are an estimate")
            }
        }
    }
}

impl core::error::Error for Unknown {}

/// A size that is not exact, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// It is hardly less.
    pub low: u64,
    /// The likeliest.
    pub likely: u64,
    /// It is hardly more.
    pub high: u64,
}

/// What a server needs, in bytes, and the shape of its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Tokens of context over all sequences, as the server rounds them.
    pub context: u64,
    /// Tokens of context that one sequence can have.
    pub per_sequence: u64,
    /// Sequences.
    pub parallel: u32,
    /// Exact: the tensors.
    pub weights: u64,
    /// Exact: keys and values of all layers.
    pub kv: u64,
    /// The part of `kv` that layers with a sliding window take.
    pub kv_windowed: u64,
    /// Exact: the logits.
    pub output: u64,
    /// The graph's buffers; `None` without flash attention.
    pub compute: Option<Estimate>,
    /// What was asked to be left free.
    pub margin: u64,
}

impl Need {
    /// Weights, cache and output: the exact part.
    pub fn exact(&self) -> u64 {
        self.weights.saturating_add(self.kv).saturating_add(self.output)
    }

    /// All of it with the margin, by the given end of the estimate.
    fn total(&self, end: impl Fn(Estimate) -> u64) -> u64 {
        let compute = self.compute.map_or(0, end);
        self.exact().saturating_add(compute).saturating_add(self.margin)
    }

    /// At least this much is needed, with the margin.
    pub fn low(&self) -> u64 {
        self.total(|compute| compute.low)
    }

    /// The likeliest total, with the margin; without an estimate the exact part.
    pub fn likely(&self) -> u64 {
        self.total(|compute| compute.likely)
    }

    /// No more than this is needed, with the margin; `None` without an estimate.
    pub fn high(&self) -> Option<u64> {
        self.compute.map(|_| self.total(|compute| compute.high))
    }
}

/// Whether a model fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does as asked.
    Fits,
    /// It does with this much context, the most that is sure to fit.
    FitsWithCtx(u64),
    /// It does not, even with the least context.
    DoesNotFit,
    /// It cannot be said.
    Unknown(Unknown),
}

/// A model's memory as a function of context and sequences.
#[derive(Debug, Clone, Copy)]
pub struct Law {
    /// Bytes of one cell over the layers that keep every cell, and over those with a window.
    full: u64,
    windowed: u64,
    /// The window in tokens; `None` = no layer has one.
    window: Option<u64>,
    /// Compute bytes of one token, masks apart: the likeliest.
    token: u64,
    weights: u64,
    vocabulary: u64,
    context: u32,
    /// What the model was trained with, or more where more was asked for.
    most: u32,
    parallel: u32,
    unified: bool,
    settings: Settings,
}

fn padded(cells: u64) -> u64 {
    // Contexts are 32-bit numbers: this cannot pass 64 bits.
    cells.div_ceil(CELLS) * CELLS
}

impl Law {
    /// The law of a model under the settings.
    ///
    /// # Errors
    /// [`Unknown`] when the architecture, its cache, a key or a setting leaves it unknown.
    pub fn new(model: &Model<'_>, settings: &Settings) -> Result<Law, Unknown> {
        let cache = Cache::of(model.arch).ok_or(Unknown::Architecture)?;
        if let Some(other) = model.other {
            return Err(Unknown::Cache(other));
        }
        let parallel = settings.parallel.unwrap_or(4);
        if !(1..=MAX_PARALLEL).contains(&parallel) {
            return Err(Unknown::Settings("number of sequences"));
        }
        if settings.batch == 0 || settings.ubatch == 0 {
            return Err(Unknown::Settings("batch"));
        }
        let context = match (settings.context, model.context) {
            (0, Some(trained)) if trained > 0 => trained,
            (0, _) => return Err(Unknown::Missing("context length")),
            (asked, _) => asked,
        };
        let (full, windowed, window) = cells(model, settings, cache)?;
        if model.vocabulary == 0 {
            return Err(Unknown::Missing("vocabulary"));
        }
        Ok(Law {
            full,
            windowed,
            window,
            token: token_bytes(model)?,
            weights: model.weights,
            vocabulary: model.vocabulary,
            context,
            most: context.max(model.context.unwrap_or(0)),
            parallel,
            // The server's own choice of sequences comes with a shared cache.
            unified: settings.parallel.is_none() || settings.unified.unwrap_or(false),
            settings: *settings,
        })
    }

    /// What the server needs under the settings.
    ///
    /// # Errors
    /// [`Unknown::TooLarge`].
    pub fn need(&self) -> Result<Need, Unknown> {
        self.need_of(self.context, self.parallel).ok_or(Unknown::TooLarge)
    }

    fn need_of(&self, context: u32, parallel: u32) -> Option<Need> {
        let (context, sequences) = (u64::from(context), u64::from(parallel));
        // The batch is cut to the context as it was asked for, before that is rounded.
        let batch = context.min(self.settings.batch.into());
        let ubatch = batch.min(self.settings.ubatch.into());
        let total = padded(context);
        let (per_sequence, streams) =
            if self.unified { (total, 1) } else { (padded(total / sequences), sequences) };
        let cells_windowed = match self.window {
            None => 0,
            Some(_) if self.settings.swa_full => per_sequence,
            Some(window) => {
                let share = if self.unified { sequences } else { 1 };
                let kept = window.checked_mul(share)?.checked_add(ubatch)?;
                padded(per_sequence.min(kept))
            }
        };
        let of_cells = |cells: u64, bytes: u64| cells.checked_mul(streams)?.checked_mul(bytes);
        let kv_windowed = of_cells(cells_windowed, self.windowed)?;
        let kv = of_cells(per_sequence, self.full)?.checked_add(kv_windowed)?;
        let masks = per_sequence.checked_add(cells_windowed)?.checked_mul(2)?;
        // Each sequence has its masks, of which one alone may live at a time: at most all do. By
        // that the upper end does not fall where more sequences divide the context among them.
        let all_masks = masks.checked_mul(streams)?;
        let compute = |token: u64, masks| ubatch.checked_mul(token.checked_add(masks)?);
        let compute = match self.settings.flash {
            true => Some(Estimate {
                low: compute(self.token / 2, masks)?,
                likely: compute(self.token, masks)?,
                high: compute(self.token.checked_mul(2)?, all_masks)?,
            }),
            false => None,
        };
        Some(Need {
            context: if self.unified { total } else { per_sequence * sequences },
            per_sequence,
            parallel,
            weights: self.weights,
            kv,
            kv_windowed,
            output: sequences.checked_mul(self.vocabulary)?.checked_mul(4)?,
            compute,
            margin: self.settings.margin,
        })
    }

    /// Whether the sequences are sure to fit with that context.
    fn sure(&self, context: u32, budget: u64) -> bool {
        let high = self.need_of(context, self.parallel).and_then(|need| need.high());
        high.is_some_and(|high| high <= budget)
    }

    /// Whether so many sequences are sure not to fit with the least context. More sequences need
    /// more of that: each has 256 cells of its own or shares all of them.
    fn hopeless(&self, budget: u64) -> bool {
        let least = self.context.min(CELLS as u32);
        self.need_of(least, self.parallel).is_none_or(|need| need.low() > budget)
    }

    /// Whether it fits into `budget` bytes of free memory.
    ///
    /// [`Verdict::Fits`] and [`Verdict::FitsWithCtx`] hold by the upper end of the estimate,
    /// [`Verdict::DoesNotFit`] by the lower one; between them it is unknown.
    pub fn verdict(&self, budget: u64) -> Verdict {
        if self.sure(self.context, budget) {
            return Verdict::Fits;
        }
        let largest = self.largest_context(budget);
        if let Some(context) = largest.filter(|&most| most < self.context.into()) {
            return Verdict::FitsWithCtx(context);
        }
        if self.hopeless(budget) {
            return Verdict::DoesNotFit;
        }
        Verdict::Unknown(if self.settings.flash {
            Unknown::WithinEstimate
        } else {
            Unknown::Compute
        })
    }

    /// The most context that is sure to fit into `budget` bytes with the number of sequences asked
    /// for: the largest multiple of 256, up to what the model was trained with, or to what was asked
    /// for where that is more. Where the settings fit as they are it is never less than what the
    /// server makes of them ([`Need::context`]). `None` = not even 256, or it cannot be said.
    pub fn largest_context(&self, budget: u64) -> Option<u64> {
        let of = |steps: u32| steps.checked_mul(CELLS as u32);
        // Largest number of steps that fits: `low` does, `high` does not or is too many.
        let (mut low, mut high) = (0, self.most.div_ceil(CELLS as u32) + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if of(middle).is_some_and(|context| self.sure(context, budget)) {
                low = middle;
            } else {
                high = middle;
            }
        }
        let asked = self.need().ok().filter(|_| self.sure(self.context, budget));
        let largest = (u64::from(low) * CELLS).max(asked.map_or(0, |need| need.context));
        (largest > 0).then_some(largest)
    }
}

/// Bytes of one cell over the layers that keep all and over those with a window, and the window.
fn cells(
    model: &Model<'_>,
    settings: &Settings,
    cache: Cache,
) -> Result<(u64, u64, Option<u64>), Unknown> {
    if model.layers == 0 {
        return Err(Unknown::Missing("block count"));
    }
    if model.layers > MAX_LAYERS {
        return Err(Unknown::TooManyLayers(model.layers));
    }
    if let Some(ty) =
        [settings.keys, settings.values].into_iter().find(|ty| !CACHE_TYPES.contains(ty))
    {
        return Err(Unknown::CacheType(ty));
    }
    if !settings.flash && settings.values.block().is_none_or(|(elements, _)| elements > 1) {
        return Err(Unknown::CacheType(settings.values));
    }
    let (pattern, window) = match cache {
        Cache::Full => (Pattern::Period(1), None),
        Cache::Windowed { period, default_window } => {
            let pattern = model.pattern.unwrap_or(Pattern::Period(period));
            (pattern, model.window.or(default_window).filter(|&window| window > 0))
        }
    };
    let (mut full, mut windowed) = (0u64, 0u64);
    for layer in 0..model.layers {
        let heads = u64::from(model.heads_kv.of(layer).ok_or(Unknown::Layers)?);
        // Without a window all layers keep everything, whatever the pattern.
        let narrow = window.is_some() && pattern.windowed(layer).ok_or(Unknown::Layers)?;
        let (key, value) = if narrow {
            let key = model.key_length_swa.unwrap_or(model.key_length);
            (key, model.value_length_swa.unwrap_or(model.value_length))
        } else {
            (model.key_length, model.value_length)
        };
        let row = |ty: GgmlType, length: u32| {
            if length == 0 {
                return Err(Unknown::Missing("key and value length"));
            }
            // A head is a whole number of blocks, not only a row.
            let head = ty.row_bytes(length.into()).ok_or(Unknown::CacheType(ty))?;
            head.checked_mul(heads).ok_or(Unknown::TooLarge)
        };
        let bytes = row(settings.keys, key)?
            .checked_add(row(settings.values, value)?)
            .ok_or(Unknown::TooLarge)?;
        let sum = if narrow { &mut windowed } else { &mut full };
        *sum = sum.checked_add(bytes).ok_or(Unknown::TooLarge)?;
    }
    if full == 0 && windowed == 0 {
        return Err(Unknown::Missing("head count"));
    }
    Ok((full, windowed, window.map(u64::from)))
}

/// The compute buffers' share of one token, masks apart: four vectors of the residual stream, two
/// of the feed-forward layer, and queries with their answers twice, of which four fifths live at
/// once. That comes within a tenth of what was measured for two models of very different size;
/// the stated range is from half to twice as much.
fn token_bytes(model: &Model<'_>) -> Result<u64, Unknown> {
    let mut heads = 0;
    for layer in 0..model.layers {
        heads = heads.max(model.heads.of(layer).ok_or(Unknown::Layers)?);
    }
    let head = u64::from(model.key_length) + u64::from(model.value_length);
    let feed_forward = model.feed_forward.unwrap_or(u64::from(model.embedding) * 4);
    let elements = (u64::from(heads).checked_mul(head))
        .and_then(|queries| queries.checked_add(feed_forward))
        .and_then(|n| n.checked_mul(2))
        .and_then(|n| n.checked_add(u64::from(model.embedding) * 4))
        .ok_or(Unknown::TooLarge)?;
    // Four bytes an element, four fifths of them.
    (elements / 5).checked_mul(16).ok_or(Unknown::TooLarge)
}

#[cfg(test)]
mod tests;

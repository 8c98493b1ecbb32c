//! What a summary answers with.

use core::fmt;
use core::str::Utf8Error;

use super::super::value::Mismatch;

/// A value that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Found<T> {
    /// The key is not there.
    #[default]
    Absent,
    /// Its value.
    Value(T),
    /// The key is there with a value that is none of the kind, or does not fit.
    Wrong(Mismatch),
}

impl<T> Found<T> {
    /// The value, if there is a fitting one.
    pub fn value(self) -> Option<T> {
        match self {
            Found::Value(value) => Some(value),
            Found::Absent | Found::Wrong(_) => None,
        }
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A language model, or the first file of a split one.
    Model,
    /// A tokenizer without weights.
    Vocabulary,
    /// A LoRA or other adapter of a model.
    Adapter,
    /// A multimodal projector.
    Projector,
    /// Statistics for quantization.
    ImportanceMatrix,
    /// A later file of a split model.
    Shard,
    /// None of these, as far as its keys tell.
    Unknown,
}

impl Kind {
    /// The name: `model`, `vocabulary`, `adapter`, `projector`, `importance-matrix`, `shard`,
    /// `unknown`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Model => "model",
            Kind::Vocabulary => "vocabulary",
            Kind::Adapter => "adapter",
            Kind::Projector => "projector",
            Kind::ImportanceMatrix => "importance-matrix",
            Kind::Shard => "shard",
            Kind::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value for all layers, or one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerLayer<'s> {
    /// The key is not there.
    Absent,
    /// The same for every layer.
    Same(u64),
    /// One for each; bools as 0 and 1.
    Each {
        /// The first [`MAX_LAYERS`](super::MAX_LAYERS) at most.
        values: &'s [u32],
        /// How many the file has: not necessarily as many as it has layers.
        len: u64,
    },
    /// Another kind of value, or one that does not fit.
    Wrong(Mismatch),
}

impl PerLayer<'_> {
    /// The value for a layer, counted from 0.
    pub fn at(&self, layer: u64) -> Option<u64> {
        match self {
            PerLayer::Same(value) => Some(*value),
            PerLayer::Each { values, .. } => {
                values.get(usize::try_from(layer).ok()?).map(|value| u64::from(*value))
            }
            PerLayer::Absent | PerLayer::Wrong(_) => None,
        }
    }

    /// The largest value.
    pub fn max(&self) -> Option<u64> {
        match self {
            PerLayer::Same(value) => Some(*value),
            PerLayer::Each { values, .. } => values.iter().max().map(|value| u64::from(*value)),
            PerLayer::Absent | PerLayer::Wrong(_) => None,
        }
    }
}

/// The front of a string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Short {
    bytes: [u8; Short::CAPACITY],
    have: u8,
    len: u64,
}

impl Short {
    /// Bytes that are kept.
    pub const CAPACITY: usize = 128;

    pub(super) const fn empty(len: u64) -> Short {
        Short { bytes: [0; Short::CAPACITY], have: 0, len }
    }

    pub(super) fn from(text: &[u8]) -> Short {
        let mut short = Short::empty(text.len() as u64);
        short.push(text);
        short
    }

    pub(super) fn push(&mut self, more: &[u8]) {
        let have = usize::from(self.have);
        let room = &mut self.bytes[have..];
        let taken = room.len().min(more.len());
        room[..taken].copy_from_slice(&more[..taken]);
        // Never more than the capacity.
        self.have += taken as u8;
    }

    /// The bytes that are kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.have)]
    }

    /// The bytes that are kept, as UTF-8. The cut may be within a character.
    ///
    /// # Errors
    /// They are not UTF-8.
    pub fn as_str(&self) -> Result<&str, Utf8Error> {
        core::str::from_utf8(self.as_bytes())
    }

    /// Length of the whole string in bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// The string is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Not all of the string is kept.
    pub const fn is_cut(&self) -> bool {
        self.have as u64 != self.len
    }
}

impl fmt::Debug for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" of {} bytes", self.as_bytes().escape_ascii(), self.len)
    }
}

/// A chat template: where to find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// What follows `tokenizer.chat_template.` in its key; empty for the default one.
    pub name: Short,
    /// Its length in bytes.
    pub len: u64,
}

impl Template {
    pub(super) const NONE: Template = Template { name: Short::empty(0), len: 0 };
}

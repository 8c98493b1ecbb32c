//! What people ask of a model, picked from a reader's items into fixed storage of about 20 KB.
//!
//! Only keys of the file's own architecture count: `{arch}.context_length`, never another
//! prefix's. The architecture may come after them; until then keys of up to four prefixes are
//! kept side by side, and where there are more, [`Summary::is_incomplete`] asks for a second
//! pass by [`Summary::of`]. Integers of any type are taken if they fit, and never cut; what
//! does not fit, or is of another type, is [`Found::Wrong`] and says why.
//!
//! ```
//! use rocload_core::gguf::{Found, Hparam, Kind, Options, Reader, Summary};
//! use rocload_core::{Machine, Need, visit};
//! # let file: &[u8] = rocload_core::gguf::EXAMPLE;
//!
//! let mut summary = Summary::new();
//! let total = Some(file.len() as u64);
//! let mut reader = Reader::new(total, Options::default(), [0u8; 64], Summary::interest());
//! while let Need::At { offset, .. } = reader.need() {
//!     visit(&mut reader, offset, &file[offset as usize..], |item| summary.see(&item))?;
//! }
//! assert_eq!(summary.architecture(), Some(&b"llama"[..]));
//! assert_eq!(summary.get(Hparam::ContextLength), Found::Value(2048));
//! assert_eq!(summary.get(Hparam::BlockCount), Found::Absent);
//! assert_eq!((summary.kind(), summary.parameters()), (Kind::Model, 8));
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: the GGUF specification, "Standardized key-value pairs", and llama.cpp's use of them.

mod found;
mod names;

pub use found::{Found, Kind, PerLayer, Short, Template};
pub use names::{Field, Hparam, TextField};

use super::interest::{Interest, Want};
use super::reader::{Header, Item, Key};
use super::table::hash;
use super::tensor::TensorInfo;
use super::value::{Elements, Mismatch, Scalar, Text, ValueKind, ValueType};
use super::{FileType, GgmlType};

/// Layers whose values are kept, of an array with one for each layer.
pub const MAX_LAYERS: usize = 512;
/// Chat templates that are told apart by name.
pub const MAX_TEMPLATES: usize = 8;

/// Prefixes that are kept side by side until the architecture is known.
const PREFIXES: usize = 4;
/// Arrays with a value for each layer.
const ARRAYS: usize = 6;
/// Tensor types that are counted.
const TYPES: usize = 64;

const CHAT_TEMPLATE: &[u8] = b"tokenizer.chat_template";
const TOKENS: &[u8] = b"tokenizer.ggml.tokens";

type Hparams = [Found<u64>; Hparam::COUNT];

/// The values under one prefix.
#[derive(Debug, Clone, Copy)]
struct Prefixed {
    prefix: u64,
    values: Hparams,
}

/// A value for each layer.
#[derive(Debug, Clone, Copy)]
struct Layers {
    prefix: u64,
    hparam: Hparam,
    len: u64,
    have: usize,
    values: [u32; MAX_LAYERS],
    wrong: Option<Mismatch>,
}

/// What the next value belongs to.
#[derive(Debug, Clone, Copy)]
enum Current {
    Nothing,
    Text(usize),
    Field(usize),
    /// Index of the prefix and of the hparam.
    Hparam(usize, usize),
    Layers(usize),
}

/// See the module's text.
#[derive(Debug, Clone)]
pub struct Summary {
    header: Header,
    texts: [Found<Short>; TextField::COUNT],
    fields: [Found<u64>; Field::COUNT],
    /// The hash of the architecture, once it is known.
    architecture: Option<u64>,
    /// By prefix; the first is the architecture's once that is known.
    prefixes: [Prefixed; PREFIXES],
    prefix_count: usize,
    layers: [Layers; ARRAYS],
    layer_count: usize,
    overflowed: bool,
    tokens: Option<u64>,
    templates: [Template; MAX_TEMPLATES],
    template_count: usize,
    tensors: u64,
    parameters: u64,
    data_bytes: u64,
    unsized_tensors: u64,
    types: [u32; TYPES],
    current: Current,
}

/// The [`Interest`] of a [`Summary`]: the values of the keys it knows, and tensors.
#[derive(Debug, Clone, Copy, Default)]
pub struct SummaryInterest(());

impl Interest for SummaryInterest {
    fn want(&mut self, key: &Key<'_>, architecture: Option<&[u8]>) -> Want {
        let name = key.name;
        if TextField::from_key(name).is_some() || Field::from_key(name).is_some() {
            return Want::Value;
        }
        let known = match architecture {
            Some(architecture) => key.of(architecture).and_then(Hparam::from_key).is_some(),
            None => split(key).is_some(),
        };
        if known {
            let long = matches!(key.kind, ValueKind::Array { len, .. } if len > 1 << 16);
            return if long { Want::Key } else { Want::Value };
        }
        let shown = name == TOKENS || name.starts_with(CHAT_TEMPLATE);
        if shown { Want::Key } else { Want::Nothing }
    }
}

/// A key's prefix and the hparam that follows it, if one does.
fn split<'i>(key: &Key<'i>) -> Option<(&'i [u8], Hparam)> {
    let find = |hparam: Hparam| Some((key.prefix(hparam.key().as_bytes())?, hparam));
    Hparam::ALL.iter().copied().find_map(find)
}

impl Summary {
    /// An empty summary.
    pub const fn new() -> Summary {
        let none = Prefixed { prefix: 0, values: [Found::Absent; Hparam::COUNT] };
        let layers = Layers {
            prefix: 0,
            hparam: Hparam::HeadCount,
            len: 0,
            have: 0,
            values: [0; MAX_LAYERS],
            wrong: None,
        };
        Summary {
            header: Header { version: 0, endian: super::Endian::Little, tensors: 0, keys: 0 },
            texts: [Found::Absent; TextField::COUNT],
            fields: [Found::Absent; Field::COUNT],
            architecture: None,
            prefixes: [none; PREFIXES],
            prefix_count: 0,
            layers: [layers; ARRAYS],
            layer_count: 0,
            overflowed: false,
            tokens: None,
            templates: [Template::NONE; MAX_TEMPLATES],
            template_count: 0,
            tensors: 0,
            parameters: 0,
            data_bytes: 0,
            unsized_tensors: 0,
            types: [0; TYPES],
            current: Current::Nothing,
        }
    }

    /// An empty summary for a second pass, when the first has found this architecture.
    pub fn of(architecture: &[u8]) -> Summary {
        let mut summary = Summary::new();
        summary.resolve(architecture);
        summary
    }

    /// What a reader must show for a summary.
    pub const fn interest() -> SummaryInterest {
        SummaryInterest(())
    }

    /// Takes in the next item of a reader: of all its items, or of those that
    /// [`interest`](Self::interest) wants.
    pub fn see(&mut self, item: &Item<'_>) {
        match item {
            Item::Header(header) => self.header = *header,
            Item::Key(key) => self.key(key),
            Item::Value(value) => self.value(*value),
            Item::Text(text) => self.text(text),
            Item::Elements(elements) => self.elements(elements),
            Item::Tensor(tensor) => self.tensor(&tensor.info),
            Item::Inner { .. } | Item::Warning(_) => {}
        }
    }

    fn key(&mut self, key: &Key<'_>) {
        self.current = Current::Nothing;
        let wrong = match key.kind {
            ValueKind::Scalar(_) => None,
            ValueKind::String { .. } => Some(Mismatch::String),
            ValueKind::Array { .. } => Some(Mismatch::Array),
        };
        if let Some(field) = TextField::from_key(key.name) {
            self.text_key(field, key.kind);
        } else if let Some(field) = Field::from_key(key.name) {
            let at = field as usize;
            self.fields[at] = wrong.map_or(Found::Absent, Found::Wrong);
            self.current = wrong.map_or(Current::Field(at), |_| Current::Nothing);
        } else if let Some(name) = key.name.strip_prefix(CHAT_TEMPLATE) {
            self.template(name, key);
        } else if key.name == TOKENS {
            if let ValueKind::Array { len, .. } = key.kind {
                self.tokens = Some(len);
            }
        } else if let Some((prefix, hparam)) = split(key) {
            self.hparam(hash(prefix), hparam, key.kind, wrong);
        }
    }

    fn text_key(&mut self, field: TextField, kind: ValueKind) {
        let at = field as usize;
        let ValueKind::String { len } = kind else {
            self.texts[at] = Found::Wrong(Mismatch::NotString);
            return;
        };
        self.texts[at] = Found::Value(Short::empty(len));
        self.current = Current::Text(at);
        if field == TextField::Architecture && len == 0 {
            self.resolve(b"");
        }
    }

    fn template(&mut self, name: &[u8], key: &Key<'_>) {
        let (ValueKind::String { len }, Some(name)) =
            (key.kind, if name.is_empty() { Some(name) } else { name.strip_prefix(b".") })
        else {
            return;
        };
        if let Some(slot) = self.templates.get_mut(self.template_count) {
            *slot = Template { name: Short::from(name), len };
        }
        self.template_count += 1;
    }

    fn hparam(&mut self, prefix: u64, hparam: Hparam, kind: ValueKind, wrong: Option<Mismatch>) {
        if self.architecture.is_some_and(|architecture| architecture != prefix) {
            return;
        }
        let known = self.prefixes[..self.prefix_count].iter().position(|of| of.prefix == prefix);
        let at = known.unwrap_or(self.prefix_count);
        let Some(slot) = self.prefixes.get_mut(at) else {
            self.overflowed = true;
            return;
        };
        (slot.prefix, self.prefix_count) = (prefix, self.prefix_count.max(at + 1));
        slot.values[hparam as usize] = wrong.map_or(Found::Absent, Found::Wrong);
        match kind {
            ValueKind::Scalar(_) => self.current = Current::Hparam(at, hparam as usize),
            ValueKind::Array { element, len }
                if hparam.may_be_per_layer()
                    && (element.is_integer() || element == ValueType::Bool) =>
            {
                self.layers_key(prefix, hparam, len);
            }
            _ => {}
        }
    }

    fn layers_key(&mut self, prefix: u64, hparam: Hparam, len: u64) {
        let Some(slot) = self.layers.get_mut(self.layer_count) else {
            self.overflowed = true;
            return;
        };
        *slot = Layers { prefix, hparam, len, have: 0, values: [0; MAX_LAYERS], wrong: None };
        self.current = Current::Layers(self.layer_count);
        self.layer_count += 1;
    }

    fn value(&mut self, value: Scalar) {
        let found = match value.to_u64() {
            Ok(value) => Found::Value(value),
            Err(why) => Found::Wrong(why),
        };
        match core::mem::replace(&mut self.current, Current::Nothing) {
            Current::Field(at) => self.fields[at] = found,
            Current::Hparam(prefix, at) => self.prefixes[prefix].values[at] = found,
            _ => {}
        }
    }

    fn text(&mut self, text: &Text<'_>) {
        let Current::Text(at) = self.current else { return };
        if let Found::Value(short) = &mut self.texts[at] {
            short.push(text.bytes);
            let architecture = *short;
            if at == TextField::Architecture as usize && text.is_last() && !architecture.is_cut() {
                self.resolve(architecture.as_bytes());
            }
        }
    }

    fn elements(&mut self, elements: &Elements<'_>) {
        let Current::Layers(at) = self.current else { return };
        let layers = &mut self.layers[at];
        for element in elements.iter() {
            let value = match element {
                Scalar::Bool(value) => Ok(value.into()),
                integer => integer.to_u32(),
            };
            match (layers.values.get_mut(layers.have), value) {
                (Some(slot), Ok(value)) => *slot = value,
                (Some(_), Err(why)) => layers.wrong = layers.wrong.or(Some(why)),
                (None, _) => break,
            }
            layers.have += 1;
        }
    }

    /// The architecture is known: what belongs to another is dropped.
    fn resolve(&mut self, architecture: &[u8]) {
        let prefix = hash(architecture);
        self.architecture = Some(prefix);
        let none = Prefixed { prefix, values: [Found::Absent; Hparam::COUNT] };
        let kept = self.prefixes[..self.prefix_count].iter().find(|of| of.prefix == prefix);
        self.prefixes[0] = *kept.unwrap_or(&none);
        self.prefix_count = 1;
        let mut kept = 0;
        for at in 0..self.layer_count {
            if self.layers[at].prefix == prefix {
                self.layers.swap(at, kept);
                kept += 1;
            }
        }
        self.layer_count = kept;
    }

    fn tensor(&mut self, info: &TensorInfo) {
        self.current = Current::Nothing;
        self.tensors += 1;
        self.parameters = self.parameters.saturating_add(info.elements);
        self.data_bytes = self.data_bytes.saturating_add(info.size.unwrap_or(0));
        self.unsized_tensors += u64::from(info.size.is_none());
        if let Some(count) = usize::try_from(info.ty.0).ok().and_then(|id| self.types.get_mut(id)) {
            *count += 1;
        }
    }

    /// Keys were left out, because the architecture came after those of too many prefixes, or
    /// there were too many arrays: a second pass by [`Summary::of`] has them all.
    pub const fn is_incomplete(&self) -> bool {
        self.overflowed
    }

    /// The file's header.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// The architecture's bytes, if it is a string of up to
    /// [`Short::CAPACITY`] bytes.
    pub fn architecture(&self) -> Option<&[u8]> {
        match &self.texts[TextField::Architecture as usize] {
            Found::Value(short) if !short.is_cut() => Some(short.as_bytes()),
            _ => None,
        }
    }

    /// A string.
    pub const fn text_of(&self, field: TextField) -> Found<Short> {
        self.texts[field as usize]
    }

    /// An integer under a fixed key.
    pub const fn field(&self, field: Field) -> Found<u64> {
        self.fields[field as usize]
    }

    /// A token's number, if there is such a token.
    pub fn token(&self, field: Field) -> Option<u64> {
        let id = self.field(field).value().filter(|_| field.is_token())?;
        self.tokens.is_some_and(|tokens| id < tokens).then_some(id)
    }

    /// Tokens in the vocabulary: the length of `tokenizer.ggml.tokens`.
    pub const fn tokens(&self) -> Option<u64> {
        self.tokens
    }

    /// An integer under the architecture's prefix. One that is given for each layer is
    /// [`Found::Wrong`] with [`Mismatch::Array`]: see [`per_layer`](Self::per_layer).
    pub const fn get(&self, hparam: Hparam) -> Found<u64> {
        match self.architecture {
            Some(_) if self.prefix_count > 0 => self.prefixes[0].values[hparam as usize],
            _ => Found::Absent,
        }
    }

    /// A value that may be one for all layers or one for each.
    pub fn per_layer(&self, hparam: Hparam) -> PerLayer<'_> {
        let wrong = match self.get(hparam) {
            Found::Absent => return PerLayer::Absent,
            Found::Value(value) => return PerLayer::Same(value),
            Found::Wrong(why) => why,
        };
        match self.layers[..self.layer_count].iter().rev().find(|of| of.hparam == hparam) {
            Some(Layers { wrong: None, len, have, values, .. }) if wrong == Mismatch::Array => {
                PerLayer::Each { values: &values[..*have], len: *len }
            }
            Some(Layers { wrong: Some(why), .. }) => PerLayer::Wrong(*why),
            _ => PerLayer::Wrong(wrong),
        }
    }

    /// Chat templates, the first [`MAX_TEMPLATES`] of them; the one without a name is the
    /// default.
    pub fn templates(&self) -> &[Template] {
        &self.templates[..self.template_count.min(MAX_TEMPLATES)]
    }

    /// How many chat templates there are.
    pub const fn template_count(&self) -> usize {
        self.template_count
    }

    /// Tensors seen.
    pub const fn tensors(&self) -> u64 {
        self.tensors
    }

    /// Elements of all tensors seen.
    pub const fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Bytes of all tensors seen whose type is known.
    pub const fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// Tensors seen whose type is not known.
    pub const fn unsized_tensors(&self) -> u64 {
        self.unsized_tensors
    }

    /// The type that most tensors have, by their number; the lowest id of several.
    pub fn most_common_type(&self) -> Option<GgmlType> {
        // The last of equals wins, so the ids are taken from behind.
        let id = (0..TYPES).rev().max_by_key(|&id| self.types[id])?;
        (self.types[id] > 0).then_some(GgmlType(id as u32))
    }

    /// The quantization: `general.file_type`, or without that key a guess by the type that most
    /// tensors have, which says that it is one.
    pub fn file_type(&self) -> Option<FileType> {
        match self.field(Field::FileType) {
            Found::Value(id) => u32::try_from(id).ok().map(FileType),
            Found::Absent => self.most_common_type().and_then(FileType::guess),
            Found::Wrong(_) => None,
        }
    }

    /// What the file is: by `general.type`, else by its architecture, else by what it has.
    pub fn kind(&self) -> Kind {
        let text = |field: TextField| match &self.texts[field as usize] {
            Found::Value(short) => Some(short.as_bytes()),
            _ => None,
        };
        let without_tensors = self.header.tensors == 0;
        let in_set = self.field(Field::SplitNo) != Found::Absent
            || self.field(Field::SplitCount) != Found::Absent;
        match (text(TextField::Type), text(TextField::Architecture)) {
            (Some(b"adapter"), _) => Kind::Adapter,
            (Some(b"mmproj" | b"projector"), _) => Kind::Projector,
            (Some(b"imatrix"), _) => Kind::ImportanceMatrix,
            (Some(b"vocab" | b"vocabulary"), _) => Kind::Vocabulary,
            (_, Some(b"clip")) => Kind::Projector,
            (_, None) if in_set => Kind::Shard,
            (_, Some(_)) | (Some(b"model"), _) if without_tensors && !in_set => Kind::Vocabulary,
            (_, Some(_)) | (Some(b"model"), _) => Kind::Model,
            (_, None) if without_tensors && self.tokens.is_some() => Kind::Vocabulary,
            (_, None) => Kind::Unknown,
        }
    }
}

impl Default for Summary {
    fn default() -> Summary {
        Summary::new()
    }
}

//! A GGUF model over any source of bytes: what it is, whether it is whole, what is in it.
//!
//! Opening reads the header once, in a bounded window, and keeps a summary, never the keys
//! themselves: a model with a million tokens takes as little memory as one with none.
//! [`Model::visit`] walks the header again for whatever else is asked.
//!
//! ```
//! use rocload::Model;
//! use rocload::gguf::{Found, Hparam};
//! use rocload::model::Options;
//! # let bytes = rocload::gguf::EXAMPLE;
//!
//! // A file by path: Model::open("model.gguf")?; here, bytes in memory.
//! let model = Model::from_source(bytes, &Options::default())?;
//! let facts = model.facts();
//! assert_eq!(facts.summary().architecture(), Some(&b"llama"[..]));
//! assert_eq!(facts.summary().get(Hparam::ContextLength), Found::Value(2048));
//! assert!(facts.verdict().is_whole());
//! assert_eq!(model.text(b"general.name")?.as_deref(), Some(&b"example"[..]));
//! # Ok::<(), rocload::Error>(())
//! ```

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hasher as _};
use std::ops::ControlFlow;
use std::path::Path;
#[cfg(feature = "blocking")]
use std::path::PathBuf;

use rocload_core::gguf::fit::{self, Law, Settings, Unknown};
use rocload_core::gguf::split::{self, Key, Shard, ShardName};
use rocload_core::gguf::{
    self, Check, Field, Found, Header, Item, Note, Strictness, Summary, SummaryInterest, Verdict,
    Warning,
};
use rocload_core::{End, ErrorKind as CoreKind, Limits};

use crate::drive::DriveError;
use crate::error::{Error, ErrorKind};
#[cfg(feature = "blocking")]
use crate::{
    drive::{self, Window},
    file::{FileAt, ReadAt},
};
#[cfg(feature = "blocking")]
use rocload_core::gguf::{Interest, Key as GgufKey, Reader, Want, sniff};

mod set;

pub(crate) use set::Gathering;
#[cfg(feature = "tokio")]
pub(crate) use set::listed;
#[cfg(feature = "blocking")]
pub use set::set;
pub use set::{Set, ShardFault};

/// How a model is read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Options {
    /// The caps.
    pub limits: Limits,
    /// What is refused beyond what no reader can make sense of.
    pub strictness: Strictness,
    /// The source is the front of a file: what is missing of its tensor data is not known.
    pub header_only: bool,
}

impl Options {
    pub(crate) fn core(&self) -> gguf::Options {
        gguf::Options { limits: self.limits, strictness: self.strictness }
    }
}

pub(crate) const OPENING: &str = "opening the model";
pub(crate) const READING: &str = "reading the model's header";

/// Warnings that are kept.
const KEPT: usize = 64;

/// A warning, and the key or tensor it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// What, and where.
    pub warning: Warning,
    /// The name; empty where it is about the file as a whole.
    pub name: Vec<u8>,
}

/// What is known of a model once it was opened.
#[derive(Debug, Clone)]
pub struct Facts {
    summary: Box<Summary>,
    header: Header,
    verdict: Verdict,
    remarks: Vec<Remark>,
    total: Option<u64>,
    names: Vec<u64>,
}

impl Facts {
    /// What people ask of a model.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Version, byte order and counts.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Whether the file is whole, and where its data is.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// What is unusual: the first 64; [`Verdict::warnings`] counts all.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Length of the file in bytes; `None` when only its front was given.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// The architecture, where it came too late for the summary to be complete.
    pub(crate) fn second_pass(&self) -> Option<Vec<u8>> {
        let late = self.summary.is_incomplete();
        self.summary.architecture().filter(|_| late).map(<[u8]>::to_vec)
    }

    pub(crate) fn set_summary(&mut self, summary: Summary) {
        *self.summary = summary;
    }

    /// The keys that concern its set of shards.
    pub fn shard(&self) -> Shard {
        let key = |field| match self.summary.field(field) {
            Found::Absent => Key::Absent,
            Found::Value(value) => Key::Is(value),
            Found::Wrong(_) => Key::Wrong,
        };
        Shard {
            no: key(Field::SplitNo),
            count: key(Field::SplitCount),
            all_tensors: key(Field::SplitTensorsCount),
            tensors: self.header.tensors,
        }
    }

    /// By its keys it is one of several files.
    pub fn is_shard(&self) -> bool {
        several(&self.summary)
    }

    /// Hashes of the names of its tensors, if it is one of several files.
    pub(crate) fn names(&self) -> &[u64] {
        &self.names
    }

    /// How many files the model's set has, by its keys and the name of its file: 1 when it stands
    /// alone.
    ///
    /// # Errors
    /// What does not agree.
    pub fn files(&self, path: &Path) -> Result<u32, split::Fault> {
        split::check_one(shard_name(path), &self.shard())
    }

    /// The model's memory as a function of its context. `weights` are the bytes of its tensors
    /// over all files, `None` = those of this one, which must then be the only one.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn fit(&self, settings: &Settings, weights: Option<u64>) -> Result<Law, Unknown> {
        let weights = match weights {
            Some(weights) => weights,
            None if !self.is_shard() => self.summary.data_bytes(),
            None => return Err(Unknown::Shards),
        };
        Law::new(&fit::Model::of(&self.summary, weights)?, settings)
    }
}

fn several(summary: &Summary) -> bool {
    matches!(summary.field(Field::SplitCount), Found::Value(2..))
}

/// The file's name, taken apart as a shard's.
pub fn shard_name(path: &Path) -> Option<ShardName<'_>> {
    path.file_name().map(OsStr::as_encoded_bytes).and_then(ShardName::parse)
}

/// What is gathered while the header is read.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) summary: Box<Summary>,
    remarks: Vec<Remark>,
    name: Vec<u8>,
    /// Of a shard: a hash for each tensor's name, in the order of the table.
    names: Vec<u64>,
}

pub(crate) type Checking = Check<Vec<u8>, Vec<u8>, SummaryInterest>;

/// The machine that opening drives.
pub(crate) fn checking(total: Option<u64>, options: &Options) -> Checking {
    Check::new(total, options.core(), Vec::new(), Vec::new(), Summary::interest())
}

impl Scan {
    pub(crate) fn new() -> Scan {
        Scan { summary: Box::default(), remarks: Vec::new(), name: Vec::new(), names: Vec::new() }
    }

    pub(crate) fn see(&mut self, item: &Item<'_>) {
        // All keys are known by then, and tensors are at most `Limits::gguf_tensors`.
        if let Item::Tensor(tensor) = item
            && several(&self.summary)
        {
            let mut hasher = DefaultHasher::new();
            hasher.write(tensor.name);
            self.names.push(hasher.finish());
        }
        match item {
            Item::Key(gguf::Key { name, .. }) | Item::Tensor(gguf::Tensor { name, .. }) => {
                self.name.clear();
                self.name.extend_from_slice(name);
            }
            Item::Warning(warning) if self.remarks.len() < KEPT => {
                let whole = matches!(
                    warning.note,
                    Note::OutOfOrder { .. }
                        | Note::Gap { .. }
                        | Note::PaddingNotZero
                        | Note::Trailing { .. }
                        | Note::Unchecked(_)
                        | Note::BigEndianVersion { .. }
                );
                let name = if whole { Vec::new() } else { self.name.clone() };
                self.remarks.push(Remark { warning: *warning, name });
            }
            _ => {}
        }
        self.summary.see(item);
    }

    /// The facts, from how the driving ended; the source has `length` bytes, and `total` says
    /// whether the file has no more.
    pub(crate) fn facts(
        self,
        driven: Result<End, DriveError>,
        check: &Checking,
        length: u64,
        total: Option<u64>,
    ) -> Result<Facts, Error> {
        let named = |error: Error| error.with_name(check.name());
        let ended = driven.map_err(|error| named(driving(error)))?;
        match (ended, check.verdict()) {
            (End::Complete, Some(verdict)) => Ok(Facts {
                summary: self.summary,
                header: check.header(),
                verdict,
                remarks: self.remarks,
                total,
                names: self.names,
            }),
            _ => {
                // What was passed over may end behind the source.
                let (wanted, least) = check.wanted();
                let offset = wanted.min(length);
                let need = (wanted - offset).saturating_add(least);
                let kind = CoreKind::Truncated { need, have: length - offset };
                let error = rocload_core::Error::new(kind, offset);
                Err(named(Error::new(ErrorKind::Format(error), READING)))
            }
        }
    }
}

/// How a visit ended; what was shown of a file that is not what it was counts for nothing.
pub(crate) fn visited<B>(
    driven: Result<ControlFlow<B, End>, DriveError>,
    name: &[u8],
    changed: bool,
) -> Result<ControlFlow<B>, Error> {
    let visited = match driven {
        Ok(ControlFlow::Break(value)) => Ok(ControlFlow::Break(value)),
        Ok(ControlFlow::Continue(_)) => Ok(ControlFlow::Continue(())),
        Err(error) => Err(driving(error).with_name(name)),
    };
    match visited {
        Err(error) if !matches!(error.kind(), ErrorKind::Format(_)) => Err(error),
        _ if changed => Err(Error::new(ErrorKind::Changed, READING)),
        visited => visited,
    }
}

/// A driver's error as one of this crate.
pub(crate) fn driving(error: DriveError) -> Error {
    let kind = match error {
        DriveError::Io(error) => ErrorKind::Io(error),
        DriveError::Machine(error) => ErrorKind::Format(error),
        DriveError::Stalled { .. } => ErrorKind::Io(std::io::Error::other(error.to_string())),
    };
    Error::new(kind, READING)
}

/// An open model.
#[cfg(feature = "blocking")]
#[derive(Debug)]
pub struct Model<R = FileAt> {
    source: R,
    path: Option<PathBuf>,
    options: Options,
    facts: Facts,
}

#[cfg(feature = "blocking")]
impl Model<FileAt> {
    /// Opens the model at `path` with the default options.
    ///
    /// # Errors
    /// The system's, [`ErrorKind::NotGguf`], or what is wrong with the header. A file whose
    /// tensor data is incomplete opens: see [`Verdict::missing`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &Options::default())
    }

    /// Opens the model at `path`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let path = path.as_ref();
        let named = |error: Error| error.with_path(Some(path));
        let source =
            FileAt::open(path).map_err(|error| named(Error::new(ErrorKind::Io(error), OPENING)))?;
        let mut model = Self::from_source(source, options).map_err(named)?;
        model.path = Some(path.to_path_buf());
        Ok(model)
    }
}

#[cfg(feature = "blocking")]
impl<R: ReadAt> Model<R> {
    /// Opens the model that `source` holds.
    ///
    /// # Errors
    /// As [`open`](Model::open).
    pub fn from_source(source: R, options: &Options) -> Result<Self, Error> {
        let io = |error| Error::new(ErrorKind::Io(error), READING);
        let length = source.total().map_err(io)?;
        let total = (!options.header_only).then_some(length);
        let mut front = [0; sniff::PREFIX];
        let read = source.read_full_at(&mut front, 0).map_err(io)?;
        let kind = sniff::sniff(&front[..read]);
        if kind != sniff::Kind::Gguf {
            return Err(Error::new(ErrorKind::NotGguf(kind), OPENING));
        }
        let mut scan = Scan::new();
        let mut check = checking(total, options);
        let driven = drive::read_at(&source, &mut check, &mut Window::new(), |item| {
            scan.see(&item);
            ControlFlow::<()>::Continue(())
        });
        let facts = scan.facts(driven.map(ended), &check, length, total).map_err(|error| {
            let changed = source.changed() && matches!(error.kind(), ErrorKind::Format(_));
            if changed { Error::new(ErrorKind::Changed, READING) } else { error }
        })?;
        let mut model = Model { source, path: None, options: *options, facts };
        if let Some(architecture) = model.facts.second_pass() {
            let mut summary = Summary::of(&architecture);
            let _ = model.visit(Summary::interest(), |item| {
                summary.see(item);
                ControlFlow::<()>::Continue(())
            })?;
            model.facts.set_summary(summary);
        }
        Ok(model)
    }

    /// What is known of it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What is known of it, handed over.
    pub fn into_facts(self) -> Facts {
        self.facts
    }

    /// The path that it was opened by.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The source of its bytes.
    pub fn source(&self) -> &R {
        &self.source
    }

    /// How it is read.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Reads the header again and shows what `interest` wants of it. `see` may stop by `Break`.
    ///
    /// # Errors
    /// The source's, and [`ErrorKind::Changed`] when the file is not what it was.
    pub fn visit<I: Interest, B>(
        &self,
        interest: I,
        mut see: impl FnMut(&Item<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let mut reader = Reader::new(self.facts.total, self.options.core(), Vec::new(), interest);
        let driven =
            drive::read_at(&self.source, &mut reader, &mut Window::new(), |item| see(&item));
        let visited = visited(driven, reader.name(), self.source.changed());
        visited.map_err(|error| error.with_path(self.path()))
    }

    /// The string under `key`; `None` when there is none of that name.
    ///
    /// # Errors
    /// As [`visit`](Self::visit), and a limit when it is longer than
    /// [`Limits::gguf_kept_string`].
    pub fn text(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut take = TakeText::new(self.options.limits.gguf_kept_string);
        let _ = self.visit(
            |of: &GgufKey<'_>| if of.name == key { Want::Value } else { Want::Nothing },
            |item| take.see(item),
        )?;
        take.finish().map_err(|error| error.with_name(key).with_path(self.path()))
    }
}

/// A driver never ends by a break of its own.
pub(crate) fn ended<B>(flow: ControlFlow<B, End>) -> End {
    flow.continue_value().unwrap_or(End::Complete)
}

/// Gathers one string.
#[derive(Debug)]
pub(crate) struct TakeText {
    most: u64,
    found: Option<Vec<u8>>,
    error: Option<rocload_core::Error>,
}

impl TakeText {
    pub(crate) fn new(most: u64) -> TakeText {
        TakeText { most, found: None, error: None }
    }

    pub(crate) fn see(&mut self, item: &Item<'_>) -> ControlFlow<()> {
        use rocload_core::Cap;
        match item {
            Item::Key(key) => match key.kind {
                gguf::ValueKind::String { len } if len > self.most => {
                    let kind =
                        CoreKind::Limit { cap: Cap::GgufKeptString, value: len, limit: self.most };
                    self.error = Some(rocload_core::Error::new(kind, key.offset));
                    ControlFlow::Break(())
                }
                gguf::ValueKind::String { len } => {
                    self.found = Some(Vec::new());
                    if len == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                }
                _ => ControlFlow::Break(()),
            },
            Item::Text(text) => {
                self.found.get_or_insert_default().extend_from_slice(text.bytes);
                if text.is_last() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
            _ => ControlFlow::Continue(()),
        }
    }

    pub(crate) fn finish(self) -> Result<Option<Vec<u8>>, Error> {
        match self.error {
            Some(error) => Err(Error::new(ErrorKind::Format(error), READING)),
            None => Ok(self.found),
        }
    }
}

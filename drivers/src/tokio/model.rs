//! Models, async.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rocload_core::gguf::{Interest, Item, Key, Reader, Summary, Want, sniff};

use super::off::run;
use super::{FileAt, read_at};
use crate::drive::Window;
use crate::error::{Error, ErrorKind};
use crate::model::{
    Facts, Gathering, OPENING, Options, READING, Scan, Set, TakeText, checking, ended, listed,
    shard_name, visited,
};
use crate::tokio::AsyncReadAt as _;

/// An open model; as the blocking `Model`, with the same names.
#[derive(Debug)]
pub struct Model {
    source: FileAt,
    path: PathBuf,
    options: Options,
    facts: Facts,
}

impl Model {
    /// Opens the model at `path` with the default options.
    ///
    /// # Errors
    /// The system's, [`ErrorKind::NotGguf`], or what is wrong with the header. A file whose
    /// tensor data is incomplete opens.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &Options::default()).await
    }

    /// Opens the model at `path`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let path = path.as_ref();
        let opened = async {
            let source = FileAt::open(path)
                .await
                .map_err(|error| Error::new(ErrorKind::Io(error), OPENING))?;
            Self::from_source(source, path, options).await
        };
        opened.await.map_err(|error: Error| error.with_path(Some(path)))
    }

    async fn from_source(source: FileAt, path: &Path, options: &Options) -> Result<Self, Error> {
        let io = |error| Error::new(ErrorKind::Io(error), READING);
        let length = source.total().map_err(io)?;
        let total = (!options.header_only).then_some(length);
        let mut front = [0; sniff::PREFIX];
        let mut have = 0;
        while have < front.len() {
            match source.read_at(&mut front[have..], have as u64).await.map_err(io)? {
                0 => break,
                read => have += read,
            }
        }
        let kind = sniff::sniff(&front[..have]);
        if kind != sniff::Kind::Gguf {
            return Err(Error::new(ErrorKind::NotGguf(kind), OPENING));
        }
        let mut scan = Scan::new();
        let mut check = checking(total, options);
        let mut window = Window::new();
        let driven = read_at(&source, &mut check, &mut window, |item| {
            scan.see(&item);
            ControlFlow::<()>::Continue(())
        });
        let driven = driven.await.map(ended);
        let facts = match scan.facts(driven, &check, length, total) {
            Err(error)
                if matches!(error.kind(), ErrorKind::Format(_)) && source.changed().await =>
            {
                return Err(Error::new(ErrorKind::Changed, READING));
            }
            facts => facts?,
        };
        let mut model = Model { source, path: path.to_path_buf(), options: *options, facts };
        if let Some(architecture) = model.facts.second_pass() {
            let mut summary = Summary::of(&architecture);
            let _ = model
                .visit(Summary::interest(), |item| {
                    summary.see(item);
                    ControlFlow::<()>::Continue(())
                })
                .await?;
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
        Some(&self.path)
    }

    /// The source of its bytes.
    pub fn source(&self) -> &FileAt {
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
    pub async fn visit<I: Interest, B>(
        &self,
        interest: I,
        mut see: impl FnMut(&Item<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let mut reader = Reader::new(self.facts.total(), self.options.core(), Vec::new(), interest);
        let mut window = Window::new();
        let driven = read_at(&self.source, &mut reader, &mut window, |item| see(&item));
        let driven = driven.await;
        let visited = visited(driven, reader.name(), self.source.changed().await);
        visited.map_err(|error| error.with_path(self.path()))
    }

    /// The string under `key`; `None` when there is none of that name.
    ///
    /// # Errors
    /// As [`visit`](Self::visit), and a limit when it is too long.
    pub async fn text(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut take = TakeText::new(self.options.limits.gguf_kept_string);
        let wanted = |of: &Key<'_>| if of.name == key { Want::Value } else { Want::Nothing };
        let _ = self.visit(wanted, |item| take.see(item)).await?;
        take.finish().map_err(|error| error.with_name(key).with_path(self.path()))
    }
}

/// Opens and checks the whole set that the file at `path` is named as a shard of; `None` when it
/// is not, or is alone in it.
///
/// # Errors
/// The system's, of listing the folder. What is wrong with a file is in the [`Set`].
pub async fn set(path: &Path, options: &Options) -> Result<Option<Set>, Error> {
    let Some(name) = shard_name(path) else { return Ok(None) };
    let folder = path.to_path_buf();
    let files = run(move || Ok(listed(&folder)));
    let files = files.await.map_err(|error| Error::new(ErrorKind::Io(error), READING))??;
    let Some(files) = files else { return Ok(None) };
    let mut gathering = Gathering::new(name);
    for path in files.values() {
        match Model::open_with(path, options).await {
            Ok(model) => gathering.add(path, Ok(model.facts())),
            Err(error) => gathering.add(path, Err(error)),
        }
    }
    Ok(Some(gathering.finish()))
}

//! The files that a command line names: patterns, standard input, models.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use rocload::core::End;
use rocload::drive::{Window, read_at, stream};
use rocload::gguf::{Interest, Item, Reader, Want, Wanted};
use rocload::model::Options;
use rocload::{FileAt, Model};

use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// A model, and what it is called.
pub(super) struct Input {
    pub(super) path: PathBuf,
    pub(super) model: Model,
}

impl Input {
    /// It is a file with a name, whose folder may have others of its set.
    pub(super) fn is_file(&self) -> bool {
        self.path.as_os_str() != "-"
    }
}

/// Opens a model, or the header on standard input for `-`.
pub(super) fn open(path: &Path, options: &Options) -> Result<Input, Failure> {
    let named = |error: &rocload::Error| Failure::library(error, path);
    let model = if path.as_os_str() == "-" {
        let failed = |error: io::Error| Failure::io("reading standard input", &error);
        let (file, whole) = stdin().map_err(failed)?;
        let mut options = *options;
        options.header_only = !whole;
        Model::from_source(file, &options)
    } else {
        Model::open_with(path, options)
    };
    Ok(Input { path: path.to_path_buf(), model: model.map_err(|error| named(&error))? })
}

/// Opens a model with the default options or tells why it cannot be.
pub(super) fn open_or_tell(ui: &mut Ui, path: &Path) -> Option<Input> {
    open(path, &Options::default()).map_err(|failure| ui.fail(&failure)).ok()
}

/// Standard input as a file: itself if it is one, else a temporary one of as much as the header
/// takes; and whether it is the whole file.
fn stdin() -> io::Result<(FileAt, bool)> {
    let own = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if own.metadata()?.is_file() {
        return Ok((FileAt::new(own)?, true));
    }
    let to = tempfile::tempfile()?;
    take(io::empty(), own, &to, Want::Nothing)?;
    Ok((FileAt::new(to)?, false))
}

/// Keeps as much of `from`, which goes on where `before` ends, as a reader asks for.
fn take(before: impl Read, from: File, to: &File, interest: impl Interest) -> io::Result<()> {
    let mut tee = Tee { from, to: to.try_clone()?, failed: None };
    let mut reader = Reader::new(None, Default::default(), Vec::new(), interest);
    // What is wrong with the header is found again, in the copy.
    let _ = stream(&mut before.chain(&mut tee), &mut reader, &mut Window::new(), |_| {
        ControlFlow::<()>::Continue(())
    });
    tee.failed.map_or(Ok(()), Err)
}

/// A model that is read no further than some of its keys: it may be cut behind them.
pub(super) struct Front {
    path: PathBuf,
    /// `None` = it cannot be opened, which [`whole`](Self::whole) tells about.
    source: Option<FileAt>,
    /// What was read of a pipe, and the pipe.
    pipe: Option<(File, File)>,
}

impl Front {
    /// Takes of standard input what these keys need, or opens the file.
    pub(super) fn open(path: &Path, keys: &[&str]) -> Result<Front, Failure> {
        let failed = |error: io::Error| Failure::io("reading standard input", &error);
        let path = path.to_path_buf();
        if path.as_os_str() != "-" {
            return Ok(Front { source: FileAt::open(&path).ok(), path, pipe: None });
        }
        let own = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
        if own.metadata().map_err(failed)?.is_file() {
            return Ok(Front { source: FileAt::new(own).ok(), path, pipe: None });
        }
        let kept = || -> io::Result<_> {
            let to = tempfile::tempfile()?;
            take(io::empty(), own.try_clone()?, &to, Wanted::new(keys))?;
            Ok((FileAt::new(to.try_clone()?)?, to))
        };
        let (source, to) = kept().map_err(failed)?;
        Ok(Front { path, source: Some(source), pipe: Some((to, own)) })
    }

    /// Shows the keys of these names with their values, up to the last of them; false = the front
    /// is not that of a sound model.
    pub(super) fn visit(
        &self,
        keys: &[&str],
        mut see: impl FnMut(&Item<'_>) -> ControlFlow<()>,
    ) -> bool {
        let Some(source) = &self.source else { return false };
        let mut reader = Reader::new(None, Default::default(), Vec::new(), Wanted::new(keys));
        let read = read_at(source, &mut reader, &mut Window::new(), |item| see(&item));
        // The end of the source within a value is no error of the reading, but it is not whole.
        matches!(read, Ok(ControlFlow::Break(()) | ControlFlow::Continue(End::Complete)))
    }

    /// All of the header.
    pub(super) fn whole(self) -> Result<Input, Failure> {
        let Some((mut to, from)) = self.pipe else { return open(&self.path, &Options::default()) };
        let failed = |error: io::Error| Failure::io("reading standard input", &error);
        to.rewind().map_err(failed)?;
        // The copy and its duplicate have one position: reading it to its end is where writing
        // goes on.
        let before = to.try_clone().map_err(failed)?;
        take(before, from, &to, Want::Nothing).map_err(failed)?;
        let mut options = Options::default();
        options.header_only = true;
        let model = FileAt::new(to).map_err(failed).and_then(|source| {
            Model::from_source(source, &options)
                .map_err(|error| Failure::library(&error, &self.path))
        })?;
        Ok(Input { path: self.path, model })
    }
}

/// A reader whose bytes are kept in a file.
struct Tee {
    from: File,
    to: File,
    failed: Option<io::Error>,
}

impl Read for Tee {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = match self.from.read(buf) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                return Err(kind.into());
            }
        };
        if let Err(error) = self.to.write_all(&buf[..read]) {
            let kind = error.kind();
            self.failed = Some(error);
            return Err(kind.into());
        }
        Ok(read)
    }
}

/// The files that arguments name: a pattern with `*`, `?` or `[` that no file is called by is
/// expanded, as a shell would have done. One that matches nothing is told as an error.
pub(super) fn expand(ui: &mut Ui, arguments: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for argument in arguments {
        let pattern = argument.as_os_str().as_bytes().iter().any(|byte| b"*?[".contains(byte));
        if !pattern || fs::symlink_metadata(argument).is_ok() {
            paths.push(argument.clone());
            continue;
        }
        let found = matching(argument);
        if found.is_empty() {
            let text = "no file matches this pattern";
            ui.fail(&Failure::new(Status::NotFound, "not_found", text).at(argument));
        }
        paths.extend(found);
    }
    paths
}

/// The paths that match a pattern, component by component, sorted.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    for component in pattern.components() {
        let Component::Normal(name) = component else {
            paths.iter_mut().for_each(|path| path.push(component));
            continue;
        };
        let glob = name.to_str().filter(|name| name.contains(['*', '?', '[']));
        let glob =
            glob.and_then(|glob| GlobBuilder::new(glob).literal_separator(true).build().ok());
        let Some(glob) = glob.map(|glob| glob.compile_matcher()) else {
            paths.iter_mut().for_each(|path| path.push(name));
            paths.retain(|path| fs::symlink_metadata(path).is_ok());
            continue;
        };
        let hidden = name.as_bytes().starts_with(b".");
        let mut next = Vec::new();
        for path in paths {
            let folder = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name()).filter(|name| {
                (hidden || !name.as_bytes().starts_with(b".")) && glob.is_match(name)
            });
            next.extend(names.map(|name| path.join(name)));
        }
        next.sort();
        paths = next;
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("x/y")).unwrap();
        for name in ["a.gguf", "b.gguf", ".c.gguf", "x/d.gguf", "x/y/e.gguf"] {
            fs::write(at(name), b"").unwrap();
        }
        assert_eq!(matching(&at("*.gguf")), [at("a.gguf"), at("b.gguf")]);
        assert_eq!(matching(&at(".*.gguf")), [at(".c.gguf")]);
        assert_eq!(matching(&at("?/*.gguf")), [at("x/d.gguf")]);
        assert_eq!(matching(&at("*/y/[a-e].gguf")), [at("x/y/e.gguf")]);
        assert!(matching(&at("*.bin")).is_empty());
    }
}

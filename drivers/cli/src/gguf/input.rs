//! The files that a command line names: patterns, standard input, models.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use rocload::drive::{Window, stream};
use rocload::gguf::{Reader, Want};
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
    let mut tee = Tee { from: own, to: tempfile::tempfile()?, failed: None };
    let mut reader = Reader::new(None, Default::default(), Vec::new(), Want::Nothing);
    // What is wrong with the header is found again, in the copy.
    let _ = stream(&mut tee, &mut reader, &mut Window::new(), |_| ControlFlow::<()>::Continue(()));
    match tee.failed {
        Some(error) => Err(error),
        None => Ok((FileAt::new(tee.to)?, false)),
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

//! What went wrong, for people (one line and perhaps a hint) and for programs (JSON).

use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rocload::core::{Cap, Class, ErrorKind as CoreKind};
use rocload::error::printable;
use rocload::{Error, ErrorKind};
use serde::Serialize;

/// How a command ended, from best to worst: of several inputs the worst one decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Status {
    /// All is well.
    #[default]
    Fine,
    /// A file, a kernel, or anything that matches a filter was not found.
    NotFound,
    /// The operation failed, or a manifest differs.
    Failed,
    /// An input breaks its format.
    Malformed,
    /// The command line is wrong.
    Usage,
    /// It was interrupted.
    Interrupted,
}

impl Status {
    /// The exit status of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Status::Fine => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Malformed => 3,
            Status::NotFound => 4,
            Status::Interrupted => 130,
        }
    }
}

/// An error as it is shown: `rocload: PATH: message`, and a hint below it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    /// One word for programs.
    pub(crate) kind: &'static str,
    pub(crate) path: Option<PathBuf>,
    /// One lower-case line without the path.
    pub(crate) message: String,
    /// Absolute offset in the file, in bytes.
    pub(crate) offset: Option<u64>,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// The schema of an error under `--json`.
#[derive(Serialize)]
pub(crate) struct ErrorJson<'a> {
    error: ErrorBody<'a>,
}

/// An error for programs, by itself.
#[derive(Serialize)]
pub(crate) struct ErrorBody<'a> {
    kind: &'a str,
    message: &'a str,
    path: Option<String>,
    offset: Option<u64>,
    hint: Option<&'a str>,
}

impl Failure {
    pub(crate) fn new(status: Status, kind: &'static str, message: impl Into<String>) -> Failure {
        Failure { status, kind, path: None, message: message.into(), offset: None, hint: None }
    }

    /// A wrong command line; `text` is clap's.
    pub(crate) fn usage(text: &str) -> Failure {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let first = first.strip_prefix("error: ").unwrap_or(first);
        let mut message = first.to_owned();
        // A message that ends in a colon is a list that goes on.
        if message.ends_with(':') {
            for line in lines.clone().take_while(|line| !line.starts_with("Usage:")) {
                let _ = write!(message, " {line}");
            }
        }
        let usage = lines.find_map(|line| line.strip_prefix("Usage: "));
        let mut failure = Failure::new(Status::Usage, "usage", message);
        failure.hint = usage.map(|usage| format!("usage: {usage}"));
        failure
    }

    /// The system's refusal of `doing` something.
    pub(crate) fn io(doing: &str, error: &io::Error) -> Failure {
        let (status, kind) = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                (Status::NotFound, "not_found")
            }
            _ => (Status::Failed, "io"),
        };
        Failure::new(status, kind, format!("{doing}: {}", io_text(error)))
    }

    /// A library's error about the archive or model at `path`.
    pub(crate) fn library(error: &Error, path: &Path) -> Failure {
        let (status, kind) = judge(error);
        let message = match error.kind() {
            ErrorKind::Io(io) => format!("{}: {}", error.doing(), io_text(io)),
            _ => error.message(),
        };
        let mut failure = Failure::new(status, kind, message).at(path);
        failure.offset = error.offset();
        failure.hint = hint(error);
        failure
    }

    #[must_use]
    pub(crate) fn at(mut self, path: &Path) -> Failure {
        self.path = Some(path.to_path_buf());
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// The line without the command's name: `PATH: message`.
    pub(crate) fn line(&self) -> String {
        match &self.path {
            Some(path) => format!("{}: {}", printable_path(path), self.message),
            None => self.message.clone(),
        }
    }

    /// The error for programs.
    pub(crate) fn json(&self) -> ErrorJson<'_> {
        ErrorJson { error: self.body() }
    }

    /// The error for programs, by itself.
    pub(crate) fn body(&self) -> ErrorBody<'_> {
        ErrorBody {
            kind: self.kind,
            message: &self.message,
            path: self.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
            offset: self.offset,
            hint: self.hint.as_deref(),
        }
    }
}

/// The exit status and the word for programs of a library's error.
pub(crate) fn judge(error: &Error) -> (Status, &'static str) {
    match error.kind() {
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            (Status::NotFound, "not_found")
        }
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotADirectory => {
            (Status::NotFound, "not_found")
        }
        ErrorKind::Io(_) => (Status::Failed, "io"),
        ErrorKind::NotGguf(_) => (Status::Malformed, "not_gguf"),
        ErrorKind::NoBinary => (Status::NotFound, "no_binary"),
        ErrorKind::NoArch { .. } => (Status::NotFound, "no_arch"),
        ErrorKind::Changed => (Status::Failed, "changed"),
        ErrorKind::Memory { .. } => (Status::Failed, "memory"),
        _ => match error.class() {
            Some(Class::Malformed) => (Status::Malformed, "malformed"),
            Some(Class::Unsupported) => (Status::Malformed, "unsupported"),
            Some(Class::Limit) => (Status::Malformed, "limit"),
            Some(Class::NotFound) => (Status::NotFound, "not_found"),
            _ => (Status::Failed, "failed"),
        },
    }
}

fn hint(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::Format(error) => match error.kind {
            CoreKind::Limit { cap: Cap::WindowBytes, value, .. } => {
                Some(format!("--max-window {value} accepts it, for as much memory a thread"))
            }
            _ => None,
        },
        ErrorKind::NotGguf(kind) => kind.advice().map(str::to_owned),
        ErrorKind::Changed => Some("try again once nothing writes to the file".into()),
        _ => None,
    }
}

/// The system's text as part of a lower-case line: without its number in brackets.
pub(crate) fn io_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" (os error").map_or(text.as_str(), |(text, _)| text);
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        // An abbreviation keeps its capitals.
        (Some(first), second) if second.is_none_or(char::is_lowercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// A path for a person's eyes.
pub(crate) fn printable_path(path: &Path) -> String {
    printable(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_and_exit_statuses() {
        assert!(Status::Malformed > Status::Failed);
        assert!(Status::Failed > Status::NotFound);
        assert!(Status::NotFound > Status::Fine);
        let all = [Status::Fine, Status::Failed, Status::Usage, Status::Malformed];
        assert_eq!(all.map(Status::code), [0, 1, 2, 3]);
        assert_eq!(Status::NotFound.code(), 4);
    }

    #[test]
    fn texts_of_the_system() {
        let error = io::Error::from_raw_os_error(28);
        assert_eq!(io_text(&error), "no space left on device");
        assert_eq!(io_text(&io::Error::other("ELF is no name")), "ELF is no name");
        assert_eq!(io_text(&io::Error::other("")), "");
    }

    #[test]
    fn usage_errors_are_one_line() {
        let text = "error: the following required arguments were not provided:\n  <ARCHIVE>...\n\n\
                    Usage: rocload kpack list <ARCHIVE>...\n\nFor more information, try '--help'.\n";
        let failure = Failure::usage(text);
        assert_eq!(
            failure.message,
            "the following required arguments were not provided: <ARCHIVE>..."
        );
        assert_eq!(failure.hint.as_deref(), Some("usage: rocload kpack list <ARCHIVE>..."));
    }
}

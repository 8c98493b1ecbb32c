//! What can go wrong with a server.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rocload_core::serve::Failure;
use rocload_core::serve::exit::Class;
use rocload_core::serve::plan::Fault;

use super::find;
use crate::error::shortened;
use crate::http;

/// Why a server, or a request to it, failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server ended, did not become ready, or could not be started.
    Ended(Arc<Ended>),
    /// The server was stopped here.
    Stopped,
    /// The process does not end: it was killed and the kernel does not let it go, or it may not be
    /// killed.
    Stuck {
        /// The process.
        pid: u32,
    },
    /// The server lives; the exchange with it failed.
    Http(http::Error),
    /// No backend has this name.
    NotRegistered {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The backend of this name cannot be used now.
    NotAvailable {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// The settings do not fit together, or not the model.
    Plan(Fault),
    /// There is no server's program.
    Find(find::Fault),
    /// The server reports an error in the middle of a stream.
    Server(String),
    /// What was asked for cannot be done.
    Refused(String),
    /// The system refused.
    Io {
        /// What was being done, as in "making a folder for the socket".
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// The end of a server, and its last words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// Why it is not running, and what to do about it.
    pub failure: Failure,
    /// The lines of its output that tell best why, oldest first, made fit for a person's eyes.
    pub lines: Vec<String>,
    /// The program that was started.
    pub program: PathBuf,
}

impl Ended {
    /// The class of its end, where that is the cause.
    pub fn class(&self) -> Option<Class> {
        self.failure.class()
    }

    /// What to do about it; empty where there is nothing to do.
    pub fn advice(&self) -> &'static str {
        self.failure.advice()
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)?;
        for (at, line) in self.lines.iter().enumerate() {
            write!(f, "{}{line}", if at == 0 { ": " } else { " | " })?;
        }
        match self.advice() {
            "" => Ok(()),
            advice => write!(f, "; {advice}"),
        }
    }
}

impl Error {
    /// The class of the server's end, where that is the cause.
    pub fn class(&self) -> Option<Class> {
        match self {
            Error::Ended(ended) => ended.class(),
            _ => None,
        }
    }

    /// The server's end, where that is the cause.
    pub fn ended(&self) -> Option<&Ended> {
        match self {
            Error::Ended(ended) => Some(ended),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Ended(ended) => ended.fmt(f),
            Error::Stopped => f.write_str("the server was stopped"),
            Error::Stuck { pid } => {
                write!(f, "the server's process {pid} does not end")
            }
            Error::Http(error) => error.fmt(f),
            Error::Find(fault) => fault.fmt(f),
            Error::NotRegistered { name, known } => {
                let name = shortened(name.as_bytes());
                write!(f, "no backend is called {name}: there are {}", known.join(", "))
            }
            Error::NotAvailable { name, why } => {
                write!(f, "the backend {name} is not available: {why}")
            }
            Error::Plan(fault) => fault.fmt(f),
            Error::Server(error) => f.write_str(&shortened(error.as_bytes())),
            Error::Refused(why) => f.write_str(why),
            Error::Io { doing, source } => write!(f, "{doing}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Http(error) => Some(error),
            Error::Find(fault) => Some(fault),
            Error::Plan(fault) => Some(fault),
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<http::Error> for Error {
    fn from(error: http::Error) -> Self {
        Error::Http(error)
    }
}

impl From<rocload_core::Error> for Error {
    fn from(error: rocload_core::Error) -> Self {
        Error::Http(http::Error::Protocol(error))
    }
}

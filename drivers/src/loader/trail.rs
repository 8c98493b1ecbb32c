//! What a search for a kernel did, and why it ended without one.

use std::fmt;
use std::path::{Path, PathBuf};

use rocload_core::kpack::search::{Origin, Reason};

use crate::error::{Error, printable, shortened};

/// One step of a search. [`Display`](fmt::Display) tells it in one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// A path was to be opened.
    Path {
        /// The path, as it was tried.
        path: PathBuf,
        /// Where it comes from.
        origin: Origin,
        /// What came of it.
        outcome: Opening,
    },
    /// The key was looked up in an archive.
    Kernel {
        /// The archive's canonical path.
        archive: PathBuf,
        /// The architecture looked for, byte for byte.
        target: Vec<u8>,
        /// What came of it.
        outcome: Lookup,
    },
    /// Paths of a list were left out: there are more than
    /// [`Limits::search_paths`](crate::Limits::search_paths).
    Ignored {
        /// The list.
        origin: Origin,
        /// How many.
        paths: u32,
    },
}

/// What came of a path.
#[derive(Debug)]
#[non_exhaustive]
pub enum Opening {
    /// The archive is open now.
    Opened,
    /// The archive was open already, by an earlier search.
    Reused,
    /// Another path of this search has led to the same archive.
    Repeated,
    /// There is no such file.
    Missing,
    /// It is a folder, a pipe, a device.
    NotAFile,
    /// It cannot be opened as an archive.
    Failed(Error),
}

/// What came of a lookup.
#[derive(Debug)]
#[non_exhaustive]
pub enum Lookup {
    /// The kernel is there.
    Found,
    /// The archive has no code for this architecture.
    NoTarget,
    /// The archive has code for this architecture, and not this kernel.
    NoKernel,
    /// The kernel is there and cannot be had.
    Failed(Error),
}

impl Opening {
    /// The word for it, for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Opening::Opened => "opened",
            Opening::Reused => "reused",
            Opening::Repeated => "repeated",
            Opening::Missing => "missing",
            Opening::NotAFile => "not_a_file",
            Opening::Failed(_) => "failed",
        }
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opening::Opened => f.write_str("opened"),
            Opening::Reused => f.write_str("open already"),
            Opening::Repeated => f.write_str("the same archive as before"),
            Opening::Missing => f.write_str("no such file"),
            Opening::NotAFile => f.write_str("not a regular file"),
            Opening::Failed(error) => f.write_str(&error.message()),
        }
    }
}

impl Lookup {
    /// The word for it, for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Lookup::Found => "found",
            Lookup::NoTarget => "no_target",
            Lookup::NoKernel => "no_kernel",
            Lookup::Failed(_) => "failed",
        }
    }
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lookup::Found => f.write_str("found"),
            Lookup::NoTarget => f.write_str("no code for it"),
            Lookup::NoKernel => f.write_str("code for it, and not this kernel"),
            Lookup::Failed(error) => f.write_str(&error.fault()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Path { path, outcome, .. } => write!(f, "{}: {outcome}", shown(path)),
            Step::Kernel { archive, target, outcome } => {
                write!(f, "{} in {}: {outcome}", shortened(target), shown(archive))
            }
            Step::Ignored { origin, paths } => {
                write!(f, "{paths} more paths ({}): too many, left out", origin.name())
            }
        }
    }
}

fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_encoded_bytes())
}

/// Why no kernel was loaded: the reason, the key, the targets and the whole trail.
#[derive(Debug)]
pub struct LoadError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    reason: Reason,
    key: Vec<u8>,
    targets: Vec<String>,
    trail: Vec<Step>,
    cause: Option<rocload_core::Error>,
    /// Why the search was not made at all.
    off: Option<String>,
}

impl LoadError {
    /// The runtime takes no more work.
    #[cfg(feature = "tokio")]
    pub(crate) fn off(error: &std::io::Error) -> LoadError {
        let mut failed = LoadError::new(Reason::Io);
        failed.0.off = Some(error.to_string());
        failed
    }

    pub(super) fn new(reason: Reason) -> LoadError {
        let (key, targets, trail) = (Vec::new(), Vec::new(), Vec::new());
        LoadError(Box::new(Inner { reason, key, targets, trail, cause: None, off: None }))
    }

    pub(super) fn because(mut self, cause: rocload_core::Error) -> LoadError {
        self.0.cause = Some(cause);
        self
    }

    pub(super) fn searched(
        mut self,
        key: Vec<u8>,
        targets: Vec<String>,
        trail: Vec<Step>,
    ) -> LoadError {
        (self.0.key, self.0.targets, self.0.trail) = (key, targets, trail);
        self
    }

    /// The reason; its [`code`](Reason::code) is the C libraries' result.
    pub fn reason(&self) -> Reason {
        self.0.reason
    }

    /// The key that was looked up; empty where the search did not come so far.
    pub fn key(&self) -> &[u8] {
        &self.0.key
    }

    /// The targets tried, best first.
    pub fn targets(&self) -> &[String] {
        &self.0.targets
    }

    /// Everything that was tried, in order.
    pub fn trail(&self) -> &[Step] {
        &self.0.trail
    }

    /// What is wrong with the reference metadata or the architectures, where that is the reason.
    pub fn cause(&self) -> Option<&rocload_core::Error> {
        self.0.cause.as_ref()
    }
}

/// The most steps that a message tells.
const SHOWN: usize = 64;

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { reason, key, targets, trail, cause, off } = &*self.0;
        if let Some(off) = off {
            return write!(f, "the search was not made: {off}");
        }
        if !key.is_empty() {
            write!(f, "{}: ", shortened(key))?;
        }
        write!(f, "{reason}")?;
        if let Some(cause) = cause {
            write!(f, ": {cause}")?;
        }
        if !targets.is_empty() {
            let names: Vec<_> = targets.iter().map(|name| shortened(name.as_bytes())).collect();
            write!(f, " (targets: {})", names.join(", "))?;
        }
        for step in trail.iter().take(SHOWN) {
            write!(f, "; {step}")?;
        }
        match trail.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}

//! What can go wrong in a driver: the core's errors with the path, the kernel and the action.
//!
//! ```
//! use rocload::{Archive, ErrorKind, Options};
//!
//! let archive = Archive::from_source(rocload::kpack::EXAMPLE, &Options::default())?;
//! let error = archive.kernel("lib/libsmall.so#0", "gfx1100").unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::NoArch { available } if available == &["gfx90a"]));
//! assert_eq!(error.arch().as_deref(), Some("gfx1100"));
//!
//! // The header's pointer, at offset 8, leads out of a file that was cut.
//! let cut = &rocload::kpack::EXAMPLE[..40];
//! let error = Archive::from_source(cut, &Options::default()).unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::Format(_)), "{error}");
//! assert_eq!(error.offset(), Some(8));
//! # Ok::<(), rocload::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rocload_core::Class;
use rocload_core::gguf::sniff;
use rocload_core::kpack::search::Reason;

use crate::file::ChangedFile;

/// An error of a driver. One pointer large; see [`ErrorKind`] for what went wrong.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    doing: &'static str,
    path: Option<PathBuf>,
    binary: Option<Vec<u8>>,
    arch: Option<Vec<u8>>,
    name: Option<Vec<u8>>,
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system refused.
    Io(io::Error),
    /// The bytes break their format or exceed a limit.
    Format(rocload_core::Error),
    /// The file is no GGUF file, but this.
    NotGguf(sniff::Kind),
    /// The archive has no such binary.
    NoBinary,
    /// The archive has the binary, but not for this architecture.
    NoArch {
        /// The architectures that it has the binary for, byte-sorted.
        available: Vec<String>,
    },
    /// The file is not what it was when it was opened.
    Changed,
    /// The machine whose GPUs are wanted is none.
    #[cfg(unix)]
    Gpu(crate::gpu::Fault),
    /// There is no memory for what was asked.
    Memory {
        /// Bytes asked for.
        bytes: u64,
    },
}

impl ErrorKind {
    /// A source's error: the system's, or that its file is not what it was.
    pub(crate) fn io(error: io::Error) -> Self {
        match error.get_ref() {
            Some(inner) if inner.is::<ChangedFile>() => ErrorKind::Changed,
            _ => ErrorKind::Io(error),
        }
    }
}

impl Error {
    /// An error of `kind` while `doing` something, such as "reading the table of contents".
    pub(crate) fn new(kind: ErrorKind, doing: &'static str) -> Self {
        Error(Box::new(Inner { kind, doing, path: None, binary: None, arch: None, name: None }))
    }

    /// The system's refusal while `doing` something, such as "opening the archive": for callers
    /// that open sources themselves.
    pub fn io(error: io::Error, doing: &'static str) -> Self {
        Error::new(ErrorKind::Io(error), doing)
    }

    pub(crate) fn with_path(mut self, path: Option<&Path>) -> Self {
        self.0.path = path.map(Path::to_path_buf);
        self
    }

    pub(crate) fn with_kernel(mut self, binary: &[u8], arch: &[u8]) -> Self {
        self.0.binary = Some(binary.to_vec());
        self.0.arch = (!arch.is_empty()).then(|| arch.to_vec());
        self
    }

    /// Names the key or tensor of a model that the error concerns.
    pub(crate) fn with_name(mut self, name: &[u8]) -> Self {
        self.0.name = (!name.is_empty()).then(|| name.to_vec());
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// What was being done, as in "reading the table of contents".
    pub fn doing(&self) -> &'static str {
        self.0.doing
    }

    /// The file, if the source was one.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The binary of the kernel concerned, shown lossily where it is not UTF-8.
    pub fn binary(&self) -> Option<Cow<'_, str>> {
        self.0.binary.as_deref().map(String::from_utf8_lossy)
    }

    /// The architecture of the kernel concerned.
    pub fn arch(&self) -> Option<Cow<'_, str>> {
        self.0.arch.as_deref().map(String::from_utf8_lossy)
    }

    /// The key or tensor of a model concerned, shown lossily where it is not UTF-8.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        self.0.name.as_deref().map(String::from_utf8_lossy)
    }

    /// Absolute offset in the file, in bytes, of what breaks the format.
    pub fn offset(&self) -> Option<u64> {
        match self.0.kind {
            ErrorKind::Format(error) => Some(error.offset),
            _ => None,
        }
    }

    /// What a caller can do about it; `None` for the system's own refusals.
    pub fn class(&self) -> Option<Class> {
        match &self.0.kind {
            ErrorKind::Format(error) => Some(error.class()),
            ErrorKind::NoBinary | ErrorKind::NoArch { .. } => Some(Class::NotFound),
            ErrorKind::Changed | ErrorKind::NotGguf(_) => Some(Class::Malformed),
            #[cfg(unix)]
            ErrorKind::Gpu(crate::gpu::Fault::NoFiles) => Some(Class::Malformed),
            #[cfg(unix)]
            ErrorKind::Gpu(_) => Some(Class::Limit),
            ErrorKind::Memory { .. } => Some(Class::Limit),
            ErrorKind::Io(_) => None,
        }
    }

    /// What it is as a reason not to find a kernel, which has the number of a C library's result
    /// code.
    pub fn reason(&self) -> Reason {
        match &self.0.kind {
            ErrorKind::Format(error) => Reason::of(error),
            ErrorKind::NoBinary | ErrorKind::NoArch { .. } => Reason::NoKernel,
            ErrorKind::Changed | ErrorKind::Io(_) => Reason::Io,
            ErrorKind::Memory { .. } => Reason::Memory,
            // Not of archives.
            ErrorKind::NotGguf(_) => Reason::Format,
            #[cfg(unix)]
            ErrorKind::Gpu(_) => Reason::Format,
        }
    }

    /// As [`reason`](Self::reason), of an error about a kernel of an archive that is open.
    pub fn kernel_reason(&self) -> Reason {
        match &self.0.kind {
            ErrorKind::Format(error) => Reason::of_kernel(error),
            _ => self.reason(),
        }
    }

    /// The text without the path: kernel, action and fault, in one lower-case line.
    pub fn message(&self) -> String {
        fmt::from_fn(|f| self.0.message(f)).to_string()
    }

    /// The text without path and kernel, for callers that show [`binary`](Self::binary) and
    /// [`arch`](Self::arch) apart.
    pub fn fault(&self) -> String {
        fmt::from_fn(|f| self.0.fault(f)).to_string()
    }
}

impl Inner {
    fn message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(binary) = &self.binary {
            // Names are hostile: control characters must not reach a terminal.
            write!(f, "{}", shortened(binary))?;
            if let Some(arch) = &self.arch {
                write!(f, " for {}", shortened(arch))?;
            }
            f.write_str(": ")?;
        }
        if let Some(name) = &self.name {
            write!(f, "{}: ", shortened(name))?;
        }
        self.fault(f)
    }

    fn fault(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Io(error) => write!(f, "{}: {error}", self.doing),
            ErrorKind::Format(error) => write!(f, "{error}"),
            ErrorKind::NotGguf(kind) => write!(f, "this is no gguf file but {kind}"),
            ErrorKind::NoBinary => f.write_str("the archive has no such binary"),
            ErrorKind::NoArch { available } => {
                f.write_str("the archive has this binary only for ")?;
                let shown = available.iter().take(8).map(|arch| shortened(arch.as_bytes()));
                f.write_str(&shown.collect::<Vec<_>>().join(", "))?;
                if available.len() > 8 { f.write_str(", ...") } else { Ok(()) }
            }
            ErrorKind::Changed => {
                write!(f, "{}: the file has changed since it was opened", self.doing)
            }
            #[cfg(unix)]
            ErrorKind::Gpu(fault) => write!(f, "{fault}"),
            ErrorKind::Memory { bytes } => {
                write!(f, "{}: no memory for {bytes} bytes", self.doing)
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}: ", path.display())?;
        }
        self.0.message(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Io(error) => Some(error),
            ErrorKind::Format(error) => Some(error),
            _ => None,
        }
    }
}

/// A name for a message: printable, and cut in the middle where it is too long to be read.
pub fn shortened(name: &[u8]) -> String {
    const MOST: usize = 120;
    let text = printable(name);
    let count = text.chars().count();
    if count <= MOST {
        return text;
    }
    let head: String = text.chars().take(MOST / 2).collect();
    let tail: String = text.chars().skip(count - MOST / 2).collect();
    format!("{head}...{tail}")
}

/// Characters that break a line or change the direction of what stands around them.
const fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name for a person's eyes: UTF-8 as it is, anything else, control
/// characters and those that reorder text escaped.
pub fn printable(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() || reorders(c) {
                text.extend(c.escape_default());
            } else {
                text.push(c);
            }
        }
        text.push_str(&chunk.invalid().escape_ascii().to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_act_on_a_terminal() {
        assert_eq!(printable("lib/ä#0".as_bytes()), "lib/ä#0");
        assert_eq!(printable(b"a\x1b[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(printable("a\u{202e}b\u{2028}c".as_bytes()), "a\\u{202e}b\\u{2028}c");
        assert_eq!(printable(b"a\xffb"), "a\\xffb");
    }

    #[test]
    fn long_names_keep_both_ends() {
        let name = [&[b'a'; 4000][..], b"#7"].concat();
        let text = shortened(&name);
        assert!(text.starts_with("aaa") && text.ends_with("a#7") && text.len() < 130, "{text}");
        assert_eq!(shortened(b"lib/a#0"), "lib/a#0");
    }
}

//! Facts in the lines that llama-server writes.
//!
//! ```
//! use rocload_core::serve::log::{BufferKind, Facts, LogFact, fact};
//!
//! let line = b"0.05.126.558 I load_tensors:   CPU_Mapped model buffer size =   235.16 MiB";
//! let LogFact::Buffer(buffer) = fact(line) else { panic!() };
//! assert_eq!((buffer.component, buffer.device), (&b"load_tensors"[..], &b"CPU_Mapped"[..]));
//!
//! // A model with two kinds of layers writes the same line for each: they are summed.
//! let mut facts = Facts::new();
//! for line in [
//!     &b"llama_kv_cache:        CPU KV buffer size =    12.00 MiB"[..],
//!     b"llama_kv_cache:        CPU KV buffer size =    15.00 MiB",
//! ] {
//!     facts.see(&fact(line));
//! }
//! assert_eq!(facts.total(BufferKind::Kv), 27 << 20);
//! ```
//!
//! A line may begin with a time and a level (`0.03.292.325 I `) or not. Lines are hostile: they
//! hold paths, and what a model says. Only warnings, errors and lines without a level are looked
//! through for a [`Mark`], and not in what is quoted.
//!
//! Source: lines of llama.cpp's builds 10434 and 11434, its `common/arg.cpp` and `ggml/src`.

use memchr::memmem;

mod facts;
mod mark;

pub use facts::{BufferSum, Facts, KnownDevice, MAX_BUFFERS, MAX_DEVICES, Name};
pub use mark::{MARKS, Mark};

/// How much of a line is looked at for a mark, in bytes.
const LOOKED_AT: usize = 4096;

/// What memory a buffer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BufferKind {
    /// Weights.
    Model,
    /// The cache of keys and values.
    Kv,
    /// The state of recurrent layers.
    Recurrent,
    /// Logits and embeddings.
    Output,
    /// The graph's intermediate results.
    Compute,
}

impl BufferKind {
    /// Its word in the server's lines.
    pub const fn name(self) -> &'static str {
        match self {
            BufferKind::Model => "model",
            BufferKind::Kv => "KV",
            BufferKind::Recurrent => "RS",
            BufferKind::Output => "output",
            BufferKind::Compute => "compute",
        }
    }

    fn from_word(word: &[u8]) -> Option<BufferKind> {
        use BufferKind::{Compute, Kv, Model, Output, Recurrent};
        [Model, Kv, Recurrent, Output, Compute]
            .into_iter()
            .find(|kind| kind.name().as_bytes() == word)
    }
}

/// A buffer that the server has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer<'l> {
    /// The part of the server that tells of it, as `llama_kv_cache`.
    pub component: &'l [u8],
    /// The device or kind of memory, as `CPU_Mapped` or `ROCm0`.
    pub device: &'l [u8],
    /// What it is for.
    pub kind: BufferKind,
    /// Its size in hundredths of a MiB, which is what the server tells.
    pub centi_mib: u64,
}

impl Buffer<'_> {
    /// Its size in bytes, to a hundredth of a MiB.
    pub const fn bytes(&self) -> u64 {
        bytes(self.centi_mib)
    }
}

const fn bytes(centi_mib: u64) -> u64 {
    let bytes = ((centi_mib as u128) << 20) / 100;
    if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 }
}

/// A device that the server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device<'l> {
    /// Its name there, as `ROCm0`.
    pub name: &'l [u8],
    /// Its maker's name.
    pub description: &'l [u8],
    /// Its address on the bus, as `0000:03:00.0`.
    pub address: Option<&'l [u8]>,
    /// Its free memory in MiB.
    pub free_mib: u64,
}

/// What a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogFact<'l> {
    /// A buffer was made.
    Buffer(Buffer<'l>),
    /// Layers that are on devices other than the CPU.
    Offloaded {
        /// How many.
        layers: u64,
        /// Of how many.
        of: u64,
    },
    /// A device is used.
    Device(Device<'l>),
    /// The context over all sequences, in tokens.
    Context(u64),
    /// A trial for the memory fit is over; what was told of buffers before does not count.
    Fitted,
    /// The model is loaded.
    ModelLoaded,
    /// Requests are accepted at this address.
    Listening(&'l [u8]),
    /// An error, or a warning that explains one.
    Error {
        /// What it is a mark of.
        mark: Option<Mark>,
        /// The text, without time and level.
        text: &'l [u8],
    },
    /// Anything else.
    Other,
}

/// A line's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// `E`.
    Error,
    /// `W`.
    Warning,
    /// `I`.
    Info,
    /// `D`.
    Debug,
}

/// Divides a line into its level, if it has one, and its text without line end.
pub fn split(line: &[u8]) -> (Option<Level>, &[u8]) {
    let line = line.trim_ascii_end();
    let leveled = || {
        let at = line.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
        let (time, rest) = line.split_at(at);
        let [b' ', level, b' ', ..] = rest else { return None };
        let level = match level {
            b'E' => Level::Error,
            b'W' => Level::Warning,
            b'I' => Level::Info,
            b'D' => Level::Debug,
            _ => return None,
        };
        time.contains(&b'.').then_some((Some(level), rest[3..].trim_ascii_start()))
    };
    leveled().unwrap_or((None, line))
}

/// What a line tells.
pub fn fact(line: &[u8]) -> LogFact<'_> {
    let (level, text) = split(line);
    match level {
        Some(Level::Error) => return LogFact::Error { mark: mark_in(text), text },
        Some(Level::Warning) | None => {
            let mark = mark_in(text);
            let plain = || text.starts_with(b"error:") || is_abort(text);
            if mark.is_some() || (level.is_none() && plain()) {
                return LogFact::Error { mark, text };
            }
        }
        Some(Level::Info | Level::Debug) => {}
    }
    told(text).unwrap_or(LogFact::Other)
}

/// `/src/ggml.c:3212: fatal error`, as `GGML_ABORT` and `GGML_ASSERT` write it.
fn is_abort(text: &[u8]) -> bool {
    const ENDS: [&[u8]; 9] =
        [b".c", b".cc", b".cpp", b".cu", b".cuh", b".h", b".hip", b".hpp", b".m"];
    let text = &text[..text.len().min(LOOKED_AT)];
    memchr::memchr_iter(b':', text).any(|at| {
        let (file, rest) = (&text[..at], &text[at + 1..]);
        ENDS.iter().any(|end| file.len() > end.len() && file.ends_with(end))
            && number(rest).is_some_and(|(_, rest)| rest.starts_with(b": "))
    })
}

/// Whether a line is of the debugger that prints where a server was when it aborted: it tells
/// people nothing about why.
///
/// ```
/// use rocload_core::serve::log::is_backtrace;
///
/// assert!(is_backtrace(b"#1  0x0000555dd451a27b in ?? ()"));
/// assert!(!is_backtrace(b"/src/common.cpp:2216: get_sub_batch: failed to add token"));
/// ```
pub fn is_backtrace(line: &[u8]) -> bool {
    const BEGINS: [&[u8]; 5] = [
        b"[New LWP ",
        b"[Inferior ",
        b"[Thread debugging ",
        b"[Detaching ",
        b"Using host libthread_db ",
    ];
    let line = line.trim_ascii_end();
    let address = |text: &[u8]| text.starts_with(b"0x");
    if BEGINS.iter().any(|begin| line.starts_with(begin)) {
        return true;
    }
    if let Some((_, rest)) = line.strip_prefix(b"#").and_then(number) {
        return rest.starts_with(b" ") && address(rest.trim_ascii_start());
    }
    if address(line) {
        return memmem::find(line, b" in ").is_some();
    }
    // A line of source code, by its number: `30<tab>in ../sysdeps/x.c`.
    number(line).is_some_and(|(_, rest)| rest.starts_with(b"\t"))
}

fn mark_in(text: &[u8]) -> Option<Mark> {
    mark::find(&text[..text.len().min(LOOKED_AT)])
}

/// What a line tells beside errors.
fn told(text: &[u8]) -> Option<LogFact<'_>> {
    let colon = memmem::find(text, b": ")?;
    let component = text[..colon].trim_ascii();
    let said = text[colon + 2..].trim_ascii();
    if let Some(at) = memmem::find(said, b" buffer size =") {
        return buffer(component, &said[..at], &said[at + 14..]);
    }
    if said == b"model loaded" {
        return Some(LogFact::ModelLoaded);
    }
    if let Some(rest) = said.strip_prefix(b"offloaded ") {
        let (layers, rest) = number(rest)?;
        let (of, rest) = number(rest.strip_prefix(b"/")?)?;
        return rest.starts_with(b" layers").then_some(LogFact::Offloaded { layers, of });
    }
    if let Some(rest) = said.strip_prefix(b"using device ") {
        return device(rest);
    }
    if let Some(rest) = said.strip_prefix(b"n_ctx ") {
        let (tokens, rest) =
            number(rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start())?;
        return rest.is_empty().then_some(LogFact::Context(tokens));
    }
    if said.starts_with(b"fitting params to free memory took ") {
        return Some(LogFact::Fitted);
    }
    for begin in [&b"listening on "[..], b"server is listening on "] {
        if let Some(rest) = said.strip_prefix(begin) {
            let address = rest.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            return (!address.is_empty()).then_some(LogFact::Listening(address));
        }
    }
    None
}

/// `CPU_Mapped model` and `   235.16 MiB`.
fn buffer<'l>(component: &'l [u8], whose: &'l [u8], size: &[u8]) -> Option<LogFact<'l>> {
    let at = whose.iter().rposition(u8::is_ascii_whitespace)?;
    let kind = BufferKind::from_word(&whose[at + 1..])?;
    let (whole, rest) = number(size.trim_ascii_start())?;
    let (centi, rest) = match rest.strip_prefix(b".") {
        Some([tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..]) => {
            (u64::from(tens - b'0') * 10 + u64::from(ones - b'0'), rest)
        }
        Some(_) => return None,
        None => (0, rest),
    };
    let centi_mib = whole.checked_mul(100)?.checked_add(centi)?;
    let device = whose[..at].trim_ascii();
    (rest == b" MiB").then_some(LogFact::Buffer(Buffer { component, device, kind, centi_mib }))
}

/// `ROCm0 (AMD Radeon RX 7800 XT) (0000:03:00.0) - 16256 MiB free`; old builds have no address.
fn device(text: &[u8]) -> Option<LogFact<'_>> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let (name, rest) = (&text[..space], &text[space + 1..]);
    let dash = memmem::rfind(rest, b" - ")?;
    let (free_mib, end) = number(&rest[dash + 3..])?;
    if end != b" MiB free" {
        return None;
    }
    let braced = rest[..dash].strip_prefix(b"(")?.strip_suffix(b")")?;
    let (description, address) = match memmem::rfind(braced, b") (") {
        Some(at) => (&braced[..at], Some(&braced[at + 3..])),
        None => (braced, None),
    };
    Some(LogFact::Device(Device { name, description, address, free_mib }))
}

/// The digits at the front as a number.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fold = |sum: u64, byte: &u8| sum.checked_mul(10)?.checked_add(u64::from(byte - b'0'));
    let value = text[..digits].iter().try_fold(0, fold)?;
    (digits > 0).then_some((value, &text[digits..]))
}

#[cfg(test)]
mod tests;

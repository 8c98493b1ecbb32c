//! The server's arguments, from settings and what a model's file says.
//!
//! What is not set is not passed: the server's own defaults hold, and its `--fit` may choose the
//! context and the layers. Flags that would make it another server than the one that is
//! supervised are refused by name.
//!
//! ```
//! use rocload_core::serve::plan::{Endpoint, Fault, Plan, Settings, Tuning};
//!
//! let settings = Settings {
//!     tuning: Tuning { context: Some(4096), ..Tuning::default() },
//!     extra: &[b"--no-warmup"],
//!     ..Settings::new(b"model.gguf", Endpoint::Unix(b"/run/user/1000/rocload/5eed.sock"))
//! };
//! let mut line = String::new();
//! Plan::new(&settings, None)?.args(|arg| line = format!("{line} {}", String::from_utf8_lossy(arg)));
//! assert!(line.starts_with(" --model model.gguf --host /run/user/1000/rocload/5eed.sock --ctx-size 4096"));
//!
//! let settings = Settings { extra: &[b"--host", b"0.0.0.0"], ..settings };
//! let fault = Plan::new(&settings, None).unwrap_err();
//! assert!(matches!(fault, Fault::Owned { flag: "--host", index: 0, .. }));
//! # Ok::<(), Fault>(())
//! ```
//!
//! Source: llama.cpp's `common/arg.cpp`, build 11434.

use core::fmt;

use crate::gguf::{GgmlType, Hparam, Kind, Summary};

mod flags;

pub use flags::{FLAGS, Flag, Owner, Setting};

/// Where the server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint<'s> {
    /// A Unix socket: a path that ends in `.sock`, of at most [`MAX_SOCKET_PATH`] bytes.
    Unix(&'s [u8]),
    /// An address of this machine and a port.
    Tcp {
        /// As `127.0.0.1`.
        host: &'s str,
        /// The port; not 0, since the server tells its choice only after loading.
        port: u16,
    },
}

/// The longest path of a Unix socket on Linux, in bytes.
pub const MAX_SOCKET_PATH: usize = 107;

/// Layers to put on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layers {
    /// All of them; the server then cannot fit them to the memory.
    All,
    /// This many.
    Count(u32),
}

/// How a server uses the model and the machine. What is `None` or false is not passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tuning {
    /// No GPU is used, even by a build that could.
    pub cpu: bool,
    /// Layers on the GPU.
    pub layers: Option<Layers>,
    /// Tokens of context over all sequences; 0 = what the model was trained with.
    pub context: Option<u32>,
    /// Requests at once.
    pub parallel: Option<u32>,
    /// Whether they share one cache.
    pub unified: Option<bool>,
    /// Tokens of a batch.
    pub batch: Option<u32>,
    /// Tokens of a micro-batch.
    pub ubatch: Option<u32>,
    /// Threads.
    pub threads: Option<u32>,
    /// Type of cached keys, one of [`CACHE_TYPES`](crate::gguf::fit::CACHE_TYPES).
    pub keys: Option<GgmlType>,
    /// Type of cached values.
    pub values: Option<GgmlType>,
    /// Flash attention.
    pub flash: Option<bool>,
    /// MiB to leave free on each device.
    pub fit_target: Option<u32>,
    /// Embeddings instead of text.
    pub embeddings: bool,
    /// `/metrics` answers.
    pub metrics: bool,
    /// How much the server writes: 3 is its own, 4 tells of buffers.
    pub verbosity: Option<u8>,
}

/// How the server is to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings<'s> {
    /// The model's file.
    pub model: &'s [u8],
    /// Where it listens.
    pub endpoint: Endpoint<'s>,
    /// The model's name in answers.
    pub alias: Option<&'s str>,
    /// How it uses the model and the machine.
    pub tuning: Tuning,
    /// Further arguments, passed as they are.
    pub extra: &'s [&'s [u8]],
}

impl<'s> Settings<'s> {
    /// A model at an endpoint, and nothing else.
    pub fn new(model: &'s [u8], endpoint: Endpoint<'s>) -> Self {
        Settings { model, endpoint, alias: None, tuning: Tuning::default(), extra: &[] }
    }
}

/// Why settings are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// A further argument is a flag that is not the caller's to give.
    Owned {
        /// The flag's usual name.
        flag: &'static str,
        /// Which of the further arguments it is, from 0.
        index: usize,
        /// Why.
        why: &'static str,
    },
    /// A further argument is a flag that a setting stands for, and the setting is given.
    Twice {
        /// The flag's usual name.
        flag: &'static str,
        /// Which of the further arguments it is, from 0.
        index: usize,
    },
    /// The path of the socket is too long, does not end in `.sock` or has a comma.
    Socket,
    /// Port 0.
    Port,
    /// A setting is empty or has a byte that no argument can have.
    Text(&'static str),
    /// The file is no model of its own.
    NoModel(Kind),
    /// A cache cannot have this type.
    CacheType(GgmlType),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Owned { flag, why, .. } => write!(f, "{flag} cannot be passed on: {why}"),
            Fault::Twice { flag, .. } => {
                write!(f, "{flag} is given by a setting and among the server's own flags")
            }
            Fault::Socket => write!(
                f,
                "a socket's path must end in .sock, have no comma and at most {MAX_SOCKET_PATH} bytes"
            ),
            Fault::Port => {
                f.write_str("port 0 cannot be used: the server would not tell which it took")
            }
            Fault::Text(what) => write!(f, "{what} is empty or has a zero byte"),
            Fault::NoModel(kind) => f.write_str(match kind {
                Kind::Adapter => "the file is an adapter, not a model",
                Kind::Projector => "the file is a projector for images, not a model",
                Kind::ImportanceMatrix => "the file is an importance matrix, not a model",
                Kind::Shard => "the file is a later part of a split model: name its first part",
                _ => "the file is no model that can be served",
            }),
            Fault::CacheType(kind) => write!(f, "a cache cannot have the type {kind}"),
        }
    }
}

impl core::error::Error for Fault {}

/// Something that the caller may want to know; not a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Note {
    /// A context larger than what the model was trained with.
    BeyondTraining {
        /// Tokens wanted for each request.
        context: u64,
        /// Tokens it was trained with.
        trained: u64,
    },
    /// The context is shared out: each request has this many tokens.
    Shared {
        /// Requests at once.
        parallel: u32,
        /// Tokens of each.
        each: u32,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::BeyondTraining { context, trained } => {
                write!(
                    f,
                    "a context of {context} tokens is more than the {trained} that the model was trained with"
                )
            }
            Note::Shared { parallel, each } => {
                write!(f, "{parallel} requests at once share the context: {each} tokens each")
            }
        }
    }
}

/// Settings that were found good.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'p, 's> {
    settings: &'p Settings<'s>,
    notes: [Option<Note>; 2],
}

impl<'p, 's> Plan<'p, 's> {
    /// Checks settings, and against the model's file where its summary is given.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn new(settings: &'p Settings<'s>, summary: Option<&Summary>) -> Result<Self, Fault> {
        check_texts(settings)?;
        let tuning = &settings.tuning;
        for kind in [tuning.keys, tuning.values].into_iter().flatten() {
            if kind.name().is_none() || !crate::gguf::fit::CACHE_TYPES.contains(&kind) {
                return Err(Fault::CacheType(kind));
            }
        }
        flags::check(settings)?;
        let kind = summary.map_or(Kind::Unknown, Summary::kind);
        if !matches!(kind, Kind::Model | Kind::Unknown) {
            return Err(Fault::NoModel(kind));
        }
        Ok(Plan { settings, notes: notes(settings, summary) })
    }

    /// What the caller may want to know.
    pub fn notes(&self) -> impl Iterator<Item = Note> + use<> {
        self.notes.into_iter().flatten()
    }

    /// Tells the arguments in order, without the program's name.
    pub fn args(&self, mut tell: impl FnMut(&[u8])) {
        let settings = self.settings;
        let tuning = &settings.tuning;
        tell(b"--model");
        tell(settings.model);
        tell(b"--host");
        match settings.endpoint {
            Endpoint::Unix(path) => tell(path),
            Endpoint::Tcp { host, port } => {
                tell(host.as_bytes());
                tell(b"--port");
                number(port.into(), &mut tell);
            }
        }
        if let Some(alias) = settings.alias {
            tell(b"--alias");
            tell(alias.as_bytes());
        }
        if tuning.cpu {
            tell(b"--device");
            tell(b"none");
        }
        if let Some(layers) = tuning.layers {
            tell(b"--n-gpu-layers");
            match layers {
                Layers::All => tell(b"all"),
                Layers::Count(count) => number(count, &mut tell),
            }
        }
        for (flag, value) in [
            ("--ctx-size", tuning.context),
            ("--parallel", tuning.parallel),
            ("--batch-size", tuning.batch),
            ("--ubatch-size", tuning.ubatch),
            ("--threads", tuning.threads),
            ("--fit-target", tuning.fit_target),
            ("--verbosity", tuning.verbosity.map(u32::from)),
        ] {
            if let Some(value) = value {
                tell(flag.as_bytes());
                number(value, &mut tell);
            }
        }
        for (flag, kind) in [("--cache-type-k", tuning.keys), ("--cache-type-v", tuning.values)] {
            if let Some(name) = kind.and_then(GgmlType::name) {
                tell(flag.as_bytes());
                tell(name.as_bytes());
            }
        }
        if let Some(flash) = tuning.flash {
            tell(b"--flash-attn");
            tell(if flash { b"on" } else { b"off" });
        }
        match tuning.unified {
            Some(true) => tell(b"--kv-unified"),
            Some(false) => tell(b"--no-kv-unified"),
            None => {}
        }
        for (flag, wanted) in [("--embeddings", tuning.embeddings), ("--metrics", tuning.metrics)] {
            if wanted {
                tell(flag.as_bytes());
            }
        }
        for arg in settings.extra {
            tell(arg);
        }
    }

    /// The arguments as owned bytes.
    #[cfg(feature = "alloc")]
    pub fn to_vec(&self) -> alloc::vec::Vec<alloc::vec::Vec<u8>> {
        let mut args = alloc::vec::Vec::new();
        self.args(|arg| args.push(arg.to_vec()));
        args
    }
}

/// Tells a number in decimal digits.
fn number(value: u32, tell: &mut impl FnMut(&[u8])) {
    let mut digits = [0u8; 10];
    let (mut at, mut rest) = (digits.len(), value);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    tell(&digits[at..]);
}

fn check_texts(settings: &Settings<'_>) -> Result<(), Fault> {
    let bad = |text: &[u8]| text.is_empty() || text.contains(&0);
    if bad(settings.model) {
        return Err(Fault::Text("the model's path"));
    }
    if settings.alias.is_some_and(|alias| bad(alias.as_bytes())) {
        return Err(Fault::Text("the model's name"));
    }
    if settings.extra.iter().any(|arg| arg.contains(&0)) {
        return Err(Fault::Text("an argument for the server"));
    }
    match settings.endpoint {
        // A comma would make it a list.
        Endpoint::Unix(path) if path.len() > MAX_SOCKET_PATH => Err(Fault::Socket),
        Endpoint::Unix(path) if !path.ends_with(b".sock") => Err(Fault::Socket),
        Endpoint::Unix(path) if path.contains(&b',') || path.contains(&0) => Err(Fault::Socket),
        Endpoint::Tcp { port: 0, .. } => Err(Fault::Port),
        Endpoint::Tcp { host, .. } if bad(host.as_bytes()) || host.contains(',') => {
            Err(Fault::Text("the host"))
        }
        _ => Ok(()),
    }
}

fn notes(settings: &Settings<'_>, summary: Option<&Summary>) -> [Option<Note>; 2] {
    let tuning = &settings.tuning;
    let Some(context) = tuning.context.filter(|context| *context > 0) else { return [None; 2] };
    let parallel = tuning.parallel.filter(|parallel| *parallel > 1 && tuning.unified != Some(true));
    let each = context / parallel.unwrap_or(1);
    let shared = parallel.map(|parallel| Note::Shared { parallel, each });
    let trained = summary.and_then(|summary| summary.get(Hparam::ContextLength).value());
    let beyond = trained
        .filter(|trained| u64::from(each) > *trained)
        .map(|trained| Note::BeyondTraining { context: each.into(), trained });
    [shared, beyond]
}

#[cfg(all(test, feature = "alloc"))]
mod tests;

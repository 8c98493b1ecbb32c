//! How a server is asked for.

use std::ffi::OsString;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

use rocload_core::gguf::{GgmlType, Summary};
use rocload_core::serve::plan::Layers;
use rocload_core::serve::{Event, Policy};

use super::{Gpus, Listen, Setup};

/// Describes a server, and starts it. `D` is the driver; see
/// [`blocking::Server::builder`](crate::blocking::Server::builder) and its twin for tokio.
///
/// What is not set is left to llama-server: its context fits the memory, and so do the layers on
/// the GPU.
#[must_use = "nothing is started yet"]
pub struct Builder<D> {
    setup: Setup,
    driver: PhantomData<fn() -> D>,
}

impl<D> fmt::Debug for Builder<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.setup.fmt(f)
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $($field:ident).+ = $from:ty;)+) => {
        $($(#[$doc])*
        pub fn $name(mut self, $name: $from) -> Self {
            self.setup.$($field).+ = $name.into();
            self
        })+
    };
}

impl<D> Builder<D> {
    pub(crate) fn new(model: PathBuf) -> Self {
        Builder { setup: Setup::new(model), driver: PhantomData }
    }

    /// A server as a [`Setup`] says.
    pub fn from_setup(setup: Setup) -> Self {
        Builder { setup, driver: PhantomData }
    }

    /// What was set so far.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    pub(crate) fn into_setup(self) -> Setup {
        self.setup
    }

    setters! {
        /// Where the server listens: a Unix socket unless told otherwise.
        listen: listen = Listen;
        /// The GPUs that it may use: none unless told otherwise.
        gpus: gpus = Gpus;
        /// Whether no device but the CPU is used, whatever the server was built for.
        cpu: tuning.cpu = bool;
        /// Layers on the GPU.
        layers: tuning.layers = Layers;
        /// Tokens of context over all requests at once; 0 = what the model was trained with.
        context: tuning.context = u32;
        /// Requests at once.
        parallel: tuning.parallel = u32;
        /// Whether requests share one cache.
        unified: tuning.unified = bool;
        /// Tokens of a batch.
        batch: tuning.batch = u32;
        /// Tokens of a micro-batch.
        ubatch: tuning.ubatch = u32;
        /// Threads.
        threads: tuning.threads = u32;
        /// Type of cached keys.
        cache_type_k: tuning.keys = GgmlType;
        /// Type of cached values.
        cache_type_v: tuning.values = GgmlType;
        /// Flash attention.
        flash: tuning.flash = bool;
        /// MiB to leave free on each device.
        fit_target: tuning.fit_target = u32;
        /// Embeddings instead of text.
        embeddings: tuning.embeddings = bool;
        /// `/metrics` answers.
        metrics: tuning.metrics = bool;
        /// How much the server writes: 3 is its own, 4 tells of buffers.
        verbosity: tuning.verbosity = u8;
        /// The environment that the server's is built from, instead of this program's.
        environment: environment = Vec<(OsString, OsString)>;
        /// How long it may take, and how often it may fail.
        policy: policy = Policy;
        /// Whether servers that a killed program of ours has left are ended first: yes, unless
        /// told otherwise.
        sweep: sweep = bool;
        /// Whether the server is killed when the thread that watches it ends, by whatever means.
        /// Off at first; refused by the tokio driver, which has no such thread.
        death_guard: death_guard = bool;
        /// How requests are made.
        http: http = crate::http::Options;
        /// How the end of the process is noticed.
        watch: watch = crate::process::Watch;
    }

    /// The server's program, instead of the one that is found.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.setup.program = Some(program.into());
        self
    }

    /// The model's name in answers.
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.setup.alias = Some(alias.into());
        self
    }

    /// What is known of the model, to check the other settings against.
    pub fn summary(mut self, summary: Summary) -> Self {
        self.setup.summary = Some(Box::new(summary));
        self
    }

    /// The key that requests must bear. Those of this crate do.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.setup.api_key = Some(key.into());
        self
    }

    /// Further arguments for the server, passed as they are.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.setup.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The folder of the memory cgroup whose kills are counted, instead of the process's own.
    pub fn cgroup(mut self, folder: impl Into<PathBuf>) -> Self {
        self.setup.cgroup = Some(folder.into());
        self
    }

    /// Where it is noted that the process is ours, instead of the usual folder.
    pub fn records(mut self, folder: impl Into<PathBuf>) -> Self {
        self.setup.records = Some(folder.into());
        self
    }

    /// Hears each line that the server writes, on the thread that watches it.
    pub fn on_line(mut self, hear: impl FnMut(&[u8]) + Send + 'static) -> Self {
        self.setup.on_line = Some(Box::new(hear));
        self
    }

    /// Hears what happens to the server, on the thread that watches it.
    pub fn on_event(mut self, hear: impl FnMut(&Event) + Send + 'static) -> Self {
        self.setup.on_event = Some(Box::new(hear));
        self
    }
}

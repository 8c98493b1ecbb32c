//! What is started, where it listens, and who hears of it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::process::Command;

use rocload_core::gguf::Summary;
use rocload_core::serve::environment::{Devices, Environment};
use rocload_core::serve::plan::{self, Plan, Tuning};
use rocload_core::serve::{Event, Policy};

use super::error::Error;
use crate::http::Endpoint;
use crate::process::{Socket, Watch, free_port};

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Listen {
    /// On a Unix socket with a fresh name, in a folder that only this user can enter.
    #[default]
    Unix,
    /// On a Unix socket with a fresh name in this folder.
    UnixIn(PathBuf),
    /// On this port of 127.0.0.1; 0 = a free one. Every user of the machine can connect.
    Tcp(u16),
}

/// The AMD GPUs that a server may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Gpus {
    /// None: the CPU.
    #[default]
    None,
    /// Those of this mask, in the form of `ROCR_VISIBLE_DEVICES`.
    Chosen(String),
    /// Those that the environment allows.
    Inherited,
}

/// Hears lines of output.
pub type OnLine = Box<dyn FnMut(&[u8]) + Send>;
/// Hears events.
pub type OnEvent = Box<dyn FnMut(&Event) + Send>;

/// How a server is started and watched. A builder's methods change it.
#[non_exhaustive]
pub struct Setup {
    /// The server's program; `None` = it is looked for.
    pub program: Option<PathBuf>,
    /// The model's file.
    pub model: PathBuf,
    /// What is known of it, to check the other settings against.
    pub summary: Option<Box<Summary>>,
    /// Where the server listens.
    pub listen: Listen,
    /// The GPUs that it may use.
    pub gpus: Gpus,
    /// The model's name in answers.
    pub alias: Option<String>,
    /// How the server uses the model and the machine.
    pub tuning: Tuning,
    /// Further arguments, passed as they are.
    pub args: Vec<OsString>,
    /// The environment that the server's is built from; `None` = this program's.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The key that requests must bear.
    pub api_key: Option<String>,
    /// How long it may take, and how often it may fail.
    pub policy: Policy,
    /// The folder of the memory cgroup whose kills are counted; `None` = the process's own.
    pub cgroup: Option<PathBuf>,
    /// Where it is noted that the process is ours; `None` = the [usual
    /// folder](crate::process::records_folder).
    pub records: Option<PathBuf>,
    /// Whether servers that a killed program of ours has left are ended first.
    pub sweep: bool,
    /// Whether the server is killed when the thread that watches it ends. The blocking driver
    /// alone has such a thread.
    pub death_guard: bool,
    /// How the end of the process is noticed.
    pub watch: Watch,
    /// How requests are made.
    pub http: crate::http::Options,
    /// Hears each line that the server writes, on the thread that watches it.
    pub on_line: Option<OnLine>,
    /// Hears what happens to the server, on the thread that watches it.
    pub on_event: Option<OnEvent>,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key and the environment are nobody's business.
        f.debug_struct("Setup")
            .field("program", &self.program)
            .field("model", &self.model)
            .field("listen", &self.listen)
            .field("gpus", &self.gpus)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl Setup {
    /// A model with everything left to the server.
    pub fn new(model: PathBuf) -> Self {
        Setup {
            program: None,
            model,
            summary: None,
            listen: Listen::Unix,
            gpus: Gpus::None,
            alias: None,
            tuning: Tuning::default(),
            args: Vec::new(),
            environment: None,
            api_key: None,
            policy: Policy::default(),
            cgroup: None,
            records: None,
            sweep: true,
            death_guard: false,
            watch: Watch::default(),
            http: crate::http::Options::default(),
            on_line: None,
            on_event: None,
        }
    }

    fn with_settings<T>(
        &self,
        endpoint: &Endpoint,
        then: impl FnOnce(&plan::Settings<'_>) -> T,
    ) -> T {
        let host;
        let endpoint = match endpoint {
            Endpoint::Unix(path) => plan::Endpoint::Unix(path.as_os_str().as_bytes()),
            Endpoint::Tcp(address) => {
                host = address.ip().to_string();
                plan::Endpoint::Tcp { host: &host, port: address.port() }
            }
        };
        let extra: Vec<&[u8]> = self.args.iter().map(|arg| arg.as_bytes()).collect();
        then(&plan::Settings {
            alias: self.alias.as_deref(),
            tuning: self.tuning,
            extra: &extra,
            ..plan::Settings::new(self.model.as_os_str().as_bytes(), endpoint)
        })
    }

    /// What the caller may want to know about the settings.
    ///
    /// # Errors
    /// [`Error::Plan`].
    pub fn notes(&self) -> Result<Vec<plan::Note>, Error> {
        let anywhere = Endpoint::Unix("/.sock".into());
        self.with_settings(&anywhere, |settings| {
            let plan = Plan::new(settings, self.summary.as_deref()).map_err(Error::Plan)?;
            Ok(plan.notes().collect())
        })
    }

    fn built_environment(&self) -> Vec<(OsString, OsString)> {
        let given = self.environment.clone().unwrap_or_else(|| std::env::vars_os().collect());
        let devices = match &self.gpus {
            Gpus::None => Devices::Cpu,
            Gpus::Chosen(mask) => Devices::Chosen(mask),
            Gpus::Inherited => Devices::Inherited,
        };
        let built = Environment { devices, api_key: self.api_key.as_deref() };
        let given = given.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let owned = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        built.build(given).map(|(name, value)| (owned(name), owned(value))).collect()
    }
}

/// What the supervision starts.
pub(crate) struct Launch {
    pub(super) program: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) policy: Policy,
    pub(super) cgroup: Option<PathBuf>,
    pub(super) records: Option<PathBuf>,
    pub(super) watch: Watch,
    setup: Setup,
    guard: Option<fn(&mut Command)>,
}

/// Where one start listens.
pub(super) struct Place {
    pub(super) endpoint: Endpoint,
    pub(super) socket: Option<Socket>,
}

impl Launch {
    /// Checks a setup. `guard` is how a death guard is armed, where the driver has one.
    pub(crate) fn new(setup: Setup, guard: Option<fn(&mut Command)>) -> Result<Launch, Error> {
        setup.notes()?;
        // One that is given and cannot be started fails with the system's own reason.
        let program = match &setup.program {
            Some(program) => program.clone(),
            None => super::find::find(None).map_err(Error::Find)?.program,
        };
        if setup.death_guard && guard.is_none() {
            let text = "a death guard needs the blocking driver: only that has a thread for it";
            return Err(Error::Refused(text.into()));
        }
        let records = match &setup.records {
            Some(folder) => Some(folder.clone()),
            // Without such a folder no record is kept.
            None => crate::process::records_folder().ok(),
        };
        let mut policy = setup.policy;
        if matches!(setup.listen, Listen::Tcp(1..)) {
            // The same port would be taken again.
            policy.bind_tries = 1;
        }
        Ok(Launch {
            program,
            environment: setup.built_environment(),
            policy,
            cgroup: setup.cgroup.clone(),
            records,
            watch: setup.watch,
            guard: guard.filter(|_| setup.death_guard),
            setup,
        })
    }

    /// How long its end may take once it was asked to end.
    pub(crate) fn patience(&self) -> std::time::Duration {
        let grace = self.policy.grace_ready.0.max(self.policy.grace_loading.0);
        std::time::Duration::from_millis(grace).saturating_add(super::DROP)
    }

    /// Where the servers of killed programs are noted, if they are to be ended.
    pub(crate) fn to_sweep(&self) -> Option<(PathBuf, std::time::Duration)> {
        let grace = std::time::Duration::from_millis(self.policy.grace_ready.0);
        self.records.clone().filter(|_| self.setup.sweep).map(|folder| (folder, grace))
    }

    /// A fresh place to listen at.
    pub(super) fn place(&self) -> io::Result<Place> {
        let socket = match &self.setup.listen {
            Listen::Unix => Socket::new()?,
            Listen::UnixIn(folder) => Socket::in_folder(folder)?,
            Listen::Tcp(port) => {
                let port = if *port == 0 { free_port()? } else { *port };
                let endpoint = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
                return Ok(Place { endpoint, socket: None });
            }
        };
        Ok(Place { endpoint: Endpoint::Unix(socket.path().to_path_buf()), socket: Some(socket) })
    }

    /// The program's arguments, without its name.
    pub(super) fn arguments(&self, endpoint: &Endpoint) -> io::Result<Vec<OsString>> {
        self.setup.with_settings(endpoint, |settings| {
            let plan = Plan::new(settings, self.setup.summary.as_deref())
                .map_err(|fault| io::Error::new(io::ErrorKind::InvalidInput, fault))?;
            Ok(plan.to_vec().into_iter().map(OsString::from_vec).collect())
        })
    }

    pub(super) fn guard(&self, command: &mut Command) {
        if let Some(arm) = self.guard {
            arm(command);
        }
    }

    pub(super) fn line(&mut self, line: &[u8]) {
        if let Some(hear) = &mut self.setup.on_line {
            hear(line);
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        if let Some(hear) = &mut self.setup.on_event {
            hear(event);
        }
    }
}

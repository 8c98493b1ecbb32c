//! AMD GPUs of a machine: scanning, choosing, watching.
//!
//! The core's [`Scan`] asks, and a [`SysRoot`] answers: this machine, a folder that looks like
//! one, or a machine in a JSON file. Reads are bounded, nothing waits for a device, and a card that
//! sleeps is not woken.
//!
//! ```
//! use rocload::gpu::{Environment, Policy, SysRoot, scan};
//!
//! let mut gpus = scan(&SysRoot::host()?)?;
//! let selection = gpus.select(&Policy::default(), &Environment::current());
//! match selection.chosen(&gpus).next() {
//!     Some(gpu) => println!("{:?} with {:?} bytes free", gpu.target, gpus.budget(gpu)),
//!     None => println!("no AMD GPU: {:?}", selection.problem),
//! }
//! # Ok::<(), rocload::Error>(())
//! ```

mod root;
#[cfg(feature = "blocking")]
mod settle;
mod watch;

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;

use rocload_core::gpu::visible;
pub use rocload_core::gpu::{
    Access, Choice, Evidence, Gpu, Kind, OtherCard, Partition, Policy, Problem, Reason, Target,
    Verdict, Why, settle::Outcome,
};
use rocload_core::gpu::{BadOverride, Found, Mask, Scan, Variables, overrides};

pub use root::SysRoot;
#[cfg(feature = "blocking")]
pub use settle::settle;
pub use watch::Sampler;
#[cfg(feature = "blocking")]
pub use watch::Watch;
#[cfg(feature = "tokio")]
pub(crate) use watch::sample_used;

use crate::error::{Error, ErrorKind};
use root::Buffer;

/// Nodes that a machine may have.
const MOST_NODES: u64 = 1024;

/// What is wrong with a machine that is to be scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The JSON has no object `files`.
    NoFiles,
    /// The JSON is longer than it may be.
    TooLong {
        /// Bytes that it may have.
        limit: u64,
    },
    /// It has more nodes or cards than any machine.
    TooMany {
        /// How many.
        count: u64,
        /// How many it may have.
        limit: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoFiles => f.write_str("this is no machine: it has no object \"files\""),
            Fault::TooLong { limit } => write!(f, "the machine is longer than {limit} bytes"),
            Fault::TooMany { count, limit } => {
                write!(f, "the machine has {count} nodes or cards, over the limit of {limit}")
            }
        }
    }
}

/// Looks at the GPUs of a machine. It takes a few milliseconds and blocks for them.
///
/// # Errors
/// [`ErrorKind::Gpu`] where the machine has more nodes than any. What cannot be read is absent, not
/// an error: see [`Gpus::problem`].
#[cfg(feature = "blocking")]
pub fn scan(root: &SysRoot) -> Result<Gpus, Error> {
    look(root)
}

pub(crate) fn look(root: &SysRoot) -> Result<Gpus, Error> {
    let mut slots = 64;
    loop {
        let mut scan = Scan::new(vec![Gpu::default(); slots], vec![OtherCard::default(); slots]);
        let mut buffer = Buffer::new();
        while let Some(ask) = scan.ask() {
            // The number of slots that are needed is told in the end.
            let answer = root.answer(ask, &mut buffer, |name| {
                let _ = scan.entry(name);
            });
            scan.answer(answer);
        }
        match scan.finish() {
            Ok(found) => {
                crate::trace::debug!(gpus = found.gpus().len(), "scanned");
                return Ok(Gpus { found, bad: None });
            }
            Err(full) if full.need <= MOST_NODES && full.need > slots as u64 => {
                slots = full.need as usize;
            }
            Err(full) => {
                let fault = Fault::TooMany { count: full.need, limit: MOST_NODES };
                return Err(Error::new(ErrorKind::Gpu(fault), "scanning the machine"));
            }
        }
    }
}

/// The GPUs of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpus {
    found: Found<Vec<Gpu>, Vec<OtherCard>>,
    bad: Option<BadOverride>,
}

impl Gpus {
    /// The GPUs that the compute driver tells of, in the order of their nodes.
    pub fn gpus(&self) -> &[Gpu] {
        self.found.gpus()
    }

    /// Nodes that cannot be read, as in a container that hides them.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.found.skipped()
    }

    /// Cards that are no such GPUs: other vendors', and AMD's that the compute driver does not know.
    pub fn others(&self) -> &[OtherCard] {
        self.found.others()
    }

    /// The access to `/dev/kfd`.
    pub fn kfd(&self) -> Access {
        self.found.kfd()
    }

    /// Memory that the system can give without swapping, in bytes.
    pub fn available(&self) -> Option<u64> {
        self.found.available()
    }

    /// Memory of a GPU that a model may take, in bytes: see [`Gpu::budget`].
    pub fn budget(&self, gpu: &Gpu) -> Option<u64> {
        gpu.budget(self.available())
    }

    /// Why no GPU can be used at all; `None` = nothing is in the way of one.
    pub fn problem(&self) -> Option<Problem> {
        let access = rocload_core::gpu::problem(self.kfd(), self.gpus());
        access.or(self.bad.map(|_| Problem::BadOverride))
    }

    /// The override that makes the runtime fail, once [`select`](Self::select) has found one.
    pub fn bad_override(&self) -> Option<BadOverride> {
        self.bad
    }

    /// Chooses, as [`choose`](rocload_core::gpu::choose()) does, in an environment; GPUs have their
    /// [`effective`](Gpu::effective) targets from then on.
    pub fn select(&mut self, policy: &Policy<'_>, environment: &Environment) -> Selection {
        environment.with(|variables| {
            self.bad = overrides::apply(self.found.gpus_mut(), variables).err();
            let gpus = self.found.gpus();
            let mut verdicts = vec![Verdict::default(); gpus.len()];
            let mut choice = Choice { chosen: None, rocr: None, layer: None };
            if self.bad.is_none() {
                // There are as many verdicts as GPUs.
                choice = rocload_core::gpu::choose(gpus, policy, variables, &mut verdicts)
                    .unwrap_or(choice);
            }
            let mut text = vec![0; rocload_core::gpu::mask::room(gpus.len())];
            let mask = match rocload_core::gpu::mask(gpus, &verdicts, variables, &mut text) {
                Ok(Mask::Set(list)) => DeviceMask::Set(list.to_owned()),
                Ok(Mask::Kept) => DeviceMask::Kept(
                    variables.masks().map(|(name, value)| (name, value.to_vec())).collect(),
                ),
                Ok(Mask::None) | Err(_) => DeviceMask::None,
            };
            Selection { choice, verdicts, mask, problem: self.problem() }
        })
    }

    pub(crate) fn refresh(&mut self, root: &SysRoot) {
        let mut buffer = Buffer::new();
        let mut refresh = self.found.refresh();
        while let Some(ask) = refresh.ask() {
            let answer = root.answer(ask, &mut buffer, |name| refresh.entry(name));
            refresh.answer(answer);
        }
        refresh.finish();
    }
}

/// A choice, and what follows for a process that is to use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The choice.
    pub choice: Choice,
    /// What became of each GPU, in their order.
    pub verdicts: Vec<Verdict>,
    /// What the process's environment is to say.
    pub mask: DeviceMask,
    /// Why no GPU can be used at all.
    pub problem: Option<Problem>,
}

impl Selection {
    /// The chosen GPUs, the first first.
    pub fn chosen<'g>(&'g self, gpus: &'g Gpus) -> impl Iterator<Item = &'g Gpu> {
        rocload_core::gpu::chosen(gpus.gpus(), &self.verdicts)
    }

    /// The GPUs that were not chosen, each with its reason.
    pub fn rejected<'g>(&'g self, gpus: &'g Gpus) -> impl Iterator<Item = (&'g Gpu, Reason)> {
        gpus.gpus().iter().zip(&self.verdicts).filter_map(|(gpu, verdict)| match verdict {
            Verdict::Rejected(reason) => Some((gpu, *reason)),
            Verdict::Chosen(_) => None,
        })
    }
}

/// What an environment is to say about devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceMask {
    /// No GPU is chosen.
    None,
    /// `ROCR_VISIBLE_DEVICES` is to be this, and all other masks to be removed.
    Set(String),
    /// These masks of the caller's hold as they are.
    Kept(Vec<(&'static str, Vec<u8>)>),
}

/// The variables of an environment that change which GPUs a process sees, and as what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment(Vec<(Vec<u8>, Vec<u8>)>);

impl Environment {
    /// None of them is set.
    pub fn none() -> Environment {
        Environment::default()
    }

    /// Those of this process.
    pub fn current() -> Environment {
        std::env::vars_os().collect()
    }

    /// Those that are set: names and values.
    pub fn variables(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (&name[..], &value[..]))
    }

    fn with<T>(&self, work: impl FnOnce(&Variables<'_>) -> T) -> T {
        let variables: Vec<_> = self.variables().collect();
        work(&Variables(&variables))
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Environment {
        let concerns = |name: &[u8]| {
            name.starts_with(overrides::NAME.as_bytes())
                || name == visible::ROCR.as_bytes()
                || visible::LAYERS.iter().any(|layer| name == layer.as_bytes())
        };
        let bytes = |(name, value): (OsString, OsString)| (name.into_vec(), value.into_vec());
        Environment(variables.into_iter().map(bytes).filter(|(name, _)| concerns(name)).collect())
    }
}

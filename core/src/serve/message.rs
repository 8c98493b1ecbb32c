//! What goes into a supervisor and what comes out of it.

use core::fmt;

use super::exit::{Class, Exit, SpawnFault};
use super::health::Outcome;
use super::log::LogFact;
use crate::need::Millis;

/// Names one probe of a supervisor's life; a late answer to an older one is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeId(pub u64);

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Input<'l> {
    /// Start the server. Only the first counts: a supervisor lives once.
    Start,
    /// [`Action::Spawn`] was done.
    Spawned {
        /// The process.
        pid: u32,
    },
    /// [`Action::Spawn`] could not be done.
    SpawnFailed(SpawnFault),
    /// The answer to [`Action::Probe`].
    Probe {
        /// The probe that it answers.
        id: ProbeId,
        /// What came.
        outcome: Outcome,
    },
    /// The server wrote a line. Tell every line, and those read after its end before
    /// [`Input::Exited`]: they are the evidence.
    Output(LogFact<'l>),
    /// The process has ended and was reaped.
    Exited {
        /// How.
        exit: Exit,
        /// The `oom_kill` count of its cgroup rose while it ran.
        oom_kill: bool,
    },
    /// End the server.
    Stop {
        /// How long it may take until it is killed; `None` = what the policy says. A later stop
        /// can shorten this, never lengthen it.
        grace: Option<Millis>,
        /// Kill it now.
        force: bool,
    },
    /// Nothing but time has passed.
    Tick,
}

/// A signal to send to the server's process group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGTERM: end in order.
    Term,
    /// SIGKILL.
    Kill,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Start the process at a fresh endpoint; answer by [`Input::Spawned`] or
    /// [`Input::SpawnFailed`].
    Spawn {
        /// Which start this is, from 1.
        attempt: u32,
    },
    /// Ask `/health`; answer by [`Input::Probe`]. There is never more than one at a time.
    Probe {
        /// To be given back with the answer.
        id: ProbeId,
        /// After this long the answer is [`Outcome::TimedOut`].
        timeout: Millis,
    },
    /// Send a signal.
    Signal(Signal),
    /// The process is gone: remove its socket and its pid file, kill what is left of its group.
    /// Once for each [`Input::Spawned`].
    Cleanup,
    /// Tell those who wait.
    Notify(Event),
}

/// What those who use a server want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The process runs.
    Spawned {
        /// The process.
        pid: u32,
        /// Which start this is, from 1.
        attempt: u32,
    },
    /// It answers, and loads the model. Once for each start at most.
    Loading,
    /// It serves requests.
    Ready {
        /// The time since it was spawned.
        load: Millis,
    },
    /// It is ready but did not answer several probes in a row.
    Degraded {
        /// How many.
        probes: u32,
    },
    /// It answers again.
    Recovered,
    /// It is being ended.
    Stopping(Cause),
    /// SIGKILL was sent a while ago and the process is still there. Once.
    Stuck {
        /// The process.
        pid: u32,
    },
    /// The process has ended.
    Exited {
        /// The process.
        pid: u32,
        /// How.
        exit: Exit,
        /// What that means.
        class: Class,
    },
    /// It will be started again.
    Retry {
        /// In how long.
        after: Millis,
        /// Which start that will be.
        attempt: u32,
        /// Why it is needed.
        cause: Cause,
    },
    /// It was stopped as asked, and is gone.
    Stopped {
        /// How it ended; `None` if it did not run.
        class: Option<Class>,
    },
    /// It is gone and will not be started again.
    Failed(Failure),
}

/// The first cause of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// [`Input::Stop`].
    Asked,
    /// While it loaded it wrote nothing for this long.
    Stalled(Millis),
    /// It was not ready within this time.
    LoadTimeout(Millis),
    /// It was ready and did not answer this many probes in a row.
    Unresponsive(u32),
    /// The process could not be started.
    Spawn(SpawnFault),
    /// The process ended by itself.
    Exit(Class),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Asked => f.write_str("it was asked to stop"),
            Cause::Stalled(Millis(ms)) => {
                write!(f, "it wrote nothing for {ms} ms while it loaded the model")
            }
            Cause::LoadTimeout(Millis(ms)) => write!(f, "it was not ready within {ms} ms"),
            Cause::Unresponsive(probes) => {
                write!(f, "it did not answer {probes} health checks in a row")
            }
            Cause::Spawn(fault) => fault.fmt(f),
            Cause::Exit(class) => class.fmt(f),
        }
    }
}

/// Why a server is not running and will not be started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Failure {
    /// The first cause.
    pub cause: Cause,
    /// How the process ended; `None` if it never ran.
    pub exit: Option<Exit>,
    /// It had been ready in its last start.
    pub was_ready: bool,
    /// How many starts there were.
    pub attempts: u32,
}

impl Failure {
    /// The class of the end, where the end itself is the cause.
    pub const fn class(&self) -> Option<Class> {
        match self.cause {
            Cause::Exit(class) => Some(class),
            _ => None,
        }
    }

    /// What to do about it.
    pub const fn advice(&self) -> &'static str {
        match self.cause {
            Cause::Exit(class) => class.advice(),
            Cause::Spawn(fault) => fault.advice(),
            Cause::Asked => "",
            Cause::Stalled(_) | Cause::LoadTimeout(_) => {
                "the model may be on a slow disk: allow it more time to load"
            }
            Cause::Unresponsive(_) => "see the server's last lines; it may hang in the gpu driver",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match (self.cause, self.was_ready) {
            (Cause::Spawn(_), _) => "could not be started",
            (_, true) => "is gone",
            (_, false) => "did not become ready",
        };
        write!(f, "the server {when}: {}", self.cause)?;
        match self.exit {
            Some(exit) => write!(f, " ({exit})"),
            None => Ok(()),
        }
    }
}

/// Where a server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Not started yet.
    Idle,
    /// The process is being started.
    Spawning,
    /// It runs and is not ready.
    Loading,
    /// It serves requests.
    Ready,
    /// It is being ended.
    Stopping(Cause),
    /// It will be started again.
    Backoff,
    /// It was stopped as asked. The end.
    Stopped,
    /// It is gone. The end.
    Failed(Failure),
}

impl State {
    /// Nothing happens after this.
    pub const fn is_final(self) -> bool {
        matches!(self, State::Stopped | State::Failed(_))
    }
}

//! How long a server may take, and how often it may fail.

use super::backoff::Schedule;
use crate::need::Millis;

/// Whether a server that was ready is started again when it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Restart {
    /// Never: its end is a failure.
    #[default]
    Never,
    /// When that can help: not after an end that would only repeat itself.
    OnFailure,
}

/// The times and numbers of a [`Supervisor`](super::Supervisor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// While it loads: without a line of output for this long, it hangs. 300 s.
    pub stall: Option<Millis>,
    /// Time to become ready, whatever it writes: no limit.
    pub load: Option<Millis>,
    /// A probe's own limit: 5 s.
    pub probe: Millis,
    /// Between two probes of a ready server: 5 s; `None` = it is not probed.
    pub ready_probe: Option<Millis>,
    /// Probes in a row without an answer that make it degraded, or unresponsive where it is
    /// restarted: 3.
    pub probes: u32,
    /// From SIGTERM to SIGKILL once it was ready: 10 s.
    pub grace_ready: Millis,
    /// From SIGTERM to SIGKILL while it loads: 2 s.
    pub grace_loading: Millis,
    /// SIGKILL is sent only by [`force`](super::Input::Stop): a GPU driver may hang when a
    /// process is killed at work.
    pub never_kill: bool,
    /// After SIGKILL, until [`Event::Stuck`](super::Event::Stuck): 5 s.
    pub stuck: Millis,
    /// Starts in all while the endpoint is taken by others: 3.
    pub bind_tries: u32,
    /// Further starts while the program's file is being written (ETXTBSY): 3.
    pub busy_tries: u32,
    /// The wait before one of these two: 25 ms.
    pub retry_delay: Millis,
    /// Whether it is started again.
    pub restart: Restart,
    /// The waits before that, and how many there may be.
    pub backoff: Schedule,
}

impl Policy {
    /// The defaults.
    pub const DEFAULT: Policy = Policy {
        stall: Some(Millis(300_000)),
        load: None,
        probe: Millis(5000),
        ready_probe: Some(Millis(5000)),
        probes: 3,
        grace_ready: Millis(10_000),
        grace_loading: Millis(2000),
        never_kill: false,
        stuck: Millis(5000),
        bind_tries: 3,
        busy_tries: 3,
        retry_delay: Millis(25),
        restart: Restart::Never,
        backoff: Schedule::DEFAULT,
    };

    /// A [`stall`](Policy::stall) for a server whose output is not read, by the model's size in
    /// bytes: 60 s and 10 s for each GiB begun.
    pub const fn unread_stall(model_bytes: u64) -> Millis {
        Millis(60_000u64.saturating_add(model_bytes.div_ceil(1 << 30).saturating_mul(10_000)))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::DEFAULT
    }
}

//! What the supervision and those who use the server both see.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocload_core::Millis;
use rocload_core::serve::exit::{Class, Exit};
use rocload_core::serve::{Cause, Failure, State};

use super::error::{Ended, Error};
use super::ready::Ready;
use crate::http::{self, CancelHandle, Endpoint};
use crate::process::{Excerpt, Log};

/// Lines of the log that an error tells.
const TOLD: usize = 3;

/// How a driver wakes those who wait.
pub(crate) trait Bell: Send + Sync {
    /// The status has changed.
    fn changed(&self);
    /// There is an order for the supervision.
    fn wake(&self);
}

/// What a server does now.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) state: State,
    /// Which start this is, from 1; 0 before the first.
    pub(crate) attempt: u32,
    pub(crate) pid: Option<u32>,
    /// Where it listens.
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) load: Option<Millis>,
    /// The process has ended and its last words are being read.
    pub(crate) ending: bool,
    /// It was killed and is still there.
    pub(crate) stuck: bool,
    pub(crate) stopping: bool,
    /// The last end, and the start that it belongs to.
    pub(crate) ended: Option<(u32, Arc<Ended>)>,
    /// How the process ended that was stopped as asked.
    pub(crate) class: Option<Class>,
    pub(crate) exit: Option<Exit>,
    /// The supervision is over.
    pub(crate) over: bool,
}

/// An order for the supervision.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Stop { grace: Option<Millis>, force: bool },
}

pub(crate) struct Shared<B> {
    status: Mutex<Status>,
    log: Mutex<Log>,
    orders: Mutex<Vec<Order>>,
    streams: Mutex<Streams>,
    pub(crate) bell: B,
}

#[derive(Debug, Default)]
struct Streams {
    next: u64,
    /// Name, start, and what ends it.
    open: Vec<(u64, u32, CancelHandle)>,
}

impl<B> std::fmt::Debug for Shared<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A thread that panicked has left a value that is still whole: each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Bell> Shared<B> {
    pub(crate) fn new(bell: B) -> Self {
        Shared {
            status: Mutex::new(Status {
                state: State::Idle,
                attempt: 0,
                pid: None,
                endpoint: None,
                load: None,
                ending: false,
                stuck: false,
                stopping: false,
                ended: None,
                class: None,
                exit: None,
                over: false,
            }),
            log: Mutex::default(),
            orders: Mutex::default(),
            streams: Mutex::default(),
            bell,
        }
    }

    pub(crate) fn status(&self) -> MutexGuard<'_, Status> {
        lock(&self.status)
    }

    /// Changes the status and tells those who wait.
    pub(super) fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status());
        self.bell.changed();
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }

    pub(crate) fn excerpt(&self) -> Excerpt {
        self.log().excerpt()
    }

    pub(super) fn orders(&self) -> Vec<Order> {
        std::mem::take(&mut *lock(&self.orders))
    }

    /// Asks the server to end, and ends its streams.
    pub(crate) fn stop(&self, grace: Option<Millis>, force: bool) {
        self.change(|status| status.stopping = true);
        lock(&self.orders).push(Order::Stop { grace, force });
        self.bell.wake();
        self.cancel_streams(u32::MAX);
    }

    /// Notes an exchange with this start of the server, to be ended with it.
    pub(crate) fn enter(self: &Arc<Self>, cancel: CancelHandle, attempt: u32) -> Visit<B> {
        let mut streams = lock(&self.streams);
        streams.next += 1;
        let id = streams.next;
        streams.open.push((id, attempt, cancel.clone()));
        drop(streams);
        // It may have come after the order that ends all of them.
        if self.status().stopping {
            cancel.cancel();
        }
        Visit { shared: self.clone(), id, attempt }
    }

    /// An exchange that did not come about.
    pub(crate) fn visit(self: &Arc<Self>, attempt: u32) -> Visit<B> {
        Visit { shared: self.clone(), id: 0, attempt }
    }

    /// Whether there are exchanges to be ended with this start of the server. Those of a server
    /// that was stopped were ended by that.
    pub(super) fn has_streams(&self, until: u32) -> bool {
        !self.status().stopping && lock(&self.streams).open.iter().any(|open| open.1 <= until)
    }

    /// Ends the exchanges with this start of the server and those before.
    pub(super) fn cancel_streams(&self, until: u32) {
        let streams = lock(&self.streams);
        streams.open.iter().filter(|open| open.1 <= until).for_each(|open| open.2.cancel());
    }

    /// The error that a failed exchange is, begun in the start `attempt`: `None` = wait for the
    /// supervision to see more; once nobody waits any more (`late`) it is the exchange's own.
    pub(crate) fn explain(&self, attempt: u32, late: bool) -> Option<Option<Error>> {
        let status = self.status();
        if let Some((of, ended)) = &status.ended
            && *of >= attempt
        {
            return Some(Some(match ended.failure.cause {
                Cause::Asked => Error::Stopped,
                _ => Error::Ended(ended.clone()),
            }));
        }
        if status.stopping || matches!(status.state, State::Stopped) {
            return Some(Some(Error::Stopped));
        }
        match (late, status.ending) {
            (_, true) => None,
            (false, false) => None,
            (true, false) => Some(None),
        }
    }

    /// What to tell one who waits until the server is ready: `None` = wait on.
    pub(crate) fn readiness(&self) -> Option<Result<Ready, Error>> {
        let status = self.status();
        if status.stopping {
            return Some(Err(Error::Stopped));
        }
        match (status.state, &status.endpoint) {
            (State::Ready, Some(endpoint)) => Some(Ok(Ready {
                endpoint: endpoint.clone(),
                pid: status.pid,
                load: status.load.map(|load| Duration::from_millis(load.0)),
                attempt: status.attempt,
            })),
            (State::Stopped | State::Stopping(Cause::Asked), _) => Some(Err(Error::Stopped)),
            (State::Failed(_), _) => Some(Err(match &status.ended {
                Some((_, ended)) => Error::Ended(ended.clone()),
                None => Error::Stopped,
            })),
            _ if status.over => Some(Err(Error::Stopped)),
            _ => None,
        }
    }

    /// What to tell one who waits until the process runs: `None` = wait on.
    pub(crate) fn begun(&self) -> Option<Result<(), Error>> {
        let state = self.status().state;
        match state {
            State::Idle | State::Spawning | State::Backoff => None,
            State::Failed(Failure { exit: None, .. }) => Some(self.readiness()?.map(|_| ())),
            _ => Some(Ok(())),
        }
    }

    /// What to tell one who waits until the server is gone: `None` = wait on.
    pub(crate) fn gone(&self) -> Option<Result<Option<Class>, Error>> {
        let status = self.status();
        if status.stuck
            && let Some(pid) = status.pid
        {
            return Some(Err(Error::Stuck { pid }));
        }
        if !status.over {
            return None;
        }
        match (status.state, &status.ended) {
            (State::Failed(_), Some((_, ended))) => Some(Err(Error::Ended(ended.clone()))),
            _ => Some(Ok(status.class)),
        }
    }

    /// The report of an end, with the lines that tell best why.
    pub(super) fn report(&self, failure: Failure, program: &std::path::Path) -> Arc<Ended> {
        let shown = |line: &Vec<u8>| crate::error::shortened(line.trim_ascii());
        let lines = self.log().telling(TOLD).iter().map(shown).collect();
        Arc::new(Ended { failure, lines, program: program.to_path_buf() })
    }
}

/// An exchange with a server; dropping it ends the note of it.
pub(crate) struct Visit<B: Bell> {
    shared: Arc<Shared<B>>,
    id: u64,
    attempt: u32,
}

impl<B: Bell> std::fmt::Debug for Visit<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Visit").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<B: Bell> Visit<B> {
    pub(crate) fn shared(&self) -> &Arc<Shared<B>> {
        &self.shared
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }
}

impl<B: Bell> Drop for Visit<B> {
    fn drop(&mut self) {
        lock(&self.shared.streams).open.retain(|(id, ..)| *id != self.id);
    }
}

/// Whether an error can come from the end of the server.
pub(crate) fn may_be_its_end(error: &http::Error) -> bool {
    use http::Error as E;
    matches!(error, E::Connect { .. } | E::Io(_) | E::Cancelled | E::Truncated(_))
}

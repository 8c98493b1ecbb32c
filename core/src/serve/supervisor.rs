//! One server's life as a timed machine.
//!
//! ```text
//!  Idle --Start--> Spawning --Spawned--> Loading --Probe Ok--> Ready
//!                    |  ^ \                 |                    |
//!         SpawnFailed|  |  \Stop            | stall, limit,      | Stop, no answers
//!                    v  |   \               v Stop               v
//!  Failed <------- Backoff   '-------> Stopping(cause) <---------'
//!     ^               |                     |
//!     |               +--Stop--> Stopped <--+ Exited
//!     '------- Exited, by policy -----------'
//! ```
//!
//! After each [`handle`](Supervisor::handle), call [`poll`](Supervisor::poll) until it has no
//! more, and tell [`Input::Tick`] at [`poll_timeout`](Supervisor::poll_timeout) at the latest.
//!
//! ```
//! use rocload_core::Millis;
//! use rocload_core::serve::exit::Exit;
//! use rocload_core::serve::{Action, Input, Policy, Signal, State, Supervisor};
//!
//! let mut server = Supervisor::new(Policy::default());
//! server.handle(Input::Start, Millis(0));
//! assert_eq!((server.state(), server.poll()), (State::Spawning, Some(Action::Spawn { attempt: 1 })));
//! server.handle(Input::Spawned { pid: 4711 }, Millis(3));
//! assert_eq!(server.state(), State::Loading);
//!
//! // Stopped while it loads: SIGTERM, and SIGKILL two seconds later, which a Tick brings about.
//! while server.poll().is_some() {}
//! server.handle(Input::Stop { grace: None, force: false }, Millis(10));
//! let signals = |server: &mut Supervisor| {
//!     let actions = std::iter::from_fn(|| server.poll());
//!     actions.filter(|action| matches!(action, Action::Signal(_))).collect::<Vec<_>>()
//! };
//! assert_eq!(signals(&mut server), [Action::Signal(Signal::Term)]);
//! assert_eq!(server.poll_timeout(), Some(Millis(2010)));
//! server.handle(Input::Tick, Millis(2010));
//! assert_eq!(signals(&mut server), [Action::Signal(Signal::Kill)]);
//! server.handle(Input::Exited { exit: Exit::Signal(9), oom_kill: false }, Millis(2050));
//! assert_eq!((server.state(), server.poll_timeout()), (State::Stopped, None));
//! ```

use super::backoff::Backoff;
use super::exit::{Class, Evidence, Exit, Orders, SpawnFault, classify};
use super::health::{Outcome, Pace};
use super::log::LogFact;
use super::message::{Action, Cause, Event, Failure, Input, ProbeId, Signal, State};
use super::policy::{Policy, Restart};
use super::queue::Queue;
use crate::need::Millis;

fn after(now: Millis, wait: Millis) -> Millis {
    Millis(now.0.saturating_add(wait.0))
}

/// What is known of a process that runs.
#[derive(Debug, Clone)]
struct Child {
    pid: u32,
    since: Millis,
    /// When it last wrote something or made progress.
    progress: Millis,
    ready_at: Option<Millis>,
    evidence: Evidence,
    orders: Orders,
    /// The probe under way.
    probe: Option<ProbeId>,
    next_probe: Option<Millis>,
    pace: Pace,
    /// It says that it is ready: the next probe is not to wait.
    eager: bool,
    answered: bool,
    /// Probes in a row without an answer.
    misses: u32,
    degraded: bool,
    kill_at: Option<Millis>,
    stuck_at: Option<Millis>,
}

/// What a server is told to do at its end, before it has a process.
#[derive(Debug, Clone, Copy)]
struct Stop {
    grace: Option<Millis>,
    force: bool,
}

/// The machine; see the [module's text](super).
#[derive(Debug, Clone)]
pub struct Supervisor {
    policy: Policy,
    state: State,
    /// The latest time told: a clock that goes back is not believed.
    now: Millis,
    actions: Queue,
    child: Option<Child>,
    /// The user wants it gone: never start it again.
    stop: Option<Stop>,
    attempt: u32,
    probes: u64,
    bind_failures: u32,
    busy_failures: u32,
    /// It was ready in an earlier start.
    proven: bool,
    until: Millis,
    backoff: Backoff,
}

impl Supervisor {
    /// A server that is not started.
    pub const fn new(policy: Policy) -> Self {
        Supervisor {
            backoff: Backoff::new(policy.backoff),
            policy,
            state: State::Idle,
            now: Millis(0),
            actions: Queue::new(),
            child: None,
            stop: None,
            attempt: 0,
            probes: 0,
            bind_failures: 0,
            busy_failures: 0,
            proven: false,
            until: Millis(0),
        }
    }

    /// Where it is in its life.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The policy.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The process, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.pid)
    }

    /// What its lines have told about an end so far.
    pub fn evidence(&self) -> Evidence {
        self.child.as_ref().map(|child| child.evidence).unwrap_or_default()
    }

    /// Tells what happened at the time `now`. What does not fit the state is ignored.
    pub fn handle(&mut self, input: Input<'_>, now: Millis) {
        self.now = self.now.max(now);
        match input {
            Input::Start if self.state == State::Idle => self.spawn(),
            Input::Start | Input::Tick => {}
            Input::Spawned { pid } => self.spawned(pid),
            Input::SpawnFailed(fault) => self.spawn_failed(fault),
            Input::Probe { id, outcome } => self.probed(id, outcome),
            Input::Output(fact) => self.output(&fact),
            Input::Exited { exit, oom_kill } => self.exited(exit, oom_kill),
            Input::Stop { grace, force } => self.stop(Stop { grace, force }),
        }
        while self.timer() {}
    }

    /// The next thing to be done.
    #[must_use = "an action that is taken must be done"]
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop()
    }

    /// When to tell [`Input::Tick`] at the latest; `None` = nothing happens by time alone.
    pub fn poll_timeout(&self) -> Option<Millis> {
        match (self.state, &self.child) {
            (State::Backoff, _) => Some(self.until),
            (State::Loading, Some(child)) => {
                let limits = [self.stall_at(child), self.load_at(child), child.next_probe];
                limits.into_iter().flatten().min()
            }
            (State::Ready, Some(child)) => child.next_probe,
            (State::Stopping(_), Some(child)) => child.kill_at.or(child.stuck_at),
            _ => None,
        }
    }

    fn notify(&mut self, event: Event) {
        self.actions.push(Action::Notify(event));
    }

    fn stall_at(&self, child: &Child) -> Option<Millis> {
        self.policy.stall.map(|limit| after(child.progress, limit))
    }

    fn load_at(&self, child: &Child) -> Option<Millis> {
        self.policy.load.map(|limit| after(child.since, limit))
    }

    /// An action of this kind was handed out, so that it can be answered.
    fn taken(&self, is: impl Fn(&Action) -> bool) -> bool {
        !self.actions.any(is)
    }

    fn spawn(&mut self) {
        self.attempt = self.attempt.saturating_add(1);
        self.state = State::Spawning;
        self.actions.push(Action::Spawn { attempt: self.attempt });
    }

    /// A spawn was handed out and not answered yet.
    fn is_spawning(&self) -> bool {
        let waiting = matches!(self.state, State::Spawning | State::Stopping(_));
        waiting
            && self.child.is_none()
            && self.taken(|action| matches!(action, Action::Spawn { .. }))
    }

    fn spawned(&mut self, pid: u32) {
        if !self.is_spawning() {
            return;
        }
        let now = self.now;
        let mut pace = Pace::new(now);
        self.child = Some(Child {
            pid,
            since: now,
            progress: now,
            ready_at: None,
            evidence: Evidence::default(),
            orders: Orders::default(),
            probe: None,
            next_probe: Some(after(now, pace.next(now))),
            pace,
            eager: false,
            answered: false,
            misses: 0,
            degraded: false,
            kill_at: None,
            stuck_at: None,
        });
        self.busy_failures = 0;
        self.notify(Event::Spawned { pid, attempt: self.attempt });
        match self.stop {
            None => self.state = State::Loading,
            Some(stop) => self.end(Cause::Asked, stop),
        }
    }

    fn spawn_failed(&mut self, fault: SpawnFault) {
        if !self.is_spawning() {
            return;
        }
        self.busy_failures = self.busy_failures.saturating_add(1);
        let cause = Cause::Spawn(fault);
        if self.stop.is_some() {
            self.stopped(None);
        } else if fault == SpawnFault::Busy && self.busy_failures <= self.policy.busy_tries {
            self.retry(cause, self.policy.retry_delay);
        } else if self.proven && fault == SpawnFault::Resources {
            self.retry_or_fail(cause, None, false);
        } else {
            self.fail(cause, None, false);
        }
    }

    fn probe(&mut self) {
        let Some(child) = &mut self.child else { return };
        let id = ProbeId(self.probes);
        self.probes += 1;
        (child.probe, child.next_probe) = (Some(id), None);
        self.actions.push(Action::Probe { id, timeout: self.policy.probe });
    }

    fn probed(&mut self, id: ProbeId, outcome: Outcome) {
        let asked = self
            .taken(|action| matches!(action, Action::Probe { id: queued, .. } if *queued == id));
        let (now, state) = (self.now, self.state);
        let Some(child) = self.child.as_mut().filter(|child| child.probe == Some(id) && asked)
        else {
            return;
        };
        child.probe = None;
        match state {
            State::Loading if outcome == Outcome::Ok => {
                child.ready_at = Some(now);
                child.next_probe = self.policy.ready_probe.map(|wait| after(now, wait));
                let load = Millis(now.0 - child.since.0);
                (self.state, self.proven, self.bind_failures) = (State::Ready, true, 0);
                self.notify(Event::Ready { load });
            }
            State::Loading => {
                let wait = if child.eager { Millis(0) } else { child.pace.next(now) };
                child.eager = false;
                child.next_probe = Some(after(now, wait));
                if outcome == Outcome::Loading && !child.answered {
                    child.answered = true;
                    child.progress = now;
                    self.notify(Event::Loading);
                }
            }
            State::Ready => self.checked(outcome),
            _ => {}
        }
    }

    /// A probe of a ready server was answered.
    fn checked(&mut self, outcome: Outcome) {
        let Some(child) = &mut self.child else { return };
        child.next_probe = self.policy.ready_probe.map(|wait| after(self.now, wait));
        if outcome.is_alive() {
            child.misses = 0;
            if core::mem::take(&mut child.degraded) {
                self.notify(Event::Recovered);
            }
            return;
        }
        child.misses = child.misses.saturating_add(1);
        let misses = child.misses;
        if misses < self.policy.probes || child.degraded {
            return;
        }
        if self.policy.restart == Restart::OnFailure {
            self.end(Cause::Unresponsive(misses), Stop { grace: None, force: false });
        } else {
            child.degraded = true;
            self.notify(Event::Degraded { probes: misses });
        }
    }

    fn output(&mut self, fact: &LogFact<'_>) {
        let (now, loading) = (self.now, self.state == State::Loading);
        let Some(child) = &mut self.child else { return };
        child.evidence.see(fact);
        if !loading {
            return;
        }
        child.progress = now;
        if matches!(fact, LogFact::Listening(_) | LogFact::ModelLoaded) {
            child.pace = Pace::new(now);
            child.eager = child.probe.is_some();
            if !child.eager {
                child.next_probe = Some(now);
            }
        }
    }

    fn stop(&mut self, stop: Stop) {
        if self.state.is_final() {
            return;
        }
        let queued = !self.taken(|action| matches!(action, Action::Spawn { .. }));
        let known = self.stop.get_or_insert(stop);
        known.force |= stop.force;
        known.grace = match (known.grace, stop.grace) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let wish = *known;
        match self.state {
            State::Idle | State::Backoff => self.stopped(None),
            State::Spawning if queued => {
                self.actions.retain(|action| !matches!(action, Action::Spawn { .. }));
                self.stopped(None);
            }
            State::Spawning => {
                self.state = State::Stopping(Cause::Asked);
                self.notify(Event::Stopping(Cause::Asked));
            }
            State::Loading | State::Ready => self.end(Cause::Asked, wish),
            State::Stopping(_) => self.hasten(stop),
            State::Stopped | State::Failed(_) => {}
        }
    }

    /// Begins to end the process.
    fn end(&mut self, cause: Cause, stop: Stop) {
        let Some(child) = &mut self.child else { return };
        // Whatever was to be asked is not asked any more.
        (child.probe, child.next_probe) = (None, None);
        self.actions.retain(|action| !matches!(action, Action::Probe { .. }));
        let grace = match stop.grace {
            Some(grace) => grace,
            None if child.ready_at.is_some() => self.policy.grace_ready,
            None => self.policy.grace_loading,
        };
        if !stop.force {
            child.orders.term = true;
            child.kill_at = (!self.policy.never_kill).then(|| after(self.now, grace));
        }
        if self.state != State::Stopping(cause) {
            self.state = State::Stopping(cause);
            self.notify(Event::Stopping(cause));
        }
        if stop.force {
            self.kill();
        } else {
            self.actions.push(Action::Signal(Signal::Term));
        }
    }

    /// A further wish for an end that was begun.
    fn hasten(&mut self, stop: Stop) {
        let now = self.now;
        let Some(child) = &mut self.child else { return };
        if stop.force {
            self.kill();
        } else if let (Some(at), Some(grace)) = (child.kill_at, stop.grace) {
            child.kill_at = Some(at.min(after(now, grace)));
        }
    }

    fn kill(&mut self) {
        let Some(child) = &mut self.child else { return };
        child.kill_at = None;
        if !core::mem::replace(&mut child.orders.kill, true) {
            child.stuck_at = Some(after(self.now, self.policy.stuck));
            self.actions.push(Action::Signal(Signal::Kill));
        }
    }

    fn exited(&mut self, exit: Exit, oom_kill: bool) {
        let Some(child) = self.child.take() else { return };
        // Nothing can be asked of it or sent to it any more.
        self.actions.retain(|action| matches!(action, Action::Notify(_) | Action::Cleanup));
        let mut evidence = child.evidence;
        evidence.oom_kill |= oom_kill;
        let class = classify(exit, &evidence, child.orders);
        self.notify(Event::Exited { pid: child.pid, exit, class });
        self.actions.push(Action::Cleanup);
        let was_ready = child.ready_at.is_some();
        if let Some(ready_at) = child.ready_at
            && self.now.0 - ready_at.0 >= self.policy.backoff.reset.0
        {
            self.backoff.reset();
        }
        match self.state {
            State::Stopping(Cause::Asked) => self.stopped(Some(class)),
            State::Stopping(cause @ Cause::Unresponsive(_)) => {
                self.retry_or_fail(cause, Some(exit), was_ready);
            }
            State::Stopping(cause) => self.fail(cause, Some(exit), was_ready),
            State::Loading if class == Class::BindConflict => {
                self.bind_failures = self.bind_failures.saturating_add(1);
                if self.bind_failures < self.policy.bind_tries {
                    self.retry(Cause::Exit(class), self.policy.retry_delay);
                } else {
                    self.fail(Cause::Exit(class), Some(exit), was_ready);
                }
            }
            _ if class.is_permanent() || !self.proven => {
                self.fail(Cause::Exit(class), Some(exit), was_ready);
            }
            _ => self.retry_or_fail(Cause::Exit(class), Some(exit), was_ready),
        }
    }

    /// Starts a server again that was ready once, if the policy and the number of retries allow it.
    fn retry_or_fail(&mut self, cause: Cause, exit: Option<Exit>, was_ready: bool) {
        let wanted = self.policy.restart == Restart::OnFailure && self.stop.is_none();
        match wanted.then(|| self.backoff.next(self.now)).flatten() {
            Some(wait) => self.retry(cause, wait),
            None => self.fail(cause, exit, was_ready),
        }
    }

    fn retry(&mut self, cause: Cause, wait: Millis) {
        self.state = State::Backoff;
        self.until = after(self.now, wait);
        let attempt = self.attempt.saturating_add(1);
        self.notify(Event::Retry { after: wait, attempt, cause });
    }

    fn stopped(&mut self, class: Option<Class>) {
        self.state = State::Stopped;
        self.notify(Event::Stopped { class });
    }

    fn fail(&mut self, cause: Cause, exit: Option<Exit>, was_ready: bool) {
        let failure = Failure { cause, exit, was_ready, attempts: self.attempt };
        self.state = State::Failed(failure);
        self.notify(Event::Failed(failure));
    }

    /// Does one thing that is due; false = nothing is.
    fn timer(&mut self) -> bool {
        let now = self.now;
        let due = |at: Option<Millis>| at.is_some_and(|at| now >= at);
        let gently = Stop { grace: None, force: false };
        match (self.state, &mut self.child) {
            (State::Backoff, _) if now >= self.until => self.spawn(),
            (State::Loading, Some(child)) => {
                let next_probe = child.next_probe;
                let child = &*child;
                if let Some(limit) =
                    self.policy.load.filter(|limit| now >= after(child.since, *limit))
                {
                    self.end(Cause::LoadTimeout(limit), gently);
                } else if let Some(limit) =
                    self.policy.stall.filter(|limit| now >= after(child.progress, *limit))
                {
                    self.end(Cause::Stalled(limit), gently);
                } else if due(next_probe) {
                    self.probe();
                } else {
                    return false;
                }
            }
            (State::Ready, Some(child)) if due(child.next_probe) => self.probe(),
            (State::Stopping(_), Some(child)) if due(child.kill_at) => self.kill(),
            (State::Stopping(_), Some(child)) if due(child.stuck_at) => {
                child.stuck_at = None;
                let pid = child.pid;
                self.notify(Event::Stuck { pid });
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests;

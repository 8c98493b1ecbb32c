//! Watches inputs and actions for the properties, and knows nothing of how the machine works.

use rocload_core::serve::backoff::MAX_RETRIES;
use rocload_core::serve::exit::Exit;
use rocload_core::serve::{
    Action, Cause, Event, Input, Outcome, Policy, ProbeId, Signal, State, Supervisor,
};

use crate::{Verdict, require};

/// A process, as the inputs and actions tell of it.
#[derive(Debug, Clone, Copy)]
struct Live {
    pid: u32,
    probe: Option<ProbeId>,
    told: bool,
    loading: bool,
    ready: bool,
    term: bool,
    killed: bool,
    /// From when on it may be killed.
    kill_at: Option<u64>,
}

/// What the last input was, as far as it allows an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    Other,
    Spawned,
    Failed(Cause),
    ReadyAnswer,
    /// The process ended; what was told of it: its end, and the clean-up.
    Exited {
        told: bool,
        cleaned: bool,
    },
}

/// See the [module's text](self).
#[derive(Debug, Clone, Copy)]
pub struct Checker {
    policy: Policy,
    now: u64,
    input: Now,
    spawning: bool,
    live: Option<Live>,
    was_ready: bool,
    /// The first cause of the end of this process.
    cause: Option<Cause>,
    attempts: u32,
    next_probe: u64,
    stop: bool,
    grace: Option<u64>,
    force: bool,
    final_state: Option<State>,
    binds: u32,
    busy: u32,
    restarts: [u64; MAX_RETRIES],
    restart_count: usize,
}

impl Checker {
    /// Before anything happened.
    pub const fn new(policy: Policy) -> Checker {
        Checker {
            policy,
            now: 0,
            input: Now::Other,
            spawning: false,
            live: None,
            was_ready: false,
            cause: None,
            attempts: 0,
            next_probe: 0,
            stop: false,
            grace: None,
            force: false,
            final_state: None,
            binds: 0,
            busy: 0,
            restarts: [0; MAX_RETRIES],
            restart_count: 0,
        }
    }

    /// An input is told.
    pub fn input(&mut self, input: &Input<'_>, now: u64) {
        self.now = self.now.max(now);
        self.input = Now::Other;
        match *input {
            Input::Spawned { pid } if self.spawning => {
                self.spawning = false;
                self.input = Now::Spawned;
                self.busy = 0;
                self.live = Some(Live {
                    pid,
                    probe: None,
                    told: false,
                    loading: false,
                    ready: false,
                    term: false,
                    killed: false,
                    kill_at: None,
                });
            }
            Input::SpawnFailed(fault) if self.spawning => {
                self.spawning = false;
                self.was_ready = false;
                self.input = Now::Failed(Cause::Spawn(fault));
            }
            Input::Probe { id, outcome } => {
                if let Some(live) = self.live.as_mut().filter(|live| live.probe == Some(id)) {
                    live.probe = None;
                    if outcome == Outcome::Ok {
                        self.input = Now::ReadyAnswer;
                    }
                }
            }
            Input::Exited { .. } => {
                if let Some(live) = self.live.take() {
                    self.was_ready = live.ready;
                    self.input = Now::Exited { told: false, cleaned: false };
                }
            }
            Input::Stop { grace, force } if self.final_state.is_none() => {
                self.stop = true;
                self.force |= force;
                let grace = grace.map(|grace| grace.0);
                self.grace = [self.grace, grace].into_iter().flatten().min();
                let until = grace.map(|grace| self.now.saturating_add(grace));
                if let Some(live) = &mut self.live
                    && let (Some(at), Some(until)) = (live.kill_at, until)
                {
                    live.kill_at = Some(at.min(until));
                }
            }
            _ => {}
        }
    }

    /// An action comes out.
    ///
    /// # Errors
    /// The property that it breaks.
    pub fn action(&mut self, action: &Action) -> Verdict {
        match *action {
            Action::Spawn { attempt } => {
                require(
                    !self.spawning && self.live.is_none(),
                    "P1: at most one live child",
                    || self.all(),
                )?;
                require(!self.stop, "P8: no spawn after a stop", || self.all())?;
                require(attempt == self.attempts + 1, "attempts are counted", || self.all())?;
                (self.spawning, self.attempts, self.cause) = (true, attempt, None);
            }
            Action::Probe { id, .. } => {
                let one = self.live.is_some_and(|live| live.probe.is_none());
                require(one, "P6: at most one probe in flight", || self.all())?;
                require(id.0 >= self.next_probe, "P5: each probe has an id of its own", || {
                    self.all()
                })?;
                self.next_probe = id.0 + 1;
                if let Some(live) = &mut self.live {
                    live.probe = Some(id);
                }
            }
            Action::Signal(signal) => self.signal(signal)?,
            Action::Cleanup => {
                let due = self.input == Now::Exited { told: true, cleaned: false };
                require(due, "P2: one clean-up after each end", || self.all())?;
                self.input = Now::Exited { told: true, cleaned: true };
            }
            Action::Notify(event) => self.event(event)?,
            _ => {}
        }
        Ok(())
    }

    fn signal(&mut self, signal: Signal) -> Verdict {
        let (now, force, before) = (self.now, self.force, *self);
        let all = || before.all();
        let policy = self.policy;
        let wish = self.grace.filter(|_| self.cause == Some(Cause::Asked));
        let Some(live) = &mut self.live else {
            return require(false, "P3: no signal without a child", all);
        };
        match signal {
            Signal::Term => {
                require(!live.term && !live.killed, "SIGTERM is sent once", all)?;
                live.term = true;
                live.probe = None;
                let grace = if live.ready { policy.grace_ready } else { policy.grace_loading };
                live.kill_at = Some(now.saturating_add(wish.unwrap_or(grace.0)));
            }
            Signal::Kill => {
                let waited =
                    live.term && !policy.never_kill && live.kill_at.is_some_and(|at| now >= at);
                require(
                    force || waited,
                    "P4: SIGKILL only after SIGTERM and the grace, or by force",
                    all,
                )?;
                require(!live.killed, "SIGKILL is sent once", all)?;
                live.killed = true;
                live.probe = None;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> Verdict {
        let before = *self;
        let all = || before.all();
        match event {
            Event::Spawned { pid, .. } => {
                let it = self.input == Now::Spawned
                    && self.live.is_some_and(|live| live.pid == pid && !live.told);
                require(it, "P15: a child is told of when it is spawned", all)?;
                self.live.as_mut().unwrap_or_else(|| unreachable!()).told = true;
            }
            Event::Loading => {
                let live =
                    self.live.as_mut().filter(|live| live.told && !live.ready && !live.loading);
                let Some(live) = live else {
                    return require(
                        false,
                        "P15: loading comes once, between spawned and ready",
                        all,
                    );
                };
                live.loading = true;
            }
            Event::Ready { .. } => {
                require(
                    self.input == Now::ReadyAnswer,
                    "P5: ready needs a good answer of this attempt",
                    all,
                )?;
                let live = self.live.as_mut().filter(|live| live.told && !live.ready && !live.term);
                let Some(live) = live else {
                    return require(false, "P15: ready comes once, after spawned", all);
                };
                live.ready = true;
                self.binds = 0;
            }
            Event::Stopping(cause) => {
                require(self.cause.is_none(), "P14: there is one first cause", all)?;
                self.cause = Some(cause);
            }
            Event::Exited { exit, class, .. } => {
                let first = self.input == Now::Exited { told: false, cleaned: false };
                require(first, "P15: an end is told of once, when it comes", all)?;
                self.input = Now::Exited { told: true, cleaned: false };
                self.cause.get_or_insert(Cause::Exit(class));
                let silent = exit == Exit::Code(0) && self.cause == Some(Cause::Exit(class));
                let success = class == rocload_core::serve::exit::Class::StoppedClean;
                require(!(silent && success), "P9: status 0 without a stop is no success", || {
                    self.all()
                })?;
            }
            Event::Retry { cause, .. } => self.retry(cause)?,
            Event::Stopped { .. } => {
                require(self.stop, "stopped only where that was asked", all)?;
                let first = self.cause.is_none_or(|cause| cause == Cause::Asked);
                require(first, "P14: the reason is the first cause", all)?;
            }
            Event::Failed(failure) => {
                let cause = match self.input {
                    Now::Failed(cause) => Some(cause),
                    _ => self.cause,
                };
                require(Some(failure.cause) == cause, "P14: the reason is the first cause", all)?;
                require(
                    failure.was_ready == self.was_ready,
                    "a failure knows whether it was ready",
                    all,
                )?;
            }
            Event::Degraded { .. } | Event::Recovered | Event::Stuck { .. } => {
                require(self.live.is_some(), "P15: nothing is told of a child that is not", all)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn retry(&mut self, cause: Cause) -> Verdict {
        use rocload_core::serve::exit::{Class, SpawnFault};
        require(!self.stop, "P8: no retry after a stop", || self.all())?;
        let known = match self.input {
            Now::Failed(cause) => Some(cause),
            _ => self.cause,
        };
        require(known == Some(cause), "P14: the reason is the first cause", || self.all())?;
        let within = match cause {
            Cause::Exit(Class::BindConflict) if !self.was_ready => {
                self.binds += 1;
                self.binds < self.policy.bind_tries
            }
            Cause::Spawn(SpawnFault::Busy) => {
                self.busy += 1;
                self.busy <= self.policy.busy_tries
            }
            _ => {
                let window = self.policy.backoff.window.0;
                let now = self.now;
                let recent = |at: &&u64| now - **at < window;
                let limit = self.policy.backoff.retries as usize;
                let kept = self.restarts[..self.restart_count].iter().filter(recent).count();
                if kept < limit {
                    self.restarts.copy_within(self.restart_count - kept..self.restart_count, 0);
                    self.restarts[kept] = now;
                    self.restart_count = kept + 1;
                }
                kept < limit
            }
        };
        self.cause = None;
        require(within, "P10: no more retries than the limit", || self.all())
    }

    /// All actions of an input are out.
    ///
    /// # Errors
    /// The property that does not hold.
    pub fn settled(&mut self, machine: &Supervisor) -> Verdict {
        let state = machine.state();
        let (due, all) = (machine.poll_timeout(), || format!("{state:?}, {self:?}"));
        if let Now::Exited { cleaned, .. } = self.input {
            require(cleaned, "P2: one clean-up after each end", all)?;
            let next = state.is_final() || matches!(state, State::Backoff | State::Spawning);
            require(next, "P9: an end is final, or waits to start again", all)?;
        }
        if let Some(before) = self.final_state {
            require(before == state, "what is final stays", all)?;
        }
        if state.is_final() {
            self.final_state = Some(state);
        }
        let all = || format!("{state:?}, due {due:?}, {self:?}");
        match due {
            Some(due) => require(due.0 > self.now, "P7: nothing is due in the past", all)?,
            None => {
                let quiet = match state {
                    State::Idle | State::Spawning | State::Stopped | State::Failed(_) => true,
                    State::Ready => {
                        self.policy.ready_probe.is_none()
                            || self.live.is_some_and(|live| live.probe.is_some())
                    }
                    State::Loading => {
                        let limits = self.policy.stall.is_some() || self.policy.load.is_some();
                        !limits && self.live.is_some_and(|live| live.probe.is_some())
                    }
                    State::Stopping(_) => {
                        self.live.is_none_or(|live| live.killed) || self.policy.never_kill
                    }
                    _ => false,
                };
                require(quiet, "P7: something is due unless nothing can be", all)?;
            }
        }
        let lives = matches!(state, State::Loading | State::Ready | State::Stopping(_));
        require(self.live.is_none() || lives, "P1: a child is known", all)?;
        if self.stop {
            let ending = state.is_final() || matches!(state, State::Stopping(_));
            require(ending, "P8: a stop leads to the end", all)?;
            let over = self.live.is_some() || self.spawning || state.is_final();
            require(over, "P8: without a child a stop is the end", all)?;
        }
        Ok(())
    }

    fn all(&self) -> String {
        format!("{self:?}")
    }
}

#[cfg(test)]
mod tests {
    use rocload_core::Millis;

    use super::*;

    fn live() -> Checker {
        let mut checker = Checker::new(Policy::default());
        checker.input(&Input::Start, 0);
        checker.action(&Action::Spawn { attempt: 1 }).unwrap();
        checker.input(&Input::Spawned { pid: 1 }, 0);
        checker.action(&Action::Notify(Event::Spawned { pid: 1, attempt: 1 })).unwrap();
        checker
    }

    fn law(verdict: Verdict) -> String {
        verdict.unwrap_err().law.split(':').next().unwrap_or_default().to_owned()
    }

    const EXITED: Input<'static> = Input::Exited { exit: Exit::Code(0), oom_kill: false };

    #[test]
    fn a_machine_that_misbehaves_is_found_out() {
        let kill = Action::Signal(Signal::Kill);
        let probe = |id| Action::Probe { id: ProbeId(id), timeout: Millis(5) };
        let ready = Action::Notify(Event::Ready { load: Millis(5) });
        assert_eq!(law(live().action(&Action::Spawn { attempt: 2 })), "P1");
        assert_eq!(law(live().action(&Action::Cleanup)), "P2");
        assert_eq!(law(live().action(&kill)), "P4");
        assert_eq!(law(live().action(&ready)), "P5");
        let mut checker = live();
        checker.action(&probe(0)).unwrap();
        assert_eq!(law(checker.action(&probe(1))), "P6");
        checker.input(&Input::Probe { id: ProbeId(0), outcome: Outcome::Refused }, 5);
        assert_eq!(law(checker.action(&probe(0))), "P5");
        checker.input(&EXITED, 9);
        assert_eq!(law(checker.action(&Action::Signal(Signal::Term))), "P3");
        assert_eq!(law(checker.settled(&Supervisor::new(Policy::default()))), "P2");
        let mut checker = live();
        checker.action(&Action::Signal(Signal::Term)).unwrap();
        checker.input(&Input::Tick, 1999);
        assert_eq!(law(checker.action(&kill)), "P4");
        checker.input(&Input::Tick, 2000);
        checker.action(&kill).unwrap();
        let mut checker = Checker::new(Policy::default());
        checker.input(&Input::Stop { grace: None, force: false }, 0);
        assert_eq!(law(checker.action(&Action::Spawn { attempt: 1 })), "P8");
        assert_eq!(law(checker.settled(&Supervisor::new(Policy::default()))), "P8");
        let again = Action::Notify(Event::Spawned { pid: 1, attempt: 1 });
        assert_eq!(law(live().action(&again)), "P15");
        let mut checker = live();
        checker.action(&Action::Notify(Event::Stopping(Cause::Stalled(Millis(1))))).unwrap();
        assert_eq!(law(checker.action(&Action::Notify(Event::Stopping(Cause::Asked)))), "P14");
    }

    #[test]
    fn retries_beyond_the_limit_are_found_out() {
        let mut checker = live();
        for _ in 0..5 {
            checker.cause = Some(Cause::Unresponsive(3));
            checker.retry(Cause::Unresponsive(3)).unwrap();
        }
        checker.cause = Some(Cause::Unresponsive(3));
        assert_eq!(law(checker.retry(Cause::Unresponsive(3))), "P10");
    }
}

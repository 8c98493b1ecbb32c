//! Laws of serving: what a supervisor does, whatever happens, by the properties P1 to P16.
//!
//! A script is a list of [`Letter`]s, the things that can happen. A [`World`] tells them to a
//! supervisor as a driver would, and a [`Checker`] that knows only inputs and
//! actions watches for P1 to P10, P14 and P15 at each step. The other properties compare whole
//! runs.
//!
//! ```
//! use laws::serve::{Letter, holds, walk};
//! use rocload_core::serve::{Outcome, Policy};
//!
//! let script = [Letter::Start, Letter::Spawned, Letter::Elapse(30), Letter::Answer(Outcome::Ok), Letter::STOP];
//! holds(Policy::default(), &script)?;
//! assert_eq!(walk::every(Policy::default(), &[Letter::Start, Letter::Spawned, Letter::STOP], 4)?, 3 + 9 + 27 + 81);
//! # Ok::<(), laws::Broken>(())
//! ```

use rocload_core::Millis;
use rocload_core::serve::exit::{Exit, SpawnFault};
use rocload_core::serve::log::{LogFact, fact};
use rocload_core::serve::{Action, Input, Outcome, Policy, ProbeId, State, Supervisor};

use crate::random::Random;
use crate::{Verdict, require, same};

pub mod bytes;
pub mod check;
pub mod lines;
#[cfg(feature = "alloc")]
pub mod start;
pub mod walk;

use check::Checker;

/// A line that the server may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Nothing in particular.
    Noise,
    /// That it listens.
    Listening,
    /// That its address is taken.
    Bind,
    /// That the model is broken.
    Broken,
}

impl Line {
    fn fact(self) -> LogFact<'static> {
        fact(match self {
            Line::Noise => b"0.00.034.860 I srv    load_model: loading model 'm.gguf'",
            Line::Listening => b"0.07.325.487 I srv  llama_server: listening on unix:///s.sock",
            Line::Bind => b"0.00.002.770 E srv         start: couldn't bind HTTP server socket, hostname: s.sock, port: 8080",
            Line::Broken => b"0.00.179.530 E cmn  common_init_: failed to load model 'm.gguf'",
        })
    }
}

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letter {
    /// The user starts the server.
    Start,
    /// The process runs.
    Spawned,
    /// It could not be started.
    SpawnFailed(SpawnFault),
    /// The last probe is answered.
    Answer(Outcome),
    /// The probe before the last one is answered.
    LateAnswer(Outcome),
    /// The server writes a line.
    Line(Line),
    /// The process ends; the flag is the `oom_kill` count.
    Exited(Exit, bool),
    /// The user stops it, with a grace in milliseconds.
    Stop(Option<u64>),
    /// The user wants it gone now.
    Force,
    /// Time passes until the machine wants to be told, or for a second.
    Due,
    /// Milliseconds pass, and the machine is told in time of what is due.
    Elapse(u64),
    /// Milliseconds pass at once.
    Jump(u64),
    /// The clock goes back.
    Back(u64),
}

impl Letter {
    /// A stop with the policy's grace.
    pub const STOP: Letter = Letter::Stop(None);
}

/// A supervisor and the world around it.
#[derive(Debug, Clone)]
pub struct World {
    machine: Supervisor,
    checker: Checker,
    clock: u64,
    last: ProbeId,
    older: ProbeId,
    pid: u32,
    /// Ticks at moments of no importance.
    restless: Option<Random>,
}

impl World {
    /// Before anything happened.
    pub fn new(policy: Policy) -> World {
        let none = ProbeId(u64::MAX);
        World {
            machine: Supervisor::new(policy),
            checker: Checker::new(policy),
            clock: 1000,
            last: none,
            older: none,
            pid: 1,
            restless: None,
        }
    }

    /// The machine's state.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// Lets a letter happen, and shows each action with its time.
    ///
    /// # Errors
    /// A property that does not hold.
    pub fn step(&mut self, letter: Letter, see: &mut impl FnMut(u64, &Action)) -> Verdict {
        let input = match letter {
            Letter::Start => Input::Start,
            Letter::Spawned => {
                self.pid += 1;
                Input::Spawned { pid: self.pid }
            }
            Letter::SpawnFailed(fault) => Input::SpawnFailed(fault),
            Letter::Answer(outcome) => Input::Probe { id: self.last, outcome },
            Letter::LateAnswer(outcome) => Input::Probe { id: self.older, outcome },
            Letter::Line(line) => Input::Output(line.fact()),
            Letter::Exited(exit, oom_kill) => Input::Exited { exit, oom_kill },
            Letter::Stop(grace) => Input::Stop { grace: grace.map(Millis), force: false },
            Letter::Force => Input::Stop { grace: None, force: true },
            Letter::Due => {
                let due = self.machine.poll_timeout();
                self.clock =
                    due.map_or(self.clock.saturating_add(1000), |due| self.clock.max(due.0));
                Input::Tick
            }
            Letter::Elapse(ms) => return self.elapse(ms, see),
            Letter::Jump(ms) => {
                self.clock = self.clock.saturating_add(ms);
                Input::Tick
            }
            Letter::Back(ms) => {
                self.clock = self.clock.saturating_sub(ms);
                Input::Tick
            }
        };
        self.tell(input, see)
    }

    /// Time passes, with a tick at each moment that the machine asks for, and at others if the
    /// world is restless.
    fn elapse(&mut self, ms: u64, see: &mut impl FnMut(u64, &Action)) -> Verdict {
        let end = self.clock.saturating_add(ms);
        while let Some(Millis(due)) = self.machine.poll_timeout().filter(|due| due.0 <= end) {
            self.idle(due, see)?;
            self.clock = self.clock.max(due);
            self.tell(Input::Tick, see)?;
        }
        self.idle(end, see)?;
        self.clock = end;
        Ok(())
    }

    fn idle(&mut self, until: u64, see: &mut impl FnMut(u64, &Action)) -> Verdict {
        let Some(mut random) = self.restless.take() else { return Ok(()) };
        for _ in 0..random.below(3) {
            self.clock += random.below(until.saturating_sub(self.clock).saturating_add(1));
            self.tell(Input::Tick, see)?;
        }
        self.restless = Some(random);
        Ok(())
    }

    fn tell(&mut self, input: Input<'_>, see: &mut impl FnMut(u64, &Action)) -> Verdict {
        self.checker.input(&input, self.clock);
        self.machine.handle(input, Millis(self.clock));
        while let Some(action) = self.machine.poll() {
            if let Action::Probe { id, .. } = action {
                (self.older, self.last) = (self.last, id);
            }
            see(self.clock, &action);
            self.checker.action(&action)?;
        }
        self.checker.settled(&self.machine)
    }
}

/// P1 to P10, P14 and P15 of one script, and that it can be ended afterwards.
///
/// # Errors
/// The property that does not hold.
pub fn holds(policy: Policy, script: &[Letter]) -> Verdict {
    let mut world = World::new(policy);
    for letter in script {
        world.step(*letter, &mut |_, _| {})?;
    }
    ends(world)
}

/// P8: a stop from any state ends in one that is final, once the process is gone.
fn ends(mut world: World) -> Verdict {
    let exited = Letter::Exited(Exit::Signal(15), false);
    for letter in [Letter::STOP, Letter::Spawned, exited] {
        world.step(letter, &mut |_, _| {})?;
    }
    require(world.state().is_final(), "P8: a stop ends in a final state", || {
        format!("{:?}", world.state())
    })
}

/// The actions of a script with their times.
fn actions(
    policy: Policy,
    script: &[Letter],
    restless: Option<u64>,
) -> Result<Vec<(u64, Action)>, crate::Broken> {
    let mut world = World::new(policy);
    world.restless = restless.map(Random::new);
    let mut actions = Vec::new();
    for letter in script {
        world.step(*letter, &mut |at, action| actions.push((at, *action)))?;
    }
    Ok(actions)
}

/// P12: the same script gives the same actions.
///
/// # Errors
/// [`Broken`](crate::Broken) where it does not.
pub fn deterministic(policy: Policy, script: &[Letter]) -> Verdict {
    let (one, other) = (actions(policy, script, None)?, actions(policy, script, None)?);
    same("P12: the same script gives the same actions", &one, &other)
}

/// P13: to stop twice is to stop once.
///
/// # Errors
/// [`Broken`](crate::Broken) where it is not.
pub fn stop_is_idempotent(policy: Policy, script: &[Letter]) -> Verdict {
    let twice = |letter: &Letter| match letter {
        Letter::Stop(_) | Letter::Force => [*letter; 2].into_iter().take(2),
        _ => [*letter; 2].into_iter().take(1),
    };
    let doubled: Vec<Letter> = script.iter().flat_map(twice).collect();
    let (one, other) = (actions(policy, script, None)?, actions(policy, &doubled, None)?);
    same("P13: to stop twice is to stop once", &one, &other)
}

/// P1 to P10, P14 and P15 of a script, and one of P12, P13 and P16, which `seed` chooses: for fuzz
/// targets.
///
/// # Errors
/// The property that does not hold.
pub fn sample(policy: Policy, script: &[Letter], seed: u64) -> Verdict {
    match seed % 4 {
        0 => deterministic(policy, script)?,
        1 => stop_is_idempotent(policy, script)?,
        _ => {
            let late = |letter: &Letter| matches!(letter, Letter::Jump(_) | Letter::Back(_));
            let on_time: Vec<Letter> =
                script.iter().copied().filter(|letter| !late(letter)).collect();
            ticks_change_nothing(policy, &on_time, seed)?;
        }
    }
    holds(policy, script)
}

/// P16: a driver that is on time may tick at any other moments too. `script` must not
/// [`Jump`](Letter::Jump).
///
/// # Errors
/// [`Broken`](crate::Broken) where it makes a difference.
pub fn ticks_change_nothing(policy: Policy, script: &[Letter], seed: u64) -> Verdict {
    let (one, other) = (actions(policy, script, None)?, actions(policy, script, Some(seed))?);
    same("P16: ticks at other moments change nothing", &one, &other)
}

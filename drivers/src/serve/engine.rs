//! The supervision of a server without a way to wait: what both drivers run.
//!
//! It does what the core's [`Supervisor`] says and tells it what happened. A driver waits for the
//! [descriptors](Engine::watched) and the [time](Engine::wait) that it names, says which are ready,
//! and lets it take a [turn](Engine::turn), which never waits.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rocload_core::Millis;
use rocload_core::http::Request;
use rocload_core::serve::exit::{Exit, SpawnFault};
use rocload_core::serve::log::{self, LogFact};
use rocload_core::serve::{
    Action, Cause, Event, Failure, Input, Outcome, ProbeId, Signal, State, Supervisor,
};

use super::launch::{Launch, Place};
use super::probe::Probe;
use super::shared::{Bell, Order, Shared};
use crate::http::Endpoint;
use crate::process::{self, Child, Lines, OomCount, Owner, Record, Socket};

/// What is read of a pipe at once, in bytes.
const READ: usize = 64 << 10;
/// How often in a turn, so that a flood of output does not hide an end.
const READS: usize = 8;
/// How long a pipe is read after the process's end: what it has started may hold it open.
const DRAIN: u64 = 1000;
/// How long streams may take to see the end of the server by themselves.
const GRACE: u64 = 500;

/// A descriptor to wait for.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    /// Names it, once and for all.
    pub(crate) key: usize,
    pub(crate) fd: Arc<OwnedFd>,
    /// Room to write is waited for too.
    pub(crate) write: bool,
}

pub(crate) struct Engine<B: Bell> {
    machine: Supervisor,
    launch: Launch,
    shared: Arc<Shared<B>>,
    begun: Instant,
    running: Option<Running>,
    /// What the last process has left in the file system.
    remains: Option<Remains>,
    probe: Option<(usize, Probe)>,
    /// When streams that go on after the server's end are ended.
    cancel_at: Option<Millis>,
    /// The start that ended last.
    last_attempt: u32,
    next_key: usize,
    /// Why it is being ended.
    ending: Option<Cause>,
    was_ready: bool,
    buffer: Box<[u8]>,
}

struct Running {
    child: Child,
    key: usize,
    pipes: [Option<Pipe>; 2],
    endpoint: Endpoint,
    remains: Remains,
    oom: OomCount,
    /// How it ended, and until when its last words are waited for.
    ended: Option<(process::Exit, Millis)>,
}

#[derive(Default)]
struct Remains {
    record: Option<process::Written>,
    _socket: Option<Socket>,
}

struct Pipe {
    key: usize,
    fd: Arc<OwnedFd>,
    lines: Lines,
    readable: bool,
}

impl<B: Bell> Engine<B> {
    /// The supervision of what is to be launched.
    pub(crate) fn new(launch: Launch, shared: Arc<Shared<B>>) -> Self {
        let mut machine = Supervisor::new(launch.policy);
        machine.handle(Input::Start, Millis(0));
        Engine {
            machine,
            launch,
            shared,
            begun: Instant::now(),
            running: None,
            remains: None,
            probe: None,
            cancel_at: None,
            last_attempt: 0,
            next_key: 0,
            ending: None,
            was_ready: false,
            buffer: vec![0; READ].into_boxed_slice(),
        }
    }

    fn now(&self) -> Millis {
        crate::http::millis(self.begun.elapsed())
    }

    fn key(&mut self) -> usize {
        self.next_key += 1;
        self.next_key
    }

    /// Nothing more will happen.
    pub(crate) fn is_over(&self) -> bool {
        self.machine.state().is_final() && self.running.is_none() && self.cancel_at.is_none()
    }

    /// What to wait for.
    pub(crate) fn watched(&self) -> impl Iterator<Item = Watched> {
        let watch = |key: usize, fd: &Arc<OwnedFd>, write| Watched { key, fd: fd.clone(), write };
        let running = self.running.iter().flat_map(move |running| {
            let process = running.child.pidfd().filter(|_| running.ended.is_none());
            let pipes =
                running.pipes.iter().flatten().map(move |pipe| watch(pipe.key, &pipe.fd, false));
            process.map(|fd| watch(running.key, fd, false)).into_iter().chain(pipes)
        });
        let probe = self.probe.iter().map(move |(key, probe)| watch(*key, &probe.socket, true));
        running.chain(probe)
    }

    /// How long to wait at most; `None` = until something happens.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let now = self.now();
        let running = self.running.as_ref();
        let more =
            running.is_some_and(|running| running.pipes.iter().flatten().any(|p| p.readable));
        if more {
            return Some(Duration::ZERO);
        }
        let drain = running.and_then(|running| running.ended).map(|(_, until)| until);
        let look = running
            .filter(|running| running.ended.is_none() && running.child.pidfd().is_none())
            .map(|_| Millis(now.0.saturating_add(Child::LOOK.as_millis() as u64)));
        let probe = self.probe.as_ref().map(|(_, probe)| probe.deadline);
        [self.machine.poll_timeout(), drain, look, probe, self.cancel_at]
            .into_iter()
            .flatten()
            .min()
            .map(|until| Duration::from_millis(until.0.saturating_sub(now.0)))
    }

    /// The descriptor of this key is ready. The others are looked at in every turn anyway.
    pub(crate) fn ready(&mut self, key: usize) {
        for pipe in self.running.iter_mut().flat_map(|running| running.pipes.iter_mut().flatten()) {
            pipe.readable |= pipe.key == key;
        }
    }

    /// Does what can be done now.
    pub(crate) fn turn(&mut self) {
        for Order::Stop { grace, force } in self.shared.orders() {
            self.machine.handle(Input::Stop { grace, force }, self.now());
            self.act();
        }
        self.read_output();
        self.look_for_end();
        self.advance_probe();
        let now = self.now();
        if self.cancel_at.is_some_and(|at| now >= at) {
            self.cancel_at = None;
            self.shared.cancel_streams(self.last_attempt);
        }
        self.machine.handle(Input::Tick, now);
        self.act();
        let state = self.machine.state();
        let over = self.is_over();
        let unchanged = {
            let status = self.shared.status();
            status.state == state && status.over == over
        };
        if !unchanged {
            self.shared.change(|status| {
                status.state = state;
                status.over = over;
            });
        }
    }

    fn read_output(&mut self) {
        let Some(running) = &mut self.running else { return };
        let now = crate::http::millis(self.begun.elapsed());
        for slot in &mut running.pipes {
            let Some(pipe) = slot.as_mut().filter(|pipe| pipe.readable) else { continue };
            let (machine, launch, shared) = (&mut self.machine, &mut self.launch, &self.shared);
            let mut tell = |line: process::Line<'_>| {
                let fact = log::fact(line.bytes);
                shared.log().push(line, matches!(fact, LogFact::Error { .. }));
                machine.handle(Input::Output(fact), now);
                launch.line(line.bytes);
            };
            for _ in 0..READS {
                match rustix::io::read(&pipe.fd, &mut *self.buffer) {
                    Ok(0) => {
                        pipe.lines.end(&mut tell);
                        *slot = None;
                        break;
                    }
                    Ok(bytes) => pipe.lines.feed(&self.buffer[..bytes], &mut tell),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(rustix::io::Errno::AGAIN) => {
                        pipe.readable = false;
                        break;
                    }
                    Err(_) => {
                        *slot = None;
                        break;
                    }
                }
            }
        }
        self.act();
    }

    fn look_for_end(&mut self) {
        let now = self.now();
        let Some(running) = &mut self.running else { return };
        if running.ended.is_none() {
            match running.child.try_wait() {
                Ok(Some(exit)) => {
                    running.ended = Some((exit, Millis(now.0.saturating_add(DRAIN))));
                    // What it wrote before its end is there now, whether that was told or not.
                    for pipe in running.pipes.iter_mut().flatten() {
                        pipe.readable = true;
                    }
                    self.shared.change(|status| status.ending = true);
                    self.read_output();
                }
                Ok(None) => return,
                // It cannot be waited for at all: nobody knows more.
                Err(_) => running.ended = Some((process::Exit::Unknown, now)),
            }
        }
        let Some(running) = &mut self.running else { return };
        let Some((exit, until)) = running.ended else { return };
        if running.pipes.iter().all(Option::is_none) || now >= until {
            self.finish(exit, now);
        }
    }

    /// The process has ended and was read to its end.
    fn finish(&mut self, exit: process::Exit, now: Millis) {
        let Some(mut running) = self.running.take() else { return };
        for pipe in running.pipes.iter_mut().flatten() {
            pipe.lines.end(|line| {
                let fact = log::fact(line.bytes);
                self.shared.log().push(line, matches!(fact, LogFact::Error { .. }));
                self.machine.handle(Input::Output(fact), now);
                self.launch.line(line.bytes);
            });
        }
        self.probe = None;
        let oom_kill = running.oom.rose();
        // Nobody can do more about a process that cannot be reaped.
        let _ = running.child.reap();
        self.remains = Some(running.remains);
        self.last_attempt = self.shared.status().attempt;
        if self.shared.has_streams(self.last_attempt) {
            self.cancel_at = Some(Millis(now.0.saturating_add(GRACE)));
        }
        let exit = match exit {
            process::Exit::Code(code) => Exit::Code(code),
            process::Exit::Signal(signal) => Exit::Signal(signal),
            process::Exit::Unknown => Exit::Code(-1),
        };
        self.machine.handle(Input::Exited { exit, oom_kill }, now);
        self.act();
    }

    fn advance_probe(&mut self) {
        let now = self.now();
        let Some((_, probe)) = &mut self.probe else { return };
        let Some(outcome) = probe.advance(now) else { return };
        let id = probe.id;
        self.probe = None;
        self.probed(id, outcome, now);
        self.act();
    }

    fn probed(&mut self, id: ProbeId, outcome: Outcome, now: Millis) {
        let Some(running) = &mut self.running else { return };
        let pid = running.child.pid();
        running.oom.refresh(pid);
        let outcome = match &running.endpoint {
            // A Unix socket of a fresh name is nobody else's.
            Endpoint::Tcp(address) if outcome == Outcome::Ok => {
                match process::owner_of_port(address.port(), pid) {
                    Owner::Other => Outcome::Foreign,
                    Owner::Group | Owner::Unknown => outcome,
                }
            }
            _ => outcome,
        };
        self.machine.handle(Input::Probe { id, outcome }, now);
    }

    /// Does what the machine wants done.
    fn act(&mut self) {
        while let Some(action) = self.machine.poll() {
            match action {
                Action::Spawn { attempt } => self.spawn(attempt),
                Action::Probe { id, timeout } => self.begin_probe(id, timeout),
                Action::Signal(signal) => {
                    if let Some(running) = &self.running {
                        match signal {
                            Signal::Term => running.child.terminate(),
                            Signal::Kill => running.child.kill(),
                        }
                    }
                }
                Action::Cleanup => self.remains = None,
                Action::Notify(event) => self.notify(event),
                _ => {}
            }
        }
    }

    fn begin_probe(&mut self, id: ProbeId, timeout: Millis) {
        let now = self.now();
        let Some(running) = &self.running else { return };
        let deadline = Millis(now.0.saturating_add(timeout.0));
        let request = Request::get("/health");
        match Probe::begin(id, &running.endpoint, deadline, &request) {
            Ok(mut probe) => match probe.advance(now) {
                Some(outcome) => self.probed(id, outcome, now),
                None => self.probe = Some((self.key(), probe)),
            },
            Err(outcome) => self.probed(id, outcome, now),
        }
    }

    fn spawn(&mut self, attempt: u32) {
        let input = match self.try_spawn() {
            Ok(running) => {
                let pid = running.child.pid();
                let endpoint = running.endpoint.clone();
                self.running = Some(running);
                self.was_ready = false;
                self.ending = None;
                self.shared.change(|status| {
                    status.attempt = attempt;
                    status.pid = Some(pid);
                    status.endpoint = Some(endpoint);
                    status.load = None;
                    status.ending = false;
                    status.stuck = false;
                });
                Input::Spawned { pid }
            }
            Err(error) => {
                self.shared.change(|status| status.attempt = attempt);
                let fault = error.raw_os_error().map_or(SpawnFault::Other, SpawnFault::from_errno);
                let fault = match fault {
                    SpawnFault::NotFound if self.launch.program.exists() => {
                        SpawnFault::NoInterpreter
                    }
                    fault => fault,
                };
                let line = format!("{}: {error}", self.launch.program.display());
                self.shared.log().push(process::Line { bytes: line.as_bytes(), cut: false }, true);
                Input::SpawnFailed(fault)
            }
        };
        let now = self.now();
        self.machine.handle(input, now);
    }

    fn try_spawn(&mut self) -> io::Result<Running> {
        let Place { endpoint, socket } = self.launch.place()?;
        let mut command = Command::new(&self.launch.program);
        command.args(self.launch.arguments(&endpoint)?);
        command.env_clear().envs(self.launch.environment.iter().map(|(name, value)| (name, value)));
        self.launch.guard(&mut command);
        let given = self.launch.cgroup.as_deref().map(OomCount::in_folder);
        let mut child = Child::spawn_watched(&mut command, self.launch.watch)?;
        let pid = child.pid();
        let mut pipe = |fd: Option<OwnedFd>| {
            let fd = Arc::new(fd?);
            Some(Pipe { key: self.key(), fd, lines: Lines::default(), readable: false })
        };
        let pipes = [pipe(child.take_stdout()), pipe(child.take_stderr())];
        let path = socket.as_ref().map(Socket::path);
        let record = self.launch.records.as_deref().and_then(|folder| {
            // A server without a record runs as well; it would only not be swept.
            Record::of(pid, path)?.write(folder).ok()
        });
        Ok(Running {
            key: self.key(),
            pipes,
            endpoint,
            remains: Remains { record, _socket: socket },
            oom: given.unwrap_or_else(|| OomCount::of(pid)),
            ended: None,
            child,
        })
    }

    fn notify(&mut self, event: Event) {
        match event {
            Event::Ready { load } => {
                self.was_ready = true;
                self.renew_record();
                self.shared.change(|status| {
                    status.state = State::Ready;
                    status.load = Some(load);
                });
            }
            Event::Stopping(cause) => self.ending = Some(cause),
            Event::Stuck { .. } => self.shared.change(|status| status.stuck = true),
            Event::Exited { exit, class, .. } => self.exited(exit, class),
            Event::Stopped { class } => self.shared.change(|status| {
                status.state = State::Stopped;
                status.class = class;
                status.pid = None;
            }),
            Event::Failed(failure) => {
                let ended = self.shared.report(failure, &self.launch.program);
                self.shared.change(|status| {
                    status.state = State::Failed(failure);
                    status.ended = Some((status.attempt, ended));
                    status.pid = None;
                    status.ending = false;
                });
            }
            _ => {}
        }
        self.launch.event(&event);
    }

    /// A launcher may have become another program since it was started.
    fn renew_record(&self) {
        if let Some(Running { child, remains: Remains { record: Some(record), _socket }, .. }) =
            &self.running
            && let Some(new) = Record::of(child.pid(), _socket.as_ref().map(Socket::path))
        {
            // The old one still holds for most.
            let _ = record.replace(&new);
        }
    }

    fn exited(&mut self, exit: Exit, class: rocload_core::serve::exit::Class) {
        let cause = self.ending.unwrap_or(Cause::Exit(class));
        let was_ready = self.was_ready;
        let attempts = self.shared.status().attempt;
        let failure = Failure { cause, exit: Some(exit), was_ready, attempts };
        let ended = self.shared.report(failure, &self.launch.program);
        // Whoever is told finds nothing left.
        self.remains = None;
        // What the end means is known already: nobody is told that the server is still ready.
        let state = self.machine.state();
        self.shared.change(|status| {
            status.state = state;
            status.exit = Some(exit);
            status.ended = Some((status.attempt, ended));
            status.ending = false;
            status.pid = None;
        });
    }
}

impl<B: Bell> Drop for Engine<B> {
    /// Nobody watches any more, for whatever reason: those who wait must not wait for ever.
    fn drop(&mut self) {
        self.shared.change(|status| status.over = true);
    }
}

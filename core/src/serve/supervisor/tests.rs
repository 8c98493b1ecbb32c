//! One rule of the supervisor each, with a fake clock.

use alloc::vec::Vec;

use super::*;
use crate::serve::log::fact;

/// A server and the actions that it asked for.
struct Scene {
    server: Supervisor,
    now: u64,
    actions: Vec<Action>,
}

const BOUND: &[u8] =
    b"0.00.002.770 E srv start: couldn't bind HTTP server socket, hostname: x.sock, port: 1";

impl Scene {
    fn new(policy: Policy) -> Scene {
        Scene { server: Supervisor::new(policy), now: 0, actions: Vec::new() }
    }

    /// A server whose process runs since the time 0.
    fn loading(policy: Policy) -> Scene {
        let mut scene = Scene::new(policy);
        scene.tell(Input::Start);
        scene.tell(Input::Spawned { pid: 7 });
        scene
    }

    /// A server that was ready at 25 ms.
    fn ready(policy: Policy) -> Scene {
        let mut scene = Scene::loading(policy);
        scene.at(25, Input::Tick);
        scene.answer(Outcome::Ok);
        assert_eq!(scene.server.state(), State::Ready);
        scene
    }

    fn tell(&mut self, input: Input<'_>) {
        self.actions.clear();
        self.server.handle(input, Millis(self.now));
        while let Some(action) = self.server.poll() {
            self.actions.push(action);
        }
    }

    fn at(&mut self, now: u64, input: Input<'_>) {
        self.now = now;
        self.tell(input);
    }

    fn answer(&mut self, outcome: Outcome) {
        let id = self.server.child.as_ref().unwrap().probe.expect("no probe is under way");
        self.tell(Input::Probe { id, outcome });
    }

    fn due(&self) -> Option<u64> {
        self.server.poll_timeout().map(|due| due.0)
    }

    fn event(&self, wanted: Event) -> bool {
        self.actions.contains(&Action::Notify(wanted))
    }

    fn probes(&self) -> bool {
        self.actions.iter().any(|action| matches!(action, Action::Probe { .. }))
    }

    fn exit(&mut self, exit: Exit) {
        self.tell(Input::Exited { exit, oom_kill: false });
    }

    fn failure(&self) -> Failure {
        let State::Failed(failure) = self.server.state() else {
            panic!("{:?}", self.server.state())
        };
        failure
    }
}

const STOP: Input<'static> = Input::Stop { grace: None, force: false };

fn restarting() -> Policy {
    Policy { restart: Restart::OnFailure, ..Policy::DEFAULT }
}

#[test]
fn it_probes_every_25_ms_and_later_more_slowly() {
    let mut scene = Scene::loading(Policy::DEFAULT);
    let mut times = Vec::new();
    while scene.now < 6000 {
        let due = scene.due().unwrap();
        scene.at(due, Input::Tick);
        assert!(scene.probes());
        times.push(scene.now);
        scene.answer(Outcome::Refused);
    }
    let waits: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!((times[0], &waits[..38]), (25, &[25; 38][..]));
    assert_eq!(waits[39..47], [50, 100, 200, 400, 800, 1000, 1000, 1000]);
}

#[test]
fn a_line_that_it_listens_is_asked_at_once() {
    let mut scene = Scene::loading(Policy::DEFAULT);
    scene.at(5, Input::Output(fact(b"0.00.1 I srv  llama_server: model loaded")));
    assert!(scene.probes());
    // The next line comes while the probe is under way: another follows its answer at once.
    scene.at(6, Input::Output(fact(b"0.00.1 I srv  llama_server: listening on unix://x.sock")));
    assert!(!scene.probes());
    scene.answer(Outcome::Loading);
    assert!(scene.probes());
    // After that at the fast pace again, however long it had loaded.
    scene.answer(Outcome::Loading);
    assert_eq!(scene.due(), Some(31));
    scene.at(31, Input::Tick);
    scene.answer(Outcome::Ok);
    assert!(scene.event(Event::Ready { load: Millis(31) }));
}

#[test]
fn a_silent_socket_does_not_hide_an_exit() {
    // The probe is never answered; the end is seen when it comes.
    let mut scene = Scene::loading(Policy::DEFAULT);
    scene.at(25, Input::Tick);
    assert!(scene.probes());
    scene.at(1000, Input::Exited { exit: Exit::Code(1), oom_kill: false });
    assert_eq!(scene.failure().class(), Some(Class::Failed));
    assert!(scene.actions.contains(&Action::Cleanup));
}

#[test]
fn status_0_before_ready_is_a_failure() {
    let mut scene = Scene::loading(Policy::DEFAULT);
    scene.exit(Exit::Code(0));
    let failure = scene.failure();
    assert_eq!((failure.class(), failure.was_ready), (Some(Class::ExitedUnasked), false));
    assert_eq!(
        alloc::string::ToString::to_string(&failure),
        "the server did not become ready: it ended without being asked to (status 0)"
    );
}

#[test]
fn a_server_that_hangs_is_tried_once() {
    let mut scene = Scene::loading(restarting());
    let mut spawns = 0;
    while let Some(due) = scene.due() {
        scene.at(due, Input::Tick);
        if scene.probes() {
            scene.answer(Outcome::Refused);
        }
        spawns +=
            usize::from(scene.actions.iter().any(|action| matches!(action, Action::Spawn { .. })));
        if scene.actions.contains(&Action::Signal(Signal::Term)) {
            scene.exit(Exit::Signal(15));
        }
    }
    assert_eq!((spawns, scene.now), (0, 300_000));
    // The first cause stays, although the signal was ours.
    assert_eq!(scene.failure().cause, Cause::Stalled(Millis(300_000)));
    assert_eq!(scene.failure().exit, Some(Exit::Signal(15)));
}

#[test]
fn output_and_the_first_sign_of_loading_are_progress() {
    let policy = Policy { stall: Some(Millis(1000)), ..Policy::DEFAULT };
    let mut scene = Scene::loading(policy);
    scene.at(900, Input::Tick);
    assert!(scene.probes());
    scene.answer(Outcome::Loading);
    assert!(scene.event(Event::Loading));
    for now in (1000..20_000).step_by(900) {
        scene.at(now, Input::Output(LogFact::Other));
        assert_eq!(scene.server.state(), State::Loading);
    }
    // More answers of that kind are none.
    let last = scene.now;
    scene.at(last + 900, Input::Tick);
    scene.answer(Outcome::Loading);
    scene.at(last + 1000, Input::Tick);
    assert_eq!(scene.server.state(), State::Stopping(Cause::Stalled(Millis(1000))));
}

#[test]
fn a_hard_limit_is_not_moved_by_output() {
    let mut scene = Scene::loading(Policy { load: Some(Millis(5000)), ..Policy::DEFAULT });
    for now in (0..5000).step_by(100) {
        scene.at(now, Input::Output(LogFact::Other));
    }
    scene.at(5000, Input::Output(LogFact::Other));
    assert_eq!(scene.server.state(), State::Stopping(Cause::LoadTimeout(Millis(5000))));
}

#[test]
fn only_a_taken_address_is_tried_anew() {
    let mut scene = Scene::new(Policy::DEFAULT);
    scene.tell(Input::Start);
    for attempt in 1..=3 {
        assert!(scene.actions.contains(&Action::Spawn { attempt }));
        scene.tell(Input::Spawned { pid: attempt });
        scene.tell(Input::Output(fact(BOUND)));
        scene.exit(Exit::Code(1));
        if attempt < 3 {
            assert_eq!((scene.server.state(), scene.due()), (State::Backoff, Some(scene.now + 25)));
            let due = scene.due().unwrap();
            scene.at(due, Input::Tick);
        }
    }
    let failure = scene.failure();
    assert_eq!((failure.class(), failure.attempts), (Some(Class::BindConflict), 3));
}

#[test]
fn a_program_that_is_being_written_is_tried_three_times_more() {
    let mut scene = Scene::new(Policy::DEFAULT);
    scene.tell(Input::Start);
    for _ in 0..3 {
        scene.tell(Input::SpawnFailed(SpawnFault::Busy));
        assert_eq!(scene.due(), Some(scene.now + 25));
        let due = scene.due().unwrap();
        scene.at(due, Input::Tick);
    }
    scene.tell(Input::SpawnFailed(SpawnFault::Busy));
    assert_eq!(scene.failure().cause, Cause::Spawn(SpawnFault::Busy));
    let mut scene = Scene::new(Policy::DEFAULT);
    scene.tell(Input::Start);
    scene.tell(Input::SpawnFailed(SpawnFault::NotFound));
    assert_eq!(scene.failure().attempts, 1);
}

#[test]
fn a_stop_is_gentle_and_then_not() {
    let mut scene = Scene::ready(Policy::DEFAULT);
    scene.tell(STOP);
    assert_eq!(
        scene.actions,
        [Action::Notify(Event::Stopping(Cause::Asked)), Action::Signal(Signal::Term)]
    );
    assert_eq!(scene.due(), Some(10_025));
    scene.tell(STOP);
    assert_eq!(scene.actions, []);
    scene.at(10_024, Input::Tick);
    assert_eq!(scene.actions, []);
    scene.at(10_025, Input::Tick);
    assert_eq!(scene.actions, [Action::Signal(Signal::Kill)]);
    // It hangs in the kernel: those who wait are told, once.
    scene.at(15_025, Input::Tick);
    assert_eq!(scene.actions, [Action::Notify(Event::Stuck { pid: 7 })]);
    assert_eq!(scene.due(), None);
    scene.exit(Exit::Signal(9));
    assert_eq!(scene.server.state(), State::Stopped);
    assert!(scene.event(Event::Stopped { class: Some(Class::KilledByUs) }));
}

#[test]
fn a_shorter_grace_counts_and_force_is_at_once() {
    let mut scene = Scene::ready(Policy::DEFAULT);
    scene.tell(STOP);
    scene.at(100, Input::Stop { grace: Some(Millis(500)), force: false });
    assert_eq!(scene.due(), Some(600));
    scene.at(200, Input::Stop { grace: Some(Millis(5000)), force: false });
    assert_eq!(scene.due(), Some(600));
    scene.at(300, Input::Stop { grace: None, force: true });
    assert_eq!(scene.actions, [Action::Signal(Signal::Kill)]);
    let mut scene = Scene::loading(Policy::DEFAULT);
    scene.tell(Input::Stop { grace: None, force: true });
    assert!(scene.actions.contains(&Action::Signal(Signal::Kill)));
    assert!(!scene.actions.contains(&Action::Signal(Signal::Term)));
}

#[test]
fn a_policy_may_never_kill() {
    let mut scene = Scene::ready(Policy { never_kill: true, ..Policy::DEFAULT });
    scene.tell(Input::Stop { grace: Some(Millis(5)), force: false });
    assert_eq!(scene.due(), None);
    scene.at(u64::MAX / 2, Input::Tick);
    assert_eq!(scene.actions, []);
    scene.tell(Input::Stop { grace: None, force: true });
    assert_eq!(scene.actions, [Action::Signal(Signal::Kill)]);
}

#[test]
fn a_stop_before_the_process_runs() {
    // Before the driver took the spawn: it is not made.
    let mut server = Supervisor::new(Policy::DEFAULT);
    server.handle(Input::Start, Millis(0));
    server.handle(STOP, Millis(0));
    assert_eq!(server.poll(), Some(Action::Notify(Event::Stopped { class: None })));
    assert_eq!((server.poll(), server.state()), (None, State::Stopped));
    // After that: it is ended as soon as it runs.
    let mut scene = Scene::new(Policy::DEFAULT);
    scene.tell(Input::Start);
    scene.tell(Input::Stop { grace: Some(Millis(70)), force: false });
    assert_eq!(scene.server.state(), State::Stopping(Cause::Asked));
    scene.at(10, Input::Spawned { pid: 3 });
    assert_eq!(
        scene.actions,
        [Action::Notify(Event::Spawned { pid: 3, attempt: 1 }), Action::Signal(Signal::Term)]
    );
    assert_eq!(scene.due(), Some(80));
    scene.exit(Exit::Signal(15));
    assert!(scene.event(Event::Stopped { class: Some(Class::StoppedClean) }));
    // And one that is not started at all cannot be started later.
    let mut scene = Scene::new(Policy::DEFAULT);
    scene.tell(STOP);
    scene.tell(Input::Start);
    assert_eq!((scene.server.state(), scene.actions.len()), (State::Stopped, 0));
}

#[test]
fn late_answers_make_nothing_ready() {
    let mut scene = Scene::loading(Policy::DEFAULT);
    scene.at(25, Input::Tick);
    let Some(Action::Probe { id, .. }) = scene.actions.first().copied() else { panic!() };
    scene.tell(Input::Output(fact(BOUND)));
    scene.exit(Exit::Code(1));
    scene.at(50, Input::Tick);
    scene.tell(Input::Spawned { pid: 8 });
    scene.tell(Input::Probe { id, outcome: Outcome::Ok });
    assert_eq!(scene.server.state(), State::Loading);
    scene.at(75, Input::Tick);
    scene.tell(Input::Probe { id, outcome: Outcome::Ok });
    assert_eq!(scene.server.state(), State::Loading);
    scene.answer(Outcome::Ok);
    assert_eq!(scene.server.state(), State::Ready);
}

#[test]
fn a_ready_server_that_does_not_answer_is_degraded_or_restarted() {
    let mut scene = Scene::ready(Policy::DEFAULT);
    for miss in 1..=4 {
        let due = scene.due().unwrap();
        scene.at(due, Input::Tick);
        scene.answer(Outcome::TimedOut);
        assert_eq!(scene.event(Event::Degraded { probes: 3 }), miss == 3);
    }
    let due = scene.due().unwrap();
    scene.at(due, Input::Tick);
    scene.answer(Outcome::Ok);
    assert!(scene.event(Event::Recovered));

    let mut scene = Scene::ready(restarting());
    for _ in 1..=3 {
        let due = scene.due().unwrap();
        scene.at(due, Input::Tick);
        scene.answer(Outcome::TimedOut);
    }
    assert_eq!(scene.server.state(), State::Stopping(Cause::Unresponsive(3)));
    scene.exit(Exit::Code(0));
    assert_eq!(scene.server.state(), State::Backoff);
}

#[test]
fn a_ready_server_is_restarted_where_that_can_help() {
    let mut scene = Scene::ready(Policy::DEFAULT);
    scene.exit(Exit::Signal(11));
    assert_eq!(scene.failure().class(), Some(Class::Crash));
    assert!(scene.failure().was_ready);

    let mut scene = Scene::ready(restarting());
    scene.exit(Exit::Signal(11));
    assert!(scene.event(Event::Retry {
        after: Millis(1000),
        attempt: 2,
        cause: Cause::Exit(Class::Crash)
    }));
    scene.at(1025, Input::Tick);
    assert_eq!(scene.actions, [Action::Spawn { attempt: 2 }]);
    scene.tell(Input::Spawned { pid: 9 });
    scene.exit(Exit::Signal(4));
    assert_eq!(scene.failure().class(), Some(Class::WrongCpuBuild));
}

#[test]
fn restarts_come_to_an_end() {
    let mut scene = Scene::ready(restarting());
    let mut retries = 0;
    loop {
        scene.exit(Exit::Signal(9));
        if scene.server.state().is_final() {
            break;
        }
        retries += 1;
        let due = scene.due().unwrap();
        scene.at(due, Input::Tick);
        scene.tell(Input::Spawned { pid: 20 });
    }
    assert_eq!(retries, 5);
    assert_eq!(scene.failure().class(), Some(Class::Killed));
}

#[test]
fn a_kill_that_is_not_ours_is_not_expected() {
    // Nobody asked: neither "killed" nor "terminated" is a success.
    for (exit, oom_kill, class) in [
        (Exit::Signal(9), false, Class::Killed),
        (Exit::Signal(9), true, Class::OomKilled),
        (Exit::Signal(15), false, Class::Terminated),
    ] {
        let mut scene = Scene::ready(Policy::DEFAULT);
        scene.tell(Input::Exited { exit, oom_kill });
        assert_eq!(scene.failure().class(), Some(class));
    }
    // Killed for memory after our SIGTERM: still told as that.
    let mut scene = Scene::ready(Policy::DEFAULT);
    scene.tell(STOP);
    scene.tell(Input::Exited { exit: Exit::Signal(9), oom_kill: true });
    assert!(scene.event(Event::Stopped { class: Some(Class::OomKilled) }));
}

#[test]
fn what_is_not_taken_does_not_overflow() {
    // A driver that never polls: the machine waits for answers to what it never handed out.
    let mut server = Supervisor::new(restarting());
    server.handle(Input::Start, Millis(0));
    for now in 0..100 {
        for input in [
            Input::Spawned { pid: 1 },
            Input::Exited { exit: Exit::Code(1), oom_kill: false },
            Input::SpawnFailed(SpawnFault::Busy),
            Input::Tick,
        ] {
            server.handle(input, Millis(now * 100_000));
        }
    }
    assert_eq!(server.poll(), Some(Action::Spawn { attempt: 1 }));
    assert_eq!(server.poll(), None);
    // One that polls only its spawns.
    server.handle(Input::Spawned { pid: 1 }, Millis(u64::MAX / 2));
    server.handle(Input::Tick, Millis(u64::MAX / 2 + 400_000));
    server.handle(Input::Stop { grace: None, force: true }, Millis(u64::MAX / 2 + 400_000));
    server.handle(Input::Tick, Millis(u64::MAX));
    server.handle(Input::Exited { exit: Exit::Signal(9), oom_kill: false }, Millis(u64::MAX));
    let actions = core::iter::from_fn(|| server.poll()).count();
    assert_eq!((actions, server.state().is_final()), (6, true));
}

//! What recorded output of real servers tells: facts, sums, and why they ended.
#![cfg(feature = "alloc")]

use std::fs;
use std::path::PathBuf;

use rocload_core::Millis;
use rocload_core::serve::exit::{Class, Exit};
use rocload_core::serve::log::{BufferKind, Facts, LogFact, fact};
use rocload_core::serve::{Action, Input, Outcome, Policy, State, Supervisor};

fn log(test: &str, name: &str) -> Option<Vec<u8>> {
    let path: PathBuf = rocload_fixtures::shared_data_or_skip(test)?.join("serverlogs").join(name);
    Some(fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn facts(log: &[u8]) -> impl Iterator<Item = LogFact<'_>> {
    log.split(|byte| *byte == b'\n').map(fact)
}

/// The class of a server that wrote this and ended so, through the supervisor; `ready` lets it
/// answer its first probe.
fn class(log: &[u8], exit: Exit, ready: bool) -> Class {
    let mut server = Supervisor::new(once());
    server.handle(Input::Start, Millis(0));
    assert!(matches!(server.poll(), Some(Action::Spawn { .. })));
    server.handle(Input::Spawned { pid: 1 }, Millis(0));
    server.handle(Input::Tick, Millis(25));
    while let Some(action) = server.poll() {
        if let (Action::Probe { id, .. }, true) = (action, ready) {
            server.handle(Input::Probe { id, outcome: Outcome::Ok }, Millis(25));
        }
    }
    assert_eq!(server.state() == State::Ready, ready);
    for fact in facts(log) {
        server.handle(Input::Output(fact), Millis(30));
    }
    server.handle(Input::Exited { exit, oom_kill: false }, Millis(50));
    let State::Failed(failure) = server.state() else { panic!("{:?}", server.state()) };
    assert!(matches!(failure.exit, Some(ended) if ended == exit));
    failure.class().expect("a class")
}

/// A taken address is not tried anew.
fn once() -> Policy {
    let mut policy = Policy::default();
    policy.bind_tries = 1;
    policy
}

#[test]
fn recorded_ends_have_their_classes() {
    let test = "recorded_ends_have_their_classes";
    for (name, exit, wanted) in [
        ("bad_flag.stderr", Exit::Code(1), Class::BadFlag),
        ("missing_model.stderr", Exit::Code(1), Class::ModelMissing),
        ("truncated_model.stderr", Exit::Code(1), Class::ModelBroken),
        ("port_taken.stderr", Exit::Code(1), Class::BindConflict),
        ("stale_socket.stderr", Exit::Code(1), Class::BindConflict),
        ("sigill_in_warmup.stderr", Exit::Signal(4), Class::WrongCpuBuild),
        ("sigill_in_warmup.stderr", Exit::Code(132), Class::WrongCpuBuild),
        ("sigterm_while_loading.stderr", Exit::Signal(15), Class::Terminated),
        ("router_child_stdin_eof.stderr", Exit::Code(1), Class::Failed),
    ] {
        let Some(log) = log(test, name) else { return };
        assert_eq!(class(&log, exit, false), wanted, "{name}");
    }
    // One that was ready and ended by itself: the log is of a clean stop, which nobody asked for.
    let Some(log) = log(test, "ready_then_sigterm.stderr") else { return };
    assert_eq!(class(&log, Exit::Code(0), true), Class::ExitedUnasked);
}

#[test]
fn the_facts_of_a_whole_start() {
    let Some(log) = log("the_facts_of_a_whole_start", "ready_then_sigterm.stderr") else { return };
    let mut sums = Facts::new();
    let mut listening = None;
    for fact in facts(&log) {
        sums.see(&fact);
        if let LogFact::Listening(address) = fact {
            listening = Some(address.to_vec());
        }
        assert!(!matches!(fact, LogFact::Error { .. }), "{fact:?}");
    }
    assert_eq!(listening.as_deref(), Some(&b"unix:///run/user/1000/app/N1.sock"[..]));
    assert!(sums.loaded);
    assert_eq!((sums.context, sums.offloaded), (Some(4096), None));
    let found: Vec<_> = sums
        .buffers()
        .map(|sum| (sum.component.as_bytes(), sum.device.as_bytes(), sum.kind, sum.centi_mib))
        .collect();
    assert_eq!(
        found,
        [
            (&b"load_tensors"[..], &b"CPU_Mapped"[..], BufferKind::Model, 23_516),
            (b"load_tensors", b"CPU_REPACK", BufferKind::Model, 1266),
            (b"llama_context", b"CPU", BufferKind::Output, 100),
            (b"llama_kv_cache", b"CPU", BufferKind::Kv, 2700),
            (b"sched_reserve", b"CPU", BufferKind::Compute, 2328),
        ]
    );
    assert_eq!(sums.total(BufferKind::Kv), 27 << 20);
}

#[test]
fn the_caches_of_ten_settings() {
    let Some(log) = log("the_caches_of_ten_settings", "kv_matrix_build10434.txt") else { return };
    let text = String::from_utf8(log).unwrap();
    let mut settings = 0;
    for part in text.split("\n== ") {
        let mut sums = Facts::new();
        part.lines().for_each(|line| sums.see(&fact(line.as_bytes())));
        // The server tells each cache twice: by buffer, and in a line of its own.
        let told: f64 = part
            .lines()
            .filter_map(|line| line.strip_prefix("llama_kv_cache: size ="))
            .map(|rest| rest.split_whitespace().next().unwrap().parse::<f64>().unwrap())
            .sum();
        let sum = sums.total(BufferKind::Kv) as f64 / f64::from(1 << 20);
        assert!(told > 0.0 && (sum - told).abs() < 0.02, "{sum} {told}: {part}");
        settings += 1;
    }
    assert_eq!(settings, 10);
}

#[test]
fn a_server_that_says_it_listens_is_asked_then() {
    let Some(log) = log("a_server_that_says_it_listens_is_asked_then", "ready_then_sigterm.stderr")
    else {
        return;
    };
    let mut server = Supervisor::new(once());
    server.handle(Input::Start, Millis(0));
    assert!(matches!(server.poll(), Some(Action::Spawn { .. })));
    server.handle(Input::Spawned { pid: 1 }, Millis(0));
    let mut probed_after = None;
    for line in log.split(|byte| *byte == b'\n') {
        server.handle(Input::Output(fact(line)), Millis(1));
        while let Some(action) = server.poll() {
            if matches!(action, Action::Probe { .. }) {
                probed_after.get_or_insert(line);
            }
        }
    }
    assert!(probed_after.is_some_and(|line| line.ends_with(b"model loaded")));
}

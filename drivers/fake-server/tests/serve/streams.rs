//! Answers of a server.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rocload::core::Millis;
use rocload::http;
use rocload::llama::Item;
use rocload::llama::request::{Completion, Embeddings, Input, Prompt, Tokenize};
use rocload::serve::{Class, Error, Setup};

use rustix::process::{Pid, Signal, kill_process};

use crate::driver::{Driver, chat, words};
use crate::fake::{CEILING, Fake, exists};

pub(crate) fn all_kinds_of_answers_come<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let server = driver.start(fake.setup()).unwrap();
    let completion = Completion::new(Prompt::Text("a"));
    let mut generation = driver.generate(&server, &completion).unwrap();
    let mut ids = Vec::new();
    let keep = |item: Item<'_>| match item {
        Item::Token { id, .. } => Some(id),
        _ => None,
    };
    while let Some(id) = driver.next(&mut generation, keep).unwrap() {
        ids.extend(id);
    }
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7]);

    let mut generation = chat(driver, &server, 8).unwrap();
    let mut usage = None;
    let keep = |item: Item<'_>| match item {
        Item::Usage(usage) => usage.completion,
        _ => None,
    };
    while let Some(found) = driver.next(&mut generation, keep).unwrap() {
        usage = usage.or(found);
    }
    assert_eq!(usage, Some(8));

    assert_eq!(driver.tokenize(&server, &Tokenize::new("a")).unwrap(), [1, 2, 3]);
    let texts = Embeddings::new(Input::Texts(&["a", "b"]));
    assert_eq!(driver.embed(&server, &texts).unwrap(), [vec![1.0, 0.5], vec![2.0]]);
    assert!(driver.metrics(&server).unwrap().starts_with("llamacpp:"));
    driver.stop(&server, None).unwrap();
}

pub(crate) fn a_kill_in_mid_stream_tells_the_class_after_all_tokens<D: Driver>(driver: &D) {
    for (signal, class) in [("signal=9", Class::Killed), ("signal=11", Class::Crash)] {
        let fake = Fake::new(&["at=token:3", signal]);
        let server = driver.start(fake.setup()).unwrap();
        let mut generation = chat(driver, &server, 8).unwrap();
        let (words, end) = words(driver, &mut generation);
        assert_eq!(words.concat(), "t0 t1 t2 ");
        let error = end.unwrap_err();
        assert_eq!(error.class(), Some(class), "{error}");
        assert!(error.to_string().contains("listening on"), "{error}");
        // And so do all others from then on.
        assert!(driver.next(&mut generation, |_| ()).unwrap().is_none());
        assert_eq!(chat(driver, &server, 8).map(|_| ()).unwrap_err().class(), Some(class));
        assert_eq!(driver.ready(&server).unwrap_err().class(), Some(class));
    }
}

pub(crate) fn a_kill_in_mid_stream_is_seen_behind_a_child<D: Driver>(driver: &D) {
    let fake = Fake::new(&["child", "at=token:3", "signal=9"]);
    let server = driver.start(fake.setup()).unwrap();
    let (words, end) = words(driver, &mut chat(driver, &server, 8).unwrap());
    assert_eq!(words.concat(), "t0 t1 t2 ");
    assert_eq!(end.unwrap_err().class(), Some(Class::Killed));
}

pub(crate) fn a_stop_ends_streams<D: Driver>(driver: &D) {
    let fake = Fake::new(&["tokens=1000000", "token-ms=5"]);
    let server = driver.start(fake.setup()).unwrap();
    let mut generation = chat(driver, &server, 8).unwrap();
    assert!(driver.next(&mut generation, |_| ()).unwrap().is_some());
    thread::scope(|scope| {
        let stop = scope.spawn(|| D::default().stop(&server, None).unwrap());
        let (_, end) = words(driver, &mut generation);
        assert!(matches!(end, Err(Error::Stopped)), "{end:?}");
        assert_eq!(stop.join().unwrap(), Some(Class::StoppedClean));
    });
}

pub(crate) fn several_streams_at_once_are_whole<D: Driver>(driver: &D) {
    let fake = Fake::new(&["tokens=50", "token-ms=1"]);
    let server = driver.start(fake.setup()).unwrap();
    let whole: String = (0..50).map(|token| format!("t{token} ")).collect();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let driver = D::default();
                let generation = chat(&driver, &server, 50).unwrap();
                assert_eq!(driver.text(generation).unwrap(), whole);
            });
        }
    });
    driver.stop(&server, None).unwrap();
}

pub(crate) fn a_cancelled_stream_leaves_the_server_usable<D: Driver>(driver: &D) {
    let fake = Fake::new(&["tokens=400", "token-ms=5"]);
    let server = driver.start(fake.setup()).unwrap();
    let mut generation = chat(driver, &server, 8).unwrap();
    assert!(driver.next(&mut generation, |_| ()).unwrap().is_some());
    let cancel = D::cancel_handle(&generation);
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        let (_, end) = words(driver, &mut generation);
        assert!(matches!(end, Err(Error::Http(http::Error::Cancelled))), "{end:?}");
    });
    // Dropped without being read at all.
    drop(chat(driver, &server, 8).unwrap());
    driver.ready(&server).unwrap();
    assert_eq!(driver.tokenize(&server, &Tokenize::new("a")).unwrap(), [1, 2, 3]);
    driver.stop(&server, None).unwrap();
}

pub(crate) fn a_refusal_is_the_requests_alone<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let server = driver.start(fake.setup()).unwrap();
    let error = driver.fetch(&server, "/nothing").unwrap_err();
    let Error::Http(http::Error::Status(status)) = &error else { panic!("{error}") };
    assert_eq!((status.status, status.kind.as_deref()), (404, Some("not_found_error")));
    driver.ready(&server).unwrap();
    driver.stop(&server, None).unwrap();
}

pub(crate) fn a_server_at_an_address_is_used_and_not_stopped<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let server = driver.start(fake.setup()).unwrap();
    let endpoint = driver.ready(&server).unwrap().endpoint;
    let other = driver.at(endpoint.clone());
    let ready = driver.ready(&other).unwrap();
    assert_eq!((ready.endpoint, ready.pid), (endpoint, None));
    assert_eq!(driver.text(chat(driver, &other, 8).unwrap()).unwrap(), "t0 t1 t2 t3 t4 t5 t6 t7 ");
    assert_eq!(driver.stop(&other, Some(CEILING)).unwrap(), None);
    driver.drop_server(other);
    assert_eq!(driver.tokenize(&server, &Tokenize::new("a")).unwrap(), [1, 2, 3]);
    driver.stop(&server, None).unwrap();
}

pub(crate) fn an_address_where_nobody_is_fails<D: Driver>(driver: &D) {
    let folder = tempfile::tempdir().unwrap();
    let server = driver.at(folder.path().join("none.sock").into());
    let error = driver.ready(&server).unwrap_err();
    assert!(matches!(error, Error::Http(http::Error::Connect { .. })), "{error}");
}

pub(crate) fn a_backend_is_chosen_by_its_name<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let server = driver.start(fake.setup()).unwrap();
    let lab = driver.ready(&server).unwrap().endpoint;
    let local = |model: &Path| {
        let mut setup = Setup::new(model.to_path_buf());
        setup.program = Some(env!("CARGO_BIN_EXE_fake-llama-server").into());
        setup.sweep = false;
        setup
    };
    let absent = |model: &Path| {
        let mut setup = Setup::new(model.to_path_buf());
        setup.program = Some("/nonexistent/llama-server".into());
        setup
    };
    for (name, setup, own) in [
        (Some("llama-server"), local as fn(&Path) -> Setup, true),
        (Some("lab"), local, false),
        (None, local, true),
        (None, absent, false),
    ] {
        let opened = driver.open(name, setup, lab.clone()).unwrap();
        assert_eq!(driver.ready(&opened).unwrap().pid.is_some(), own, "{name:?}");
        assert_eq!(driver.tokenize(&opened, &Tokenize::new("a")).unwrap(), [1, 2, 3]);
        driver.stop(&opened, None).unwrap();
    }
    // What is not known and what cannot be used are different things.
    let error = driver.open(Some("moon"), local, lab.clone()).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::NotRegistered { .. }), "{error}");
    let error = driver.open(Some("llama-server"), absent, lab.clone()).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::NotAvailable { .. }), "{error}");
    driver.stop(&server, None).unwrap();
    let error = driver.open(Some("lab"), local, lab).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::NotAvailable { .. }), "{error}");
}

pub(crate) fn a_key_is_sent<D: Driver>(driver: &D) {
    let fake = Fake::new(&["at=token:0", "signal=9"]);
    let setup: Setup = fake.with(|setup| setup.api_key = Some("secret-key".into()));
    let shown = format!("{setup:?}");
    assert!(!shown.contains("secret-key"), "{shown}");
    let server = driver.start(setup).unwrap();
    let found = driver.fetch(&server, "/environment").unwrap();
    assert!(found.lines().any(|line| line == "LLAMA_API_KEY=secret-key"), "{found}");
    let pid = driver.ready(&server).unwrap().pid.unwrap();
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!String::from_utf8_lossy(&line).contains("secret-key"));
    driver.stop(&server, None).unwrap();
}

/// Holds a process (SIGSTOP), or lets it go on (SIGCONT).
fn hold(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
}

pub(crate) fn a_server_that_is_held_is_silent_and_goes_on<D: Driver>(driver: &D) {
    let fake = Fake::new(&["tokens=200", "token-ms=2"]);
    let setup = fake.with(|setup| setup.http.timeouts.idle = Some(Millis(300)));
    let server = driver.start(setup).unwrap();
    let pid = driver.ready(&server).unwrap().pid.unwrap();
    let mut generation = chat(driver, &server, 200).unwrap();
    assert!(driver.next(&mut generation, |_| ()).unwrap().is_some());
    hold(pid, Signal::STOP);
    // It runs and is silent: that is no end of the server.
    let (_, end) = words(driver, &mut generation);
    match end {
        Err(Error::Http(http::Error::Expired(expired))) => {
            assert_eq!(expired.phase, http::Phase::Idle);
        }
        other => panic!("{other:?}"),
    }
    hold(pid, Signal::CONT);
    let whole: String = (0..200).map(|token| format!("t{token} ")).collect();
    assert_eq!(driver.text(chat(driver, &server, 200).unwrap()).unwrap(), whole);
    assert_eq!(driver.ready(&server).unwrap().pid, Some(pid));
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
}

pub(crate) fn a_server_that_is_held_can_be_stopped<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let server = driver.start(fake.setup()).unwrap();
    let pid = driver.ready(&server).unwrap().pid.unwrap();
    hold(pid, Signal::STOP);
    let class = driver.stop(&server, Some(Duration::from_millis(100))).unwrap();
    assert_eq!(class, Some(Class::KilledByUs));
    assert!(!exists(pid) && fake.records() == 0);
}

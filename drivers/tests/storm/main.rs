//! Signals interrupt every call that waits (EINTR): reading archives, streams, processes that are
//! waited for, all end as they would in quiet.
#![cfg(all(target_os = "linux", feature = "blocking", feature = "tokio"))]

mod signals;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rocload::http::{Endpoint, Options as HttpOptions, Request};
use rocload::process::{Child, Exit, Record, Watch, sweep};
use rocload::serve::about::{About, about};
use rocload::sse::{Item, Parser};
use rocload::{Archive, Options, blocking, tokio as async_driver};
use rocload_core::Millis;
use rocload_core::http::Timeouts;
use rocload_fixtures::{fixtures_dir, good_archives};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signals::storm;

const LONG: Duration = Duration::from_secs(60);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn it_interrupts() {
    let (read, _write) = std::io::pipe().unwrap();
    let minute = Timespec { tv_sec: 60, tv_nsec: 0 };
    let waited = storm(|| poll(&mut [PollFd::new(&read, PollFlags::IN)], Some(&minute)));
    assert_eq!(waited, Err(rustix::io::Errno::INTR));
}

#[test]
fn archives_and_models_are_read() {
    let two = NonZeroUsize::new(2).unwrap();
    let (runtime, model) = (runtime(), fixtures_dir().join("gguf/tiny-llama.gguf"));
    storm(|| {
        for fixture in good_archives() {
            let archive = Archive::open(fixture.file()).unwrap();
            let verdict = archive.verify(two);
            assert!(verdict.is_ok(), "{}: {:?}", fixture.name(), verdict.errors);
            runtime.block_on(async {
                let other = async_driver::Archive::open(fixture.file()).await.unwrap();
                assert!(other.verify(two).await.unwrap().is_ok());
                for row in fixture.kernels().iter().take(20) {
                    let kernel = archive.kernel(&row.binary, &row.arch).unwrap();
                    assert_eq!(other.kernel(&row.binary, &row.arch).await.unwrap(), kernel);
                }
            });
        }
        for _ in 0..20 {
            let facts = rocload::Model::open(&model).unwrap().into_facts();
            let other = runtime.block_on(async_driver::Model::open(&model)).unwrap();
            assert_eq!(facts.header(), other.facts().header());
            let name = runtime.block_on(other.text(b"general.name")).unwrap();
            assert_eq!(name.as_deref(), Some(&b"rocload tiny llama"[..]));
        }
    });
    // And through a source whose options are not the default ones.
    assert!(
        Archive::open_with(good_archives().next().unwrap().file(), &Options::default()).is_ok()
    );
}

const EVENTS: usize = 150;

/// Answers with events in pieces of a few bytes.
fn serve(mut socket: impl Read + Write) {
    // All of it: a socket that is closed with something unread resets its connection.
    while socket.read(&mut [0; 4096]).is_err_and(|error| error.kind() == ErrorKind::Interrupted) {}
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    for n in 0..EVENTS {
        for piece in format!("data: event {n}\n\n").as_bytes().chunks(7) {
            socket.write_all(piece).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    }
    socket.write_all(b"data: [DONE]\n\n").unwrap();
}

fn patient() -> HttpOptions {
    let mut options = HttpOptions::default();
    let minute = Some(Millis(60_000));
    options.timeouts = Timeouts { connect: minute, idle: minute, ..Timeouts::default() };
    options
}

fn kept(item: &Item<'_>) -> Option<String> {
    match item {
        Item::Event(event) => Some(event.data_str().unwrap().to_owned()),
        _ => None,
    }
}

/// Runs both drivers against a server each on a thread.
fn streamed(endpoint: &Endpoint) {
    let runtime = runtime();
    let request = Request::post("/completion", b"{}");
    let parser = || Parser::new(&rocload::Limits::default(), Vec::new());
    let wanted: Vec<String> =
        (0..EVENTS).map(|n| format!("event {n}")).chain(["[DONE]".to_owned()]).collect();

    let client = blocking::Client::with_options(endpoint.clone(), patient());
    let mut stream = client.stream(&request, parser()).unwrap();
    let mut found = Vec::new();
    while let Some(item) = stream.next().unwrap() {
        found.extend(kept(&item));
    }
    assert_eq!(found, wanted);

    let found = runtime.block_on(async {
        let client = async_driver::Client::with_options(endpoint.clone(), patient());
        let mut stream = client.stream(&request, parser()).await.unwrap();
        let mut found = Vec::new();
        while let Some(item) = stream.next().await.unwrap() {
            found.extend(kept(&item));
        }
        found
    });
    assert_eq!(found, wanted);
}

#[test]
fn streams_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let local = UnixListener::bind(&path).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoints: [Endpoint; 2] = [path.into(), tcp.local_addr().unwrap().into()];
    storm(|| {
        thread::scope(|scope| {
            scope.spawn(|| (0..2).for_each(|_| serve(local.accept().unwrap().0)));
            scope.spawn(|| (0..2).for_each(|_| serve(tcp.accept().unwrap().0)));
            for endpoint in &endpoints {
                scope.spawn(|| streamed(endpoint));
            }
        });
    });
}

fn shell(script: &str, watch: Watch) -> Child {
    Child::spawn_watched(Command::new("sh").args(["-c", script]), watch).unwrap()
}

#[test]
fn processes_are_waited_for() {
    storm(|| {
        for watch in [Watch::PidFd, Watch::Look] {
            let mut child = shell("sleep 0.3; exit 7", watch);
            assert_eq!(child.wait_timeout(LONG).unwrap(), Some(Exit::Code(7)));
            child.reap().unwrap();
            assert_eq!(shell("sleep 0.1; exit 3", watch).wait_and_reap().unwrap(), Exit::Code(3));
            // A limit that is short is kept, and does not end the wait at a first signal.
            let mut child = shell("sleep 1000", watch);
            assert_eq!(child.wait_timeout(Duration::from_millis(50)).unwrap(), None);
        }
        assert_eq!(about("/bin/true".as_ref()).unwrap(), About::default());
    });
}

/// One that takes its time to end is not killed for a signal that its sweeper gets meanwhile.
#[test]
fn what_is_swept_has_its_grace() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'sleep 0.3; exit 5' TERM; echo; while :; do sleep 0.05; done";
    storm(|| {
        let mut child = shell(script, Watch::PidFd);
        let pipe = child.take_stdout().unwrap();
        while rustix::io::read(&pipe, &mut [0; 1]).is_err() {
            thread::sleep(Duration::from_millis(1));
        }
        // As if the program that started it were gone.
        let mut record = Record::of(child.pid(), None).unwrap();
        record.parent_start += 1;
        let _written = record.write(folder.path()).unwrap();
        let swept = sweep(folder.path(), LONG).unwrap();
        assert_eq!(swept.ended, [record]);
        assert_eq!(child.try_wait().unwrap(), Some(Exit::Code(5)));
    });
}

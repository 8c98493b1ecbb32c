//! A thousand streams of one server at once: each whole, with bounded memory, and nothing is left.
//! The only test of its program, as it measures what the program has.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;

use rocload::core::Millis;
use rocload::llama::Item;
use rocload::llama::request::{Chat, Message};
use rocload::serve::{Listen, Setup};
use rocload::{blocking, serve, tokio};
use rustix::process::{Resource, getrlimit, setrlimit};

const STREAMS: usize = 1000;
const TOKENS: usize = 20;
/// The most memory that a stream may take, in bytes, all things included: its buffers (16 KiB to
/// read into, and what a line of JSON takes), the answer, a task.
const WITH_TASK: usize = 64 << 10;
/// The same with a thread in the place of the task: what it touches of its stack, which is more
/// in a build that is not optimised.
const WITH_THREAD: usize = 128 << 10;
/// The stack of such a thread, which is only there as far as it is touched.
const STACK: usize = 512 << 10;

/// A figure of `/proc/self/status`, in bytes.
fn memory(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// What the most memory was while `work` was done, beyond what it was before.
fn growth(work: impl FnOnce()) -> usize {
    // The kernel begins to count the most anew.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    work();
    memory("VmHWM:").saturating_sub(before)
}

fn setup(folder: &Path) -> Setup {
    let mut setup = Setup::new("model.gguf".into());
    setup.program = Some(env!("CARGO_BIN_EXE_fake-llama-server").into());
    setup.records = Some(folder.to_path_buf());
    setup.listen = Listen::UnixIn(folder.to_path_buf());
    // A thousand connections at once have to wait for their turn.
    let minute = Some(Millis(60_000));
    (setup.http.timeouts.connect, setup.http.timeouts.idle) = (minute, minute);
    for fault in [format!("tokens={TOKENS}"), "token-ms=5".into()] {
        setup.args.extend(["--fake".into(), fault.into()]);
    }
    setup
}

fn whole() -> String {
    (0..TOKENS).map(|token| format!("t{token} ")).collect()
}

fn word(item: &Item<'_>) -> Option<String> {
    match item {
        Item::Text { text, .. } => Some((*text).to_owned()),
        _ => None,
    }
}

/// A thread for each stream. All of them have begun before any of them ends.
fn with_threads(folder: &Path) {
    let server = serve::Builder::<blocking::Driver>::from_setup(setup(folder)).start().unwrap();
    server.ready().unwrap();
    let (server, all) = (Arc::new(server), Arc::new(Barrier::new(STREAMS)));
    let run = || {
        let (server, all) = (server.clone(), all.clone());
        let stream = move || {
            let messages = [Message::user("hello")];
            let mut stream = server.chat(&Chat::new(&messages)).unwrap();
            let mut text = String::new();
            while text.is_empty() {
                text.extend(word(&stream.next().unwrap().unwrap()));
            }
            all.wait();
            while let Some(item) = stream.next().unwrap() {
                text.extend(word(&item));
            }
            assert_eq!(text, whole());
        };
        thread::Builder::new().stack_size(STACK).spawn(stream).unwrap()
    };
    let threads: Vec<_> = (0..STREAMS).map(|_| run()).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    server.stop(None).unwrap();
}

/// A task for each.
async fn with_tasks(folder: &Path) {
    let builder = serve::Builder::<tokio::Driver>::from_setup(setup(folder));
    let server = Arc::new(builder.start().await.unwrap());
    server.ready().await.unwrap();
    let all = Arc::new(::tokio::sync::Barrier::new(STREAMS));
    let run = || {
        let (server, all) = (server.clone(), all.clone());
        ::tokio::spawn(async move {
            let messages = [Message::user("hello")];
            let mut stream = server.chat(&Chat::new(&messages)).await.unwrap();
            let mut text = String::new();
            while text.is_empty() {
                text.extend(word(&stream.next().await.unwrap().unwrap()));
            }
            all.wait().await;
            while let Some(item) = stream.next().await.unwrap() {
                text.extend(word(&item));
            }
            assert_eq!(text, whole());
        })
    };
    let tasks: Vec<_> = (0..STREAMS).map(|_| run()).collect();
    for task in tasks {
        task.await.unwrap();
    }
    server.stop(None).await.unwrap();
}

#[test]
fn a_thousand_streams_take_little_and_leave_nothing() {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = 4 * STREAMS as u64;
    if limit.maximum.is_some_and(|most| most < wanted) {
        limit.maximum = Some(wanted);
    }
    if limit.current.is_some_and(|now| now < wanted) {
        limit.current = Some(wanted);
    }
    // The server inherits it.
    setrlimit(Resource::Nofile, limit).expect("as many descriptors as streams");
    let folder = tempfile::tempdir().unwrap();
    let before = descriptors();

    let grown = growth(|| with_threads(folder.path()));
    println!("blocking: {} bytes a stream", grown / STREAMS);
    assert!(grown < STREAMS * WITH_THREAD, "{grown} bytes");
    assert_eq!(descriptors(), before);

    let runtime = ::tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let grown = growth(|| runtime.block_on(with_tasks(folder.path())));
    println!("tokio: {} bytes a stream", grown / STREAMS);
    assert!(grown < STREAMS * WITH_TASK, "{grown} bytes");
    drop(runtime);
    assert_eq!(descriptors(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

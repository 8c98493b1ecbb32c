//! Starting and stopping a server again and again leaves nothing. The only test of its program, as
//! it counts what the program has.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use rocload::llama::request::Tokenize;
use rocload::serve::{Class, Listen, Setup};
use rocload::{blocking, serve, tokio};

/// How often.
const CYCLES: usize = 200;

/// What the program has.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    descriptors: usize,
    threads: usize,
    children: usize,
    files: usize,
}

impl Counts {
    fn now(folder: &Path) -> Counts {
        let entries = |path: &Path| fs::read_dir(path).unwrap().count();
        let own = std::process::id().to_string();
        let children = fs::read_dir("/proc").unwrap().filter(|entry| {
            let stat = entry
                .as_ref()
                .ok()
                .and_then(|entry| fs::read_to_string(entry.path().join("stat")).ok());
            // After the name: state, parent.
            let parent = stat.as_ref().and_then(|stat| stat.rsplit_once(')')?.1.split(' ').nth(2));
            parent == Some(&own)
        });
        Counts {
            descriptors: entries(Path::new("/proc/self/fd")),
            threads: entries(Path::new("/proc/self/task")),
            children: children.count(),
            files: entries(folder),
        }
    }
}

fn setup(folder: &Path) -> Setup {
    let mut setup = Setup::new("model.gguf".into());
    setup.program = Some(env!("CARGO_BIN_EXE_fake-llama-server").into());
    setup.records = Some(folder.to_path_buf());
    setup.listen = Listen::UnixIn(folder.to_path_buf());
    setup
}

fn with_blocking(folder: &Path) {
    for at in 0..CYCLES {
        let server = serve::Builder::<blocking::Driver>::from_setup(setup(folder)).start().unwrap();
        match at % 4 {
            // Stopped while it loads, or dropped.
            0 => drop(server),
            1 => assert!(server.stop(None).is_ok()),
            2 => assert_eq!(
                server.ready().and_then(|_| server.kill()).unwrap(),
                Some(Class::KilledByUs)
            ),
            _ => {
                assert_eq!(server.tokenize(&Tokenize::new("a")).unwrap(), [1, 2, 3]);
                assert_eq!(server.stop(None).unwrap(), Some(Class::StoppedClean));
            }
        }
    }
}

async fn with_tokio(folder: &Path) {
    for at in 0..CYCLES {
        let builder = serve::Builder::<tokio::Driver>::from_setup(setup(folder));
        let server = builder.start().await.unwrap();
        match at % 4 {
            0 => {
                // The drop does not wait, a stop does.
                server.stop(None).await.unwrap();
                drop(server);
            }
            1 => assert!(server.stop(None).await.is_ok()),
            2 => {
                server.ready().await.unwrap();
                assert_eq!(server.kill().await.unwrap(), Some(Class::KilledByUs));
            }
            _ => {
                assert_eq!(server.tokenize(&Tokenize::new("a")).await.unwrap(), [1, 2, 3]);
                assert_eq!(server.stop(None).await.unwrap(), Some(Class::StoppedClean));
            }
        }
    }
}

#[test]
fn two_hundred_starts_and_stops_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let before = Counts::now(folder.path());
    with_blocking(folder.path());
    assert_eq!(Counts::now(folder.path()), before);

    let runtime = ::tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(with_tokio(folder.path()));
    drop(runtime);
    assert_eq!(Counts::now(folder.path()), before);
}

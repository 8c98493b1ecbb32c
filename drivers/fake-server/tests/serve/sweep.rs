//! What a killed program leaves, and that the next start ends it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::driver::Driver;
use crate::fake::{CEILING, Fake, exists, runs, until};

/// A program that keeps a server, with that server's process and socket.
fn keeper(fake: &Fake, guard: bool) -> (Child, u32, PathBuf) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fake-keeper"));
    command.arg(env!("CARGO_BIN_EXE_fake-llama-server")).arg(fake.folder.path());
    if guard {
        command.arg("guard");
    }
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let (pid, socket) = said.trim().split_once(" unix:").unwrap();
    (child, pid.parse().unwrap(), Path::new(socket).to_path_buf())
}

pub(crate) fn what_a_killed_program_leaves_is_swept<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let (mut keeper, pid, socket) = keeper(&fake, false);
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    assert!(runs(pid) && socket.exists() && fake.records() == 1);

    let server = driver.start(fake.setup()).unwrap();
    let swept = D::swept(&server).unwrap();
    assert_eq!(swept.ended.iter().map(|record| record.pid).collect::<Vec<_>>(), [pid]);
    until("it is gone", || !runs(pid));
    assert!(!socket.exists() && fake.records() == 1);
    driver.ready(&server).unwrap();
    driver.stop(&server, None).unwrap();
    assert_eq!(fake.records(), 0);
}

pub(crate) fn what_a_living_program_has_is_not_swept<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let (mut keeper, pid, socket) = keeper(&fake, false);
    let server = driver.start(fake.setup()).unwrap();
    assert_eq!(D::swept(&server).unwrap(), Default::default());
    assert!(runs(pid) && socket.exists() && fake.records() == 2);
    driver.stop(&server, None).unwrap();
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    let server = driver.start(fake.setup()).unwrap();
    assert_eq!(D::swept(&server).unwrap().ended.len(), 1);
    driver.stop(&server, None).unwrap();
}

/// Only the blocking driver has the thread for it.
#[test]
fn a_death_guard_ends_it_with_the_program() {
    let fake = Fake::new(&[]);
    let (mut keeper, pid, socket) = keeper(&fake, true);
    assert!(exists(pid));
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    until("it ends with the program", || !runs(pid));
    let swept = rocload::process::sweep(fake.folder.path(), CEILING).unwrap();
    assert_eq!((swept.stale, fake.records(), socket.exists()), (1, 0, false));
}

#[test]
fn a_death_guard_is_refused_where_no_thread_is_there_for_it() {
    let fake = Fake::new(&[]);
    let setup = fake.with(|setup| setup.death_guard = true);
    let driver = crate::tokio::Tokio::default();
    assert!(driver.start(setup).is_err());
}

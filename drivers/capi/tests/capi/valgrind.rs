//! The C programs under valgrind: nothing leaks, nothing is read or written that is not the program's.

use std::path::Path;
use std::process::Command;

use rocload_fixtures::{Stage, bad_archives, fixtures_dir};

use crate::toolchain::{BOTH, Language, Linking, clean, have, program, succeeds};

/// Runs a program under valgrind, whose findings fail it.
pub(crate) fn checked(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args([
        "--quiet",
        "--error-exitcode=99",
        "--leak-check=full",
        "--show-leak-kinds=definite,indirect,possible",
        "--errors-for-leak-kinds=definite,indirect,possible",
        "--track-fds=no",
    ]);
    command.arg(program);
    clean(&mut command);
    command
}

#[test]
fn valgrind_sees_faults_where_there_are_some() {
    if !have("valgrind", "valgrind_sees_faults_where_there_are_some") {
        return;
    }
    let made = program(BOTH[0], Language::C, Linking::Shared, "faulty.c");
    let Some(program) = made else { return };
    for fault in ["leak", "read"] {
        let status = checked(&program).arg(fault).output().unwrap().status;
        assert_eq!(status.code(), Some(99), "{fault}");
    }
    succeeds(checked(&program).arg("none"));
}

#[test]
fn nothing_leaks_from_sound_archives() {
    if !have("valgrind", "nothing_leaks_from_sound_archives") {
        return;
    }
    for library in BOTH {
        for source in ["dump.c", "contract.c"] {
            let Some(program) = program(library, Language::C, Linking::Shared, source) else {
                return;
            };
            for name in ["demo_none", "demo_zstd"] {
                let archive = fixtures_dir().join(format!("kpack/{name}.kpack"));
                succeeds(checked(&program).arg(archive));
            }
        }
    }
}

#[test]
fn nothing_leaks_from_broken_archives() {
    if !have("valgrind", "nothing_leaks_from_broken_archives") {
        return;
    }
    for library in BOTH {
        let Some(program) = program(library, Language::C, Linking::Shared, "probe.c") else {
            return;
        };
        // All that fail after opening; of those that cannot be opened, every fifth.
        let archives: Vec<_> = bad_archives()
            .enumerate()
            .filter(|(at, fixture)| fixture.stage != Some(Stage::Open) || at % 5 == 0)
            .map(|(_, fixture)| fixture.file())
            .collect();
        assert!(archives.len() > 50);
        succeeds(checked(&program).args(archives));
    }
}

#[test]
fn threads_leave_nothing_behind() {
    if !have("valgrind", "threads_leave_nothing_behind") {
        return;
    }
    for library in BOTH {
        let Some(program) = program(library, Language::C, Linking::Shared, "threads.c") else {
            return;
        };
        let archive = fixtures_dir().join("kpack/demo_zstd.kpack");
        succeeds(checked(&program).arg(archive).args(["4", "2"]));
    }
}

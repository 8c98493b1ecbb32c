//! The built command, run as a user runs it.
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

mod bundle;
mod demo;
mod errors;
mod extract;
mod faults;
mod gguf;
mod gguf_files;
mod gpu;
mod list;
mod pack;
mod readme;
mod resolve;
mod resources;
mod serving;
mod shell;
mod sse;
mod verify;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rocload_fixtures::{Fixture, fixtures_dir, good_archives};
use serde_json::Value;

/// The command under test.
const ROCLOAD: &str = env!("CARGO_BIN_EXE_rocload");

/// What a run left.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("the command writes UTF-8");
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// It went well and said nothing on standard error.
    #[track_caller]
    fn fine(self) -> Ran {
        assert_eq!((self.code, &*self.err), (Some(0), ""), "{self:?}");
        self
    }

    /// It ended with `code` and one error line, without hints, that contains `text`.
    #[track_caller]
    fn failed(self, code: i32, text: &str) -> Ran {
        assert_eq!(self.code, Some(code), "{self:?}");
        let errors: Vec<&str> =
            self.err.lines().filter(|line| !line.starts_with("hint: ")).collect();
        let [line] = errors[..] else { panic!("one line is wanted: {self:?}") };
        assert!(line.starts_with("rocload: ") && line.contains(text), "{line}");
        self
    }

    /// It ended with status 2 and usage, and says `text`.
    #[track_caller]
    fn misused(self, text: &str) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(self.err.starts_with("error: ") && self.err.contains(text), "{self:?}");
    }

    /// The one JSON value that was printed.
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON values that were printed, one a line.
    #[track_caller]
    fn json_lines(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON on each line"))
            .collect()
    }
}

/// `rocload`, without a terminal and without the environment's wishes about colour.
fn command() -> Command {
    from(Command::new(ROCLOAD))
}

/// As [`command`], and hears the interrupt even where this process ignores it.
fn interruptible() -> Command {
    if !ignores(2) {
        return command();
    }
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal=INT", ROCLOAD]);
    from(command)
}

fn from(mut command: Command) -> Command {
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// The signal is ignored in this process, as in the background of a script, and so it would be in the command.
fn ignores(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() >> (signal - 1) & 1 != 0
}

/// Runs `rocload` with these arguments.
fn rocload<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    command().args(args).output().expect("the command runs").into()
}

/// Runs `rocload kpack` with words, and then a path.
fn kpack(words: &str, path: &Path) -> Ran {
    let words = words.split_whitespace().map(OsStr::new);
    rocload([OsStr::new("kpack")].into_iter().chain(words).chain([path.as_os_str()]))
}

/// Runs `rocload gguf` with words, and then paths.
fn gguf<P: AsRef<OsStr>>(words: &str, paths: impl IntoIterator<Item = P>) -> Ran {
    let mut command = command();
    command.arg("gguf").args(words.split_whitespace()).args(paths);
    command.output().expect("the command runs").into()
}

/// A committed GGUF file.
fn model(name: &str) -> PathBuf {
    fixtures_dir().join("gguf").join(name)
}

/// The sound archive of this name.
fn good(name: &str) -> Fixture {
    good_archives().find(|archive| archive.name() == name).expect("there is such a fixture")
}

/// One of the demonstration archives.
fn demo(scheme: &str) -> PathBuf {
    fixtures_dir().join(format!("kpack/demo_{scheme}.kpack"))
}

/// A Python that has the modules of the public tools.
struct Python(std::ffi::OsString);

/// Finds Python with msgpack and zstandard: `ROCLOAD_PYTHON`, or the machine's own. Without it a
/// test is skipped and says so.
fn python(test: &str) -> Option<Python> {
    let named = std::env::var_os("ROCLOAD_PYTHON");
    let python = Python(named.unwrap_or_else(|| "python3".into()));
    let ran = Command::new(&python.0).args(["-c", "import msgpack, zstandard"]).output();
    if ran.is_ok_and(|ran| ran.status.success()) {
        return Some(python);
    }
    eprintln!("{test}: skipped: no python with msgpack and zstandard");
    None
}

impl Python {
    /// What a program writes to standard output; it must end well.
    #[track_caller]
    fn run(&self, program: &str, args: &[&str]) -> String {
        let ran = Command::new(&self.0).args(["-c", program]).args(args).output().unwrap();
        let ran = Ran::from(ran);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{ran:?}");
        ran.out
    }
}

//! Setups of the fake server, and what is left of one.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rocload::process::identity;
use rocload::serve::{Error, Setup};
use tempfile::TempDir;

/// No test asserts a time: this only ends one that hangs.
pub(crate) const CEILING: Duration = Duration::from_secs(60);

/// A setup of the fake server with these faults, and the folder where it is noted.
pub(crate) struct Fake {
    pub(crate) folder: TempDir,
    faults: Vec<String>,
}

impl Fake {
    pub(crate) fn new(faults: &[&str]) -> Fake {
        let folder = tempfile::tempdir().unwrap();
        Fake { folder, faults: faults.iter().map(|fault| (*fault).to_owned()).collect() }
    }

    pub(crate) fn setup(&self) -> Setup {
        let mut setup = Setup::new("model.gguf".into());
        setup.program = Some(env!("CARGO_BIN_EXE_fake-llama-server").into());
        setup.records = Some(self.folder.path().to_path_buf());
        for fault in &self.faults {
            setup.args.extend(["--fake".into(), fault.into()]);
        }
        setup
    }

    /// The same with a change.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Setup)) -> Setup {
        let mut setup = self.setup();
        change(&mut setup);
        setup
    }

    /// How many servers are noted.
    pub(crate) fn records(&self) -> usize {
        fs::read_dir(self.folder.path()).unwrap().count()
    }
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < CEILING, "it never came: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs.
pub(crate) fn runs(pid: u32) -> bool {
    identity(pid).is_some_and(|found| !found.zombie)
}

/// Whether there is a process of this number, were it a zombie.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// The report of a server's end.
pub(crate) fn ended(error: Error) -> rocload::serve::Ended {
    error.ended().unwrap_or_else(|| panic!("no end: {error}")).clone()
}

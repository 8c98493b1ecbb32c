//! `rocload server install`: a llama-server for the CPU, in the user's cache.
//!
//! What is to be done stands in a Python script, which the project's own gate uses too: Python is
//! needed in any case, to get packages.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use clap::Args;
use rocload::serve::find::{self, Found, Origin};

use super::info;
use crate::failure::{Failure, Status, printable_path};
use crate::ui::Ui;

const SCRIPT: &str = include_str!("../../assets/servers/install.py");
const LAUNCHER: &str = include_str!("../../assets/servers/launcher.py");

/// Get a llama-server for the CPU into your cache, from PyPI
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload server install           llama.cpp's server from a Python package: 34 MB, seconds
  rocload server install --build   the true llama-server, built from source: ten minutes

Needed for the first are python3 with pip and venv; for --build also cmake, ninja and a C++
compiler. What is there already is not fetched again. Nothing outside of the cache is changed: it
is ~/.cache/rocload/servers, or in ROCLOAD_CACHE or XDG_CACHE_HOME.

Exit status: 0 installed, 1 failed.")]
pub(crate) struct Install {
    /// Build the true llama-server from its source package
    #[arg(long)]
    build: bool,
    /// Print JSON, errors too
    #[arg(long)]
    json: bool,
}

impl Install {
    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        match install(ui, self.build) {
            Ok(found) => {
                info::show(ui, &found);
                tell_preferred(ui, &found);
            }
            Err(failure) => ui.fail(&failure),
        }
    }
}

/// What was installed is used only where nothing else comes first.
fn tell_preferred(ui: &mut Ui, installed: &Found) {
    let text = match find::find(None) {
        Ok(used) if used.program == installed.program => return,
        Ok(used) => {
            let program = printable_path(&used.program);
            format!("another one comes first: {program}, {}", used.origin)
        }
        Err(fault) => format!("it will not be used: {fault}; {}", fault.advice()),
    };
    ui.remark(&format!("{text}; --server names this one"));
}

/// Installs one, unless it is there already.
pub(crate) fn install(ui: &mut Ui, build: bool) -> Result<Found, Failure> {
    let Some(cache) = find::cache_folder() else {
        let text = "there is no place for a cache: HOME is not set";
        return Err(Failure::new(Status::Failed, "no_cache", text));
    };
    let folder = cache.as_path();
    let io = |doing: &'static str| move |error: io::Error| Failure::io(doing, &error).at(folder);
    fs::create_dir_all(folder).map_err(io("making the cache"))?;
    let scripts = tempfile::tempdir().map_err(io("making a folder"))?;
    let script = scripts.path().join("install.py");
    fs::write(&script, SCRIPT).map_err(io("writing the script"))?;
    fs::write(scripts.path().join("launcher.py"), LAUNCHER).map_err(io("writing the launcher"))?;
    let (status, program) = run_script(ui, &script, folder, build)?;
    let program = PathBuf::from(program.trim_end());
    if !status.success() {
        let text = "installing a llama-server failed: see what was said before";
        return Err(Failure::new(Status::Failed, "install", text));
    }
    match find::find(Some(&program)) {
        Ok(mut found) => {
            found.origin = Origin::Cache;
            Ok(found)
        }
        Err(fault) => Err(Failure::new(Status::Failed, "install", fault.to_string())),
    }
}

/// Runs the script; what it tells of its progress goes to standard error, its result is the
/// path.
fn run_script(
    ui: &Ui,
    script: &Path,
    cache: &Path,
    build: bool,
) -> Result<(ExitStatus, String), Failure> {
    let what = if build { "llama-server" } else { "xllamacpp" };
    let mut command = Command::new("python3");
    command.arg(script).arg(what).arg(cache).stdin(Stdio::null()).stdout(Stdio::piped());
    if ui.quiet {
        command.arg("--quiet");
    }
    let mut child = command.spawn().map_err(|error| {
        Failure::io("starting python3", &error).hint("install Python 3 with pip and venv")
    })?;
    let mut path = String::new();
    let read = match &mut child.stdout {
        Some(stdout) => stdout.take(64 << 10).read_to_string(&mut path),
        None => Ok(0),
    };
    let status = child.wait().map_err(|error| Failure::io("waiting for python3", &error))?;
    read.map_err(|error| Failure::io("reading from python3", &error))?;
    Ok((status, path))
}

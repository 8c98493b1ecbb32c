//! `rocload server info`: which llama-server is used, why, and what it says of itself.

use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use clap::Args;
use rocload::serve::about::{About, about_unless};
use rocload::serve::find::{self, Found, Origin};
use serde::Serialize;

use crate::failure::{Failure, Status, printable_path};
use crate::interrupt;
use crate::serving::{json_path, missing};
use crate::ui::{FAINT, STRONG, Ui};

/// How long the thread of signals may take to end the program.
const PATIENCE: Duration = Duration::from_secs(20);

/// Tell which llama-server is used, and why
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload server info
  rocload server info --json | jq -r .server.version

It is looked for in this order: --server, the variables ROCLOAD_LLAMA_SERVER and
ROCM_LLAMA_SERVER_PATH, PATH, and the cache where `rocload server install` puts one. A variable
that is set and wrong is an error.

Exit status: 0 found, 1 it cannot be run, 4 not found.")]
pub(crate) struct Info {
    /// Tell about this one
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// Print JSON, errors too
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
pub(super) struct InfoJson<'a> {
    server: ServerJson<'a>,
}

#[derive(Serialize)]
struct ServerJson<'a> {
    program: String,
    origin: &'static str,
    variable: Option<&'static str>,
    version: Option<&'a str>,
    devices: Option<&'a [String]>,
}

impl<'a> InfoJson<'a> {
    pub(super) fn of(found: &Found, about: &'a About) -> Self {
        InfoJson {
            server: ServerJson {
                program: json_path(&found.program),
                origin: found.origin.name(),
                variable: match found.origin {
                    Origin::Variable(name) => Some(name),
                    _ => None,
                },
                version: about.version.as_deref(),
                devices: about.devices.as_deref(),
            },
        }
    }
}

impl Info {
    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        match find::find(self.server.as_deref()) {
            Ok(found) => show(ui, &found),
            Err(fault) => ui.fail(&missing(&fault)),
        }
    }
}

/// Asks a program; an interruption waits until it is gone.
pub(crate) fn ask(program: &Path) -> io::Result<About> {
    let stop = Arc::new(AtomicBool::new(false));
    let asking = Arc::new(Mutex::new(()));
    let (told, until) = (stop.clone(), asking.clone());
    let runs = asking.lock();
    interrupt::restore_in_any_case(move || {
        told.store(true, Ordering::Relaxed);
        drop(until.lock());
    });
    let about = about_unless(program, &stop);
    drop(runs);
    if stop.load(Ordering::Relaxed) {
        // The thread of signals ends the program, by that signal's status.
        thread::sleep(PATIENCE);
    }
    about
}

/// Shows what is known of a program.
pub(super) fn show(ui: &mut Ui, found: &Found) {
    let about = match ask(&found.program) {
        Ok(about) => about,
        Err(error) => {
            let mut failure = Failure::io("asking it for its version", &error);
            failure.status = Status::Failed;
            return ui.fail(&failure.at(&found.program));
        }
    };
    if ui.json {
        return ui.json_line(&InfoJson::of(found, &about));
    }
    let devices = match about.devices.as_deref() {
        None => "it does not say".to_owned(),
        Some([]) => "none: it runs on the cpu".to_owned(),
        Some(devices) => devices.join("\n         "),
    };
    let version = about.version.as_deref().unwrap_or("it does not say");
    let program = printable_path(&found.program);
    for (name, value) in [
        ("server", format!("{STRONG}{program}{STRONG:#}")),
        ("found", found.origin.to_string()),
        ("version", version.to_owned()),
        ("devices", devices),
    ] {
        let _ = writeln!(ui.out(), "{FAINT}{name:<8}{FAINT:#} {value}");
    }
}

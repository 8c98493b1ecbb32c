//! `rocload doctor`: is this machine fit to run models, and if not, what to do.

use std::io::Write;

use clap::Args;
use rocload::gpu::{DeviceMask, Gpus, Reason, Selection, Verdict};
use rocload::serve::find;
use serde::Serialize;

use crate::device::{self, Launch, Where};
use crate::failure::{Failure, Status, io_text, printable_path};
use crate::gpu::schema::{DeviceJson, device as device_json};
use crate::text;
use crate::ui::{BAD, FAINT, GOOD, STRONG, Ui};

/// Check what this machine has to run models on, and tell what to do about what is wrong
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload doctor
  rocload doctor --json | jq '.checks[] | select(.state == \"fail\")'
  rocload doctor --sysroot machine.json

Each line is a check: ok, note (worth knowing), or fail, with what to do. The exit status is 1 when
one fails. A machine without an AMD GPU is fine: the CPU does the work. A llama-server is looked
for as `rocload server info` tells, but not for another machine (--sysroot).")]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Where,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Note,
    Fail,
}

#[derive(Serialize)]
struct Check {
    check: String,
    state: State,
    text: String,
    hint: Option<String>,
}

#[derive(Serialize)]
struct DoctorJson {
    ok: bool,
    checks: Vec<Check>,
    devices: Vec<DeviceJson>,
}

impl Check {
    fn new(check: impl Into<String>, state: State, text: impl Into<String>) -> Check {
        Check { check: check.into(), state, text: text.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Check {
        self.hint = Some(hint.into());
        self
    }
}

impl Doctor {
    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        let (gpus, selection) = match self.place.select() {
            Ok(found) => found,
            Err(failure) => return ui.fail(&failure),
        };
        let mut checks = checks(&gpus, &selection);
        // Another machine's servers are not here.
        if self.place.sysroot.is_none() {
            checks.push(server());
        }
        let ok = checks.iter().all(|check| check.state != State::Fail);
        if !ok {
            ui.note(Status::Failed);
        }
        if ui.json {
            let devices = gpus.gpus().iter().map(|gpu| device_json(&gpus, gpu)).collect();
            return ui.json_line(&DoctorJson { ok, checks, devices });
        }
        let width = checks.iter().map(|check| check.check.len()).max().unwrap_or(0);
        let quiet = ui.quiet;
        let out = ui.out();
        for Check { check, state, text, hint } in &checks {
            let (style, word) = match state {
                State::Ok => (GOOD, "ok  "),
                State::Note => (STRONG, "note"),
                State::Fail => (BAD, "fail"),
            };
            let _ = writeln!(out, "{style}{word}{style:#}  {check:<width$}  {text}");
            if let Some(hint) = hint.as_ref().filter(|_| !quiet) {
                let _ = writeln!(out, "      {:width$}  {FAINT}{hint}{FAINT:#}", "");
            }
        }
    }
}

/// The llama-server that `run` and `serve` would start.
fn server() -> Check {
    let found = match find::find(None) {
        Ok(found) => found,
        Err(fault) => {
            return Check::new("server", State::Fail, fault.to_string()).hint(fault.advice());
        }
    };
    let program = printable_path(&found.program);
    let about = match crate::server::ask(&found.program) {
        Ok(about) => about,
        Err(error) => {
            let text = format!("{program}: asking it for its version: {}", io_text(&error));
            let hint = "`rocload server install` gets one that runs here";
            return Check::new("server", State::Fail, text).hint(hint);
        }
    };
    let version = about.version.as_deref().unwrap_or("unknown version");
    let devices = match about.devices.as_deref() {
        None => "it does not tell its devices".to_owned(),
        Some([]) => "for the cpu alone".to_owned(),
        Some(devices) => format!("for {}", devices.join(", ")),
    };
    // One that runs and says nothing is hardly a llama-server.
    let state = if about.version.is_some() { State::Ok } else { State::Note };
    let text = format!("{program}, {version}, {devices}: {}", found.origin);
    let mut check = Check::new("server", state, text);
    check.hint = about.version.is_none().then(|| "`rocload server info` tells more".to_owned());
    check
}

fn checks(gpus: &Gpus, selection: &Selection) -> Vec<Check> {
    let mut checks = Vec::new();
    checks.push(match gpus.available() {
        Some(bytes) => Check::new("memory", State::Ok, format!("{} to give", text::size(bytes))),
        None => Check::new("memory", State::Note, "the system does not tell its free memory"),
    });
    for (gpu, verdict) in gpus.gpus().iter().zip(&selection.verdicts) {
        let name = format!("gpu {}", gpu.node.id);
        let what = format!("{}, {}", device::name(gpu), gpu.kind.name());
        let free = gpu.vram.free().map_or_else(|| "unknown".into(), text::size);
        checks.push(match verdict {
            Verdict::Chosen(_) => {
                let why = selection.choice.chosen.map_or("", |chosen| chosen.why.text());
                Check::new(name, State::Ok, format!("{what}, {free} free, chosen: {why}"))
            }
            Verdict::Rejected(reason @ (Reason::NoAccess | Reason::UnknownTarget)) => {
                // That another one can be used makes it no failure.
                let state = match selection.choice.chosen {
                    Some(_) => State::Note,
                    None => State::Fail,
                };
                Check::new(name, state, format!("{what}: {}", reason.text()))
            }
            Verdict::Rejected(reason) => Check::new(
                name,
                State::Ok,
                format!("{what}, {free} free, not chosen: {}", reason.text()),
            ),
        });
        if gpu.effective != gpu.target {
            let taken = gpu.effective.map_or_else(|| "no known target".into(), |t| t.to_string());
            let text = format!("{} is taken for {taken}", device::name(gpu));
            let hint = "HSA_OVERRIDE_GFX_VERSION is passed on to servers";
            checks.push(Check::new("override", State::Note, text).hint(hint));
        }
        if gpu.card.suspended {
            let text = format!("{} sleeps, and wakes when it is used", device::name(gpu));
            checks.push(Check::new("power", State::Note, text));
        }
    }
    for node in gpus.skipped() {
        let text = format!("node {node} cannot be read, so the runtime passes over it");
        checks.push(Check::new("hidden", State::Note, text));
    }
    for other in gpus.others().iter().filter(|other| other.is_amd()) {
        let number = other.card.number.unwrap_or(0);
        let text = format!("card{number} is AMD's, and the compute driver does not know it");
        checks.push(Check::new("card", State::Note, text));
    }
    if let DeviceMask::Kept(masks) = &selection.mask {
        let names: Vec<&str> = masks.iter().map(|(name, _)| *name).collect();
        let text = format!("{} chooses devices, and is kept", names.join(" and "));
        let several =
            (names.len() > 1).then_some("set one alone: they count in each other's lists");
        let mut check = Check::new("mask", State::Note, text);
        check.hint = several.map(str::to_owned);
        checks.push(check);
    }
    if let Some(bad) = gpus.bad_override() {
        checks.push(Check::new("override", State::Fail, bad.to_string()));
    }
    checks.push(match device::launch(gpus, selection, false) {
        Ok(Launch::Gpu) => Check::new("models", State::Ok, "run on the gpu"),
        Ok(Launch::Cpu(why)) => {
            let advice = selection.problem.filter(|_| gpus.gpus().is_empty());
            let mut check = Check::new("models", State::Note, why.unwrap_or_default());
            check.hint = advice.map(|problem| problem.advice().to_owned());
            check
        }
        Err(Failure { message, hint, .. }) => {
            Check::new("models", State::Fail, message).hint(hint.unwrap_or_default())
        }
    });
    checks
}

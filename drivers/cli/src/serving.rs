//! What `run` and `serve` share: the options of a server, its events, its errors.

use std::ffi::OsString;
use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
use rocload::ErrorKind;
use rocload::blocking::{Driver, Server};
use rocload::core::Millis;
use rocload::core::serve::exit::SpawnFault;
use rocload::core::serve::plan::Fault;
use rocload::error::printable;
use rocload::http;
use rocload::serve::find::{self, Found};
use rocload::serve::{Builder, Cause, Class, Ended, Error, Gpus, Layers};

use crate::device::{self, Where};
use crate::failure::{Failure, Status};
use crate::text;
use crate::ui::Ui;

/// Options of a server.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The llama-server to start; found if not given, see `rocload server info`
    #[arg(long, value_name = "PATH", help_heading = "Server")]
    server: Option<PathBuf>,
    /// Tokens of context over all requests at once; what fits the memory if not given
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, help_heading = "Server")]
    ctx: Option<u32>,
    /// Use no GPU, and say nothing about it
    #[arg(long, conflicts_with_all = ["devices", "gpu_layers"], help_heading = "Server")]
    cpu: bool,
    /// The AMD GPUs to use, as in ROCR_VISIBLE_DEVICES; `inherit` leaves the choice to the
    /// environment; if not given, the one that `rocload gpu` chooses
    #[arg(long, value_name = "MASK", help_heading = "Server")]
    devices: Option<String>,
    /// Layers on the GPU: a number, or all; what fits if not given
    #[arg(long, value_name = "N", value_parser = parse_layers, help_heading = "Server")]
    gpu_layers: Option<Layers>,
    /// Threads of the server
    #[arg(long, value_name = "N", help_heading = "Server")]
    threads: Option<u32>,
    /// Give the model at most this long to load, in seconds; without it, as long as the server
    /// writes something at least every five minutes
    #[arg(long, value_name = "SECONDS", help_heading = "Server")]
    load_timeout: Option<u64>,
    #[command(flatten)]
    place: Where,
    /// Render nodes of the GPUs that are used.
    #[arg(skip)]
    minors: OnceLock<Vec<u32>>,
    /// Flags for llama-server itself, as they are
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<OsString>,
}

fn parse_layers(text: &str) -> Result<Layers, String> {
    match text {
        "all" => Ok(Layers::All),
        _ => text.parse().map(Layers::Count).map_err(|_| "a number, or all".into()),
    }
}

impl ServerArgs {
    /// A server of this model, and its program.
    pub(crate) fn builder(
        &self,
        ui: &mut Ui,
        model: &Path,
    ) -> Result<(Builder<Driver>, Found), Failure> {
        let found = find::find(self.server.as_deref()).map_err(|fault| missing(&fault))?;
        // It would be waited for without an end, here or by the server.
        if std::fs::metadata(model).is_ok_and(|metadata| !metadata.is_file()) {
            let text = "the model is no regular file";
            return Err(Failure::new(Status::Malformed, "no_model", text).at(model));
        }
        let mut builder = Server::builder(model).program(&found.program).args(&self.flags);
        match rocload::Model::open(model) {
            Ok(model) => builder = builder.summary(model.facts().summary().clone()),
            Err(error) => no_model(&error, model)?,
        }
        let (gpus, remarks) = self.gpus(ui)?;
        builder = builder.gpus(gpus);
        if let Some(ctx) = self.ctx {
            builder = builder.context(ctx);
        }
        if let Some(layers) = self.gpu_layers {
            builder = builder.layers(layers);
        }
        if let Some(threads) = self.threads {
            builder = builder.threads(threads);
        }
        if let Some(seconds) = self.load_timeout {
            let mut policy = builder.setup().policy;
            policy.load = Some(Millis(seconds.saturating_mul(1000)));
            builder = builder.policy(policy);
        }
        let notes = builder.setup().notes().map_err(|error| failure(&error, model))?;
        // Only now is it known that there will be a server, which these are about.
        for remark in &remarks {
            ui.remark(remark);
        }
        for note in notes {
            ui.remark(&note.to_string());
        }
        if ui.verbose {
            let program = crate::failure::printable_path(&found.program);
            ui.remark(&format!("starts {program}: {}", found.origin));
            builder = builder.on_line(|line| {
                let line = printable(line);
                let _ = std::io::Write::write_all(
                    &mut std::io::stderr(),
                    format!("server: {line}\n").as_bytes(),
                );
            });
        }
        Ok((builder, found))
    }
}

impl ServerArgs {
    /// The GPUs to use: those that were asked for, or the one that is chosen; and what is to be told
    /// of them.
    fn gpus(&self, ui: &Ui) -> Result<(Gpus, Vec<String>), Failure> {
        let plain = |gpus| Ok((gpus, Vec::new()));
        match self.devices.as_deref() {
            Some("inherit") => return plain(Gpus::Inherited),
            Some(mask) => return plain(Gpus::Chosen(mask.to_owned())),
            None if self.cpu => return plain(Gpus::None),
            None => {}
        }
        let mut chosen = device::for_server(&self.place)?;
        chosen.remarks.extend(chosen.about.take().filter(|_| ui.verbose));
        // Once a run.
        let _ = self.minors.set(chosen.minors);
        Ok((chosen.gpus, chosen.remarks))
    }

    /// What waits until a server that has ended has given back the memory of the chosen GPUs.
    pub(crate) fn memory_waiter(&self) -> impl Fn() + Send + 'static {
        let (place, minors) = (self.place.clone(), self.minors.get().cloned().unwrap_or_default());
        move || device::wait_for_memory(&place, &minors)
    }
}

/// Tells which servers were ended that a killed program has left.
pub(crate) fn tell_swept(ui: &mut Ui, server: &Server) {
    let Some(swept) = server.swept() else { return };
    for record in &swept.ended {
        ui.remark(&format!("ended the server {} that a killed program had left", record.pid));
    }
    for record in &swept.stuck {
        ui.remark(&format!(
            "the server {} that a killed program had left does not end",
            record.pid
        ));
    }
}

/// What no server can load is told before one is started. What else we cannot read the server may;
/// and if it cannot, it says so.
fn no_model(error: &rocload::Error, model: &Path) -> Result<(), Failure> {
    let failure = Failure::library(error, model);
    match error.kind() {
        ErrorKind::NotGguf(_) => Err(failure),
        ErrorKind::Io(io) => match io.kind() {
            NotFound | NotADirectory | PermissionDenied => {
                let kind = Class::ModelMissing.name();
                Err(Failure { status: Status::NotFound, kind, ..failure })
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// There is no server's program.
pub(crate) fn missing(fault: &find::Fault) -> Failure {
    Failure::new(Status::NotFound, "no_server", fault.to_string()).hint(fault.advice())
}

/// The exit status of a class.
fn status(class: Class) -> Status {
    match class {
        Class::ModelMissing | Class::NotRunnable => Status::NotFound,
        Class::ModelBroken | Class::ModelUnsupported => Status::Malformed,
        Class::BadFlag => Status::Usage,
        _ => Status::Failed,
    }
}

/// The file that the lines blame: another one than the model, such as a projector, if they name
/// one.
fn file_at_fault(lines: &[String], model: &Path) -> PathBuf {
    let ours = printable(model.as_os_str().as_bytes());
    let named = |line: &String| {
        let at = ["failed to open ", "failed to load "].iter().find_map(|text| line.find(text))?;
        let (_, rest) = line[at..].split_once('\'')?;
        let (name, _) = rest.rsplit_once('\'')?;
        (!name.is_empty() && name != ours).then(|| PathBuf::from(name))
    };
    lines.iter().find_map(named).unwrap_or_else(|| model.to_path_buf())
}

fn ended(ended: &Ended, model: &Path) -> Failure {
    let (status, kind) = match ended.failure.cause {
        Cause::Exit(class) => (status(class), class.name()),
        Cause::Spawn(SpawnFault::NotFound | SpawnFault::NoInterpreter) => {
            (Status::NotFound, "no_server")
        }
        Cause::Spawn(_) => (Status::Failed, "spawn"),
        Cause::Stalled(_) => (Status::Failed, "stalled"),
        Cause::LoadTimeout(_) => (Status::Failed, "load_timeout"),
        Cause::Unresponsive(_) => (Status::Failed, "unresponsive"),
        _ => (Status::Failed, "failed"),
    };
    let mut message = ended.failure.to_string();
    for (at, line) in ended.lines.iter().enumerate() {
        message += if at == 0 { ": " } else { " | " };
        message += line;
    }
    let mut failure = Failure::new(status, kind, message);
    let about_model = matches!(
        ended.class(),
        Some(Class::ModelMissing | Class::ModelBroken | Class::ModelUnsupported)
    );
    failure.path = match ended.failure.cause {
        Cause::Spawn(_) => Some(ended.program.clone()),
        _ if about_model => Some(file_at_fault(&ended.lines, model)),
        _ => None,
    };
    failure.hint = Some(ended.advice().to_owned()).filter(|advice| !advice.is_empty());
    failure
}

/// A server's error, for people and programs.
pub(crate) fn failure(error: &Error, model: &Path) -> Failure {
    let text = error.to_string();
    match error {
        Error::Ended(end) => ended(end, model),
        Error::Find(fault) => missing(fault),
        Error::Plan(Fault::NoModel(_)) => {
            Failure::new(Status::Malformed, "no_model", text).at(model)
        }
        Error::Plan(fault) => {
            let hint = match fault {
                Fault::Owned { .. } | Fault::Twice { .. } => "leave it out of what follows --",
                _ => return Failure::new(Status::Usage, "usage", text),
            };
            Failure::new(Status::Usage, "usage", text).hint(hint)
        }
        Error::Stopped => Failure::new(Status::Failed, "stopped", text),
        Error::Stuck { .. } => Failure::new(Status::Failed, "stuck", text),
        Error::Server(_) | Error::Http(http::Error::Status(_)) => {
            Failure::new(Status::Failed, "server", format!("the server reports: {text}"))
        }
        Error::Http(http::Error::Truncated(_)) => Failure::new(Status::Failed, "truncated", text),
        Error::Io { doing, source } => Failure::io(doing, source),
        _ => Failure::new(Status::Failed, "http", text),
    }
}

/// A path as JSON shows it.
pub(crate) fn json_path(path: &Path) -> String {
    String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned()
}

/// A span for people.
pub(crate) fn span(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".into(), text::duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_is_at_fault() {
        let blamed = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
            file_at_fault(&lines, Path::new("dir/it's.gguf"))
        };
        let model = Path::new("dir/it's.gguf");
        assert_eq!(blamed(&["E srv load_model: failed to load model, 'dir/it's.gguf'"]), model);
        assert_eq!(blamed(&["E mtmd_init: oh", "failed to load model from x", ""]), model);
        assert_eq!(
            blamed(&["E srv    load_model: failed to load multimodal model, 'x y'", "E exiting"]),
            Path::new("x y")
        );
        let open =
            "E gguf_init_from_file: failed to open GGUF file 'x' (No such file or directory)";
        assert_eq!(blamed(&[open, "failed to load model, 'dir/it's.gguf'"]), Path::new("x"));
    }
}

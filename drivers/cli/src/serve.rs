//! `rocload serve`: a server of a model, watched until ^C or SIGTERM.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use clap::Args;
use rocload::blocking::Server;
use rocload::http::Endpoint;
use rocload::serve::find::Found;
use rocload::serve::{Cause, Class, Error, Event, Exit, Restart};
use serde::Serialize;

use crate::failure::{Failure, Status, printable_path};
use crate::front::Front;
use crate::interrupt;
use crate::serving::{ServerArgs, failure, json_path, span, tell_swept};
use crate::ui::{FAINT, STRONG, TYPED, Ui};

/// Serve a model until ^C: start llama-server, watch it, end it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload serve model.gguf
  rocload serve model.gguf --listen 127.0.0.1:8080
  rocload serve model.gguf --json | jq -r 'select(.type == \"ready\").endpoint.unix'
  rocload serve model.gguf -- --jinja --no-warmup      flags for llama-server itself

It listens on a Unix socket in a folder that only you can enter, with a fresh name each time.
With --listen it listens on a port of this machine, and every request must bear a key, which is
made up and told once. Web pages of other origins are not served.

Flags that would change where it listens, the model, or what is read of it are refused by name.

Exit status: 0 ended by ^C or SIGTERM, 1 failed, 2 wrong usage, 3 the model is broken, 4 no model
or no llama-server.")]
pub(crate) struct Serve {
    /// The model's file (GGUF)
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Listen on this port of 127.0.0.1 instead of a Unix socket; 0 takes a free one
    #[arg(long, value_name = "127.0.0.1:PORT", value_parser = parse_listen)]
    listen: Option<u16>,
    /// The key that requests must bear, instead of a random one
    #[arg(long, value_name = "KEY", requires = "listen")]
    api_key: Option<String>,
    /// Serve without a key: every user of this machine may ask
    #[arg(long, requires = "listen", conflicts_with = "api_key")]
    no_api_key: bool,
    /// Requests at once
    #[arg(short, long, value_name = "N")]
    parallel: Option<u32>,
    /// The model's name in answers
    #[arg(long, value_name = "NAME")]
    alias: Option<String>,
    /// Serve embeddings instead of text
    #[arg(long)]
    embeddings: bool,
    /// Answer /metrics
    #[arg(long)]
    metrics: bool,
    /// Start it again when it ends by itself, at most five times in ten minutes
    #[arg(long)]
    restart: bool,
    /// Print what happens as lines of JSON, and errors too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// `127.0.0.1:8080`, `localhost:8080`, `:8080` or `8080`.
fn parse_listen(text: &str) -> Result<u16, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    if !matches!(host, "" | "127.0.0.1" | "localhost") {
        return Err("it listens on this machine alone: 127.0.0.1:PORT".into());
    }
    port.parse().map_err(|_| "a port is a number up to 65535".into())
}

/// A key of 32 hexadecimal digits that nobody can guess.
fn random_key() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn open_front(port: u16) -> Result<Front, Failure> {
    Front::new(port).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let text = format!("127.0.0.1:{port} is taken by another program");
            Failure::new(Status::Failed, "bind_conflict", text)
                .hint("choose another port, or 0 for a free one")
        }
        _ => Failure::io(&format!("listening on 127.0.0.1:{port}"), &error),
    })
}

/// What the main thread is told.
enum Told {
    Event(Event),
    /// A signal that asks for the end.
    End,
}

/// A server that runs, and what is in front of it.
struct Serving {
    server: Arc<Server>,
    found: Found,
    key: Option<String>,
    front: Option<Front>,
}

impl Serve {
    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        if let Err(failure) = self.serve(ui) {
            ui.fail(&failure);
        }
    }

    fn serve(&self, ui: &mut Ui) -> Result<(), Failure> {
        let (tell, told) = channel();
        let (mut builder, found) = self.server.builder(ui, &self.model)?;
        if let Some(parallel) = self.parallel {
            builder = builder.parallel(parallel);
        }
        if let Some(alias) = &self.alias {
            builder = builder.alias(alias);
        }
        builder = builder.embeddings(self.embeddings).metrics(self.metrics);
        let key = self.key()?;
        let front = self.listen.map(open_front).transpose()?;
        if front.is_some() {
            builder = builder.args(["--cors-origins", "localhost"]);
        }
        if let Some(key) = &key {
            builder = builder.api_key(key);
        }
        if self.restart {
            let mut policy = builder.setup().policy;
            policy.restart = Restart::OnFailure;
            builder = builder.policy(policy);
        }
        let events = tell.clone();
        let wait = self.server.memory_waiter();
        let builder = builder.on_event(move |event| {
            let _ = events.send(Told::Event(*event));
            // Before it is started again.
            if let Event::Exited { .. } = event {
                wait();
            }
        });
        let failed = |error: Error| failure(&error, &self.model);
        // Until it runs, a signal waits for it: it is ended then.
        let signals = tell.clone();
        let mut count = 0;
        let _handled = interrupt::handle_by(move |_| {
            count += 1;
            let _ = signals.send(Told::End);
            count <= 2
        });
        let server = Arc::new(builder.start().map_err(failed)?);
        tell_swept(ui, &server);
        let serving = Serving { server, found, key, front };
        // The channel does not close before this ends.
        self.watch(ui, &serving, &told)?;
        drop(tell);
        serving.server.wait().map(|_| ()).map_err(failed)
    }

    /// The key: none on a Unix socket, which nobody else can reach.
    fn key(&self) -> Result<Option<String>, Failure> {
        match (&self.api_key, self.listen) {
            (Some(key), _) if key.is_empty() || key.contains(['\0', ',', '\n', '\r']) => {
                let text = "a key is not empty, and has no comma or line end";
                Err(Failure::new(Status::Usage, "usage", text))
            }
            (Some(key), _) => Ok(Some(key.clone())),
            (None, Some(_)) if !self.no_api_key => {
                let made = random_key();
                made.map(Some).map_err(|error| Failure::io("making a key", &error))
            }
            _ => Ok(None),
        }
    }

    /// Tells what happens until the server is gone.
    fn watch(&self, ui: &mut Ui, serving: &Serving, told: &Receiver<Told>) -> Result<(), Failure> {
        let mut signals = 0;
        while let Ok(message) = told.recv() {
            let event = match message {
                Told::Event(event) => event,
                Told::End => {
                    signals += 1;
                    let server = serving.server.clone();
                    let kill = signals > 1;
                    thread::spawn(move || if kill { server.kill() } else { server.stop(None) });
                    continue;
                }
            };
            match event {
                Event::Ready { .. } => self.tell_ready(ui, serving),
                _ => self.tell_event(ui, &event),
            }
            if let (Event::Exited { .. }, Some(front)) = (event, &serving.front) {
                front.to(None);
            }
            ui.flush();
            match event {
                Event::Stopped { .. } | Event::Failed(_) => return Ok(()),
                Event::Stuck { pid } => return Err(failure(&Error::Stuck { pid }, &self.model)),
                _ => {}
            }
        }
        Ok(())
    }

    fn tell_ready(&self, ui: &mut Ui, serving: &Serving) {
        // If it is over already, that is told next.
        let Ok(ready) = serving.server.ready() else { return };
        let unix = match &ready.endpoint {
            Endpoint::Unix(path) => Some(path.as_path()),
            _ => None,
        };
        let tcp = serving.front.as_ref().map(|front| {
            front.to(unix);
            front.address().to_string()
        });
        let key = serving.key.as_deref();
        if ui.json {
            ui.json_line(&ReadyJson {
                r#type: "ready",
                base_url: tcp.as_ref().map(|address| format!("http://{address}/v1")),
                endpoint: EndpointJson { unix: unix.map(json_path), tcp },
                api_key: key,
                pid: ready.pid,
                load_ms: ready.load.map(|load| load.as_millis() as u64),
                model: json_path(&self.model),
                program: json_path(&serving.found.program),
                origin: serving.found.origin.name(),
            });
            return;
        }
        let pid = ready.pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
        let model = printable_path(&self.model);
        let load = span(ready.load);
        let mut lines = vec![format!("{STRONG}ready{STRONG:#}: {model} (loaded in {load}{pid})")];
        let mut curl = String::from("curl");
        match (tcp, unix) {
            (Some(address), _) => {
                lines.push(format!("endpoint: http://{address}/v1"));
                if let Some(key) = key {
                    lines.push(format!("api key: {key}"));
                    curl += &format!(" -H \"Authorization: Bearer {key}\"");
                }
                curl += &format!(" http://{address}/v1/models");
            }
            (None, Some(path)) => {
                let path = printable_path(path);
                lines.push(format!("endpoint: unix:{path}"));
                curl += &format!(" --unix-socket {path} http://localhost/v1/models");
            }
            (None, None) => {}
        }
        lines.push(format!("{FAINT}try:{FAINT:#} {TYPED}{curl}{TYPED:#}"));
        for line in lines {
            let _ = writeln!(ui.out(), "{line}");
        }
    }

    fn tell_event(&self, ui: &mut Ui, event: &Event) {
        if ui.json {
            if let Some(line) = EventJson::of(event) {
                ui.json_line(&line);
            }
            return;
        }
        match event {
            Event::Degraded { probes } => {
                ui.remark(&format!("the server has not answered {probes} health checks in a row"));
            }
            Event::Recovered => ui.remark("the server answers again"),
            Event::Retry { after, cause, .. } => {
                ui.remark(&format!("the server is started again in {} ms: {cause}", after.0));
            }
            Event::Spawned { pid, .. } if ui.verbose => {
                ui.remark(&format!("the server is process {pid}"));
            }
            Event::Stopped { class: Some(class) } if ui.verbose => ui.remark(&class.to_string()),
            _ => {}
        }
    }
}

#[derive(Serialize)]
struct EndpointJson {
    unix: Option<String>,
    tcp: Option<String>,
}

#[derive(Serialize)]
struct ReadyJson<'a> {
    r#type: &'static str,
    endpoint: EndpointJson,
    base_url: Option<String>,
    api_key: Option<&'a str>,
    pid: Option<u32>,
    load_ms: Option<u64>,
    model: String,
    program: String,
    origin: &'a str,
}

#[derive(Serialize)]
struct ExitJson {
    code: Option<i32>,
    signal: Option<i32>,
}

/// A line; `type` says which.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum EventJson {
    Spawned { pid: u32, attempt: u32 },
    Loading,
    Degraded { probes: u32 },
    Recovered,
    Stopping { cause: &'static str },
    Stuck { pid: u32 },
    Exited { pid: u32, exit: ExitJson, class: &'static str },
    Retry { after_ms: u64, attempt: u32, cause: &'static str },
    Stopped { class: Option<&'static str> },
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Asked => "asked",
        Cause::Stalled(_) => "stalled",
        Cause::LoadTimeout(_) => "load_timeout",
        Cause::Unresponsive(_) => "unresponsive",
        Cause::Spawn(fault) => fault.name(),
        Cause::Exit(class) => class.name(),
        _ => "other",
    }
}

impl EventJson {
    /// The line of an event; readiness and failure have lines of their own.
    fn of(event: &Event) -> Option<EventJson> {
        Some(match *event {
            Event::Spawned { pid, attempt } => EventJson::Spawned { pid, attempt },
            Event::Loading => EventJson::Loading,
            Event::Degraded { probes } => EventJson::Degraded { probes },
            Event::Recovered => EventJson::Recovered,
            Event::Stopping(cause) => EventJson::Stopping { cause: cause_name(cause) },
            Event::Stuck { pid } => EventJson::Stuck { pid },
            Event::Exited { pid, exit, class } => {
                let (code, signal) = match exit {
                    Exit::Code(code) => (Some(code), None),
                    Exit::Signal(signal) => (None, Some(signal)),
                };
                EventJson::Exited { pid, exit: ExitJson { code, signal }, class: class.name() }
            }
            Event::Retry { after, attempt, cause } => {
                EventJson::Retry { after_ms: after.0, attempt, cause: cause_name(cause) }
            }
            Event::Stopped { class } => EventJson::Stopped { class: class.map(Class::name) },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_listens_on_this_machine_alone() {
        for (text, port) in
            [("127.0.0.1:80", 80), ("localhost:8080", 8080), (":0", 0), ("65535", 65535)]
        {
            assert_eq!(parse_listen(text), Ok(port), "{text}");
        }
        for wrong in ["0.0.0.0:80", "[::]:80", "host:80", "127.0.0.1:", "127.0.0.1:65536", ""] {
            assert!(parse_listen(wrong).is_err(), "{wrong}");
        }
    }
}

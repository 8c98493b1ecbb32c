//! `rocload run`: one answer of a model, streamed, from a server that lives as long as that.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rocload::blocking::{Generation, Server};
use rocload::http::CancelHandle;
use rocload::llama::request::{Chat, Completion, Message, Prompt, Sampling};
use rocload::llama::{Item, Outcome, Timings, Usage};
use rocload::serve::Error;
use rocload::serve::find::Found;
use serde::Serialize;
use signal_hook::consts::SIGINT;

use crate::failure::{Failure, Status};
use crate::serving::{ServerArgs, failure, json_path, span, tell_swept};
use crate::sse::{ItemJson, Text};
use crate::ui::Ui;
use crate::{interrupt, text};

/// The longest prompt, in bytes.
const MOST: u64 = 64 << 20;

/// How long the thread of signals may take to end the program.
const PATIENCE: Duration = Duration::from_secs(20);

/// Answer one prompt with a model, streamed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload run model.gguf \"Why is the sky blue?\"
  rocload run model.gguf --file question.txt --max-tokens 200 --temp 0 --seed 1
  git diff | rocload run model.gguf --system \"Review this change.\" --stats
  rocload run model.gguf --json hello | jq -r 'select(.type == \"text\").text'
  rocload run model.gguf hello -- --no-warmup       flags for llama-server itself

A llama-server is started for the answer and ended after it; nothing of it is left. ^C ends the
answer, a second one the program.

Exit status: 0 complete, 1 failed (as when the server ends in the middle), 2 wrong usage or a
flag that the server does not take, 3 the model is broken, 4 no model or no llama-server,
130 interrupted.")]
pub(crate) struct Run {
    /// The model's file (GGUF)
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The prompt; - or nothing is standard input
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// Read the prompt from FILE
    #[arg(short, long, value_name = "FILE", conflicts_with = "prompt")]
    file: Option<PathBuf>,
    /// What the model is told before the prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "raw")]
    system: Option<String>,
    /// Continue the prompt as it is, without the model's chat template
    #[arg(long)]
    raw: bool,
    /// End after N tokens
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(allow_negative_numbers = true)]
    max_tokens: Option<u32>,
    /// Temperature: 0 always takes the likeliest token
    #[arg(long, value_name = "T", value_parser = parse_temperature)]
    temp: Option<f64>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// End before this text; may be given several times
    #[arg(long, value_name = "TEXT", value_parser = parse_stop)]
    stop: Vec<String>,
    /// Tell counts and speed on standard error
    #[arg(long)]
    stats: bool,
    /// Print each part of the answer as a line of JSON, and errors too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

fn parse_temperature(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| "a temperature is a number of at least 0".into())
}

fn parse_stop(text: &str) -> Result<String, String> {
    match text {
        "" => Err("every answer would end before it begins: give a text, or leave it out".into()),
        text => Ok(text.to_owned()),
    }
}

/// The line that precedes the answer's items.
#[derive(Serialize)]
struct ReadyJson<'a> {
    r#type: &'static str,
    program: String,
    origin: &'a str,
    pid: Option<u32>,
    load_ms: Option<u64>,
}

/// What an interruption is to end.
#[derive(Default)]
struct Running {
    interrupted: bool,
    /// The server is being started, or was.
    begun: bool,
    /// The program is about to end by a signal.
    ending: bool,
    server: Option<Arc<Server>>,
    answer: Option<CancelHandle>,
}

type Shared = Arc<Mutex<Running>>;

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Running> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first ^C ends the answer, or the start; any other signal, a second one, and one that comes
/// while the prompt is read, kills the server that there may be and ends the program.
fn on_signal(shared: &Shared, signal: i32) -> bool {
    let mut running = lock(shared);
    let first = running.begun && !running.interrupted && signal == SIGINT;
    running.interrupted = true;
    running.ending |= !first;
    let (server, answer) = (running.server.clone(), running.answer.clone());
    drop(running);
    match (first, answer, server) {
        (true, Some(answer), _) => answer.cancel(),
        (true, None, Some(server)) => {
            // It is waited for elsewhere; a second signal must be heard meanwhile.
            thread::spawn(move || server.stop(None));
        }
        (true, None, None) => {}
        (false, _, server) => {
            if let Some(server) = server {
                let _ = server.kill();
            }
        }
    }
    first
}

impl Run {
    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        let shared = Shared::default();
        let told = shared.clone();
        let handled = interrupt::handle_by(move |signal| on_signal(&told, signal));
        let result = self.answer(ui, &shared);
        let Running { interrupted, ending, .. } = *lock(&shared);
        if ending {
            // The thread of signals ends the program, by that signal's status.
            thread::sleep(PATIENCE);
        }
        drop(handled);
        if interrupted {
            ui.fail(&Failure::new(Status::Interrupted, "interrupted", "interrupted"));
        } else if let Err(failure) = result {
            ui.fail(&failure);
        }
    }

    fn answer(&self, ui: &mut Ui, shared: &Shared) -> Result<(), Failure> {
        let prompt = self.prompt()?;
        let (builder, found) = self.server.builder(ui, &self.model)?;
        let failed = |error: Error| failure(&error, &self.model);
        let begun = Instant::now();
        lock(shared).begun = true;
        let server = Arc::new(builder.start().map_err(failed)?);
        tell_swept(ui, &server);
        let stop = {
            let mut running = lock(shared);
            running.server = Some(server.clone());
            running.interrupted
        };
        if stop {
            return self.end(&server, shared);
        }
        let mut told = self.stream(ui, shared, &server, &found, &prompt);
        if told.is_err() && lock(shared).interrupted {
            // The answer was ended; what is told is that.
            told = Ok(Told::default());
        }
        let ended = self.end(&server, shared);
        let told = told?;
        if self.stats && !ui.quiet {
            ui.flush();
            eprintln!("{}", told.line(begun.elapsed()));
        }
        ended
    }

    /// Ends the server; that it does not end is worth telling, that it had ended is not.
    fn end(&self, server: &Server, shared: &Shared) -> Result<(), Failure> {
        let ended = server.stop(None);
        lock(shared).server = None;
        self.server.memory_waiter()();
        match ended {
            Err(error @ Error::Stuck { .. }) => Err(failure(&error, &self.model)),
            _ => Ok(()),
        }
    }

    fn stream(
        &self,
        ui: &mut Ui,
        shared: &Shared,
        server: &Server,
        found: &Found,
        prompt: &str,
    ) -> Result<Told, Failure> {
        let failed = |error: Error| failure(&error, &self.model);
        let ready = server.ready().map_err(failed)?;
        if ui.json {
            ui.json_line(&ReadyJson {
                r#type: "ready",
                program: json_path(&found.program),
                origin: found.origin.name(),
                pid: ready.pid,
                load_ms: ready.load.map(|load| load.as_millis() as u64),
            });
            ui.flush();
        }
        let asked = Instant::now();
        let mut answer = self.ask(server, prompt).map_err(failed)?;
        let stop = {
            let mut running = lock(shared);
            running.answer = Some(answer.cancel_handle());
            running.interrupted
        };
        if stop {
            return Ok(Told::default());
        }
        let told = self.items(ui, &mut answer, asked);
        lock(shared).answer = None;
        let mut told = told?;
        told.load = ready.load;
        Ok(told)
    }

    fn ask(&self, server: &Server, prompt: &str) -> Result<Generation, Error> {
        let stop: Vec<&str> = self.stop.iter().map(String::as_str).collect();
        let sampling = Sampling {
            n_predict: self.max_tokens.map(i64::from),
            temperature: self.temp,
            seed: self.seed.map(i64::from),
            stop: (!stop.is_empty()).then_some(&stop[..]),
            ..Sampling::default()
        };
        if self.raw {
            let mut completion = Completion::new(Prompt::Text(prompt));
            completion.sampling = sampling;
            return server.generate(&completion);
        }
        let mut messages = Vec::new();
        messages.extend(self.system.as_deref().map(Message::system));
        messages.push(Message::user(prompt));
        let mut chat = Chat::new(&messages);
        chat.sampling = sampling;
        server.chat(&chat)
    }

    /// Shows the items of an answer as they come.
    fn items(&self, ui: &mut Ui, answer: &mut Generation, asked: Instant) -> Result<Told, Failure> {
        let mut told = Told::default();
        let mut shown = Text::new();
        let mut error = None;
        loop {
            let item = match answer.next() {
                Ok(Some(item)) => item,
                Ok(None) => break,
                Err(error) => {
                    shown.end(ui);
                    return Err(failure(&error, &self.model));
                }
            };
            match &item {
                Item::Text { .. } | Item::Reasoning { .. } => {
                    told.first.get_or_insert_with(|| asked.elapsed());
                }
                Item::Usage(usage) => told.usage = *usage,
                Item::Timings(timings) => told.timings = *timings,
                Item::Error(reported) => error = Some(reported.to_string()),
                Item::End(ending) => told.complete = ending.outcome == Outcome::Complete,
                _ => {}
            }
            if ui.json {
                if let Some(line) = ItemJson::of(&item) {
                    ui.json_line(&line);
                    ui.flush();
                }
            } else {
                shown.item(ui, &item);
            }
            if ui.is_closed() {
                // Nobody reads on: the answer is dropped, and with it the server's work.
                told.complete = true;
                break;
            }
        }
        match error {
            Some(error) => Err(Failure::new(
                Status::Failed,
                "server",
                format!("the server reports: {}", one_line(&error)),
            )),
            None if told.complete => Ok(told),
            None => Err(Failure::new(
                Status::Failed,
                "truncated",
                "the answer ends before its end mark",
            )),
        }
    }

    fn prompt(&self) -> Result<String, Failure> {
        let (bytes, path) = match (&self.prompt, &self.file) {
            (Some(prompt), _) if prompt != "-" => return Ok(prompt.clone()),
            (None, Some(path)) if path.as_os_str() != "-" => {
                let file = std::fs::File::open(path)
                    .map_err(|error| Failure::io("opening the prompt", &error).at(path))?;
                (read(file), Some(path.as_path()))
            }
            _ => {
                let stdin = io::stdin();
                if self.prompt.is_none() && self.file.is_none() && stdin.is_terminal() {
                    let text = "no prompt: give one, a --file, or pipe one in";
                    return Err(Failure::new(Status::Usage, "usage", text));
                }
                (read(stdin.lock()), None)
            }
        };
        let at = |failure: Failure| match path {
            Some(path) => failure.at(path),
            None => failure,
        };
        let bytes = bytes.map_err(|error| at(Failure::io("reading the prompt", &error)))?;
        if bytes.len() as u64 > MOST {
            let text = format!("a prompt has at most {}", text::size(MOST));
            return Err(at(Failure::new(Status::Malformed, "limit", text)));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(at(Failure::new(Status::Usage, "usage", "the prompt is empty")));
        }
        String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to() as u64;
            let mut failure =
                Failure::new(Status::Malformed, "malformed", "the prompt is not UTF-8");
            failure.offset = Some(offset);
            at(failure)
        })
    }
}

fn read(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MOST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A server's text as part of an error line.
fn one_line(text: &str) -> String {
    rocload::error::shortened(text.as_bytes())
}

/// What an answer told besides its text.
#[derive(Debug, Default)]
struct Told {
    load: Option<Duration>,
    first: Option<Duration>,
    usage: Usage,
    timings: Timings,
    complete: bool,
}

impl Told {
    /// `12 tokens in, 34 out, 56.7 tokens/s; loaded in 0.2 s, first text after 12 ms, 1.2 s in all`.
    fn line(&self, all: Duration) -> String {
        let number = |count: Option<u64>| count.map_or_else(|| "-".into(), text::number);
        let prompt = self.usage.prompt.or(self.timings.prompt_n);
        let answer = self.usage.completion.or(self.timings.predicted_n);
        let speed = self.timings.predicted_per_second.filter(|speed| speed.is_finite());
        let speed = speed.map_or_else(|| "-".into(), |speed| format!("{speed:.1}"));
        format!(
            "{} tokens in, {} out, {speed} tokens/s; loaded in {}, first text after {}, {} in all",
            number(prompt),
            number(answer),
            span(self.load),
            span(self.first),
            text::duration(all),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temperatures() {
        assert_eq!(parse_temperature("0"), Ok(0.0));
        for wrong in ["-1", "nan", "inf", "warm", ""] {
            assert!(parse_temperature(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_of_statistics_says_what_is_known() {
        let told = Told {
            load: Some(Duration::from_millis(210)),
            usage: Usage { prompt: Some(1200), completion: Some(34), ..Usage::default() },
            timings: Timings { predicted_per_second: Some(56.66), ..Timings::default() },
            ..Told::default()
        };
        assert_eq!(
            told.line(Duration::from_millis(1500)),
            "1,200 tokens in, 34 out, 56.7 tokens/s; loaded in 210 ms, first text after -, 1.5 s in all"
        );
    }
}

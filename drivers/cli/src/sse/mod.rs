//! `rocload sse`: a language model's stream as JSON lines, as text, or as bare events.

mod body;
mod events;
mod http;
mod items;
mod schema;
mod text;

pub(crate) use schema::ItemJson;
pub(crate) use text::Text;

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rocload::core::llama::{Dialect, Options};
use rocload::core::{Class, Error, Limits};

use crate::failure::{Failure, Status};
use crate::text::parse_size;
use crate::ui::Ui;

/// Decode a stream of a language model: server-sent events, or a raw HTTP response
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  curl -sN localhost:8080/v1/chat/completions -d @request.json | rocload sse --text -
  curl -siN localhost:8080/completion -d @request.json | rocload sse
  rocload sse capture.http | jq -r 'select(.type == \"token\").id'
  rocload sse --events stream.txt

Each item is a line of JSON as soon as it has come; the last one, of the type end, says whether
the stream is complete. An input that begins with HTTP/1. is read as a response: its head is
checked, its body taken out of its chunks (unless curl has done that), an error's body told as an
item of the type error. So is an input that begins with { or [, the body of an answer that is no
stream. With --events the events themselves are shown, whatever is in them.

Exit status: 0 complete, 1 cut off or ended by an error of the server, 3 malformed.")]
pub(crate) struct Sse {
    /// The stream; - or nothing is standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only the text of the (first) answer
    #[arg(long, conflicts_with = "events")]
    text: bool,
    /// The bare events: type, data and last id of each, and what the end left
    #[arg(long)]
    events: bool,
    /// The endpoint that the stream is from; told by its events if not given
    #[arg(long, value_name = "NAME", value_enum, conflicts_with = "events")]
    dialect: Option<DialectName>,
    /// How many answers were asked for, where a stream marks the end of each (completion)
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "events")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    answers: u32,
    /// Take an event at the very end that no blank line has ended
    #[arg(long, conflicts_with = "events")]
    lenient: bool,
    /// The largest event; larger ones are left out, with an error
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = parse_size)]
    max_event: u64,
    /// Errors are JSON too, on standard output
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DialectName {
    /// /v1/chat/completions and /v1/completions
    Openai,
    /// /completion
    Completion,
    /// /v1/responses
    Responses,
    /// /v1/messages
    Messages,
}

impl Sse {
    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        let path = self.file.clone().filter(|path| path.as_os_str() != "-");
        let mut input: Box<dyn Read> = match &path {
            None => Box::new(io::stdin()),
            Some(path) => match File::open(path) {
                Ok(file) => Box::new(file),
                Err(error) => return ui.fail(&Failure::io("opening the stream", &error).at(path)),
            },
        };
        let failed = match self.events {
            true => self.decode(ui, &mut *input, events::Events::new(&self.limits())),
            false => self.decode(ui, &mut *input, items::Items::new(&self)),
        };
        if let Err(failure) = failed {
            ui.fail(&match &path {
                Some(path) => failure.at(path),
                None => failure,
            });
        }
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.event_bytes = self.max_event;
        limits
    }

    fn options(&self) -> Options {
        let dialect = match self.dialect {
            None => Dialect::Detect,
            Some(DialectName::Openai) => Dialect::OpenAi,
            Some(DialectName::Completion) => Dialect::Completion,
            Some(DialectName::Responses) => Dialect::Responses,
            Some(DialectName::Messages) => Dialect::Messages,
        };
        Options::new().dialect(dialect).answers(self.answers).lenient_eof(self.lenient)
    }

    /// Reads to the end of the stream or of the input.
    fn decode<B: body::Body>(
        &self,
        ui: &mut Ui,
        input: &mut dyn Read,
        body: B,
    ) -> Result<(), Failure> {
        let mut decoder = http::Decoder::new(body);
        let mut chunk = vec![0; 64 << 10];
        while !decoder.is_done() && !ui.is_closed() {
            // A person waits for what is here while more is waited for.
            ui.flush();
            match input.read(&mut chunk) {
                Ok(0) => {
                    decoder.end(ui)?;
                    break;
                }
                Ok(read) => decoder.feed(ui, &chunk[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::io("reading the stream", &error)),
            }
        }
        Ok(())
    }
}

/// What the core found wrong with the input.
fn malformed(error: &Error) -> Failure {
    let (status, kind) = match error.class() {
        Class::Limit => (Status::Malformed, "limit"),
        Class::Unsupported => (Status::Malformed, "unsupported"),
        Class::Full => (Status::Failed, "memory"),
        _ => (Status::Malformed, "malformed"),
    };
    let mut failure = Failure::new(status, kind, error.to_string());
    failure.offset = Some(error.offset);
    failure
}

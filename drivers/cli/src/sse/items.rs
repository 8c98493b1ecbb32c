//! The items of a model's answer: as JSON lines, or the text alone.

use rocload::core::llama::{
    Answer, Ending, ErrorBody, Item, Outcome, Overflow, Reason, Received, Stream,
};
use rocload::core::{Capped, End, Limits, Machine};

use super::body::{Body, Ended, Feed, cut_off};
use super::events::{no_stream, too_large};
use super::schema::{EndJson, ErrorJson, ItemJson};
use super::text::Text;
use super::{Sse, malformed};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) struct Items {
    stream: Stream<Capped>,
    feed: Feed,
    limits: Limits,
    show: Show,
}

/// How items are shown, and what is left to say when all have been.
struct Show {
    /// Only the text.
    text: Option<Text>,
    /// The error that the server reported, and how the stream ended.
    error: Option<String>,
    ending: Option<Ending>,
}

impl Items {
    pub(super) fn new(args: &Sse) -> Self {
        let limits = args.limits();
        let cap = usize::try_from(limits.event_bytes).unwrap_or(usize::MAX);
        // What is not UTF-8 becomes longer by its decoding.
        let text = Capped::new(cap.saturating_mul(3));
        let stream = Stream::new(args.options(), &limits, Capped::new(cap), text);
        let text = args.text.then(Text::new);
        let show = Show { text, error: None, ending: None };
        Items { stream, feed: Feed::default(), limits, show }
    }
}

impl Show {
    fn item(&mut self, ui: &mut Ui, item: &Item<'_>) {
        match item {
            Item::Error(error) => self.error = Some(error.to_string()),
            Item::End(ending) => self.ending = Some(*ending),
            Item::Overflow(Overflow::Event { offset }) => ui.fail(&too_large(*offset)),
            Item::Overflow(_) => {
                let text = "a string is too large and was left out";
                let failure = Failure::new(Status::Failed, "limit", text);
                ui.fail(&failure.hint("--max-event takes larger ones"));
            }
            _ => {}
        }
        match &mut self.text {
            Some(text) => text.item(ui, item),
            None => {
                if let Some(line) = ItemJson::of(item) {
                    ui.json_line(&line);
                }
            }
        }
    }

    fn end(&mut self, ui: &mut Ui, ending: Ending) {
        self.item(ui, &Item::End(ending));
    }

    /// What a person, and the exit status, are told at the end.
    fn verdict(&mut self) -> Result<(), Failure> {
        let Some(ending) = self.ending.take() else { return Ok(()) };
        let failed = |kind, text| Err(Failure::new(Status::Failed, kind, text));
        match ending.outcome {
            Outcome::Complete => Ok(()),
            Outcome::Truncated => failed("truncated", ending.to_string()),
            Outcome::Failed => {
                let error = self.error.take().unwrap_or_else(|| "no reason was given".into());
                failed("server", format!("the server reports: {}", one_line(&error)))
            }
        }
    }
}

/// A server's text as part of an error line: whole, unless it is much longer than any message.
fn one_line(text: &str) -> String {
    const MOST: usize = 1000;
    let mut line = rocload::error::printable(text.as_bytes());
    if let Some((end, _)) = line.char_indices().nth(MOST) {
        line.truncate(end);
        line.push_str("...");
    }
    line
}

impl Body for Items {
    fn stream(&mut self, ui: &mut Ui, bytes: &[u8]) -> Result<(), Failure> {
        let show = &mut self.show;
        let fed = self.feed.feed(&mut self.stream, bytes, |item| show.item(ui, &item));
        fed.map_err(|error| malformed(&error))?;
        self.show.verdict()
    }

    fn stream_ends(&mut self, ui: &mut Ui, ended: Ended) -> Result<(), Failure> {
        while self.stream.end().map_err(|error| malformed(&error))? == End::Item {
            let mut item = self.stream.item(&[]);
            // What HTTP knows to be cut off is not complete, whatever the events said.
            if let (Item::End(ending), Ended::Early) = (&mut item, ended)
                && !ending.received.done_seen
            {
                ending.outcome = Outcome::Truncated;
            }
            self.show.item(ui, &item);
        }
        self.show.verdict()
    }

    fn is_done(&self) -> bool {
        self.stream.is_done()
    }

    fn whole(
        &mut self,
        ui: &mut Ui,
        status: u16,
        kind: &str,
        body: &[u8],
        ended: Ended,
    ) -> Result<(), Failure> {
        let end = |outcome, received| Ending { outcome, received, pending: "none" };
        if status >= 400 {
            let error = ErrorBody::read(status, body, &self.limits);
            if self.show.text.is_none() {
                ui.json_line(&ErrorJson::of(&error));
            }
            self.show.error = Some(error.to_string());
            self.show.end(ui, end(Outcome::Failed, Received::default()));
            return self.show.verdict();
        }
        let json = kind.is_empty() || kind.eq_ignore_ascii_case("application/json");
        if status != 200 || !json {
            return Err(no_stream(status, kind));
        }
        if ended == Ended::Early {
            // What HTTP knows to be cut off is not read as if it were all.
            self.show.end(ui, end(Outcome::Truncated, Received::default()));
            self.show.ending = None;
            return Err(cut_off());
        }
        let text = Capped::new(body.len().saturating_mul(3));
        let mut answer =
            Answer::new(body, text, &self.limits).map_err(|error| malformed(&error))?;
        let mut told = false;
        while let Some(item) = answer.next() {
            told = true;
            self.show.item(ui, &item);
        }
        if !told {
            return Err(no_stream(status, kind));
        }
        let failed = self.show.error.is_some();
        let outcome = if failed { Outcome::Failed } else { Outcome::Complete };
        let received = Received { done_seen: !failed, ..*answer.received() };
        self.show.end(ui, end(outcome, received));
        self.show.verdict()
    }

    fn is_whole(&self, first: u8) -> bool {
        matches!(first, b'{' | b'[')
    }
}

impl EndJson {
    pub(super) fn of(ending: &Ending) -> Self {
        let received = &ending.received;
        EndJson {
            outcome: match ending.outcome {
                Outcome::Complete => "complete",
                Outcome::Failed => "failed",
                Outcome::Truncated => "truncated",
            },
            done_seen: received.done_seen,
            pending: ending.pending,
            finish: received.finish.map(Reason::name),
            events: received.events,
            skipped: received.skipped,
            unknown: received.unknown,
            comments: received.comments,
            overflows: received.overflows,
            ids: received.ids,
            text_bytes: received.text_bytes,
            predicted: received.predicted,
        }
    }
}

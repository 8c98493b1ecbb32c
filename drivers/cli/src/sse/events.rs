//! `--events`: the events themselves.

use rocload::core::sse::{Item, Parser};
use rocload::core::{Capped, End, Limits, Machine};
use serde::Serialize;

use super::body::{Body, Ended, Feed, cut_off};
use super::malformed;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

#[derive(Serialize)]
struct EventJson<'a> {
    event: &'a str,
    data: &'a str,
    id: &'a str,
}

#[derive(Serialize)]
struct EndJson<'a> {
    last_event_id: &'a str,
    retry: Option<u64>,
    pending: &'static str,
}

pub(super) struct Events {
    parser: Parser<Capped>,
    feed: Feed,
}

impl Events {
    pub(super) fn new(limits: &Limits) -> Self {
        let cap = usize::try_from(limits.event_bytes).unwrap_or(usize::MAX);
        Events { parser: Parser::new(limits, Capped::new(cap)), feed: Feed::default() }
    }
}

/// An event that was left out.
pub(super) fn too_large(offset: u64) -> Failure {
    let text = format!("an event is too large and was left out (at offset {offset})");
    let mut failure = Failure::new(Status::Failed, "limit", text);
    failure.offset = Some(offset);
    failure.hint("--max-event takes larger ones")
}

impl Body for Events {
    fn stream(&mut self, ui: &mut Ui, bytes: &[u8]) -> Result<(), Failure> {
        let fed = self.feed.feed(&mut self.parser, bytes, |item| match item {
            Item::Event(event) => ui.json_line(&EventJson {
                event: &event.event_lossy(),
                data: &event.data_lossy(),
                id: &event.id_lossy(),
            }),
            Item::Overflow(overflow) => ui.fail(&too_large(overflow.offset)),
            _ => {}
        });
        fed.map_err(|error| malformed(&error))
    }

    fn stream_ends(&mut self, ui: &mut Ui, ended: Ended) -> Result<(), Failure> {
        let pending = match self.parser.end().map_err(|error| malformed(&error))? {
            End::Pending(what) => what,
            _ => "none",
        };
        ui.json_line(&EndJson {
            last_event_id: &String::from_utf8_lossy(self.parser.last_event_id()),
            retry: self.parser.retry(),
            pending,
        });
        match ended {
            Ended::Cleanly => Ok(()),
            Ended::Early => Err(cut_off()),
        }
    }

    fn is_done(&self) -> bool {
        false
    }

    fn whole(
        &mut self,
        _: &mut Ui,
        status: u16,
        kind: &str,
        _: &[u8],
        _: Ended,
    ) -> Result<(), Failure> {
        Err(no_stream(status, kind))
    }

    fn is_whole(&self, _: u8) -> bool {
        false
    }
}

/// A response of another kind.
pub(super) fn no_stream(status: u16, kind: &str) -> Failure {
    let kind = rocload::error::printable(kind.as_bytes());
    let text = format!("the response is no event stream: status {status}, content type `{kind}`");
    Failure::new(Status::Failed, "no_stream", text)
}

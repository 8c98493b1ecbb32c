//! From the JSON of an event or an answer to [`Item`]s.
//!
//! [`Reader::begin`] checks the whole text, finds out by its members which endpoint it is from,
//! and puts what is to be told on a short stack; [`Reader::next`] tells it, one item a call. The
//! text is not kept: it is lent again each time, so that it may lie in the input of a machine.

mod endpoints;
mod kept;
pub(crate) mod members;
pub(crate) mod shape;
mod work;

use super::fault::Fault;
use super::item::{Ending, Outcome, Overflow, Reason, Received};
use super::json::{Elements, Value, check_lossy};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::need::Storage;
pub(crate) use kept::Kept;
use kept::{At, Hold, Said};
use members::{string, whole};
use shape::{Block, Choice, Tool, Top};
use work::{Span, What, Work, Works, span};

/// Whose protocol a stream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// Whichever: each event is told by its members.
    #[default]
    Detect,
    /// `/v1/chat/completions` and `/v1/completions`; ends with `[DONE]`.
    OpenAi,
    /// `/completion`, llama-server's own; ends with `"stop":true`.
    Completion,
    /// `/v1/responses`; ends with `response.completed`, `.incomplete` or `.failed`.
    Responses,
    /// `/v1/messages`; ends with `message_stop`.
    Messages,
}

/// Tells the parts of event after event. See the module's text.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    dialect: Dialect,
    /// How many answers were asked for: so many `"stop":true` end a `/completion`.
    answers: u32,
    works: Works,
    pub(crate) received: Received,
    /// One bit for each of the first 64 choices: something of it was seen, its finish was.
    seen: u64,
    finished: u64,
    /// Calls of tools begun, for the endpoints that do not number them.
    calls: u32,
    stops: u32,
    /// What the current event does to the stream once it has been told.
    ending: Option<Outcome>,
    over: bool,
}

impl Reader {
    pub(crate) const fn new(dialect: Dialect, answers: u32) -> Self {
        Reader {
            dialect,
            answers,
            works: Works::new(),
            received: RECEIVED,
            seen: 0,
            finished: 0,
            calls: 0,
            stops: 0,
            ending: None,
            over: false,
        }
    }

    /// The end has been told.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    /// Begins an event of a stream. The offset of an error is that in `data`.
    pub(crate) fn begin(&mut self, name: &[u8], data: &[u8], limits: &Limits) -> Result<(), Error> {
        self.works.clear();
        self.received.events += 1;
        let text = data.trim_ascii();
        if text.is_empty() || text[0] == b':' {
            self.received.skipped += 1;
            return Ok(());
        }
        if text == b"[DONE]" {
            self.received.done_seen = true;
            self.ending = Some(Outcome::Complete);
            return Ok(());
        }
        let value = check_lossy(data, 0, limits)?;
        if !value.is_object() {
            return Err(Error::new(ErrorKind::Llama(Fault::NotObject), value.range().start as u64));
        }
        let top = Top::read(value);
        if name == b"error" && top.error.is_none() {
            self.error(value);
        } else {
            self.top(value, &top);
        }
        Ok(())
    }

    /// Begins a whole answer. The offset of an error is that in `data`.
    pub(crate) fn begin_whole(&mut self, data: &[u8], limits: &Limits) -> Result<(), Error> {
        self.works.clear();
        let value = check_lossy(data, 0, limits)?;
        if value.is_array() {
            self.works.list(Some(value), |at| Work::Answers { at });
        } else if value.is_object() {
            self.top(value, &Top::read(value));
        } else {
            return Err(Error::new(ErrorKind::Llama(Fault::NotObject), value.range().start as u64));
        }
        Ok(())
    }

    /// Begins the error that old servers send as a field of its own, `error: {...}`.
    pub(crate) fn begin_error(&mut self, data: &[u8], limits: &Limits) {
        self.works.clear();
        self.received.events += 1;
        match check_lossy(data, 0, limits) {
            Ok(value) => self.error(value.get("error").unwrap_or(value)),
            // No JSON: all of it is the message.
            Err(_) => {
                self.works.push(Work::Raw);
                self.ending = Some(Outcome::Failed);
            }
        }
    }

    fn error(&mut self, value: Value<'_>) {
        self.works.push(Work::Error { at: span(value), message: true });
        self.ending = Some(Outcome::Failed);
    }

    fn takes(&self, dialect: Dialect) -> bool {
        self.dialect == Dialect::Detect || self.dialect == dialect
    }

    fn top(&mut self, value: Value<'_>, top: &Top<'_>) {
        let mut buffer = [0; 64];
        let kind = match string(top.kind) {
            Some(kind) => members::name(kind, &mut buffer),
            None => "",
        };
        let is_response = string(top.object).is_some_and(|object| object.is("response"));
        if let Some(error) = top.error {
            // Told last: what came with it is pushed above it.
            self.error(error);
        }
        if top.choices.is_some() {
            if self.takes(Dialect::OpenAi) {
                self.numbers(top);
                self.works.list(top.choices, |at| Work::Choices { at });
                return;
            }
        } else if kind == "error" {
            if top.error.is_none() {
                self.error(value);
            }
            return;
        } else if kind.starts_with("response.") {
            if self.takes(Dialect::Responses) {
                return self.response_event(kind, top);
            }
        } else if is_response {
            if self.takes(Dialect::Responses) {
                return self.response(value, top);
            }
        } else if !kind.is_empty() {
            if self.takes(Dialect::Messages) && self.message_event(kind, top) {
                return;
            }
        } else if top.stop.is_some() || (top.content.is_some() && top.tokens.is_some()) {
            if self.takes(Dialect::Completion) {
                return self.completion(top);
            }
        } else if top.usage.is_some() || top.timings.is_some() || top.progress.is_some() {
            // `"choices":null` is the same as none.
            return self.numbers(top);
        }
        if top.error.is_none() {
            self.received.unknown += 1;
        }
    }

    fn see(&mut self, choice: u32) {
        self.seen |= 1u64.checked_shl(choice).unwrap_or(0);
    }

    /// The next item of what was begun, given the same data. `None`: all of it has been told.
    pub(crate) fn next<T: Storage>(&mut self, data: &[u8], text: &mut T) -> Option<Kept> {
        while let Some(work) = self.works.pop() {
            if let Some(kept) = self.tell(work, data, &mut Hold { text: &mut *text, used: 0 }) {
                return Some(kept);
            }
        }
        let outcome = self.ending.take()?;
        Some(self.end(outcome, "none"))
    }

    /// The input is over: how that leaves the stream, unless its end was told before.
    pub(crate) fn finish(&mut self, pending: &'static str) -> Option<Kept> {
        if self.over {
            return None;
        }
        let told = self.finished != 0 && self.seen & !self.finished == 0;
        let complete = told && pending == "none";
        let outcome = if complete { Outcome::Complete } else { Outcome::Truncated };
        Some(self.end(outcome, pending))
    }

    fn end(&mut self, outcome: Outcome, pending: &'static str) -> Kept {
        self.over = true;
        Kept::End(Ending { outcome, received: self.received, pending })
    }

    fn tell<T: Storage>(
        &mut self,
        work: Work,
        data: &[u8],
        hold: &mut Hold<'_, T>,
    ) -> Option<Kept> {
        let value = |span: Span| Value::at(data, span.0..span.1);
        // The next element of an array, and where the one behind it will be.
        let element = |at: usize| {
            let mut elements = Elements::resume(data, at);
            elements.next().map(|element| (element, elements.position()))
        };
        match work {
            Work::Answers { at } => {
                let (answer, at) = element(at)?;
                self.works.push(Work::Answers { at });
                self.top(answer, &Top::read(answer));
                None
            }
            Work::Choices { at } => {
                let (choice, at) = element(at)?;
                self.works.push(Work::Choices { at });
                self.choice(&Choice::read(choice));
                None
            }
            Work::Tools { choice, at, call } => {
                let (tool, at) = element(at)?;
                self.works.push(Work::Tools { choice, at, call: call.saturating_add(1) });
                self.tool(choice, call, &Tool::read(tool));
                None
            }
            Work::Outputs { at } => {
                let (item, at) = element(at)?;
                self.works.push(Work::Outputs { at });
                self.output(&Block::read(item));
                None
            }
            Work::Blocks { at, reasoning } => {
                let (block, at) = element(at)?;
                self.works.push(Work::Blocks { at, reasoning });
                self.block(&Block::read(block), reasoning);
                None
            }
            Work::Ids { choice, at } => {
                let (id, at) = element(at)?;
                self.works.push(Work::Ids { choice, at });
                let id = id.as_i64().or_else(|| id.get("id")?.as_i64())?;
                self.received.ids += 1;
                Some(Kept::Token { choice, id })
            }
            Work::Say { choice, what, span } => {
                let at = match hold.keep(data, span) {
                    Ok(at) => at,
                    Err(need) => return Some(self.overflow(need)),
                };
                if matches!(what, What::Text | What::Reasoning) {
                    let said = at.get(data, hold.text.slots());
                    self.received.text_bytes += said.len() as u64;
                }
                Some(Kept::Say { choice, what: Said(what), at })
            }
            Work::Finish { choice, word, stop, truncated } => {
                let keep = |hold: &mut Hold<'_, T>, span| match span {
                    (0, 0) => Ok(At::EMPTY),
                    span => hold.keep(data, span),
                };
                let word = match keep(hold, word) {
                    Ok(word) => word,
                    Err(need) => {
                        self.works.push(Work::Finish { choice, word: (0, 0), stop, truncated });
                        return Some(self.overflow(need));
                    }
                };
                let stop = match stop.map(|stop| keep(hold, stop)).transpose() {
                    Ok(stop) => stop,
                    Err(need) => {
                        self.works.push(work.without_stop());
                        return Some(self.overflow(need));
                    }
                };
                self.finished |= 1u64.checked_shl(choice).unwrap_or(0);
                self.see(choice);
                let reason = Reason::from_word(word.get(data, hold.text.slots()));
                self.received.finish = Some(reason);
                Some(Kept::Finish { choice, reason, word, stop, truncated })
            }
            Work::Usage(span) => Some(Kept::Usage(shape::usage(value(span)))),
            Work::Counts(usage) => Some(Kept::Usage(usage)),
            Work::Timings(span) => Some(Kept::Timings(shape::timings(value(span)))),
            Work::Progress(span) => Some(Kept::Progress(shape::progress(value(span)))),
            Work::Raw => Some(Kept::Error {
                code: None,
                kind: At::EMPTY,
                message: At::all(data),
                n_prompt_tokens: None,
                n_ctx: None,
            }),
            Work::Error { at, message } => {
                let told = self.server_error(value(at), message, data, hold);
                Some(told.unwrap_or_else(|need| {
                    self.works.push(Work::Error { at, message: false });
                    self.overflow(need)
                }))
            }
        }
    }

    /// A string found no room.
    fn overflow(&mut self, need: u64) -> Kept {
        self.received.overflows += 1;
        Kept::Overflow(Overflow::Text { need })
    }

    fn server_error<T: Storage>(
        &self,
        value: Value<'_>,
        message: bool,
        data: &[u8],
        hold: &mut Hold<'_, T>,
    ) -> Result<Kept, u64> {
        let mut found = shape::Fault::read(value);
        if value.as_str().is_some() {
            found.message = Some(value);
        }
        // `"type":"error"` marks the event; the error's own type is in `code` then.
        let mark = string(found.kind).is_some_and(|kind| kind.is("error"));
        let kind = found.kind.filter(|_| !mark).or(found.code);
        let mut keep = |value: Option<Value<'_>>| match value.filter(|v| v.as_str().is_some()) {
            Some(value) if message => hold.keep(data, span(value)),
            _ => Ok(At::EMPTY),
        };
        Ok(Kept::Error {
            code: found.code.and_then(Value::as_i64),
            kind: keep(kind)?,
            message: keep(found.message)?,
            n_prompt_tokens: whole(found.n_prompt_tokens),
            n_ctx: whole(found.n_ctx),
        })
    }
}

fn index(value: Option<Value<'_>>) -> Option<u32> {
    whole(value).map(|index| u32::try_from(index).unwrap_or(u32::MAX))
}

const RECEIVED: Received = Received {
    events: 0,
    skipped: 0,
    unknown: 0,
    comments: 0,
    overflows: 0,
    ids: 0,
    text_bytes: 0,
    predicted: None,
    finish: None,
    done_seen: false,
};

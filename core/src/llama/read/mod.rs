//! From the JSON of an event or an answer to [`Item`]s.
//!
//! [`Reader::begin`] checks the whole text, finds out by its members which endpoint it is from,
//! and puts what is to be told on a short stack; [`Reader::next`] tells it, one item a call. The
//! text is not kept: it is lent again each time, so that it may lie in the input of a machine.

pub(crate) mod members;
pub(crate) mod shape;
mod work;

use super::fault::Fault;
use super::item::{
    Ending, Finish, Item, Outcome, Overflow, Progress, Reason, Received, ServerError, Timings,
    ToolPart, Usage,
};
use super::json::{Elements, Value, check_lossy};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::need::Storage;
use members::{string, whole};
use shape::{Block, Choice, Message, Tool, Top};
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

/// Where a decoded string is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// In the data.
    Data(usize, usize),
    /// In the memory for text.
    Text(usize, usize),
}

/// An item, with the places of its strings instead of the strings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kept {
    Say {
        choice: u32,
        what: Said,
        at: At,
    },
    Token {
        choice: u32,
        id: i64,
    },
    Finish {
        choice: u32,
        reason: Reason,
        word: At,
        stop: Option<At>,
        truncated: bool,
    },
    Usage(Usage),
    Timings(Timings),
    Progress(Progress),
    Error {
        code: Option<i64>,
        kind: At,
        message: At,
        n_prompt_tokens: Option<u64>,
        n_ctx: Option<u64>,
    },
    Overflow(Overflow),
    End(Ending),
}

/// What a string of a kept item is; opaque outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Said(What);

/// Where a string of a kept item is; opaque outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct At(Place);

impl At {
    const EMPTY: At = At(Place::Data(0, 0));

    fn get<'i>(self, data: &'i [u8], text: &'i [u8]) -> &'i str {
        let bytes = match self.0 {
            Place::Data(start, end) => data.get(start..end),
            Place::Text(start, end) => text.get(start..end),
        };
        // Checked when it was kept.
        core::str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    }
}

impl Kept {
    /// The item, given the same data and text.
    pub(crate) fn item<'i>(&self, data: &'i [u8], text: &'i [u8]) -> Item<'i> {
        match *self {
            Kept::Say { choice, what: Said(what), at } => {
                let said = at.get(data, text);
                let call = |call, part| Item::ToolCall { choice, call, part };
                match what {
                    What::Role => Item::Role { choice, role: said },
                    What::Text => Item::Text { choice, text: said },
                    What::Reasoning => Item::Reasoning { choice, text: said },
                    What::Id(number) => call(number, ToolPart::Id(said)),
                    What::Name(number) => call(number, ToolPart::Name(said)),
                    What::Arguments(number) => call(number, ToolPart::Arguments(said)),
                }
            }
            Kept::Token { choice, id } => Item::Token { choice, id },
            Kept::Finish { choice, reason, word, stop, truncated } => {
                let stop = stop.map(|stop| stop.get(data, text));
                let word = word.get(data, text);
                Item::Finish { choice, finish: Finish { reason, word, stop, truncated } }
            }
            Kept::Usage(usage) => Item::Usage(usage),
            Kept::Timings(timings) => Item::Timings(timings),
            Kept::Progress(progress) => Item::Progress(progress),
            Kept::Error { code, kind, message, n_prompt_tokens, n_ctx } => {
                let (kind, message) = (kind.get(data, text), message.get(data, text));
                Item::Error(ServerError { code, kind, message, n_prompt_tokens, n_ctx })
            }
            Kept::Overflow(overflow) => Item::Overflow(overflow),
            Kept::End(ending) => Item::End(ending),
        }
    }
}

/// Memory for decoded strings, filled from its start for each item.
struct Hold<'t, T> {
    text: &'t mut T,
    used: usize,
}

impl<T: Storage> Hold<'_, T> {
    /// Keeps a string whose value stands in `data`; the error is the memory it takes.
    fn keep(&mut self, data: &[u8], value: Span) -> Result<At, u64> {
        let value = Value::at(data, value.0..value.1);
        let Some(string) = value.as_str() else {
            // Arguments that are an object are kept as their text.
            let range = value.range();
            let utf8 = core::str::from_utf8(value.raw()).is_ok();
            return if utf8 { Ok(At(Place::Data(range.start, range.end))) } else { Err(0) };
        };
        if string.plain().is_some() {
            // Inside its quotes.
            let range = value.range();
            return Ok(At(Place::Data(range.start + 1, range.end - 1)));
        }
        let (start, len) = (self.used, string.len());
        let end = start.saturating_add(len);
        if !self.text.grow(end) {
            return Err(len as u64);
        }
        let place = self.text.slots_mut().get_mut(start..end).ok_or(len as u64)?;
        string.unescape_into(place).map_err(|full| full.need)?;
        self.used = end;
        Ok(At(Place::Text(start, end)))
    }
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
        self.works.push(Work::Error(span(value)));
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
        } else if top.content.is_some() || top.stop.is_some() || top.tokens.is_some() {
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

    fn numbers(&mut self, top: &Top<'_>) {
        self.works.add(top.progress, Work::Progress);
        self.works.add(top.timings, Work::Timings);
        self.works.add(top.usage, Work::Usage);
    }

    /// An event or a whole answer of `/completion`.
    fn completion(&mut self, top: &Top<'_>) {
        let choice = index(top.index).unwrap_or(0);
        self.see(choice);
        self.received.predicted = whole(top.predicted).or(self.received.predicted);
        self.works.add(top.progress, Work::Progress);
        self.works.add(top.timings, Work::Timings);
        if top.stop.and_then(Value::as_bool) == Some(true) {
            self.stops = self.stops.saturating_add(1);
            if self.stops >= self.answers && self.ending.is_none() {
                self.received.done_seen = true;
                self.ending = Some(Outcome::Complete);
            }
            let (prompt, completion) = (whole(top.evaluated), whole(top.predicted));
            let total = prompt.zip(completion).map(|(prompt, more)| prompt.saturating_add(more));
            if total.is_some() {
                self.works.push(Work::Counts(Usage { prompt, completion, total, cached: None }));
            }
            let stop =
                top.stopping_word.filter(|word| word.as_str().is_some_and(|word| !word.is_empty()));
            let truncated = top.truncated.and_then(Value::as_bool).unwrap_or(false);
            let word = top.stop_type.map_or((0, 0), span);
            self.works.push(Work::Finish { choice, word, stop: stop.map(span), truncated });
        }
        self.works.say(choice, What::Text, top.content);
        // The ids of a progress chunk are no tokens.
        if top.progress.is_none() {
            self.works.list(top.tokens, |at| Work::Ids { choice, at });
        }
    }

    fn response_event(&mut self, kind: &str, top: &Top<'_>) {
        match kind {
            "response.output_item.added" => {
                let item = top.item.map(Block::read).unwrap_or_default();
                self.output(&item);
            }
            "response.output_text.delta" => self.works.say(0, What::Text, top.delta),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.works.say(0, What::Reasoning, top.delta);
            }
            "response.function_call_arguments.delta" => {
                let what = What::Arguments(self.calls.saturating_sub(1));
                self.works.say(0, what, top.delta);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.received.done_seen = true;
                let Some(response) = top.response else {
                    self.ending = self.ending.or(Some(Outcome::Complete));
                    return;
                };
                let inner = Top::read(response);
                self.ending = self.ending.or(Some(Outcome::Complete));
                if let Some(error) = inner.error {
                    self.error(error);
                } else if kind == "response.failed" {
                    self.ending = Some(Outcome::Failed);
                }
                self.works.add(top.timings.or(inner.timings), Work::Timings);
                self.works.add(inner.usage, Work::Usage);
                self.status(&inner);
            }
            _ => {}
        }
    }

    /// The finish of a response: its status, or why it is incomplete.
    fn status(&mut self, response: &Top<'_>) {
        let why = response.details.and_then(|details| details.get("reason"));
        let status = why.or(response.status);
        self.works.add(status, |word| Work::Finish {
            choice: 0,
            word,
            stop: None,
            truncated: false,
        });
    }

    /// A whole answer of `/v1/responses`.
    fn response(&mut self, _value: Value<'_>, top: &Top<'_>) {
        self.works.add(top.timings, Work::Timings);
        self.works.add(top.usage, Work::Usage);
        self.status(top);
        self.works.list(top.output, |at| Work::Outputs { at });
    }

    /// An element of `output`, or the item that a stream adds.
    fn output(&mut self, item: &Block<'_>) {
        let kind = string(item.kind);
        let is = |word| kind.is_some_and(|kind| kind.is(word));
        if is("function_call") {
            self.call(item.call_id.or(item.id), item.name, item.arguments);
        } else if is("reasoning") {
            self.works.list(item.summary, |at| Work::Blocks { at, reasoning: true });
            self.works.list(item.content, |at| Work::Blocks { at, reasoning: true });
        } else {
            self.works.list(item.content, |at| Work::Blocks { at, reasoning: false });
            self.works.say(0, What::Role, item.role);
        }
    }

    /// A call of a tool begins, at an endpoint that does not number them.
    fn call(
        &mut self,
        id: Option<Value<'_>>,
        name: Option<Value<'_>>,
        arguments: Option<Value<'_>>,
    ) {
        let call = self.calls;
        self.calls = self.calls.saturating_add(1);
        match arguments {
            Some(object) if object.is_object() && object.members().next().is_some() => {
                let what = What::Arguments(call);
                self.works.push(Work::Say { choice: 0, what, span: span(object) });
            }
            arguments => self.works.say(0, What::Arguments(call), arguments),
        }
        self.works.say(0, What::Name(call), name);
        self.works.say(0, What::Id(call), id);
    }

    /// False for what `/v1/messages` does not send.
    fn message_event(&mut self, kind: &str, top: &Top<'_>) -> bool {
        match kind {
            "message_start" => {
                let message = top.message.map(Top::read).unwrap_or_default();
                self.works.add(message.usage, Work::Usage);
                self.works.say(0, What::Role, message.role);
            }
            "content_block_start" => {
                self.block(&top.block.map(Block::read).unwrap_or_default(), false)
            }
            "content_block_delta" => {
                let delta = top.delta.map(Block::read).unwrap_or_default();
                let what = What::Arguments(self.calls.saturating_sub(1));
                self.works.say(0, what, delta.partial_json);
                self.works.say(0, What::Text, delta.text);
                self.works.say(0, What::Reasoning, delta.thinking);
            }
            "content_block_stop" | "ping" => {}
            "message_delta" => {
                let delta = top.delta.map(Block::read).unwrap_or_default();
                self.works.add(top.usage, Work::Usage);
                self.stop_reason(delta.stop_reason, delta.stop_sequence);
            }
            "message_stop" => {
                self.works.add(top.timings, Work::Timings);
                self.received.done_seen = true;
                self.ending = self.ending.or(Some(Outcome::Complete));
            }
            "message" => {
                self.works.add(top.timings, Work::Timings);
                self.works.add(top.usage, Work::Usage);
                self.stop_reason(top.stop_reason, top.stop_sequence);
                self.works.list(top.content, |at| Work::Blocks { at, reasoning: false });
                self.works.say(0, What::Role, top.role);
            }
            _ => return false,
        }
        true
    }

    fn stop_reason(&mut self, reason: Option<Value<'_>>, sequence: Option<Value<'_>>) {
        let stop = sequence.filter(|stop| stop.as_str().is_some()).map(span);
        self.works.add(reason, |word| Work::Finish { choice: 0, word, stop, truncated: false });
    }

    fn block(&mut self, block: &Block<'_>, reasoning: bool) {
        if string(block.kind).is_some_and(|kind| kind.is("tool_use")) {
            return self.call(block.id, block.name, block.input);
        }
        let what = if reasoning { What::Reasoning } else { What::Text };
        self.works.say(0, what, block.text);
        self.works.say(0, What::Reasoning, block.thinking);
    }

    fn choice(&mut self, choice: &Choice<'_>) {
        let number = index(choice.index).unwrap_or(0);
        self.see(number);
        let message = choice.delta.or(choice.message).map(Message::read).unwrap_or_default();
        let finish = choice.finish.filter(|word| word.as_str().is_some());
        self.works.add(finish, |word| Work::Finish {
            choice: number,
            word,
            stop: None,
            truncated: false,
        });
        self.works.list(message.tools, |at| Work::Tools { choice: number, at, call: 0 });
        self.works.say(number, What::Text, choice.text);
        self.works.say(number, What::Text, message.content);
        let reasoning = message.reasoning_content.or(message.reasoning);
        self.works.say(number, What::Reasoning, reasoning);
        let logprobs = choice.logprobs.and_then(|logprobs| logprobs.get("content"));
        self.works.list(logprobs, |at| Work::Ids { choice: number, at });
        self.works.say(number, What::Role, message.role);
    }

    fn tool(&mut self, choice: u32, position: u32, tool: &Tool<'_>) {
        let call = index(tool.index).unwrap_or(position);
        let function = tool.function.map(Tool::read).unwrap_or_default();
        self.works.say(choice, What::Arguments(call), function.arguments);
        self.works.say(choice, What::Name(call), function.name);
        self.works.say(choice, What::Id(call), tool.id);
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
                self.finished |= 1u64.checked_shl(choice).unwrap_or(0);
                self.see(choice);
                let keep =
                    |hold: &mut Hold<'_, T>, span| hold.keep(data, span).unwrap_or(At::EMPTY);
                let word = if word == (0, 0) { At::EMPTY } else { keep(hold, word) };
                let stop = stop.map(|stop| keep(hold, stop));
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
                message: At(Place::Data(0, data.len())),
                n_prompt_tokens: None,
                n_ctx: None,
            }),
            Work::Error(span) => Some(self.server_error(value(span), data, hold)),
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
        data: &[u8],
        hold: &mut Hold<'_, T>,
    ) -> Kept {
        let mut found = shape::Fault::read(value);
        if value.as_str().is_some() {
            found.message = Some(value);
        }
        // Some servers name the error in `code`.
        let kind = found.kind.or(found.code).filter(|kind| kind.as_str().is_some());
        let mut keep = |value: Option<Value<'_>>| {
            let value = value.filter(|value| value.as_str().is_some());
            // A message that finds no room is shown as far as it needs none: not at all.
            value.and_then(|value| hold.keep(data, span(value)).ok()).unwrap_or(At::EMPTY)
        };
        Kept::Error {
            code: found.code.and_then(Value::as_i64),
            kind: keep(kind),
            message: keep(found.message),
            n_prompt_tokens: whole(found.n_prompt_tokens),
            n_ctx: whole(found.n_ctx),
        }
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

//! What each endpoint sends, put on the stack of what is to be told: last first.

use super::super::item::{Outcome, Usage};
use super::super::json::Value;
use super::members::{string, whole};
use super::shape::{Block, Choice, Message, Tool, Top};
use super::work::{What, Work, span};
use super::{Reader, index};

impl Reader {
    pub(super) fn numbers(&mut self, top: &Top<'_>) {
        self.works.add(top.progress, Work::Progress);
        self.works.add(top.timings, Work::Timings);
        self.works.add(top.usage, Work::Usage);
    }

    /// An event or a whole answer of `/completion`.
    pub(super) fn completion(&mut self, top: &Top<'_>) {
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

    pub(super) fn response_event(&mut self, kind: &str, top: &Top<'_>) {
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
    pub(super) fn response(&mut self, _value: Value<'_>, top: &Top<'_>) {
        self.works.add(top.timings, Work::Timings);
        self.works.add(top.usage, Work::Usage);
        self.status(top);
        self.works.list(top.output, |at| Work::Outputs { at });
    }

    /// An element of `output`, or the item that a stream adds.
    pub(super) fn output(&mut self, item: &Block<'_>) {
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
    pub(super) fn message_event(&mut self, kind: &str, top: &Top<'_>) -> bool {
        match kind {
            "message_start" => {
                let message = top.message.map(Top::read).unwrap_or_default();
                self.works.add(message.usage, Work::Usage);
                self.works.say(0, What::Role, message.role);
            }
            "content_block_start" => {
                self.block(&top.block.map(Block::read).unwrap_or_default(), false);
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

    pub(super) fn block(&mut self, block: &Block<'_>, reasoning: bool) {
        if string(block.kind).is_some_and(|kind| kind.is("tool_use")) {
            return self.call(block.id, block.name, block.input);
        }
        let what = if reasoning { What::Reasoning } else { What::Text };
        self.works.say(0, what, block.text);
        self.works.say(0, What::Reasoning, block.thinking);
    }

    pub(super) fn choice(&mut self, choice: &Choice<'_>) {
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

    pub(super) fn tool(&mut self, choice: u32, position: u32, tool: &Tool<'_>) {
        let call = index(tool.index).unwrap_or(position);
        let function = tool.function.map(Tool::read).unwrap_or_default();
        self.works.say(choice, What::Arguments(call), function.arguments);
        self.works.say(choice, What::Name(call), function.name);
        self.works.say(choice, What::Id(call), tool.id);
    }
}

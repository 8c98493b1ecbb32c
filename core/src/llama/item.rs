//! What answers are made of.

use core::fmt;

use crate::need::ItemKind;

/// A part of an answer, streamed or whole.
///
/// `choice` is the index of the answer that it belongs to: 0 unless several were asked for.
/// Within one event the order is: role, token ids, reasoning, text, tool calls, finish, usage,
/// timings, progress, error.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Item<'i> {
    /// Who speaks; `assistant` in practice.
    Role {
        /// The answer.
        choice: u32,
        /// The role.
        role: &'i str,
    },
    /// More of the text; never empty.
    Text {
        /// The answer.
        choice: u32,
        /// The text, decoded.
        text: &'i str,
    },
    /// More of what the model thinks before it answers; never empty.
    Reasoning {
        /// The answer.
        choice: u32,
        /// The text, decoded.
        text: &'i str,
    },
    /// A part of a call of a tool.
    ToolCall {
        /// The answer.
        choice: u32,
        /// Which call of that answer, from 0.
        call: u32,
        /// What part, decoded.
        part: ToolPart<'i>,
    },
    /// The id of a token. `/completion` sends them always, the others with `logprobs` alone.
    ///
    /// The ids are not the text: a token that ends in half a character is held back by the
    /// server until the rest is there, and only the last id is sent ([`Received::lost_ids`]
    /// counts the others); the token that ends the text comes with no text; the text of a
    /// token that completes a stop word is cut.
    Token {
        /// The answer.
        choice: u32,
        /// The id in the model's vocabulary.
        id: i64,
    },
    /// An answer is complete.
    Finish {
        /// The answer.
        choice: u32,
        /// Why.
        finish: Finish<'i>,
    },
    /// What the request cost.
    Usage(Usage),
    /// How long it took.
    Timings(Timings),
    /// How much of the prompt has been read.
    Progress(Progress),
    /// The server reports an error, which ends the stream.
    Error(ServerError<'i>),
    /// Something was too large for the memory lent, and left out. The stream goes on.
    Overflow(Overflow),
    /// The stream is over: the last item of every stream that is not malformed.
    End(Ending),
}

/// The family of [`Item`].
#[derive(Debug)]
pub enum Items {}

impl ItemKind for Items {
    type Item<'i> = Item<'i>;
}

/// A part of a call of a tool. Each call begins with its name or id; its arguments come in
/// parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolPart<'i> {
    /// The call's id.
    Id(&'i str),
    /// The tool's name.
    Name(&'i str),
    /// More of the arguments' JSON text.
    Arguments(&'i str),
}

/// Why an answer ended, in the words that the endpoints share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The model was done, or a stop word came: `stop`, `eos`, `word`, `end_turn`,
    /// `stop_sequence`, `completed`.
    Stop,
    /// No more tokens were allowed: `length`, `limit`, `max_tokens`, `incomplete`.
    Length,
    /// Tools are to be called: `tool_calls`, `function_call`, `tool_use`.
    ToolCalls,
    /// Anything else.
    Other,
}

impl Reason {
    /// The reason that a server's word stands for.
    pub fn from_word(word: &str) -> Reason {
        match word {
            "stop" | "eos" | "word" | "end_turn" | "stop_sequence" | "completed" => Reason::Stop,
            "length" | "limit" | "max_tokens" | "max_output_tokens" | "incomplete" => {
                Reason::Length
            }
            "tool_calls" | "function_call" | "tool_use" => Reason::ToolCalls,
            _ => Reason::Other,
        }
    }

    /// `stop`, `length`, `tool_calls` or `other`.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Stop => "stop",
            Reason::Length => "length",
            Reason::ToolCalls => "tool_calls",
            Reason::Other => "other",
        }
    }
}

/// Why and how an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish<'i> {
    /// Why.
    pub reason: Reason,
    /// The server's word for it: `finish_reason`, `stop_type`, `stop_reason` or `status`.
    pub word: &'i str,
    /// The stop word that ended it, where the server tells.
    pub stop: Option<&'i str>,
    /// The context was full (`truncated` of `/completion`).
    pub truncated: bool,
}

/// Counts of tokens; what a server does not tell is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the prompt, those from the cache included.
    pub prompt: Option<u64>,
    /// Tokens generated.
    pub completion: Option<u64>,
    /// Both.
    pub total: Option<u64>,
    /// Tokens of the prompt that were in the cache.
    pub cached: Option<u64>,
}

/// llama-server's `timings`. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Timings {
    /// Tokens of the prompt that were in the cache.
    pub cache_n: Option<u64>,
    /// Tokens of the prompt that were computed.
    pub prompt_n: Option<u64>,
    /// Time for those.
    pub prompt_ms: Option<f64>,
    /// Tokens of the prompt a second.
    pub prompt_per_second: Option<f64>,
    /// Tokens generated.
    pub predicted_n: Option<u64>,
    /// Time for those.
    pub predicted_ms: Option<f64>,
    /// Tokens generated a second.
    pub predicted_per_second: Option<f64>,
    /// Tokens that a draft model proposed.
    pub draft_n: Option<u64>,
    /// Of those, the ones accepted.
    pub draft_n_accepted: Option<u64>,
}

/// llama-server's `prompt_progress`, asked for by `return_progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Tokens of the prompt.
    pub total: Option<u64>,
    /// Of those, the ones in the cache.
    pub cache: Option<u64>,
    /// Of those, the ones done, the cached included.
    pub processed: Option<u64>,
    /// Time so far, in milliseconds.
    pub time_ms: Option<u64>,
}

/// An error as a server reports it, in a stream or as the body of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerError<'i> {
    /// The code, mostly that of HTTP; of a body without one the status.
    pub code: Option<i64>,
    /// The type, as `invalid_request_error`; empty where none was sent.
    pub kind: &'i str,
    /// What is wrong; empty where nothing was sent.
    pub message: &'i str,
    /// Tokens of a prompt that is too long.
    pub n_prompt_tokens: Option<u64>,
    /// The context that it is too long for, in tokens.
    pub n_ctx: Option<u64>,
}

impl fmt::Display for ServerError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.message.is_empty() { "no message" } else { self.message })?;
        match (self.kind, self.code) {
            ("", None) => Ok(()),
            ("", Some(code)) => write!(f, " ({code})"),
            (kind, None) => write!(f, " ({kind})"),
            (kind, Some(code)) => write!(f, " ({kind}, {code})"),
        }
    }
}

/// What was left out for want of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// A whole event. See [`sse::Overflow`](crate::sse::Overflow).
    Event {
        /// Offset in the stream, in bytes, of the first line of the block that holds it.
        offset: u64,
    },
    /// A string with escapes, which had to be decoded.
    Text {
        /// Its decoded length in bytes: as much memory would do.
        need: u64,
    },
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Its end mark came; or, at a clean end of the input, each answer had told its finish
    /// reason ([`Received::done_seen`] is false then).
    Complete,
    /// The server reported an error.
    Failed,
    /// The input ended before that.
    Truncated,
}

/// The end of a stream, and what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// How it ended.
    pub outcome: Outcome,
    /// What had come.
    pub received: Received,
    /// What the input stopped in the middle of: `none`, `line` or `event`.
    pub pending: &'static str,
}

/// What came of a stream so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Events with data, whatever it was.
    pub events: u64,
    /// Of those, the ones that are no answer: empty, or beginning with `:` as some proxies
    /// send them to keep a connection alive.
    pub skipped: u64,
    /// Of those, the ones of another kind than any that is read.
    pub unknown: u64,
    /// Comments: the pings of a server that is busy.
    pub comments: u64,
    /// Things left out for want of memory.
    pub overflows: u64,
    /// Token ids.
    pub ids: u64,
    /// Text, decoded, in bytes; reasoning included.
    pub text_bytes: u64,
    /// Tokens that the server says it generated, where it says so with each.
    pub predicted: Option<u64>,
    /// The last finish reason that was seen.
    pub finish: Option<Reason>,
    /// The end mark was seen.
    pub done_seen: bool,
}

impl Received {
    /// Tokens that were generated and whose ids were not sent; 0 where that is not known.
    /// Meaningful for `/completion` with one answer.
    pub fn lost_ids(&self) -> u64 {
        self.predicted.map_or(0, |predicted| predicted.saturating_sub(self.ids))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Received { events, text_bytes, ids, finish, .. } = self.received;
        f.write_str(match self.outcome {
            Outcome::Complete => "the stream is complete",
            Outcome::Failed => "the server reported an error",
            Outcome::Truncated => "the stream ends before its end mark",
        })?;
        write!(f, " after {events} events, {text_bytes} bytes of text and {ids} token ids")?;
        if let (Outcome::Truncated, Some(reason)) = (self.outcome, finish) {
            write!(f, ", finish reason {}", reason.name())?;
        }
        if self.pending != "none" {
            write!(
                f,
                ", in the middle of {}",
                if self.pending == "line" { "a line" } else { "an event" }
            )?;
        }
        Ok(())
    }
}

//! The JSON lines of items.

use rocload::core::llama::{ErrorBody, Item, Overflow, ToolPart};
use serde::Serialize;

/// A line; `type` says which.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ItemJson<'a> {
    Role {
        choice: u32,
        role: &'a str,
    },
    Text {
        choice: u32,
        text: &'a str,
    },
    Reasoning {
        choice: u32,
        text: &'a str,
    },
    ToolCall(ToolCallJson<'a>),
    Token {
        choice: u32,
        id: i64,
    },
    Finish {
        choice: u32,
        reason: &'static str,
        word: &'a str,
        stop: Option<&'a str>,
        truncated: bool,
    },
    Usage {
        prompt: Option<u64>,
        completion: Option<u64>,
        total: Option<u64>,
        cached: Option<u64>,
    },
    Timings(TimingsJson),
    Progress {
        total: Option<u64>,
        cache: Option<u64>,
        processed: Option<u64>,
        time_ms: Option<u64>,
    },
    Error(ErrorFields<'a>),
    Overflow {
        what: &'static str,
        offset: Option<u64>,
        need: Option<u64>,
    },
    End(EndJson),
}

#[derive(Serialize)]
pub(crate) struct ToolCallJson<'a> {
    choice: u32,
    call: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct TimingsJson {
    cache_n: Option<u64>,
    prompt_n: Option<u64>,
    prompt_ms: Option<f64>,
    prompt_per_second: Option<f64>,
    predicted_n: Option<u64>,
    predicted_ms: Option<f64>,
    predicted_per_second: Option<f64>,
    draft_n: Option<u64>,
    draft_n_accepted: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct ErrorFields<'a> {
    code: Option<i64>,
    kind: &'a str,
    message: &'a str,
    n_prompt_tokens: Option<u64>,
    n_ctx: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct EndJson {
    pub(super) outcome: &'static str,
    pub(super) done_seen: bool,
    pub(super) pending: &'static str,
    pub(super) finish: Option<&'static str>,
    pub(super) events: u64,
    pub(super) skipped: u64,
    pub(super) unknown: u64,
    pub(super) comments: u64,
    pub(super) overflows: u64,
    pub(super) ids: u64,
    pub(super) text_bytes: u64,
    pub(super) predicted: Option<u64>,
}

impl<'a> ItemJson<'a> {
    /// The line of an item; `None` for a kind that has none.
    pub(crate) fn of(item: &Item<'a>) -> Option<Self> {
        Some(match *item {
            Item::Role { choice, role } => ItemJson::Role { choice, role },
            Item::Text { choice, text } => ItemJson::Text { choice, text },
            Item::Reasoning { choice, text } => ItemJson::Reasoning { choice, text },
            Item::ToolCall { choice, call, part } => {
                let mut line = ToolCallJson { choice, call, id: None, name: None, arguments: None };
                match part {
                    ToolPart::Id(id) => line.id = Some(id),
                    ToolPart::Name(name) => line.name = Some(name),
                    ToolPart::Arguments(arguments) => line.arguments = Some(arguments),
                }
                ItemJson::ToolCall(line)
            }
            Item::Token { choice, id } => ItemJson::Token { choice, id },
            Item::Finish { choice, finish } => ItemJson::Finish {
                choice,
                reason: finish.reason.name(),
                word: finish.word,
                stop: finish.stop,
                truncated: finish.truncated,
            },
            Item::Usage(usage) => ItemJson::Usage {
                prompt: usage.prompt,
                completion: usage.completion,
                total: usage.total,
                cached: usage.cached,
            },
            Item::Timings(timings) => ItemJson::Timings(TimingsJson {
                cache_n: timings.cache_n,
                prompt_n: timings.prompt_n,
                prompt_ms: timings.prompt_ms,
                prompt_per_second: timings.prompt_per_second,
                predicted_n: timings.predicted_n,
                predicted_ms: timings.predicted_ms,
                predicted_per_second: timings.predicted_per_second,
                draft_n: timings.draft_n,
                draft_n_accepted: timings.draft_n_accepted,
            }),
            Item::Progress(progress) => ItemJson::Progress {
                total: progress.total,
                cache: progress.cache,
                processed: progress.processed,
                time_ms: progress.time_ms,
            },
            Item::Error(error) => ItemJson::Error(ErrorFields {
                code: error.code,
                kind: error.kind,
                message: error.message,
                n_prompt_tokens: error.n_prompt_tokens,
                n_ctx: error.n_ctx,
            }),
            Item::Overflow(Overflow::Event { offset }) => {
                ItemJson::Overflow { what: "event", offset: Some(offset), need: None }
            }
            Item::Overflow(Overflow::Text { need }) => {
                ItemJson::Overflow { what: "text", offset: None, need: Some(need) }
            }
            Item::End(ending) => ItemJson::End(EndJson::of(&ending)),
            _ => return None,
        })
    }
}

/// The line of an HTTP answer that is an error: that of an error in a stream, and the status.
#[derive(Serialize)]
pub(super) struct ErrorJson {
    r#type: &'static str,
    status: u16,
    code: i64,
    kind: String,
    message: String,
    n_prompt_tokens: Option<u64>,
    n_ctx: Option<u64>,
}

impl ErrorJson {
    pub(super) fn of(error: &ErrorBody<'_>) -> Self {
        let snippet = || String::from_utf8_lossy(error.snippet).into_owned();
        ErrorJson {
            r#type: "error",
            status: error.status,
            code: error.code,
            kind: error.kind.map(|kind| kind.to_string()).unwrap_or_default(),
            message: error.message.map_or_else(snippet, |message| message.to_string()),
            n_prompt_tokens: error.n_prompt_tokens,
            n_ctx: error.n_ctx,
        }
    }
}

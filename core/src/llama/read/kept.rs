//! Items between the step that finds them and the call that fetches them: their strings as
//! places in the event's data or in the memory for text.

use super::super::item::{
    Ending, Finish, Item, Overflow, Progress, Reason, ServerError, Timings, ToolPart, Usage,
};
use super::super::json::Value;
use super::work::{Span, What};
use crate::need::Storage;

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
pub(crate) struct Said(pub(super) What);

/// Where a string of a kept item is; opaque outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct At(Place);

impl At {
    /// All of the data.
    pub(super) const fn all(data: &[u8]) -> At {
        At(Place::Data(0, data.len()))
    }

    pub(super) const EMPTY: At = At(Place::Data(0, 0));

    pub(super) fn get<'i>(self, data: &'i [u8], text: &'i [u8]) -> &'i str {
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
pub(super) struct Hold<'t, T> {
    pub(super) text: &'t mut T,
    pub(super) used: usize,
}

impl<T: Storage> Hold<'_, T> {
    /// Keeps a string whose value stands in `data`; the error is the memory it takes.
    pub(super) fn keep(&mut self, data: &[u8], value: Span) -> Result<At, u64> {
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

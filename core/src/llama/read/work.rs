//! What is left to tell of an event: a short stack, so that an event of any size is told piece
//! by piece without a list of its pieces.

use super::super::item::Usage;
use super::super::json::Value;

/// Where a value is in the event's data.
pub(super) type Span = (usize, usize);

pub(super) fn span(value: Value<'_>) -> Span {
    let range = value.range();
    (range.start, range.end)
}

/// What a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Role,
    Text,
    Reasoning,
    /// The id of this call.
    Id(u32),
    Name(u32),
    Arguments(u32),
}

/// Something to be told. The arrays hold where their next element is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Whole answers of `/completion`, of which there are several.
    Answers {
        at: usize,
    },
    /// Elements of `choices`.
    Choices {
        at: usize,
    },
    /// Elements of `tool_calls`, the next one being number `call`.
    Tools {
        choice: u32,
        at: usize,
        call: u32,
    },
    /// Token ids: numbers, or objects that have one.
    Ids {
        choice: u32,
        at: usize,
    },
    /// Elements of `output`.
    Outputs {
        at: usize,
    },
    /// Content blocks.
    Blocks {
        at: usize,
        reasoning: bool,
    },
    /// A string.
    Say {
        choice: u32,
        what: What,
        span: Span,
    },
    /// An answer's end: the server's word, and the stop word.
    Finish {
        choice: u32,
        word: Span,
        stop: Option<Span>,
        truncated: bool,
    },
    Usage(Span),
    Counts(Usage),
    Timings(Span),
    Progress(Span),
    /// An error; without its strings where those found no room.
    Error {
        at: Span,
        message: bool,
    },
    /// The data as a whole is an error's message.
    Raw,
}

impl Work {
    /// The same finish without the stop word.
    pub(super) fn without_stop(self) -> Work {
        match self {
            Work::Finish { choice, word, truncated, .. } => {
                Work::Finish { choice, word, stop: None, truncated }
            }
            work => work,
        }
    }
}

/// Enough for the deepest nesting there is: an object's parts, one choice's, one call's.
const ROOM: usize = 16;

/// The stack. What is pushed last is told first.
#[derive(Debug, Clone)]
pub(super) struct Works {
    works: [Work; ROOM],
    len: usize,
}

impl Works {
    pub(super) const fn new() -> Self {
        Works { works: [Work::Answers { at: 0 }; ROOM], len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn push(&mut self, work: Work) {
        debug_assert!(self.len < ROOM, "the stack is as deep as the protocol's objects");
        if let Some(slot) = self.works.get_mut(self.len) {
            *slot = work;
            self.len += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<Work> {
        self.len = self.len.checked_sub(1)?;
        Some(self.works[self.len])
    }

    /// Pushes what is to be told of `value`, if there is one.
    pub(super) fn add(&mut self, value: Option<Value<'_>>, work: impl FnOnce(Span) -> Work) {
        if let Some(value) = value {
            self.push(work(span(value)));
        }
    }

    /// A string, if there is one and it is not empty.
    pub(super) fn say(&mut self, choice: u32, what: What, value: Option<Value<'_>>) {
        if let Some(value) = value
            && value.as_str().is_some_and(|string| !string.is_empty())
        {
            self.push(Work::Say { choice, what, span: span(value) });
        }
    }

    /// The elements of an array, if it is one.
    pub(super) fn list(&mut self, value: Option<Value<'_>>, work: impl FnOnce(usize) -> Work) {
        if let Some(value) = value.filter(|value| value.is_array()) {
            self.push(work(value.range().start + 1));
        }
    }
}

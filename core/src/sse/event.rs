//! What a stream holds: events, and what the standard tells readers to skip.

#[cfg(feature = "alloc")]
use alloc::{borrow::Cow, string::String};
use core::str::Utf8Error;

use crate::need::ItemKind;

/// What a [`Parser`](super::Parser) yields. Comments and unknown fields only when asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item<'i> {
    /// A blank line dispatched an event.
    Event(Event<'i>),
    /// The text of a comment line behind its `:`, as it is. Servers send `:` alone to keep a
    /// connection alive. See [`Parser::comments`](super::Parser::comments).
    Comment(&'i [u8]),
    /// A line whose field the standard does not know. See
    /// [`Parser::fields`](super::Parser::fields).
    Field(Field<'i>),
    /// An event was too large to keep; parsing goes on behind the next blank line.
    Overflow(Overflow),
}

/// The family of [`Item`].
#[derive(Debug)]
pub enum Items {}

impl ItemKind for Items {
    type Item<'i> = Item<'i>;
}

/// A dispatched event. Bytes are the stream's own and may be ill-formed UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'i> {
    /// The event's type: `message` unless a field `event` named another.
    pub event: &'i [u8],
    /// The values of its `data` lines, joined by LF; may be empty.
    pub data: &'i [u8],
    /// The last event id when it was dispatched: it stays until a later event changes it.
    pub id: &'i [u8],
}

impl<'i> Event<'i> {
    /// The data as text.
    ///
    /// # Errors
    /// The data is not well-formed UTF-8; other events are not affected.
    #[inline]
    pub fn data_str(&self) -> Result<&'i str, Utf8Error> {
        // The fast check does not say where it fails.
        simdutf8::basic::from_utf8(self.data).or_else(|_| core::str::from_utf8(self.data))
    }

    /// The data as the standard decodes it: ill-formed bytes become U+FFFD.
    #[cfg(feature = "alloc")]
    pub fn data_lossy(&self) -> Cow<'i, str> {
        String::from_utf8_lossy(self.data)
    }

    /// The type as the standard decodes it.
    #[cfg(feature = "alloc")]
    pub fn event_lossy(&self) -> Cow<'i, str> {
        String::from_utf8_lossy(self.event)
    }

    /// The id as the standard decodes it.
    #[cfg(feature = "alloc")]
    pub fn id_lossy(&self) -> Cow<'i, str> {
        String::from_utf8_lossy(self.id)
    }
}

/// A line that is neither a comment nor a field of the standard, such as the `error: {...}` of
/// old servers. It is given at its line's end, before the event that it may stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'i> {
    /// What stands before the first colon, or the whole line.
    pub name: &'i [u8],
    /// What stands behind it, without one leading space.
    pub value: &'i [u8],
}

/// An event that was too large to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// Offset in the stream, in bytes, of the first line of the block that holds the event.
    pub offset: u64,
}

//! What a stream holds: events, and what the standard tells readers to skip.

#[cfg(feature = "alloc")]
use alloc::{borrow::Cow, string::String};
use core::fmt;
use core::ptr;
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

/// What the check of UTF-8 takes at a time. What is left over costs it more than a block.
const BLOCK: usize = 64;

/// A dispatched event. Bytes are the stream's own and may be ill-formed UTF-8.
#[derive(Clone, Copy)]
pub struct Event<'i> {
    /// The event's type: `message` unless a field `event` named another.
    pub event: &'i [u8],
    /// The values of its `data` lines, joined by LF; may be empty.
    pub data: &'i [u8],
    /// The last event id when it was dispatched: it stays until a later event changes it.
    pub id: &'i [u8],
    /// The data and as much of what happens to lie behind it as fills its last block, if it can.
    blocks: &'i [u8],
}

impl<'i> Event<'i> {
    /// An event whose data is the first `len` bytes of `bytes`.
    #[inline(always)]
    pub(super) fn new(event: &'i [u8], bytes: &'i [u8], len: usize, id: &'i [u8]) -> Self {
        let data = &bytes[..len];
        let end = len.next_multiple_of(BLOCK);
        let blocks = match bytes.get(end) {
            // Not in the middle of a character, which would be ill-formed.
            Some(next) if next & 0xc0 != 0x80 => &bytes[..end],
            _ => data,
        };
        Event { event, data, id, blocks }
    }

    /// The data as text.
    ///
    /// # Errors
    /// The data is not well-formed UTF-8; other events are not affected.
    #[inline]
    pub fn data_str(&self) -> Result<&'i str, Utf8Error> {
        // The fields are the caller's to set: the blocks may be those of other data.
        let len = self.data.len();
        if self.blocks.get(..len).is_some_and(|front| ptr::eq(front, self.data))
            && let Ok(text) = simdutf8::basic::from_utf8(self.blocks)
            && let Some(text) = text.get(..len)
        {
            return Ok(text);
        }
        self.data_alone()
    }

    /// The data as text, whatever lies behind it.
    #[inline(never)]
    fn data_alone(&self) -> Result<&'i str, Utf8Error> {
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

impl PartialEq for Event<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.event, self.data, self.id) == (other.event, other.data, other.id)
    }
}

impl Eq for Event<'_> {}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("event", &self.event)
            .field("data", &self.data)
            .field("id", &self.id)
            .finish()
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{BLOCK, Event};

    #[test]
    fn what_lies_behind_the_data_does_not_change_its_text() {
        let fronts = ["".as_bytes(), "世".as_bytes(), b"\xff", b"\xe4", b"\xe4\xb8"];
        let behinds = ["\n\ndata: 世".as_bytes(), b"\n\xff", b"\x96\xe7\x95\x8c", b"\0", b""];
        for len in 0..3 * BLOCK {
            for (front, behind) in fronts.iter().flat_map(|f| behinds.map(|b| (*f, b))) {
                let mut bytes = [&[b'x'].repeat(len), front].concat();
                let len = bytes.len();
                bytes.extend_from_slice(behind);
                // From nothing more to a block of characters cut at any place.
                for more in 0..=BLOCK + 3 {
                    let more: Vec<u8> = "界".bytes().cycle().take(more).collect();
                    let bytes = [&bytes[..], &more].concat();
                    let event = Event::new(b"message", &bytes, len, b"");
                    assert_eq!(event.data, &bytes[..len]);
                    assert_eq!(event.data_str(), core::str::from_utf8(&bytes[..len]));
                }
            }
        }
    }

    #[test]
    fn blocks_are_filled_where_a_character_ends() {
        let bytes = ["x".repeat(BLOCK - 1), "世界".into(), "x".repeat(BLOCK)].concat();
        let blocks = |len| Event::new(b"", bytes.as_bytes(), len, b"").blocks.len();
        // The first block's end would cut a character; the third has not come.
        assert_eq!([1, BLOCK - 1], [1, BLOCK - 1].map(blocks));
        assert_eq!([2 * BLOCK, 2 * BLOCK], [BLOCK + 5, 2 * BLOCK].map(blocks));
        assert_eq!(2 * BLOCK + 1, blocks(2 * BLOCK + 1));
    }

    #[test]
    fn a_field_that_was_set_counts() {
        let bytes = "data ".repeat(2 * BLOCK);
        let mut event = Event::new(b"message", bytes.as_bytes(), 100, b"");
        assert_eq!(event.data_str(), Ok(&bytes[..100]));
        event.data = b"other";
        assert_eq!(event.data_str(), Ok("other"));
        event.data = &bytes.as_bytes()[..7];
        assert_eq!(event.data_str(), Ok("data da"));
        event.data = &bytes.as_bytes()[1..200];
        assert_eq!(event.data_str(), Ok(&bytes[1..200]));
        let same = Event::new(b"message", b"data da", 7, b"");
        assert_eq!(Event { data: &bytes.as_bytes()[..7], ..event }, same);
    }
}

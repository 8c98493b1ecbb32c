//! Server-sent events: the WHATWG algorithm as a machine, over any chunking of the bytes.
//!
//! [`Parser`] turns the bytes of a `text/event-stream` body into [`Item`]s. It needs no
//! allocator: an event that lies whole in the input on one `data` line is borrowed from there,
//! any other is put together in the caller's [`Storage`](crate::Storage).
//!
//! ```text
//!            +--- rest of a line ---+      blank line: Item::Event, if there is data
//!            v                      |             ^
//!  [BOM] -> line start --field------+             |
//!            |  ^                                 |
//!            |  +------------ line end -----------+
//!            +-- no room for the data: Item::Overflow, then skip to the next blank line
//! ```
//!
//! ```
//! use rocload_core::sse::{Item, Parser};
//! use rocload_core::{End, Limits, Machine, visit};
//!
//! let mut parser = Parser::new(&Limits::default(), [0u8; 64]);
//! let mut tokens = String::new();
//! for chunk in [&b"data: Hel"[..], b"lo\n\n: ping\n\nid: 7\r\ndata:, \xe4\xb8", b"\x96\xe7\x95\x8c\r\n\r", b"\ndata"] {
//!     visit(&mut parser, 0, chunk, |item| {
//!         if let Item::Event(event) = item {
//!             tokens.push_str(event.data_str().unwrap());
//!         }
//!     })?;
//! }
//! assert_eq!(tokens, "Hello, 世界");
//! assert_eq!(parser.last_event_id(), b"7");
//! assert_eq!(parser.end()?, End::Pending("line"));
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! # What it does where the standard leaves room
//!
//! - Bytes come out as they came in: the standard's replacement of ill-formed UTF-8 is left to
//!   [`Event::data_lossy`] and its like, so that a strict reader can refuse it per event.
//! - `retry` saturates at `u64::MAX` milliseconds; an empty `retry` is ignored.
//! - Events larger than the storage or [`Limits::event_bytes`](crate::Limits::event_bytes) are
//!   told as [`Overflow`] and skipped to the next blank line, with their type and id.
//! - An event type or id longer than [`NAME_BYTES`] is ignored, as are comments and unknown
//!   fields without room; all are counted by [`Parser::ignored`].
//!
//! Source: <https://html.spec.whatwg.org/multipage/server-sent-events.html>, "Parsing an event
//! stream" and "Interpreting an event stream".

mod event;
mod name;
mod parser;
#[cfg(all(test, feature = "alloc"))]
mod tests;

pub use event::{Event, Field, Item, Items, Overflow};
pub use parser::Parser;

/// Longest event type, id, and name of an unknown field, in bytes.
pub const NAME_BYTES: usize = 256;

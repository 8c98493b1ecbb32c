//! Stopping at tokens by their ids.
//!
//! No parameter of llama-server takes ids to stop at (`logit_bias` with `false` only forbids a
//! token). Two ways remain:
//!
//! - [`StopIds`] watches the ids in a stream of `/completion`; on a match the caller closes the
//!   connection, which frees the slot within a token. Exact, but ids of tokens that are held
//!   back for half a character are not sent ([`Received::lost_ids`](super::Received::lost_ids)).
//! - [`stop_string`] turns the answer of `/detokenize` for one id into a text for
//!   [`Sampling::stop`](super::request::Sampling::stop), which the server looks for itself, at
//!   any endpoint; it stops at that text however it is made of tokens.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::llama::{Item, StopIds, detokenized, stop_string};
//!
//! let mut watch = StopIds::new(&[2, 32000]);
//! assert_eq!(watch.see(&Item::Token { choice: 0, id: 8730 }), None);
//! let stop = watch.see(&Item::Token { choice: 0, id: 32000 }).unwrap();
//! assert_eq!((stop.index, stop.id, stop.before), (1, 32000, 1));
//!
//! let limits = Limits::default();
//! let text = stop_string(detokenized(br#"{"content":"<|end|>"}"#, &limits)?).unwrap();
//! assert!(text.is("<|end|>"));
//! // A part of a character is no text to stop at, nor is nothing.
//! assert!(stop_string(detokenized("{\"content\":\"\u{fffd}\"}".as_bytes(), &limits)?).is_none());
//! # Ok::<(), rocload_core::Error>(())
//! ```

use super::item::Item;
use super::json::{Piece, Str};

/// A token to stop at has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// Which of the ids it is, from 0.
    pub index: usize,
    /// The id.
    pub id: i64,
    /// The answer that it stops.
    pub choice: u32,
    /// How many ids had come before, of all answers.
    pub before: u64,
}

/// Watches the items of a stream for token ids. The id of a token comes before its text.
#[derive(Debug, Clone, Copy)]
pub struct StopIds<'a> {
    ids: &'a [i64],
    seen: u64,
}

impl<'a> StopIds<'a> {
    /// Stops at any of these.
    pub const fn new(ids: &'a [i64]) -> Self {
        StopIds { ids, seen: 0 }
    }

    /// Looks at an item.
    pub fn see(&mut self, item: &Item<'_>) -> Option<Stop> {
        let Item::Token { choice, id } = *item else { return None };
        let before = self.seen;
        self.seen += 1;
        let index = self.ids.iter().position(|&stop| stop == id)?;
        Some(Stop { index, id, choice, before })
    }
}

/// The text of a token as `/detokenize` tells it, if it can be stopped at: not if it is empty
/// (control tokens are often not shown) or not whole characters.
pub fn stop_string(content: Str<'_>) -> Option<Str<'_>> {
    let broken = |piece| match piece {
        Piece::Run(run) => run.contains(char::REPLACEMENT_CHARACTER),
        Piece::Char(c) => c == char::REPLACEMENT_CHARACTER,
    };
    (!content.is_empty() && !content.pieces().any(broken)).then_some(content)
}

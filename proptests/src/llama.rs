//! llama-server's streams: split invariance in memory of any size, and what holds for the items
//! of every stream.

use core::hash::{Hash, Hasher};
use std::hash::DefaultHasher;

use rocload_core::llama::{Answer, Ending as Told, Item, Options, Outcome, Stream};
use rocload_core::{Limits, Storage};

use crate::split::{self, Ending, Rules};
use crate::{Broken, Verdict, require, same};

pub mod bodies;
pub mod requests;

/// An item as text, and what it counts as.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// As [`Item`] shows itself.
    pub shown: String,
    /// Its text or reasoning.
    pub text: String,
    /// It is a token id.
    pub id: bool,
    /// It is the last item.
    pub end: Option<Told>,
    /// It is the server's error.
    pub error: bool,
}

impl From<Item<'_>> for Kept {
    fn from(item: Item<'_>) -> Kept {
        let text = match item {
            Item::Text { text, .. } | Item::Reasoning { text, .. } => text.to_owned(),
            _ => String::new(),
        };
        let end = match item {
            Item::End(told) => Some(told),
            _ => None,
        };
        let id = matches!(item, Item::Token { .. });
        let error = matches!(item, Item::Error(_));
        Kept { shown: format!("{item:?}"), text, id, end, error }
    }
}

/// What a stream gave.
pub type Given = split::Outcome<Kept>;

/// Any chunking of `body` gives the same items, whichever memory is lent; `seed` chooses a
/// chunking in much memory and, of every other body, one in little; without it all of the ruling's
/// are tried.
///
/// # Errors
/// [`Broken`] when a chunking makes a difference, or the items break a rule.
pub fn any_chunking(body: &[u8], options: Options, seed: Option<u64>) -> Result<Given, Broken> {
    let large = chunked::<[u8; 8192], [u8; 2048]>(body, options, seed, [0; 8192], [0; 2048])?;
    // So little that events and strings overflow.
    let wanted = |one: u64| seed.is_none_or(|seed| (seed >> 3) % 4 == one);
    let few = Some(seed.unwrap_or(body.len() as u64));
    if wanted(0) {
        chunked(body, options, few, [0u8; 160], [0u8; 3])?;
    }
    if wanted(1) {
        chunked(body, options, few, [0u8; 24], [0u8; 0])?;
    }
    Ok(large)
}

fn chunked<S, T>(
    body: &[u8],
    options: Options,
    seed: Option<u64>,
    event: S,
    text: T,
) -> Result<Given, Broken>
where
    S: Storage + Clone,
    T: Storage + Clone,
{
    let limits = Limits::default();
    let make = || Stream::new(options, &limits, event.clone(), text.clone());
    let keep = |item: Item<'_>| Kept::from(item);
    let rules = Rules::new();
    if seed.is_none() {
        // Thousands of runs: their items are compared by their digests.
        split::invariance(make, |item: Item<'_>| digest(&item), body, &Rules::new())?;
    }
    let seed = seed.unwrap_or(body.len() as u64);
    let given = split::sample(make, keep, body, &rules, seed)?;
    sound(&given)?;
    Ok(given)
}

/// A number that differs for items that differ, but by chance.
fn digest(item: &Item<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    core::mem::discriminant(item).hash(&mut hash);
    match *item {
        Item::Role { choice, role: text }
        | Item::Text { choice, text }
        | Item::Reasoning { choice, text } => (choice, text).hash(&mut hash),
        Item::Token { choice, id } => (choice, id).hash(&mut hash),
        _ => format!("{item:?}").hash(&mut hash),
    }
    hash.finish()
}

/// One end, last, which tells truly what came.
fn sound(given: &Given) -> Verdict {
    if let Ending::Failed(_) = given.ending {
        let ended = given.items.iter().any(|item| item.end.is_some());
        return require(!ended, "a malformed stream has no end", || format!("{given:?}"));
    }
    let Some((last, rest)) = given.items.split_last() else {
        return require(false, "a stream has an end", || "no items".into());
    };
    let Some(told) = last.end else {
        return require(false, "the end is last", || last.shown.clone());
    };
    require(rest.iter().all(|item| item.end.is_none()), "there is one end", || {
        format!("{given:?}")
    })?;
    let bytes: usize = rest.iter().map(|item| item.text.len()).sum();
    same("the end counts the text", &(bytes as u64), &told.received.text_bytes)?;
    let ids = rest.iter().filter(|item| item.id).count();
    same("the end counts the ids", &(ids as u64), &told.received.ids)?;
    let cut = told.outcome == Outcome::Truncated;
    same("what is cut off is pending", &cut, &matches!(given.ending, Ending::Pending(_)))?;
    let errors = rest.iter().filter(|item| item.error).count();
    require(errors <= 1, "an error ends the stream", || format!("{given:?}"))?;
    require(errors == 0 || told.outcome == Outcome::Failed, "an error fails the stream", || {
        format!("{told:?}")
    })
}

/// A whole answer: reading it gives items or an error and comes to an end.
///
/// # Errors
/// [`Broken`] when there are more items than bytes.
pub fn answer_is_finite(body: &[u8]) -> Verdict {
    let Ok(mut answer) = Answer::new(body, [0u8; 64], &Limits::default()) else { return Ok(()) };
    let mut items = 0;
    while answer.next().is_some() {
        items += 1;
        require(items <= body.len(), "items are bounded by the bytes", || items.to_string())?;
    }
    require(answer.next().is_none(), "after the last item there is none", String::new)
}

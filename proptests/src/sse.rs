//! Server-sent events: the parser against two naive readers, for any chunking.
//!
//! [`transcribed`] is the WHATWG algorithm word by word, over decoded text. [`expected`] goes over
//! bytes, and also knows comments, unknown fields and a cap. The parser must give what both give.

use rocload_core::sse::{Item, Items, NAME_BYTES, Parser};
use rocload_core::{Limits, Machine, Storage, visit};

use crate::random::Random;
use crate::split::{self, Ending, Rules};
use crate::{Verdict, require, same};

/// An item that can be kept and compared; texts as the standard decodes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Type, data, id.
    Event(String, String, String),
    /// A comment's bytes.
    Comment(Vec<u8>),
    /// An unknown field's name and value.
    Field(Vec<u8>, Vec<u8>),
    /// Where the block of an event that is too large begins.
    Overflow(u64),
}

impl From<Item<'_>> for Kept {
    fn from(item: Item<'_>) -> Kept {
        match item {
            Item::Event(event) => {
                assert_eq!(event.data_str(), std::str::from_utf8(event.data));
                Kept::Event(lossy(event.event), lossy(event.data), lossy(event.id))
            }
            Item::Comment(text) => Kept::Comment(text.to_vec()),
            Item::Field(field) => Kept::Field(field.name.to_vec(), field.value.to_vec()),
            Item::Overflow(overflow) => Kept::Overflow(overflow.offset),
            _ => unreachable!("there is no other item"),
        }
    }
}

/// What a stream gives in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The items.
    pub items: Vec<Kept>,
    /// The last event id.
    pub id: String,
    /// The reconnection time.
    pub retry: Option<u64>,
    /// `none`, `line` or `event`.
    pub pending: &'static str,
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Digits alone, saturating; `None` for none at all.
fn number(value: &str) -> Option<u64> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| value.parse().unwrap_or(u64::MAX))
}

/// "Parsing an event stream" and "Interpreting an event stream" of the standard, step by step.
/// `pending` is left to [`expected`].
pub fn transcribed(bytes: &[u8]) -> Given {
    // UTF-8 decode: one byte-order mark is dropped, what is ill-formed is replaced.
    let text = lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let mut given = Given { items: Vec::new(), id: String::new(), retry: None, pending: "none" };
    let (mut data, mut kind, mut id) = (String::new(), String::new(), String::new());
    let mut rest = text.as_str();
    // A line without an end is not a line: the block that it is in is dropped.
    while let Some(end) = rest.find(['\r', '\n']) {
        let line = &rest[..end];
        rest = &rest[end..];
        rest = rest.strip_prefix("\r\n").unwrap_or_else(|| &rest[1..]);
        if line.is_empty() {
            given.id.clone_from(&id);
            if data.is_empty() {
                kind.clear();
                continue;
            }
            let text = data.strip_suffix('\n').unwrap_or(&data).to_owned();
            let name = if kind.is_empty() { "message".to_owned() } else { kind.clone() };
            given.items.push(Kept::Event(name, text, given.id.clone()));
            data.clear();
            kind.clear();
            continue;
        }
        if line.starts_with(':') {
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut kind),
            "data" => {
                data.push_str(value);
                data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut id),
            "retry" => given.retry = number(value).or(given.retry),
            _ => {}
        }
    }
    given
}

/// The block that is being read.
#[derive(Debug, Default)]
struct Block {
    begin: usize,
    data: Option<Vec<u8>>,
    kind: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    skipped: bool,
}

/// What a parser gives that shows comments and unknown fields if `show`, and has room for `room`
/// bytes.
pub fn expected(bytes: &[u8], room: usize, show: bool) -> Given {
    let mut given = Given { items: Vec::new(), id: String::new(), retry: None, pending: "none" };
    let mut id = Vec::new();
    let mut at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut block = Block { begin: at, ..Block::default() };
    while let Some(len) = bytes[at..].iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let line = &bytes[at..at + len];
        at += len + if bytes[at + len..].starts_with(b"\r\n") { 2 } else { 1 };
        if line.is_empty() {
            let done = std::mem::replace(&mut block, Block { begin: at, ..Block::default() });
            id = done.id.unwrap_or(id);
            if let Some(data) = done.data {
                let kind = done.kind.filter(|kind| !kind.is_empty());
                let kind = lossy(&kind.unwrap_or_else(|| b"message".to_vec()));
                given.items.push(Kept::Event(kind, lossy(&data), lossy(&id)));
            }
            continue;
        }
        if block.skipped {
            continue;
        }
        let have = block.data.as_ref().map_or(0, Vec::len);
        if let Some(text) = line.strip_prefix(b":") {
            if show && have + text.len() <= room {
                given.items.push(Kept::Comment(text.to_vec()));
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let name = &line[..colon.unwrap_or(line.len())];
        let value = colon.map_or(&b""[..], |colon| &line[colon + 1..]);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let short = value.len() <= NAME_BYTES;
        match name {
            b"data" => {
                let joined = match block.data.take() {
                    Some(data) => [&data, &b"\n"[..], value].concat(),
                    None => value.to_vec(),
                };
                if joined.len() <= room {
                    block.data = Some(joined);
                } else {
                    let begin = block.begin;
                    given.items.push(Kept::Overflow(begin as u64));
                    block = Block { begin, skipped: true, ..Block::default() };
                }
            }
            b"event" if short => block.kind = Some(value.to_vec()),
            b"id" if short && !value.contains(&0) => block.id = Some(value.to_vec()),
            b"retry" => given.retry = number(&lossy(value)).or(given.retry),
            b"event" | b"id" => {}
            _ if show && name.len() <= NAME_BYTES && have + value.len() <= room => {
                given.items.push(Kept::Field(name.to_vec(), value.to_vec()));
            }
            _ => {}
        }
    }
    given.id = lossy(&id);
    // A line that stopped has overflowed if what there is of it has no room.
    if let (Some(value), false) = (bytes[at..].strip_prefix(b"data:"), block.skipped) {
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let have = block.data.as_ref().map_or(0, |data| data.len() + 1);
        if have + value.len() > room {
            given.items.push(Kept::Overflow(block.begin as u64));
        }
    }
    let Block { data, kind, id, skipped, .. } = block;
    given.pending = match () {
        () if at < bytes.len() => "line",
        () if data.is_some() || kind.is_some() || id.is_some() || skipped => "event",
        () => "none",
    };
    given
}

/// The parser gives what the naive readers give: with ample room that of the standard, and with
/// `room` bytes and all that it can show that of [`expected`]. `seed` chooses one of the three and
/// its chunking; `None` tries all, and all chunkings of the ruling's.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn as_the_standard_says(bytes: &[u8], room: usize, seed: Option<u64>) -> Verdict {
    let ample = Limits::default();
    let mut standard = transcribed(bytes);
    let model = expected(bytes, usize::MAX, false);
    standard.pending = model.pending;
    // The standard has no limit on names.
    if !has_long_line(bytes) {
        same("both naive readers agree", &standard, &model)?;
    }
    let wanted = |one: u64| seed.is_none_or(|seed| (seed >> 3) % 3 == one);
    if wanted(0) {
        chunked(|| Parser::new(&ample, Fixed(vec![0; bytes.len()])), bytes, seed, &model)?;
    }
    let shown = expected(bytes, room, true);
    if wanted(1) {
        let make = || Parser::new(&ample, Fixed(vec![0; room])).comments(true).fields(true);
        chunked(make, bytes, seed, &shown)?;
    }
    if !wanted(2) {
        return Ok(());
    }
    let mut limits = Limits::default();
    limits.event_bytes = room as u64;
    let make = || Parser::new(&limits, Fixed(vec![0; room + 7])).comments(true).fields(true);
    chunked(make, bytes, seed, &shown)
}

fn has_long_line(bytes: &[u8]) -> bool {
    bytes.split(|byte| matches!(byte, b'\r' | b'\n')).any(|line| line.len() > NAME_BYTES)
}

/// A parser to ask for what it knows besides its items.
trait Known: Machine<Kind = Items> {
    fn known(&self) -> (String, Option<u64>);
}

impl<S: Storage> Known for Parser<S> {
    fn known(&self) -> (String, Option<u64>) {
        (lossy(self.last_event_id()), self.retry())
    }
}

/// Storage that does not grow: what the caller lends is all there is.
struct Fixed(Vec<u8>);

impl Storage for Fixed {
    fn slots(&self) -> &[u8] {
        &self.0
    }

    fn slots_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

fn chunked<M: Known>(
    make: impl Fn() -> M,
    bytes: &[u8],
    seed: Option<u64>,
    wanted: &Given,
) -> Verdict {
    let rules = Rules::new();
    let keep = |item: Item<'_>| Kept::from(item);
    let outcome = match seed {
        Some(seed) => split::sample(&make, keep, bytes, &rules, seed)?,
        None => split::invariance(&make, keep, bytes, &rules)?,
    };
    same("the items are the standard's", &outcome.items, &wanted.items)?;
    let pending = match outcome.ending {
        Ending::Complete => "none",
        Ending::Pending(what) => what,
        Ending::Failed(error) => {
            return require(false, "a parser of events never fails", || format!("{error:?}"));
        }
    };
    same("the end tells what was pending", &pending, &wanted.pending)?;
    // What is known besides, in one chunk and bytewise.
    let sizes = [bytes.len().max(1), 1];
    for size in &sizes[..if seed.is_none_or(|seed| seed.is_multiple_of(4)) { 2 } else { 1 }] {
        let mut parser = make();
        for chunk in bytes.chunks(*size) {
            let used = visit(&mut parser, 0, chunk, |_| {});
            same("all is consumed", &used, &Ok(chunk.len()))?;
        }
        let known = (wanted.id.clone(), wanted.retry);
        same("the last id and the time are the standard's", &parser.known(), &known)?;
    }
    Ok(())
}

/// A stream of the pieces that streams are made of, in a random order.
pub fn soup(random: &mut Random) -> Vec<u8> {
    const PIECES: [&[u8]; 56] = [
        b"data",
        b"data:",
        b"data: ",
        b"data: x",
        b"event",
        b"event:",
        b"event: e",
        b"id",
        b"id:",
        b"id: 1",
        b"id: 2\0",
        b"retry",
        b"retry:",
        b"retry: 10",
        b"retry: +1",
        b"retry: 7x",
        b":",
        b": ",
        b": ping",
        b" ",
        b"  ",
        b"\n",
        b"\n",
        b"\n",
        b"\n\n",
        b"\n\n",
        b"\r",
        b"\r",
        b"\r\r",
        b"\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\xef\xbb\xbf",
        b"\xef",
        b"\xbb",
        b"\xbf",
        b"\xff",
        b"\0",
        b"\xe2\x82\xac",
        b"\xe2\x82",
        b"\xf0\x9f\x99\x82",
        b"\xf0\x9f",
        b"\xed\xa0\x80",
        b"\xc0\xaf",
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b"\x0b",
        b"dat",
        b"Data: y",
        b"error: {}",
        b"x",
        b"0123",
        b"message",
        b"\t",
        b"data: [DONE]\n\n",
        b"data: {\"a\":1}\n\n",
    ];
    let mut out = Vec::new();
    for _ in 0..1 + random.below(24) {
        out.extend_from_slice(PIECES[random.below(PIECES.len() as u64) as usize]);
    }
    out
}

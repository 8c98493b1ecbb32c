//! HTTP responses: any chunking gives the same, in memory of any size, and a complete body is
//! what a naive reader makes of it.

use rocload_core::http::{Framing, Item, Method, Response};
use rocload_core::{Error, Limits, Storage};

use crate::gguf::Room;
use crate::random::Random;
use crate::split::{self, Ending, Rules};
use crate::{Broken, Verdict, require, same};

pub mod deadline;
pub mod request;

/// An item that can be kept and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Status, how the body ends, and the head's bytes.
    Head(u16, Framing, Vec<u8>),
    /// Bytes of the body.
    Body(Vec<u8>),
}

impl Kept {
    fn join(&mut self, other: &Kept) -> bool {
        match (self, other) {
            (Kept::Body(body), Kept::Body(more)) => {
                body.extend_from_slice(more);
                true
            }
            _ => false,
        }
    }
}

/// What a response gave: status, framing, body, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The status; 0 when no head was complete.
    pub status: u16,
    /// How the end of the body is told.
    pub framing: Option<Framing>,
    /// The body.
    pub body: Vec<u8>,
    /// `Ok(None)`: complete; `Ok(Some(what))`: it stopped in the middle of that.
    pub end: Result<Option<&'static str>, Error>,
}

/// Any chunking of `bytes` gives the same; `seed` chooses a few, without one all of the ruling's
/// are tried. Returns what they gave.
///
/// # Errors
/// [`Broken`] when a chunking makes a difference, or the body is not that of a naive reader.
pub fn any_chunking(bytes: &[u8], method: Method, seed: Option<u64>) -> Result<Given, Broken> {
    let limits = Limits::default();
    let given = chunked(bytes, method, &limits, seed, Room::default())?;
    let few = seed.unwrap_or(bytes.len() as u64);
    // So little that heads overflow: never another result, but for the lack of room.
    let mut small = limits;
    small.head_bytes = 200;
    small.headers = 5;
    chunked(bytes, method, &small, Some(few), Room::default())?;
    chunked(bytes, method, &limits, Some(few), [0u8; 150])?;
    if given.end == Ok(None) {
        naively(bytes, &given)?;
    }
    Ok(given)
}

fn chunked<S: Storage + Clone>(
    bytes: &[u8],
    method: Method,
    limits: &Limits,
    seed: Option<u64>,
    storage: S,
) -> Result<Given, Broken> {
    let rules = Rules { join: Kept::join, ..Rules::new() };
    let make = || Response::new(method, limits, storage.clone());
    let keep = |item: Item<'_>| match item {
        Item::Head(head) => Kept::Head(head.status, head.framing, head.bytes.to_vec()),
        Item::Body(body) => Kept::Body(body.to_vec()),
    };
    let outcome = match seed {
        Some(seed) => split::sample(make, keep, bytes, &rules, seed)?,
        None => split::invariance(make, keep, bytes, &rules)?,
    };
    let mut given = Given { status: 0, framing: None, body: Vec::new(), end: Ok(None) };
    for item in outcome.items {
        match item {
            Kept::Head(status, framing, _) => {
                require(given.framing.is_none(), "there is one head", || format!("{status}"))?;
                (given.status, given.framing) = (status, Some(framing));
            }
            Kept::Body(body) => {
                require(given.framing.is_some(), "the head comes first", || format!("{body:?}"))?;
                require(!body.is_empty(), "no part is empty", String::new)?;
                given.body = body;
            }
        }
    }
    given.end = match outcome.ending {
        Ending::Complete => Ok(None),
        Ending::Pending(what) => Ok(Some(what)),
        Ending::Failed(error) => Err(error),
    };
    Ok(given)
}

/// The body of a complete response by text searches alone.
fn naively(bytes: &[u8], given: &Given) -> Verdict {
    let mut rest = bytes;
    loop {
        let end = head_len(rest);
        let interim = rest.get(9) == Some(&b'1');
        rest = &rest[end..];
        if !interim {
            break;
        }
    }
    let body = match given.framing {
        None | Some(Framing::None) => Vec::new(),
        Some(Framing::Length(len)) => rest[..len as usize].to_vec(),
        Some(Framing::Close) => rest.to_vec(),
        Some(Framing::Chunked) => {
            let mut body = Vec::new();
            loop {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                let size = String::from_utf8_lossy(&rest[..digits]);
                let size = u64::from_str_radix(&size, 16).unwrap_or(u64::MAX) as usize;
                let data = rest.windows(2).position(|two| two == b"\r\n").map_or(0, |at| at + 2);
                if size == 0 {
                    break body;
                }
                body.extend_from_slice(&rest[data..data + size]);
                rest = &rest[data + size + 2..];
            }
        }
    };
    same("the body is what a naive reader makes of it", &given.body, &body)
}

/// Where the body begins: behind the first blank line.
fn head_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let line =
            bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |n| at + n);
        let blank = matches!(&bytes[at..line.min(bytes.len())], b"" | b"\r");
        at = line + 1;
        if blank || at >= bytes.len() {
            return at.min(bytes.len());
        }
    }
}

/// A response made of the pieces that responses are made of, in a likely order.
pub fn soup(random: &mut Random) -> Vec<u8> {
    const STATUS: [&str; 10] = [
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 200 OK\r\n",
        "HTTP/1.1 204 No Content\r\n",
        "HTTP/1.1 304 Not Modified\r\n",
        "HTTP/1.1 503 \r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200\r\n",
        "HTTP/1.1 200 OK\n",
    ];
    const HEADERS: [&str; 20] = [
        "Content-Length: 5\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: 0\r\n",
        "Content-Length: 7\r\n",
        "content-length:5\r\n",
        "Content-Length: +5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\n",
        "transfer-encoding: Chunked \r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "X:\r\n",
        "X: \u{e9}\r\n",
        "X: a\n",
        "X: a\r\n b\r\n",
        "Bad Name: x\r\n",
        "Content-Type: text/event-stream\r\n",
    ];
    const BODY: [&str; 22] = [
        "5\r\nhello\r\n",
        "5\r\nhello\r\n",
        "5\r\nhello\r\n",
        "1\r\nx\r\n",
        "0\r\n\r\n",
        "0\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        "5;ext=1\r\nhello\r\n",
        "5 ;ext\r\nhello\r\n",
        "05\r\nhello\r\n",
        "5\nhello\n",
        "a\r\nhello",
        "5\r\nhello",
        "hello",
        "hello",
        "\r\n",
        "+5\r\nhello\r\n",
        "0x5\r\nhello\r\n",
        "fffffffffffffffff\r\n",
        "FFFFFFFFFFFFFFFF\r\nx",
        "0\r\n",
        "5\r\nhelloXX",
    ];
    let mut out = String::new();
    let mut add = |pieces: &[&str], random: &mut Random| {
        out.push_str(pieces[random.below(pieces.len() as u64) as usize]);
    };
    add(&STATUS, random);
    for _ in 0..random.below(4) {
        add(&HEADERS, random);
    }
    add(&["\r\n", "\r\n", "\r\n", "\n", ""], random);
    for _ in 0..random.below(5) {
        add(&BODY, random);
    }
    out.into_bytes()
}

/// The same with a few bytes changed, put in or taken out.
pub fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    const LIKELY: &[u8] = b"\r\n 0159af:;,-+x\0\xff";
    let mut out = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        // Mostly where the structure is.
        let near = (out.len() as u64).min(if random.below(2) == 0 { 400 } else { u64::MAX });
        let at = random.below(near) as usize;
        let byte = match random.below(3) {
            0 => random.next() as u8,
            _ => LIKELY[random.below(LIKELY.len() as u64) as usize],
        };
        match random.below(4) {
            0 if at < out.len() => {
                out.remove(at);
            }
            1 => out.insert(at, byte),
            2 => out.truncate(at.max(1)),
            _ if at < out.len() => out[at] = byte,
            _ => {}
        }
    }
    out
}

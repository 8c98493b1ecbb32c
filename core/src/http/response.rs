//! The machine that reads one response.
//!
//! ```text
//!     1xx: the next one
//!   +-------------------+
//!   v                   |     +--> Length, counted down ---------+
//!  Head, line by line --+-----+--> Chunked (see `chunk`) --------+--> Done
//!                   item Head +--> no body: HEAD, 204, 304 ------+
//!                             +--> Close: all bytes until end() -+
//!                                  | item Body, any number of times
//! ```
//!
//! ```
//! use rocload_core::http::{Framing, Item, Method, Response};
//! use rocload_core::{End, Limits, Machine, Need, visit};
//!
//! let mut response = Response::new(Method::Get, &Limits::default(), [0u8; 64]);
//! // An interim head is not told; the head that counts comes in two pieces.
//! let first = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Le";
//! let used = visit(&mut response, 0, first, |_| panic!("no item yet"))?;
//! assert_eq!((used, response.status()), (first.len(), None));
//! let mut body = Vec::new();
//! visit(&mut response, used as u64, b"ngth: 5\r\n\r\nhel", |item| match item {
//!     Item::Head(head) => assert_eq!(head.framing, Framing::Length(5)),
//!     Item::Body(part) => body.extend_from_slice(part),
//! })?;
//! assert_eq!((&body[..], response.need()), (&b"hel"[..], Need::More));
//! // The connection breaks off.
//! assert!(matches!(response.end()?, End::Pending(_)));
//! # Ok::<(), rocload_core::Error>(())
//! ```

use core::ops::Range;

use memchr::memchr;

use super::chunk::{Chunked, Place};
use super::head::{self, Facts, Framing, Head};
use super::{Fault, Method};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use crate::need::{End, ItemKind, Machine, Need, Step, Storage};
use crate::store::Store;

/// What every response begins with.
const BEGIN: &[u8] = b"HTTP/1.";

/// What a [`Response`] yields: the head once, then parts of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'i> {
    /// The head is complete. Interim heads (1xx) are not told.
    Head(Head<'i>),
    /// A part of the body, never empty, borrowed from the input.
    Body(&'i [u8]),
}

/// The family of [`Item`].
#[derive(Debug)]
pub enum Items {}

impl ItemKind for Items {
    type Item<'i> = Item<'i>;
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// In a head, of which `have` bytes are in the storage, and in a line of it.
    Head {
        line: Line,
        have: usize,
    },
    Length {
        left: u64,
    },
    Chunked(Chunked),
    Close,
    Done,
    Failed(Error),
}

/// What has come of a line of a head.
#[derive(Debug, Clone, Copy)]
enum Line {
    /// Nothing, after another line's end.
    Empty,
    /// A CR alone: with an LF it is the blank line.
    Cr,
    /// Anything else.
    Text,
}

#[derive(Debug, Clone)]
enum Ready {
    Nothing,
    /// The head lies in the input, or in so many bytes of the storage.
    HeadIn(Range<usize>),
    HeadKept(usize),
    Body(Range<usize>),
}

/// Reads one response; see the [module's text](super).
#[derive(Debug, Clone)]
pub struct Response<S> {
    method: Method,
    limits: Limits,
    store: Store<S>,
    state: State,
    facts: Option<Facts>,
    /// Bytes of the interim heads so far.
    interim: usize,
    /// Offset of the first byte of the current head.
    begin: u64,
    ready: Ready,
}

impl<S: Storage> Response<S> {
    /// The answer to a request by `method`. `storage` holds a head that comes in pieces; its size
    /// and [`Limits::head_bytes`] are the cap.
    pub fn new(method: Method, limits: &Limits, storage: S) -> Self {
        let cap = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX);
        Response {
            method,
            limits: *limits,
            store: Store { storage, cap },
            state: State::Head { line: Line::Text, have: 0 },
            facts: None,
            interim: 0,
            begin: 0,
            ready: Ready::Nothing,
        }
    }

    /// The status, once the head has come.
    pub fn status(&self) -> Option<u16> {
        self.facts.map(|facts| facts.status)
    }

    /// How the end of the body is told, once the head has come.
    pub fn framing(&self) -> Option<Framing> {
        self.facts.map(|facts| facts.framing)
    }

    /// Whether another request may be sent over the same connection: the answer is complete, its
    /// end was told, and the server keeps the connection open.
    pub fn reusable(&self) -> bool {
        let done = matches!(self.state, State::Done);
        let told = |facts: Facts| facts.keep_alive && facts.framing != Framing::Close;
        done && self.facts.is_some_and(told)
    }

    /// The storage, for another response.
    pub fn into_storage(self) -> S {
        self.store.storage
    }

    fn advance(&mut self, offset: u64, input: &[u8]) -> Result<usize, Error> {
        let mut at = 0;
        while at < input.len() && matches!(self.ready, Ready::Nothing) {
            let here = offset + at as u64;
            match &mut self.state {
                State::Head { .. } => at = self.head(offset, input, at)?,
                State::Length { left } => {
                    let len = part(*left, input.len() - at);
                    *left -= len as u64;
                    if *left == 0 {
                        self.state = State::Done;
                    }
                    self.ready = Ready::Body(at..at + len);
                    at += len;
                }
                State::Chunked(chunked) if chunked.place == Place::Data => {
                    let len = part(chunked.left, input.len() - at);
                    chunked.taken(len as u64);
                    self.ready = Ready::Body(at..at + len);
                    at += len;
                }
                State::Chunked(chunked) => {
                    chunked
                        .byte(input[at])
                        .map_err(|fault| Error::new(ErrorKind::Http(fault), here))?;
                    at += 1;
                    if chunked.place == Place::Done {
                        self.state = State::Done;
                    }
                }
                State::Close => {
                    self.ready = Ready::Body(at..input.len());
                    at = input.len();
                }
                State::Done => break,
                State::Failed(error) => return Err(*error),
            }
        }
        Ok(at)
    }

    /// Looks for the head's end in `input[at..]`; no byte is looked at twice.
    fn head(&mut self, offset: u64, input: &[u8], at: usize) -> Result<usize, Error> {
        let State::Head { mut line, have } = self.state else { return Ok(at) };
        let rest = &input[at..];
        if have == 0 {
            self.begin = offset + at as u64;
        }
        let known = BEGIN.get(have..).unwrap_or_default();
        if let Some(wrong) = known.iter().zip(rest).position(|(wanted, found)| wanted != found) {
            // What stands before it would have been too much by itself.
            self.room_for(have, wrong)?;
            let kind = ErrorKind::Http(Fault::NotHttp);
            return Err(Error::new(kind, self.begin + (have + wrong) as u64));
        }
        let mut end = None;
        let mut seen = 0;
        while let Some(len) = memchr(b'\n', &rest[seen..]) {
            let text = &rest[seen..seen + len];
            seen += len + 1;
            if !matches!(line.with(text), Line::Text) {
                end = Some(seen);
                break;
            }
            line = Line::Empty;
        }
        let taken = end.unwrap_or(rest.len());
        let len = self.room_for(have, taken)?;
        if have > 0 || end.is_none() {
            self.store.write(have, &rest[..taken]);
        }
        if end.is_none() {
            self.state = State::Head { line: line.with(&rest[seen..]), have: len };
            return Ok(input.len());
        }
        let bytes = if have > 0 { &self.store.storage.slots()[..len] } else { &rest[..taken] };
        let facts = head::read(bytes, self.method, &self.limits)
            .map_err(|kind| Error::new(kind, self.begin))?;
        let lies = if have > 0 { Ready::HeadKept(len) } else { Ready::HeadIn(at..at + taken) };
        self.head_ends(facts, len, lies)?;
        Ok(at + taken)
    }

    /// Makes sure of room for `more` bytes of a head behind `have`. Returns their sum.
    fn room_for(&mut self, have: usize, more: usize) -> Result<usize, Error> {
        let limit = u64::from(self.limits.head_bytes);
        let most = self.store.cap.saturating_sub(self.interim);
        let len = have.saturating_add(more);
        if !self.store.holds(len.min(most)) {
            return Err(Error::new(ErrorKind::Full(Full { need: limit }), self.begin));
        }
        if len > most {
            let kind = ErrorKind::Limit { cap: Cap::HeadBytes, value: limit + 1, limit };
            return Err(Error::new(kind, self.begin));
        }
        Ok(len)
    }

    /// A head of `len` bytes is complete.
    fn head_ends(&mut self, facts: Facts, len: usize, lies: Ready) -> Result<(), Error> {
        if facts.status == 101 {
            return Err(Error::new(ErrorKind::Http(Fault::Upgrade), self.begin));
        }
        if facts.status < 200 {
            self.interim += len;
            self.state = State::Head { line: Line::Text, have: 0 };
            return Ok(());
        }
        self.facts = Some(facts);
        self.ready = lies;
        self.state = match facts.framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::Chunked(Chunked::new(self.limits.head_bytes)),
            Framing::Close => State::Close,
        };
        Ok(())
    }
}

impl Line {
    /// The line with more text.
    fn with(self, text: &[u8]) -> Line {
        match (self, text) {
            (line, []) => line,
            (Line::Empty, [b'\r']) => Line::Cr,
            _ => Line::Text,
        }
    }
}

/// What of `have` bytes belongs to something that has `left` to come.
fn part(left: u64, have: usize) -> usize {
    usize::try_from(left).map_or(have, |left| left.min(have))
}

impl<S: Storage> Machine for Response<S> {
    type Kind = Items;

    fn need(&self) -> Need {
        match self.state {
            State::Done => Need::Done,
            _ => Need::More,
        }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        self.ready = Ready::Nothing;
        if let State::Failed(error) = self.state {
            return Err(error);
        }
        let consumed = self.advance(offset, input).inspect_err(|error| {
            self.state = State::Failed(*error);
        })?;
        Ok(Step { consumed, ready: !matches!(self.ready, Ready::Nothing) })
    }

    fn item<'i>(&'i self, input: &'i [u8]) -> Item<'i> {
        let bytes = match &self.ready {
            Ready::HeadIn(range) | Ready::Body(range) => {
                input.get(range.clone()).unwrap_or_default()
            }
            Ready::HeadKept(len) => &self.store.storage.slots()[..*len],
            // No step announced one.
            Ready::Nothing => b"",
        };
        match (&self.ready, self.facts) {
            (Ready::HeadIn(_) | Ready::HeadKept(_), Some(Facts { status, framing, .. })) => {
                Item::Head(Head { status, framing, bytes })
            }
            _ => Item::Body(bytes),
        }
    }

    /// [`End::Complete`] after the whole response, and for a body that ends with the connection;
    /// `Pending("head")` or `Pending("body")` where it was cut short.
    fn end(&mut self) -> Result<End, Error> {
        self.ready = Ready::Nothing;
        match self.state {
            State::Done => Ok(End::Complete),
            State::Close => {
                self.state = State::Done;
                Ok(End::Complete)
            }
            State::Head { .. } => Ok(End::Pending("head")),
            State::Length { .. } | State::Chunked(_) => Ok(End::Pending("body")),
            State::Failed(error) => Err(error),
        }
    }
}

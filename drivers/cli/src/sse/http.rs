//! Telling a raw HTTP response from a bare body, and taking the body out of it.

use std::collections::VecDeque;

use rocload::core::http::{Framing, Item, Method, Response};
use rocload::core::{End, ErrorKind, Limits, Machine, Need};

use super::body::{Body, Ended, Feed};
use super::malformed;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// What a response begins with.
const HTTP: &[u8] = b"HTTP/1.";
/// How much of a body that is no stream is read.
const WHOLE: usize = 16 << 20;
/// How much is read of what comes with a status that is no answer.
const ERROR: usize = 64 << 10;
/// Longest first word of a body that is waited for.
const MOST_WORD: usize = 64;

enum State {
    /// The first bytes, which do not tell yet.
    Begin(Vec<u8>),
    /// The head of a response, as far as it has come.
    Head(Vec<u8>),
    /// The bare body of a stream.
    Stream,
    /// A body that is no stream.
    Whole {
        status: u16,
        kind: String,
        body: Vec<u8>,
    },
    Response(Box<Exchange>),
}

/// A response whose head has come.
struct Exchange {
    response: Response<Vec<u8>>,
    feed: Feed,
    /// Of a body that is no stream; else `None`.
    whole: Option<Vec<u8>>,
    status: u16,
    kind: String,
    /// All of it was shown.
    told: bool,
}

/// Takes the input piece by piece.
pub(super) struct Decoder<B> {
    state: State,
    body: B,
}

impl<B: Body> Decoder<B> {
    pub(super) fn new(body: B) -> Self {
        Decoder { state: State::Begin(Vec::new()), body }
    }

    /// Nothing more is wanted. A response is over where HTTP says so: the end of the input need
    /// not come.
    pub(super) fn is_done(&self) -> bool {
        let told = matches!(&self.state, State::Response(exchange) if exchange.told);
        told || self.body.is_done()
    }

    pub(super) fn feed(&mut self, ui: &mut Ui, bytes: &[u8]) -> Result<(), Failure> {
        let mut queue = VecDeque::from([bytes.to_vec()]);
        while let Some(bytes) = queue.pop_front() {
            match &mut self.state {
                State::Begin(begin) => {
                    begin.extend_from_slice(&bytes);
                    let compared = begin.len().min(HTTP.len());
                    let http = begin[..compared] == HTTP[..compared];
                    if http && compared < HTTP.len() {
                        continue;
                    }
                    let begin = std::mem::take(begin);
                    self.state = match begin.first() {
                        _ if http => State::Head(Vec::new()),
                        Some(&first) if self.body.is_whole(first) => {
                            State::Whole { status: 200, kind: String::new(), body: Vec::new() }
                        }
                        _ => State::Stream,
                    };
                    queue.push_front(begin);
                }
                State::Head(head) => {
                    head.extend_from_slice(&bytes);
                    let head = std::mem::take(head);
                    self.head(head, &mut queue)?;
                }
                State::Stream => self.body.stream(ui, &bytes)?,
                State::Whole { status, body, .. } => keep(*status, body, &bytes)?,
                State::Response(exchange) => {
                    exchange.feed(ui, &mut self.body, &bytes)?;
                    if exchange.response.need() == Need::Done && !exchange.told {
                        exchange.told = true;
                        exchange.end(ui, &mut self.body, Ended::Cleanly)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a head if it is all there; `queue` is given what comes behind it.
    fn head(&mut self, bytes: Vec<u8>, queue: &mut VecDeque<Vec<u8>>) -> Result<(), Failure> {
        let mut response = Response::new(Method::Get, &Limits::default(), Vec::new());
        let mut at = 0;
        let step = loop {
            let step = response.step(at as u64, &bytes[at..]).map_err(|e| malformed(&e))?;
            at += step.consumed;
            if step.ready || step.consumed == 0 {
                break step;
            }
        };
        if !step.ready {
            self.state = State::Head(bytes);
            return Ok(());
        }
        let Item::Head(head) = response.item(&bytes[at - step.consumed..]) else {
            return Err(Failure::new(Status::Malformed, "malformed", "a body without a head"));
        };
        let chunked = matches!(head.framing, Framing::Chunked);
        // A tool that shows the head often shows the body without its chunks.
        if chunked {
            match is_chunk(&bytes[at..]) {
                None => {
                    self.state = State::Head(bytes);
                    return Ok(());
                }
                Some(true) => {}
                Some(false) => {
                    let kind = String::from_utf8_lossy(head.media_type()).into_owned();
                    let stream = head.status == 200 && head.is_event_stream();
                    let status = head.status;
                    queue.push_front(bytes[at..].to_vec());
                    self.state = match stream {
                        true => State::Stream,
                        false => State::Whole { status, kind, body: Vec::new() },
                    };
                    return Ok(());
                }
            }
        }
        let stream = head.status == 200 && head.is_event_stream();
        let kind = String::from_utf8_lossy(head.media_type()).into_owned();
        let (status, rest) = (head.status, bytes[at..].to_vec());
        let whole = (!stream).then(Vec::new);
        let feed = Feed::default();
        self.state = State::Response(Box::new(Exchange {
            response,
            feed,
            whole,
            status,
            kind,
            told: false,
        }));
        queue.push_front(rest);
        Ok(())
    }

    /// The input is over.
    pub(super) fn end(&mut self, ui: &mut Ui) -> Result<(), Failure> {
        match &mut self.state {
            State::Begin(begin) => {
                let begin = std::mem::take(begin);
                self.state = State::Stream;
                self.body.stream(ui, &begin)?;
                self.body.stream_ends(ui, Ended::Cleanly)
            }
            State::Head(bytes) if is_whole_head(bytes) => {
                // Chunks were promised, and nothing came.
                self.body.stream_ends(ui, Ended::Early)
            }
            State::Head(_) => Err(Failure::new(
                Status::Malformed,
                "malformed",
                "the response ends inside its head",
            )),
            State::Stream => self.body.stream_ends(ui, Ended::Cleanly),
            State::Whole { status, kind, body } => {
                self.body.whole(ui, *status, kind, body, Ended::Cleanly)
            }
            State::Response(exchange) if exchange.told => Ok(()),
            State::Response(exchange) => {
                let ended = match exchange.response.end() {
                    Ok(End::Complete) => Ended::Cleanly,
                    Ok(_) => Ended::Early,
                    Err(error) if matches!(error.kind, ErrorKind::Truncated { .. }) => Ended::Early,
                    Err(error) => return Err(malformed(&error)),
                };
                exchange.end(ui, &mut self.body, ended)
            }
        }
    }
}

impl Exchange {
    fn feed<B: Body>(&mut self, ui: &mut Ui, body: &mut B, bytes: &[u8]) -> Result<(), Failure> {
        let mut failed = Ok(());
        let (status, whole) = (self.status, &mut self.whole);
        let fed = self.feed.feed(&mut self.response, bytes, |item| {
            if let (Item::Body(part), Ok(())) = (item, &failed) {
                failed = match whole {
                    Some(whole) => keep(status, whole, part),
                    None => body.stream(ui, part),
                };
            }
        });
        failed?;
        fed.map_err(|error| malformed(&error))
    }

    fn end<B: Body>(&mut self, ui: &mut Ui, body: &mut B, ended: Ended) -> Result<(), Failure> {
        match &self.whole {
            None => body.stream_ends(ui, ended),
            Some(whole) => body.whole(ui, self.status, &self.kind, whole, ended),
        }
    }
}

/// Keeps a part of a body that is no stream; of an error its beginning says enough.
fn keep(status: u16, body: &mut Vec<u8>, part: &[u8]) -> Result<(), Failure> {
    if status >= 400 {
        let room = ERROR.saturating_sub(body.len());
        body.extend_from_slice(&part[..part.len().min(room)]);
        return Ok(());
    }
    body.extend_from_slice(part);
    if body.len() > WHOLE {
        return Err(Failure::new(Status::Malformed, "limit", "an answer of more than 16 MiB"));
    }
    Ok(())
}

/// Whether a body that should come in chunks begins with the size of one, right or wrong: what is
/// inside of chunks begins with a line of an event stream, with JSON or with other text. `None`:
/// its first word is not all there yet.
fn is_chunk(body: &[u8]) -> Option<bool> {
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let len = body.iter().take_while(|byte| of_word(byte)).count();
    let word = &body[..len];
    let stop = match body.get(len) {
        // No name of a field is that long.
        None if len > MOST_WORD => return Some(true),
        None => return None,
        Some(stop) => stop,
    };
    Some(match word {
        b"" => matches!(stop, b'+' | b' ' | b'\t'),
        b"data" | b"event" | b"id" | b"retry" => false,
        // The name of another field, and not a size with something behind it.
        _ => *stop != b':' || word.iter().all(u8::is_ascii_hexdigit),
    })
}

/// The head is all there.
fn is_whole_head(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|four| four == b"\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::is_chunk;

    #[test]
    fn chunks_are_told_from_what_is_inside_them() {
        for (body, wanted) in [
            (&b""[..], None),
            (b"1ed", None),
            (b"1ed\r\n", Some(true)),
            (b"0\r\n", Some(true)),
            (b"1ed;x=y", Some(true)),
            (b"data: x", Some(false)),
            (b"da", None),
            (b"event: e", Some(false)),
            (b": ping", Some(false)),
            (b"\n\n", Some(false)),
            (b"{\"a\"", Some(false)),
            (b"data\n", Some(false)),
            (b"comment: x", Some(false)),
            (b"# HELP x", Some(false)),
            (b"0123456789abcdef0", None),
            (b"0123456789abcdef0\r\n", Some(true)),
            (b"+5f\r\n", Some(true)),
            (b"-5f\r\n", Some(true)),
            (b" 5f\r\n", Some(true)),
            (b"0x5f\r\n", Some(true)),
            (b"5fg\r\n", Some(true)),
            (b"5f:\r\n", Some(true)),
            (&[b'0'; 65], Some(true)),
        ] {
            assert_eq!(is_chunk(body), wanted, "{body:?}");
        }
    }
}

//! The head of a response: its status, its headers, and what they say about the body.

use httparse::{EMPTY_HEADER, Status};

use super::{Fault, MAX_HEADERS, Method};
use crate::error::ErrorKind;
use crate::limits::{Cap, Limits};

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// By its length, in bytes.
    Length(u64),
    /// By chunks, of which the last is empty.
    Chunked,
    /// By the end of the connection: a body that was cut short looks complete.
    Close,
}

/// The head of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'i> {
    /// The status, 200 and above.
    pub status: u16,
    /// How the end of the body is told.
    pub framing: Framing,
    /// The head as it came, from the status line to the blank line.
    pub bytes: &'i [u8],
}

impl<'i> Head<'i> {
    /// The header lines, in their order.
    pub fn headers(&self) -> Headers<'i> {
        let mut rest = self.bytes;
        next_line(&mut rest);
        Headers { rest }
    }

    /// The value of the first header of this name, without blanks around it.
    pub fn header(&self, name: &str) -> Option<&'i [u8]> {
        let wanted = |(found, _): &(&[u8], &[u8])| found.eq_ignore_ascii_case(name.as_bytes());
        self.headers().find(wanted).map(|(_, value)| value)
    }

    /// The media type, without parameters such as a charset; empty if there is none.
    pub fn media_type(&self) -> &'i [u8] {
        let value = self.header("content-type").unwrap_or_default();
        value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
    }

    /// Whether the body is a stream of events (`text/event-stream`).
    pub fn is_event_stream(&self) -> bool {
        self.media_type().eq_ignore_ascii_case(b"text/event-stream")
    }
}

/// The header lines of a [`Head`] as name and value.
#[derive(Debug, Clone)]
pub struct Headers<'i> {
    rest: &'i [u8],
}

impl<'i> Iterator for Headers<'i> {
    type Item = (&'i [u8], &'i [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let line = next_line(&mut self.rest);
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    }
}

/// Takes a line off the front of `rest`; it is given without its end.
fn next_line<'i>(rest: &mut &'i [u8]) -> &'i [u8] {
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let line = &rest[..end];
    *rest = rest.get(end + 1..).unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What a head says, apart from its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) status: u16,
    pub(super) framing: Framing,
    /// The connection stays open after the body, if that has an end of its own.
    pub(super) keep_alive: bool,
}

/// Reads a whole head.
pub(super) fn read(bytes: &[u8], method: Method, limits: &Limits) -> Result<Facts, ErrorKind> {
    let most = usize::from(limits.headers).min(MAX_HEADERS);
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers[..most]);
    let too_many =
        ErrorKind::Limit { cap: Cap::Headers, value: most as u64 + 1, limit: most as u64 };
    match response.parse(bytes) {
        Ok(Status::Complete(len)) if len == bytes.len() => {}
        Ok(_) => return Err(ErrorKind::Http(Fault::LineEnd)),
        Err(httparse::Error::TooManyHeaders) => return Err(too_many),
        Err(error) => return Err(ErrorKind::Http(fault(error))),
    }
    facts(&response, method).map_err(ErrorKind::Http)
}

fn fault(error: httparse::Error) -> Fault {
    match error {
        httparse::Error::HeaderName => Fault::HeaderName,
        httparse::Error::HeaderValue => Fault::HeaderValue,
        httparse::Error::Version => Fault::Version,
        httparse::Error::NewLine => Fault::LineEnd,
        _ => Fault::Status,
    }
}

fn facts(response: &httparse::Response<'_, '_>, method: Method) -> Result<Facts, Fault> {
    let status = response.code.unwrap_or(0);
    if status < 100 {
        return Err(Fault::Status);
    }
    let mut length = None;
    let mut coding = None;
    let mut keep_alive = response.version == Some(1);
    let mut close = false;
    for header in response.headers.iter() {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = number(value).ok_or(Fault::ContentLength)?;
            if length.replace(value).is_some_and(|before| before != value) {
                return Err(Fault::ContentLengths);
            }
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            let chunked = value.eq_ignore_ascii_case(b"chunked");
            if coding.replace(()).is_some() || !chunked || response.version != Some(1) {
                return Err(Fault::Coding);
            }
        } else if header.name.eq_ignore_ascii_case("connection") {
            for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                close |= token.eq_ignore_ascii_case(b"close");
                keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
            }
        }
    }
    if length.is_some() && coding.is_some() {
        return Err(Fault::LengthAndCoding);
    }
    let framing = match (length, coding) {
        _ if method == Method::Head || status < 200 || matches!(status, 204 | 304) => Framing::None,
        (_, Some(())) => Framing::Chunked,
        (Some(length), None) => Framing::Length(length),
        (None, None) => Framing::Close,
    };
    Ok(Facts { status, framing, keep_alive: keep_alive && !close })
}

/// Decimal digits alone.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

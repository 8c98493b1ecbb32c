//! What can go wrong in one exchange. An error belongs to its exchange alone.

use std::borrow::Cow;
use std::fmt;
use std::io;

use rocload_core::Limits;
use rocload_core::http::deadline::Expired;
use rocload_core::llama::ErrorBody;

use super::Endpoint;
use crate::error::shortened;

/// How much of the body of an error is read, in bytes.
pub(crate) const ERROR_BODY: u64 = 64 << 10;
/// How much of a body that nobody understands is shown, in bytes.
const SNIPPET: usize = 512;

/// Why an exchange failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No connection could be made.
    Connect {
        /// Where to.
        endpoint: Endpoint,
        /// The system's reason.
        source: io::Error,
    },
    /// The system refused while the connection was used.
    Io(io::Error),
    /// A limit of [`Timeouts`](super::Timeouts) ran out.
    Expired(Expired),
    /// A [`CancelHandle`](super::CancelHandle) ended it.
    Cancelled,
    /// It was over or had failed before this call.
    Ended,
    /// The request cannot be written, or the answer breaks HTTP, its format, or a limit.
    Protocol(rocload_core::Error),
    /// The server answered with another status than was hoped for.
    Status(Box<StatusError>),
    /// The answer to a request for a stream is none.
    NotStream(Box<NotStream>),
    /// The connection ended before the answer did.
    Truncated(Box<Truncated>),
    /// A whole answer is larger than [`Options::answer_bytes`](super::Options::answer_bytes).
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
}

/// An answer that is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusError {
    /// The HTTP status.
    pub status: u16,
    /// The code in the body, or else the status.
    pub code: i64,
    /// The type, as `invalid_request_error`.
    pub kind: Option<String>,
    /// What is wrong, in the server's words.
    pub message: Option<String>,
    /// Tokens of a prompt that is too long.
    pub n_prompt_tokens: Option<u64>,
    /// The context that it is too long for, in tokens.
    pub n_ctx: Option<u64>,
    /// The first 512 bytes of a body that does not say what is wrong, ill-formed UTF-8 replaced;
    /// else empty.
    pub snippet: String,
}

/// An answer with status 200 that is not the stream that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotStream {
    /// Its media type; empty if none was given.
    pub media_type: String,
    /// The first 512 bytes of the body, ill-formed UTF-8 replaced.
    pub snippet: String,
}

/// An answer whose end is missing.
#[derive(Debug)]
#[non_exhaustive]
pub struct Truncated {
    /// What it stopped in the middle of: `head` or `body` of the response; of a stream also
    /// `line`, `event` (of a block of lines) or `stream` (before its end mark).
    pub pending: &'static str,
    /// Bytes of the body that had come.
    pub body_bytes: u64,
    /// Events that had come.
    pub events: u64,
    /// The part of a whole answer that had come; empty for a stream, whose items were told.
    pub received: Vec<u8>,
    /// The system's reason, if the connection did not just end.
    pub source: Option<io::Error>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Connect { endpoint, source } => write!(f, "connecting to {endpoint}: {source}"),
            Error::Io(error) => write!(f, "the connection failed: {error}"),
            Error::Expired(expired) => expired.fmt(f),
            Error::Cancelled => f.write_str("the exchange was cancelled"),
            Error::Ended => f.write_str("the exchange is over"),
            Error::Protocol(error) => error.fmt(f),
            Error::Status(error) => error.fmt(f),
            Error::NotStream(error) => error.fmt(f),
            Error::Truncated(error) => error.fmt(f),
            Error::TooLarge { limit } => {
                write!(f, "the answer is larger than the limit of {limit} bytes")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Connect { source, .. } | Error::Io(source) => Some(source),
            Error::Protocol(error) => Some(error),
            Error::Truncated(error) => error.source.as_ref().map(|source| source as _),
            _ => None,
        }
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answered {}", self.status)?;
        match (&self.message, self.snippet.as_str()) {
            (Some(message), _) => write!(f, ": {}", shortened(message.as_bytes()))?,
            (None, "") => {}
            (None, snippet) => write!(f, ": {}", shortened(snippet.as_bytes()))?,
        }
        if let Some(kind) = &self.kind {
            write!(f, " ({})", shortened(kind.as_bytes()))?;
        }
        Ok(())
    }
}

impl fmt::Display for NotStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.media_type.as_str() {
            "" => Cow::Borrowed("a body without a type"),
            kind => Cow::Owned(shortened(kind.as_bytes())),
        };
        let snippet = shortened(self.snippet.as_bytes());
        write!(
            f,
            "the server answered with {kind} where a stream of events was asked for: {snippet}"
        )
    }
}

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Truncated { body_bytes, events, .. } = self;
        f.write_str(match self.pending {
            "head" => "the connection ended before an answer came",
            "stream" => "the stream ends before its end mark",
            "line" => "the stream ends in the middle of a line",
            "event" => "the stream ends in the middle of an event",
            _ => "the connection ended in the middle of the answer",
        })?;
        if *body_bytes > 0 {
            write!(f, ", after {body_bytes} bytes and {events} events")?;
        }
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

/// The error that an answer is which is not what was hoped for: `body` is its beginning.
pub(crate) fn refusal(status: u16, media_type: &[u8], body: &[u8], limits: &Limits) -> Error {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if status == 200 {
        let snippet = lossy(&body[..body.len().min(SNIPPET)]);
        return Error::NotStream(Box::new(NotStream { media_type: lossy(media_type), snippet }));
    }
    let found = ErrorBody::read(status, body, limits);
    Error::Status(Box::new(StatusError {
        status,
        code: found.code,
        kind: found.kind.map(|kind| kind.to_cow().into_owned()),
        message: found.message.map(|message| message.to_cow().into_owned()),
        n_prompt_tokens: found.n_prompt_tokens,
        n_ctx: found.n_ctx,
        snippet: lossy(found.snippet),
    }))
}

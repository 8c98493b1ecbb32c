//! One HTTP exchange over a TCP or Unix socket: what the blocking and the tokio driver share.
//!
//! The protocol is the core's ([`rocload_core::http`], [`sse`], [`llama`]); `Flow` here joins it
//! with deadlines and cancellation, and a driver adds a socket and a clock. Each exchange has a
//! connection of its own, so that dropping it, or cancelling it from another thread, closes the
//! connection at once: that is how a server is told to stop generating. A connection is never
//! half closed, which servers take for a disconnect.
//!
//! ```text
//!   connect --> send (as far as the socket takes it) --> head --> pieces of the body --> end
//!                                                         |          | through a machine: events, items
//!                                                         +-- not 200, no event stream: a typed error
//! ```
//!
//! ```
//! use std::io::{Read as _, Write as _};
//! use rocload::blocking::Client;
//! use rocload::http::Request;
//!
//! let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
//! let address = listener.local_addr().unwrap().to_string();
//! let server = std::thread::spawn(move || {
//!     let (mut socket, _) = listener.accept().unwrap();
//!     let _ = socket.read(&mut [0; 1024]).unwrap();
//!     socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"status\":\"ok\"}").unwrap();
//! });
//! let client = Client::new(address.parse()?);
//! let answer = client.fetch(&Request::get("/health"))?;
//! assert_eq!((answer.head().status, &answer.body[..]), (200, &br#"{"status":"ok"}"#[..]));
//! # server.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Use [`blocking::Client`](crate::blocking::Client) or, with the feature `tokio`, its twin of the
//! same name.

use std::time::Duration;

use rocload_core::{ItemKind, Limits, Machine, Millis, Storage, llama, sse};

mod cancel;
mod endpoint;
mod error;
mod feed;
mod flow;
mod readiness;

pub use cancel::CancelHandle;
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Error, NotStream, StatusError, Truncated};
pub use readiness::Readiness;
pub use rocload_core::http::deadline::{Expired, Phase};
pub use rocload_core::http::{Framing, Head, Headers, Method, Request, Timeouts};

pub(crate) use error::{ERROR_BODY, refusal};
pub(crate) use feed::{Fed, Feed};
pub(crate) use flow::{Flow, Next};

/// How exchanges are made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Options {
    /// How long each part may take.
    pub timeouts: Timeouts,
    /// The caps of heads and events.
    pub limits: Limits,
    /// The largest whole answer that is kept, in bytes: 16 MiB.
    pub answer_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { timeouts: Timeouts::default(), limits: Limits::default(), answer_bytes: 16 << 20 }
    }
}

/// A whole answer with a status of 200 to 299.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    pub(crate) head: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The head.
    pub fn head(&self) -> Head<'_> {
        Head { status: self.status, framing: self.framing, bytes: &self.head }
    }
}

/// A machine that reads a streamed body.
pub trait BodyMachine: Machine {
    /// Whether an item counts as an event for [`Timeouts::events`], in contrast to a sign of
    /// life such as a ping.
    fn is_event(_item: &<Self::Kind as ItemKind>::Item<'_>) -> bool {
        true
    }
}

impl<S: Storage> BodyMachine for sse::Parser<S> {
    fn is_event(item: &sse::Item<'_>) -> bool {
        !matches!(item, sse::Item::Comment(_))
    }
}

impl<S: Storage, T: Storage> BodyMachine for llama::Stream<S, T> {}

/// Time since the exchange began; a part of a millisecond counts as none.
pub(crate) fn millis(elapsed: Duration) -> Millis {
    Millis(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}

/// The parser of events that the drivers use unless told otherwise.
pub(crate) fn parser(limits: &Limits) -> sse::Parser<Vec<u8>> {
    sse::Parser::new(limits, Vec::new())
}

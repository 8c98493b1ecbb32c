//! An exchange without its socket and clock.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rocload_core::http::deadline::{Deadline, Input};
use rocload_core::http::{Framing, Head, Item, Request, Response};
use rocload_core::{End, Machine, Millis, Need};

use super::{Error, Options, Truncated};

/// What is read at once, in bytes.
const READ: usize = 16 << 10;

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The head has come.
    Head,
    /// There is a piece of the body.
    Piece,
    /// Bytes must be read.
    Read,
    /// The response is complete.
    End,
}

/// The state of one exchange.
#[derive(Debug)]
pub(crate) struct Flow {
    request: Vec<u8>,
    sent: usize,
    window: Box<[u8]>,
    /// Bytes that were read and that the response has not consumed.
    filled: Range<usize>,
    /// Bytes of the body that nobody has taken.
    piece: Range<usize>,
    /// Bytes of the response consumed.
    position: u64,
    /// Bytes of the body taken.
    taken: u64,
    events: u64,
    /// The connection is at its end, and why, if that was no orderly one.
    ended: bool,
    reset: Option<io::Error>,
    response: Response<Vec<u8>>,
    head: Option<(u16, Framing, Vec<u8>)>,
    deadline: Deadline,
    cancelled: Arc<AtomicBool>,
}

impl Flow {
    /// An exchange of `request`, which closes its connection.
    pub(crate) fn new(request: &Request<'_>, options: &Options) -> Result<Self, Error> {
        let mut request = *request;
        request.close = true;
        Ok(Flow {
            request: request.to_vec().map_err(Error::Protocol)?,
            sent: 0,
            window: vec![0; READ].into_boxed_slice(),
            filled: 0..0,
            piece: 0..0,
            position: 0,
            taken: 0,
            events: 0,
            ended: false,
            reset: None,
            response: Response::new(request.method, &options.limits, Vec::new()),
            head: None,
            deadline: Deadline::new(options.timeouts, Millis(0)),
            cancelled: Arc::default(),
        })
    }

    pub(crate) fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    pub(crate) fn head(&self) -> Option<Head<'_>> {
        let (status, framing, bytes) = self.head.as_ref()?;
        Some(Head { status: *status, framing: *framing, bytes })
    }

    pub(crate) fn into_head(self) -> Option<(u16, Framing, Vec<u8>)> {
        self.head
    }

    /// The connection is made.
    pub(crate) fn connected(&mut self, now: Millis) {
        self.deadline.handle(Input::Connected, now);
    }

    /// What is to be sent.
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.request[self.sent..]
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.unsent().is_empty() {
            self.request = Vec::new();
            self.sent = 0;
        }
    }

    /// The other side takes no more: what it has to say may be there to read.
    pub(crate) fn send_failed(&mut self) {
        self.sent(self.request.len() - self.sent);
    }

    /// Room to read into, when [`advance`](Self::advance) says so.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        debug_assert!(self.filled.is_empty() && self.piece.is_empty());
        &mut self.window
    }

    /// So many bytes were read into the room; 0 = the connection is at its end.
    pub(crate) fn read(&mut self, bytes: usize, now: Millis) -> Result<(), Error> {
        self.check()?;
        self.filled = 0..bytes;
        if bytes == 0 {
            self.ended = true;
            return Ok(());
        }
        self.deadline.handle(Input::Bytes, now);
        self.expired()
    }

    /// Reading failed: for the answer that is the end of the connection, for the caller the
    /// reason of it.
    pub(crate) fn read_failed(&mut self, error: io::Error) -> Result<(), Error> {
        self.check()?;
        match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => {
                self.ended = true;
                self.reset = Some(error);
                Ok(())
            }
            _ => Err(Error::Io(error)),
        }
    }

    /// How long to wait for the socket at most; to be asked when it has nothing.
    pub(crate) fn wait(&mut self, now: Millis) -> Result<Option<Duration>, Error> {
        self.check()?;
        self.deadline.handle(Input::Tick, now);
        self.expired()?;
        let until = self.deadline.poll_timeout();
        Ok(until.map(|until| Duration::from_millis(until.0.saturating_sub(now.0))))
    }

    /// The error if the exchange was cancelled.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.cancelled.load(Ordering::Acquire) { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn expired(&mut self) -> Result<(), Error> {
        self.deadline.poll().map_or(Ok(()), |expired| Err(Error::Expired(expired)))
    }

    /// Goes on with what has been read.
    pub(crate) fn advance(&mut self, now: Millis) -> Result<Next, Error> {
        self.check()?;
        loop {
            if !self.piece.is_empty() {
                return Ok(Next::Piece);
            }
            if self.response.need() == Need::Done {
                return Ok(Next::End);
            }
            let input = &self.window[self.filled.clone()];
            if input.is_empty() {
                return if self.ended { self.end() } else { Ok(Next::Read) };
            }
            let step = self.response.step(self.position, input).map_err(Error::Protocol)?;
            let behind = self.filled.start + step.consumed;
            self.position += step.consumed as u64;
            let head = match self.response.item(input) {
                Item::Head(head) if step.ready => {
                    self.head = Some((head.status, head.framing, head.bytes.to_vec()));
                    true
                }
                Item::Body(part) if step.ready => {
                    // A step ends with the part that it tells.
                    self.piece = behind - part.len()..behind;
                    false
                }
                _ => false,
            };
            self.filled.start = behind;
            if head {
                self.deadline.handle(Input::Head, now);
                return Ok(Next::Head);
            }
        }
    }

    /// The connection is at its end.
    fn end(&mut self) -> Result<Next, Error> {
        match self.response.end().map_err(Error::Protocol)? {
            End::Pending(what) => Err(self.truncated(what)),
            // Without a length the end of the connection is all there is to go by.
            _ if self.reset.is_some() => Err(self.truncated("body")),
            _ => Ok(Next::End),
        }
    }

    /// The error of an answer that stopped in the middle of `pending`.
    pub(crate) fn truncated(&mut self, pending: &'static str) -> Error {
        Error::Truncated(Box::new(Truncated {
            pending,
            body_bytes: self.taken,
            events: self.events,
            received: Vec::new(),
            source: self.reset.take(),
        }))
    }

    /// Where in the window the piece of the body is.
    pub(crate) fn piece(&self) -> Range<usize> {
        self.piece.clone()
    }

    /// Bytes of the window.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.window[range]
    }

    /// Bytes of the body taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// So many bytes of the piece are used up.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.piece.start += bytes;
        self.taken += bytes as u64;
    }

    /// An event has come.
    pub(crate) fn event(&mut self, now: Millis) {
        self.events += 1;
        self.deadline.handle(Input::Event, now);
    }
}

//! One request and its answer.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use rocload_core::{ItemKind, Millis};

use super::socket::Socket;
use crate::http::{
    Answer, BodyMachine, CancelHandle, ERROR_BODY, Endpoint, Error, Expired, Fed, Feed, Flow, Head,
    Next, Options, Phase, Request, millis, refusal,
};

/// One request on its way, over a connection of its own. Dropping it closes the connection.
#[derive(Debug)]
pub struct Exchange {
    flow: Flow,
    /// `None` once the exchange is over.
    socket: Option<Arc<Socket>>,
    cancel: CancelHandle,
    started: Instant,
    options: Options,
}

impl Exchange {
    pub(super) fn begin(
        endpoint: &Endpoint,
        request: &Request<'_>,
        options: &Options,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        let mut flow = Flow::new(request, options)?;
        let limit = flow.wait(Millis(0))?;
        let socket = Socket::connect(endpoint, limit).map_err(|source| match limit {
            Some(_) if source.kind() == io::ErrorKind::TimedOut => {
                let (phase, limit) = (Phase::Connect, options.timeouts.connect);
                Error::Expired(Expired { phase, limit: limit.unwrap_or_default() })
            }
            _ => Error::Connect { endpoint: endpoint.clone(), source },
        })?;
        flow.connected(millis(started.elapsed()));
        let socket = Arc::new(socket);
        let cancel = CancelHandle::new(flow.cancelled().clone(), &socket);
        let mut exchange =
            Exchange { flow, socket: Some(socket), cancel, started, options: *options };
        // What the socket takes at once leaves at once; the rest while the answer is waited for.
        exchange.send();
        Ok(exchange)
    }

    /// A handle that ends this exchange from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Waits for the head of the answer, whatever its status is.
    ///
    /// # Errors
    /// [`Error::Expired`], [`Error::Cancelled`], [`Error::Truncated`], [`Error::Protocol`],
    /// [`Error::Io`]; the connection is closed then.
    pub fn head(&mut self) -> Result<Head<'_>, Error> {
        while self.flow.head().is_none() {
            self.next()?;
        }
        self.flow.head().ok_or(Error::Ended)
    }

    /// The next piece of the body, as it comes; `None` = the answer is complete.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    pub fn piece(&mut self) -> Result<Option<&[u8]>, Error> {
        let range = self.next_piece()?;
        Ok(range.map(|range| self.flow.bytes(range)))
    }

    /// The whole answer.
    ///
    /// # Errors
    /// As [`head`](Self::head); [`Error::Status`] for any status but 200 to 299, and
    /// [`Error::TooLarge`].
    pub fn answer(mut self) -> Result<Answer, Error> {
        let status = self.head()?.status;
        if !(200..300).contains(&status) {
            return Err(self.refuse());
        }
        let limit = self.options.answer_bytes;
        let mut body = Vec::new();
        loop {
            match self.piece() {
                Ok(None) => break,
                Ok(Some(piece)) if (body.len() + piece.len()) as u64 > limit => {
                    return Err(Error::TooLarge { limit });
                }
                Ok(Some(piece)) => body.extend_from_slice(piece),
                Err(Error::Truncated(mut truncated)) => {
                    truncated.received = body;
                    return Err(Error::Truncated(truncated));
                }
                Err(error) => return Err(error),
            }
        }
        let (status, framing, head) = self.flow.into_head().ok_or(Error::Ended)?;
        Ok(Answer { status, framing, head, body })
    }

    /// The answer as a stream that `machine` reads, such as an [`sse::Parser`](rocload_core::sse)
    /// or a [`llama::Stream`](rocload_core::llama::Stream).
    ///
    /// # Errors
    /// As [`head`](Self::head); [`Error::Status`] for any status but 200, [`Error::NotStream`]
    /// when the answer is no `text/event-stream`.
    pub fn stream<M: BodyMachine>(mut self, machine: M) -> Result<Stream<M>, Error> {
        let head = self.head()?;
        if head.status != 200 || !head.is_event_stream() {
            return Err(self.refuse());
        }
        Ok(Stream { exchange: self, feed: Feed { machine } })
    }

    /// The error that the answer is, from the beginning of its body.
    fn refuse(&mut self) -> Error {
        let mut body = Vec::new();
        while (body.len() as u64) < ERROR_BODY {
            match self.piece() {
                Ok(Some(piece)) => body.extend_from_slice(piece),
                Err(Error::Cancelled) => return Error::Cancelled,
                // What has come is more telling than why no more does.
                Ok(None) | Err(_) => break,
            }
        }
        self.socket = None;
        body.truncate(ERROR_BODY as usize);
        match self.flow.head() {
            Some(head) => refusal(head.status, head.media_type(), &body, &self.options.limits),
            None => Error::Ended,
        }
    }

    /// Takes the next piece of the body, and says where it is.
    fn next_piece(&mut self) -> Result<Option<Range<usize>>, Error> {
        loop {
            match self.next()? {
                Next::Piece => {
                    let piece = self.flow.piece();
                    self.flow.take(piece.len());
                    return Ok(Some(piece));
                }
                Next::End => return Ok(None),
                Next::Head | Next::Read => {}
            }
        }
    }

    /// Goes on by one, and closes the connection when the answer is over or fails.
    fn next(&mut self) -> Result<Next, Error> {
        let next = match self.flow.advance(self.now()) {
            Ok(Next::Read) => self.fill().map(|()| Next::Read),
            next => next,
        };
        if matches!(next, Err(_) | Ok(Next::End)) {
            self.socket = None;
        }
        next
    }

    fn now(&self) -> Millis {
        millis(self.started.elapsed())
    }

    /// Sends what the socket takes without waiting.
    fn send(&mut self) {
        while let (Some(socket), false) = (&self.socket, self.flow.unsent().is_empty()) {
            match socket.write(self.flow.unsent()) {
                Ok(bytes) => self.flow.sent(bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.flow.send_failed(),
            }
        }
    }

    /// Reads once, waiting for it as long as the deadlines allow, and sends meanwhile.
    fn fill(&mut self) -> Result<(), Error> {
        loop {
            self.send();
            let now = self.now();
            let Some(socket) = &self.socket else { return Err(Error::Ended) };
            match socket.read(self.flow.room()) {
                Ok(bytes) => return self.flow.read(bytes, now),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let limit = self.flow.wait(now)?;
                    socket.wait(!self.flow.unsent().is_empty(), limit).map_err(Error::Io)?;
                }
                Err(error) => return self.flow.read_failed(error),
            }
        }
    }
}

/// A streamed answer, read by a machine. Dropping it closes the connection, which tells the
/// server to stop; so does its end mark.
#[derive(Debug)]
pub struct Stream<M> {
    exchange: Exchange,
    feed: Feed<M>,
}

impl<M: BodyMachine> Stream<M> {
    /// Waits for the next item; `None` when the stream is complete, or has failed before.
    ///
    /// # Errors
    /// [`Error::Truncated`] when it ends before it is complete, [`Error::Protocol`] when the
    /// machine refuses it, else as [`Exchange::head`]. What has come before was told.
    #[expect(clippy::should_implement_trait, reason = "an item borrows from the stream")]
    pub fn next(&mut self) -> Result<Option<<M::Kind as ItemKind>::Item<'_>>, Error> {
        let range = self.advance()?;
        Ok(range.map(|range| self.feed.machine.item(self.exchange.flow.bytes(range))))
    }

    fn advance(&mut self) -> Result<Option<Range<usize>>, Error> {
        while self.exchange.socket.is_some() {
            let now = self.exchange.now();
            let fed = match self.feed.step(&mut self.exchange.flow, now) {
                Ok(Fed::Read) => self.exchange.fill().map(|()| Fed::Read),
                fed => fed,
            };
            match fed {
                Ok(Fed::Item(range)) => return Ok(Some(range)),
                Ok(Fed::Read) => {}
                Ok(Fed::End) => self.exchange.socket = None,
                Err(error) => {
                    self.exchange.socket = None;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// A handle that ends this stream from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.exchange.cancel_handle()
    }

    /// The head of the answer.
    pub fn head(&self) -> Option<Head<'_>> {
        self.exchange.flow.head()
    }

    /// The machine, for what it knows besides its items.
    pub fn machine(&self) -> &M {
        &self.feed.machine
    }
}

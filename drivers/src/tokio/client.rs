//! Requests to one server.

use std::time::Duration;

use ::tokio::time::{Instant, sleep};
use rocload_core::llama::Slots;
use rocload_core::sse;

use super::{Exchange, Stream};
use crate::http::{Answer, BodyMachine, Endpoint, Error, Options, Readiness, Request, parser};

/// Between two looks at a server's slots.
const PROBE: Duration = Duration::from_millis(20);

/// Sends requests to one endpoint, each over a connection of its own. Holds no connection.
#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
    options: Options,
}

impl Client {
    /// A client with the default options.
    pub fn new(endpoint: Endpoint) -> Self {
        Client::with_options(endpoint, Options::default())
    }

    /// A client.
    pub const fn with_options(endpoint: Endpoint, options: Options) -> Self {
        Client { endpoint, options }
    }

    /// Where it sends requests to.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Connects and begins to send. The answer is waited for by the [`Exchange`].
    ///
    /// # Errors
    /// [`Error::Connect`], [`Error::Expired`] when connecting takes too long,
    /// [`Error::Protocol`] for a request that cannot be written.
    pub async fn send(&self, request: &Request<'_>) -> Result<Exchange, Error> {
        Exchange::begin(&self.endpoint, request, &self.options).await
    }

    /// A whole answer.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`Exchange::answer`].
    pub async fn fetch(&self, request: &Request<'_>) -> Result<Answer, Error> {
        self.send(request).await?.answer().await
    }

    /// A streamed answer, read by `machine`. Asks for `text/event-stream`.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`Exchange::stream`].
    pub async fn stream<M: BodyMachine>(
        &self,
        request: &Request<'_>,
        machine: M,
    ) -> Result<Stream<M>, Error> {
        let mut request = *request;
        request.accept = "text/event-stream";
        self.send(&request).await?.stream(machine).await
    }

    /// A streamed answer as bare events.
    ///
    /// # Errors
    /// As [`stream`](Self::stream).
    pub async fn events(
        &self,
        request: &Request<'_>,
    ) -> Result<Stream<sse::Parser<Vec<u8>>>, Error> {
        self.stream(request, parser(&self.options.limits)).await
    }

    /// Asks whether the server is ready, once.
    pub async fn health(&self) -> Readiness {
        Readiness::judge(&self.fetch(&Request::get("/health")).await)
    }

    /// How many requests the server is working on, by its `/slots`.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch); [`Error::Status`] 501 where the server does not tell.
    pub async fn busy(&self) -> Result<usize, Error> {
        let answer = self.fetch(&Request::get("/slots")).await?;
        let slots = Slots::read(&answer.body, &self.options.limits).map_err(Error::Protocol)?;
        Ok(slots.filter(|slot| slot.is_processing == Some(true)).count())
    }

    /// Waits until the server works on nothing, for `limit` at most; false if it still does
    /// then. A stream that was dropped is given up within a token, or within a second while its
    /// prompt is read; servers of older builds go on to its end.
    ///
    /// # Errors
    /// As [`busy`](Self::busy).
    pub async fn wait_idle(&self, limit: Duration) -> Result<bool, Error> {
        let started = Instant::now();
        loop {
            if self.busy().await? == 0 {
                return Ok(true);
            }
            if started.elapsed() >= limit {
                return Ok(false);
            }
            sleep(PROBE).await;
        }
    }
}

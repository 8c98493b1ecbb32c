//! Both drivers behind one face, so that one suite holds for both.

use rocload::http::{
    Answer, BodyMachine, CancelHandle, Endpoint, Error, Options, Readiness, Request, Timeouts,
};
use rocload::sse::{Item, Parser};
use rocload_core::{ItemKind, Millis};

/// What a driver can do.
pub(crate) trait Driver: Default {
    type Exchange: Send + 'static;
    type Stream<M: BodyMachine>;

    fn send(&self, to: &Endpoint, options: Options, request: &Request<'_>) -> Sent<Self>;
    fn cancel_handle(exchange: &Self::Exchange) -> CancelHandle;
    /// Status, media type and all pieces of the body.
    fn pieces(&self, exchange: Self::Exchange) -> Result<(u16, String, Vec<u8>), Error>;
    fn answer(&self, exchange: Self::Exchange) -> Result<Answer, Error>;
    fn stream<M: BodyMachine>(
        &self,
        exchange: Self::Exchange,
        machine: M,
    ) -> Result<Self::Stream<M>, Error>;
    fn next<M: BodyMachine, T>(
        &self,
        stream: &mut Self::Stream<M>,
        keep: impl FnOnce(<M::Kind as ItemKind>::Item<'_>) -> T,
    ) -> Result<Option<T>, Error>;
    fn fetch(&self, to: &Endpoint, request: &Request<'_>) -> Result<Answer, Error>;
    fn readiness(&self, to: &Endpoint) -> Readiness;
}

type Sent<D> = Result<<D as Driver>::Exchange, Error>;

pub(crate) fn options(timeouts: Timeouts) -> Options {
    let mut options = Options::default();
    options.timeouts = timeouts;
    options
}

/// Time limits for what must not run out.
pub(crate) fn patient() -> Options {
    let minute = Some(Millis(60_000));
    options(Timeouts { connect: minute, headers: minute, idle: minute, ..Timeouts::NONE })
}

/// A request for a stream.
pub(crate) fn ask() -> Request<'static> {
    Request::post("/v1/chat/completions", b"{\"stream\":true}")
}

pub(crate) fn parser() -> Parser<Vec<u8>> {
    Parser::new(&rocload::Limits::default(), Vec::new())
}

/// The data of all events, and how the stream ended.
pub(crate) fn events<D: Driver>(
    driver: &D,
    to: &Endpoint,
    options: Options,
) -> (Vec<String>, Result<(), Error>) {
    let mut found = Vec::new();
    let mut run = || {
        let exchange = driver.send(to, options, &ask())?;
        let mut stream = driver.stream(exchange, parser())?;
        while let Some(data) = driver.next::<Parser<Vec<u8>>, _>(&mut stream, data)? {
            found.push(data);
        }
        Ok(())
    };
    let end = run();
    (found, end)
}

/// The data of an event, or what else came.
pub(crate) fn data(item: Item<'_>) -> String {
    match item {
        Item::Event(event) => event.data_str().unwrap().to_owned(),
        other => format!("{other:?}"),
    }
}

//! The blocking driver.

use rocload::blocking::{Client, Exchange, Stream};
use rocload::http::{
    Answer, BodyMachine, CancelHandle, Endpoint, Error, Options, Readiness, Request,
};
use rocload_core::ItemKind;

use crate::driver::Driver;
use crate::suite::suite;

#[derive(Default)]
pub(crate) struct Blocking;

impl Driver for Blocking {
    type Exchange = Exchange;
    type Stream<M: BodyMachine> = Stream<M>;

    fn send(
        &self,
        to: &Endpoint,
        options: Options,
        request: &Request<'_>,
    ) -> Result<Exchange, Error> {
        Client::with_options(to.clone(), options).send(request)
    }

    fn cancel_handle(exchange: &Exchange) -> CancelHandle {
        exchange.cancel_handle()
    }

    fn pieces(&self, mut exchange: Exchange) -> Result<(u16, String, Vec<u8>), Error> {
        let head = exchange.head()?;
        let (status, kind) = (head.status, String::from_utf8_lossy(head.media_type()).into_owned());
        let mut body = Vec::new();
        while let Some(piece) = exchange.piece()? {
            body.extend_from_slice(piece);
        }
        Ok((status, kind, body))
    }

    fn answer(&self, exchange: Exchange) -> Result<Answer, Error> {
        exchange.answer()
    }

    fn stream<M: BodyMachine>(&self, exchange: Exchange, machine: M) -> Result<Stream<M>, Error> {
        exchange.stream(machine)
    }

    fn next<M: BodyMachine, T>(
        &self,
        stream: &mut Stream<M>,
        keep: impl FnOnce(<M::Kind as ItemKind>::Item<'_>) -> T,
    ) -> Result<Option<T>, Error> {
        Ok(stream.next()?.map(keep))
    }

    fn fetch(&self, to: &Endpoint, request: &Request<'_>) -> Result<Answer, Error> {
        Client::new(to.clone()).fetch(request)
    }

    fn readiness(&self, to: &Endpoint) -> Readiness {
        Client::new(to.clone()).health()
    }
}

suite!(Blocking);

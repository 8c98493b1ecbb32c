//! The driver for tokio.

use rocload::http::{
    Answer, BodyMachine, CancelHandle, Endpoint, Error, Options, Readiness, Request,
};
use rocload::tokio::{Client, Exchange, Stream};
use rocload_core::ItemKind;
use tokio::runtime::{Builder, Runtime};

use crate::driver::{Driver, ask, data, parser, patient};
use crate::server::{Scenario, chunk};
use crate::suite::suite;

pub(crate) struct Tokio(Runtime);

impl Default for Tokio {
    fn default() -> Self {
        Tokio(Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap())
    }
}

impl Driver for Tokio {
    type Exchange = Exchange;
    type Stream<M: BodyMachine> = Stream<M>;

    fn send(
        &self,
        to: &Endpoint,
        options: Options,
        request: &Request<'_>,
    ) -> Result<Exchange, Error> {
        self.0.block_on(Client::with_options(to.clone(), options).send(request))
    }

    fn cancel_handle(exchange: &Exchange) -> CancelHandle {
        exchange.cancel_handle()
    }

    fn pieces(&self, mut exchange: Exchange) -> Result<(u16, String, Vec<u8>), Error> {
        self.0.block_on(async {
            let head = exchange.head().await?;
            let kind = String::from_utf8_lossy(head.media_type()).into_owned();
            let status = head.status;
            let mut body = Vec::new();
            while let Some(piece) = exchange.piece().await? {
                body.extend_from_slice(piece);
            }
            Ok((status, kind, body))
        })
    }

    fn answer(&self, exchange: Exchange) -> Result<Answer, Error> {
        self.0.block_on(exchange.answer())
    }

    fn stream<M: BodyMachine>(&self, exchange: Exchange, machine: M) -> Result<Stream<M>, Error> {
        self.0.block_on(exchange.stream(machine))
    }

    fn next<M: BodyMachine, T>(
        &self,
        stream: &mut Stream<M>,
        keep: impl FnOnce(<M::Kind as ItemKind>::Item<'_>) -> T,
    ) -> Result<Option<T>, Error> {
        self.0.block_on(async { Ok(stream.next().await?.map(keep)) })
    }

    fn fetch(&self, to: &Endpoint, request: &Request<'_>) -> Result<Answer, Error> {
        self.0.block_on(Client::new(to.clone()).fetch(request))
    }

    fn readiness(&self, to: &Endpoint) -> Readiness {
        self.0.block_on(Client::new(to.clone()).health())
    }
}

suite!(Tokio);

#[test]
fn a_dropped_wait_loses_nothing() {
    let first = chunk("data: one\n\nda");
    let server = Scenario::stream().send(first).pause(200).chunk("ta: two\n\n").last_chunk().unix();
    let runtime = Tokio::default().0;
    runtime.block_on(async {
        let client = Client::with_options(server.endpoint.clone(), patient());
        let mut stream = client.stream(&ask(), parser()).await.unwrap();
        let mut found = Vec::new();
        loop {
            // Asked for with little patience, and again.
            let wait = tokio::time::timeout(std::time::Duration::from_millis(7), async {
                stream.next().await.map(|item| item.map(data))
            });
            match wait.await {
                Ok(Ok(Some(data))) => found.push(data),
                Ok(end) => break assert!(end.unwrap().is_none()),
                Err(_) => {}
            }
        }
        assert_eq!(found, ["one", "two"]);
    });
}

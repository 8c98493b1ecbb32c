//! The driver for tokio.

use std::path::Path;
use std::time::Duration;

use rocload::http::{CancelHandle, Endpoint, Options, Request};
use rocload::llama::Item;
use rocload::llama::request::{Chat, Completion, Embeddings, Tokenize};
use rocload::process::{Excerpt, Swept};
use rocload::serve::{
    self, AtAddress, Class, Error, LLAMA_SERVER, LlamaServer, Ready, Registry, Setup,
};
use rocload::tokio::{Backend, Generation, Server};

use tokio::runtime::{Builder, Runtime};

use crate::driver::Driver;
use crate::suite::suite;

pub(crate) struct Tokio(Runtime);

impl Default for Tokio {
    fn default() -> Self {
        Tokio(Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap())
    }
}

impl Driver for Tokio {
    type Server = Server;
    type Generation = Generation;

    fn start(&self, setup: Setup) -> Result<Server, Error> {
        self.0.block_on(serve::Builder::<rocload::tokio::Driver>::from_setup(setup).start())
    }

    fn ready(&self, server: &Server) -> Result<Ready, Error> {
        self.0.block_on(server.ready())
    }

    fn chat(&self, server: &Server, chat: &Chat<'_>) -> Result<Generation, Error> {
        self.0.block_on(server.chat(chat))
    }

    fn generate(&self, server: &Server, what: &Completion<'_>) -> Result<Generation, Error> {
        self.0.block_on(server.generate(what))
    }

    fn next<T>(
        &self,
        generation: &mut Generation,
        keep: impl FnOnce(Item<'_>) -> T,
    ) -> Result<Option<T>, Error> {
        self.0.block_on(async { Ok(generation.next().await?.map(keep)) })
    }

    fn text(&self, generation: Generation) -> Result<String, Error> {
        self.0.block_on(generation.text())
    }

    fn cancel_handle(generation: &Generation) -> CancelHandle {
        generation.cancel_handle()
    }

    fn embed(&self, server: &Server, what: &Embeddings<'_>) -> Result<Vec<Vec<f32>>, Error> {
        self.0.block_on(server.embed(what))
    }

    fn tokenize(&self, server: &Server, what: &Tokenize<'_>) -> Result<Vec<i64>, Error> {
        self.0.block_on(server.tokenize(what))
    }

    fn metrics(&self, server: &Server) -> Result<String, Error> {
        self.0.block_on(server.metrics())
    }

    fn logs(server: &Server) -> Excerpt {
        server.logs()
    }

    fn pid(server: &Server) -> Option<u32> {
        server.pid()
    }

    fn endpoint(server: &Server) -> Option<Endpoint> {
        server.endpoint()
    }

    fn swept(server: &Server) -> Option<Swept> {
        server.swept().cloned()
    }

    fn stop(&self, server: &Server, grace: Option<Duration>) -> Result<Option<Class>, Error> {
        self.0.block_on(server.stop(grace))
    }

    fn kill(&self, server: &Server) -> Result<Option<Class>, Error> {
        self.0.block_on(server.kill())
    }

    fn wait(&self, server: &Server) -> Result<Option<Class>, Error> {
        self.0.block_on(server.wait())
    }

    fn fetch(&self, server: &Server, target: &str) -> Result<String, Error> {
        self.0.block_on(async {
            let answer = server.client().await?.fetch(&Request::get(target)).await?;
            Ok(String::from_utf8_lossy(&answer.body).into_owned())
        })
    }

    fn at(&self, endpoint: Endpoint) -> Server {
        Server::at(endpoint, Options::default(), None)
    }

    fn open(
        &self,
        name: Option<&str>,
        setup: fn(&Path) -> Setup,
        lab: Endpoint,
    ) -> Result<Server, Error> {
        let mut backends = Registry::<dyn Backend>::new();
        backends.register(LLAMA_SERVER, Box::new(LlamaServer::new(setup)));
        backends.register("lab", Box::new(AtAddress::new(lab)));
        let model = Path::new("model.gguf");
        match name {
            Some(name) => self.0.block_on(backends.open(name, model)),
            None => self.0.block_on(backends.open_any(model)),
        }
    }

    fn drop_server(&self, server: Server) {
        self.0.block_on(async { drop(server) });
    }
}

suite!(Tokio);

#[test]
fn a_wait_that_was_given_up_loses_no_error() {
    use crate::fake::Fake;
    let fake = Fake::new(&["at=token:3", "signal=9", "child", "token-ms=20"]);
    let driver = Tokio::default();
    let server = driver.start(fake.setup()).unwrap();
    let mut generation = crate::driver::chat(&driver, &server, 8).unwrap();
    let class = driver.0.block_on(async {
        loop {
            // Asked for with little patience, and again.
            let wait = tokio::time::timeout(Duration::from_millis(7), async {
                generation.next().await.map(|item| item.is_some())
            });
            match wait.await {
                Ok(Ok(true)) | Err(_) => {}
                Ok(end) => break end.unwrap_err().class(),
            }
        }
    });
    assert_eq!(class, Some(Class::Killed));
}

//! The blocking driver.

use std::path::Path;
use std::time::Duration;

use rocload::blocking::{Backend, Generation, Server};
use rocload::http::{CancelHandle, Endpoint, Options, Request};
use rocload::llama::Item;
use rocload::llama::request::{Chat, Completion, Embeddings, Tokenize};
use rocload::process::{Excerpt, Swept};
use rocload::serve::{
    AtAddress, Builder, Class, Error, LLAMA_SERVER, LlamaServer, Ready, Registry, Setup,
};

use crate::driver::Driver;
use crate::suite::suite;

#[derive(Default)]
pub(crate) struct Blocking;

impl Driver for Blocking {
    type Server = Server;
    type Generation = Generation;

    fn start(&self, setup: Setup) -> Result<Server, Error> {
        Builder::<rocload::blocking::Driver>::from_setup(setup).start()
    }

    fn ready(&self, server: &Server) -> Result<Ready, Error> {
        server.ready()
    }

    fn chat(&self, server: &Server, chat: &Chat<'_>) -> Result<Generation, Error> {
        server.chat(chat)
    }

    fn generate(&self, server: &Server, what: &Completion<'_>) -> Result<Generation, Error> {
        server.generate(what)
    }

    fn next<T>(
        &self,
        generation: &mut Generation,
        keep: impl FnOnce(Item<'_>) -> T,
    ) -> Result<Option<T>, Error> {
        Ok(generation.next()?.map(keep))
    }

    fn text(&self, generation: Generation) -> Result<String, Error> {
        generation.text()
    }

    fn cancel_handle(generation: &Generation) -> CancelHandle {
        generation.cancel_handle()
    }

    fn embed(&self, server: &Server, what: &Embeddings<'_>) -> Result<Vec<Vec<f32>>, Error> {
        server.embed(what)
    }

    fn tokenize(&self, server: &Server, what: &Tokenize<'_>) -> Result<Vec<i64>, Error> {
        server.tokenize(what)
    }

    fn metrics(&self, server: &Server) -> Result<String, Error> {
        server.metrics()
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
        server.stop(grace)
    }

    fn kill(&self, server: &Server) -> Result<Option<Class>, Error> {
        server.kill()
    }

    fn wait(&self, server: &Server) -> Result<Option<Class>, Error> {
        server.wait()
    }

    fn fetch(&self, server: &Server, target: &str) -> Result<String, Error> {
        let answer = server.client()?.fetch(&Request::get(target))?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
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
            Some(name) => backends.open(name, model),
            None => backends.open_any(model),
        }
    }

    fn drop_server(&self, server: Server) {
        drop(server);
    }
}

suite!(Blocking);

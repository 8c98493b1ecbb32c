//! Both drivers behind one face, so that one suite holds for both.

use std::path::Path;
use std::time::Duration;

use rocload::http::{CancelHandle, Endpoint};
use rocload::llama::Item;
use rocload::llama::request::{Chat, Completion, Embeddings, Message, Tokenize};
use rocload::process::{Excerpt, Swept};
use rocload::serve::{Class, Error, Ready, Setup};

/// What a driver can do.
pub(crate) trait Driver: Default {
    type Server: Send + Sync;
    type Generation: Send;

    fn start(&self, setup: Setup) -> Result<Self::Server, Error>;
    fn ready(&self, server: &Self::Server) -> Result<Ready, Error>;
    fn chat(&self, server: &Self::Server, chat: &Chat<'_>) -> Result<Self::Generation, Error>;
    fn generate(
        &self,
        server: &Self::Server,
        completion: &Completion<'_>,
    ) -> Result<Self::Generation, Error>;
    fn next<T>(
        &self,
        generation: &mut Self::Generation,
        keep: impl FnOnce(Item<'_>) -> T,
    ) -> Result<Option<T>, Error>;
    fn text(&self, generation: Self::Generation) -> Result<String, Error>;
    fn cancel_handle(generation: &Self::Generation) -> CancelHandle;
    fn embed(&self, server: &Self::Server, what: &Embeddings<'_>) -> Result<Vec<Vec<f32>>, Error>;
    fn tokenize(&self, server: &Self::Server, what: &Tokenize<'_>) -> Result<Vec<i64>, Error>;
    fn metrics(&self, server: &Self::Server) -> Result<String, Error>;
    fn logs(server: &Self::Server) -> Excerpt;
    fn pid(server: &Self::Server) -> Option<u32>;
    fn endpoint(server: &Self::Server) -> Option<Endpoint>;
    fn swept(server: &Self::Server) -> Option<Swept>;
    fn stop(&self, server: &Self::Server, grace: Option<Duration>) -> Result<Option<Class>, Error>;
    fn kill(&self, server: &Self::Server) -> Result<Option<Class>, Error>;
    fn wait(&self, server: &Self::Server) -> Result<Option<Class>, Error>;
    /// A plain request, and its answer's body.
    fn fetch(&self, server: &Self::Server, target: &str) -> Result<String, Error>;
    fn at(&self, endpoint: Endpoint) -> Self::Server;
    /// Opens a server by the name of a backend: `llama-server` with this setup, or `lab` at this
    /// endpoint; any that is available without a name.
    fn open(
        &self,
        name: Option<&str>,
        setup: fn(&Path) -> Setup,
        lab: Endpoint,
    ) -> Result<Self::Server, Error>;
    fn drop_server(&self, server: Self::Server);
}

/// The words of an answer as they come, and how it ended.
pub(crate) fn words<D: Driver>(
    driver: &D,
    generation: &mut D::Generation,
) -> (Vec<String>, Result<(), Error>) {
    let mut words = Vec::new();
    loop {
        let keep = |item: Item<'_>| match item {
            Item::Text { text, .. } => Some(text.to_owned()),
            _ => None,
        };
        match driver.next(generation, keep) {
            Ok(Some(word)) => words.extend(word),
            Ok(None) => return (words, Ok(())),
            Err(error) => return (words, Err(error)),
        }
    }
}

/// Asks for an answer of so many tokens at most.
pub(crate) fn chat<D: Driver>(
    driver: &D,
    server: &D::Server,
    tokens: i64,
) -> Result<D::Generation, Error> {
    let messages = [Message::user("hello")];
    let mut chat = Chat::new(&messages);
    chat.sampling.n_predict = Some(tokens);
    chat.sampling.temperature = Some(0.0);
    chat.sampling.ignore_eos = Some(true);
    driver.chat(server, &chat)
}

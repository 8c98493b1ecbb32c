//! Backends of the driver for tokio.

use std::future::{Future, ready};
use std::path::Path;
use std::pin::Pin;

use super::Server;
use crate::http::{Readiness, Request};
use crate::serve::{AtAddress, Error, LLAMA_SERVER, LlamaServer, Registry};
use crate::tokio::Client;

/// A future of a backend.
pub type Opening<'b, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'b>>;

/// A way to get at a model's server.
pub trait Backend: Send + Sync {
    /// Whether it can be used on this machine now.
    ///
    /// # Errors
    /// Why not.
    fn available(&self) -> Opening<'_, ()>;

    /// A server of this model; it may still be loading it.
    ///
    /// # Errors
    /// As the server's start.
    fn open<'b>(&'b self, model: &'b Path) -> Opening<'b, Server>;
}

impl Backend for LlamaServer {
    /// Whether there is a program.
    fn available(&self) -> Opening<'_, ()> {
        Box::pin(ready(self.find()))
    }

    fn open<'b>(&'b self, model: &'b Path) -> Opening<'b, Server> {
        Box::pin(crate::serve::Builder::<super::Driver>::from_setup(self.setup(model)).start())
    }
}

impl Backend for AtAddress {
    /// Whether a llama-server answers there.
    fn available(&self) -> Opening<'_, ()> {
        Box::pin(async {
            let client = Client::with_options(self.endpoint.clone(), self.http);
            let answer = client.fetch(&Request::get("/health")).await;
            match (Readiness::judge(&answer), answer) {
                (Readiness::Ready | Readiness::Loading, _) => Ok(()),
                (_, Err(error)) => Err(Error::Http(error)),
                (_, Ok(_)) => Err(Error::Refused(format!("{} is no llama-server", self.endpoint))),
            }
        })
    }

    fn open<'b>(&'b self, _model: &'b Path) -> Opening<'b, Server> {
        let server = Server::at(self.endpoint.clone(), self.http, self.api_key.as_deref());
        Box::pin(ready(Ok(server)))
    }
}

impl Default for Registry<dyn Backend> {
    fn default() -> Self {
        Registry::<dyn Backend>::new()
    }
}

impl Registry<dyn Backend> {
    /// llama-server on this machine.
    pub fn new() -> Self {
        let mut registry: Self = Registry::empty();
        registry.register(LLAMA_SERVER, Box::new(LlamaServer::default()));
        registry
    }

    /// A server of this model by the backend of this name.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::NotAvailable`]; as [`Backend::open`].
    pub async fn open(&self, name: &str, model: &Path) -> Result<Server, Error> {
        let backend = self.get(name)?;
        let unfit =
            |why: Error| Error::NotAvailable { name: name.to_owned(), why: why.to_string() };
        backend.available().await.map_err(unfit)?;
        backend.open(model).await
    }

    /// A server of this model by the first backend that is available.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_any(&self, model: &Path) -> Result<Server, Error> {
        let mut last = Error::NotRegistered { name: "any".into(), known: Vec::new() };
        for name in self.names() {
            match self.open(name, model).await {
                Err(error @ Error::NotAvailable { .. }) => last = error,
                opened => return opened,
            }
        }
        Err(last)
    }
}

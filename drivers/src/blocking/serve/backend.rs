//! Backends of the blocking driver.

use std::path::Path;

use super::Server;
use crate::blocking::Client;
use crate::http::{Readiness, Request};
use crate::serve::{AtAddress, Error, LLAMA_SERVER, LlamaServer, Registry};

/// A way to get at a model's server.
pub trait Backend: Send + Sync {
    /// Whether it can be used on this machine now.
    ///
    /// # Errors
    /// Why not.
    fn available(&self) -> Result<(), Error>;

    /// A server of this model; it may still be loading it.
    ///
    /// # Errors
    /// As the server's start.
    fn open(&self, model: &Path) -> Result<Server, Error>;
}

impl Backend for LlamaServer {
    /// Whether there is a program.
    fn available(&self) -> Result<(), Error> {
        self.find()
    }

    fn open(&self, model: &Path) -> Result<Server, Error> {
        crate::serve::Builder::<super::Driver>::from_setup(self.setup(model)).start()
    }
}

impl Backend for AtAddress {
    /// Whether a llama-server answers there.
    fn available(&self) -> Result<(), Error> {
        let client = Client::with_options(self.endpoint.clone(), self.http);
        let answer = client.fetch(&Request::get("/health"));
        match (Readiness::judge(&answer), answer) {
            (Readiness::Ready | Readiness::Loading, _) => Ok(()),
            (_, Err(error)) => Err(Error::Http(error)),
            (_, Ok(_)) => Err(Error::Refused(format!("{} is no llama-server", self.endpoint))),
        }
    }

    fn open(&self, _model: &Path) -> Result<Server, Error> {
        Ok(Server::at(self.endpoint.clone(), self.http, self.api_key.as_deref()))
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
    pub fn open(&self, name: &str, model: &Path) -> Result<Server, Error> {
        let backend = self.get(name)?;
        let unfit =
            |why: Error| Error::NotAvailable { name: name.to_owned(), why: why.to_string() };
        backend.available().map_err(unfit)?;
        backend.open(model)
    }

    /// A server of this model by the first backend that is available.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_any(&self, model: &Path) -> Result<Server, Error> {
        let mut last = Error::NotRegistered { name: "any".into(), known: Vec::new() };
        for name in self.names() {
            match self.open(name, model) {
                Err(error @ Error::NotAvailable { .. }) => last = error,
                opened => return opened,
            }
        }
        Err(last)
    }
}

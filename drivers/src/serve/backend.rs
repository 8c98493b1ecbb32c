//! Ways to get at a model's server, chosen by name at run time.

use std::fmt;
use std::path::Path;

use super::{Error, Setup};
use crate::http::{Endpoint, Options};

/// The name of [`LlamaServer`] in a new registry.
pub const LLAMA_SERVER: &str = "llama-server";

/// Backends by their names, in the order in which they were registered.
///
/// `B` is the trait of a driver: [`blocking::Backend`](crate::blocking::Backend) or its twin for
/// tokio.
///
/// ```
/// # #[cfg(feature = "blocking")] {
/// use rocload::blocking::Backend;
/// use rocload::serve::{AtAddress, Error, LLAMA_SERVER, Registry};
///
/// let mut backends = Registry::<dyn Backend>::new();
/// backends.register("lab", Box::new(AtAddress::new("127.0.0.1:8080".parse()?)));
/// assert_eq!(backends.names().collect::<Vec<_>>(), [LLAMA_SERVER, "lab"]);
/// assert!(backends.get("lab").is_ok());
/// assert!(matches!(backends.get("moon"), Err(Error::NotRegistered { .. })));
/// # }
/// # Ok::<(), rocload::http::EndpointError>(())
/// ```
pub struct Registry<B: ?Sized> {
    backends: Vec<(String, Box<B>)>,
}

impl<B: ?Sized> fmt::Debug for Registry<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl<B: ?Sized> Registry<B> {
    /// No backend at all.
    pub const fn empty() -> Self {
        Registry { backends: Vec::new() }
    }

    /// Adds a backend. One of the same name is replaced, in its place.
    pub fn register(&mut self, name: impl Into<String>, backend: Box<B>) {
        let name = name.into();
        match self.backends.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = backend,
            None => self.backends.push((name, backend)),
        }
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.backends.iter().map(|(name, _)| name.as_str())
    }

    /// The backend of this name, whether it is available or not.
    ///
    /// # Errors
    /// [`Error::NotRegistered`].
    pub fn get(&self, name: &str) -> Result<&B, Error> {
        let found = self.backends.iter().find(|(known, _)| known == name);
        found.map(|(_, backend)| &**backend).ok_or_else(|| Error::NotRegistered {
            name: name.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        })
    }
}

/// A llama-server that is started on this machine.
pub struct LlamaServer {
    setup: Box<dyn Fn(&Path) -> Setup + Send + Sync>,
}

impl fmt::Debug for LlamaServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlamaServer").finish_non_exhaustive()
    }
}

impl Default for LlamaServer {
    fn default() -> Self {
        LlamaServer::new(|model| Setup::new(model.to_path_buf()))
    }
}

impl LlamaServer {
    /// One that is started as this setup says.
    pub fn new(setup: impl Fn(&Path) -> Setup + Send + Sync + 'static) -> Self {
        LlamaServer { setup: Box::new(setup) }
    }

    pub(crate) fn setup(&self, model: &Path) -> Setup {
        (self.setup)(model)
    }

    pub(crate) fn find(&self) -> Result<(), Error> {
        let setup = self.setup(Path::new("model.gguf"));
        super::find::find(setup.program.as_deref()).map_err(Error::Find)?;
        Ok(())
    }
}

/// A server that somebody else runs. The model is its own affair.
#[derive(Debug, Clone)]
pub struct AtAddress {
    /// Where it listens.
    pub endpoint: Endpoint,
    /// How requests are made.
    pub http: Options,
    /// The key that requests must bear.
    pub api_key: Option<String>,
}

impl AtAddress {
    /// A server without a key.
    pub fn new(endpoint: Endpoint) -> Self {
        AtAddress { endpoint, http: Options::default(), api_key: None }
    }
}

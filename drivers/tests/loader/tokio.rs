//! The tokio driver.

use rocload::Options;
use rocload::loader::{Environment, Found, LoadError, Loaded, Request};
use rocload::tokio::Loader;

use crate::suite::{self, Driver, Tree};

/// A loader, with the runtime that it is used on.
struct Tokio(Loader, tokio::runtime::Runtime);

impl Driver for Tokio {
    fn new(options: &Options, environment: Environment) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Tokio(Loader::new(options, environment), runtime)
    }
    fn load(&self, request: &Request<'_>) -> Result<Loaded, LoadError> {
        self.1.block_on(self.0.load(request))
    }
    fn load_in(&self, request: &Request<'_>) -> Result<(Vec<u8>, Found), LoadError> {
        self.1.block_on(self.0.load_in(request, Vec::new()))
    }
    fn resolve(&self, request: &Request<'_>) -> Result<Found, LoadError> {
        self.1.block_on(self.0.resolve(request))
    }
    fn archives(&self) -> usize {
        self.0.archives()
    }
}

suite::tests!(Tokio);

#[test]
fn loads_are_sent_between_threads_and_share_their_archives() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[("lib/x.so#0", "gfx1100", b"bare")]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let loader = Loader::new(&Options::default(), Environment::default());
    runtime.block_on(async {
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let (loader, reference) = (loader.clone(), tree.reference("x"));
                let binary = tree.binary();
                tokio::spawn(async move {
                    let request = Request::new(&reference, &binary, 0, &[b"gfx1100"]);
                    loader.load(&request).await.unwrap().kernel
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), b"bare");
        }
    });
    assert_eq!(loader.archives(), 1);
}

//! The blocking driver.

use std::sync::Barrier;

use rocload::loader::{Environment, Found, LoadError, Loaded, Loader, Request};
use rocload::{Options, Room};

use crate::suite::{self, Driver, Tree};

impl Driver for Loader {
    fn new(options: &Options, environment: Environment) -> Self {
        Loader::new(options, environment)
    }
    fn load(&self, request: &Request<'_>) -> Result<Loaded, LoadError> {
        self.load(request)
    }
    fn load_in(&self, request: &Request<'_>) -> Result<(Vec<u8>, Found), LoadError> {
        let mut room = Vec::new();
        let found = self.load_in(request, &mut room)?;
        Ok((room, found))
    }
    fn resolve(&self, request: &Request<'_>) -> Result<Found, LoadError> {
        self.resolve(request)
    }
    fn archives(&self) -> usize {
        self.archives()
    }
}

suite::tests!(Loader);

#[test]
fn any_number_of_threads_open_an_archive_once_and_load() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[("lib/x.so#0", "gfx1100", b"bare")]);
    let (reference, binary) = (tree.reference("x"), tree.binary());
    let loader = Loader::new(&Options::default(), Environment::default());
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..50 {
                    let request = Request::new(&reference, &binary, 0, &[b"gfx1100"]);
                    assert_eq!(loader.load(&request).unwrap().kernel, b"bare");
                }
            });
        }
    });
    assert_eq!(loader.archives(), 1);
}

/// Memory that is never there, or always too short.
struct Refuses(Option<Vec<u8>>);

impl Room for Refuses {
    fn room(&mut self, _size: usize) -> Option<&mut [u8]> {
        self.0.as_deref_mut()
    }
}

#[test]
fn memory_that_is_not_there_is_the_reason() {
    use rocload::kpack::search::Reason;
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[("lib/x.so#0", "gfx1100", b"bare")]);
    let (reference, binary) = (tree.reference("x"), tree.binary());
    let loader = Loader::new(&Options::default(), Environment::default());
    let request = Request::new(&reference, &binary, 0, &[b"gfx1100"]);
    for mut room in [Refuses(None), Refuses(Some(vec![0; 3]))] {
        let error = loader.load_in(&request, &mut room).unwrap_err();
        assert_eq!(error.reason(), Reason::Memory, "{error}");
    }
}

//! The tokio driver.

use rocload::binary::{self, CodeObject};
use rocload::tokio::Binary;
use rocload::{Error, Options};

use crate::suite::{self, Driver};

/// A binary, with the runtime that it is used on.
struct Tokio(Binary<Vec<u8>>, tokio::runtime::Runtime);

impl Driver for Tokio {
    fn open(bytes: Vec<u8>, options: &Options) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let binary = runtime.block_on(Binary::from_source(bytes, options))?;
        Ok(Tokio(binary, runtime))
    }
    fn reference(&self, co_index: u32) -> Result<Option<Vec<u8>>, Error> {
        self.1.block_on(self.0.reference(co_index))
    }
    fn objects(&self) -> Result<Vec<CodeObject>, Error> {
        self.1.block_on(self.0.objects())
    }
    fn object(&self, object: &CodeObject) -> Result<Vec<u8>, Error> {
        self.1.block_on(self.0.object(object))
    }
    fn blocking(&self) -> &binary::Binary<Vec<u8>> {
        self.0.blocking()
    }
}

suite::tests!(Tokio);

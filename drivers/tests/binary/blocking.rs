//! The blocking driver.

use rocload::binary::{Binary, CodeObject};
use rocload::{Error, Options};

use crate::suite::{self, Driver};

impl Driver for Binary<Vec<u8>> {
    fn open(bytes: Vec<u8>, options: &Options) -> Result<Self, Error> {
        Binary::from_source(bytes, options)
    }
    fn reference(&self, co_index: u32) -> Result<Option<Vec<u8>>, Error> {
        self.reference(co_index)
    }
    fn objects(&self) -> Result<Vec<CodeObject>, Error> {
        self.objects()
    }
    fn object(&self, object: &CodeObject) -> Result<Vec<u8>, Error> {
        self.object(object)
    }
    fn blocking(&self) -> &Binary<Vec<u8>> {
        self
    }
}

suite::tests!(Binary<Vec<u8>>);

//! The tokio driver.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use rocload::binary::CodeObject;
use rocload::gguf::{Item, Want};
use rocload::tokio::{Archive, Binary, Model};
use rocload::{Error, Options, Verdict};
use tokio::runtime::{Builder, Runtime};

use crate::driver::{Driver, Source};

struct Tokio(Runtime);

impl Default for Tokio {
    fn default() -> Self {
        Tokio(Builder::new_current_thread().build().unwrap())
    }
}

impl Driver for Tokio {
    type Archive<R: Source> = Archive<R>;
    type Binary<R: Source> = Binary<R>;
    type Model = Model;

    fn archive<R: Source>(&self, source: R) -> Result<Archive<R>, Error> {
        self.0.block_on(Archive::from_source(source, &Options::default()))
    }
    fn kernel<R: Source>(
        &self,
        archive: &Archive<R>,
        binary: &str,
        arch: &str,
    ) -> Result<Vec<u8>, Error> {
        self.0.block_on(archive.kernel(binary, arch))
    }
    fn verify<R: Source>(&self, archive: &Archive<R>, threads: NonZeroUsize) -> Verdict {
        self.0.block_on(archive.verify(threads)).unwrap()
    }
    fn binary<R: Source>(&self, source: R) -> Result<Binary<R>, Error> {
        self.0.block_on(Binary::from_source(source, &Options::default()))
    }
    fn objects<R: Source>(&self, binary: &Binary<R>) -> Result<Vec<CodeObject>, Error> {
        self.0.block_on(binary.objects())
    }
    fn object<R: Source>(&self, binary: &Binary<R>, object: &CodeObject) -> Result<Vec<u8>, Error> {
        self.0.block_on(binary.object(object))
    }
    fn model(&self, path: &Path) -> Result<Model, Error> {
        self.0.block_on(Model::open(path))
    }
    fn text(&self, model: &Model, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.0.block_on(model.text(key))
    }
    fn visit(&self, model: &Model) -> Result<usize, Error> {
        let mut items = 0;
        let see = |_: &Item<'_>| {
            items += 1;
            ControlFlow::<()>::Continue(())
        };
        let _ = self.0.block_on(model.visit(Want::Value, see))?;
        Ok(items)
    }
}

crate::suite!(Tokio);

//! The blocking driver.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use rocload::binary::{Binary, CodeObject};
use rocload::gguf::Want;
use rocload::{Archive, Error, Model, Options, Verdict};

use crate::driver::{Driver, Source};

#[derive(Default)]
struct Blocking;

impl Driver for Blocking {
    type Archive<R: Source> = Archive<R>;
    type Binary<R: Source> = Binary<R>;
    type Model = Model;

    fn archive<R: Source>(&self, source: R) -> Result<Archive<R>, Error> {
        Archive::from_source(source, &Options::default())
    }
    fn kernel<R: Source>(
        &self,
        archive: &Archive<R>,
        binary: &str,
        arch: &str,
    ) -> Result<Vec<u8>, Error> {
        archive.kernel(binary, arch)
    }
    fn verify<R: Source>(&self, archive: &Archive<R>, threads: NonZeroUsize) -> Verdict {
        archive.verify(threads)
    }
    fn binary<R: Source>(&self, source: R) -> Result<Binary<R>, Error> {
        Binary::from_source(source, &Options::default())
    }
    fn objects<R: Source>(&self, binary: &Binary<R>) -> Result<Vec<CodeObject>, Error> {
        binary.objects()
    }
    fn object<R: Source>(&self, binary: &Binary<R>, object: &CodeObject) -> Result<Vec<u8>, Error> {
        binary.object(object)
    }
    fn model(&self, path: &Path) -> Result<Model, Error> {
        Model::open(path)
    }
    fn text(&self, model: &Model, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        model.text(key)
    }
    fn visit(&self, model: &Model) -> Result<usize, Error> {
        let mut items = 0;
        let _ = model.visit(Want::Value, |_| {
            items += 1;
            ControlFlow::<()>::Continue(())
        })?;
        Ok(items)
    }
}

crate::suite!(Blocking);

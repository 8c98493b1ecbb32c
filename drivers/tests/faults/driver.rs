//! Both drivers behind one face.

use std::num::NonZeroUsize;
use std::path::Path;

use rocload::binary::CodeObject;
use rocload::{Error, ReadAt, Verdict};

/// A source that any driver takes.
pub(crate) trait Source: ReadAt + Send + Sync + 'static {}
impl<R: ReadAt + Send + Sync + 'static> Source for R {}

/// What a driver does with files.
pub(crate) trait Driver: Default {
    type Archive<R: Source>;
    type Binary<R: Source>;
    type Model;

    fn archive<R: Source>(&self, source: R) -> Result<Self::Archive<R>, Error>;
    fn kernel<R: Source>(
        &self,
        archive: &Self::Archive<R>,
        binary: &str,
        arch: &str,
    ) -> Result<Vec<u8>, Error>;
    fn verify<R: Source>(&self, archive: &Self::Archive<R>, threads: NonZeroUsize) -> Verdict;

    fn binary<R: Source>(&self, source: R) -> Result<Self::Binary<R>, Error>;
    fn objects<R: Source>(&self, binary: &Self::Binary<R>) -> Result<Vec<CodeObject>, Error>;
    fn object<R: Source>(
        &self,
        binary: &Self::Binary<R>,
        object: &CodeObject,
    ) -> Result<Vec<u8>, Error>;

    fn model(&self, path: &Path) -> Result<Self::Model, Error>;
    fn text(&self, model: &Self::Model, key: &[u8]) -> Result<Option<Vec<u8>>, Error>;
    /// How many items a visit shows.
    fn visit(&self, model: &Self::Model) -> Result<usize, Error>;
}

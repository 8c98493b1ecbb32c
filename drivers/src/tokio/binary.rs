//! A binary and the device code in it, async: the blocking one, at work on other threads.

use std::path::Path;
use std::sync::Arc;

use super::off::Slots;
use crate::archive::Options;
use crate::binary::{self, CodeObject};
use crate::error::{Error, ErrorKind};
use crate::file::{FileAt, ReadAt};

/// An open binary, as the blocking [`Binary`](binary::Binary). Clones are the same binary.
///
/// ```
/// use rocload::tokio::Binary;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// // A file by path: Binary::open("libblas.so").await?; here, bytes in memory.
/// let binary = Binary::from_source(&b"\x7fELF is no header"[..], &Default::default()).await;
/// assert!(binary.is_err());
/// # });
/// ```
#[derive(Debug)]
pub struct Binary<R = FileAt> {
    inner: Arc<binary::Binary<R>>,
    slots: Slots,
}

impl<R> Clone for Binary<R> {
    fn clone(&self) -> Self {
        Binary { inner: Arc::clone(&self.inner), slots: self.slots.clone() }
    }
}

const READING: &str = "reading the binary";

impl Binary<FileAt> {
    /// Opens the binary at `path`, with the default limits.
    ///
    /// # Errors
    /// As the blocking [`Binary::open`](binary::Binary::open).
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &Options::default()).await
    }

    /// Opens the binary at `path`.
    ///
    /// # Errors
    /// As the blocking [`Binary::open`](binary::Binary::open).
    pub async fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let (path, options) = (path.as_ref().to_path_buf(), *options);
        Self::opened(move || binary::Binary::open_with(path, &options)).await
    }
}

impl<R: ReadAt + Send + Sync + 'static> Binary<R> {
    /// Opens the binary that `source` holds.
    ///
    /// # Errors
    /// As the blocking [`Binary::from_source`](binary::Binary::from_source).
    pub async fn from_source(source: R, options: &Options) -> Result<Self, Error> {
        let options = *options;
        Self::opened(move || binary::Binary::from_source(source, &options)).await
    }

    async fn opened(
        open: impl FnOnce() -> Result<binary::Binary<R>, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let slots = Slots::default();
        let inner = slots.run(open).await.map_err(off)??;
        Ok(Binary { inner: Arc::new(inner), slots })
    }

    /// The binary that does the work: what it tells of headers is in memory, other calls may block.
    pub fn blocking(&self) -> &binary::Binary<R> {
        &self.inner
    }

    /// The reference metadata of a translation unit.
    ///
    /// # Errors
    /// As the blocking [`Binary::reference`](binary::Binary::reference).
    pub async fn reference(&self, co_index: u32) -> Result<Option<Vec<u8>>, Error> {
        let inner = Arc::clone(&self.inner);
        self.slots.run(move || inner.reference(co_index)).await.map_err(off)?
    }

    /// The code objects of the file.
    ///
    /// # Errors
    /// As the blocking [`Binary::objects`](binary::Binary::objects).
    pub async fn objects(&self) -> Result<Vec<CodeObject>, Error> {
        let inner = Arc::clone(&self.inner);
        self.slots.run(move || inner.objects()).await.map_err(off)?
    }

    /// A code object.
    ///
    /// # Errors
    /// As the blocking [`Binary::object`](binary::Binary::object).
    pub async fn object(&self, object: &CodeObject) -> Result<Vec<u8>, Error> {
        let (inner, object) = (Arc::clone(&self.inner), object.clone());
        self.slots.run(move || inner.object(&object)).await.map_err(off)?
    }
}

fn off(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io(error), READING)
}

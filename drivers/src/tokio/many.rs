//! Many archives, async.

use std::path::Path;
use std::sync::Arc;

use super::archive::Archive;
use super::off::Slots;
use crate::archive::Options;
use crate::error::Error;
use crate::many::{self, Files, Pooled};

/// Opens archives whose files are open only while they are in use, as the blocking
/// [`Archives`](many::Archives); all of them together have the slots of one archive.
#[derive(Debug)]
pub struct Archives {
    inner: Arc<many::Archives>,
    slots: Slots,
}

impl Archives {
    /// A set of archives, each read by `options`; at most
    /// [`Limits::open_archives`](crate::Limits::open_archives) of their files are kept open.
    pub fn new(options: &Options) -> Archives {
        Archives { inner: Arc::new(many::Archives::new(options)), slots: Slots::default() }
    }

    /// Opens the archive at `path`. It may outlive the set.
    ///
    /// # Errors
    /// As the blocking [`Archives::open`](many::Archives::open).
    pub async fn open(&self, path: impl AsRef<Path>) -> Result<Archive<Pooled>, Error> {
        let (inner, path) = (Arc::clone(&self.inner), path.as_ref().to_path_buf());
        Archive::opened(self.slots.clone(), move || inner.open(path)).await
    }

    /// The files that they are read from.
    pub fn files(&self) -> &Files {
        self.inner.files()
    }
}

//! Finding and loading kernels, async: the blocking loader, at work on other threads.

use std::path::PathBuf;
use std::sync::Arc;

use super::off::Slots;
use crate::archive::Options;
use crate::loader::{self, Environment, Found, LoadError, Loaded, Request};
use crate::worker::Room;

/// Finds and loads kernels, as the blocking [`Loader`](loader::Loader). Clones are the same
/// loader; at most as many of their searches work at once as there are processors.
///
/// ```
/// use rocload::Options;
/// use rocload::loader::{Environment, Request};
/// use rocload::tokio::Loader;
/// # let folder = tempfile::tempdir().unwrap();
/// # std::fs::write(folder.path().join("small_gfx90a.kpack"), rocload::kpack::EXAMPLE).unwrap();
/// # let binary = &folder.path().join("libsmall.so");
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
///
/// let loader = Loader::new(&Options::default(), Environment::default());
/// let metadata = b"\x82\xb2kpack_search_paths\x91\xb5small_@GFXARCH@.kpack\xabkernel_name\xaflib/libsmall.so";
/// let loaded = loader.load(&Request::new(metadata, binary, 0, &[b"gfx90a"])).await?;
/// assert_eq!(loaded.kernel, b"a code objec");
/// # Ok::<(), rocload::loader::LoadError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Loader {
    inner: Arc<loader::Loader>,
    slots: Slots,
}

/// A loader that is in use already, for async code.
impl From<loader::Loader> for Loader {
    fn from(loader: loader::Loader) -> Self {
        Loader { inner: Arc::new(loader), slots: Slots::default() }
    }
}

impl Loader {
    /// A loader without archives, as the blocking [`Loader::new`](loader::Loader::new).
    pub fn new(options: &Options, environment: Environment) -> Loader {
        loader::Loader::new(options, environment).into()
    }

    /// The loader that does the work, for calls that may block.
    pub fn blocking(&self) -> &loader::Loader {
        &self.inner
    }

    /// The environment that it was made with.
    pub fn environment(&self) -> &Environment {
        self.inner.environment()
    }

    /// How many archives are open.
    pub fn archives(&self) -> usize {
        self.inner.archives()
    }

    /// Finds a kernel and loads it into memory of its own.
    ///
    /// # Errors
    /// As the blocking [`Loader::load`](loader::Loader::load); [`Reason::Io`] where the runtime
    /// takes no more work.
    ///
    /// [`Reason::Io`]: rocload_core::kpack::search::Reason::Io
    pub async fn load(&self, request: &Request<'_>) -> Result<Loaded, LoadError> {
        self.run(request, loader::Loader::load).await
    }

    /// Finds a kernel and loads it into memory that is asked for once its size is known. The room
    /// goes to the thread that does the work and comes back with what was found.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn load_in<M: Room + Send + 'static>(
        &self,
        request: &Request<'_>,
        mut room: M,
    ) -> Result<(M, Found), LoadError> {
        let work = move |loader: &loader::Loader, request: &Request<'_>| {
            let found = loader.load_in(request, &mut room)?;
            Ok((room, found))
        };
        self.run(request, work).await
    }

    /// Finds a kernel and reads none of it.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn resolve(&self, request: &Request<'_>) -> Result<Found, LoadError> {
        self.run(request, loader::Loader::resolve).await
    }

    async fn run<T: Send + 'static>(
        &self,
        request: &Request<'_>,
        work: impl FnOnce(&loader::Loader, &Request<'_>) -> Result<T, LoadError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let owned = Owned::of(request, self.inner.limits().reference_bytes as usize);
        let inner = Arc::clone(&self.inner);
        let done = self.slots.run(move || owned.with(|request| work(&inner, request))).await;
        done.unwrap_or_else(|error| Err(LoadError::off(&error)))
    }
}

/// A request for another thread.
struct Owned {
    reference: Vec<u8>,
    binary: PathBuf,
    co_index: u32,
    arches: Vec<Vec<u8>>,
}

impl Owned {
    /// Of the metadata no more than is looked at, and a byte that tells of more.
    fn of(request: &Request<'_>, most: usize) -> Owned {
        let Request { reference, binary, co_index, arches } = *request;
        let reference = &reference[..reference.len().min(most.saturating_add(1))];
        Owned {
            reference: reference.to_vec(),
            binary: binary.to_path_buf(),
            co_index,
            arches: arches.iter().map(|arch| arch.to_vec()).collect(),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&Request<'_>) -> T) -> T {
        let arches: Vec<&[u8]> = self.arches.iter().map(Vec::as_slice).collect();
        work(&Request::new(&self.reference, &self.binary, self.co_index, &arches))
    }
}

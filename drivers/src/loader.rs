//! Finding a binary's kernel among archives and loading it.
//!
//! A [`Loader`] holds the environment as it was when it was made and the archives that it has
//! opened. Each [`Request`] goes through the search of [`rocload_core::kpack::search`] over real
//! files: what the binary says, the lists of the environment, architectures in order. Archives
//! are known by their canonical paths, opened at most once each while their files stay the same,
//! and never while a lock is held; a path that fails is tried again by the next request. `&Loader`
//! serves any number of threads.
//!
//! ```
//! use rocload::loader::{Environment, Loader, Request};
//! use rocload::Options;
//! # let folder = tempfile::tempdir().unwrap();
//! # std::fs::create_dir(folder.path().join(".kpack")).unwrap();
//! # std::fs::write(folder.path().join(".kpack/small_gfx90a.kpack"), rocload::kpack::EXAMPLE).unwrap();
//! # let binary = &folder.path().join("lib/libsmall.so");
//!
//! let loader = Loader::new(&Options::default(), Environment::from_process());
//! // From the section .rocm_kpack_ref of the binary.
//! let metadata = b"\x82\xb2kpack_search_paths\x91\xbf../.kpack/small_@GFXARCH@.kpack\xabkernel_name\xaflib/libsmall.so";
//! let loaded = loader.load(&Request::new(metadata, binary, 0, &[b"gfx90a:xnack-"]))?;
//! assert_eq!(loaded.kernel, b"a code objec");
//! assert_eq!(loaded.found.target(), b"gfx90a");
//! # Ok::<(), rocload::loader::LoadError>(())
//! ```

mod cache;
mod environment;
mod maps;
mod trail;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rocload_core::Limits;
use rocload_core::kpack::search::{
    Action, Location, Origin, Outcome, PathList, Query, Reason, Search, Trail, Tried, Verdict,
};
use rocload_core::kpack::{Entry, Reference, TargetId};

use crate::archive::{Archive, Options};
use crate::error::{Error, ErrorKind};
use crate::many::Pooled;
use crate::worker::Room;
use cache::{Cache, Cached, Looked};
pub use environment::Environment;
pub use maps::{MapLine, Mapping, discover_binary_path, find as find_mapping};
pub use trail::{LoadError, Lookup, Opening, Step};

/// What to load.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The binary's reference metadata; bytes behind it are ignored.
    pub reference: &'a [u8],
    /// The binary's path, from whose folder relative paths are seen.
    pub binary: &'a Path,
    /// The number of the translation unit.
    pub co_index: u32,
    /// Target IDs or ISA names, best first.
    pub arches: &'a [&'a [u8]],
}

impl<'a> Request<'a> {
    /// A request for the kernel of translation unit `co_index` of `binary`.
    pub fn new(
        reference: &'a [u8],
        binary: &'a Path,
        co_index: u32,
        arches: &'a [&'a [u8]],
    ) -> Self {
        Request { reference, binary, co_index, arches }
    }
}

/// Where a kernel was found.
#[derive(Debug)]
pub struct Found {
    cached: Arc<Cached>,
    key: Vec<u8>,
    target: Vec<u8>,
    arch: usize,
    size: u64,
    trail: Vec<Step>,
}

impl Found {
    /// The archive.
    pub fn archive(&self) -> &Archive<Pooled> {
        &self.cached.archive
    }

    /// The archive's canonical path.
    pub fn path(&self) -> &Path {
        self.cached.path()
    }

    /// The key in the archive.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The architecture in the archive.
    pub fn target(&self) -> &[u8] {
        &self.target
    }

    /// Which of the architectures asked for it fits.
    pub fn arch(&self) -> usize {
        self.arch
    }

    /// The kernel's size in bytes, as the archive tells it.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What was tried, in order.
    pub fn trail(&self) -> &[Step] {
        &self.trail
    }

    /// The entry in the archive.
    ///
    /// # Errors
    /// As [`Archive::entry`].
    pub fn entry(&self) -> Result<Entry<'_>, Error> {
        self.archive().entry(&self.key, &self.target)
    }

    /// The kernel in memory of its own.
    ///
    /// # Errors
    /// As [`Archive::kernel`].
    pub fn kernel(&self) -> Result<Vec<u8>, Error> {
        self.archive().kernel(&self.key, &self.target)
    }

    /// The kernel into the front of `dst`; returns its size in bytes.
    ///
    /// # Errors
    /// As [`Archive::kernel_into`].
    pub fn kernel_into(&self, dst: &mut [u8]) -> Result<usize, Error> {
        self.archive().kernel_into(&self.key, &self.target, dst)
    }
}

/// A kernel in memory, and where it comes from.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The code object.
    pub kernel: Vec<u8>,
    /// Where it was found.
    pub found: Found,
}

/// Finds and loads kernels. See the module's text.
#[derive(Debug)]
pub struct Loader {
    options: Options,
    environment: Environment,
    cache: Cache,
}

impl Loader {
    /// A loader without archives. [`Strictness::Compat`](rocload_core::kpack::Strictness::Compat)
    /// in `options` reads archives, and matches architectures, as the C libraries do.
    pub fn new(options: &Options, environment: Environment) -> Loader {
        Loader { options: *options, environment, cache: Cache::new(options) }
    }

    /// The environment that it was made with.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The caps.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// How many archives are open.
    pub fn archives(&self) -> usize {
        self.cache.len()
    }

    /// Finds a kernel and loads it into memory of its own.
    ///
    /// # Errors
    /// [`LoadError`], with the most severe reason.
    pub fn load(&self, request: &Request<'_>) -> Result<Loaded, LoadError> {
        let mut kernel = Vec::new();
        let found = self.load_in(request, &mut kernel)?;
        kernel.truncate(usize::try_from(found.size).unwrap_or(usize::MAX));
        Ok(Loaded { kernel, found })
    }

    /// Finds a kernel and loads it into memory that is asked for once its size is known, and once
    /// more if that kernel cannot be had and another is there. The last memory given is the one.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_in(&self, request: &Request<'_>, room: &mut dyn Room) -> Result<Found, LoadError> {
        self.search(request, &mut |archive, entry| {
            archive.worker().kernel_in(entry, room).map(|_| ())
        })
    }

    /// Finds a kernel and reads none of it: whether it can be had is not known.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn resolve(&self, request: &Request<'_>) -> Result<Found, LoadError> {
        self.search(request, &mut |_, _| Ok(()))
    }

    fn search(&self, request: &Request<'_>, fetch: &mut Fetch<'_>) -> Result<Found, LoadError> {
        let limits = &self.options.limits;
        if request.arches.is_empty() {
            return Err(LoadError::new(Reason::Argument));
        }
        let mut targets = Vec::new();
        for arch in request.arches {
            let target = TargetId::parse(*arch, limits)
                .map_err(|error| LoadError::new(Reason::Argument).because(error))?;
            targets.push(target);
        }
        if self.environment.disable {
            return Err(LoadError::new(Reason::Disabled));
        }
        let reference = Reference::parse(request.reference, limits)
            .map_err(|error| LoadError::new(Reason::Metadata).because(error))?;
        let binary = request.binary.as_os_str().as_encoded_bytes();
        let mut query = Query::new(reference, request.co_index, binary, request.arches);
        query.replace = PathList::new(&self.environment.path);
        query.prefix = PathList::new(&self.environment.prefix);
        let mut search = Search::new(query, limits, Ignored::default())
            .map_err(|error| LoadError::new(Reason::Argument).because(error))?;
        let mut key = vec![0; search.key().len()];
        // It is as long as it has to be.
        let _ = search.key().write_to(&mut key);
        let mut run = Run::new(&self.cache, key);
        let linked = OnceCell::new();
        let verdict = run.drive(&mut search, request.binary, &linked, fetch);
        let ignored = search.trail().0.iter();
        run.trail.extend(ignored.map(|&(origin, paths)| Step::Ignored { origin, paths }));
        let Run { key, mut opened, trail, target, size, .. } = run;
        match verdict {
            Ok((archive, arch)) => {
                let cached = opened.swap_remove(archive);
                Ok(Found { cached, key, target, arch, size, trail })
            }
            Err(reason) => {
                let mut seen = HashSet::new();
                let names = targets.iter().flat_map(TargetId::candidates);
                let names = names.map(|candidate| candidate.to_string());
                let names = names.filter(|name| seen.insert(name.clone())).collect();
                Err(LoadError::new(reason).searched(key, names, trail))
            }
        }
    }
}

/// Paths that a search leaves out; the other steps are kept with their errors.
#[derive(Default)]
struct Ignored(Vec<(Origin, u32)>);

impl<'a> Trail<'a> for Ignored {
    fn record(&mut self, tried: Tried<'a>) {
        if let Tried::Ignored { origin, paths } = tried {
            self.0.push((origin, paths));
        }
    }
}

/// One search over files.
struct Run<'l> {
    cache: &'l Cache,
    key: Vec<u8>,
    /// Archives by the numbers that the machine knows them by.
    opened: Vec<Arc<Cached>>,
    trail: Vec<Step>,
    /// Folders before a `..`, and what to put in their place where they are not there.
    folders: Vec<(PathBuf, Option<PathBuf>)>,
    target: Vec<u8>,
    size: u64,
}

type Fetch<'f> = dyn FnMut(&Archive<Pooled>, &Entry<'_>) -> Result<(), Error> + 'f;

impl<'l> Run<'l> {
    fn new(cache: &'l Cache, key: Vec<u8>) -> Self {
        let (opened, trail, folders, target) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Run { cache, key, opened, trail, folders, target, size: 0 }
    }

    /// Drives the machine to the number of an archive and of an architecture.
    fn drive<'a>(
        &mut self,
        search: &mut Search<'a, Ignored>,
        binary: &Path,
        linked: &'a OnceCell<PathBuf>,
        fetch: &mut Fetch<'_>,
    ) -> Result<(usize, usize), Reason> {
        loop {
            let outcome = match search.poll() {
                Action::Open(location) => self.open(&location),
                Action::Lookup { archive, target } => {
                    self.target.resize(target.len(), 0);
                    // It is as long as it has to be.
                    let _ = target.write_to(&mut self.target);
                    self.look_up(archive as usize, fetch)
                }
                Action::Done(Verdict::Found { archive, arch, .. }) => {
                    return Ok((archive as usize, arch));
                }
                Action::Done(Verdict::NotFound(reason)) => {
                    // The binary's own link is of interest only now.
                    if linked.get().is_none()
                        && let Some(file) = link_of(binary)
                        && search.follow(linked.get_or_init(|| file).as_os_str().as_encoded_bytes())
                    {
                        continue;
                    }
                    return Err(reason);
                }
            };
            // The outcomes of this loop fit their actions.
            search.handle(outcome).map_err(|_| Reason::Argument)?;
        }
    }

    fn open(&mut self, location: &Location<'_>) -> Outcome {
        let path = maps::path_of(&location.to_vec());
        let mut looked = self.cache.open(&path);
        if matches!(looked, Looked::Missing)
            && let Some(other) = self.lexical(&path)
        {
            looked = self.cache.open(&other);
        }
        let (outcome, opening) = match looked {
            Looked::Archive(cached, reused) => {
                let known = self.opened.iter().position(|other| Arc::ptr_eq(other, &cached));
                let number = known.unwrap_or(self.opened.len());
                let opening = match (known, reused) {
                    (Some(_), _) => Opening::Repeated,
                    (None, true) => Opening::Reused,
                    (None, false) => Opening::Opened,
                };
                if known.is_none() {
                    self.opened.push(cached);
                }
                (Outcome::Opened(u32::try_from(number).unwrap_or(u32::MAX)), opening)
            }
            Looked::Missing => (Outcome::Missing, Opening::Missing),
            // Severe as what is not there: lists name files.
            Looked::NotAFile => (Outcome::Failed(Reason::NoArchive), Opening::NotAFile),
            Looked::Failed(error) => (Outcome::Failed(error.reason()), Opening::Failed(error)),
        };
        self.trail.push(Step::Path { path, origin: location.origin(), outcome: opening });
        outcome
    }

    fn look_up(&mut self, number: usize, fetch: &mut Fetch<'_>) -> Outcome {
        let Some(cached) = self.opened.get(number) else { return Outcome::NoTarget };
        let (outcome, lookup) = if cached.has(&self.target) {
            let entry = cached.archive.entry(&self.key, &self.target);
            match entry.and_then(|entry| fetch(&cached.archive, &entry).map(|()| entry.size)) {
                Ok(size) => {
                    self.size = size;
                    (Outcome::Found, Lookup::Found)
                }
                Err(error) => match error.kind() {
                    ErrorKind::NoBinary | ErrorKind::NoArch { .. } => {
                        (Outcome::Failed(Reason::NoKernel), Lookup::NoKernel)
                    }
                    _ => (Outcome::Failed(error.kernel_reason()), Lookup::Failed(error)),
                },
            }
        } else {
            (Outcome::NoTarget, Lookup::NoTarget)
        };
        let (archive, target) = (cached.path().to_path_buf(), self.target.clone());
        self.trail.push(Step::Kernel { archive, target, outcome: lookup });
        outcome
    }

    /// The path with each `..` behind what is not there taken as text, where the system finds
    /// nothing: a folder that is missing has no parent for it.
    fn lexical(&mut self, path: &Path) -> Option<PathBuf> {
        let parts: Vec<Component<'_>> = path.components().collect();
        let last = parts.iter().rposition(|part| *part == Component::ParentDir)?;
        let folder: PathBuf = parts[..=last].iter().collect();
        let rest: PathBuf = parts[last + 1..].iter().collect();
        let known = self.folders.iter().find(|(known, _)| *known == folder);
        let instead = match known {
            Some((_, instead)) => instead.clone(),
            None => {
                let instead = without_missing(&folder);
                self.folders.push((folder, instead.clone()));
                instead
            }
        };
        Some(instead?.join(rest))
    }
}

/// A folder whose path leads through folders that are not there: those that are, their links
/// resolved, and the rest as text. `None` where the folder itself is there.
fn without_missing(folder: &Path) -> Option<PathBuf> {
    if fs::metadata(folder).is_ok() {
        return None;
    }
    let mut parts = folder.components();
    let mut there = PathBuf::new();
    for part in parts.by_ref() {
        let next = there.join(part);
        if fs::metadata(&next).is_err() {
            there = fs::canonicalize(if there.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &there
            })
            .ok()?;
            there.push(part);
            break;
        }
        there = next;
    }
    for part in parts {
        match part {
            Component::ParentDir => {
                there.pop();
            }
            part => there.push(part),
        }
    }
    Some(there)
}

/// The file that a path's final symbolic link leads to.
fn link_of(path: &Path) -> Option<PathBuf> {
    let meta = fs::symlink_metadata(path).ok()?;
    if !meta.is_symlink() {
        return None;
    }
    fs::canonicalize(path).ok()
}

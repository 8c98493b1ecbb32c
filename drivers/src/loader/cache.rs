//! Archives that a loader has opened, by their canonical paths and by the paths that led to them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::archive::{Archive, Options};
use crate::error::{Error, ErrorKind};
use crate::file::{Stamp, stamp_of};
use crate::many::{Archives, Pooled};

/// An archive that is open, and what it has code for.
#[derive(Debug)]
pub(super) struct Cached {
    pub(super) archive: Archive<Pooled>,
    /// The architectures that lookups may match.
    arches: HashSet<Vec<u8>>,
    stamp: Stamp,
}

impl Cached {
    pub(super) fn has(&self, arch: &[u8]) -> bool {
        self.arches.contains(arch)
    }

    pub(super) fn path(&self) -> &Path {
        // Archives of a set are opened by path.
        self.archive.path().unwrap_or(Path::new(""))
    }
}

/// What came of a path.
#[derive(Debug)]
pub(super) enum Looked {
    /// An archive; `true` where it was open before.
    Archive(Arc<Cached>, bool),
    Missing,
    NotAFile,
    Failed(Error),
}

#[derive(Debug)]
pub(super) struct Cache {
    archives: Archives,
    /// Locked to look or to enter, never while a file is touched.
    known: RwLock<HashMap<PathBuf, Arc<Cached>>>,
}

const OPENING: &str = "opening the archive";

impl Cache {
    pub(super) fn new(options: &Options) -> Cache {
        Cache { archives: Archives::new(options), known: RwLock::default() }
    }

    /// How many archives are open.
    pub(super) fn len(&self) -> usize {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|(path, cached)| *path == cached.path()).count()
    }

    fn known(&self, path: &Path, stamp: Stamp) -> Option<Arc<Cached>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(path).filter(|cached| cached.stamp == stamp).cloned()
    }

    /// The archive at `path`: one that is open and whose file is still the same, or a new one.
    pub(super) fn open(&self, path: &Path) -> Looked {
        let failed = |error| Looked::Failed(Error::io(error, OPENING).with_path(Some(path)));
        let meta = match fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) if is_missing(&error) => return Looked::Missing,
            Err(error) => return failed(error),
        };
        if !meta.is_file() {
            return Looked::NotAFile;
        }
        let stamp = stamp_of(&meta);
        if let Some(cached) = self.known(path, stamp) {
            return Looked::Archive(cached, true);
        }
        let canonical = match fs::canonicalize(path) {
            Ok(canonical) => canonical,
            Err(error) if is_missing(&error) => return Looked::Missing,
            Err(error) => return failed(error),
        };
        if let Some(cached) = self.known(&canonical, stamp) {
            return Looked::Archive(self.enter(path, &canonical, cached), true);
        }
        let archive = match self.archives.open(&canonical) {
            Ok(archive) => archive,
            Err(error) => match error.kind() {
                ErrorKind::Io(error) if is_missing(error) => return Looked::Missing,
                _ => return Looked::Failed(error),
            },
        };
        let arches = archive.toc().arches().into_iter().map(<[u8]>::to_vec).collect();
        let stamp = archive.source().opened();
        let cached = Arc::new(Cached { archive, arches, stamp });
        Looked::Archive(self.enter(path, &canonical, cached), false)
    }

    /// Enters an archive under both paths, unless another thread was faster to open it: then
    /// that thread's.
    fn enter(&self, path: &Path, canonical: &Path, cached: Arc<Cached>) -> Arc<Cached> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let first = match known.get(canonical) {
            Some(there) if there.stamp == cached.stamp => Arc::clone(there),
            _ => {
                known.insert(canonical.to_path_buf(), Arc::clone(&cached));
                cached
            }
        };
        if path != canonical {
            known.insert(path.to_path_buf(), Arc::clone(&first));
        }
        first
    }
}

/// There is no such file, or there can be none: the name is too long or holds a NUL.
pub(super) fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput)
}

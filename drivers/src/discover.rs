//! The models of a folder: every GGUF file, shards of one model as one, and a reason for each
//! that cannot be read.
//!
//! ```no_run
//! use rocload::discover::{Options, discover};
//!
//! for found in discover("models", &Options { recursive: true, ..Options::default() })? {
//!     match found {
//!         Ok(model) => println!("{} {}", model.path.display(), model.facts.verdict().is_whole()),
//!         Err(error) => eprintln!("{error}"),
//!     }
//! }
//! # Ok::<(), rocload::Error>(())
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};
use crate::model::{self, Facts, Set, shard_name};
#[cfg(feature = "blocking")]
use crate::model::{Gathering, Model};

/// What is looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Folders in the folder too.
    pub recursive: bool,
    /// Symbolic links to folders are followed, each folder once. Links to files always are.
    pub follow_links: bool,
    /// Files and folders whose names begin with a dot too.
    pub hidden: bool,
    /// How each model is read.
    pub model: model::Options,
}

/// A model that was found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// Its file; of several that could be read the first.
    pub path: PathBuf,
    /// What is known of that file.
    pub facts: Facts,
    /// The set of files, where there is more than one.
    pub set: Option<Set>,
}

impl Found {
    pub(crate) fn alone(path: PathBuf, facts: Facts) -> Found {
        Found { path, facts, set: None }
    }

    /// Bytes of all its files that could be read.
    pub fn size(&self) -> u64 {
        self.set.as_ref().map_or(self.facts.total().unwrap_or(0), |set| set.size)
    }

    /// Bytes of the tensors in them.
    pub fn weights(&self) -> u64 {
        self.set.as_ref().map_or(self.facts.summary().data_bytes(), |set| set.weights)
    }
}

/// What is still to be opened, in the order of paths.
#[derive(Debug)]
pub(crate) enum Job {
    /// It could not be looked at.
    Fault(Error),
    /// One file.
    File(PathBuf),
    /// The files of a set, by their numbers.
    Set(Vec<PathBuf>),
}

const LISTING: &str = "listing the folder";

fn failed(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Io(error), LISTING).with_path(Some(path))
}

/// Walks a folder; reads no file.
pub(crate) fn walk(folder: &Path, options: &Options) -> Result<VecDeque<Job>, Error> {
    let mut jobs: BTreeMap<PathBuf, Job> = BTreeMap::new();
    let mut sets: BTreeMap<(PathBuf, Vec<u8>, u32), BTreeMap<u32, PathBuf>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut folders = vec![(folder.to_path_buf(), true)];
    while let Some((folder, first)) = folders.pop() {
        let entries = match list(&folder, &mut seen) {
            Ok(entries) => entries,
            Err(error) if first => return Err(failed(&folder, error)),
            Err(error) => {
                jobs.insert(folder.clone(), Job::Fault(failed(&folder, error)));
                continue;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    jobs.insert(folder.clone(), Job::Fault(failed(&folder, error)));
                    break;
                }
            };
            let (name, path) = (entry.file_name(), entry.path());
            if !options.hidden && name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let link = entry.file_type().is_ok_and(|ty| ty.is_symlink());
            // A link that leads nowhere is found out when it is opened.
            if fs::metadata(&path).is_ok_and(|meta| meta.is_dir()) {
                if options.recursive && (!link || options.follow_links) {
                    folders.push((path, false));
                }
                continue;
            }
            let suffix = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("gguf"));
            if !suffix {
                continue;
            }
            match shard_name(&path).filter(|shard| shard.count > 1) {
                Some(shard) => {
                    let key = (folder.clone(), shard.prefix.to_vec(), shard.count);
                    sets.entry(key).or_default().insert(shard.number, path.clone());
                }
                None => {
                    jobs.insert(path.clone(), Job::File(path));
                }
            }
        }
    }
    for files in sets.into_values() {
        let files: Vec<PathBuf> = files.into_values().collect();
        jobs.insert(files[0].clone(), Job::Set(files));
    }
    Ok(jobs.into_values().collect())
}

/// The entries of a folder; none when it was listed already.
fn list(
    folder: &Path,
    seen: &mut BTreeSet<(u64, u64)>,
) -> io::Result<Vec<io::Result<fs::DirEntry>>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let meta = fs::metadata(folder)?;
        if !seen.insert((meta.dev(), meta.ino())) {
            return Ok(Vec::new());
        }
    }
    #[cfg(not(unix))]
    let _ = seen;
    Ok(fs::read_dir(folder)?.collect())
}

/// What opening the files of a set came to.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    first: Option<(PathBuf, Facts)>,
}

impl Opened {
    /// The facts of a file that could be read; the first are kept.
    pub(crate) fn keep(&mut self, path: &Path, facts: &Facts) {
        if self.first.is_none() {
            self.first = Some((path.to_path_buf(), facts.clone()));
        }
    }

    /// The model, or where no file could be read, the reasons.
    pub(crate) fn found(self, set: Set, jobs: &mut VecDeque<Job>) -> Option<Found> {
        if let Some((path, facts)) = self.first {
            return Some(Found { path, facts, set: Some(set) });
        }
        for (_, fault) in set.faults.into_iter().rev() {
            if let model::ShardFault::Unreadable(error) = fault {
                jobs.push_front(Job::Fault(error));
            }
        }
        None
    }
}

/// The models of a folder, each opened when it is asked for.
#[cfg(feature = "blocking")]
#[derive(Debug)]
pub struct Discovery {
    jobs: VecDeque<Job>,
    options: model::Options,
}

/// Looks for models: files whose names end in `.gguf`, in any case. Each that cannot be read is
/// an error among the items, with its path.
///
/// # Errors
/// The system's, when the folder itself cannot be listed.
#[cfg(feature = "blocking")]
pub fn discover(folder: impl AsRef<Path>, options: &Options) -> Result<Discovery, Error> {
    Ok(Discovery { jobs: walk(folder.as_ref(), options)?, options: options.model })
}

#[cfg(feature = "blocking")]
impl Iterator for Discovery {
    type Item = Result<Found, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.jobs.pop_front()? {
                Job::Fault(error) => return Some(Err(error)),
                Job::File(path) => {
                    let opened = Model::open_with(&path, &self.options);
                    return Some(opened.map(|model| Found::alone(path, model.into_facts())));
                }
                Job::Set(files) => {
                    let Some(name) = shard_name(&files[0]) else { continue };
                    let (mut opened, mut gathering) = (Opened::default(), Gathering::new(name));
                    for path in &files {
                        match Model::open_with(path, &self.options) {
                            Ok(model) => {
                                opened.keep(path, model.facts());
                                gathering.add(path, Ok(model.facts()));
                            }
                            Err(error) => gathering.add(path, Err(error)),
                        }
                    }
                    if let Some(found) = opened.found(gathering.finish(), &mut self.jobs) {
                        return Some(Ok(found));
                    }
                }
            }
        }
    }
}

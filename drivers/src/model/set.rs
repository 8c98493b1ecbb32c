//! The other files of a split model: found by name, opened, checked against one another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rocload_core::gguf::split::{self, Fault, ShardName};

use super::{Facts, shard_name};
#[cfg(feature = "blocking")]
use super::{Model, Options};
use crate::error::Error;

/// What is wrong with one file of a set.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShardFault {
    /// It cannot be read.
    Unreadable(Error),
    /// Its name and keys do not agree with one another or with the other files.
    Disagrees(Fault),
    /// Its tensor data is incomplete by so many bytes.
    Short(u64),
}

/// A set of shards.
#[derive(Debug)]
#[non_exhaustive]
pub struct Set {
    /// How many files it should have.
    pub count: u32,
    /// Those that are there, by their numbers.
    pub files: Vec<PathBuf>,
    /// Numbers, from 1, of those that are not.
    pub missing: Vec<u32>,
    /// What is wrong with files that are there.
    pub faults: Vec<(PathBuf, ShardFault)>,
    /// What is wrong with the set as a whole.
    pub fault: Option<Fault>,
    /// Bytes of the files that could be read.
    pub size: u64,
    /// Bytes of the tensors in them.
    pub weights: u64,
}

impl Set {
    /// All files are there and agree.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.faults.is_empty() && self.fault.is_none()
    }
}

/// A set as its files are opened, one after the other, by any driver.
#[derive(Debug)]
pub(crate) struct Gathering {
    prefix: Vec<u8>,
    set: Set,
    /// Without the prefix, which is compared here; `None` = more shards than there can be.
    check: Option<split::Set<'static, Vec<u8>>>,
    /// Numbers of the files that are there and were not taken in.
    unread: BTreeSet<u32>,
    /// Hashes of tensors' names, and the shard that each stands in. Two different names of one
    /// set that share a hash would be called the same: among 2^20 the odds are 1 to 2^25.
    names: HashMap<u64, u32>,
}

/// Tensors of a set that are looked at; as many as one file may have.
const MAX_TENSORS: u32 = 1 << 20;

impl Gathering {
    /// Begins with the name of any file of the set.
    pub(crate) fn new(name: ShardName<'_>) -> Gathering {
        Gathering {
            prefix: name.prefix.to_vec(),
            set: Set {
                count: name.count,
                files: Vec::new(),
                missing: Vec::new(),
                faults: Vec::new(),
                fault: None,
                size: 0,
                weights: 0,
            },
            check: split::Set::new(blank(name), Vec::new()).ok(),
            unread: BTreeSet::new(),
            names: HashMap::new(),
        }
    }

    /// Takes a file in: how opening it ended.
    pub(crate) fn add(&mut self, path: &Path, opened: Result<&Facts, Error>) {
        let Some(name) = shard_name(path).filter(|name| name.prefix == self.prefix) else { return };
        self.set.files.push(path.to_path_buf());
        let facts = match opened {
            Ok(facts) => facts,
            Err(error) => {
                self.unread.insert(name.number);
                self.set.faults.push((path.to_path_buf(), ShardFault::Unreadable(error)));
                return;
            }
        };
        self.set.size = self.set.size.saturating_add(facts.total().unwrap_or(0));
        self.set.weights = self.set.weights.saturating_add(facts.summary().data_bytes());
        if let Some(check) = &mut self.check
            && let Err(fault) = check.add(blank(name), &facts.shard())
        {
            self.unread.insert(name.number);
            self.set.faults.push((path.to_path_buf(), ShardFault::Disagrees(fault)));
        }
        if let Some(fault) = self.repeated(name.number, facts.names()) {
            self.set.faults.push((path.to_path_buf(), ShardFault::Disagrees(fault)));
        }
        if let Some(missing @ 1..) = facts.verdict().missing {
            self.set.faults.push((path.to_path_buf(), ShardFault::Short(missing)));
        }
    }

    /// Whether a shard has the name of a tensor in a shard before.
    fn repeated(&mut self, number: u32, names: &[u64]) -> Option<Fault> {
        for (tensor, &name) in (0..).zip(names) {
            if let Some(&shard) = self.names.get(&name) {
                return Some(Fault::TensorTwice { tensor, shard });
            }
            if self.names.len() >= MAX_TENSORS as usize {
                return Some(Fault::TooManyTensors { limit: MAX_TENSORS });
            }
            self.names.insert(name, number);
        }
        None
    }

    pub(crate) fn finish(mut self) -> Set {
        if let Some(check) = &self.check {
            let there = |number: &u32| !self.unread.contains(number);
            self.set.missing = check.missing().filter(there).collect();
            self.set.fault = check.finish().err();
        }
        self.set
    }
}

/// The same numbers without the borrowed prefix.
fn blank(name: ShardName<'_>) -> ShardName<'static> {
    ShardName { prefix: b"", number: name.number, count: name.count }
}

/// The files of a shard's set that are in its folder, by their numbers, itself among them; `None`
/// when `path` is not named as a shard, or alone in its set.
///
/// # Errors
/// The system's, of listing the folder.
pub(crate) fn siblings(path: &Path) -> std::io::Result<Option<BTreeMap<u32, PathBuf>>> {
    let Some(name) = shard_name(path).filter(|name| name.count > 1) else { return Ok(None) };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut found = BTreeMap::from([(name.number, path.to_path_buf())]);
    for entry in std::fs::read_dir(folder)? {
        let file: OsString = entry?.file_name();
        if let Some(other) = ShardName::parse(file.as_encoded_bytes())
            && other.same_set(name)
        {
            found.entry(other.number).or_insert_with(|| path.with_file_name(&file));
        }
    }
    Ok(Some(found))
}

/// Opens and checks the whole set that the file at `path` is named as a shard of; `None` when it
/// is not, or is alone in it.
///
/// # Errors
/// The system's, of listing the folder. What is wrong with a file is in the [`Set`].
#[cfg(feature = "blocking")]
pub fn set(path: &Path, options: &Options) -> Result<Option<Set>, Error> {
    let (Some(name), Some(files)) = (shard_name(path), listed(path)?) else { return Ok(None) };
    let mut gathering = Gathering::new(name);
    for path in files.values() {
        match Model::open_with(path, options) {
            Ok(model) => gathering.add(path, Ok(model.facts())),
            Err(error) => gathering.add(path, Err(error)),
        }
    }
    Ok(Some(gathering.finish()))
}

pub(crate) fn listed(path: &Path) -> Result<Option<BTreeMap<u32, PathBuf>>, Error> {
    siblings(path).map_err(|error| {
        let kind = crate::error::ErrorKind::Io(error);
        Error::new(kind, "looking for the other shards").with_path(Some(path))
    })
}

//! Where a scan reads: this machine, a folder that looks like one, or one in a JSON file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocload_core::gpu::ask::{Ask, Refusal};
use rocload_core::gpu::number::MAX_FILE;
use rocload_core::llama::json::{self, Value};
use rustix::fs::{Access, AtFlags, Dir, FileType, Mode, OFlags, accessat, fstat, openat};
use rustix::io::Errno;

use super::Fault;
use crate::error::{Error, ErrorKind};

/// The most bytes of a JSON machine.
const MAX_MACHINE: u64 = 16 << 20;
/// The most names of one folder.
const MAX_NAMES: usize = 1 << 14;

/// The root of a tree with `sys`, `proc` and `dev`. Clones share it.
///
/// ```
/// use rocload::gpu::{SysRoot, scan};
///
/// let machine = br#"{"files": {"sys/class/kfd/kfd/topology/nodes/0/gpu_id": "0\n"}}"#;
/// let gpus = scan(&SysRoot::from_json(machine)?)?;
/// assert!(gpus.gpus().is_empty());
/// # Ok::<(), rocload::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SysRoot(Arc<Root>);

#[derive(Debug)]
enum Root {
    Folder(PathBuf, OwnedFd),
    Tree(Tree),
}

impl SysRoot {
    /// This machine.
    ///
    /// # Errors
    /// The system's, when `/` cannot be opened.
    pub fn host() -> Result<SysRoot, Error> {
        SysRoot::open("/")
    }

    /// A folder as it is, or the machine in a JSON file: see [`from_json`](Self::from_json).
    ///
    /// # Errors
    /// The system's, and those of `from_json`.
    pub fn open(path: impl AsRef<Path>) -> Result<SysRoot, Error> {
        let path = path.as_ref();
        let failed = |error| Error::io(error, "opening the machine").with_path(Some(path));
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(rustix::fs::CWD, path, flags, Mode::empty())
            .map_err(|errno| failed(errno.into()))?;
        let stat = fstat(&fd).map_err(|errno| failed(errno.into()))?;
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            return Ok(SysRoot(Arc::new(Root::Folder(path.to_path_buf(), fd))));
        }
        let mut bytes = Vec::new();
        let mut file = File::from(fd).take(MAX_MACHINE + 1);
        file.read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_MACHINE {
            let fault = ErrorKind::Gpu(Fault::TooLong { limit: MAX_MACHINE });
            return Err(Error::new(fault, "reading the machine").with_path(Some(path)));
        }
        SysRoot::from_json(&bytes).map_err(|error| error.with_path(Some(path)))
    }

    /// A machine in JSON: `files`, an object of paths and contents; `empty_dirs`, paths of folders
    /// that have no file; and `denied`, paths that this process may not open. Paths are without a
    /// slash in front, as `sys/class/drm/card0/device/vendor`.
    ///
    /// # Errors
    /// [`ErrorKind::Format`] where it is no JSON, [`Fault::NoFiles`] where it has no `files`.
    pub fn from_json(bytes: &[u8]) -> Result<SysRoot, Error> {
        const DOING: &str = "reading the machine";
        let value = json::check(bytes, 0, &rocload_core::Limits::default())
            .map_err(|error| Error::new(ErrorKind::Format(error), DOING))?;
        let tree =
            Tree::new(value).ok_or_else(|| Error::new(ErrorKind::Gpu(Fault::NoFiles), DOING))?;
        Ok(SysRoot(Arc::new(Root::Tree(tree))))
    }

    /// The folder; `None` of a JSON machine.
    pub fn path(&self) -> Option<&Path> {
        match &*self.0 {
            Root::Folder(path, _) => Some(path),
            Root::Tree(_) => None,
        }
    }

    /// It is this machine.
    pub fn is_host(&self) -> bool {
        self.path() == Some(Path::new("/"))
    }

    /// Answers a scan's question; names of a folder go to `entry`. `buffer` is for the path and the
    /// content.
    pub(super) fn answer<'b>(
        &'b self,
        ask: Ask,
        buffer: &'b mut Buffer,
        mut entry: impl FnMut(&[u8]),
    ) -> Result<&'b [u8], Refusal> {
        buffer.path.clear();
        // A string takes everything.
        let _ = write!(buffer.path, "{ask}");
        let path = buffer.path.as_str();
        let dir = match &*self.0 {
            Root::Folder(_, dir) => dir,
            Root::Tree(tree) => return tree.answer(ask, path, entry),
        };
        let open = |flags: OFlags| {
            let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            openat(dir, path, flags, Mode::empty()).map_err(refusal)
        };
        match ask {
            Ask::List(_) => {
                let fd = open(OFlags::RDONLY | OFlags::DIRECTORY)?;
                for found in Dir::new(fd).map_err(refusal)?.take(MAX_NAMES) {
                    entry(found.map_err(refusal)?.file_name().to_bytes());
                }
                Ok(b"")
            }
            Ask::Read(_) => {
                let fd = open(OFlags::RDONLY)?;
                let mut len = 0;
                while len < MAX_FILE {
                    match rustix::io::read(&fd, &mut buffer.bytes[len..]) {
                        Ok(0) => break,
                        Ok(n) => len += n,
                        Err(Errno::INTR) => {}
                        Err(errno) => return Err(refusal(errno)),
                    }
                }
                Ok(&buffer.bytes[..len])
            }
            Ask::Open(_) => open(OFlags::RDWR).map(|_| &b""[..]),
            // Opening would wake the card.
            Ask::Permission(_) => {
                let access = Access::READ_OK | Access::WRITE_OK;
                accessat(dir, path, access, AtFlags::EACCESS).map_err(refusal)?;
                Ok(b"")
            }
        }
    }
}

fn refusal(errno: Errno) -> Refusal {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::NXIO | Errno::NODEV => Refusal::Missing,
        Errno::ACCESS | Errno::PERM => Refusal::Denied,
        _ => Refusal::Failed,
    }
}

/// Memory for questions and answers.
#[derive(Debug)]
pub(super) struct Buffer {
    path: String,
    bytes: [u8; MAX_FILE],
}

impl Buffer {
    pub(super) fn new() -> Buffer {
        Buffer { path: String::with_capacity(96), bytes: [0; MAX_FILE] }
    }
}

/// A machine in memory.
#[derive(Debug, Default)]
struct Tree {
    files: BTreeMap<String, Vec<u8>>,
    folders: BTreeMap<String, BTreeSet<String>>,
    denied: BTreeSet<String>,
}

impl Tree {
    fn new(machine: Value<'_>) -> Option<Tree> {
        let files = machine.get("files").filter(|files| files.is_object())?;
        let mut tree = Tree::default();
        for (path, content) in files.members() {
            let Some(content) = content.as_str() else { continue };
            let path = path.to_cow().trim_matches('/').to_owned();
            tree.enter(&path);
            tree.files.insert(path, content.to_cow().into_owned().into_bytes());
        }
        let strings = |key| {
            let list = machine.get(key).into_iter().flat_map(Value::elements);
            list.filter_map(|path| Some(path.as_str()?.to_cow().trim_matches('/').to_owned()))
        };
        for path in strings("empty_dirs") {
            tree.enter(&path);
            tree.folders.entry(path).or_default();
        }
        tree.denied = strings("denied").collect();
        Some(tree)
    }

    /// Enters a path in the folders above it.
    fn enter(&mut self, path: &str) {
        let mut path = path;
        // Longer paths than any that is asked for need not be found.
        for _ in 0..16 {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            if !self.folders.entry(folder.to_owned()).or_default().insert(name.to_owned()) {
                return;
            }
            if folder.is_empty() {
                return;
            }
            path = folder;
        }
    }

    fn answer(&self, ask: Ask, path: &str, mut entry: impl FnMut(&[u8])) -> Result<&[u8], Refusal> {
        if self.denied.contains(path) {
            return Err(Refusal::Denied);
        }
        match ask {
            Ask::List(_) => {
                let names = self.folders.get(path).ok_or(Refusal::Missing)?;
                names.iter().take(MAX_NAMES).for_each(|name| entry(name.as_bytes()));
                Ok(b"")
            }
            Ask::Read(_) => {
                let bytes = self.files.get(path).ok_or(Refusal::Missing)?;
                Ok(&bytes[..bytes.len().min(MAX_FILE)])
            }
            Ask::Open(_) | Ask::Permission(_) => match self.files.contains_key(path) {
                true => Ok(b""),
                false => Err(Refusal::Missing),
            },
        }
    }
}

//! The loader as C programs see it: a cache of archives, and the file behind an address.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rocload::loader::{Environment, Found, LoadError, Loader, Request, discover_binary_path};
use rocload::{ErrorKind, Limits, core};

use crate::archive::options;
use crate::code::{self, Code, Failure};
use crate::memory::{Memory, Slot};

/// A loader, with the environment of the moment it was made.
#[derive(Debug)]
pub struct Cache {
    loader: Loader,
}

/// A code object that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The binary's path.
    pub binary: &'a [u8],
    /// The number of the code object in it.
    pub co_index: u32,
    /// Names of ISAs, the best one first.
    pub arches: &'a [&'a [u8]],
}

impl Default for Cache {
    fn default() -> Self {
        Cache::new()
    }
}

impl Cache {
    /// A cache without archives.
    pub fn new() -> Cache {
        Cache { loader: Loader::new(&options(), Environment::from_process()) }
    }

    /// The caps that it keeps to.
    pub fn limits(&self) -> Limits {
        options().limits
    }

    /// Whether a reference is worth a look.
    pub fn is_on(&self) -> bool {
        !self.loader.environment().disable
    }

    /// The code object that a reference stands for, in memory of `malloc`'s, and its size in bytes.
    /// A reference that could not be measured is an error beside those of the call, which come first.
    ///
    /// # Errors
    /// The most severe of the search's reasons.
    pub fn load(
        &self,
        reference: Result<&[u8], core::Error>,
        wanted: &Wanted<'_>,
    ) -> Result<(Memory, usize), Failure> {
        let binary = Path::new(OsStr::from_bytes(wanted.binary));
        let bytes = reference.unwrap_or_default();
        let request = Request::new(bytes, binary, wanted.co_index, wanted.arches);
        let mut memory = Slot::default();
        let result = self.loader.load_in(&request, &mut memory);
        if self.loader.environment().debug {
            tell(binary, &result, reference.err());
        }
        match (result, memory.take()) {
            (Ok(found), Some(memory)) => Ok((memory, found.size() as usize)),
            // A kernel that was found has been asked room for.
            (Ok(_), None) => Err(Code::OutOfMemory.into()),
            (Err(error), _) => Err(code::loading(error.reason())),
        }
    }
}

/// Tells a search on stderr, all of it in one piece.
fn tell(binary: &Path, result: &Result<Found, LoadError>, unmeasured: Option<core::Error>) {
    let printable = rocload::error::printable;
    let path = |path: &Path| printable(path.as_os_str().as_bytes());
    let trail = match result {
        Ok(found) => found.trail(),
        Err(error) => error.trail(),
    };
    let mut lines = vec![format!("code object for {}", path(binary))];
    lines.extend(trail.iter().map(ToString::to_string));
    match result {
        Ok(found) => {
            let (key, target) = (printable(found.key()), printable(found.target()));
            let size = found.size();
            lines.push(format!("{key} for {target}: {size} bytes of {}", path(found.path())));
        }
        Err(error) => {
            let key = printable(error.key());
            let targets = error.targets().join(", ");
            lines.push(match (unmeasured, key.is_empty()) {
                (Some(cause), _) => format!("{}: {cause}", error.reason()),
                (None, true) => error.to_string(),
                (None, false) => format!("{key} for {targets}: {}", error.reason()),
            });
        }
    }
    let text: String = lines.iter().map(|line| format!("kpack: {line}\n")).collect();
    // A closed stderr is nobody's concern.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The file that an address is mapped from, and the address's offset in it.
///
/// # Errors
/// [`Code::PathDiscoveryFailed`] where no file is mapped; the system's refusal.
pub fn discover(address: usize) -> Result<(Vec<u8>, usize), Failure> {
    match discover_binary_path(address) {
        Ok(Some(mapping)) => {
            let offset = usize::try_from(mapping.offset).map_err(|_| Code::PathDiscoveryFailed)?;
            Ok((mapping.path.into_os_string().into_encoded_bytes(), offset))
        }
        Ok(None) => Err(Code::PathDiscoveryFailed.into()),
        Err(error) => match error.kind() {
            ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Code::NotImplemented.into())
            }
            _ => Err(code::opening(&error)),
        },
    }
}

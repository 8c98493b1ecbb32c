//! Finding llama-server on this machine.
//!
//! In this order: a path that is given, the variables [`VARIABLES`], `PATH`, and the user's cache,
//! where `rocload server install` puts one. A path that is named and wrong is an error: another
//! server is never taken in its place.
//!
//! ```
//! use rocload::serve::find::{Fault, Origin, Places, Wrong};
//!
//! let mut places = Places::none();
//! assert!(matches!(places.find(), Err(Fault::Nowhere { .. })));
//! places.variables = vec![("ROCLOAD_LLAMA_SERVER", Some("/nonexistent/llama-server".into()))];
//! let Err(Fault::Named { origin, wrong, .. }) = places.find() else { panic!() };
//! assert_eq!((origin, wrong), (Origin::Variable("ROCLOAD_LLAMA_SERVER"), Wrong::Absent));
//! ```

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::printable;

/// The program's name.
pub const PROGRAM: &str = "llama-server";
/// Variables that name the program, the first of them first.
pub const VARIABLES: [&str; 2] = ["ROCLOAD_LLAMA_SERVER", "ROCM_LLAMA_SERVER_PATH"];
/// The launcher of a server inside of a Python package, in a folder of the cache.
pub const LAUNCHER: &str = "llama-launcher";

/// Why a program was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// It was given.
    Given,
    /// This variable names it.
    Variable(&'static str),
    /// It is in a folder of `PATH`.
    Path,
    /// It is in the user's cache.
    Cache,
}

impl Origin {
    /// A stable name, as `path`.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Given => "given",
            Origin::Variable(_) => "variable",
            Origin::Path => "path",
            Origin::Cache => "cache",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Given => f.write_str("it was given"),
            Origin::Variable(name) => write!(f, "{name} names it"),
            Origin::Path => f.write_str("it is the first in PATH"),
            Origin::Cache => f.write_str("it was installed in the cache"),
        }
    }
}

/// A program that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Its path.
    pub program: PathBuf,
    /// Why it is the one.
    pub origin: Origin,
}

/// What is wrong with a path that was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wrong {
    /// Nothing is there.
    Absent,
    /// It is a folder, or another thing that is no file.
    NoFile,
    /// It may not be run.
    NotExecutable,
    /// It cannot be looked at.
    Unreadable,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wrong::Absent => "not found",
            Wrong::NoFile => "it is no file",
            Wrong::NotExecutable => "it is not executable",
            Wrong::Unreadable => "it cannot be looked at",
        })
    }
}

/// Why there is no server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The path that was named is no program.
    Named {
        /// By whom.
        origin: Origin,
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        wrong: Wrong,
    },
    /// There is none in any place.
    Nowhere {
        /// The cache that was looked through, if there is a place for one.
        cache: Option<PathBuf>,
    },
}

impl Fault {
    /// What to do about it.
    pub const fn advice(&self) -> &'static str {
        match self {
            Fault::Named { origin: Origin::Variable(_), .. } => "correct the variable, or unset it",
            Fault::Named { .. } => "check the path",
            Fault::Nowhere { .. } => {
                "`rocload server install` gets one for the cpu; ROCLOAD_LLAMA_SERVER names your own"
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Named { origin, path, wrong } => {
                let path = printable(path.as_os_str().as_encoded_bytes());
                match origin {
                    Origin::Variable(name) => write!(f, "{name} is {path}: {wrong}"),
                    _ => write!(f, "{path}: {wrong}"),
                }
            }
            Fault::Nowhere { .. } => {
                write!(f, "no {PROGRAM} is found: not by a variable, in PATH, or in the cache")
            }
        }
    }
}

impl std::error::Error for Fault {}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Places {
    /// A path that counts before all else.
    pub given: Option<PathBuf>,
    /// Variables with their values; unset and empty ones do not count.
    pub variables: Vec<(&'static str, Option<OsString>)>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
    /// The folder of installed servers.
    pub cache: Option<PathBuf>,
}

impl Places {
    /// Nowhere.
    pub fn none() -> Places {
        Places::default()
    }

    /// Those of this process.
    pub fn here() -> Places {
        Places {
            given: None,
            variables: VARIABLES.into_iter().map(|name| (name, env::var_os(name))).collect(),
            path: env::var_os("PATH"),
            cache: cache_folder(),
        }
    }

    /// A path that counts before all else.
    #[must_use]
    pub fn given(mut self, path: Option<PathBuf>) -> Places {
        self.given = path;
        self
    }

    /// The server to use.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn find(&self) -> Result<Found, Fault> {
        let named = |program: PathBuf, origin: Origin| match judge(&program) {
            Ok(()) => Ok(Found { program, origin }),
            Err(wrong) => Err(Fault::Named { origin, path: program, wrong }),
        };
        if let Some(path) = &self.given {
            return named(path.clone(), Origin::Given);
        }
        for (name, value) in &self.variables {
            if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
                return named(value.into(), Origin::Variable(name));
            }
        }
        // An empty entry is the working folder, where anybody may have put something.
        let folders = self.path.iter().flat_map(env::split_paths);
        let in_path = folders
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(PROGRAM))
            .find(|program| judge(program).is_ok());
        if let Some(program) = in_path {
            return Ok(Found { program, origin: Origin::Path });
        }
        let cached = self.cache.as_deref().and_then(|cache| installed(cache).into_iter().next());
        match cached {
            Some(program) => Ok(Found { program, origin: Origin::Cache }),
            None => Err(Fault::Nowhere { cache: self.cache.clone() }),
        }
    }
}

/// The server to use on this machine; `given` counts before all else.
///
/// # Errors
/// [`Fault`].
pub fn find(given: Option<&Path>) -> Result<Found, Fault> {
    Places::here().given(given.map(Path::to_path_buf)).find()
}

/// Where servers are installed for this user: `servers` in `$ROCLOAD_CACHE`, else in
/// `$XDG_CACHE_HOME/rocload` or `~/.cache/rocload`.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("ROCLOAD_CACHE").or_else(|| {
        let base = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let base = base.or_else(|| set("HOME").map(|home| home.join(".cache")));
        base.map(|base| base.join("rocload"))
    });
    cache.map(|cache| cache.join("servers"))
}

/// Whether a path is a program.
fn judge(path: &Path) -> Result<(), Wrong> {
    use rustix::fs::{Access, access};
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Wrong::Absent,
        _ => Wrong::Unreadable,
    })?;
    if !metadata.is_file() {
        return Err(Wrong::NoFile);
    }
    access(path, Access::EXEC_OK).map_err(|_| Wrong::NotExecutable)
}

/// The servers of a cache that this machine can run, the best first: a true llama-server before
/// a launcher, then by version.
pub fn installed(cache: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(cache) else { return Vec::new() };
    let mut found: Vec<(bool, Vec<u64>, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str()?;
            let (whole, version, program) = match name.strip_prefix("llama-server-") {
                Some(rest) => (true, rest, PROGRAM),
                None => (false, name.strip_prefix("xllamacpp-")?, LAUNCHER),
            };
            let program = entry.path().join(program);
            let runs = if whole {
                is_for_this_cpu(version)
            } else {
                // The Python that it was installed for may be gone.
                entry.path().join("venv/bin/python").exists()
            };
            (runs && judge(&program).is_ok()).then(|| (whole, numbers(version), program))
        })
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(.., program)| program).collect()
}

/// The numbers of a version, as far as its first part goes.
fn numbers(version: &str) -> Vec<u64> {
    let version = version.split('-').next().unwrap_or_default();
    version.split('.').map_while(|number| number.parse().ok()).collect()
}

/// Whether a build, named as `VERSION-CPU-RECIPE`, is for the processor of this machine.
fn is_for_this_cpu(name: &str) -> bool {
    let Some(cpu) = name.split('-').nth(1) else { return false };
    let avx2 = name.split('-').nth(2) == Some("avx2");
    cpu == env::consts::ARCH && (!avx2 || has_avx2())
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi2") && has!("f16c") && has!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn put(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn places(root: &Path) -> Places {
        let (one, other) = (root.join("one"), root.join("other"));
        Places {
            given: None,
            variables: vec![("A", None), ("B", None)],
            path: Some(env::join_paths([Path::new(""), &one, &other]).unwrap()),
            cache: Some(root.join("cache")),
        }
    }

    #[test]
    fn the_order_of_places() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let mut places = places(root.path());
        let expect = |places: &Places, program: &str, origin| {
            assert_eq!(places.find(), Ok(Found { program: at(program), origin }));
        };
        let arch = env::consts::ARCH;
        put(&at("cache/xllamacpp-2026.1.2-py3.11/venv/bin/python"), 0o755);
        put(&at("cache/xllamacpp-2026.1.2-py3.11/llama-launcher"), 0o755);
        expect(&places, "cache/xllamacpp-2026.1.2-py3.11/llama-launcher", Origin::Cache);
        for version in ["9.9.9", "11434.0.0", "999.1.0"] {
            put(&at(&format!("cache/llama-server-{version}-{arch}-5eed/llama-server")), 0o755);
        }
        put(&at("cache/llama-server-99999.0.0-z80-5eed/llama-server"), 0o755);
        let newest = format!("cache/llama-server-11434.0.0-{arch}-5eed/llama-server");
        expect(&places, &newest, Origin::Cache);
        put(&at("one/llama-server"), 0o644);
        put(&at("other/llama-server"), 0o755);
        expect(&places, "other/llama-server", Origin::Path);
        put(&at("b"), 0o755);
        places.variables = vec![("A", Some("".into())), ("B", Some(at("b").into()))];
        expect(&places, "b", Origin::Variable("B"));
        put(&at("a"), 0o755);
        places.variables[0].1 = Some(at("a").into());
        expect(&places, "a", Origin::Variable("A"));
        put(&at("given"), 0o755);
        expect(&places.given(Some(at("given"))), "given", Origin::Given);
    }

    #[test]
    fn a_wrong_name_is_an_error_and_nothing_else_is_taken() {
        let root = tempfile::tempdir().unwrap();
        put(&root.path().join("one/llama-server"), 0o755);
        put(&root.path().join("plain"), 0o644);
        fs::create_dir(root.path().join("folder")).unwrap();
        for (name, wrong) in
            [("absent", Wrong::Absent), ("folder", Wrong::NoFile), ("plain", Wrong::NotExecutable)]
        {
            let mut places = places(root.path());
            let path = root.path().join(name);
            places.variables[1].1 = Some(path.clone().into());
            let fault = Fault::Named { origin: Origin::Variable("B"), path, wrong };
            assert_eq!(places.find(), Err(fault.clone()));
            assert!(fault.to_string().starts_with("B is "), "{fault}");
            assert!(!fault.advice().is_empty());
        }
        let text = Places::none().find().unwrap_err().to_string();
        assert_eq!(text, "no llama-server is found: not by a variable, in PATH, or in the cache");
    }

    #[test]
    fn a_launcher_without_its_python_is_none() {
        let root = tempfile::tempdir().unwrap();
        put(&root.path().join("xllamacpp-2026.1.2-py3.11/llama-launcher"), 0o755);
        assert_eq!(installed(root.path()), Vec::<PathBuf>::new());
        assert_eq!(installed(&root.path().join("absent")), Vec::<PathBuf>::new());
    }
}

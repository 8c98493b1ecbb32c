//! Compiling and running the C programs.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{LazyLock, Mutex};
use std::{env, fs};

/// One of the two interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Library {
    Shipped,
    Documented,
}

pub(crate) const BOTH: [Library; 2] = [Library::Shipped, Library::Documented];

/// What a program is compiled as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    C,
    Cpp,
}

pub(crate) const LANGUAGES: [Language; 2] = [Language::C, Language::Cpp];

/// How the library is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Linking {
    Shared,
    Static,
}

impl Library {
    /// The name of its files without `lib` and suffix, as cargo builds them.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Library::Shipped => "rocm_kpack",
            Library::Documented => "rocm_kpack_documented",
        }
    }

    /// Its headers.
    pub(crate) fn include(self) -> PathBuf {
        package().join(match self {
            Library::Shipped => "include",
            Library::Documented => "documented/include",
        })
    }

    /// A file that cargo has built: beside the tests themselves, since they depend on it. The gate
    /// names a folder with other ones in `ROCLOAD_CAPI_LIBS`.
    pub(crate) fn built(self, suffix: &str) -> PathBuf {
        let tests = env::current_exe().expect("the path of this program");
        let own = tests.parent().expect("a folder").to_path_buf();
        let folder = env::var_os("ROCLOAD_CAPI_LIBS").map_or(own, PathBuf::from);
        let path = folder.join(format!("lib{}.{suffix}", self.name()));
        assert!(path.is_file(), "cargo has not built {}", path.display());
        path
    }

    /// The exported functions.
    pub(crate) fn functions(self) -> &'static [&'static str] {
        match self {
            Library::Shipped => &[
                "kpack_cache_create",
                "kpack_cache_destroy",
                "kpack_close",
                "kpack_discover_binary_path",
                "kpack_enumerate_architectures",
                "kpack_free_code_object",
                "kpack_free_kernel",
                "kpack_get_architecture",
                "kpack_get_architecture_count",
                "kpack_get_binary",
                "kpack_get_binary_count",
                "kpack_get_kernel",
                "kpack_load_code_object",
                "kpack_open",
            ],
            Library::Documented => &[
                "kpack_close",
                "kpack_free_kernel",
                "kpack_free_string_array",
                "kpack_get_architectures",
                "kpack_get_binaries",
                "kpack_get_kernel",
                "kpack_open",
            ],
        }
    }

    /// A folder with the shared library under the names that a program is linked and started by.
    fn folder(self) -> PathBuf {
        let folder = scratch().join(self.name());
        fs::create_dir_all(&folder).unwrap();
        for name in ["librocm_kpack.so", "librocm_kpack.so.0"] {
            let fresh = folder.join(format!("{name}.{}", std::process::id()));
            let _ = fs::remove_file(&fresh);
            symlink(self.built("so"), &fresh).unwrap();
            fs::rename(&fresh, folder.join(name)).unwrap();
        }
        folder
    }
}

/// This package's folder.
pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where programs are compiled to.
pub(crate) fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The program whose name the environment variable holds, else `usual`.
fn tool(variable: &str, usual: &str) -> String {
    env::var(variable).ok().filter(|name| !name.is_empty()).unwrap_or(usual.into())
}

/// Whether a program can be started; if not, a line says what is skipped, or the test fails where
/// everything is to be tested.
pub(crate) fn have(program: &str, test: &str) -> bool {
    let there =
        Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        assert!(env::var_os("ROCLOAD_CAPI_ALL").is_none(), "{test}: no {program}");
        eprintln!("{test}: skipped: no {program}");
    }
    there
}

impl Language {
    pub(crate) fn compiler(self) -> String {
        match self {
            Language::C => tool("CC", "cc"),
            Language::Cpp => tool("CXX", "c++"),
        }
    }

    pub(crate) fn flags(self) -> &'static [&'static str] {
        match self {
            Language::C => &["-x", "c", "-std=c11", "-D_GNU_SOURCE"],
            Language::Cpp => &["-x", "c++", "-std=c++11"],
        }
    }
}

/// Warnings that a careful program turns on, all of them errors.
pub(crate) const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

type Made = (Library, Language, Linking, &'static str);

/// `tests/c/SOURCE` as a program; `None`, and a line that says so, where there is no compiler.
pub(crate) fn program(
    library: Library,
    language: Language,
    linking: Linking,
    source: &'static str,
) -> Option<PathBuf> {
    static PROGRAMS: LazyLock<Mutex<HashMap<Made, PathBuf>>> = LazyLock::new(Mutex::default);
    let compiler = language.compiler();
    if !have(&compiler, source) {
        return None;
    }
    let mut programs = PROGRAMS.lock().unwrap();
    let made = (library, language, linking, source);
    if let Some(path) = programs.get(&made) {
        return Some(path.clone());
    }
    let stem = source.split('.').next().unwrap();
    let name = format!("{stem}-{}-{language:?}-{linking:?}", library.name());
    // Two runs at once must not see halves of each other's programs.
    let fresh = scratch().join(format!("{name}.{}", std::process::id()));
    let mut command = Command::new(&compiler);
    command.args(language.flags()).args(WARNINGS).args(["-g", "-O1", "-pthread"]);
    command.arg("-I").arg(library.include());
    if library == Library::Documented {
        command.arg("-DDOCUMENTED");
    }
    if linking == Linking::Static {
        command.arg("-DROCM_KPACK_STATIC");
    }
    command.arg(package().join("tests/c").join(source)).args(["-x", "none"]);
    match linking {
        Linking::Shared => {
            let folder = library.folder();
            command.arg("-L").arg(&folder).arg("-lrocm_kpack");
            command.arg(format!("-Wl,-rpath,{}", folder.display()));
        }
        Linking::Static => {
            command.arg(library.built("a")).args(STATIC_LIBS);
        }
    }
    succeeds(command.arg("-o").arg(&fresh));
    let path = scratch().join(name);
    fs::rename(&fresh, &path).unwrap();
    programs.insert(made, path.clone());
    Some(path)
}

/// What a program with the archive links besides, as in `pkgconfig/rocm_kpack.pc.in`.
pub(crate) const STATIC_LIBS: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lgcc_s"];

/// Runs a command that must succeed; what it writes is shown when it does not.
pub(crate) fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Runs a program with these arguments, which must succeed; what it wrote to stdout.
pub(crate) fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> Vec<u8> {
    succeeds(clean(&mut Command::new(program)).args(arguments)).stdout
}

/// Without what would change a search.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    let names = ["PATH", "PATH_PREFIX", "DISABLE", "DEBUG"];
    names.iter().for_each(|name| {
        command.env_remove(format!("ROCM_KPACK_{name}"));
    });
    command
}

/// Does something with each kind of program of a source, those of C++ where there is a compiler.
pub(crate) fn each(source: &'static str, work: impl Fn(Library, &Path)) {
    for library in BOTH {
        for language in LANGUAGES {
            for linking in [Linking::Shared, Linking::Static] {
                if let Some(program) = program(library, language, linking, source) {
                    work(library, &program);
                }
            }
        }
    }
}

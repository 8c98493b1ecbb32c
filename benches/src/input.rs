//! The archives that are measured, and the order in which their kernels are asked for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use rocload::{Archive, ReadAt};
use rocload_fixtures::kpack::Scheme;
use rocload_fixtures::large::Large;
use rocload_fixtures::rng::Rng;
use rocload_fixtures::shared_data;

/// Kernels in the large archive.
pub const KERNELS: u32 = 20_000;

/// The archive of [`KERNELS`] kernels, 100 MB raw; made in the target folder at the first call.
///
/// # Panics
/// When it cannot be written.
pub fn large() -> PathBuf {
    made("kernels-20000.kpack", &Large::twenty_thousand())
}

/// An archive of so many kernels of the same kind.
///
/// # Panics
/// When it cannot be written.
pub fn of(kernels: u32) -> PathBuf {
    let plan = Large::new(kernels, 5_000, &["gfx1030"], Scheme::ZstdPerKernel);
    made(&format!("kernels-{kernels}.kpack"), &plan)
}

/// The same kernels in an archive whose table has `frame_offset`, `frame_size` and `sha256`.
///
/// # Panics
/// When it cannot be written.
pub fn placed() -> PathBuf {
    made("kernels-20000-placed.kpack", &Large::twenty_thousand().places())
}

fn made(name: &str, plan: &Large) -> PathBuf {
    let folder = target().join("rocload-benches");
    let path = folder.join(name);
    if !path.is_file() {
        fs::create_dir_all(&folder).expect("the target folder takes a folder");
        plan.write(&path).expect("the target folder takes the archive");
    }
    path
}

/// An archive of many real kernels where this machine has one, else the large one; and its name.
pub fn many() -> (PathBuf, &'static str) {
    let real = shared_data().map(|data| data.join("kpack/b_2000_zstd.kpack"));
    match real.filter(|path| path.is_file()) {
        Some(path) => (path, "2,000 real code objects"),
        None => (large(), "20,000 generated code objects"),
    }
}

/// Where cargo builds: made inputs are kept there.
pub fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
    }
}

/// The names of a kernel, owned.
pub type Key = (String, String);

/// The names of every kernel of an archive, in a random order that is the same in each run.
///
/// # Panics
/// When a name is not UTF-8.
pub fn shuffled<R: ReadAt>(archive: &Archive<R>) -> Vec<Key> {
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).expect("a name in UTF-8");
    let record = |&id: &u32| archive.record_at(id);
    let mut keys: Vec<Key> = archive
        .order()
        .iter()
        .map(record)
        .map(|record| (text(record.binary), text(record.arch)))
        .collect();
    let mut rng = Rng::new(0x0b5e_55ed);
    for at in (1..keys.len()).rev() {
        keys.swap(at, rng.below(at as u64 + 1) as usize);
    }
    // Copies stand in memory in the new order: reading the question must not be the work.
    keys.to_vec()
}

/// The names of the last kernel of the large archive.
pub fn last(plan: &Large) -> Key {
    let ordinal = plan.kernels() - 1;
    (plan.binary(ordinal), plan.arch(ordinal).into())
}

/// As many names that the archive has not: each is one byte longer than one that it has.
pub fn absent(keys: &[Key]) -> Vec<Key> {
    keys.iter().map(|(binary, arch)| (format!("{binary}~"), arch.clone())).collect()
}

/// The user's cache folder, where the gate keeps its servers, too.
pub fn cache() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("ROCLOAD_CACHE").or_else(|| Some(user()?.join("rocload")))
}

//! Both drivers over every kind of source tell the same of an archive: entries, bytes, errors.

use std::num::NonZeroUsize;
use std::path::Path;

use rocload::kpack::Strictness;
use rocload::{Error, Options};
use rocload_fixtures::{bad_archives, compat_archives, good_archives, shared_data_or_skip};

use crate::blocking::Blocking;
use crate::suite::{Driver, hex};
use crate::tokio::Tokio;
use crate::{Bytes, Map, Pool, Pread};

/// All that an error says, but for the path.
fn shown(error: &Error) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        error.kind(),
        error.doing(),
        error.binary(),
        error.arch(),
        error.fault()
    )
}

/// All that an archive tells, line by line.
fn told<D: Driver>(path: &Path, options: &Options) -> Vec<String> {
    let archive = match D::open(path, options) {
        Ok(archive) => archive,
        Err(error) => return vec![shown(&error)],
    };
    let mut lines = vec![format!("{} kernels, {:?}", archive.len(), archive.order())];
    // Before the walk, the first fetch: it may need the walk, or the place in the table.
    let last = archive.order().last().copied();
    let first = last.map(|id| archive.entry_at(id).and_then(|entry| archive.fetch(&entry)));
    lines.extend(first.map(|kernel| outcome(kernel.map(|kernel| hex(&kernel)))));
    lines.push(outcome(archive.walk_frames()));
    let entries = archive.entries();
    lines.extend(entries.iter().map(|entry| match entry {
        Ok(entry) => format!("{entry:?}"),
        Err(error) => shown(error),
    }));
    for entry in entries.iter().flatten() {
        lines.push(outcome(archive.extent(entry)));
        lines.push(outcome(archive.fetch(entry).map(|kernel| hex(&kernel))));
        lines.push(outcome(archive.pieces(entry, false).map(|kernel| hex(&kernel))));
        lines.push(outcome(archive.pieces(entry, true).map(|kernel| hex(&kernel))));
        let mut room = vec![0; (entry.size.min(1 << 20) as usize).saturating_sub(1)];
        let [binary, arch] = [entry.binary, entry.arch].map(|name| str::from_utf8(name).ok());
        if let (Some(binary), Some(arch)) = (binary, arch) {
            lines.push(outcome(archive.kernel_into(binary, arch, &mut room)));
            lines.push(outcome(archive.kernel_cow(binary, arch).map(|kernel| hex(&kernel))));
            lines.push(outcome(archive.kernel(binary, "gfx1")));
        }
    }
    let verdict = archive.verify(NonZeroUsize::new(2).unwrap());
    lines.push(format!("{} are whole", verdict.kernels));
    lines.extend(verdict.errors.iter().map(shown));
    lines
}

fn outcome<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => shown(&error),
    }
}

fn all_alike(path: &Path, options: &Options) {
    let expected = told::<Blocking<Bytes>>(path, options);
    type Told = fn(&Path, &Options) -> Vec<String>;
    let others: [(&str, Told); 7] = [
        ("pread", told::<Blocking<Pread>>),
        ("the mapping", told::<Blocking<Map>>),
        ("a pool", told::<Blocking<Pool>>),
        ("bytes through tokio", told::<Tokio<Bytes>>),
        ("pread through tokio", told::<Tokio<Pread>>),
        ("the mapping through tokio", told::<Tokio<Map>>),
        ("a pool through tokio", told::<Tokio<Pool>>),
    ];
    for (name, other) in others {
        let found = other(path, options);
        let differ = expected.iter().zip(&found).find(|(a, b)| a != b);
        assert!(differ.is_none(), "{}, {name}: {differ:?}", path.display());
        assert_eq!(expected.len(), found.len(), "{}, {name}", path.display());
    }
}

#[test]
fn every_fixture() {
    let mut compat = Options::default();
    compat.strictness = Strictness::Compat;
    let mut count = 0;
    for fixture in good_archives().chain(bad_archives()).chain(compat_archives()) {
        all_alike(&fixture.file(), &Options::default());
        all_alike(&fixture.file(), &compat);
        count += 1;
    }
    assert!(count > 150, "{count}");
}

#[test]
fn the_shared_archives() {
    let Some(data) = shared_data_or_skip("the_shared_archives") else { return };
    for name in ["a_small_none", "a_small_zstd", "e_rocrand_zstd", "b_2000_zstd"] {
        all_alike(&data.join("kpack").join(format!("{name}.kpack")), &Options::default());
    }
}

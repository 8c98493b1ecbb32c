//! Files that change while they are open: an error that says so, never a fault, and never the
//! bytes of another file. What is replaced by renaming, or removed, stays what was opened.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rocload::many::Files;
use rocload::{Error, ErrorKind, FileAt, Limits};
use rocload_fixtures::gguf::Raw;
use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::object::{Ccob, bundle, ccob};
use tempfile::TempDir;

use crate::driver::{Driver, Source};

/// What happens to an open file, whose length is told; another sound one of that length is given.
type Change = (&'static str, fn(&Path, u64, &[u8]));

fn writable(path: &Path) -> File {
    File::options().write(true).open(path).unwrap()
}

/// Writing to it.
const WRITES: [Change; 6] = [
    ("emptied", |path, _, _| writable(path).set_len(0).unwrap()),
    ("cut in the middle", |path, len, _| writable(path).set_len(len / 2).unwrap()),
    ("cut by a byte", |path, len, _| writable(path).set_len(len - 1).unwrap()),
    ("longer", |path, len, _| writable(path).set_len(len + 4096).unwrap()),
    ("another in its place", |path, _, other| {
        fs::write(path, other).unwrap();
        aged(path);
    }),
    ("noise in its place", |path, len, _| {
        fs::write(path, vec![0x5a; len as usize]).unwrap();
        aged(path);
    }),
];

/// Leaving it as it is.
const MOVES: [Change; 3] = [
    ("renamed over", |path, _, other| {
        let new = path.with_extension("new");
        fs::write(&new, other).unwrap();
        fs::rename(new, path).unwrap();
    }),
    ("moved away", |path, _, _| fs::rename(path, path.with_extension("away")).unwrap()),
    ("removed", |path, _, _| fs::remove_file(path).unwrap()),
];

/// Gives it a time of change that differs: the file system's clock may tick too rarely for two
/// writes of a test.
fn aged(path: &Path) {
    writable(path).set_modified(SystemTime::UNIX_EPOCH).unwrap();
}

/// A file of its own.
struct Place(TempDir, Vec<u8>);

impl Place {
    fn new(bytes: Vec<u8>) -> Place {
        let place = Place(tempfile::tempdir().unwrap(), bytes);
        fs::write(place.path(), &place.1).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("file")
    }

    fn change(&self, (_, change): &Change, other: &[u8]) {
        assert_eq!(other.len(), self.1.len(), "alike but for what they say");
        change(&self.path(), self.1.len() as u64, other);
    }
}

#[track_caller]
fn changed<T: std::fmt::Debug>(result: Result<T, Error>, what: &str) {
    match result {
        Err(error) => assert!(matches!(error.kind(), ErrorKind::Changed), "{what}: {error}"),
        Ok(found) => panic!("{what}: {found:?}"),
    }
}

const NAMES: [&str; 3] = ["lib/liba.so#0", "lib/libb.so#0", "lib/libc.so#0"];
const ARCH: &str = "gfx1030";

fn kernel(name: &str, letter: char) -> Vec<u8> {
    let word = format!("{name} {letter} ");
    word.bytes().cycle().take(5000).collect()
}

/// Archives that differ in the bytes of their kernels alone.
fn archive(scheme: Scheme, letter: char) -> Vec<u8> {
    let with = |builder: Builder, name: &&str| builder.kernel(name, ARCH, &kernel(name, letter));
    NAMES.iter().fold(Builder::new(scheme), with).build()
}

const SCHEMES: [Scheme; 2] = [Scheme::None, Scheme::ZstdPerKernel];

/// A source as `Archive::open` has it, and as `Archives` give them.
fn file(path: &Path) -> FileAt {
    FileAt::open(path).unwrap()
}

fn pooled(path: &Path) -> rocload::many::Pooled {
    Files::new(&Limits::default()).open(path).unwrap()
}

pub(crate) fn an_archive_that_is_written_to<D: Driver>(driver: &D) {
    for scheme in SCHEMES {
        for change in &WRITES {
            written_to(driver, file, scheme, change);
            written_to(driver, pooled, scheme, change);
        }
    }
}

fn written_to<D: Driver, R: Source>(
    driver: &D,
    source: fn(&Path) -> R,
    scheme: Scheme,
    change: &Change,
) {
    let what = change.0;
    // With its frames known already, and without.
    for fetched in [false, true] {
        let place = Place::new(archive(scheme, 'x'));
        let open = driver.archive(source(&place.path())).unwrap();
        if fetched {
            assert_eq!(driver.kernel(&open, NAMES[2], ARCH).unwrap(), kernel(NAMES[2], 'x'));
        }
        place.change(change, &archive(scheme, 'y'));
        for name in NAMES {
            changed(driver.kernel(&open, name, ARCH), what);
        }
        let verdict = driver.verify(&open, NonZeroUsize::MIN);
        assert_eq!(verdict.kernels, 0, "{what}");
        assert!(!verdict.is_ok(), "{what}");
        for error in verdict.errors {
            changed::<()>(Err(error), what);
        }
    }
}

pub(crate) fn an_archive_that_is_replaced_or_removed<D: Driver>(driver: &D) {
    for scheme in SCHEMES {
        for change in &MOVES {
            moved(driver, file, scheme, change);
            moved(driver, pooled, scheme, change);
            #[cfg(feature = "mmap")]
            {
                // SAFETY: the file is renamed over, moved or removed, and never written to.
                let mapped = |path: &Path| unsafe { rocload::Mapped::open(path).unwrap() };
                moved(driver, mapped, scheme, change);
            }
        }
    }
}

fn moved<D: Driver, R: Source>(
    driver: &D,
    source: fn(&Path) -> R,
    scheme: Scheme,
    change: &Change,
) {
    let place = Place::new(archive(scheme, 'x'));
    let open = driver.archive(source(&place.path())).unwrap();
    place.change(change, &archive(scheme, 'y'));
    for name in NAMES {
        assert_eq!(driver.kernel(&open, name, ARCH).unwrap(), kernel(name, 'x'), "{}", change.0);
    }
    assert!(driver.verify(&open, NonZeroUsize::MIN).is_ok(), "{}", change.0);
}

/// Bundles that differ in what they hold alone, plain or compressed.
fn bundles(compressed: bool, letter: char) -> Vec<u8> {
    let code = kernel("code", letter);
    let plain = bundle(
        &[("host-x86_64-unknown-linux--", b""), ("hipv4-amdgcn-amd-amdhsa--gfx1030", &code)],
        64,
    );
    if compressed { ccob(Ccob::V3, &plain) } else { plain }
}

pub(crate) fn a_binary_that_is_written_to<D: Driver>(driver: &D) {
    for compressed in [false, true] {
        for change in &WRITES {
            let what = change.0;
            let place = Place::new(bundles(compressed, 'x'));
            let open = driver.binary(file(&place.path())).unwrap();
            let object = driver.objects(&open).unwrap().pop().unwrap();
            assert_eq!(driver.object(&open, &object).unwrap(), kernel("code", 'x'));
            place.change(change, &bundles(compressed, 'y'));
            changed(driver.object(&open, &object), what);
            changed(driver.objects(&open), what);
            // Another look at a file that was never read before.
            let open = driver.binary(file(&place.path()));
            assert!(open.is_ok(), "{what}: opened as it is now");
        }
    }
}

pub(crate) fn a_binary_that_is_replaced_or_removed<D: Driver>(driver: &D) {
    for compressed in [false, true] {
        for change in &MOVES {
            let place = Place::new(bundles(compressed, 'x'));
            let open = driver.binary(file(&place.path())).unwrap();
            place.change(change, &bundles(compressed, 'y'));
            let object = driver.objects(&open).unwrap().pop().unwrap();
            assert_eq!(driver.object(&open, &object).unwrap(), kernel("code", 'x'), "{}", change.0);
        }
    }
}

/// Models that differ in a value alone.
fn model(letter: char) -> Vec<u8> {
    let mut raw = Raw::new(3, false);
    raw.counts(1, 3);
    raw.text_pair("general.architecture", "llama");
    raw.text_pair("general.name", &String::from(letter).repeat(3000));
    raw.u32_pair("llama.context_length", 2048);
    raw.tensor("t", &[4], 0, 0);
    raw.align(32);
    raw.floats(4);
    raw.0
}

pub(crate) fn a_model_that_is_written_to<D: Driver>(driver: &D) {
    for change in &WRITES {
        let what = change.0;
        let place = Place::new(model('x'));
        let open = driver.model(&place.path()).unwrap();
        let items = driver.visit(&open).unwrap();
        assert!(items > 4, "{items}");
        place.change(change, &model('y'));
        changed(driver.text(&open, b"general.name"), what);
        let error = driver.visit(&open).unwrap_err();
        assert_eq!(error.path(), Some(&*place.path()));
        changed::<()>(Err(error), what);
    }
}

pub(crate) fn a_model_that_is_replaced_or_removed<D: Driver>(driver: &D) {
    for change in &MOVES {
        let place = Place::new(model('x'));
        let open = driver.model(&place.path()).unwrap();
        place.change(change, &model('y'));
        let name = driver.text(&open, b"general.name").unwrap();
        assert_eq!(name, Some(vec![b'x'; 3000]), "{}", change.0);
    }
}

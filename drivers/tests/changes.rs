//! Files that change while they are open: an error that says so, never a wrong kernel or a fault.
#![cfg(feature = "blocking")]

use std::fs;
use std::num::NonZeroUsize;

use rocload::{Archive, ErrorKind};
use rocload_fixtures::good_archives;

fn threads(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["none", "zstd"] {
        let fixture = good_archives().find(|f| f.name() == name).unwrap();
        let path = folder.path().join(name);
        let last = fixture.kernels().last().cloned().unwrap();
        for keep in [0, 17, 64, 70, 200] {
            fs::copy(fixture.file(), &path).unwrap();
            let archive = Archive::open(&path).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_len(keep).unwrap();
            let error = archive.kernel(&last.binary, &last.arch).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Changed), "{name}, {keep}: {error}");
            assert_eq!(error.path(), Some(&*path));
            assert!(!archive.verify(threads(2)).is_ok());
        }
    }
}

#[test]
fn a_file_that_is_overwritten_is_no_fault_of_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = good_archives().find(|f| f.name() == "zstd").unwrap();
    let path = folder.path().join("archive");
    fs::copy(fixture.file(), &path).unwrap();
    let archive = Archive::open(&path).unwrap();
    let row = &fixture.kernels()[0];
    let garbage = vec![0x5A; fixture.bytes().len()];
    // Written in place, with a time that surely differs.
    fs::write(&path, garbage).unwrap();
    let epoch = std::time::SystemTime::UNIX_EPOCH;
    fs::File::options().write(true).open(&path).unwrap().set_modified(epoch).unwrap();
    let error = archive.kernel(&row.binary, &row.arch).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Changed), "{error}");
}

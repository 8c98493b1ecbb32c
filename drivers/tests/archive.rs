//! Archives through the driver: what manifests promise, faults with their places, files that
//! change while they are open, and many threads on one archive.

use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Mutex;

use rocload::{Archive, Error, ErrorKind, FileAt, Options, ReadAt, kpack::Strictness};
use rocload_fixtures::manifest::read_kernel_rows;
use rocload_fixtures::{
    KernelRow, Stage, bad_archives, compat_archives, good_archives, shared_data_or_skip,
};
use sha2::{Digest, Sha256};

fn compat() -> Options {
    let mut options = Options::default();
    options.strictness = Strictness::Compat;
    options
}

fn threads(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The rows that an archive's kernels give, in the order of enumeration.
fn rows<R: ReadAt>(archive: &Archive<R>) -> Vec<KernelRow> {
    let mut worker = archive.worker();
    let row = |entry: Result<rocload::kpack::Entry<'_>, Error>| {
        let entry = entry.unwrap();
        let kernel = worker.kernel(&entry).unwrap();
        assert_eq!(kernel.len() as u64, entry.size);
        KernelRow {
            binary: String::from_utf8(entry.binary.to_vec()).unwrap(),
            arch: String::from_utf8(entry.arch.to_vec()).unwrap(),
            size: entry.size,
            sha256: hex(&kernel),
        }
    };
    archive.entries().map(row).collect()
}

#[test]
fn good_archives_hold_what_their_manifests_say() {
    let mut seen = 0;
    for fixture in good_archives() {
        let archive = Archive::open(fixture.file()).unwrap();
        assert_eq!(rows(&archive), fixture.kernels(), "{}", fixture.path);
        let verdict = archive.verify(threads(2));
        assert!(verdict.is_ok(), "{}: {:?}", fixture.path, verdict.errors);
        assert_eq!(verdict.kernels, archive.len() as u64);
        seen += 1;
    }
    assert!(seen >= 12);
}

#[test]
fn bytes_and_files_give_the_same() {
    for fixture in good_archives() {
        let bytes = fixture.bytes();
        let memory = Archive::from_source(&bytes[..], &Options::default()).unwrap();
        let file = Archive::open(fixture.file()).unwrap();
        memory.walk_frames().unwrap();
        file.walk_frames().unwrap();
        let pairs = memory.entries().zip(file.entries());
        assert!(pairs.into_iter().all(|(a, b)| a.unwrap() == b.unwrap()), "{}", fixture.path);
        assert_eq!(rows(&memory), rows(&file), "{}", fixture.path);
    }
}

#[test]
fn bad_archives_fail_at_their_stage_with_a_place() {
    let mut seen = 0;
    for fixture in bad_archives() {
        seen += 1;
        let stage = fixture.stage.expect("bad archives have a stage");
        let opened = Archive::open(fixture.file());
        let archive = match (opened, stage) {
            (Err(error), Stage::Open) => {
                assert!(error.offset().is_some(), "{}: {error}", fixture.path);
                assert_eq!(error.path(), Some(&*fixture.file()));
                assert!(!error.message().contains('\n'));
                continue;
            }
            (Ok(archive), Stage::FirstKernel | Stage::Verify) => archive,
            (Ok(_), Stage::Open) => panic!("{}: opened: {}", fixture.path, fixture.note),
            (Err(error), _) => panic!("{}: did not open: {error}", fixture.path),
        };
        let verdict = archive.verify(threads(1));
        assert!(!verdict.is_ok(), "{}: {}", fixture.path, fixture.note);
        for error in &verdict.errors {
            assert!(error.offset().is_some(), "{}: {error}", fixture.path);
            assert_eq!(error.path(), Some(&*fixture.file()));
        }
        // Whatever is wrong with one kernel is told by fetching them, too.
        let failed = archive.entries().filter(|entry| {
            entry.as_ref().map_or(true, |entry| archive.worker().kernel(entry).is_err())
        });
        assert!(failed.count() > 0, "{}", fixture.path);
    }
    assert!(seen >= 60, "{seen} bad archives");
}

#[test]
fn compatible_reading_takes_what_the_c_libraries_take() {
    for fixture in compat_archives() {
        let strict = Archive::open(fixture.file());
        assert!(matches!(strict.unwrap_err().kind(), ErrorKind::Format(_)), "{}", fixture.path);
        let archive = Archive::open_with(fixture.file(), &compat()).unwrap();
        assert_eq!(rows(&archive), fixture.kernels(), "{}", fixture.path);
        for row in fixture.kernels() {
            let kernel = archive.kernel(&row.binary, &row.arch).unwrap();
            assert_eq!(hex(&kernel), row.sha256, "{}", fixture.path);
        }
    }
}

/// What compatible reading puts off must fail when it is fetched, and only that.
#[test]
fn compatible_reading_puts_off_ranges_but_never_waives_them() {
    for (name, fetched) in [("ordinal-out-of-range-none", 1), ("blob-size-2-40", 1)] {
        let fixture = bad_archives().find(|f| f.name() == name).expect(name);
        let archive = Archive::open_with(fixture.file(), &compat()).unwrap();
        let fetches = archive
            .order()
            .iter()
            .map(|&id| archive.entry_at(id).and_then(|entry| archive.worker().kernel(&entry)));
        let good = fetches.filter(Result::is_ok).count();
        assert_eq!(good, fetched, "{name}");
    }
    for name in ["scheme-unknown", "ordinal-str-none", "missing-ordinal-zstd"] {
        let fixture = bad_archives().find(|f| f.name() == name).expect(name);
        assert!(Archive::open_with(fixture.file(), &compat()).is_err(), "{name}");
    }
}

#[test]
fn the_shared_archives_are_right_to_the_last_byte() {
    let Some(data) = shared_data_or_skip("the_shared_archives_are_right_to_the_last_byte") else {
        return;
    };
    for name in ["a_small_none", "a_small_zstd", "e_rocrand_zstd"] {
        let path = data.join("kpack").join(format!("{name}.kpack"));
        let archive = Archive::open(&path).unwrap();
        let mut expected = read_kernel_rows(&path.with_extension("manifest.json"));
        expected.sort_by(|a, b| (&a.binary, &a.arch).cmp(&(&b.binary, &b.arch)));
        // Their `gfx_arches` are byte-sorted, so that the two orders agree.
        assert_eq!(rows(&archive), expected, "{name}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let fixture = good_archives().find(|f| f.name() == "arches-variants").unwrap();
    let archive = Archive::open(fixture.file()).unwrap();
    let row = &fixture.kernels()[0];
    let error = archive.kernel("no/such", "gfx1030").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoBinary));
    assert_eq!(error.binary().as_deref(), Some("no/such"));
    let error = archive.kernel(&row.binary, "gfx1").unwrap_err();
    let ErrorKind::NoArch { available } = error.kind() else { panic!("{error}") };
    assert!(available.contains(&row.arch));
    // A longer and a shorter name are other names.
    for binary in [format!("{}0", row.binary), row.binary[1..].to_string()] {
        assert!(archive.entry(&binary, &row.arch).is_err());
    }
}

#[test]
fn a_target_finds_its_most_specific_kernel() {
    let fixture = good_archives().find(|f| f.name() == "arches-variants").unwrap();
    let archive = Archive::open(fixture.file()).unwrap();
    let rows = fixture.kernels();
    let binary = &rows[0].binary;
    for (isa, arch) in [
        ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("gfx90a:sramecc-:xnack-", "gfx90a:xnack-"),
        ("gfx90a:sramecc+:xnack+", "gfx90a:xnack+"),
        ("gfx90a:sramecc+", "gfx90a"),
        ("gfx90a", "gfx90a"),
    ] {
        assert_eq!(archive.entry_for(binary, isa).unwrap().arch, arch.as_bytes(), "{isa}");
    }
    // Features are dropped, never added.
    assert!(archive.entry_for(binary, "gfx942:sramecc+").is_err());
    assert!(archive.entry_for(binary, "gfx1").is_err());
    assert!(archive.entry_for(binary, "gfx90a:a:b:c:d:e:f:g").unwrap_err().offset().is_some());
}

#[test]
fn kernel_into_fills_exactly_and_says_what_it_needs() {
    for name in ["none", "zstd"] {
        let fixture = good_archives().find(|f| f.name() == name).unwrap();
        let archive = Archive::open(fixture.file()).unwrap();
        let row = &fixture.kernels()[0];
        let size = row.size as usize;
        let mut room = vec![0xAA; size + 64];
        assert_eq!(archive.kernel_into(&row.binary, &row.arch, &mut room).unwrap(), size);
        assert_eq!(hex(&room[..size]), row.sha256);
        assert!(room[size..].iter().all(|&byte| byte == 0xAA), "{name}: behind the kernel");
        let error = archive.kernel_into(&row.binary, &row.arch, &mut room[..size - 1]).unwrap_err();
        assert!(error.message().contains(&size.to_string()), "{error}");
    }
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

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let error = Archive::open(folder.path()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::IsADirectory)
    );
    let error = Archive::open("/dev/null").unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::InvalidInput)
    );
    // A FIFO without a writer must not hang.
    let fifo = folder.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    assert!(FileAt::open(&fifo).is_err());
    assert!(matches!(
        Archive::open(folder.path().join("none")).unwrap_err().kind(),
        ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::NotFound
    ));
}

#[test]
fn many_threads_share_one_archive() {
    let fixture = good_archives().find(|f| f.name() == "zstd").unwrap();
    let archive = Archive::open(fixture.file()).unwrap();
    let expected = fixture.kernels();
    std::thread::scope(|scope| {
        for start in 0..8 {
            let (archive, expected) = (&archive, &expected);
            scope.spawn(move || {
                for turn in 0..50 {
                    let row = &expected[(start + turn) % expected.len()];
                    let kernel = archive.kernel(&row.binary, &row.arch).unwrap();
                    assert_eq!(hex(&kernel), row.sha256);
                }
            });
        }
    });
}

#[test]
fn kernels_come_in_the_order_asked_for_and_work_can_stop() {
    let fixture = good_archives().find(|f| f.name() == "zstd").unwrap();
    let archive = Archive::open(fixture.file()).unwrap();
    let expected = fixture.kernels();
    let mut ids = archive.order().to_vec();
    ids.reverse();
    let kernels = archive.kernels(&ids, threads(3));
    let hashes: Vec<String> = kernels.iter().map(|kernel| hex(kernel.as_ref().unwrap())).collect();
    let reversed: Vec<String> = expected.iter().rev().map(|row| row.sha256.clone()).collect();
    assert_eq!(hashes, reversed);

    let seen = Mutex::new(Vec::new());
    archive.for_each(&ids, threads(1), |_, id| {
        seen.lock().unwrap().push(id);
        ControlFlow::Break(())
    });
    assert_eq!(seen.into_inner().unwrap(), ids[..1]);
    archive.for_each(&[], threads(4), |_, _| panic!("there is nothing to do"));
}

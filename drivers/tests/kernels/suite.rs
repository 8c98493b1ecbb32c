//! What every driver must do with archives: what manifests promise, faults with their places,
//! files that change while they are open.

use std::num::NonZeroUsize;
use std::path::Path;

use rocload::kpack::{Entry, Strictness};
use rocload::{Error, ErrorKind, Extent, Options, Room, Verdict};
use rocload_fixtures::manifest::read_kernel_rows;
use rocload_fixtures::{
    KernelRow, Stage, bad_archives, compat_archives, good_archives, shared_data_or_skip,
};
use sha2::{Digest, Sha256};

/// An archive over a source, through a driver.
pub(crate) trait Driver: Sized {
    fn open(path: &Path, options: &Options) -> Result<Self, Error>;
    fn len(&self) -> usize;
    fn order(&self) -> Vec<u32>;
    fn entries(&self) -> Vec<Result<Entry<'_>, Error>>;
    fn entry_at(&self, id: u32) -> Result<Entry<'_>, Error>;
    fn entry(&self, binary: &str, arch: &str) -> Result<Entry<'_>, Error>;
    fn entry_for(&self, binary: &str, isa: &str) -> Result<Entry<'_>, Error>;
    fn extent(&self, entry: &Entry<'_>) -> Result<Extent, Error>;
    fn walk_frames(&self) -> Result<u32, Error>;
    fn kernel(&self, binary: &str, arch: &str) -> Result<Vec<u8>, Error>;
    fn kernel_cow(&self, binary: &str, arch: &str) -> Result<Vec<u8>, Error>;
    fn kernel_into(&self, binary: &str, arch: &str, dst: &mut [u8]) -> Result<usize, Error>;
    /// By a worker.
    fn fetch(&self, entry: &Entry<'_>) -> Result<Vec<u8>, Error>;
    /// By a worker, in memory that the caller makes; with the size told.
    fn fetch_in(&self, entry: &Entry<'_>, room: Maker) -> Result<(Vec<u8>, usize), Error>;
    /// By a worker, in pieces, joined.
    fn pieces(&self, entry: &Entry<'_>, verify: bool) -> Result<Vec<u8>, Error>;
    fn verify(&self, threads: NonZeroUsize) -> Verdict;
    fn kernels(&self, ids: &[u32], threads: NonZeroUsize) -> Vec<Result<Vec<u8>, Error>>;
    /// What `for_each` has shown when its closure breaks at once.
    fn first_of(&self, ids: &[u32], threads: NonZeroUsize) -> Vec<u32>;
}

/// Memory that is made by a function.
pub(crate) struct Maker {
    make: fn(usize) -> Option<Vec<u8>>,
    pub(crate) memory: Vec<u8>,
}

impl Maker {
    fn new(make: fn(usize) -> Option<Vec<u8>>) -> Maker {
        Maker { make, memory: Vec::new() }
    }
}

impl Room for Maker {
    fn room(&mut self, size: usize) -> Option<&mut [u8]> {
        self.memory = (self.make)(size)?;
        Some(&mut self.memory)
    }
}

/// The suite as tests of a module.
macro_rules! tests {
    ($name:ident, $driver:ty) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $crate::suite::tests!(@each $driver;
                good_archives_hold_what_their_manifests_say
                bad_archives_fail_at_their_stage_with_a_place
                compatible_reading_takes_what_the_c_libraries_take
                compatible_reading_puts_off_ranges_but_never_waives_them
                the_shared_archives_are_right_to_the_last_byte
                what_is_missing_is_named
                a_target_finds_its_most_specific_kernel
                kernel_into_fills_exactly_and_says_what_it_needs
                memory_that_the_caller_makes_holds_the_kernel
                kernels_come_in_the_order_asked_for_and_work_can_stop
                a_place_in_the_table_spares_the_walk
            );
        }
    };
    (@each $driver:ty; $($test:ident)*) => {
        $(#[test]
        fn $test() {
            $crate::suite::$test::<$driver>();
        })*
    };
}
pub(crate) use tests;

fn compat() -> Options {
    let mut options = Options::default();
    options.strictness = Strictness::Compat;
    options
}

fn threads(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The rows that an archive's kernels give, in the order of enumeration.
fn rows<D: Driver>(archive: &D) -> Vec<KernelRow> {
    let row = |entry: Result<Entry<'_>, Error>| {
        let entry = entry.unwrap();
        let kernel = archive.fetch(&entry).unwrap();
        assert_eq!(kernel.len() as u64, entry.size);
        assert!(archive.pieces(&entry, false).unwrap() == kernel);
        KernelRow {
            binary: String::from_utf8(entry.binary.to_vec()).unwrap(),
            arch: String::from_utf8(entry.arch.to_vec()).unwrap(),
            size: entry.size,
            sha256: hex(&kernel),
        }
    };
    archive.entries().into_iter().map(row).collect()
}

pub(crate) fn good_archives_hold_what_their_manifests_say<D: Driver>() {
    let mut seen = 0;
    for fixture in good_archives() {
        let archive = D::open(&fixture.file(), &Options::default()).unwrap();
        assert_eq!(rows(&archive), fixture.kernels(), "{}", fixture.path);
        let verdict = archive.verify(threads(2));
        assert!(verdict.is_ok(), "{}: {:?}", fixture.path, verdict.errors);
        assert_eq!(verdict.kernels, archive.len() as u64);
        seen += 1;
    }
    assert!(seen >= 12);
}

pub(crate) fn bad_archives_fail_at_their_stage_with_a_place<D: Driver>() {
    let mut seen = 0;
    for fixture in bad_archives() {
        seen += 1;
        let stage = fixture.stage.expect("bad archives have a stage");
        let opened = D::open(&fixture.file(), &Options::default());
        let archive = match (opened, stage) {
            (Err(error), Stage::Open) => {
                assert!(error.offset().is_some(), "{}: {error}", fixture.path);
                assert!(!error.message().contains('\n'));
                continue;
            }
            (Ok(_), Stage::Open) => panic!("{}: opened: {}", fixture.path, fixture.note),
            (Ok(archive), _) => archive,
            (Err(error), _) => panic!("{}: did not open: {error}", fixture.path),
        };
        let verdict = archive.verify(threads(1));
        assert!(!verdict.is_ok(), "{}: {}", fixture.path, fixture.note);
        for error in &verdict.errors {
            assert!(error.offset().is_some(), "{}: {error}", fixture.path);
        }
        // Whatever is wrong with one kernel is told by fetching them, too, but for the content:
        // that is hashed where it is verified. So it is without the walk that came before.
        let other = D::open(&fixture.file(), &Options::default()).unwrap();
        for archive in [&archive, &other] {
            let failed = archive
                .entries()
                .into_iter()
                .filter(|entry| entry.as_ref().map_or(true, |entry| archive.fetch(entry).is_err()));
            let hidden = stage == Stage::Sum
                // One that has the place of another cannot be told from it without a walk.
                || fixture.name() == "frame-offset-of-another" && std::ptr::eq(archive, &other);
            assert_eq!(failed.count() > 0, !hidden, "{}", fixture.path);
        }
    }
    assert!(seen >= 60, "{seen} bad archives");
}

pub(crate) fn compatible_reading_takes_what_the_c_libraries_take<D: Driver>() {
    for fixture in compat_archives() {
        let strict = D::open(&fixture.file(), &Options::default());
        assert!(matches!(strict.err().unwrap().kind(), ErrorKind::Format(_)), "{}", fixture.path);
        let archive = D::open(&fixture.file(), &compat()).unwrap();
        assert_eq!(rows(&archive), fixture.kernels(), "{}", fixture.path);
        for row in fixture.kernels() {
            let kernel = archive.kernel(&row.binary, &row.arch).unwrap();
            assert_eq!(hex(&kernel), row.sha256, "{}", fixture.path);
        }
    }
}

/// What compatible reading puts off must fail when it is fetched, and only that.
pub(crate) fn compatible_reading_puts_off_ranges_but_never_waives_them<D: Driver>() {
    for (name, fetched) in [("ordinal-out-of-range-none", 1), ("blob-size-2-40", 1)] {
        let fixture = bad_archives().find(|f| f.name() == name).expect(name);
        let archive = D::open(&fixture.file(), &compat()).unwrap();
        let order = archive.order();
        let fetches =
            order.iter().map(|&id| archive.entry_at(id).and_then(|entry| archive.fetch(&entry)));
        let good = fetches.filter(Result::is_ok).count();
        assert_eq!(good, fetched, "{name}");
    }
    for name in ["scheme-unknown", "ordinal-str-none", "missing-ordinal-zstd"] {
        let fixture = bad_archives().find(|f| f.name() == name).expect(name);
        assert!(D::open(&fixture.file(), &compat()).is_err(), "{name}");
    }
}

pub(crate) fn the_shared_archives_are_right_to_the_last_byte<D: Driver>() {
    let Some(data) = shared_data_or_skip("the_shared_archives_are_right_to_the_last_byte") else {
        return;
    };
    for name in ["a_small_none", "a_small_zstd", "e_rocrand_zstd", "b_2000_zstd"] {
        let path = data.join("kpack").join(format!("{name}.kpack"));
        let archive = D::open(&path, &Options::default()).unwrap();
        let mut expected = read_kernel_rows(&path.with_extension("manifest.json"));
        expected.sort_by(|a, b| (&a.binary, &a.arch).cmp(&(&b.binary, &b.arch)));
        // Their `gfx_arches` are byte-sorted, so that the two orders agree.
        assert_eq!(rows(&archive), expected, "{name}");
    }
}

pub(crate) fn what_is_missing_is_named<D: Driver>() {
    let fixture = good_archives().find(|f| f.name() == "arches-variants").unwrap();
    let archive = D::open(&fixture.file(), &Options::default()).unwrap();
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

pub(crate) fn a_target_finds_its_most_specific_kernel<D: Driver>() {
    let fixture = good_archives().find(|f| f.name() == "arches-variants").unwrap();
    let archive = D::open(&fixture.file(), &Options::default()).unwrap();
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

pub(crate) fn kernel_into_fills_exactly_and_says_what_it_needs<D: Driver>() {
    for name in ["none", "zstd"] {
        let fixture = good_archives().find(|f| f.name() == name).unwrap();
        let archive = D::open(&fixture.file(), &Options::default()).unwrap();
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

pub(crate) fn memory_that_the_caller_makes_holds_the_kernel<D: Driver>() {
    for fixture in good_archives() {
        let archive = D::open(&fixture.file(), &Options::default()).unwrap();
        for row in fixture.kernels() {
            let entry = archive.entry(&row.binary, &row.arch).unwrap();
            // Neither zeroed nor of the kernel's length.
            let room = Maker::new(|size| Some(vec![0xa5; size + 9]));
            let (memory, size) = archive.fetch_in(&entry, room).unwrap();
            let (kernel, behind) = memory.split_at(size);
            assert_eq!(hex(kernel), row.sha256, "{} {}", fixture.path, row.binary);
            assert_eq!((size as u64, behind), (row.size, &[0xa5; 9][..]));
            let error = archive.fetch_in(&entry, Maker::new(|_| None)).unwrap_err();
            let memory = matches!(error.kind(), ErrorKind::Memory { bytes } if *bytes == row.size);
            assert!(memory, "{error}");
            if row.size > 0 {
                let short = Maker::new(|size| Some(vec![0; size - 1]));
                let error = archive.fetch_in(&entry, short).unwrap_err();
                assert_eq!(error.class(), Some(rocload::core::Class::Full), "{error}");
            }
        }
    }
}

pub(crate) fn kernels_come_in_the_order_asked_for_and_work_can_stop<D: Driver>() {
    let fixture = good_archives().find(|f| f.name() == "zstd").unwrap();
    let archive = D::open(&fixture.file(), &Options::default()).unwrap();
    let expected = fixture.kernels();
    let mut ids = archive.order();
    ids.reverse();
    let kernels = archive.kernels(&ids, threads(3));
    let hashes: Vec<String> = kernels.iter().map(|kernel| hex(kernel.as_ref().unwrap())).collect();
    let reversed: Vec<String> = expected.iter().rev().map(|row| row.sha256.clone()).collect();
    assert_eq!(hashes, reversed);

    assert_eq!(archive.first_of(&ids, threads(1)), ids[..1]);
    assert!(archive.first_of(&[], threads(4)).is_empty());
}

/// What the table says of a frame's place is used before any walk, and completes no entry until a
/// walk has agreed.
pub(crate) fn a_place_in_the_table_spares_the_walk<D: Driver>() {
    for (name, places) in [("zstd-places", true), ("zstd", false)] {
        let fixture = good_archives().find(|f| f.name() == name).unwrap();
        let archive = D::open(&fixture.file(), &Options::default()).unwrap();
        for (row, entry) in fixture.kernels().iter().zip(archive.entries()) {
            let entry = entry.unwrap();
            assert_eq!(entry.frame_offset.is_some(), places, "{name}");
            let extent = archive.extent(&entry).unwrap();
            if places {
                assert_eq!(entry.frame_offset, Some(extent.offset));
                assert_eq!(entry.frame_size.map(u64::from), Some(extent.len));
                assert_eq!(archive.entry(&row.binary, &row.arch).unwrap().offset, None);
            }
            assert_eq!(hex(&archive.fetch(&entry).unwrap()), row.sha256);
        }
        archive.walk_frames().unwrap();
        for entry in archive.entries() {
            let entry = entry.unwrap();
            let extent = archive.extent(&entry).unwrap();
            let known = (entry.offset, entry.stored_size);
            assert_eq!(known, (Some(extent.offset), Some(extent.len)));
        }
    }
}

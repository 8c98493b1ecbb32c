//! 10,000 archives in one process: few descriptors, little memory, and files that are no longer
//! what they were.
#![cfg(all(feature = "blocking", target_os = "linux"))]

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rocload::loader::{Environment, Request};
use rocload::many::Pooled;
use rocload::{Archive, Archives, Error, ErrorKind, Limits, Options, ReadAt};
use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::reference::reference;
use rocload_fixtures::rng::Rng;
use rustix::process::{Resource, getrlimit, setrlimit};

const MANY: usize = 10_000;
const THREADS: usize = 4;
const CAP: usize = 256;
/// The most descriptors that the system gives to this process.
const MOST: u64 = 512;

/// Descriptors and memory are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options() -> Options {
    let mut options = Options::default();
    options.limits.open_archives = CAP as u32;
    // The system sees to it as well.
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(MOST);
    setrlimit(Resource::Nofile, limit).unwrap();
    options
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Resident bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

fn content(n: usize) -> Vec<u8> {
    format!("kernel {n} of many, and the same again: kernel {n}").into_bytes()
}

/// Archives of two kernels each, every other one compressed.
fn write(folder: &Path, count: usize) -> Vec<PathBuf> {
    let write =
        |n: usize| {
            let scheme = if n.is_multiple_of(2) { Scheme::None } else { Scheme::ZstdPerKernel };
            let builder = Builder::new(scheme)
                .kernel("lib/liba.so#0", "gfx1030", &content(n))
                .kernel("lib/libb.so#0", "gfx1030", &content(n + MANY));
            let path = folder.join(format!("{n}.kpack"));
            fs::write(&path, builder.build()).unwrap();
            path
        };
    (0..count).map(write).collect()
}

fn fetch(archive: &Archive<Pooled>, n: usize) {
    assert_eq!(archive.kernel("lib/libb.so#0", "gfx1030").unwrap(), content(n + MANY));
    assert_eq!(archive.kernel("lib/liba.so#0", "gfx1030").unwrap(), content(n));
}

/// Memory of one archive at rest, in bytes, generously: a table of 300 bytes and its index.
const EACH: usize = 4 << 10;
/// Memory that does not grow with the archives, in bytes.
const ONCE: usize = 16 << 20;

#[test]
fn ten_thousand_archives_take_few_descriptors_and_little_memory() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let paths = write(folder.path(), MANY);
    let archives = Archives::new(&options());
    let (descriptors_before, resident_before) = (descriptors(), resident());
    // The cap, one for each thread that opens or reads, and those that count.
    let most = descriptors_before + CAP + 2 * THREADS + THREADS;
    let mut all = Vec::with_capacity(MANY);
    for path in &paths {
        all.push(archives.open(path).unwrap());
        assert!(archives.files().open_now() <= CAP);
    }
    assert!(descriptors() <= most);
    let all = &all;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut rng = Rng::new(thread as u64);
                for turn in 0..2 * MANY / THREADS {
                    let n = rng.below(MANY as u64) as usize;
                    fetch(&all[n], n);
                    if turn % 50 == 0 {
                        let now = descriptors();
                        assert!(now <= most, "{now} descriptors, at most {most}");
                    }
                }
            });
        }
    });
    for (n, archive) in all.iter().enumerate() {
        fetch(archive, n);
    }
    let grown = resident().saturating_sub(resident_before);
    assert!(grown <= ONCE + MANY * EACH, "{grown} bytes for {MANY} archives");
    assert!(archives.files().open_now() <= CAP);
    assert!(descriptors() <= descriptors_before + CAP);
}

#[cfg(feature = "tokio")]
#[test]
fn ten_thousand_archives_through_tokio() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let paths = write(folder.path(), MANY);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).build().unwrap();
    let archives = rocload::tokio::Archives::new(&options());
    let (descriptors_before, resident_before) = (descriptors(), resident());
    let slots = rocload::default_threads().get();
    let most = descriptors_before + CAP + 2 * slots + 2;
    runtime.block_on(async {
        let mut all = Vec::with_capacity(MANY);
        for path in &paths {
            all.push(archives.open(path).await.unwrap());
        }
        let all = std::sync::Arc::new(all);
        let tasks: Vec<_> = (0..THREADS)
            .map(|task| {
                let all = std::sync::Arc::clone(&all);
                tokio::spawn(async move {
                    let mut rng = Rng::new(task as u64);
                    for turn in 0..MANY / THREADS {
                        let n = rng.below(MANY as u64) as usize;
                        let kernel = all[n].kernel("lib/libb.so#0", "gfx1030").await.unwrap();
                        assert_eq!(kernel, content(n + MANY));
                        if turn % 50 == 0 {
                            let now = descriptors();
                            assert!(now <= most, "{now} descriptors, at most {most}");
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let grown = resident().saturating_sub(resident_before);
        assert!(grown <= ONCE + MANY * EACH, "{grown} bytes for {MANY} archives");
    });
    assert!(archives.files().open_now() <= CAP);
}

/// A loader finds its way to each of them: what it knows of an archive besides is its path.
#[test]
fn ten_thousand_archives_through_loaders() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), MANY);
    let binary = folder.path().join("liba.so");
    let find = |n: usize| reference(&[&format!("{n}.kpack")], "lib/liba.so");
    let options = options();
    let most = CAP + 2 * rocload::default_threads().get() + 2;
    let check = |n: usize, kernel: Vec<u8>, before: (usize, usize)| {
        assert_eq!(kernel, content(n));
        if n.is_multiple_of(50) {
            let now = descriptors();
            assert!(now <= before.0 + most, "{now} descriptors, at most {most} more");
        }
    };
    let over = |before: (usize, usize)| {
        let grown = resident().saturating_sub(before.1);
        assert!(grown <= ONCE + MANY * 2 * EACH, "{grown} bytes for {MANY} archives");
    };

    let before = (descriptors(), resident());
    let loader = rocload::Loader::new(&options, Environment::default());
    for n in 0..MANY {
        let loaded = loader.load(&Request::new(&find(n), &binary, 0, &[b"gfx1030"])).unwrap();
        check(n, loaded.kernel, before);
    }
    assert_eq!(loader.archives(), MANY);
    over(before);
    drop(loader);

    #[cfg(feature = "tokio")]
    {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let before = (descriptors(), resident());
        let loader = rocload::tokio::Loader::new(&options, Environment::default());
        runtime.block_on(async {
            for n in 0..MANY {
                let find = find(n);
                let request = Request::new(&find, &binary, 0, &[b"gfx1030"]);
                check(n, loader.load(&request).await.unwrap().kernel, before);
            }
        });
        assert_eq!(loader.archives(), MANY);
        over(before);
    }
}

/// An archive that is closed by opening others.
fn closed(archives: &Archives, path: &Path, others: &[PathBuf]) -> Archive<Pooled> {
    let archive = archives.open(path).unwrap();
    for other in others {
        archives.open(other).unwrap().walk_frames().unwrap();
        std::mem::forget(archives.open(other).unwrap());
    }
    archive
}

#[test]
fn a_file_that_is_another_when_it_is_opened_again_is_refused() {
    let _alone = alone();
    let changed = |result: Result<Vec<u8>, Error>| match result {
        Err(error) => {
            assert!(error.path().is_some());
            matches!(error.kind(), ErrorKind::Changed)
        }
        Ok(_) => false,
    };
    type Change = fn(&Path, &Path);
    let changes: [(&str, Change); 5] = [
        ("another of equal length and time", |path, other| {
            let time = fs::metadata(path).unwrap().modified().unwrap();
            fs::File::options().write(true).open(other).unwrap().set_modified(time).unwrap();
            assert_eq!(fs::metadata(path).unwrap().len(), fs::metadata(other).unwrap().len());
            fs::rename(other, path).unwrap();
        }),
        ("longer", |path, _| {
            let time = fs::metadata(path).unwrap().modified().unwrap();
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_len(fs::metadata(path).unwrap().len() + 1).unwrap();
            file.set_modified(time).unwrap();
        }),
        ("touched", |path, _| {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
        }),
        ("cut", |path, _| {
            fs::File::options().write(true).open(path).unwrap().set_len(20).unwrap();
        }),
        ("a folder", |path, _| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (what, change) in changes {
        for n in [0, 1] {
            let folder = tempfile::tempdir().unwrap();
            let mut paths = write(folder.path(), 8);
            let mut options = Options::default();
            options.limits.open_archives = 2;
            let archives = Archives::new(&options);
            let path = paths.remove(n);
            let other = paths.remove(n + 1);
            let archive = closed(&archives, &path, &paths);
            assert_eq!(archives.files().open_now(), 2);
            change(&path, &other);
            assert!(changed(archive.kernel("lib/liba.so#0", "gfx1030")), "{what}, {n}");
            // It stays so, and the others are as they were.
            assert!(changed(archive.kernel("lib/libb.so#0", "gfx1030")), "{what}, {n}");
            assert!(archive.source().changed());
            archives.open(&paths[0]).unwrap().kernel("lib/liba.so#0", "gfx1030").unwrap();
        }
    }
}

#[test]
fn a_file_that_is_gone_is_not_found_and_may_come_back() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let paths = write(folder.path(), 6);
    let mut options = Options::default();
    options.limits.open_archives = 2;
    let archives = Archives::new(&options);
    let archive = closed(&archives, &paths[0], &paths[1..]);
    let aside = folder.path().join("aside");
    fs::rename(&paths[0], &aside).unwrap();
    let error = archive.kernel("lib/liba.so#0", "gfx1030").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::NotFound));
    assert_eq!(error.path(), Some(&*paths[0]));
    fs::rename(&aside, &paths[0]).unwrap();
    fetch(&archive, 0);
    assert!(archive.verify(NonZeroUsize::MIN).is_ok());
}

/// While a file stays open it may be renamed over: the archive is the one that was opened.
#[test]
fn a_file_that_is_open_is_the_one_that_was_opened() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let paths = write(folder.path(), 2);
    let archives = Archives::new(&Options::default());
    let archive = archives.open(&paths[0]).unwrap();
    fs::rename(&paths[1], &paths[0]).unwrap();
    fetch(&archive, 0);
}

#[test]
fn archives_that_are_dropped_are_closed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let paths = write(folder.path(), 20);
    let archives = Archives::new(&Options::default());
    let before = descriptors();
    let all: Vec<_> = paths.iter().map(|path| archives.open(path).unwrap()).collect();
    assert_eq!((archives.files().open_now(), descriptors()), (20, before + 20));
    // They may outlive the set.
    drop(archives);
    fetch(&all[7], 7);
    drop(all);
    assert_eq!(descriptors(), before);
}

#[test]
fn a_cap_of_nothing_is_one() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let paths = write(folder.path(), 3);
    let mut limits = Limits::default();
    limits.open_archives = 0;
    let files = rocload::many::Files::new(&limits);
    let all: Vec<_> = paths.iter().map(|path| files.open(path).unwrap()).collect();
    for source in &all {
        assert!(source.read_at(&mut [0; 4], 0).is_ok_and(|n| n == 4));
        assert_eq!(files.open_now(), 1);
    }
}

//! The tokio driver.

use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::task::{Context, Waker};

use rocload::kpack::Entry;
use rocload::tokio::{Archive, AsyncReadAt, FileAt};
use rocload::{Error, ErrorKind, Extent, Options, ReadAt, Verdict};
use rocload_fixtures::good_archives;
use rocload_fixtures::kpack::{Builder, Scheme};

use crate::suite::{self, Driver, Maker, hex};
use crate::{Bytes, Pool, Pread, Source};

/// An archive over a kind of source, with the runtime that it is used on.
pub(crate) struct Tokio<S: Source> {
    archive: Archive<S::Reader>,
    runtime: tokio::runtime::Runtime,
    source: PhantomData<S>,
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

impl<S: Source> Driver for Tokio<S> {
    fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let runtime = runtime();
        let source = S::read(path).unwrap();
        let archive = runtime.block_on(Archive::from_source(source, options))?;
        Ok(Tokio { archive, runtime, source: PhantomData })
    }
    fn len(&self) -> usize {
        self.archive.len()
    }
    fn order(&self) -> Vec<u32> {
        self.runtime.block_on(self.archive.order()).to_vec()
    }
    fn entries(&self) -> Vec<Result<Entry<'_>, Error>> {
        self.runtime.block_on(self.archive.entries()).collect()
    }
    fn entry_at(&self, id: u32) -> Result<Entry<'_>, Error> {
        self.archive.entry_at(id)
    }
    fn entry(&self, binary: &str, arch: &str) -> Result<Entry<'_>, Error> {
        self.archive.entry(binary, arch)
    }
    fn entry_for(&self, binary: &str, isa: &str) -> Result<Entry<'_>, Error> {
        self.archive.entry_for(binary, isa)
    }
    fn extent(&self, entry: &Entry<'_>) -> Result<Extent, Error> {
        self.runtime.block_on(self.archive.extent(entry))
    }
    fn walk_frames(&self) -> Result<u32, Error> {
        self.runtime.block_on(self.archive.walk_frames())
    }
    fn kernel(&self, binary: &str, arch: &str) -> Result<Vec<u8>, Error> {
        self.runtime.block_on(self.archive.kernel(binary, arch))
    }
    fn kernel_cow(&self, binary: &str, arch: &str) -> Result<Vec<u8>, Error> {
        let kernel = self.runtime.block_on(self.archive.kernel_cow(binary, arch));
        kernel.map(std::borrow::Cow::into_owned)
    }
    fn kernel_into(&self, binary: &str, arch: &str, dst: &mut [u8]) -> Result<usize, Error> {
        self.runtime.block_on(self.archive.kernel_into(binary, arch, dst))
    }
    fn fetch(&self, entry: &Entry<'_>) -> Result<Vec<u8>, Error> {
        self.runtime.block_on(self.archive.worker().kernel(entry))
    }
    fn fetch_in(&self, entry: &Entry<'_>, room: Maker) -> Result<(Vec<u8>, usize), Error> {
        let (room, size) = self.runtime.block_on(self.archive.worker().kernel_in(entry, room))?;
        Ok((room.memory, size))
    }
    fn pieces(&self, entry: &Entry<'_>, verify: bool) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        let mut worker = self.archive.worker();
        let sink = |piece: &[u8]| all.extend_from_slice(piece);
        self.runtime.block_on(async {
            if verify { worker.verify(entry, sink).await } else { worker.pieces(entry, sink).await }
        })?;
        Ok(all)
    }
    fn verify(&self, threads: NonZeroUsize) -> Verdict {
        self.runtime.block_on(self.archive.verify(threads)).unwrap()
    }
    fn kernels(&self, ids: &[u32], threads: NonZeroUsize) -> Vec<Result<Vec<u8>, Error>> {
        self.runtime.block_on(self.archive.kernels(ids, threads)).unwrap()
    }
    fn first_of(&self, ids: &[u32], threads: NonZeroUsize) -> Vec<u32> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let see = Arc::clone(&seen);
        let each = self.archive.for_each(ids, threads, move |_, id| {
            see.lock().unwrap().push(id);
            ControlFlow::Break(())
        });
        self.runtime.block_on(each).unwrap();
        let seen = seen.lock().unwrap();
        seen.clone()
    }
}

suite::tests!(bytes, Tokio<Bytes>);
suite::tests!(pread, Tokio<Pread>);
suite::tests!(pool, Tokio<Pool>);
#[cfg(feature = "mmap")]
suite::tests!(mapping, Tokio<crate::Map>);

#[test]
fn errors_name_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none");
    let error = runtime().block_on(Archive::open(&path)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(e) if e.kind() == io::ErrorKind::NotFound));
    assert_eq!(error.path(), Some(&*path));
    std::fs::write(&path, b"KPAK\x02\0\0\0\x40\0\0\0\0\0\0\0").unwrap();
    let error = runtime().block_on(Archive::open(&path)).unwrap_err();
    assert_eq!((error.path(), error.offset()), (Some(&*path), Some(4)));
}

/// Bytes behind a gate: a read waits until it is open, and says that it waits.
struct Gated {
    bytes: Vec<u8>,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    closed: AtomicBool,
    waiting: AtomicUsize,
    /// The most that ever waited at once.
    most: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Gate {
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
    fn open(&self) {
        let _lock = self.lock.lock().unwrap();
        self.closed.store(false, Ordering::SeqCst);
        self.changed.notify_all();
    }
    fn pass(&self) {
        let mut lock = self.lock.lock().unwrap();
        let waiting = self.waiting.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(waiting, Ordering::SeqCst);
        self.changed.notify_all();
        while self.closed.load(Ordering::SeqCst) {
            lock = self.changed.wait(lock).unwrap();
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.changed.notify_all();
    }
    /// Blocks until so many wait.
    fn until_waiting(&self, count: usize) {
        let mut lock = self.lock.lock().unwrap();
        while self.waiting.load(Ordering::SeqCst) != count {
            lock = self.changed.wait(lock).unwrap();
        }
    }
}

impl ReadAt for Gated {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.gate.pass();
        self.bytes.read_at(buf, offset)
    }
    fn total(&self) -> io::Result<u64> {
        self.bytes.total()
    }
}

fn gated(name: &str) -> (tokio::runtime::Runtime, Archive<Gated>, Arc<Gate>) {
    let fixture = good_archives().find(|f| f.name() == name).unwrap();
    let gate = Arc::new(Gate::default());
    let source = Gated { bytes: fixture.bytes(), gate: Arc::clone(&gate) };
    let runtime = runtime();
    let archive = runtime.block_on(Archive::from_source(source, &Options::default())).unwrap();
    (runtime, archive, gate)
}

/// Polls a future until a read waits at the gate, and drops it.
fn drop_at_the_gate<T>(
    runtime: &tokio::runtime::Runtime,
    gate: &Gate,
    future: impl Future<Output = T>,
) {
    let _inside = runtime.enter();
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    gate.until_waiting(1);
}

/// Waits until all that was begun has ended: every slot is taken at once, so none is lost either.
fn idle(runtime: &tokio::runtime::Runtime, archive: &Archive<Gated>) {
    let slots = rocload::default_threads().get();
    let barrier = Arc::new(Barrier::new(slots));
    let tasks: Vec<_> = (0..slots)
        .map(|_| {
            let (archive, barrier) = (archive.clone(), Arc::clone(&barrier));
            runtime.spawn(async move {
                let meet = move |_: &mut rocload::Worker<'_, Gated>, _| {
                    barrier.wait();
                    ControlFlow::Break(())
                };
                archive.for_each(&[0], NonZeroUsize::MIN, meet).await
            })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).unwrap().unwrap();
    }
}

#[test]
fn a_dropped_future_leaves_no_broken_state() {
    let slots = rocload::default_threads().get();
    for name in ["none", "zstd", "zstd-places-sums"] {
        let rows = good_archives().find(|f| f.name() == name).unwrap().kernels();
        let (runtime, archive, gate) = gated(name);
        let row = &rows[1];
        // More often than there are slots: each is given back.
        for turn in 0..3 * slots {
            gate.close();
            match turn % 3 {
                0 => drop_at_the_gate(&runtime, &gate, archive.kernel(&row.binary, &row.arch)),
                1 => drop_at_the_gate(&runtime, &gate, archive.verify(NonZeroUsize::MIN)),
                _ => {
                    let mut room = vec![0xAA; row.size as usize];
                    let into = archive.kernel_into(&row.binary, &row.arch, &mut room);
                    drop_at_the_gate(&runtime, &gate, into);
                    gate.open();
                    idle(&runtime, &archive);
                    assert!(room.iter().all(|&byte| byte == 0xAA), "written after the drop");
                }
            }
            gate.open();
            idle(&runtime, &archive);
        }
        for row in &rows {
            let kernel = runtime.block_on(archive.kernel(&row.binary, &row.arch)).unwrap();
            assert_eq!(hex(&kernel), row.sha256, "{name}");
        }
        assert!(runtime.block_on(archive.verify(NonZeroUsize::MIN)).unwrap().is_ok());
    }
}

/// A future that is dropped while it waits for a slot takes none, and begins nothing.
#[test]
fn work_is_bounded_and_what_waits_can_be_dropped() {
    let slots = rocload::default_threads().get();
    let (runtime, archive, gate) = gated("none");
    let row = &good_archives().find(|f| f.name() == "none").unwrap().kernels()[0];
    gate.close();
    let task = |archive: &Archive<Gated>| {
        let (archive, row) = (archive.clone(), row.clone());
        runtime.spawn(async move { archive.kernel(&row.binary, &row.arch).await })
    };
    let tasks: Vec<_> = (0..4 * slots).map(|_| task(&archive)).collect();
    // The reactor goes on while the slots are taken.
    runtime.block_on(tokio::task::yield_now());
    runtime.block_on(async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    });
    gate.until_waiting(slots);
    for task in &tasks[2 * slots..] {
        task.abort();
    }
    let waiting = archive.kernel(&row.binary, &row.arch);
    {
        let _inside = runtime.enter();
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(waiting).poll(&mut context).is_pending());
    }
    gate.open();
    let mut done = 0;
    for task in tasks {
        match runtime.block_on(task) {
            Ok(kernel) => {
                assert_eq!(hex(&kernel.unwrap()), row.sha256);
                done += 1;
            }
            Err(error) => assert!(error.is_cancelled()),
        }
    }
    assert_eq!(done, 2 * slots);
    assert_eq!(gate.most.load(Ordering::SeqCst), slots, "more at once than there are slots");
    let kernel = runtime.block_on(archive.kernel(&row.binary, &row.arch)).unwrap();
    assert_eq!(hex(&kernel), row.sha256);
}

/// Dropping stops work on many kernels after those that the threads are at.
#[test]
fn a_dropped_run_over_many_kernels_stops() {
    let mut builder = Builder::new(Scheme::None);
    for n in 0..2000u32 {
        builder = builder.kernel(&format!("b#{n}"), "gfx1030", &n.to_le_bytes());
    }
    let gate = Arc::new(Gate::default());
    let source = Gated { bytes: builder.build(), gate: Arc::clone(&gate) };
    let runtime = runtime();
    let archive = runtime.block_on(Archive::from_source(source, &Options::default())).unwrap();
    let ids = runtime.block_on(archive.order()).to_vec();
    let seen = Arc::new(AtomicUsize::new(0));
    let see = Arc::clone(&seen);
    gate.close();
    let each = archive.for_each(&ids, NonZeroUsize::MIN, move |worker, id| {
        let entry = worker.archive().entry_at(id).unwrap();
        worker.kernel(&entry).unwrap();
        see.fetch_add(1, Ordering::SeqCst);
        ControlFlow::Continue(())
    });
    drop_at_the_gate(&runtime, &gate, each);
    gate.open();
    // The thread ends with the runtime.
    drop(runtime);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[test]
fn futures_can_move_between_threads() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let fixture = good_archives().find(|f| f.name() == "zstd").unwrap();
    let threads = NonZeroUsize::new(2).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let archive = sent(Archive::open(fixture.file())).await.unwrap();
        let row = &fixture.kernels()[0];
        let entry = archive.entry(&row.binary, &row.arch).unwrap();
        let mut room = vec![0; row.size as usize];
        let mut worker = archive.worker();
        sent(archive.walk_frames()).await.unwrap();
        sent(archive.extent(&entry)).await.unwrap();
        sent(archive.entries()).await.for_each(|entry| assert!(entry.is_ok()));
        sent(archive.kernel(&row.binary, &row.arch)).await.unwrap();
        sent(archive.kernel_cow(&row.binary, &row.arch)).await.unwrap();
        sent(archive.kernel_into(&row.binary, &row.arch, &mut room)).await.unwrap();
        sent(worker.kernel(&entry)).await.unwrap();
        sent(worker.pieces(&entry, |_| {})).await.unwrap();
        sent(archive.kernels(&[0], threads)).await.unwrap();
        sent(archive.for_each(&[0], threads, |_, _| ControlFlow::Continue(()))).await.unwrap();
        assert!(sent(archive.verify(threads)).await.unwrap().is_ok());
        let archives = rocload::tokio::Archives::new(&Options::default());
        sent(archives.open(fixture.file())).await.unwrap();
    });
}

#[test]
fn many_tasks_share_one_archive() {
    let fixture = good_archives().find(|f| f.name() == "zstd").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let archive = runtime.block_on(Archive::open(fixture.file())).unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|turn| {
            let (archive, rows) = (archive.clone(), fixture.kernels());
            runtime.spawn(async move {
                let row = &rows[turn % rows.len()];
                let kernel = archive.kernel(&row.binary, &row.arch).await.unwrap();
                assert_eq!(hex(&kernel), row.sha256);
            })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
}

#[test]
fn a_panic_of_the_caller_reaches_the_caller() {
    let fixture = good_archives().find(|f| f.name() == "none").unwrap();
    let runtime = runtime();
    let archive = runtime.block_on(Archive::open(fixture.file())).unwrap();
    let row = &fixture.kernels()[0];
    for _ in 0..2 * rocload::default_threads().get() {
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runtime.block_on(archive.for_each(&[0], NonZeroUsize::MIN, |_, _| panic!("mine")))
        }));
        assert_eq!(ended.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
    }
    // No slot was lost with them.
    assert!(runtime.block_on(archive.kernel(&row.binary, &row.arch)).is_ok());
}

#[test]
fn a_file_is_read_at_any_offset() {
    let fixture = good_archives().find(|f| f.name() == "zstd").unwrap();
    let bytes = fixture.bytes();
    runtime().block_on(async {
        let file = FileAt::open(fixture.file()).await.unwrap();
        assert_eq!(file.total().unwrap(), bytes.len() as u64);
        let mut room = vec![0; 100];
        for offset in (0..bytes.len()).step_by(97) {
            let n = file.read_at(&mut room, offset as u64).await.unwrap();
            assert!(n > 0);
            assert_eq!(room[..n], bytes[offset..offset + n]);
        }
        assert_eq!(file.read_at(&mut room, bytes.len() as u64).await.unwrap(), 0);
        assert!(FileAt::open("/dev/null").await.is_err());
    });
}

//! The blocking driver.

use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use rocload::kpack::Entry;
use rocload::{Archive, Error, ErrorKind, Extent, FileAt, Options, ReadAt, Verdict};
use rocload_fixtures::good_archives;

use crate::suite::{self, Driver, Maker, hex};
use crate::{Bytes, Pool, Pread, Source};

/// An archive over a kind of source.
pub(crate) struct Blocking<S: Source>(Archive<S::Reader>, PhantomData<S>);

impl<S: Source> Driver for Blocking<S> {
    fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let source = S::read(path).unwrap();
        Ok(Blocking(Archive::from_source(source, options)?.with_path(path), PhantomData))
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn order(&self) -> Vec<u32> {
        self.0.order().to_vec()
    }
    fn entries(&self) -> Vec<Result<Entry<'_>, Error>> {
        self.0.entries().collect()
    }
    fn entry_at(&self, id: u32) -> Result<Entry<'_>, Error> {
        self.0.entry_at(id)
    }
    fn entry(&self, binary: &str, arch: &str) -> Result<Entry<'_>, Error> {
        self.0.entry(binary, arch)
    }
    fn entry_for(&self, binary: &str, isa: &str) -> Result<Entry<'_>, Error> {
        self.0.entry_for(binary, isa)
    }
    fn extent(&self, entry: &Entry<'_>) -> Result<Extent, Error> {
        self.0.extent(entry)
    }
    fn walk_frames(&self) -> Result<u32, Error> {
        self.0.walk_frames()
    }
    fn kernel(&self, binary: &str, arch: &str) -> Result<Vec<u8>, Error> {
        self.0.kernel(binary, arch)
    }
    fn kernel_cow(&self, binary: &str, arch: &str) -> Result<Vec<u8>, Error> {
        self.0.kernel_cow(binary, arch).map(std::borrow::Cow::into_owned)
    }
    fn kernel_into(&self, binary: &str, arch: &str, dst: &mut [u8]) -> Result<usize, Error> {
        self.0.kernel_into(binary, arch, dst)
    }
    fn fetch(&self, entry: &Entry<'_>) -> Result<Vec<u8>, Error> {
        self.0.worker().kernel(entry)
    }
    fn fetch_in(&self, entry: &Entry<'_>, mut room: Maker) -> Result<(Vec<u8>, usize), Error> {
        let size = self.0.worker().kernel_in(entry, &mut room)?;
        Ok((room.memory, size))
    }
    fn pieces(&self, entry: &Entry<'_>, verify: bool) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        let mut worker = self.0.worker();
        let mut sink = |piece: &[u8]| all.extend_from_slice(piece);
        if verify { worker.verify(entry, &mut sink) } else { worker.pieces(entry, &mut sink) }?;
        Ok(all)
    }
    fn verify(&self, threads: NonZeroUsize) -> Verdict {
        self.0.verify(threads)
    }
    fn kernels(&self, ids: &[u32], threads: NonZeroUsize) -> Vec<Result<Vec<u8>, Error>> {
        self.0.kernels(ids, threads)
    }
    fn first_of(&self, ids: &[u32], threads: NonZeroUsize) -> Vec<u32> {
        let seen = Mutex::new(Vec::new());
        self.0.for_each(ids, threads, |_, id| {
            seen.lock().unwrap().push(id);
            ControlFlow::Break(())
        });
        seen.into_inner().unwrap()
    }
}

suite::tests!(bytes, Blocking<Bytes>);
suite::tests!(pread, Blocking<Pread>);
suite::tests!(pool, Blocking<Pool>);
#[cfg(feature = "mmap")]
suite::tests!(mapping, Blocking<crate::Map>);

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
    let error = Archive::open(folder.path().join("none")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::NotFound));
    assert_eq!(error.path(), Some(&*folder.path().join("none")));
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

/// Stored as they are and in memory already: nothing is copied.
#[test]
fn kernels_are_borrowed_where_they_lie() {
    let fixture = good_archives().find(|f| f.name() == "none").unwrap();
    let bytes = fixture.bytes();
    let archive = Archive::from_source(&bytes[..], &Options::default()).unwrap();
    let inside = bytes.as_ptr_range();
    for row in fixture.kernels() {
        let kernel = archive.kernel_cow(&row.binary, &row.arch).unwrap();
        assert!(matches!(kernel, std::borrow::Cow::Borrowed(_)));
        assert!(inside.contains(&kernel.as_ptr()));
        assert_eq!(hex(&kernel), row.sha256);
    }
}

#[test]
fn sources_lend_what_they_have_and_no_more() {
    let bytes = vec![7u8; 100];
    assert_eq!(bytes.bytes(90, 10).map(<[u8]>::len), Some(10));
    assert_eq!(bytes.bytes(100, 0).map(<[u8]>::len), Some(0));
    for (offset, len) in [(91, 10), (101, 0), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        assert_eq!(bytes.bytes(offset, len), None, "{offset} {len}");
    }
}

//! Writing archives through both drivers: the same bytes, the same errors.
#![cfg(all(feature = "blocking", feature = "tokio"))]

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rocload::kpack::Scheme;
use rocload::tokio::pack as owned;
use rocload::{Archive, ErrorKind, Options, pack};
use rocload_fixtures::good_archives;

const LONG: Duration = Duration::from_secs(60);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// From memory, a file, an archive, and an item before, by each driver.
fn written(scheme: Scheme, file: &Path) -> [Result<(Vec<u8>, pack::Packed), rocload::Error>; 2] {
    let archive = good_archives().find(|fixture| fixture.name() == "none").unwrap().file();
    let threads = NonZeroUsize::new(2).unwrap();

    let open = Archive::open(&archive).unwrap();
    let mut list = pack::Pack::new(b"group", b"gfx9");
    list.arches.push(b"gfx906");
    let bytes = pack::Content::Bytes(b"in memory");
    list.items.push(pack::Item::new(b"a#0", b"gfx1030", bytes));
    list.items.push(pack::Item::new(b"a#1", b"gfx1030", pack::Content::File(file)));
    list.items.push(pack::Item::new(b"a#2", b"gfx1030", pack::Content::Entry(&open, 0)));
    list.items.push(pack::Item::new(b"a#3", b"gfx1030", pack::Content::Same(0)));
    list.items[3].metadata = Some(b"\x81\xa1k\x01");
    let encoder = rocload::encoder::best(3).unwrap();
    let mut options = pack::PackOptions::default();
    options.encoder = Some(&*encoder);
    options.write.scheme = scheme;
    (options.threads, options.checksums) = (threads, true);
    let mut output = Vec::new();
    let blocking = list.write(&mut output, &options, &|_, _| ()).map(|packed| (output, packed));

    let runtime = runtime();
    let open = runtime.block_on(rocload::tokio::Archive::open(&archive)).unwrap();
    let mut list = owned::Pack::new("group", "gfx9");
    list.arches.push(b"gfx906".to_vec());
    let contents = [
        owned::Content::Bytes(b"in memory".to_vec()),
        owned::Content::File(file.to_path_buf()),
        owned::Content::entry(&open, 0),
        owned::Content::Same(0),
    ];
    for (number, content) in contents.into_iter().enumerate() {
        list.items.push(owned::Item::new(format!("a#{number}"), "gfx1030", content));
    }
    list.items[3].metadata = Some(b"\x81\xa1k\x01".to_vec());
    let mut options = owned::PackOptions::default();
    options.encoder = Some(encoder.into());
    options.write.scheme = scheme;
    (options.threads, options.checksums) = (threads, true);
    let (tell, told) = mpsc::channel();
    let progress = move |done, of| tell.send((done, of)).unwrap();
    let other = runtime.block_on(list.write(Vec::new(), &options, progress));
    if other.is_ok() {
        let (done, of) = told.iter().last().unwrap();
        assert_eq!(done, of);
    }
    [blocking, other]
}

#[test]
fn both_write_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code");
    fs::write(&file, b"in a file").unwrap();
    for scheme in [Scheme::None, Scheme::ZstdPerKernel] {
        let [one, other] = written(scheme, &file).map(Result::unwrap);
        assert_eq!(one, other);
        assert_eq!((one.1.kernels, one.1.total), (4, one.0.len() as u64));
        let archive = Archive::from_source(one.0, &Options::default()).unwrap();
        for (key, content) in [("a#0", "in memory"), ("a#1", "in a file"), ("a#3", "in memory")] {
            assert_eq!(archive.kernel(key, "gfx1030").unwrap(), content.as_bytes());
        }
        assert!(archive.verify(NonZeroUsize::MIN).is_ok());
    }
    for error in written(Scheme::None, &folder.path().join("none")).map(Result::unwrap_err) {
        assert!(
            matches!(error.kind(), ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::NotFound)
        );
        assert_eq!(error.path(), Some(&*folder.path().join("none")));
    }
}

/// Says that it was dropped, and waits at its first write.
struct Slow {
    begun: tokio::sync::mpsc::UnboundedSender<()>,
    go_on: mpsc::Receiver<()>,
    writes: usize,
    over: mpsc::Sender<usize>,
}

impl pack::WriteAt for Slow {
    fn write_all_at(&mut self, _bytes: &[u8], _offset: u64) -> std::io::Result<()> {
        self.writes += 1;
        if self.writes == 1 {
            self.begun.send(()).unwrap();
            self.go_on.recv().unwrap();
        }
        Ok(())
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = self.over.send(self.writes);
    }
}

#[test]
fn a_dropped_future_ends_the_work() {
    let mut list = owned::Pack::new("group", "gfx9");
    for number in 0..200 {
        let content = owned::Content::Bytes(vec![number as u8; 100_000]);
        list.items.push(owned::Item::new(format!("a#{number}"), "gfx1030", content));
    }
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let (go, go_on) = mpsc::channel();
    let (over, ended) = mpsc::channel();
    let output = Slow { begun, go_on, writes: 0, over };
    let options = owned::PackOptions::default();
    runtime().block_on(async {
        let write = list.write(output, &options, |_, _| ());
        tokio::select! {
            _ = write => panic!("it waits for its output"),
            begun = has_begun.recv() => begun.unwrap(),
        }
        go.send(()).unwrap();
    });
    assert_eq!(ended.recv_timeout(LONG).unwrap(), 1, "no write after that one");
}

#[cfg(target_os = "linux")]
#[test]
fn servers_are_found_and_asked() {
    use rocload::serve::about;
    use rocload::serve::find;
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let (server, absent) = (folder.path().join("server"), folder.path().join("none"));
    fs::write(&server, "#!/bin/sh\necho 'version: 7 (build 8, commit 9)'\n").unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let runtime = runtime();
    for given in [None, Some(&*server), Some(&*absent)] {
        let found = runtime.block_on(rocload::tokio::find(given));
        assert_eq!(found, find::find(given));
        assert_eq!(given == Some(&*absent), given.is_some() && found.is_err());
    }
    let told = runtime.block_on(rocload::tokio::about(&server)).unwrap();
    assert_eq!(told, about::about(&server).unwrap());
    assert_eq!(told.version.as_deref(), Some("7 (build 8, commit 9)"));
    assert!(runtime.block_on(rocload::tokio::about(&absent)).is_err());
}

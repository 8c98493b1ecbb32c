use std::num::NonZeroUsize;

use rocload_core::kpack::EXAMPLE;

use super::*;
use crate::archive::Options;

/// Stands for a library: frames with one raw block each.
struct Raw;

impl Encoder for Raw {
    fn name(&self) -> &'static str {
        "raw"
    }
    fn level(&self) -> i32 {
        0
    }
    fn compressor(&self, _helpers: NonZeroUsize) -> io::Result<Box<dyn Compress>> {
        Ok(Box::new(Raw))
    }
}

impl Compress for Raw {
    fn compress(&mut self, kernel: &[u8], frame: &mut Vec<u8>) -> io::Result<()> {
        frame.clear();
        frame.extend_from_slice(b"\x28\xb5\x2f\xfd\x20");
        frame.push(u8::try_from(kernel.len()).map_err(io::Error::other)?);
        frame.extend_from_slice(&((kernel.len() as u32) << 3 | 1).to_le_bytes()[..3]);
        frame.extend_from_slice(kernel);
        Ok(())
    }
}

fn options(scheme: Scheme, threads: usize) -> PackOptions<'static> {
    let mut options = PackOptions { encoder: Some(&Raw), ..PackOptions::default() };
    options.write.scheme = scheme;
    options.threads = NonZeroUsize::new(threads).unwrap();
    options
}

fn names(count: usize) -> Vec<(String, Vec<u8>)> {
    (0..count).map(|n| (format!("lib{}#{}", n / 3, n % 3), vec![n as u8; n % 200])).collect()
}

fn pack(names: &[(String, Vec<u8>)]) -> Pack<'_> {
    let mut pack = Pack::new(b"g", b"f");
    for (name, bytes) in names {
        pack.items.push(Item::new(name.as_bytes(), b"gfx1", Content::Bytes(bytes)));
    }
    pack
}

fn written(pack: &Pack<'_>, options: &PackOptions<'_>) -> (Vec<u8>, Packed) {
    let mut bytes = Vec::new();
    let packed = pack.write(&mut bytes, options, &|_, _| ()).unwrap();
    (bytes, packed)
}

fn open(bytes: Vec<u8>) -> Archive<Vec<u8>> {
    Archive::from_source(bytes, &Options::default()).unwrap()
}

#[test]
fn threads_make_no_difference_and_all_comes_back() {
    let names = names(1000);
    let pack = pack(&names);
    for scheme in [Scheme::None, Scheme::ZstdPerKernel] {
        let (one, packed) = written(&pack, &options(scheme, 1));
        for threads in [2, 7] {
            assert!(written(&pack, &options(scheme, threads)).0 == one);
        }
        assert_eq!((packed.kernels, packed.total), (1000, one.len() as u64));
        let archive = open(one);
        for (name, bytes) in &names {
            assert_eq!(&archive.kernel(name, "gfx1").unwrap(), bytes);
        }
    }
}

#[test]
fn stored_bytes_are_copied_where_they_can_be() {
    let names = names(100);
    let pack = pack(&names);
    for from in [Scheme::None, Scheme::ZstdPerKernel] {
        let (source, _) = written(&pack, &options(from, 2));
        let archive = open(source.clone());
        let mut again = Pack::new(b"g", b"f");
        let mut ids = archive.order().to_vec();
        ids.sort_by_key(|&id| archive.record_at(id).ordinal);
        for &id in &ids {
            let record = archive.record_at(id);
            again.items.push(Item::new(record.binary, record.arch, Content::Entry(&archive, id)));
        }
        for to in [Scheme::None, Scheme::ZstdPerKernel] {
            let mut options = options(to, 2);
            let (direct, _) = written(&pack, &options);
            // Without an encoder, only what needs none.
            options.encoder = Some(&Raw).filter(|_| from != to).map(|raw| raw as _);
            let (copied, packed) = written(&again, &options);
            assert!(copied == direct, "{from:?} to {to:?}");
            let compressed = u64::from(to == Scheme::ZstdPerKernel && from != to) * 100;
            assert_eq!(packed.compressed, compressed);
            options.encoder = Some(&Raw);
            options.recompress = true;
            let (again, packed) = written(&again, &options);
            assert!(again == direct);
            assert_eq!(packed.compressed, u64::from(to == Scheme::ZstdPerKernel) * 100);
        }
    }
}

#[test]
fn an_item_like_another_is_stored_once() {
    let mut pack = Pack::new(b"g", b"f");
    pack.items.push(Item::new(b"a", b"gfx1", Content::Bytes(b"one")));
    pack.items.push(Item::new(b"b", b"gfx1", Content::Bytes(b"two")));
    pack.items.push(Item::new(b"c", b"gfx1", Content::Same(0)));
    for scheme in [Scheme::None, Scheme::ZstdPerKernel] {
        let (bytes, packed) = written(&pack, &options(scheme, 2));
        assert_eq!((packed.kernels, packed.size), (3, 9));
        let archive = open(bytes);
        assert_eq!(archive.walk_frames().unwrap(), 2);
        assert_eq!(archive.kernel("c", "gfx1").unwrap(), b"one");
    }
    pack.items.push(Item::new(b"d", b"gfx1", Content::Same(3)));
    let error = pack.write(&mut Vec::new(), &options(Scheme::None, 1), &|_, _| ()).unwrap_err();
    assert!(error.to_string().starts_with("d for gfx1: ordinal"), "{error}");
}

#[test]
fn a_stream_takes_what_is_known_beforehand() {
    let names = names(50);
    let pack = pack(&names);
    let mut stream = Stream::new(Vec::new());
    pack.write(&mut stream, &options(Scheme::None, 2), &|_, _| ()).unwrap();
    assert!(stream.into_inner() == written(&pack, &options(Scheme::None, 2)).0);
    let mut stream = Stream::new(Vec::new());
    let error =
        pack.write(&mut stream, &options(Scheme::ZstdPerKernel, 2), &|_, _| ()).unwrap_err();
    assert!(error.to_string().contains("needs a seekable output"), "{error}");
    assert!(stream.into_inner().is_empty());
}

#[test]
fn files_and_checksums() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kernel");
    std::fs::write(&path, b"a code objec").unwrap();
    let mut pack = Pack::new(b"small", b"gfx90a");
    pack.items.push(Item::new(b"lib/libsmall.so#0", b"gfx90a", Content::File(&path)));
    let (bytes, _) = written(&pack, &options(Scheme::None, 1));
    assert_eq!(bytes, EXAMPLE);
    let options = PackOptions { checksums: true, ..options(Scheme::ZstdPerKernel, 1) };
    let (bytes, _) = written(&pack, &options);
    let sha256 = Sha256::digest(b"a code objec");
    let key = [&b"\xa6sha256\xc4\x20"[..], &sha256].concat();
    assert!(bytes.windows(key.len()).any(|window| window == key));

    // What an archive says wrongly of a kernel is found where the kernel is decoded.
    let archive = open(bytes);
    let mut copy = Pack::new(b"small", b"gfx90a");
    let id = archive.order()[0];
    copy.items.push(Item::new(b"a", b"gfx90a", Content::Entry(&archive, id)));
    copy.items[0].sha256 = archive.record_at(id).sha256.copied();
    assert!(copy.items[0].sha256.is_some());
    let mut decoding = options;
    decoding.write.scheme = Scheme::None;
    written(&copy, &decoding);
    copy.items[0].sha256 = Some([0; 32]);
    let error = copy.write(&mut Vec::new(), &decoding, &|_, _| ()).unwrap_err();
    assert!(error.to_string().contains("another sha256"), "{error}");

    let missing = dir.path().join("missing");
    pack.items.push(Item::new(b"b", b"gfx1", Content::File(&missing)));
    let error = pack.write(&mut Vec::new(), &options, &|_, _| ()).unwrap_err();
    assert!(error.path() == Some(&missing) && error.binary().as_deref() == Some("b"), "{error}");
    pack.items[1].content = Content::File(dir.path());
    let error = pack.write(&mut Vec::new(), &options, &|_, _| ()).unwrap_err();
    assert!(error.to_string().contains("is a directory"), "{error}");
}

#[test]
fn an_output_that_fails_ends_it() {
    struct Full(u64);
    impl WriteAt for Full {
        fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
            if offset + bytes.len() as u64 > self.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(())
        }
    }
    let names = names(200);
    let pack = pack(&names);
    let (bytes, _) = written(&pack, &options(Scheme::None, 2));
    for most in [0, 64, bytes.len() as u64 - 1] {
        let error = pack.write(&mut Full(most), &options(Scheme::None, 2), &|_, _| ()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::StorageFull)
        );
    }
    pack.write(&mut Full(bytes.len() as u64), &options(Scheme::None, 2), &|_, _| ()).unwrap();
}

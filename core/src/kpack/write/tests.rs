use alloc::vec::Vec;

use super::*;
use crate::kpack::{OwnedToc, Strictness};

fn options(scheme: Scheme) -> WriteOptions {
    WriteOptions { scheme, ..WriteOptions::default() }
}

fn refused<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(|_| ()).expect_err("it must be refused").kind
}

/// Writes kernels of one architecture; each put must go on where the one before ended until the
/// archive is complete.
fn write(options: &WriteOptions, announce: bool, kernels: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut writer = Writer::new(b"g", b"f", options).unwrap();
    if announce {
        writer.announce(kernels.iter().map(|(_, stored)| stored.len() as u64)).unwrap();
    }
    let mut archive = Vec::new();
    writer.header().write_to(&mut archive);
    for (name, stored) in kernels {
        let size = stored.len() as u64;
        for put in writer.add(&Kernel::new(name, b"gfx1", size), stored).unwrap() {
            assert_eq!(put.offset, archive.len() as u64, "in order");
            put.write_to(&mut archive);
        }
        assert_eq!(writer.position(), archive.len() as u64);
    }
    let finished = writer.finish().unwrap();
    for (at, put) in finished.puts().enumerate() {
        assert_eq!(at == 0, put.offset == archive.len() as u64);
        assert!(!announce || at == 0, "only the table is left");
        put.write_to(&mut archive);
    }
    assert_eq!(finished.total(), archive.len() as u64);
    archive
}

const KERNELS: [(&[u8], &[u8]); 4] =
    [(b"a#0", b"one"), (b"a#1", b""), (b"b#0", b"three"), (b"c", b"x")];

#[test]
fn announced_or_not_the_bytes_are_the_same() {
    for scheme in [Scheme::None, Scheme::ZstdPerKernel] {
        let options = options(scheme);
        for count in 0..=KERNELS.len() {
            let plain = write(&options, false, &KERNELS[..count]);
            assert_eq!(write(&options, true, &KERNELS[..count]), plain);
            let toc = OwnedToc::read(&plain, &Limits::default(), Strictness::Strict).unwrap();
            assert_eq!(toc.len(), count);
        }
    }
}

#[test]
fn alignment_is_that_of_every_kernel() {
    for align in [2, 64, 4096] {
        let archive = write(&WriteOptions { align, ..options(Scheme::None) }, true, &KERNELS);
        let toc = OwnedToc::read(&archive, &Limits::default(), Strictness::Strict).unwrap();
        for (name, stored) in KERNELS {
            let entry = toc.find(name, b"gfx1").unwrap().unwrap();
            let offset = entry.offset.unwrap();
            assert_eq!(offset % u64::from(align), 0);
            assert_eq!(&archive[offset as usize..][..stored.len()], stored);
        }
    }
    for (align, scheme) in
        [(0, Scheme::None), (3, Scheme::None), (8192, Scheme::None), (64, Scheme::ZstdPerKernel)]
    {
        let kind = refused(Writer::new(b"", b"", &WriteOptions { align, ..options(scheme) }));
        assert_eq!(kind, ErrorKind::Kpack(Fault::Align { align }));
    }
}

#[test]
fn optional_keys_stand_behind_the_usual_ones() {
    let options = WriteOptions { index: true, ..options(Scheme::ZstdPerKernel) };
    let mut writer = Writer::new(b"g", b"f", &options).unwrap();
    let mut archive = Vec::new();
    writer.header().write_to(&mut archive);
    let mut kernel = Kernel::new(b"a", b"gfx1", 3);
    (kernel.metadata, kernel.sha256) = (kernel_metadata(), Some([7; 32]));
    for put in writer.add(&kernel, b"frame").unwrap() {
        put.write_to(&mut archive);
    }
    (kernel.arch, kernel.kind) = (b"gfx2", None);
    (kernel.metadata, kernel.sha256) = (None, None);
    writer.link(&kernel, 0).unwrap();
    for put in writer.finish().unwrap().puts() {
        put.write_to(&mut archive);
    }
    let mut entry =
        b"\x87\xa4type\xa5hsaco\xa7ordinal\0\xadoriginal_size\x03\xa8metadata\x81\xa1k\x07\
        \xacframe_offset\x48\xaaframe_size\x05\xa6sha256\xc4\x20"
            .to_vec();
    entry.extend([7; 32]);
    entry.extend(
        b"\xa4gfx2\x84\xa7ordinal\0\xadoriginal_size\x03\xacframe_offset\x48\xaaframe_size\x05",
    );
    let found = archive.windows(entry.len()).filter(|window| *window == entry).count();
    assert_eq!(found, 1, "{}", archive.escape_ascii());
    assert_eq!(&archive[0x48 - 4..0x48 + 5], b"\x05\0\0\0frame");
    let toc = OwnedToc::read(&archive, &Limits::default(), Strictness::Strict).unwrap();
    let (one, two) = (toc.find(b"a", b"gfx1").unwrap(), toc.find(b"a", b"gfx2").unwrap());
    assert_eq!((one.unwrap().ordinal, one.unwrap().metadata), (0, kernel_metadata()));
    assert_eq!((two.unwrap().ordinal, two.unwrap().kind), (0, None));
}

fn kernel_metadata() -> Option<&'static [u8]> {
    Some(b"\x81\xa1k\x07")
}

#[test]
fn backslashes_become_slashes_unless_they_are_kept() {
    for (verbatim, name) in [(false, &b"lib/a.dll#0"[..]), (true, b"lib\\a.dll#0")] {
        let archive = write(
            &WriteOptions { verbatim, ..options(Scheme::None) },
            false,
            &[(b"lib\\a.dll#0", b"x")],
        );
        let toc = OwnedToc::read(&archive, &Limits::default(), Strictness::Strict).unwrap();
        assert_eq!(toc.binaries(), [name]);
    }
    let mut writer = Writer::new(b"", b"", &options(Scheme::None)).unwrap();
    let _ = writer.add(&Kernel::new(b"a/b", b"gfx1", 0), b"").unwrap();
    let twice = refused(writer.add(&Kernel::new(b"a\\b", b"gfx1", 0), b""));
    assert_eq!(twice, ErrorKind::Kpack(Fault::Duplicate(Repeated::Arch)));
}

#[test]
fn listed_architectures_come_first() {
    let mut writer = Writer::new(b"", b"", &options(Scheme::None)).unwrap();
    writer.arch(b"gfx3").unwrap();
    writer.arch(b"gfx1").unwrap();
    writer.arch(b"gfx3").unwrap();
    let mut archive = Vec::new();
    writer.header().write_to(&mut archive);
    for arch in [b"gfx2", b"gfx1"] {
        let _ = writer.add(&Kernel::new(b"a", arch, 0), b"").unwrap();
    }
    for put in writer.finish().unwrap().puts() {
        put.write_to(&mut archive);
    }
    let toc = OwnedToc::read(&archive, &Limits::default(), Strictness::Strict).unwrap();
    assert_eq!(toc.arches(), [b"gfx3", b"gfx1", b"gfx2"]);
}

#[test]
fn what_no_reader_would_take_is_not_written() {
    let mut limits = Limits::embedded();
    (limits.kernels, limits.key_bytes, limits.toc_bytes) = (3, 8, 200);
    let mut writer =
        Writer::new(b"g", b"f", &WriteOptions { limits, ..options(Scheme::ZstdPerKernel) })
            .unwrap();
    let kernel = Kernel::new(b"a", b"g", 4);
    let cap = |kind: ErrorKind| match kind {
        ErrorKind::Limit { cap, .. } => cap,
        other => panic!("{other}"),
    };
    let of_size = |size| Kernel::new(b"a", b"g", size);
    assert_eq!(cap(refused(writer.place(&of_size(2 << 20), 9))), Cap::KernelBytes);
    assert_eq!(cap(refused(writer.place(&of_size(65_537), 2))), Cap::Expansion);
    assert_eq!(
        refused(writer.place(&kernel, 1 << 32)),
        ErrorKind::Kpack(Fault::FrameTooLong { size: 1 << 32 })
    );
    assert_eq!(cap(refused(writer.place(&Kernel::new(b"nine char", b"g", 4), 4))), Cap::KeyBytes);
    assert_eq!(cap(refused(writer.place(&Kernel::new(b"a", b"nine char", 4), 4))), Cap::KeyBytes);
    for metadata in [&b""[..], b"\x80\xc0", b"\x90", b"\x81\xa1k", &[0x81; 40]] {
        let with = Kernel { metadata: Some(metadata), ..kernel };
        assert_eq!(refused(writer.place(&with, 4)), ErrorKind::Kpack(Fault::Metadata));
    }
    let long: Vec<u8> = [&b"\x81\xa1k\xda\x01\x40"[..], &[b'x'; 320]].concat();
    assert_eq!(
        cap(refused(writer.place(&Kernel { metadata: Some(&long), ..kernel }, 4))),
        Cap::TocBytes
    );
    let missing = Fault::Ordinal { ordinal: 0, count: 0 };
    assert_eq!(refused(writer.link(&kernel, 0)), ErrorKind::Kpack(missing));
    // Nothing of all that has left a trace.
    assert_eq!((writer.stored(), writer.position()), (0, 68));
    for name in [b"a", b"b", b"c"] {
        writer.place(&Kernel::new(name, b"g", 4), 4).unwrap();
    }
    assert_eq!(cap(refused(writer.place(&Kernel::new(b"d", b"g", 4), 4))), Cap::Kernels);
    assert_eq!(cap(refused(writer.link(&Kernel::new(b"d", b"g", 4), 1))), Cap::Kernels);
    assert_eq!(cap(refused(writer.finish())), Cap::TocBytes);

    let mut writer = Writer::new(b"g", b"f", &options(Scheme::None)).unwrap();
    let mismatch = Fault::SizeMismatch { declared: 4, stored: 5 };
    assert_eq!(refused(writer.place(&kernel, 5)), ErrorKind::Kpack(mismatch));
    let limits = Limits { kernel_bytes: u64::MAX, ..Limits::default() };
    let mut writer =
        Writer::new(b"g", b"f", &WriteOptions { limits, ..options(Scheme::None) }).unwrap();
    let huge = Kernel { size: u64::MAX, ..kernel };
    let kind = refused(writer.place(&huge, u64::MAX));
    assert!(matches!(kind, ErrorKind::Kpack(Fault::BlobRange { .. })), "{kind}");
}

#[test]
fn other_kernels_than_announced_are_an_error() {
    let kernel = |name: &'static [u8], size| Kernel::new(name, b"g", size);
    let make = || {
        let mut writer = Writer::new(b"g", b"f", &options(Scheme::None)).unwrap();
        writer.announce([3, 4]).unwrap();
        writer
    };
    let wrong = ErrorKind::Kpack(Fault::Announced { kernels: 2, toc_offset: 71 });
    let mut writer = make();
    assert_eq!(refused(writer.place(&kernel(b"a", 8), 8)), wrong);
    let _ = writer.place(&kernel(b"a", 3), 3).unwrap();
    assert_eq!(refused(make().finish()), wrong);
    let _ = writer.place(&kernel(b"b", 4), 4).unwrap();
    assert_eq!(refused(writer.place(&kernel(b"c", 0), 0)), wrong);
    assert!(writer.finish().is_ok());
    // The same end by another count, or another end by the same count.
    let mut writer = make();
    let _ = writer.place(&kernel(b"a", 7), 7).unwrap();
    assert_eq!(refused(writer.finish()), wrong);
    let mut writer = make();
    for (name, size) in [(b"a", 1), (b"b", 1)] {
        let _ = writer.place(&Kernel::new(name, b"g", size), size).unwrap();
    }
    assert_eq!(refused(writer.finish()), wrong);
}

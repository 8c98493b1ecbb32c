//! The blocking drivers.

use std::cell::RefCell;
use std::io::{self, Read};
use std::ops::ControlFlow;

use laws::machines::{Chain, Kept, Link, Records};
use rocload::drive::{self, DriveError, Driven, Window};
use rocload::file::ReadAt;
use rocload::kpack::{self, Open, Opened, OwnedIndex, Strictness};
use rocload::zstd::FrameIndex;
use rocload_core::{End, ItemKind, Limits, Machine};

use crate::suite::{Driver, add, expected, linked, suite};

/// Random access with sources that give at most so many bytes at once.
struct At(usize);
/// Streams that give at most so many bytes at once, and are interrupted now and then.
struct Stream(usize);

struct Slow<'a> {
    bytes: &'a [u8],
    most: usize,
    calls: usize,
}

impl Slow<'_> {
    fn next(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = buf.len().min(self.most);
        self.bytes.read(&mut buf[..n])
    }
}

struct SlowAt<'a>(RefCell<Slow<'a>>);

impl ReadAt for SlowAt<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut slow = self.0.borrow_mut();
        let whole = slow.bytes;
        slow.bytes = whole.get(offset as usize..).unwrap_or(&[]);
        let read = slow.next(buf);
        slow.bytes = whole;
        read
    }

    fn total(&self) -> io::Result<u64> {
        Ok(self.0.borrow().bytes.len() as u64)
    }
}

impl Read for Slow<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.next(buf)
    }
}

impl Driver for At {
    fn drive<M: Machine>(
        &self,
        source: &[u8],
        machine: &mut M,
        window: &mut Window,
        see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<u32>,
    ) -> Driven<u32> {
        let source = SlowAt(RefCell::new(Slow { bytes: source, most: self.0, calls: 0 }));
        drive::read_at(&source, machine, window, see)
    }

    const SEEKS: bool = true;
}

impl Driver for Stream {
    fn drive<M: Machine>(
        &self,
        source: &[u8],
        machine: &mut M,
        window: &mut Window,
        see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<u32>,
    ) -> Driven<u32> {
        let mut source = Slow { bytes: source, most: self.0, calls: 0 };
        drive::stream(&mut source, machine, window, see)
    }

    const SEEKS: bool = false;
}

#[test]
fn random_access() {
    for most in [1, 7, 4096, usize::MAX] {
        suite(&At(most));
    }
}

#[test]
fn streams() {
    for most in [1, 7, 4096, usize::MAX] {
        suite(&Stream(most));
    }
}

#[test]
fn a_stream_goes_on_after_a_break() {
    let source = linked(false);
    let mut reader = Slow { bytes: &source, most: 1000, calls: 0 };
    let (mut machine, mut window) = (Chain::new(), Window::new());
    let mut items: Vec<Kept> = Vec::new();
    while drive::stream(&mut reader, &mut machine, &mut window, |link| {
        add(&mut items, Kept::from(link));
        ControlFlow::Break(())
    })
    .unwrap()
    .is_break()
    {}
    assert_eq!(items, expected(Chain::new(), |link: Link<'_>| Kept::from(link), &source).0);
}

#[test]
fn what_a_stream_leaves_is_kept() {
    let mut reader = &b"\x02hi\xffthe next protocol"[..];
    let (mut machine, mut window) = (Records::new(), Window::new());
    let driven =
        drive::stream(&mut reader, &mut machine, &mut window, |_| ControlFlow::<()>::Continue(()));
    assert_eq!(driven.unwrap(), ControlFlow::Continue(End::Complete));
    assert_eq!((window.rest(), window.position()), (&b"the next protocol"[..], 4));
}

/// Counts calls and bytes.
struct Counted<'a> {
    bytes: &'a [u8],
    reads: RefCell<Vec<(u64, usize)>>,
}

impl<'a> Counted<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Counted { bytes, reads: RefCell::default() }
    }
}

impl ReadAt for Counted<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.reads.borrow_mut().push((offset, buf.len()));
        self.bytes.read_at(buf, offset)
    }

    fn total(&self) -> io::Result<u64> {
        self.bytes.total()
    }
}

#[test]
fn an_archive_opens_in_two_reads() {
    let archive = kpack::EXAMPLE;
    let total = archive.len() as u64;
    let open = || {
        let (limits, strict) = (Limits::default(), Strictness::Strict);
        Open::new(total, limits, strict, Vec::new(), OwnedIndex::default())
    };
    let source = Counted::new(archive);
    let (mut machine, mut kernels) = (open(), 0);
    let driven = drive::read_at(&source, &mut machine, &mut Window::new(), |item| {
        if let Opened::Toc(toc) = item {
            kernels = toc.counts().entries;
        }
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(driven.unwrap(), ControlFlow::Continue(End::Complete));
    assert_eq!((kernels, machine.into_toc().map(|toc| toc.len())), (1, Some(1)));
    assert_eq!(*source.reads.borrow(), [(0, 16), (76, archive.len() - 76)]);

    // As a stream: what lies between is read and dropped.
    let mut reader = archive;
    let mut machine = open();
    let mut window = Window::new();
    let driven =
        drive::stream(&mut reader, &mut machine, &mut window, |_| ControlFlow::<()>::Continue(()));
    assert_eq!(driven.unwrap(), ControlFlow::Continue(End::Complete));
    assert_eq!(machine.into_toc().map(|toc| toc.len()), Some(1));
    assert!(window.rest().is_empty());
}

/// A zstd region of frames of these lengths.
fn region(lengths: &[u32]) -> Vec<u8> {
    let mut bytes = (lengths.len() as u32).to_le_bytes().to_vec();
    for len in lengths {
        bytes.extend(len.to_le_bytes());
        bytes.resize(bytes.len() + *len as usize, 0xaa);
    }
    bytes
}

fn walk(bytes: &[u8]) -> (Vec<u32>, Vec<(u64, usize)>) {
    let mut index = FrameIndex::new(0, bytes.len() as u64, &Limits::default()).unwrap();
    let source = Counted::new(bytes);
    let mut lengths = Vec::new();
    let driven = drive::read_at(&source, &mut index, &mut Window::new(), |span| {
        lengths.push(span.len);
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(driven.unwrap(), ControlFlow::Continue(End::Complete));
    (lengths, source.reads.into_inner())
}

#[test]
fn hints_are_honoured_and_nothing_is_read_twice() {
    // Long frames: the words alone.
    let (lengths, reads) = walk(&region(&[50_000; 5]));
    assert_eq!(lengths, [50_000; 5]);
    assert_eq!(reads.iter().map(|(_, len)| len).sum::<usize>(), 24);
    assert_eq!(reads.len(), 6);

    // Short ones: many with one read, and no byte in two of them.
    let bytes = region(&[100; 5000]);
    let (lengths, reads) = walk(&bytes);
    assert_eq!(lengths, [100; 5000]);
    assert!(reads.len() < 15, "{reads:?}");
    assert!(reads.windows(2).all(|pair| pair[0].0 + pair[0].1 as u64 <= pair[1].0), "{reads:?}");
    assert!(reads.iter().map(|(_, len)| len).sum::<usize>() <= bytes.len());
}

/// Fails once at each read.
struct Failing<'a>(&'a [u8], RefCell<bool>);

impl ReadAt for Failing<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let failed = self.1.replace_with(|failed| !*failed);
        if failed { self.0.read_at(buf, offset) } else { Err(io::Error::other("a bad sector")) }
    }

    fn total(&self) -> io::Result<u64> {
        self.0.total()
    }
}

#[test]
fn a_source_that_fails_can_be_tried_again() {
    let bytes = linked(true);
    let source = Failing(&bytes, RefCell::new(false));
    let (mut machine, mut window) = (Chain::new(), Window::with_most(10_000));
    let (mut items, mut failures): (Vec<Kept>, u32) = (Vec::new(), 0);
    loop {
        let driven = drive::read_at(&source, &mut machine, &mut window, |link| {
            add(&mut items, Kept::from(link));
            ControlFlow::<()>::Continue(())
        });
        match driven {
            Ok(flow) => break assert_eq!(flow, ControlFlow::Continue(End::Complete)),
            Err(DriveError::Io(error)) => assert_eq!(error.to_string(), "a bad sector"),
            Err(other) => panic!("{other}"),
        }
        failures += 1;
    }
    assert!(failures > 8, "{failures}");
    assert_eq!(items, expected(Chain::new(), |link: Link<'_>| Kept::from(link), &bytes).0);
}

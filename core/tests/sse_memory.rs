//! What the parser of events and the reader of responses take: no allocation with lent memory,
//! and growth in a few steps where it may grow.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

use rocload_core::http::{Item as Part, Method, Response};
use rocload_core::sse::{Item, Parser};
use rocload_core::{Limits, Storage, visit};

struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Calls of the allocator that `work` makes on this thread.
fn calls(work: impl FnOnce()) -> usize {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

const EVENTS: &[u8] = b"event: delta\nid: 7\ndata: {\"a\":1}\n\n: ping\n\ndata: one\ndata: two\n\n\
    retry: 10\n\nerror: x\r\ndata: of more than thirty-two bytes, which are too many here\r\n\r\ndata: end\n\n";

#[test]
fn nothing_is_allocated_with_lent_memory() {
    // That calls are counted is seen from one.
    assert_eq!(calls(|| drop(vec![0u8; 16])), 1);
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", EVENTS.len(), String::from_utf8_lossy(EVENTS));
    let wire =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}").into_bytes();
    for size in [1, 3, 16, 64, wire.len()] {
        let (mut events, mut overflows) = (0, 0);
        let made = calls(|| {
            let limits = Limits::default();
            let mut response = Response::new(Method::Get, &limits, [0u8; 256]);
            let mut parser = Parser::new(&limits, [0u8; 32]).comments(true).fields(true);
            for chunk in wire.chunks(size) {
                visit(&mut response, 0, chunk, |part| {
                    let Part::Body(body) = part else { return };
                    visit(&mut parser, 0, body, |item| match item {
                        Item::Event(event) => events += usize::from(event.data_str().is_ok()),
                        Item::Overflow(_) => overflows += 1,
                        _ => {}
                    })
                    .unwrap();
                })
                .unwrap();
            }
        });
        assert_eq!((events, overflows, made), (3, 1, 0), "in chunks of {size}");
    }
}

/// Grows to what is asked, and counts how often and how many bytes that moves.
#[derive(Default)]
struct Growing {
    bytes: Vec<u8>,
    grown: usize,
    moved: usize,
}

impl Storage for Growing {
    fn slots(&self) -> &[u8] {
        &self.bytes
    }

    fn slots_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn grow(&mut self, min: usize) -> bool {
        if min > self.bytes.len() {
            self.grown += 1;
            self.moved += self.bytes.len();
            self.bytes.resize(min, 0);
        }
        true
    }
}

#[test]
fn a_line_of_a_mebibyte_byte_by_byte_moves_few_bytes() {
    const LEN: usize = 1 << 20;
    let line = [b"data: ", &vec![b'x'; LEN][..], b"\n\n"].concat();
    let mut parser = Parser::new(&Limits::default(), Growing::default());
    let mut found = 0;
    for byte in line.chunks(1) {
        visit(&mut parser, 0, byte, |item| {
            let Item::Event(event) = item else { panic!("{item:?}") };
            found += event.data.len();
        })
        .unwrap();
    }
    let Growing { bytes, grown, moved } = parser.into_storage();
    assert_eq!((found, bytes.len()), (LEN, LEN));
    // Each time to twice the size: as many bytes as there are, in all.
    assert!(grown <= 13 && moved <= LEN, "{grown} times, {moved} bytes");
}

#[test]
fn storage_is_never_asked_for_more_than_the_cap() {
    let mut limits = Limits::default();
    limits.event_bytes = 1000;
    limits.head_bytes = 500;
    let flood = [b"data: ", &vec![b'x'; 100_000][..]].concat();
    let mut parser = Parser::new(&limits, Growing::default());
    let mut overflows = 0;
    for chunk in flood.chunks(7) {
        visit(&mut parser, 0, chunk, |item| {
            assert!(matches!(item, Item::Overflow(_)));
            overflows += 1;
        })
        .unwrap();
    }
    assert_eq!((overflows, parser.into_storage().bytes.len() <= 1000), (1, true));
    let flood = [b"HTTP/1.1 200 OK\r\nX: ", &vec![b'x'; 100_000][..]].concat();
    for size in [7, flood.len()] {
        let mut response = Response::new(Method::Get, &limits, Growing::default());
        let error = flood
            .chunks(size)
            .find_map(|chunk| visit(&mut response, 0, chunk, |_| panic!("an item")).err());
        assert!(error.is_some());
        assert!(response.into_storage().bytes.len() <= 500);
    }
}

//! What the project's zstd decoder takes: no heap, a workspace of fixed size, and little stack.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

use std::io::Write;

use rocload_core::zstd::{Decompress, LITERALS, Workspace, decode_all, decode_frame};
use rocload_core::{Cap, Error, ErrorKind, Full, Limits};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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

/// Allocations of this thread during `work`.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// Compresses, in several blocks of literals and sequences with tables of their own.
fn content() -> Vec<u8> {
    (0..120_000u32).flat_map(|n| (n.wrapping_mul(n) / 7 % 1021 * (n % 5)).to_le_bytes()).collect()
}

fn frame(content: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::bulk::Compressor::new(5).expect("a compressor");
    encoder.include_checksum(true).expect("a checksum");
    encoder.compress(content).expect("compresses")
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(core::hint::black_box(Box::new(1)))), 1);
}

fn no_heap<const L: usize>() {
    let content = content();
    let src = frame(&content);
    let mut dst = vec![0; content.len()];
    let mut ring = vec![0; content.len() + (256 << 10)];
    let mut decoder = Box::new(Workspace::<L>::new());
    let mut broken = src.clone();
    broken[20..].fill(0x99);
    // The first time as well as later, and for errors.
    for _ in 0..2 {
        let count = allocations(|| {
            decode_frame(&mut decoder, &src, &mut dst).expect("decodes");
            decode_all(&mut decoder, &src, &mut dst).expect("decodes");
            decoder.decode(&src, &mut dst).expect("decodes");
            let mut seen = 0;
            let (size, limits) = (content.len() as u64, Limits::default());
            let sink = &mut |piece: &[u8]| seen += piece.len();
            decoder.decode_pieces(&src, size, &limits, &mut &mut ring[..], sink).expect("decodes");
            assert_eq!(seen, content.len());
            decoder.decode(&broken, &mut dst).expect_err("broken");
        });
        assert_eq!(count, 0);
    }
}

#[test]
fn no_heap_is_used() {
    no_heap::<LITERALS>();
    no_heap::<0>();
}

#[test]
fn workspaces_have_their_sizes() {
    assert!(size_of::<Workspace<0>>() <= 16 << 10, "{}", size_of::<Workspace<0>>());
    assert!(size_of::<Workspace>() <= 150 << 10, "{}", size_of::<Workspace>());
}

/// On the smallest stack that a thread can have, of which the system keeps some for itself.
#[test]
fn a_small_stack_is_enough() {
    fn run<const L: usize>() {
        let content = content();
        let src = frame(&content);
        let mut dst = vec![0; content.len()];
        let mut decoder = Box::new(Workspace::<L>::new());
        let thread = std::thread::Builder::new().stack_size(16 << 10).spawn(move || {
            decode_frame(&mut decoder, &src, &mut dst).expect("decodes");
            dst
        });
        assert!(thread.expect("a thread").join().expect("enough stack") == content);
    }
    run::<LITERALS>();
    run::<0>();
}

/// A frame with a window of 16 KiB and blocks of no more than 2 KiB of content.
fn short_blocks(content: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 5).expect("an encoder");
    encoder.window_log(14).expect("a window");
    encoder.include_checksum(true).expect("a checksum");
    encoder.set_pledged_src_size(Some(content.len() as u64)).expect("a size");
    for block in content.chunks(2 << 10) {
        encoder.write_all(block).expect("compresses");
        encoder.flush().expect("ends a block");
    }
    encoder.finish().expect("ends the frame")
}

#[test]
fn short_blocks_take_little_memory() {
    fn run<const L: usize>(need: usize) {
        let content = content();
        let src = short_blocks(&content);
        let mut decoder = Box::new(Workspace::<L>::new());
        let mut pieces = |block_bytes, memory| {
            let mut limits = Limits::embedded();
            limits.block_bytes = block_bytes;
            let (mut window, mut made) = (vec![0; memory], Vec::new());
            let (size, window) = (content.len() as u64, &mut &mut window[..]);
            let sink = &mut |piece: &[u8]| made.extend_from_slice(piece);
            decoder.decode_pieces(&src, size, &limits, window, sink).map(|()| made == content)
        };
        assert_eq!(pieces(2 << 10, need), Ok(true));
        let full = |need| Err(Error::new(ErrorKind::Full(Full { need }), 0));
        assert_eq!(pieces(2 << 10, need - 1), full(need as u64));
        let all = (16 << 10) * if L == 0 { 3 } else { 2 } + need as u64 % 1024;
        assert_eq!(pieces(128 << 10, need), full(all));
        assert_eq!(pieces(u32::MAX, all as usize), Ok(true));
        let error = pieces(2047, need).expect_err("the first block has 2,048 bytes");
        let ErrorKind::Limit { cap: Cap::BlockBytes, value, limit: 2047 } = error.kind else {
            panic!("{error:?}");
        };
        assert!(value > 2047 && value <= 2048, "{value}");
        assert!(pieces(0, need).is_err());
    }
    // The window, a block and what a copy overshoots; without a buffer of its own, the literals of
    // a block as well.
    run::<LITERALS>((16 << 10) + (2 << 10) + 32);
    run::<0>((16 << 10) + 2 * ((2 << 10) + 32));
}

//! What machines take from the heap, over sound and broken inputs: nothing where memory is lent.
//!
//! The fuzz targets hold the same; here the law is shown to be able to fail, too.

use laws::counting::{Counting, is_counting, measure};
use laws::memory::{self, Bound, NOTHING};
use laws::random::Random;
use laws::{limits, sse};
use rocload_core::{Limits, sse as core_sse};
use rocload_fixtures::{Fixture, bad_archives, good_archives};

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn archives_take_no_heap_or_a_bounded_part_of_it() {
    assert!(is_counting());
    let mut seen = 0;
    for archive in good_archives().chain(bad_archives()) {
        let bytes = Fixture::bytes(&archive);
        if bytes.len() > 1 << 20 {
            continue;
        }
        memory::kpack(&bytes, &Limits::default())
            .unwrap_or_else(|broken| panic!("{}: {broken}", archive.name()));
        for seed in 0..40 {
            limits::kpack(&bytes, seed)
                .unwrap_or_else(|broken| panic!("{}: {broken}", archive.name()));
        }
        memory::walks(&bytes, &Limits::default()).unwrap();
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn headers_take_no_heap_or_a_bounded_part_of_it() {
    for case in rocload_fixtures::gguf::committed() {
        let bytes = std::fs::read(case.file()).unwrap();
        memory::gguf(&bytes, &Limits::default())
            .unwrap_or_else(|broken| panic!("{}: {broken}", case.path));
        for seed in 0..40 {
            limits::gguf(&bytes, seed).unwrap_or_else(|broken| panic!("{}: {broken}", case.path));
        }
    }
}

#[test]
fn streams_take_no_heap_or_a_bounded_part_of_it() {
    let mut random = Random::new(3);
    for seed in 0..300 {
        let bytes = sse::soup(&mut random);
        memory::events(&bytes, &Limits::default()).unwrap();
        memory::stream(&bytes, &Limits::default()).unwrap();
        memory::response(&bytes, &Limits::default()).unwrap();
        limits::events(&bytes, seed).unwrap();
        limits::response(&[b"HTTP/1.1 200 OK\r\nA: b\r\n", &bytes[..]].concat(), seed).unwrap();
    }
}

#[test]
fn what_takes_more_is_found_out() {
    let bytes = b"data: 0123456789\n\n";
    let make = || core_sse::Parser::new(&Limits::default(), Vec::new());
    let broken = memory::bounded(make, |_| {}, bytes, NOTHING).unwrap_err();
    assert_eq!(broken.law, "what lends its memory allocates nothing");
    let broken = memory::bounded(make, |_| {}, bytes, Bound { per_byte: 0, more: 4 }).unwrap_err();
    assert_eq!(broken.law, "memory is bounded by the input");
    let (used, vec) = measure(|| vec![1u8; 64]);
    drop(vec);
    assert_eq!((used.allocated, used.peak), (64, 64));
}

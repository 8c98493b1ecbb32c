//! What opening an archive allocates: never in proportion to a size that is merely declared.
#![cfg(feature = "alloc")]

mod counting;

use counting::allocated;
use rocload_core::Limits;
use rocload_core::kpack::{OwnedToc, Strictness};
use rocload_fixtures::{Stage, bad_archives, good_archives};

/// What may be allocated for a file of `len` bytes.
fn bound(len: usize) -> usize {
    4 * len + (64 << 10)
}

#[test]
fn the_count_counts() {
    let (bytes, made) = allocated(|| vec![0u8; 100_000]);
    assert!(bytes >= made.len() && bytes < 200_000, "{bytes}");
}

#[test]
fn opening_allocates_for_what_is_there() {
    let limits = Limits::default();
    let (mut most, mut refused) = ((0, String::new()), 0);
    for archive in bad_archives().chain(good_archives()) {
        let file = archive.bytes();
        for strictness in [Strictness::Strict, Strictness::Compat] {
            let (bytes, toc) = allocated(|| OwnedToc::read(&file, &limits, strictness));
            assert!(bytes <= bound(file.len()), "{}: {bytes} for {}", archive.path, file.len());
            if strictness == Strictness::Strict && archive.stage == Some(Stage::Open) {
                assert!(toc.is_err(), "{} opens", archive.path);
                refused += 1;
            }
            if bytes > most.0 {
                most = (bytes, archive.path.clone());
            }
        }
    }
    println!("{refused} refused; at most {} bytes, for {}", most.0, most.1);
    assert!(refused >= 60, "{refused}");
}

#[test]
fn declared_counts_and_lengths_reserve_nothing() {
    // A sound archive whose counts and lengths are raised, one after another, to the most that
    // their encoding holds.
    let sound = rocload_core::kpack::EXAMPLE;
    let (mut tried, mut refused) = (0, 0);
    for at in 76..sound.len() {
        let head = sound[at];
        let wide: &[u8] = match head {
            0x80..=0x8f => b"\xdf\xff\xff\xff\xff",
            0x90..=0x9f => b"\xdd\xff\xff\xff\xff",
            0xa0..=0xbf => b"\xdb\xff\xff\xff\xff",
            _ => continue,
        };
        let archive = [&sound[..at], wide, &sound[at + 1..]].concat();
        let (bytes, toc) =
            allocated(|| OwnedToc::read(&archive, &Limits::default(), Strictness::Strict));
        assert!(bytes <= bound(archive.len()), "byte {at}: {bytes}");
        tried += 1;
        refused += usize::from(toc.is_err());
    }
    assert!(tried >= 20 && refused == tried, "{refused} of {tried}");
}

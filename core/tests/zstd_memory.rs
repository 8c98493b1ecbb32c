//! What the ruzstd backend allocates: never in proportion to what a frame merely declares.
#![cfg(feature = "ruzstd")]

mod counting;

use counting::allocated;
use rocload_core::zstd::{Decompress, Ruzstd};
use rocload_core::{Limits, zstd};

/// Compresses, in blocks of literals and sequences.
fn content() -> Vec<u8> {
    (0..200_000u32).flat_map(|n| (n / 7 % 251).to_le_bytes()).collect()
}

#[test]
fn a_declared_window_reserves_nothing() {
    // A window of 128 MiB around an empty block, and around a block of 3 bytes.
    let empty = b"\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00";
    let three = b"\x28\xb5\x2f\xfd\x00\x88\x19\x00\x00abc";
    let mut decoder = Ruzstd::new();
    for _ in 0..3 {
        let (bytes, result) = allocated(|| decoder.decode(empty, &mut []));
        assert_eq!(result, Ok(()));
        assert!(bytes < 1 << 20, "{bytes}");
        let mut dst = [0; 3];
        let (bytes, result) = allocated(|| decoder.decode(three, &mut dst));
        assert_eq!((result, &dst), (Ok(()), b"abc"));
        assert!(bytes < 1 << 20, "{bytes}");
    }
}

#[test]
fn a_declared_content_size_reserves_nothing() {
    // 3.75 GiB of window or TiB of content, with blocks that produce three bytes.
    let window = b"\x28\xb5\x2f\xfd\x00\xaf\x19\x00\x00abc";
    let content = b"\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x03\x00\x00\x19\x00\x00abc";
    let mut decoder = Ruzstd::new();
    let (bytes, _) = allocated(|| {
        assert_eq!(decoder.decode(window, &mut [0; 3]), Ok(()));
        assert!(decoder.decode(content, &mut [0; 3]).is_err());
        assert!(decoder.decode(content, &mut [0; 3]).is_err());
        assert!(zstd::precheck(content, 3 << 40, &Limits::default()).is_err());
    });
    assert!(bytes < 1 << 20, "{bytes}");
}

#[test]
fn allocations_are_reused() {
    let content = content();
    let src = ::zstd::bulk::compress(&content, 3).expect("compresses");
    let mut dst = vec![0; content.len()];
    let mut decoder = Ruzstd::new();
    let (cold, _) = allocated(|| decoder.decode(&src, &mut dst).expect("decodes"));
    let (warm, _) = allocated(|| decoder.decode(&src, &mut dst).expect("decodes"));
    assert!(dst == content);
    assert!(cold > content.len() / 2, "the first call makes room: {cold}");
    assert!(warm < 64 << 10, "the second has it: {warm}");
}

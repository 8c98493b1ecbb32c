//! The laws of the zstd decoder over the fixtures' frames and what the C library makes.

use laws::decompress::Given;
use laws::zstd::{Decoders, LONG_BLOCK, Ring, first_frame, frames, pieces};
use rocload_core::Limits;
use rocload_fixtures::bad::frame_cases;
use rocload_fixtures::frame::{Block, Frame, FrameOptions, compress};
use rocload_fixtures::rng::Rng;

fn content(size: usize) -> Vec<u8> {
    let mut rng = Rng::new(size as u64);
    let line: Vec<u8> = (0..97).map(|_| rng.next_u64() as u8 & 15).collect();
    (0..size).map(|at| if rng.below(9) == 0 { 7 } else { line[at % 97] }).collect()
}

fn in_rings(decoders: &mut Decoders, src: &[u8], size: usize, limits: &Limits) -> Ring {
    for more in [1, 500] {
        pieces(decoders, src, size, limits, more).unwrap();
    }
    pieces(decoders, src, size, limits, 32).unwrap()
}

#[test]
fn sound_frames_are_decoded_everywhere() {
    let mut decoders = Decoders::new();
    for level in [-5, 1, 19] {
        for size in [0, 1, 300, 40_000, 300_000] {
            for (checksum, content_size, pieces) in [(true, true, 1), (false, false, 3)] {
                let skippable = (pieces > 1).then_some(5);
                let options = FrameOptions { level, checksum, content_size, pieces, skippable };
                let src = compress(&content(size), &options);
                assert_eq!(decoders.size(&src, size + 10), size);
                for room in [0, 1, 40] {
                    assert_eq!(frames(&mut decoders, &src, size + room), Ok(Given::Decoded));
                    first_frame(&mut decoders, &src, size + room).unwrap();
                }
                if size > 0 {
                    assert_eq!(frames(&mut decoders, &src, size - 1), Ok(Given::Refused));
                    first_frame(&mut decoders, &src, size - 1).unwrap();
                }
                let limits = Limits::default();
                assert_eq!(in_rings(&mut decoders, &src, size, &limits), Ring::Decoded);
                if size > 0 {
                    let wrong = in_rings(&mut decoders, &src, size - 1, &limits);
                    assert_eq!(wrong, Ring::Refused);
                }
            }
        }
    }
}

#[test]
fn broken_frames_are_refused_everywhere() {
    let mut decoders = Decoders::new();
    let mut seen = 0;
    for case in frame_cases() {
        let size = case.original_size.min(1 << 20) as usize;
        let limits = Limits::default();
        first_frame(&mut decoders, &case.frame, size).unwrap();
        let given = frames(&mut decoders, &case.frame, size).unwrap();
        let ring = in_rings(&mut decoders, &case.frame, size, &limits);
        // Some are sound frames of another size than the case claims.
        assert!(
            given == Given::Refused || decoders.size(&case.frame, size) != size,
            "{}",
            case.name
        );
        assert!(matches!(ring, Ring::Refused | Ring::Limit), "{}: {ring:?}", case.name);
        seen += 1;
    }
    assert!(seen > 30, "{seen} cases");
}

#[test]
fn a_window_over_the_limit_is_refused_and_no_other() {
    let mut decoders = Decoders::new();
    let src = compress(&content(5000), &FrameOptions::default());
    let mut limits = Limits::default();
    limits.window_bytes = 5000;
    assert_eq!(in_rings(&mut decoders, &src, 5000, &limits), Ring::Decoded);
    limits.window_bytes = 4999;
    assert_eq!(in_rings(&mut decoders, &src, 5000, &limits), Ring::Limit);
}

#[test]
fn the_differences_that_are_allowed_are_seen() {
    let mut decoders = Decoders::new();
    // A compressed block of an empty single segment: no literals, no sequences.
    let empty = Frame {
        single_segment: true,
        content_size: Some(0),
        blocks: vec![Block::compressed(vec![0, 0])],
        ..Frame::default()
    };
    assert_eq!(frames(&mut decoders, &empty.bytes(), 0), Ok(Given::Excused(LONG_BLOCK)));
    // The largest content size, which the C library reads as none.
    let largest = Frame {
        content_size: Some(u64::MAX),
        blocks: vec![Block::raw(b"abc")],
        ..Frame::default()
    };
    assert_eq!(decoders.by_c(&largest.bytes(), 3), Ok(b"abc".to_vec()));
    assert_eq!(frames(&mut decoders, &largest.bytes(), 3), Ok(Given::Refused));
}

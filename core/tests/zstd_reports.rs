//! What went wrong in other zstd decoders, by their public reports: the input that each implies.

mod zstd_inputs;

use rocload_core::zstd::{
    Decompress, Fault, LITERALS, MAX_BLOCK, Workspace, decode_all, decode_frame,
};
use rocload_core::{Error, ErrorKind, Full, Limits};
use zstd::zstd_safe::CParameter;
use zstd_inputs::{
    Random, Ring, block, by_c, compress, compressed, content, frame, one_code, raw_literals,
    single_segment, windowed,
};

/// Every test of a report is run in both layouts.
macro_rules! both {
    ($($(#[$meta:meta])* fn $name:ident<$L:ident>() $body:block)*) => {
        $($(#[$meta])* mod $name {
            use super::*;
            fn run<const $L: usize>() $body
            #[test]
            fn fast() {
                run::<LITERALS>();
            }
            #[test]
            fn small() {
                run::<0>();
            }
        })*
    };
}

fn workspace<const L: usize>() -> Box<Workspace<L>> {
    Box::new(Workspace::new())
}

fn all<const L: usize>(src: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    let mut dst = vec![0xa5; size];
    let written = decode_all(&mut workspace::<L>(), src, &mut dst)?;
    dst.truncate(written);
    Ok(dst)
}

/// Piece by piece, in the memory that is asked for.
fn pieces<const L: usize>(src: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    let (limits, sink) = (Limits::default(), &mut |piece: &[u8]| content.extend_from_slice(piece));
    let mut ring = Ring::default();
    workspace::<L>().decode_pieces(src, size as u64, &limits, &mut ring, sink)?;
    Ok(content)
}

fn fault<T: core::fmt::Debug>(result: Result<T, Error>) -> Fault {
    match result {
        Err(Error { kind: ErrorKind::Zstd(fault), .. }) => fault,
        other => panic!("{other:?}"),
    }
}

/// A frame of one compressed block without literals, of sequences with one code each.
fn sequences(size: u32, codes: [u8; 3], extra: &[[(u32, u32); 3]]) -> Vec<u8> {
    literals_and_sequences(size, b"", codes, extra)
}

fn literals_and_sequences(
    size: u32,
    literals: &[u8],
    codes: [u8; 3],
    extra: &[[(u32, u32); 3]],
) -> Vec<u8> {
    let body = [raw_literals(literals), one_code(extra.len(), codes, extra)].concat();
    [single_segment(size), compressed(&body)].concat()
}

both! {
    /// Report 1: a streaming decoder stopped after the first of 18 frames.
    fn r01_concatenated_frames_behind_a_skippable_one<L>() {
        let parts: Vec<Vec<u8>> = (0..18).map(|n| content(1000 * n + 1, n as u64)).collect();
        let mut src = b"\x50\x2a\x4d\x18\x02\0\0\0hi".to_vec();
        for (at, part) in parts.iter().enumerate() {
            src.extend(frame(part, 3, at % 2 == 0));
        }
        let content = parts.concat();
        assert!(all::<L>(&src, content.len()).as_ref() == Ok(&content));
        assert!(pieces::<L>(&src, content.len()).as_ref() == Ok(&content));
    }

    /// Report 2: skippable frames were refused.
    fn r02_skippable_frames_of_every_magic_number_and_size<L>() {
        for magic in 0x50..=0x5f {
            for len in [0u32, 1, 1000] {
                let head = [&[magic, 0x2a, 0x4d, 0x18], &len.to_le_bytes()[..]].concat();
                let skip = [head, vec![7; len as usize]].concat();
                assert_eq!(all::<L>(&skip, 0), Ok(vec![]));
                let src = [&skip[..], &frame(b"abc", 1, true), &skip].concat();
                assert_eq!(all::<L>(&src, 3).as_deref(), Ok(&b"abc"[..]));
            }
            let huge = [magic, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff, 1, 2, 3];
            let expected = Fault::Skippable { len: u32::MAX, left: 3 };
            assert_eq!(fault(all::<L>(&huge, 10)), expected);
        }
    }

    /// Report 3: a ring buffer read behind its end, at a match that ends with the buffer.
    fn r03_matches_that_end_with_the_buffer<L>() {
        for len in 1..300 {
            let half = content(len, len as u64);
            let content = [&half[..], &half].concat();
            let src = frame(&content, 19, false);
            assert!(all::<L>(&src, content.len()).as_ref() == Ok(&content), "{len}");
            assert!(pieces::<L>(&src, content.len()).as_ref() == Ok(&content), "{len}");
        }
        // One literal repeated to the very end, for each length and with no byte to spare.
        for len in 3..35u8 {
            let src = literals_and_sequences(
                u32::from(len) + 1, b"x", [1, 2, len - 3], &[[(0, 2), (0, 0), (0, 0)]],
            );
            assert_eq!(all::<L>(&src, usize::from(len) + 1), Ok(vec![b'x'; usize::from(len) + 1]));
        }
    }

    /// Report 4: truncated dictionaries caused panics. There are none here, and whatever begins
    /// like one is no frame.
    fn r04_every_prefix_of_a_dictionary<L>() {
        let dictionary = [&b"\x37\xa4\x30\xec\x01\x02\x03\x04"[..], &[0x55; 40]].concat();
        for len in 4..dictionary.len() {
            let found = 0xec30_a437;
            assert_eq!(fault(all::<L>(&dictionary[..len], 100)), Fault::NotZstd { found });
        }
        for (flag, id) in [(1u8, &b"\x07"[..]), (2, b"\x07\x00"), (3, b"\x07\0\0\0")] {
            let head = [&[0x28, 0xb5, 0x2f, 0xfd, 0x20 | flag], id, &[0]].concat();
            let src = [head, block(true, 0, 0, b"")].concat();
            assert_eq!(fault(all::<L>(&src, 0)), Fault::Dictionary { id: 7 });
            assert_eq!(fault(pieces::<L>(&src, 0)), Fault::Dictionary { id: 7 });
        }
    }

    /// Report 5: the first repeated offset less one wrapped around at 0.
    fn r05_repeated_offset_below_one<L>() {
        // No literals and the third choice: the offset before, less one. It is 1 at the start.
        let src = sequences(100, [0, 1, 0], &[[(1, 1), (0, 0), (0, 0)]]);
        assert_eq!(fault(all::<L>(&src, 100)), Fault::Offset);
        assert_eq!(fault(pieces::<L>(&src, 100)), Fault::Offset);
        // Behind enough content for any other offset, and followed by more sequences.
        let literals = [b'a'; 60];
        let body = [
            block(false, 0, 60, &literals),
            compressed(&[raw_literals(b""), one_code(30, [0, 1, 0], &[[(1, 1), (0, 0), (0, 0)]; 30])]
                .concat()),
        ].concat();
        let src = [single_segment(200), body].concat();
        assert_eq!(fault(all::<L>(&src, 200)), Fault::Offset);
    }

    /// Report 6: match lengths from 65,539 on were encoded wrong, and nobody compared the size.
    fn r06_match_lengths_over_64_kib<L>() {
        let mut random = Random(6);
        let noise: Vec<u8> = (0..131_072).map(|_| random.next() as u8).collect();
        let content = [&noise[..], &[0; 8], &noise[..131_064]].concat();
        for checksum in [true, false] {
            let src = frame(&content, 3, checksum);
            assert!(src.len() < 140_000, "the second half is a match");
            assert!(all::<L>(&src, content.len()).as_ref() == Ok(&content));
        }
        for extra in [0, 1, 65_000] {
            let size = 1 + 65_539 + extra;
            let src = literals_and_sequences(
                size, b"q", [1, 2, 52], &[[(0, 2), (extra, 16), (0, 0)]],
            );
            assert_eq!(all::<L>(&src, size as usize), Ok(vec![b'q'; size as usize]));
            let short = literals_and_sequences(
                size + 1, b"q", [1, 2, 52], &[[(0, 2), (extra, 16), (0, 0)]],
            );
            let (produced, expected) = (u64::from(size), u64::from(size) + 1);
            let error = Fault::Produced { produced, expected };
            assert_eq!(fault(all::<L>(&short, size as usize + 1)), error);
        }
    }

    /// Report 7: windows over a fixed limit were refused, or limits were off by one.
    fn r07_windows_at_the_limit<L>() {
        for log in [10, 17, 23, 27, 28, 31] {
            let src = [windowed(log), block(true, 1, 1000, b"w")].concat();
            assert_eq!(all::<L>(&src, 1000), Ok(vec![b'w'; 1000]), "no limit in a slice");
            assert_eq!(pieces::<L>(&src, 1000), Ok(vec![b'w'; 1000]), "content is less");
        }
        let content = content(300_000, 7);
        let src = compress(&content, &[CParameter::WindowLog(17), CParameter::ContentSizeFlag(false)]);
        let mut limits = Limits::default();
        for (window_bytes, fits) in [((1 << 17) - 1, false), (1 << 17, true)] {
            limits.window_bytes = window_bytes;
            let (mut seen, mut ring) = (0, Ring::default());
            let result = workspace::<L>().decode_pieces(
                &src, content.len() as u64, &limits, &mut ring, &mut |piece| seen += piece.len(),
            );
            assert_eq!(result.is_ok(), fits);
            assert_eq!(seen, if fits { content.len() } else { 0 });
        }
    }

    /// Reports 8 and 9: a window was reserved because it was declared, or twice over.
    fn r08_r09_memory_is_for_what_is_used<L>() {
        let literals = if L == 0 { MAX_BLOCK as usize + 32 } else { 0 };
        // A window of 3.75 GiB, in the first frame and in the second.
        let huge = b"\x28\xb5\x2f\xfd\x00\xaf\x01\x00\x00";
        let mut ring = Ring::default();
        let mut decoder = workspace::<L>();
        for src in [&huge[..], &[&huge[..], huge].concat()] {
            let result = decoder.decode_pieces(src, 0, &Limits::default(), &mut ring, &mut |_| {});
            assert_eq!((result, ring.0.capacity()), (Ok(()), 0));
        }
        // 4 MiB of window for 6 MiB of content: window, block, and what a copy overshoots.
        let content = content(6 << 20, 8);
        let src = compress(&content, &[CParameter::WindowLog(22), CParameter::CompressionLevel(1)]);
        let need = (4 << 20) + MAX_BLOCK as usize + 32 + literals;
        let mut seen = Vec::new();
        let mut run = |ring: &mut [u8]| {
            seen.clear();
            decoder.decode_pieces(
                &src, content.len() as u64, &Limits::default(), &mut &mut ring[..],
                &mut |piece| seen.extend_from_slice(piece),
            )
        };
        let full = ErrorKind::Full(Full { need: need as u64 });
        assert_eq!(run(&mut vec![0; need - 1]), Err(Error::new(full, 0)));
        assert_eq!(run(&mut vec![0; need]), Ok(()));
        assert!(seen == content);
    }

    /// Report 10: the checksum went on from the frame before.
    fn r10_two_checksums_in_one_workspace<L>() {
        let mut decoder = workspace::<L>();
        for seed in 0..3 {
            let content = content(10_000, seed);
            let src = frame(&content, 3, true);
            let mut dst = vec![0; content.len()];
            decode_frame(&mut decoder, &src, &mut dst).unwrap();
            assert!(dst == content);
        }
    }

    /// Report 11: a raw block was read through 128 KiB of stack.
    fn r11_a_raw_block_on_a_small_stack<L>() {
        let body = vec![0x77; MAX_BLOCK as usize];
        let src = [windowed(17), block(true, 0, body.len(), &body)].concat();
        let mut dst = vec![0; body.len()];
        let mut decoder = workspace::<L>();
        let thread = std::thread::Builder::new().stack_size(64 << 10);
        let thread = thread.spawn(move || decode_frame(&mut decoder, &src, &mut dst).map(|_| dst));
        assert_eq!(thread.unwrap().join().unwrap(), Ok(body));
    }

    /// Report 12: memory was reserved for what many long matches in one block claim.
    fn r12_a_block_of_maximal_matches<L>() {
        let longest = [(0, 2), (65_535, 16), (0, 0)];
        let body = [raw_literals(b"z"), one_code(90_000, [0, 2, 52], &vec![longest; 90_000])].concat();
        // Longer than a block may be, so as few as fit.
        assert!(body.len() > MAX_BLOCK as usize);
        let some = 40_000;
        let body = [raw_literals(b"z"), one_code(some, [0, 2, 52], &vec![longest; some])].concat();
        let src = [windowed(27), block(true, 2, body.len(), &body)].concat();
        assert!(matches!(fault(all::<L>(&src, 1 << 20)), Fault::BlockTooLarge { .. }));
        let before = block(false, 0, 1, b"z");
        let src = [windowed(27), before, block(true, 2, body.len(), &body)].concat();
        assert!(matches!(fault(all::<L>(&src, 1 << 20)), Fault::BlockTooLarge { .. }));
        let most = 1 + MAX_BLOCK as usize;
        assert!(matches!(fault(pieces::<L>(&src, most)), Fault::BlockTooLarge { .. }));
    }

    /// Report 13: one entry point did not compare checksums.
    fn r13_a_wrong_checksum_at_every_entry<L>() {
        let content = content(5000, 13);
        let src = frame(&content, 3, true);
        for at in 1..=4 {
            let mut bad = src.clone();
            let end = bad.len();
            bad[end - at] ^= 1;
            let is_checksum = |fault| matches!(fault, Fault::Checksum { .. });
            let mut dst = vec![0; content.len()];
            assert!(is_checksum(fault(decode_frame(&mut workspace::<L>(), &bad, &mut dst))));
            assert!(is_checksum(fault(all::<L>(&bad, content.len()))));
            assert!(is_checksum(fault(workspace::<L>().decode(&bad, &mut dst))));
            assert!(is_checksum(fault(pieces::<L>(&bad, content.len()))));
        }
    }

    /// Report 14: blocks over the maximum, and sizes that are not what the frame holds.
    fn r14_block_maximum_and_declared_size<L>() {
        // A window of 1 KiB: so are its blocks.
        for kind in [0, 1] {
            for (size, good) in [(1024, true), (1025, false)] {
                let body = vec![5; if kind == 0 { size } else { 1 }];
                let src = [windowed(10), block(true, kind, size, &body)].concat();
                match all::<L>(&src, 5000) {
                    Ok(content) => assert!(good && content == vec![5; size]),
                    Err(error) => {
                        let kind = Fault::BlockTooLarge { size: 1025, max: 1024 };
                        assert_eq!((good, error.kind), (false, ErrorKind::Zstd(kind)));
                    }
                }
            }
        }
        // By a match that ends with the maximum, or a byte behind it.
        for (extra, good) in [(0, true), (1, false)] {
            let sequence = [(0, 2), (extra, 9), (0, 0)];
            let body = [raw_literals(&[1; 509]), one_code(1, [1, 2, 45], &[sequence])].concat();
            let src = [windowed(10), compressed(&body)].concat();
            match all::<L>(&src, 5000) {
                Ok(content) => assert!(good && content == [1; 1024]),
                Err(error) => {
                    let kind = ErrorKind::Zstd(Fault::BlockTooLarge { size: 1025, max: 1024 });
                    assert_eq!((good, error.kind), (false, kind));
                }
            }
        }
        let content = content(3000, 14);
        let src = frame(&content, 3, false);
        assert_eq!(src[4] >> 5, 0b011, "a single segment with a size of 2 bytes");
        for change in [-1i16, 1] {
            let mut lying = src.clone();
            let size = (content.len() as i16 + change) as u16;
            lying[5..7].copy_from_slice(&(size - 256).to_le_bytes());
            for room in [content.len(), 10_000] {
                assert!(all::<L>(&lying, room).is_err());
                assert!(pieces::<L>(&lying, room).is_err());
            }
        }
    }

    /// Report 15: the path straight into a slice trusted its input.
    fn r15_every_cut_and_flip_in_a_slice<L>() {
        let content = content(1500, 15);
        let src = frame(&content, 19, false);
        for size in [0, 1, 700, 1499, 1500, 1501, 4000] {
            for len in 0..src.len() {
                assert!(all::<L>(&src[..len], size).is_err() || len == 0);
            }
            for bit in 0..src.len() * 8 {
                let mut bytes = src.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                if let Ok(other) = all::<L>(&bytes, size) {
                    assert!(other.len() <= size);
                }
            }
        }
    }

    /// Report 16: no sequences underflowed a count, and a failed Huffman stream showed memory
    /// that had never been written.
    fn r16_no_sequences_and_failed_literals<L>() {
        let body = [raw_literals(b"literals alone"), vec![0]].concat();
        let src = [single_segment(14), compressed(&body)].concat();
        assert_eq!(all::<L>(&src, 14).as_deref(), Ok(&b"literals alone"[..]));
        // Trailing bytes behind an empty section.
        let body = [raw_literals(b"literals alone"), vec![0, 0]].concat();
        let src = [single_segment(14), compressed(&body)].concat();
        assert_eq!(fault(all::<L>(&src, 14)), Fault::SequenceBits);
        // A workspace that has seen a secret does not show it after a failure.
        let mut decoder = workspace::<L>();
        let secret = frame(&[0xee; 4000], 3, false);
        decode_frame(&mut decoder, &secret, &mut [0; 4000]).unwrap();
        let content: Vec<u8> = content(4000, 16).iter().map(|byte| byte & 0x7f).collect();
        let src = frame(&content, 3, false);
        for at in 12..src.len().min(300) {
            let mut bad = src.clone();
            bad[at] ^= 0x10;
            let mut dst = vec![0; 4000];
            if decode_frame(&mut decoder, &bad, &mut dst).is_err() {
                let runs = dst.chunks(16).filter(|run| **run == [0xee; 16]).count();
                assert_eq!(runs, 0, "byte {at}");
            }
        }
    }

    /// Report 17: a corrupt later frame was tried for ever.
    fn r17_a_corrupt_later_frame<L>() {
        let content = content(2000, 17);
        let src = frame(&content, 3, true);
        for broken in [&b"\x28\xb5\x2f\xfd"[..], b"\x28\xb5\x2f\xfd\x00\x00\x07\0\0", b"\0", b"junk!"] {
            let src = [&src[..], broken].concat();
            let error = all::<L>(&src, 10_000).unwrap_err();
            assert!(error.offset >= (src.len() - broken.len()) as u64, "{error}");
            assert!(pieces::<L>(&src, content.len()).is_err());
        }
    }

    /// Report 18: an output limit in the middle of a frame confused positions.
    fn r18_every_size_of_output<L>() {
        let content = content(700, 18);
        let src = [frame(&content[..300], 3, true), frame(&content[300..], 19, false)].concat();
        for size in 0..700 {
            match all::<L>(&src, size) {
                Err(Error { kind: ErrorKind::Full(full), .. }) => {
                    assert!(full.need > size as u64 && full.need <= 700);
                }
                other => panic!("{size}: {other:?}"),
            }
        }
        assert!((700..800).all(|size| all::<L>(&src, size).as_ref() == Ok(&content)));
        // Without declared sizes.
        let src = compress(&content, &[CParameter::ContentSizeFlag(false)]);
        for size in 0..700 {
            assert!(matches!(all::<L>(&src, size).unwrap_err().kind, ErrorKind::Full(_)), "{size}");
        }
        assert!((700..800).all(|size| all::<L>(&src, size).as_ref() == Ok(&content)));
    }

    /// Report 19: literals of more bytes than any block holds, in a frame of 18 bytes.
    fn r19_extremes_of_the_literals_header<L>() {
        for kind in 0..4u32 {
            // The widest header of each kind, with everything set.
            let words: [&[u8]; 4] = [&[], &[0xff; 3], &[0xff; 4], &[0xff; 8]];
            for rest in words {
                for first in [0xfc, 0xf4, 0xf8, 0xf0] {
                    let body = [&[first | kind as u8][..], rest].concat();
                    let src = [windowed(20), compressed(&body)].concat();
                    assert!(all::<L>(&src, 1 << 20).is_err());
                    assert!(pieces::<L>(&src, 1 << 20).is_err());
                }
            }
        }
        // One byte repeated 1,048,575 times.
        let src = [windowed(20), compressed(&[0xfd, 0xff, 0xff, 7, 0])].concat();
        let error = Fault::BlockTooLarge { size: 1_048_575, max: MAX_BLOCK };
        assert_eq!(fault(all::<L>(&src, 1 << 21)), error);
    }

    /// Report 20: lengths of four streams that are not there.
    fn r20_four_streams_in_too_few_bytes<L>() {
        // A table of two symbols, then 0 to 12 bytes for the lengths and the streams.
        for rest in 0..12 {
            for fill in [0, 1, 0xff] {
                for regenerated in [1u64, 5, 6, 100, 1023] {
                    let stored = 2 + rest as u64;
                    let word = 0b0110 | regenerated << 4 | stored << 14;
                    let head = &word.to_le_bytes()[..3];
                    let body = [head, &[128, 0x10], &vec![fill; rest], &[0]].concat();
                    let src = [windowed(20), compressed(&body)].concat();
                    assert!(all::<L>(&src, 2000).is_err(), "{body:x?}");
                    assert!(by_c(&src, 2000).is_err(), "{body:x?}");
                }
            }
        }
    }

    /// Report 21: copies of 16 bytes ran over, at literals that end with the buffer.
    fn r21_literals_that_end_with_the_buffer<L>() {
        for len in 1..80usize {
            let literals: Vec<u8> = (0..len as u8).collect();
            let body = [raw_literals(&literals), vec![0]].concat();
            let src = [single_segment(len as u32), compressed(&body)].concat();
            assert_eq!(all::<L>(&src, len).as_ref(), Ok(&literals));
            // Some before a match, some after it.
            let before = (len / 2).min(15);
            if before > 0 {
                let src = literals_and_sequences(
                    len as u32 + 10, &literals, [before as u8, 2, 7], &[[(0, 2), (0, 0), (0, 0)]],
                );
                let last = literals[before - 1];
                let content = [&literals[..before], &[last; 10], &literals[before..]].concat();
                assert_eq!(all::<L>(&src, content.len()), Ok(content), "{len}");
            }
        }
    }

    /// Report 22: a translated decoder was miscompiled, and fuzzing found more: dense blocks of
    /// every level, whole and with any byte changed, never bring it down.
    fn r22_dense_blocks_of_every_level<L>() {
        let mut random = Random(22);
        for level in [-5i32, 1, 4, 8, 13, 18, 22] {
            let content = content(40_000, level.unsigned_abs().into());
            let src = frame(&content, level, true);
            assert!(all::<L>(&src, content.len()).as_ref() == Ok(&content));
            for _ in 0..50 {
                let mut bad = src.clone();
                let at = random.below(bad.len());
                bad[at] ^= 1 + random.below(255) as u8;
                assert!(all::<L>(&bad, content.len()).as_ref().is_ok_and(|other| *other == content)
                    || all::<L>(&bad, content.len()).is_err());
            }
        }
    }

    /// Report 23: a length inside the decompressed data was trusted. The size that a caller
    /// expects is held against the frame, and against what it really gave.
    fn r23_the_expected_size_is_compared<L>() {
        let content = content(900, 23);
        for declare in [true, false] {
            let src = compress(&content, &[CParameter::ContentSizeFlag(declare)]);
            for size in [0, 1, 899, 901, 5000] {
                let mut dst = vec![0; size];
                assert!(workspace::<L>().decode(&src, &mut dst).is_err(), "{size}");
                assert!(pieces::<L>(&src, size).is_err(), "{size}");
            }
            let mut dst = vec![0; 900];
            assert_eq!(workspace::<L>().decode(&src, &mut dst), Ok(()));
            assert!(dst == content);
        }
    }

    /// Report 24: an empty body caused an error deep inside.
    fn r24_no_input_is_no_frame<L>() {
        assert_eq!(all::<L>(b"", 0), Ok(vec![]));
        assert_eq!(all::<L>(b"", 10), Ok(vec![]));
        assert_eq!(pieces::<L>(b"", 0), Ok(vec![]));
        assert_eq!(workspace::<L>().decode(b"", &mut []), Ok(()));
        assert_eq!(fault(workspace::<L>().decode(b"", &mut [0])), Fault::Empty);
        let truncated = ErrorKind::Truncated { need: 4, have: 0 };
        let result = decode_frame(&mut workspace::<L>(), b"", &mut []);
        assert_eq!(result, Err(Error::new(truncated, 0)));
    }

    /// Report 25: valid frames that older decoders refuse.
    fn r25_frames_that_older_decoders_refuse<L>() {
        // No sequences, in the two-byte form.
        let body = [raw_literals(b"abc"), vec![0x80, 0]].concat();
        let src = [single_segment(3), compressed(&body)].concat();
        assert_eq!(all::<L>(&src, 3).as_deref(), Ok(&b"abc"[..]));
        // A compressed block without literals or sequences.
        let src = b"\x28\xb5\x2f\xfd\x20\x00\x15\x00\x00\x00\x00";
        assert_eq!(all::<L>(src, 0), Ok(vec![]));
        assert_eq!(pieces::<L>(src, 0), Ok(vec![]));
        // A first block of one byte, 131,072 times.
        let src = [windowed(17), block(true, 1, 131_072, b"r")].concat();
        assert_eq!(all::<L>(&src, 131_072), Ok(vec![b'r'; 131_072]));
        // A compressed block whose content is as long as a block may be: raw literals.
        let literals = vec![3; MAX_BLOCK as usize - 4];
        let body = [raw_literals(&literals), vec![0]].concat();
        assert_eq!(body.len(), MAX_BLOCK as usize);
        let src = [windowed(17), block(true, 2, body.len(), &body)].concat();
        assert_eq!(all::<L>(&src, literals.len()).as_ref(), Ok(&literals));
        // The smallest tables: three codes without a bit.
        let src = literals_and_sequences(8, b"tiny", [4, 0, 1], &[[(0, 0), (0, 0), (0, 0)]]);
        assert_eq!(all::<L>(&src, 8).as_deref(), Ok(&b"tinyyyyy"[..]));
    }
}

//! The project's zstd decoder against the C library: sound frames of every kind, and broken ones.
//!
//! A broken frame may be refused where the C library takes it for one of two reasons alone: a
//! Huffman stream does not end with its last literal, or a block produces more than the frame's
//! block maximum, to which the C library holds compressed sizes and literals alone. It may be taken
//! where the C library refuses it for one reason alone: a compressed block is longer than the
//! frame's block maximum and produces no more than that.

mod zstd_inputs;

use rocload_core::zstd::{
    Decompress, Fault, Frames, Header, LITERALS, MAX_BLOCK, Workspace, decode_all,
};
use rocload_core::{Error, ErrorKind, Limits};
use rocload_fixtures::share;
use zstd::zstd_safe::{CParameter, Strategy};
use zstd_inputs::{Random, by_c, compress, content, frame};

struct Decoders {
    fast: Box<Workspace>,
    small: Box<Workspace<0>>,
}

impl Decoders {
    fn new() -> Self {
        Self { fast: Box::new(Workspace::new()), small: Box::new(Workspace::new()) }
    }

    /// All frames of `src` into `size` bytes, in both layouts, which must agree.
    fn all(&mut self, src: &[u8], size: usize) -> Result<Vec<u8>, Error> {
        fn run<const L: usize>(
            workspace: &mut Workspace<L>,
            src: &[u8],
            size: usize,
        ) -> Result<Vec<u8>, Error> {
            let mut dst = vec![0xa5; size];
            let written = decode_all(workspace, src, &mut dst)?;
            dst.truncate(written);
            Ok(dst)
        }
        let fast = run::<LITERALS>(&mut self.fast, src, size);
        let small = run::<0>(&mut self.small, src, size);
        match (fast, small) {
            (Ok(fast), Ok(small)) => {
                assert!(fast == small, "the two layouts differ");
                Ok(fast)
            }
            (Err(error), Err(_)) => Err(error),
            (fast, small) => panic!("two verdicts: {:?}, {:?}", fast.err(), small.err()),
        }
    }

    /// All frames of `src` piece by piece, in memory of `room` bytes.
    fn pieces<const L: usize>(
        workspace: &mut Workspace<L>,
        src: &[u8],
        size: usize,
        room: &mut [u8],
    ) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        let limits = Limits::default();
        let sink = &mut |piece: &[u8]| all.extend_from_slice(piece);
        workspace.decode_pieces(src, size as u64, &limits, &mut &mut room[..], sink)?;
        Ok(all)
    }

    /// Asserts that every entry point gives `content`.
    fn assert_all_ways(&mut self, src: &[u8], content: &[u8]) {
        let size = content.len();
        for room in [0, 1, 31, 32, 500] {
            assert!(self.all(src, size + room).as_deref() == Ok(content), "{size} + {room}");
        }
        if size > 0 {
            let error = self.all(src, size - 1).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Full(_)), "{error}");
        }
        // Exactly the memory that is asked for, in both layouts.
        let need = |result: Result<Vec<u8>, Error>| match result {
            Err(Error { kind: ErrorKind::Full(full), .. }) => full.need as usize,
            Ok(_) if size == 0 => 0,
            other => panic!("{other:?}"),
        };
        let mut room = vec![0xa5; need(Self::pieces(&mut self.fast, src, size, &mut []))];
        assert!(Self::pieces(&mut self.fast, src, size, &mut room).as_deref() == Ok(content));
        let mut room = vec![0x5a; need(Self::pieces(&mut self.small, src, size, &mut []))];
        assert!(Self::pieces(&mut self.small, src, size, &mut room).as_deref() == Ok(content));
    }
}

#[test]
fn every_level_and_size() {
    let block = MAX_BLOCK as usize;
    let mut decoders = Decoders::new();
    for level in 1..=22 {
        for size in [0, 1, 2, 100, 5000, block - 1, block, block + 1] {
            let content = content(size, level as u64);
            let src = frame(&content, level, level % 2 == 0);
            decoders.assert_all_ways(&src, &content);
        }
    }
    for level in [-7, 1, 3, 9, 19] {
        let content = content(1_500_000, (100 + level) as u64);
        decoders.assert_all_ways(&frame(&content, level, true), &content);
    }
}

#[test]
fn uncompressible_and_repeating_content() {
    let mut decoders = Decoders::new();
    let mut random = Random(7);
    for size in [1, 1000, 131_072, 300_000] {
        let noise: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
        decoders.assert_all_ways(&frame(&noise, 3, true), &noise);
        let zeros = vec![0; size];
        decoders.assert_all_ways(&frame(&zeros, 3, true), &zeros);
        for period in 2..40 {
            let repeating: Vec<u8> = (0..size).map(|at| noise[at % period % size]).collect();
            decoders.assert_all_ways(&frame(&repeating, 1, true), &repeating);
        }
    }
}

#[test]
fn long_mode_and_every_strategy_and_window() {
    let mut decoders = Decoders::new();
    // A megabyte twice, with other things between, so that only long-distance matching finds it.
    let far = [content(1 << 20, 1), content(3 << 20, 2), content(1 << 20, 1)].concat();
    let long = compress(
        &far,
        &[
            CParameter::EnableLongDistanceMatching(true),
            CParameter::WindowLog(27),
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(true),
        ],
    );
    assert!(long.len() < frame(&far, 1, true).len(), "the far matches are used");
    let mut dst = vec![0; far.len()];
    decoders.fast.decode(&long, &mut dst).expect("decodes");
    assert!(dst == far);
    decoders.assert_all_ways(&long, &far);

    let content = content(400_000, 3);
    for strategy in [
        Strategy::ZSTD_fast,
        Strategy::ZSTD_dfast,
        Strategy::ZSTD_greedy,
        Strategy::ZSTD_lazy,
        Strategy::ZSTD_lazy2,
        Strategy::ZSTD_btlazy2,
        Strategy::ZSTD_btopt,
        Strategy::ZSTD_btultra,
        Strategy::ZSTD_btultra2,
    ] {
        for log in [10, 12, 15, 17, 18, 20] {
            // A small window comes round in the ring many times.
            let src = compress(
                &content,
                &[
                    CParameter::Strategy(strategy),
                    CParameter::WindowLog(log),
                    CParameter::ContentSizeFlag(log % 2 == 0),
                    CParameter::ChecksumFlag(true),
                ],
            );
            decoders.assert_all_ways(&src, &content);
        }
    }
}

#[test]
fn several_frames_and_skippable_ones() {
    let mut decoders = Decoders::new();
    let (a, b) = (content(5000, 1), content(200_000, 2));
    let skip = b"\x53\x2a\x4d\x18\x03\0\0\0xyz";
    let src = [&skip[..], &frame(&a, 3, true), skip, &frame(&b, 3, false), skip].concat();
    decoders.assert_all_ways(&src, &[a, b].concat());
}

/// One of the ways in which bytes go wrong.
fn mutate(src: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = src.to_vec();
    let at = random.below(bytes.len());
    match random.below(10) {
        0 | 1 => bytes.truncate(at),
        2..=5 => bytes[at] ^= 1 << random.below(8),
        6 => {
            for _ in 0..3 {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        7 => bytes[at] = random.next() as u8,
        8 => {
            let at = at.min(random.below(40));
            bytes[at] = random.next() as u8;
        }
        _ => {
            // Near the front of a frame stand its tables.
            let at = at.min(random.below(300));
            bytes[at] ^= 1 << random.below(8);
        }
    }
    bytes
}

/// A compressed block is longer than its frame's block maximum, which the C library refuses.
fn has_a_long_compressed_block(src: &[u8]) -> bool {
    Frames::new(src).flatten().any(|frame| {
        let max = frame.header.block_max() as usize;
        let mut blocks = frame.blocks();
        while let Some((head, rest)) = blocks.split_first_chunk::<3>() {
            let word = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let size = (word >> 3) as usize;
            let len = if word >> 1 & 3 == 1 { 1 } else { size };
            if word >> 1 & 3 == 2 && size > max {
                return true;
            }
            blocks = rest.get(len..).unwrap_or(&[]);
        }
        false
    })
}

#[derive(Default, Debug)]
struct Tally {
    both_accept: usize,
    both_refuse: usize,
    not_consumed: usize,
    large_block: usize,
    long_block: usize,
}

/// Holds both decoders to one verdict, apart from the named exceptions.
fn compare(decoders: &mut Decoders, case: &str, bytes: &[u8], size: usize, tally: &mut Tally) {
    match (decoders.all(bytes, size), by_c(bytes, size)) {
        (Ok(ours), Ok(theirs)) => {
            assert!(ours == theirs, "{case}: different bytes");
            tally.both_accept += 1;
        }
        (Err(_), Err(_)) => tally.both_refuse += 1,
        (Err(error), Ok(_)) => match error.kind {
            ErrorKind::Zstd(Fault::HuffmanNotConsumed) => tally.not_consumed += 1,
            ErrorKind::Zstd(Fault::BlockTooLarge { .. }) => tally.large_block += 1,
            _ => panic!("{case}: refused: {error}"),
        },
        (Ok(_), Err(theirs)) => {
            assert!(has_a_long_compressed_block(bytes), "{case}: accepted: {theirs}");
            tally.long_block += 1;
        }
    }
}

/// Frames of all kinds with the size of their content, small enough to be decoded often.
fn seeds(test: &str) -> Vec<(Vec<u8>, usize)> {
    let mut seeds = Vec::new();
    for (level, size) in [(1, 40), (3, 600), (3, 3000), (19, 9000), (1, 20_000), (22, 30_000)] {
        for checksum in [false, true] {
            let content = content(size, level as u64 + size as u64);
            seeds.push((frame(&content, level, checksum), size));
            let several = [&frame(&content, level, checksum)[..]; 2].concat();
            seeds.push((several, 2 * size));
        }
    }
    let text: Vec<u8> = include_str!("zstd_differential.rs").bytes().collect();
    seeds.push((frame(&text, 19, false), text.len()));
    if let Some(root) = rocload_fixtures::shared_data_or_skip(test) {
        let table = std::fs::read_to_string(root.join("zstd/originals.tsv")).expect("the table");
        for (at, row) in table.lines().skip(1).enumerate() {
            let mut fields = row.split('\t');
            let name = fields.next().expect("a name");
            let size: usize = fields.next().expect("a size").parse().expect("a number");
            if size < 60_000 {
                // Three in four without a checksum, which would hide what else is wrong.
                let folder = if at % 4 == 0 { "corpus" } else { "corpus_nock" };
                let path = root.join("zstd").join(folder).join(format!("{name}.zst"));
                seeds.push((std::fs::read(path).expect("a frame"), size));
            }
        }
    }
    seeds
}

/// Mutations of all seeds, `count` in all; times `ROCLOAD_MUTATIONS` where that is set, and then
/// others than without it.
fn mutations(test: &str, count: u32, seed: u64) {
    let times = std::env::var("ROCLOAD_MUTATIONS").ok().and_then(|times| times.parse().ok());
    let (count, seed) =
        (share(count) as usize * times.unwrap_or(1), seed ^ times.unwrap_or(0) as u64);
    let seeds = seeds(test);
    let mut decoders = Decoders::new();
    let mut random = Random(seed);
    let mut tally = Tally::default();
    for round in 0..count {
        let (src, size) = &seeds[round % seeds.len()];
        let bytes = if src.is_empty() { vec![] } else { mutate(src, &mut random) };
        let room = [0, 1000, 7, 33][random.below(4)];
        compare(&mut decoders, &format!("round {round}"), &bytes, size + room, &mut tally);
    }
    println!("{test}: {tally:?}");
    assert!(tally.both_accept > count / 20 && tally.both_refuse > count / 4, "{tally:?}");
    let rare = tally.large_block + tally.long_block;
    assert!(tally.not_consumed < count / 8 && rare < count / 100, "{tally:?}");
}

// Two tests rather than one, so that they run side by side.

#[test]
fn mutations_agree_with_the_c_library_1() {
    mutations("mutations_agree_with_the_c_library_1", 60_000, 0x0dd_ba11);
}

#[test]
fn mutations_agree_with_the_c_library_2() {
    mutations("mutations_agree_with_the_c_library_2", 60_000, 0xfeed_f00d);
}

#[test]
fn every_truncation_and_every_bit_of_small_frames() {
    let mut decoders = Decoders::new();
    let mut tally = Tally::default();
    for (size, level) in [(60, 3), (400, 19), (2000, 3)] {
        let src = frame(&content(size, 9), level, false);
        for len in 0..src.len() {
            compare(&mut decoders, &format!("cut at {len}"), &src[..len], size + 50, &mut tally);
        }
        for bit in 0..8 * src.len() {
            let mut bytes = src.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            compare(&mut decoders, &format!("bit {bit}"), &bytes, size + 50, &mut tally);
        }
    }
    assert!(tally.both_accept > 100 && tally.both_refuse > 1000, "{tally:?}");
}

/// Where slice and ring both take a broken frame, they agree on its bytes; where the slice refuses,
/// so does the ring.
#[test]
fn pieces_of_broken_frames() {
    let mut decoders = Decoders::new();
    let mut random = Random(3);
    let rounds = share(1500);
    let (mut accepted, mut refused) = (0, 0);
    let content = content(150_000, 4);
    for log in [10, 14, 17] {
        let src =
            compress(&content, &[CParameter::WindowLog(log), CParameter::CompressionLevel(5)]);
        let mut room = vec![0; (1 << log) + (1 << 18) + 100];
        for _ in 0..rounds {
            let bytes = mutate(&src, &mut random);
            let mut dst = vec![0; content.len()];
            let whole = decoders.fast.decode(&bytes, &mut dst).map(|()| dst);
            let declared = Header::parse(&bytes).map_or(0, |header| header.window_size);
            let fast = Decoders::pieces(&mut decoders.fast, &bytes, content.len(), &mut room);
            let small = Decoders::pieces(&mut decoders.small, &bytes, content.len(), &mut room);
            for pieces in [fast, small] {
                match (&whole, pieces) {
                    (Ok(whole), Ok(pieces)) => {
                        assert!(*whole == pieces);
                        accepted += 1;
                    }
                    (Err(_), Err(_)) => refused += 1,
                    // Beyond the window, or more window than there is memory.
                    (Ok(_), Err(error)) => assert!(
                        error.kind == ErrorKind::Zstd(Fault::Offset) || declared > 1 << log,
                        "{error}"
                    ),
                    (Err(error), Ok(_)) => panic!("{error}"),
                }
            }
        }
    }
    let seen = format!("{accepted} accepted, {refused} refused");
    assert!(accepted > rounds / 3 && refused > rounds * 2 / 3, "{seen}");
}

#[cfg(feature = "ruzstd")]
#[test]
fn mutations_agree_with_ruzstd() {
    use rocload_core::zstd::Ruzstd;
    let seeds = seeds("mutations_agree_with_ruzstd");
    let mut ours = Box::new(Workspace::fast());
    let mut theirs = Ruzstd::new();
    let mut random = Random(0xcafe);
    let rounds = share(30_000) as usize;
    let (mut accepted, mut refused, mut excepted) = (0, 0, 0);
    for round in 0..rounds {
        let (src, size) = &seeds[round % seeds.len()];
        let bytes = mutate(src, &mut random);
        let (mut dst, mut other) = (vec![1; *size], vec![2; *size]);
        match (ours.decode(&bytes, &mut dst), theirs.decode(&bytes, &mut other)) {
            (Ok(()), Ok(())) => {
                assert!(dst == other, "round {round}");
                accepted += 1;
            }
            (Err(_), Err(_)) => refused += 1,
            // Where they differ the C library is the judge. ruzstd compares the number of all
            // literals, not that of each stream, takes some descriptions of Huffman codes that are
            // none, and refuses what lies beyond the window, which is no business of a slice.
            (Err(error), Ok(())) => {
                let not_consumed = error.kind == ErrorKind::Zstd(Fault::HuffmanNotConsumed);
                assert!(not_consumed || by_c(&bytes, *size).is_err(), "round {round}: {error}");
                excepted += 1;
            }
            (Ok(()), Err(error)) => {
                let theirs = by_c(&bytes, *size);
                assert!(theirs.is_ok_and(|theirs| theirs == dst), "round {round}: {error}");
                excepted += 1;
            }
        }
    }
    let seen = format!("{accepted} accepted, {refused} refused, {excepted} excepted");
    println!("{seen}");
    assert!(accepted > rounds / 60 && refused > rounds / 6 && excepted < rounds / 100, "{seen}");
}

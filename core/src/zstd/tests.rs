//! The backends against the C library and against the corpora of real frames.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::*;
use crate::error::ErrorKind;
use crate::limits::Cap;

/// A folder of real inputs, or `None` after saying so.
fn shared(test: &str, folder: &str) -> Option<PathBuf> {
    rocload_fixtures::shared_data_or_skip(test).map(|root| root.join(folder))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// (name, size, sha256) from a table with a heading.
fn table(path: PathBuf) -> Vec<(String, usize, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let mut fields = line.split('\t');
        let mut next = || String::from(fields.next().unwrap());
        (next(), next().parse().unwrap(), next())
    });
    rows.collect()
}

fn decode(decoder: &mut Ruzstd, src: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    let mut dst = vec![0xa5; size];
    decoder.decode(src, &mut dst).map(|()| dst)
}

fn pieces(decoder: &mut Ruzstd, src: &[u8], size: usize, room: usize) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    let mut room = vec![0; room];
    let limits = Limits::default();
    decoder.decode_pieces(src, size as u64, &limits, &mut &mut room[..], &mut |piece| {
        all.extend_from_slice(piece);
    })?;
    Ok(all)
}

fn c_frame(content: &[u8], checksum: bool, declare: bool) -> Vec<u8> {
    let mut encoder = ::zstd::bulk::Compressor::new(3).unwrap();
    encoder.include_checksum(checksum).unwrap();
    encoder.include_contentsize(declare).unwrap();
    encoder.compress(content).unwrap()
}

/// Text that compresses, and differs by seed.
fn text(len: usize, seed: u32) -> Vec<u8> {
    let mut random = Random(u64::from(seed) + 1);
    let words: Vec<u64> = (0..50).map(|_| random.next()).collect();
    let bytes = core::iter::repeat_with(|| words[random.below(words.len())].to_le_bytes());
    bytes.flatten().take(len).collect()
}

/// xorshift64: reproducible without a dependency.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn zstd_fault(error: Error) -> Fault {
    match error.kind {
        ErrorKind::Zstd(fault) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn real_frames_decode_to_their_originals() {
    let Some(root) = shared("real_frames_decode_to_their_originals", "zstd") else { return };
    let originals = table(root.join("originals.tsv"));
    let objects = table(root.join("code_objects.tsv"));
    let mut decoder = Ruzstd::new();
    let mut seen = 0;
    for (folder, suffix, rows) in [
        ("corpus", ".zst", &originals),
        ("corpus_nock", ".zst", &originals),
        ("code_objects", "", &objects),
    ] {
        for (name, size, sha) in rows {
            let path = root.join(folder).join(format!("{name}{suffix}"));
            let src = std::fs::read(&path).unwrap();
            let scan = scan(&src).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert!((scan.least..=scan.most).contains(&(*size as u64)), "{path:?}: {scan:?}");
            assert!(scan.content_size.is_none_or(|declared| declared == *size as u64));
            let whole = decode(&mut decoder, &src, *size);
            let whole = whole.unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert_eq!(&sha256(&whole), sha, "{path:?}");
            assert!(pieces(&mut decoder, &src, *size, 1000).as_ref() == Ok(&whole), "{path:?}");
            assert!(decode(&mut decoder, &src, size + 1).is_err(), "{path:?}");
            if *size > 0 {
                assert!(decode(&mut decoder, &src, size - 1).is_err(), "{path:?}");
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 2 * originals.len() + objects.len());
}

#[test]
fn golden_frames() {
    let Some(root) = shared("golden_frames", "zstd/golden") else { return };
    let mut decoder = Ruzstd::new();
    for entry in std::fs::read_dir(root.join("valid")).unwrap() {
        let path = entry.unwrap().path();
        let src = std::fs::read(&path).unwrap();
        let content = ::zstd::decode_all(&src[..]).unwrap();
        let decoded = decode(&mut decoder, &src, content.len());
        assert!(decoded.as_ref() == Ok(&content), "{path:?}: {:?}", decoded.err());
    }
    for entry in std::fs::read_dir(root.join("invalid")).unwrap() {
        let path = entry.unwrap().path();
        let src = std::fs::read(&path).unwrap();
        let scan = scan(&src).unwrap();
        // The size that the headers allow, so that no other check than the decoder's refuses it.
        let size = scan.content_size.unwrap_or(scan.most);
        let error = decode(&mut decoder, &src, size as usize).unwrap_err();
        assert_eq!(zstd_fault(error), Fault::Corrupt, "{path:?}");
    }
}

#[test]
fn frames_of_the_c_library_in_every_shape() {
    let mut decoder = Ruzstd::new();
    for size in [0, 1, 255, 256, 65_791, 65_792, 131_072, 131_073, 3 << 20] {
        let content = text(size, size as u32);
        for (checksum, declare) in [(true, true), (true, false), (false, true), (false, false)] {
            let src = c_frame(&content, checksum, declare);
            assert_eq!(decode(&mut decoder, &src, size).as_ref(), Ok(&content));
            for room in [7, 4096] {
                assert_eq!(pieces(&mut decoder, &src, size, room).as_ref(), Ok(&content));
            }
            let scan = scan(&src).unwrap();
            assert_eq!(scan.checksum, checksum);
            assert_eq!(scan.content_size, declare.then_some(size as u64));
        }
    }
}

#[test]
fn several_frames_and_skippable_ones() {
    let (a, b) = (text(5000, 1), text(200_000, 2));
    let skip = b"\x53\x2a\x4d\x18\x03\0\0\0xyz";
    let mut decoder = Ruzstd::new();
    for declare in [true, false] {
        let frames = [c_frame(&a, true, declare), c_frame(&b, true, declare)];
        let src = [&skip[..], &frames[0], skip, &frames[1], skip].concat();
        let content = [&a[..], &b].concat();
        assert_eq!(decode(&mut decoder, &src, content.len()).as_ref(), Ok(&content));
        assert_eq!(pieces(&mut decoder, &src, content.len(), 100).as_ref(), Ok(&content));
        assert!(decode(&mut decoder, &src, a.len()).is_err(), "only the first frame's size");

        // Each frame's own checksum counts, at its own place.
        for end in [8 + 3 + frames[0].len(), src.len() - skip.len()] {
            let mut bad = src.clone();
            bad[end - 1] ^= 1;
            let error = decode(&mut decoder, &bad, content.len()).unwrap_err();
            assert!(matches!(zstd_fault(error), Fault::Checksum { .. }));
            assert_eq!(error.offset, end as u64 - 4);
        }
    }
}

#[test]
fn what_ruzstd_leaves_out_is_checked() {
    let content = text(70_000, 3);
    let mut decoder = Ruzstd::new();
    let src = c_frame(&content, true, true);
    assert_eq!(src[4] & 0b1110_0100, 0b1010_0100, "a single segment, a size of 4 bytes");

    let mut reserved = src.clone();
    reserved[4] |= 0x08;
    let error = decode(&mut decoder, &reserved, content.len()).unwrap_err();
    assert_eq!((zstd_fault(error), error.offset), (Fault::ReservedBit, 4));

    // A frame that declares one byte less or more than it holds.
    for change in [-1i32, 1] {
        let mut lying = src.clone();
        let declared = content.len() as i32 + change;
        lying[5..9].copy_from_slice(&declared.to_le_bytes());
        for size in [content.len(), declared as usize] {
            let error = decode(&mut decoder, &lying, size).unwrap_err();
            assert!(matches!(
                zstd_fault(error),
                Fault::ContentSize { .. } | Fault::Produced { .. } | Fault::Corrupt
            ));
        }
    }
    let error = decode(&mut decoder, &[&src[..], b"x"].concat(), content.len()).unwrap_err();
    assert_eq!(zstd_fault(error), Fault::TrailingBytes { count: 1 });
    assert_eq!(decode(&mut decoder, &src, content.len()), Ok(content), "usable after errors");
}

#[test]
fn a_frame_without_a_size_that_holds_too_much_or_too_little() {
    let content = text(70_000, 4);
    let src = c_frame(&content, false, false);
    let mut decoder = Ruzstd::new();
    for size in [content.len() - 1, content.len() + 1] {
        let error = decode(&mut decoder, &src, size).unwrap_err();
        assert!(matches!(zstd_fault(error), Fault::Produced { .. }), "{error}");
    }
    // A later frame that declares more than the earlier ones leave room for.
    let two = [src, c_frame(&content, false, true)].concat();
    let error = decode(&mut decoder, &two, content.len() + 70_001).unwrap_err();
    assert!(matches!(zstd_fault(error), Fault::Produced { .. }), "{error}");
    let error = decode(&mut decoder, &two, 2 * content.len() - 1).unwrap_err();
    let declared = content.len() as u64;
    assert_eq!(zstd_fault(error), Fault::ContentSize { declared, expected: declared - 1 });
}

#[test]
fn history_is_capped_in_pieces_alone() {
    let content = text(300_000, 5);
    let src = c_frame(&content, false, true);
    let limits = Limits { window_bytes: 299_999, ..Limits::default() };
    let mut decoder = Ruzstd::new();
    let mut shown = 0;
    let error = decoder
        .decode_pieces(&src, 300_000, &limits, &mut [0; 100], &mut |piece| shown += piece.len())
        .unwrap_err();
    let kind = ErrorKind::Limit { cap: Cap::WindowBytes, value: 300_000, limit: 299_999 };
    assert_eq!((error, shown), (Error::new(kind, 0), 0));
    assert_eq!(decode(&mut decoder, &src, content.len()), Ok(content));

    // The declared window does not count where the content is smaller.
    let small = b"\x28\xb5\x2f\xfd\x40\x88\x00\x00\x03\x08\x00z";
    assert_eq!(Header::parse(small).unwrap().window_size, 128 << 20);
    let limits = Limits::embedded();
    let mut seen = Vec::new();
    decoder
        .decode_pieces(small, 256, &limits, &mut [0; 100], &mut |piece| {
            seen.extend_from_slice(piece);
        })
        .unwrap();
    assert_eq!(seen, [b'z'; 256]);

    let error = pieces(&mut decoder, small, 256, 0).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Full(crate::Full { need: 1 }));
}

#[test]
fn an_empty_kernel() {
    let mut decoder = Ruzstd::new();
    // No frame, an empty raw block, and a compressed block without literals or sequences: sound,
    // though the C library finds that one larger than its frame's maximum of 0 bytes.
    for src in [
        &b""[..],
        b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00",
        b"\x28\xb5\x2f\xfd\x20\x00\x15\x00\x00\x00\x00",
    ] {
        assert_eq!(decode(&mut decoder, src, 0), Ok(vec![]), "{src:x?}");
        assert_eq!(pieces(&mut decoder, src, 0, 0), Ok(vec![]), "{src:x?}");
        assert!(decode(&mut decoder, src, 1).is_err(), "{src:x?}");
    }
}

/// One of the ways in which bytes go wrong.
fn mutate(src: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = src.to_vec();
    let at = random.below(bytes.len());
    match random.below(10) {
        0 | 1 => bytes.truncate(at),
        2..=6 => bytes[at] ^= 1 << random.below(8),
        7 => bytes[at] = random.next() as u8,
        8 => bytes[at.min(random.below(18))] = random.next() as u8,
        _ => {
            bytes.extend_from_slice(&src[at..]);
        }
    }
    bytes
}

#[test]
fn mutated_frames_are_refused_or_harmless() {
    let mut seeds = vec![];
    for size in [30, 1000, 20_000, 140_000] {
        for declare in [true, false] {
            seeds.push((c_frame(&text(size, 6), true, declare), size));
        }
    }
    if let Some(root) = shared("mutated_frames_are_refused_or_harmless", "zstd") {
        for (name, size, _) in table(root.join("originals.tsv")).into_iter().step_by(10) {
            let path = root.join("corpus").join(format!("{name}.zst"));
            seeds.push((std::fs::read(path).unwrap(), size));
        }
    }
    let mut random = Random(0x0dd_ba11);
    let mut decoder = Ruzstd::new();
    let (mut accepted, mut refused) = (0, 0);
    for (seed, size) in &seeds {
        let content = decode(&mut decoder, seed, *size).unwrap();
        for _ in 0..150 {
            let bytes = mutate(seed, &mut random);
            let whole = decode(&mut decoder, &bytes, *size);
            let by_pieces = pieces(&mut decoder, &bytes, *size, 5000);
            assert_eq!(whole.as_ref().err(), by_pieces.as_ref().err(), "one verdict");
            match whole {
                // Every seed has a checksum: what passes is what was stored.
                Ok(whole) => {
                    assert!(whole == content && by_pieces == Ok(whole));
                    accepted += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > accepted, "{refused} refused, {accepted} accepted");
}

#[test]
fn a_boxed_backend_moves_to_a_thread() {
    let content = text(1000, 7);
    let src = c_frame(&content, true, true);
    let mut backend: alloc::boxed::Box<dyn Decompress + Send> =
        alloc::boxed::Box::new(Ruzstd::new());
    assert_eq!(backend.name(), "ruzstd");
    let decoded = std::thread::spawn(move || {
        let mut dst = vec![0; 1000];
        backend.decode(&src, &mut dst).map(|()| dst)
    });
    assert_eq!(decoded.join().unwrap(), Ok(content));
}

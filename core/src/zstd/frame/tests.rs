//! Headers, blocks and whole frames, made by hand, good and bad.

use super::*;
use alloc::vec::Vec;

/// A frame of the given header bytes (after the magic number), blocks and tail.
fn frame(header: &[u8], blocks: &[(u32, u32, &[u8])], tail: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_le_bytes().to_vec();
    bytes.extend(header);
    for (n, (kind, size, content)) in blocks.iter().enumerate() {
        let word = u32::from(n + 1 == blocks.len()) | (kind << 1) | (size << 3);
        bytes.extend(&word.to_le_bytes()[..3]);
        bytes.extend(*content);
    }
    bytes.extend(tail);
    bytes
}

fn fault_of(src: &[u8]) -> (Fault, u64) {
    match scan(src) {
        Err(Error { kind: ErrorKind::Zstd(fault), offset }) => (fault, offset),
        other => panic!("{other:?}"),
    }
}

const RAW: u32 = 0;
const RLE: u32 = 1;
const COMPRESSED: u32 = 2;

#[test]
fn every_width_of_the_content_size() {
    for (header, content_size, window_size) in [
        (&[0x00, 0x00][..], None, 1024),
        (&[0x20, 7], Some(7), 7),
        (&[0x60, 0, 1], Some(512), 512),
        (&[0x40, 0x0b, 1, 0], Some(257), 2048 + 3 * 256),
        (&[0xa0, 1, 0, 0, 1], Some((1 << 24) + 1), (1 << 24) + 1),
        (&[0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Some(u64::MAX), u64::MAX),
        (&[0x00, 0xaf], None, (1 << 31) + 7 * (1 << 28)),
        // Dictionary ids of 0, in each width.
        (&[0x21, 0, 9], Some(9), 9),
        (&[0x22, 0, 0, 9], Some(9), 9),
        (&[0x23, 0, 0, 0, 0, 9], Some(9), 9),
    ] {
        let bytes = frame(header, &[], b"");
        let parsed = Header::parse(&bytes).unwrap();
        assert_eq!((parsed.content_size, parsed.window_size), (content_size, window_size));
        assert_eq!(parsed.len, bytes.len());
        for cut in 0..bytes.len() {
            let error = Header::parse(&bytes[..cut]).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Truncated { .. }), "{error:?}");
        }
    }
}

#[test]
fn blocks_bound_what_can_be_produced() {
    // 5 literals in 1 byte of RLE, no sequences.
    let compressed: &[u8] = &[0b0010_1001, b'x', 0];
    let bytes = frame(
        &[0x04, 0x00],
        &[(RAW, 3, b"abc"), (RLE, 1000, b"z"), (COMPRESSED, 3, compressed)],
        b"sum!",
    );
    let scan = scan(&bytes).unwrap();
    assert_eq!((scan.least, scan.most), (3 + 1000 + 5, 3 + 1000 + 1024));
    assert_eq!((scan.content_size, scan.window, scan.checksum), (None, 1024, true));
    let frame = Frames::new(&bytes).next().unwrap().unwrap();
    assert_eq!(frame.stored_checksum(), Some(u32::from_le_bytes(*b"sum!")));
    assert_eq!(frame.blocks().len(), 3 * 3 + 3 + 1 + 3);
    for expected in 1008..=2027 {
        assert_eq!(scan.expect(expected), Ok(()));
    }
    for expected in [0, 1007, 2028, u64::MAX] {
        let fault = Fault::CannotProduce { least: 1008, most: 2027, expected };
        assert_eq!(scan.expect(expected), Err(at(0, fault)));
    }
}

#[test]
fn literals_in_every_header_form() {
    for (bytes, count) in [
        (&[0b1111_1000u8][..], 31),
        (&[0b0000_1001], 1),
        (&[0b0101_0100, 0xff], 0xff5),
        (&[0b0101_1101, 0xff, 0x0f], 0x0fff5),
        (&[0b0101_0010, 0xff, 0xff], 0x3f5),
        (&[0b0101_0111, 0x00, 0xff], 0x005),
        (&[0b0101_1010, 0xff, 0x03, 0], 0x3ff5),
        (&[0b0101_1111, 0xff, 0x3f, 0, 0], 0x3fff5),
    ] {
        let read = |bytes: &[u8]| Literals::read(bytes).map(|literals| literals.count);
        assert_eq!(read(bytes), Some(count), "{bytes:x?}");
        assert_eq!(read(&bytes[..bytes.len() - 1]), None, "{bytes:x?}");
    }
}

#[test]
fn faults_of_headers_and_blocks() {
    let raw: &[(u32, u32, &[u8])] = &[(RAW, 1, b"a")];
    let max = MAX_BLOCK;
    for (bytes, fault, offset) in [
        (frame(&[0x28, 1], raw, b""), Fault::ReservedBit, 4),
        (frame(&[0x21, 7, 1], raw, b""), Fault::Dictionary { id: 7 }, 5),
        (frame(&[0x01, 0, 7], raw, b""), Fault::Dictionary { id: 7 }, 6),
        (frame(&[0x00, 0], &[(3, 1, b"a")], b""), Fault::ReservedBlock, 6),
        (
            frame(&[0x00, 0], &[(RLE, 1025, b"a")], b""),
            Fault::BlockTooLarge { size: 1025, max: 1024 },
            6,
        ),
        (
            frame(&[0x00, 0x58], &[(RLE, max + 1, b"a")], b""),
            Fault::BlockTooLarge { size: max + 1, max },
            6,
        ),
        (
            frame(&[0x00, 0], &[(COMPRESSED, 3, &[0b0001_1101, 0xff, 0])], b""),
            Fault::BlockTooLarge { size: 0xff1, max: 1024 },
            6,
        ),
        (frame(&[0x00, 0], &[(COMPRESSED, 0, b"")], b""), Fault::Corrupt, 6),
        (frame(&[0x00, 0xb0], raw, b""), Fault::WindowTooLarge { size: 1 << 32 }, 5),
        // One RLE literal, then one, 128 or 65,792 sequences with a reserved bit in the modes.
        (frame(&[0x00, 0], &[(COMPRESSED, 4, b"\x09x\x01\x01")], b""), Fault::ReservedModes, 6),
        (frame(&[0x00, 0], &[(COMPRESSED, 5, b"\x09x\x80\x80\x02")], b""), Fault::ReservedModes, 6),
        (
            frame(&[0x00, 0], &[(COMPRESSED, 6, b"\x09x\xff\x00\x02\x03")], b""),
            Fault::ReservedModes,
            6,
        ),
        (frame(&[0x20, 1], raw, b"\x28"), Fault::TrailingBytes { count: 1 }, 10),
        (frame(&[0x20, 1], raw, b"garbage"), Fault::TrailingBytes { count: 7 }, 10),
        (frame(&[0x20, 2], raw, b""), Fault::CannotProduce { least: 1, most: 1, expected: 2 }, 0),
        (b"\x50\x2a\x4d\x18\x05\0\0\0abc".to_vec(), Fault::Skippable { len: 5, left: 3 }, 0),
        (b"PK\x03\x04".to_vec(), Fault::NotZstd { found: 0x0403_4b50 }, 0),
    ] {
        assert_eq!(fault_of(&bytes), (fault, offset), "{bytes:x?}");
    }
}

#[test]
fn every_cut_of_two_frames_is_noticed() {
    let one = frame(&[0x24, 3], &[(RAW, 1, b"a"), (RLE, 2, b"b")], b"sum!");
    let both = [&one[..], b"\x5f\x2a\x4d\x18\0\0\0\0", &one].concat();
    let whole = scan(&both).unwrap();
    assert_eq!((whole.frames, whole.skippable, whole.content_size), (2, 1, Some(6)));
    assert_eq!(whole.expect(5), Err(at(0, Fault::ContentSize { declared: 6, expected: 5 })));
    for cut in 1..both.len() {
        let complete = [one.len(), one.len() + 8].contains(&cut);
        assert_eq!(scan(&both[..cut]).is_ok(), complete, "cut at {cut}");
    }
    let mut frames = Frames::new(&both[..both.len() - 1]);
    assert!(frames.next().unwrap().is_ok());
    assert!(frames.next().unwrap().is_err());
    assert!(frames.next().is_none(), "one error at most");
}

#[test]
fn nothing_but_skippable_frames() {
    for src in [&b""[..], b"\x50\x2a\x4d\x18\x01\0\0\0a"] {
        let scan = scan(src).unwrap();
        assert_eq!((scan.frames, scan.content_size), (0, Some(0)));
        assert_eq!(scan.expect(0), Ok(()));
        assert_eq!(scan.expect(1), Err(at(0, Fault::Empty)));
    }
}

#[test]
fn precheck_keeps_the_limits() {
    let limits = Limits { kernel_bytes: 1000, expansion: 50, ..Limits::default() };
    let bytes = frame(&[0x60, 0xe7, 2], &[(RLE, 999, b"a")], b"");
    assert_eq!(bytes.len(), 11);
    let over = |cap, value, limit| Error::new(ErrorKind::Limit { cap, value, limit }, 0);
    assert_eq!(precheck(&bytes, 1001, &limits), Err(over(Cap::KernelBytes, 1001, 1000)));
    assert_eq!(precheck(&bytes, 999, &limits), Err(over(Cap::Expansion, 91, 50)));
    let limits = Limits { expansion: 91, ..limits };
    assert_eq!(precheck(&bytes, 999, &limits).unwrap().most, 999);
    assert_eq!(precheck(b"", 1, &limits), Err(at(0, Fault::Empty)));
}

//! The reader and the writer against `rmp` and `rmpv`, on every encoding there is and at the
//! borders of each.

use laws::msgpack::{depth_is_capped, reads_as_the_oracle, typed_reads_agree_with_tokens};
use laws::random::Random;
use rmp::encode;
use rocload_core::msgpack::{MAX_DEPTH, Reader, Token, Writer};

fn read(bytes: &[u8]) {
    reads_as_the_oracle(bytes).unwrap_or_else(|broken| panic!("{broken}: {bytes:x?}"));
    typed_reads_agree_with_tokens(bytes).unwrap_or_else(|broken| panic!("{broken}: {bytes:x?}"));
}

#[test]
fn every_marker_with_every_kind_of_rest() {
    let rests: [&[u8]; 8] = [
        b"",
        b"\0",
        b"\x01\xc0",
        b"\0\x02\xa1a\x05",
        b"\0\0\0\x01\x01\x02",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    ];
    for marker in 0..=u8::MAX {
        for rest in rests {
            read(&[&[marker], rest].concat());
        }
    }
}

#[test]
fn every_cut_of_a_document() {
    let mut document = Vec::new();
    encode::write_map_len(&mut document, 4).unwrap();
    encode::write_str(&mut document, "numbers").unwrap();
    encode::write_array_len(&mut document, 6).unwrap();
    for value in [0, -1, 300, -40_000, i64::MAX, i64::MIN] {
        encode::write_sint(&mut document, value).unwrap();
    }
    encode::write_str(&mut document, "bytes").unwrap();
    encode::write_bin(&mut document, &[7; 300]).unwrap();
    encode::write_str(&mut document, "ext").unwrap();
    encode::write_ext_meta(&mut document, 3, -1).unwrap();
    document.extend(b"abc");
    encode::write_f64(&mut document, 0.5).unwrap();
    encode::write_nil(&mut document).unwrap();
    for cut in 0..=document.len() {
        read(&document[..cut]);
    }
}

#[test]
fn bytes_at_random() {
    let mut random = Random::new(1);
    for _ in 0..rocload_fixtures::share(20_000) {
        let len = random.below(40) as usize;
        // Containers and strings are more telling than small integers.
        let bytes: Vec<u8> = (0..len)
            .map(|_| match random.below(3) {
                0 => 0x80 + random.below(0x60) as u8,
                1 => random.below(4) as u8,
                _ => random.next() as u8,
            })
            .collect();
        read(&bytes);
    }
}

#[test]
fn integers_at_their_borders_are_written_as_rmp_does() {
    let borders = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
    for value in borders.chain([u64::MAX]) {
        let mut expected = Vec::new();
        encode::write_uint(&mut expected, value).unwrap();
        let mut buffer = [0; 9];
        let mut writer = Writer::new(&mut buffer);
        writer.uint(value);
        assert_eq!(writer.finish(), Ok(&expected[..]), "{value}");

        for signed in [value.cast_signed(), value.cast_signed().wrapping_neg()] {
            let mut expected = Vec::new();
            encode::write_sint(&mut expected, signed).unwrap();
            let mut writer = Writer::new(&mut buffer);
            writer.int(signed);
            assert_eq!(writer.finish(), Ok(&expected[..]), "{signed}");
        }
    }
}

#[test]
fn lengths_at_their_borders_are_written_as_rmp_does() {
    let filler = vec![b'x'; 65_537];
    let mut buffer = vec![0; 65_537 + 6];
    for len in [0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 255, 256, 65_535, 65_536, 65_537] {
        let body = &filler[..len];
        let written = |write: &dyn Fn(&mut Writer<'_>), buffer: &mut Vec<u8>| {
            let mut writer = Writer::new(buffer);
            write(&mut writer);
            writer.finish().unwrap().to_vec()
        };
        let mut expected = Vec::new();
        encode::write_str(&mut expected, core::str::from_utf8(body).unwrap()).unwrap();
        assert!(written(&|w| w.str_bytes(body), &mut buffer) == expected, "str of {len}");
        expected.clear();
        encode::write_bin(&mut expected, body).unwrap();
        assert!(written(&|w| w.bin(body), &mut buffer) == expected, "bin of {len}");
        expected.clear();
        encode::write_ext_meta(&mut expected, len as u32, 5).unwrap();
        expected.extend(body);
        assert!(written(&|w| w.ext(5, body), &mut buffer) == expected, "ext of {len}");
        expected.clear();
        encode::write_array_len(&mut expected, len as u32).unwrap();
        assert_eq!(written(&|w| w.array(len as u32), &mut buffer), expected);
        expected.clear();
        encode::write_map_len(&mut expected, len as u32).unwrap();
        assert_eq!(written(&|w| w.map(len as u32), &mut buffer), expected);
    }
}

#[test]
fn nesting_is_capped_at_any_depth() {
    for nested in (0..200).chain([1000, 1_000_000]) {
        for allowed in [0, 1, 15, 16, 17, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, u8::MAX] {
            depth_is_capped(nested, allowed).unwrap();
        }
    }
}

#[test]
fn the_byte_that_is_never_valid_is_excused_and_differences_are_told() {
    // Bytes that only the oracle takes: the byte 0xc1 is excused where it stands, and nowhere else.
    assert!(reads_as_the_oracle(&[0xc1]).is_ok());
    let mut reader = Reader::new(&[0xc0], 0);
    assert_eq!(reader.token(), Ok(Token::Nil));
    let broken = laws::same("numbers are equal", &1, &2).unwrap_err();
    assert_eq!(broken.to_string(), "not so: numbers are equal: 1 against 2");
}

//! Sound and broken metadata, and where measuring looks.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::*;

const PATHS: &[u8] = b"\xb2kpack_search_paths";
const NAME: &[u8] = b"\xabkernel_name";

fn parse(bytes: &[u8]) -> Result<Reference<'_>, Error> {
    Reference::parse(bytes, &Limits::default())
}

fn kind(bytes: &[u8]) -> ErrorKind {
    parse(bytes).unwrap_err().kind
}

/// The length by a machine that is shown exactly what it asks for.
fn measured(bytes: &[u8]) -> Result<u64, Error> {
    let mut measure = Measure::new(&Limits::default());
    while let Need::At { offset, min, .. } = measure.need() {
        assert!(measure.is_empty());
        let Some(input) = bytes.get(offset as usize..offset as usize + min) else {
            assert_eq!(measure.end(), Ok(End::Pending("the reference metadata")));
            return Ok(u64::MAX);
        };
        let step = measure.step(offset, input)?;
        assert_eq!(step.consumed, min);
    }
    assert_eq!(measure.end(), Ok(End::Complete));
    Ok(measure.len().unwrap())
}

#[test]
fn what_is_not_asked_about_is_passed_over() {
    let odd = [
        &b"\x86\x01\x02"[..], // a key that is a number
        b"\x92\xa1x\x80\xc0", // one that is an array
        PATHS,
        b"\x95\x07\xa1a\xc4\x01b\x91\xa1c\xd9\x01d", // strings among others
        b"\xa5other\x82\xa1k\x91\xc3\xa1l\xcb\0\0\0\0\0\0\0\0",
        NAME,
        b"\xa1n",
        b"\xc7\x02\x05xy\xd8\x010123456789abcdef",
        b"trailing",
    ]
    .concat();
    let reference = parse(&odd).unwrap();
    assert_eq!(reference.paths().collect::<Vec<_>>(), [b"a", b"d"]);
    assert_eq!(reference.kernel_name(), b"n");
    assert_eq!(reference.len(), odd.len() - 8);
    assert_eq!(measured(&odd), Ok(reference.len() as u64));
}

#[test]
fn of_duplicates_the_last_counts() {
    let twice = [b"\x84", NAME, b"\xa1n", PATHS, b"\x91\xa1a", NAME, b"\xa1m", PATHS, b"\x91\xa1b"]
        .concat();
    let reference = parse(&twice).unwrap();
    assert_eq!(reference.kernel_name(), b"m");
    assert_eq!(reference.paths().collect::<Vec<_>>(), [b"b"]);
}

#[test]
fn what_is_missing_or_of_another_type_is_named() {
    let missing = |field| ErrorKind::Kpack(Fault::Missing(field));
    assert_eq!(kind(b"\x80"), missing(Field::KpackSearchPaths));
    assert_eq!(kind(&[b"\x81", PATHS, b"\x91\xa1a"].concat()), missing(Field::KernelName));
    assert_eq!(kind(&[b"\x81", NAME, b"\xa1n"].concat()), missing(Field::KpackSearchPaths));
    let none = [b"\x82", PATHS, b"\x92\x01\xc0", NAME, b"\xa1n"].concat();
    assert_eq!(kind(&none), ErrorKind::Kpack(Fault::NoSearchPaths));
    let empty = [b"\x82", PATHS, b"\x90", NAME, b"\xa1n"].concat();
    assert_eq!(kind(&empty), ErrorKind::Kpack(Fault::NoSearchPaths));
    let wrong = |field, expected, found| {
        let fault = MsgpackFault::Type { expected, found };
        ErrorKind::Kpack(Fault::Value { field, fault })
    };
    let list = [b"\x82", PATHS, b"\xa1a", NAME, b"\xa1n"].concat();
    assert_eq!(kind(&list), wrong(Field::KpackSearchPaths, Type::Array, Type::Str));
    let name = [b"\x82", PATHS, b"\x91\xa1a", NAME, b"\x2a"].concat();
    assert_eq!(kind(&name), wrong(Field::KernelName, Type::Str, Type::Integer));
    for first in [&b"\xc0"[..], b"\x91\xc0", b"\xa1a", b"\x01", b"\xcb12345678"] {
        let expected = Type::Map;
        let found = super::kind(first[0]).unwrap();
        let fault = ErrorKind::Msgpack(MsgpackFault::Type { expected, found });
        assert_eq!(kind(first), fault);
        assert_eq!(measured(first), Err(Error::new(fault, 0)));
    }
    assert_eq!(measured(b"\xc1"), Err(Error::new(ErrorKind::Msgpack(MsgpackFault::Reserved), 0)));
    assert!(matches!(kind(b""), ErrorKind::Truncated { .. }));
}

#[test]
fn caps_hold() {
    let limits = Limits { key_bytes: 3, reference_bytes: 64, ..Limits::default() };
    let map = |name: &[u8], tail: &[u8]| [b"\x82", PATHS, b"\x91\xa1a", NAME, name, tail].concat();
    let named = |bytes: &[u8]| Reference::parse(bytes, &limits).map(|it| it.len());
    assert_eq!(named(&map(b"\xa3abc", &[0; 99])), Ok(39));
    let over = ErrorKind::Limit { cap: Cap::KeyBytes, value: 4, limit: 3 };
    assert_eq!(named(&map(b"\xa4abcd", b"")), Err(Error::new(over, 35)));
    // Longer than the cap, in a slice that is longer and in one that is not.
    let mut long = map(b"\xa3abc", b"\xa1x\xd9\x40");
    long[0] = 0x83;
    let cut = named(&long).unwrap_err().kind;
    assert!(matches!(cut, ErrorKind::Truncated { .. }), "{cut}");
    long.resize(200, 0);
    let kind = named(&long).unwrap_err().kind;
    assert!(matches!(kind, ErrorKind::Limit { cap: Cap::ReferenceBytes, limit: 64, .. }), "{kind}");
    let mut measure = Measure::new(&limits);
    let error = loop {
        let Need::At { offset, min, .. } = measure.need() else { panic!("it is too long") };
        match measure.step(offset, &long[offset as usize..][..min]) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error.kind, ErrorKind::Limit { cap: Cap::ReferenceBytes, .. }), "{error}");
    assert_eq!(measure.step(0, &long), Err(error), "poisoned");
    assert_eq!(measure.end(), Err(error));
    // Counts that the cap cannot hold are refused when they are read.
    assert!(measured(b"\xdf\xff\xff\xff\xff").is_err());
    assert!(measured(b"\x81\xdb\xff\xff\xff\xff").is_err());
}

#[test]
fn a_map_that_is_cut_is_never_measured() {
    let whole = [b"\x82", PATHS, b"\x91\xda\x01\x00", &[b'x'; 256][..], NAME, b"\xa1n"].concat();
    assert_eq!(measured(&whole), Ok(whole.len() as u64));
    // The last payload is a promise: the map ends where it does.
    for cut in 0..whole.len() - 1 {
        assert_eq!(measured(&whole[..cut]), Ok(u64::MAX), "{cut}");
        assert!(parse(&whole[..cut]).is_err());
    }
}

#[test]
fn keys_have_their_number() {
    for (number, text) in [(0, "k#0"), (9, "k#9"), (10, "k#10"), (u32::MAX, "k#4294967295")] {
        let key = Key::new(b"k", number);
        assert_eq!((key.to_string(), key.len()), (text.to_string(), text.len()));
        let mut exact = vec![0; text.len()];
        assert_eq!(key.write_to(&mut exact), Ok(text.as_bytes()));
        let need = text.len() as u64;
        assert_eq!(key.write_to(&mut exact[1..]), Err(Full { need }));
    }
}

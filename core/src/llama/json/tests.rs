use super::*;
use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

fn fault(text: &[u8]) -> (Fault, u64) {
    match check(text, 0, &Limits::default()) {
        Err(Error { kind: ErrorKind::Json(fault), offset }) => (fault, offset),
        other => panic!("{}: {other:?}", String::from_utf8_lossy(text)),
    }
}

fn sound(text: &[u8]) -> Value<'_> {
    check(text, 0, &Limits::default()).unwrap()
}

#[test]
fn tokens_in_their_order() {
    let text = br#" {"a" : [1, -0.5e+3 ,true],"b":{}, "c":[[],null,"x"]} "#;
    let mut scanner = Scanner::new(text, 0, &Limits::default());
    let mut seen = Vec::new();
    loop {
        match scanner.next().unwrap() {
            Token::End => break,
            token => seen.push(alloc::format!("{token:?}")),
        }
    }
    assert_eq!(seen.len(), 18);
    assert_eq!(seen[1], "Key(\"a\")");
    assert_eq!(seen[4], "Number(Number { text: \"-0.5e+3\" })");
    assert!(matches!(scanner.next(), Ok(Token::End)));
    assert_eq!((scanner.depth(), scanner.position()), (0, text.len()));
}

#[test]
fn each_fault_is_named_where_it_is() {
    use Fault::*;
    for (text, wanted, offset) in [
        (&b""[..], End { wanted: Wanted::Value }, 0),
        (b"  ", End { wanted: Wanted::Value }, 2),
        (b"{\"a\":\n\n", End { wanted: Wanted::Value }, 7),
        (b"[1,]", Byte { found: b']', wanted: Wanted::Value }, 3),
        (b"{\"a\":1,}", Byte { found: b'}', wanted: Wanted::Key }, 7),
        (b"{a:1}", Byte { found: b'a', wanted: Wanted::Key }, 1),
        (b"{\"a\" 1}", Byte { found: b'1', wanted: Wanted::Colon }, 5),
        (b"[1}", Byte { found: b'}', wanted: Wanted::CommaOrBracket }, 2),
        (b"{\"a\":1]", Byte { found: b']', wanted: Wanted::CommaOrBrace }, 6),
        (b"[1", End { wanted: Wanted::CommaOrBracket }, 2),
        (b"01", LeadingZero, 1),
        (b"-01", LeadingZero, 2),
        (b"-", End { wanted: Wanted::Digit }, 1),
        (b"1.", End { wanted: Wanted::Digit }, 2),
        (b"1e+", End { wanted: Wanted::Digit }, 3),
        (b".5", Byte { found: b'.', wanted: Wanted::Value }, 0),
        (b"+1", Byte { found: b'+', wanted: Wanted::Value }, 0),
        (b"nul", End { wanted: Wanted::Literal }, 3),
        (b"trux", Byte { found: b'x', wanted: Wanted::Literal }, 3),
        (b"NaN", Byte { found: b'N', wanted: Wanted::Value }, 0),
        (b"1 2", Trailing, 2),
        (b"{} x", Trailing, 3),
        (b"\"a", End { wanted: Wanted::Quote }, 2),
        (b"\"a\\", End { wanted: Wanted::Quote }, 3),
        (b"\"\\u12", End { wanted: Wanted::Quote }, 5),
        (b"\"a\\x\"", Escape, 2),
        (b"\"\\u12g4\"", Escape, 1),
        (b"\"a\nb\"", Control { found: b'\n' }, 2),
        (b"[\"a\xff\"]", Utf8, 3),
        (b"\"\xed\xa0\x80\"", Utf8, 1),
        (b"\xef\xbb\xbf{}", Byte { found: 0xef, wanted: Wanted::Value }, 0),
        (b"[1\x0c]", Byte { found: 0x0c, wanted: Wanted::CommaOrBracket }, 2),
        (b"// c\n1", Byte { found: b'/', wanted: Wanted::Value }, 0),
    ] {
        assert_eq!(fault(text), (wanted, offset), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn errors_stay_and_offsets_are_absolute() {
    let mut scanner = Scanner::new(b"[1 2]", 100, &Limits::default());
    while scanner.next().is_ok() {}
    let error = scanner.next().unwrap_err();
    assert_eq!((error.offset, scanner.next()), (103, Err(error)));
    assert_eq!(error.to_string(), "bad json: `2` where `,` or `]` is wanted (at offset 103)");
}

#[test]
fn strings_are_decoded() {
    let decode = |text: &str| {
        let string = sound(text.as_bytes()).as_str().unwrap();
        let mut out = vec![0; string.len()];
        let short = string.unescape_into(&mut out[1.min(string.len())..]).err();
        assert_eq!(short, (!string.is_empty()).then_some(Full { need: string.len() as u64 }));
        let decoded = string.unescape_into(&mut out).unwrap().to_string();
        assert_eq!(decoded, string.to_string());
        assert!(string.is(&decoded) && !string.is(&(decoded.clone() + "x")));
        decoded
    };
    for (text, wanted) in [
        (r#""""#, ""),
        (r#"" ""#, " "),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""caf\u00e9\u0000""#, "café\0"),
        (r#""\ud83d\ude00!""#, "😀!"),
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ud83dx""#, "\u{fffd}x"),
        (r#""\ude00\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud83d\n""#, "\u{fffd}\n"),
        (r#""好🙂""#, "好🙂"),
    ] {
        assert_eq!(decode(text), wanted, "{text}");
    }
    assert!(!sound(br#""a\n""#).as_str().unwrap().is("a"));
    assert_eq!(sound(br#""plain""#).as_str().unwrap().plain(), Some("plain"));
    assert_eq!(sound(br#""a\n""#).as_str().unwrap().plain(), None);
}

#[test]
fn what_is_not_utf8_is_refused_or_replaced() {
    let text = b"\"\xf0\x9f\x98 a\xff\xfe\\n\xe5\"";
    assert_eq!(fault(text), (Fault::Utf8, 1));
    let string = check_lossy(text, 0, &Limits::default()).unwrap().as_str().unwrap();
    assert_eq!(string.to_string(), String::from_utf8_lossy(b"\xf0\x9f\x98 a\xff\xfe\n\xe5"));
    assert_eq!((string.plain(), string.len()), (None, string.to_string().len()));
}

#[test]
fn numbers_keep_their_text() {
    let number = |text: &'static str| sound(text.as_bytes()).as_number().unwrap();
    assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
    assert_eq!(number("18446744073709551616").as_u64(), None);
    assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(number("-1").as_u64(), None);
    assert_eq!(number("1.0").as_i64(), None);
    assert_eq!(number("0.1").as_f64(), Some(0.1));
    assert_eq!(number("1e400").as_f64(), None);
    assert_eq!(number("1e400").text(), "1e400");
}

#[test]
fn nesting_is_capped_without_a_stack() {
    let mut limits = Limits::default();
    let deep = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
    assert!(check(&deep(64), 0, &limits).is_ok());
    let error = check(&deep(65), 0, &limits).unwrap_err();
    let kind = ErrorKind::Limit { cap: Cap::JsonDepth, value: 65, limit: 64 };
    assert_eq!(error, Error::new(kind, 64));
    limits.json_depth = 2;
    assert!(check(b"[[]]", 0, &limits).is_ok());
    assert!(check(b"[[{}]]", 0, &limits).is_err());
    // More than a word has bits is never followed.
    limits.json_depth = 255;
    assert!(check(&deep(65), 0, &limits).is_err());
    assert!(check(&[b'['; 1 << 20], 0, &limits).is_err());
}

#[test]
fn members_and_elements_are_found_by_skipping() {
    let text = br#"{"n":null,"a":{"b":[1,{"c":[]},"]"]},"\u0061b":true,"a":{"b":[7 , 8]}}"#;
    let value = sound(text);
    assert!(value.get("n").is_none() && value.get("x").is_none());
    assert_eq!(value.get("ab").and_then(Value::as_bool), Some(true));
    // Of a name that stands twice the last one, as most readers do.
    let last = value.get("a").and_then(|a| a.get("b")).unwrap();
    assert_eq!(last.elements().filter_map(Value::as_u64).collect::<Vec<_>>(), [7, 8]);
    let first = value.members().nth(1).unwrap().1.get("b").unwrap();
    let kinds: Vec<_> = first.elements().map(|v| v.raw().to_vec()).collect();
    assert_eq!(kinds, [&b"1"[..], br#"{"c":[]}"#, b"\"]\""]);
    assert_eq!(&text[first.range()], first.raw());
    assert_eq!(value.elements().count() + last.members().count(), 0);
    assert_eq!(sound(b"[ ]").elements().count() + sound(b"{ }").members().count(), 0);
}

#[test]
fn the_writer_escapes_separates_and_counts() {
    let write = |out: &mut [u8]| {
        let mut writer = Writer::new(out);
        writer.begin(b'{').key("a").begin(b'[').number(-1i32).float(0.7).float(f64::NAN);
        writer.begin(b'[').end(b']').bool(true).end(b']');
        writer.key("q\"").string("\u{0}\u{1f}\u{7f}é\\").key("o").begin(b'{').end(b'}');
        writer.end(b'}');
        writer.finish()
    };
    let mut out = [0; 80];
    let length = write(&mut out).unwrap();
    let wanted = "{\"a\":[-1,0.7,null,[],true],\"q\\\"\":\"\\u0000\\u001f\u{7f}é\\\\\",\"o\":{}}";
    assert_eq!(core::str::from_utf8(&out[..length]), Ok(wanted));
    assert!(check(&out[..length], 0, &Limits::default()).is_ok());
    let error = write(&mut out[..length - 1]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Full(Full { need: length as u64 }));
    assert_eq!(write(&mut out[..length]), Ok(length));
}

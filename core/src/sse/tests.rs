//! Unit tests: what each line does. Whole streams are compared in the laws.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use super::{Item, NAME_BYTES, Parser};
use crate::limits::Limits;
use crate::need::{End, Machine, Storage, visit};

/// The items as short texts, in chunks of `size` bytes.
fn chunked<S: Storage>(parser: &mut Parser<S>, bytes: &[u8], size: usize) -> Vec<String> {
    let mut items = Vec::new();
    let mut offset = 0;
    for chunk in bytes.chunks(size) {
        let used = visit(parser, offset, chunk, |item| items.push(shown(item))).unwrap();
        assert_eq!(used, chunk.len(), "every byte is consumed at once");
        offset += used as u64;
    }
    items
}

fn shown(item: Item<'_>) -> String {
    match item {
        Item::Event(e) => {
            format!("{}|{}|{}", e.event_lossy(), e.data_lossy(), e.id_lossy())
        }
        Item::Comment(text) => format!(":{}", text.escape_ascii()),
        Item::Field(f) => format!("{}={}", f.name.escape_ascii(), f.value.escape_ascii()),
        Item::Overflow(o) => format!("overflow@{}", o.offset),
    }
}

/// The items, the same for every size of chunk.
fn items(make: impl Fn() -> Parser<Vec<u8>>, bytes: &[u8]) -> Vec<String> {
    let whole = chunked(&mut make(), bytes, usize::MAX);
    for size in 1..bytes.len() {
        assert_eq!(chunked(&mut make(), bytes, size), whole, "in chunks of {size}");
    }
    whole
}

fn plain() -> Parser<Vec<u8>> {
    Parser::new(&Limits::default(), Vec::new())
}

#[test]
fn fields_and_line_ends() {
    let stream =
        b"event: a\rdata:1\r\ndata\ndata:  2\nid: x\r\n\r\ndata\n\nevent: gone\n\ndata: 3\r\r";
    assert_eq!(items(plain, stream), ["a|1\n\n 2|x", "message||x", "message|3|x"]);
}

#[test]
fn an_ignored_id_keeps_the_one_before_it() {
    let long = format!("id: {}\n", "y".repeat(NAME_BYTES + 1));
    let nul = "id: a\0b\n";
    for bad in [long.as_str(), nul] {
        let stream = format!("id: x\n{bad}data: 1\n\n");
        assert_eq!(items(plain, stream.as_bytes()), ["message|1|x"]);
    }
    let mut parser = plain();
    chunked(&mut parser, long.as_bytes(), 7);
    assert_eq!(parser.ignored(), 1);
    let longest = format!("id: {0}\nevent: {0}\ndata\n\n", "z".repeat(NAME_BYTES));
    let z = "z".repeat(NAME_BYTES);
    assert_eq!(items(plain, longest.as_bytes()), [format!("{z}||{z}")]);
}

#[test]
fn hooks_show_comments_and_unknown_fields() {
    let make = || plain().comments(true).fields(true);
    let stream = b"\xef\xbb: 1\n: ping\n:\ndata: a\nerror: {\"code\":1}\nretries\ndata: b\n\n";
    let expected =
        ["\\xef\\xbb=1", ": ping", ":", "error={\\\"code\\\":1}", "retries=", "message|a\nb|"];
    assert_eq!(items(make, stream), expected);
    assert_eq!(items(plain, stream), ["message|a\nb|"]);
}

#[test]
fn retry_takes_digits_alone_and_saturates() {
    let retry = |text: &str| {
        let bytes = format!("retry: 7\nretry{text}\n");
        let mut parser = plain();
        chunked(&mut parser, bytes.as_bytes(), usize::MAX);
        let mut slow = plain();
        chunked(&mut slow, bytes.as_bytes(), 1);
        assert_eq!(parser.retry(), slow.retry());
        parser.retry().unwrap()
    };
    for (text, expected) in [
        (":3000", 3000),
        (": 0010", 10),
        (": +5", 7),
        (":  5", 7),
        (": 5 ", 7),
        (":", 7),
        ("", 7),
        (": 18446744073709551615", u64::MAX),
        (": 18446744073709551616", u64::MAX),
        (": 99999999999999999999999", u64::MAX),
    ] {
        assert_eq!(retry(text), expected, "{text:?}");
    }
}

#[test]
fn an_event_without_room_is_told_and_skipped_with_its_id() {
    let stream = b"id: 1\ndata: 12345678\n\nid: 2\nevent: e\ndata: 1234\ndata: 5678\nid: 3\n\r\n: c\ndata: ok\n\n";
    let expected = ["message|12345678|1", "overflow@22", "message|ok|1"];
    let limits = Limits { event_bytes: 8, ..Limits::default() };
    assert_eq!(items(|| Parser::new(&limits, Vec::new()), stream), expected);
    for size in 1..stream.len() {
        let mut parser = Parser::new(&Limits::default(), [0u8; 8]);
        assert_eq!(chunked(&mut parser, stream, size), expected);
    }
}

#[test]
fn shown_text_without_room_is_dropped_and_counted() {
    let stream = b": 12345\ndata: 1234\n: 1234\n: 123\nx: 12345\nx: 1234\n\n";
    for size in [1, 2, 3, 5, usize::MAX] {
        let mut parser = Parser::new(&Limits::default(), [0u8; 8]).comments(true).fields(true);
        let items = chunked(&mut parser, stream, size);
        assert_eq!(items, [": 12345", ": 123", "x=1234", "message|1234|"], "{size}");
        assert_eq!(parser.ignored(), 2);
    }
}

#[test]
fn the_end_tells_what_was_lost() {
    for (stream, end) in [
        ("", End::Complete),
        ("\u{feff}", End::Complete),
        ("data: a\n\n", End::Complete),
        (": c\n", End::Complete),
        ("x: y\n", End::Complete),
        ("data: a\n", End::Pending("event")),
        ("data: a\r", End::Pending("event")),
        ("event: a\n", End::Pending("event")),
        ("id: a\n", End::Pending("event")),
        ("data: a", End::Pending("line")),
        (":", End::Pending("line")),
        ("data: a\n\nd", End::Pending("line")),
    ] {
        for size in [1, usize::MAX] {
            let mut parser = plain();
            chunked(&mut parser, stream.as_bytes(), size);
            assert_eq!(parser.end(), Ok(end), "{stream:?}");
        }
    }
    let mut parser = plain();
    chunked(&mut parser, b"\xef\xbb", 1);
    assert_eq!(parser.end(), Ok(End::Pending("line")));
}

#[test]
fn a_pending_event_can_be_looked_at() {
    let mut parser = plain();
    chunked(&mut parser, b"data: a\n\n", 3);
    assert_eq!(parser.pending(), None);
    chunked(&mut parser, b"id: 1\nevent: e\ndata: b\ndata: [DO", 100);
    let pending = parser.pending().unwrap();
    assert_eq!((pending.event, pending.data, pending.id), (&b"e"[..], &b"b\n[DO"[..], &b"1"[..]));
    assert_eq!(parser.end(), Ok(End::Pending("line")));
    assert_eq!(parser.pending().unwrap().data.to_vec(), vec![b'b', b'\n', b'[', b'D', b'O']);
    assert_eq!(parser.last_event_id().to_vec(), b"");
}

#[test]
fn events_are_borrowed_where_they_lie_whole() {
    let mut parser = Parser::new(&Limits::default(), [0u8; 16]);
    let input = b"event: e\ndata: whole\nid: 5\n\n";
    let step = parser.step(0, input).unwrap();
    assert_eq!((step.consumed, step.ready), (input.len(), true));
    let Item::Event(event) = parser.item(input) else { panic!("no event") };
    assert!(input.as_ptr_range().contains(&event.data.as_ptr()));
    assert_eq!((event.event, event.data, event.id), (&b"e"[..], &b"whole"[..], &b"5"[..]));
}

//! What went wrong in other parsers of events, by their public reports: the input that each
//! implies, in every chunking of the law. What takes a connection is tested in the drivers, what
//! takes JSON in `llama_reports.rs`.

use laws::split::{Ending, Rules, invariance};
use rocload_core::Limits;
use rocload_core::sse::{Item, Parser};

/// The data of the events, or what else came, and what was pending.
fn read(stream: &[u8]) -> (Vec<String>, Ending) {
    let make = || Parser::new(&Limits::default(), [0u8; 256]);
    let keep = |item: Item<'_>| match item {
        Item::Event(event) => event.data_str().map_or("not UTF-8".to_owned(), str::to_owned),
        other => format!("{other:?}"),
    };
    let outcome = invariance(make, keep, stream, &Rules::new()).unwrap();
    (outcome.items, outcome.ending)
}

fn events(stream: &[u8]) -> Vec<String> {
    let (events, ending) = read(stream);
    assert_eq!(ending, Ending::Complete);
    events
}

#[test]
fn report_01_characters_are_whole_wherever_a_chunk_ends() {
    assert_eq!(events("data: 好🙂\n\n".as_bytes()), ["好🙂"]);
}

#[test]
fn report_02_an_accent_at_the_end_of_a_chunk() {
    assert_eq!(events("data: caf\u{e9}\n\ndata: e\u{301}\n\n".as_bytes()), ["café", "e\u{301}"]);
}

#[test]
fn report_03_crlf_over_two_chunks_is_one_line_end() {
    assert_eq!(events(b"data: A\r\ndata: B\r\ndata: C\r\n\r\n"), ["A\nB\nC"]);
}

#[test]
fn report_04_mixed_line_ends_make_one_event() {
    assert_eq!(events(b"data: first\r\ndata: second\n\n"), ["first\nsecond"]);
}

#[test]
fn report_05_a_cr_alone_ends_a_line_at_once() {
    assert_eq!(events(b"data: {}\r\r"), ["{}"]);
}

#[test]
fn report_06_servers_that_write_crlf_are_heard() {
    assert_eq!(events(b"data: a\r\n\r\n"), ["a"]);
}

#[test]
fn report_07_the_space_after_the_colon_is_optional() {
    assert_eq!(events(b"data:{\"a\":1}\n\ndata: {\"a\":1}\n\n"), [r#"{"a":1}"#; 2]);
}

#[test]
fn report_08_a_long_line_is_an_event_or_told() {
    let stream = [b"data: ", &[b'x'; 70_000][..], b"\n\ndata: next\n\n"].concat();
    assert_eq!(events(&stream), ["Overflow(Overflow { offset: 0 })", "next"]);
}

#[test]
fn report_09_blocks_without_data_are_no_events() {
    assert_eq!(events(b"retry: 3000\n\n: c\n\ndata: {}\n\n"), ["{}"]);
}

#[test]
fn report_10_data_that_looks_like_a_comment_is_data() {
    assert_eq!(events(b"data: : keepalive\n\n"), [": keepalive"]);
}

#[test]
fn report_11_a_byte_order_mark_is_dropped_and_nobody_panics() {
    assert_eq!(events(b"\xef\xbb\xbfdata: a\n\n"), ["a"]);
    let mut parser = Parser::new(&Limits::default(), [0u8; 8]);
    for chunk in [&b""[..], b"\xef\xbb", b"", b"\xbf", b"data: a\n\n"] {
        rocload_core::visit(&mut parser, 0, chunk, |item| {
            assert!(matches!(item, Item::Event(event) if event.data == b"a"));
        })
        .unwrap();
    }
}

#[test]
fn report_15_an_event_without_its_blank_line_is_told() {
    let stream = b"data: a\n\ndata: {\"finish_reason\":\"stop\"}";
    assert_eq!(read(stream), (vec!["a".to_owned()], Ending::Pending("line")));
    let stream = b"data: a\n\ndata: {\"finish_reason\":\"stop\"}\n";
    assert_eq!(read(stream), (vec!["a".to_owned()], Ending::Pending("event")));
}

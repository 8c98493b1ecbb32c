//! Unit tests of requests and responses: one rule each, at every size of chunk.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Fault, Framing, Item, Method, Request, Response};
use crate::error::{Class, Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use crate::need::{End, Machine, Need, Storage, visit};

/// What a response gave.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    status: u16,
    body: Vec<u8>,
    /// Bytes that belong to the response.
    used: usize,
    end: End,
    reusable: bool,
}

fn read<S: Storage>(mut response: Response<S>, bytes: &[u8], size: usize) -> Result<Read, Error> {
    let (mut body, mut status, mut used) = (Vec::new(), 0, 0);
    for chunk in bytes.chunks(size) {
        used += visit(&mut response, used as u64, chunk, |item| match item {
            Item::Head(head) => {
                assert_eq!(status, 0, "one head");
                status = head.status;
            }
            Item::Body(part) => body.extend_from_slice(part),
        })?;
    }
    let end = response.end()?;
    Ok(Read { status, body, used, end, reusable: response.reusable() })
}

fn response(method: Method) -> Response<Vec<u8>> {
    Response::new(method, &Limits::default(), Vec::new())
}

/// The same for every size of chunk.
fn get(bytes: &[u8]) -> Result<Read, Error> {
    let whole = read(response(Method::Get), bytes, usize::MAX);
    for size in 1..bytes.len().min(300) {
        assert_eq!(read(response(Method::Get), bytes, size), whole, "in chunks of {size}");
    }
    whole
}

fn body(bytes: &[u8]) -> Vec<u8> {
    let read = get(bytes).unwrap();
    assert_eq!((read.status, read.end), (200, End::Complete));
    read.body
}

fn fault(bytes: &[u8]) -> (Fault, u64) {
    match get(bytes).unwrap_err() {
        Error { kind: ErrorKind::Http(fault), offset } => (fault, offset),
        other => panic!("{other:?}"),
    }
}

fn chunked(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}").into_bytes()
}

/// Length of the head that [`chunked`] writes.
const HEAD: u64 = 47;

#[test]
fn a_body_ends_by_length_by_chunks_or_with_the_connection() {
    let by_length = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 500";
    let read = get(by_length).unwrap();
    assert_eq!((&read.body[..], read.used, read.reusable), (&b"abc"[..], 41, true));
    let read =
        get(&chunked("2\r\nab\r\n1;x=\"y\"\r\nc\r\n0\r\nServer-Timing: t\r\n\r\nNEXT")).unwrap();
    assert_eq!((&read.body[..], read.reusable, read.end), (&b"abc"[..], true, End::Complete));
    let read = get(b"HTTP/1.1 200 OK\r\n\r\nabc").unwrap();
    assert_eq!((&read.body[..], read.reusable, read.end), (&b"abc"[..], false, End::Complete));
    let read = get(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!((read.body.len(), read.reusable, read.end), (0, true, End::Complete));
}

#[test]
fn what_is_cut_short_is_pending() {
    let whole = chunked("2\r\nab\r\n0\r\n\r\n");
    for cut in 0..whole.len() {
        let read = get(&whole[..cut]).unwrap();
        let expected = if cut < HEAD as usize { "head" } else { "body" };
        assert_eq!(read.end, End::Pending(expected), "cut at {cut}");
        assert!(!read.reusable);
    }
    let read = get(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc").unwrap();
    assert_eq!((read.end, &read.body[..]), (End::Pending("body"), &b"abc"[..]));
}

#[test]
fn interim_heads_are_skipped_and_bounded() {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(body(bytes), b"x");
    assert_eq!(fault(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), (Fault::Upgrade, 0));
    let endless = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000);
    let error = read(response(Method::Get), &endless, 1000).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Limit { cap: Cap::HeadBytes, .. }), "{error}");
}

#[test]
fn some_responses_have_no_body_whatever_they_say() {
    for status in ["204 No Content", "304 Not Modified"] {
        let bytes = format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\n");
        let read = get(bytes.as_bytes()).unwrap();
        assert_eq!((read.end, read.reusable), (End::Complete, true));
    }
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let read = read(response(Method::Head), bytes, 7).unwrap();
    assert_eq!((read.end, read.reusable, read.used), (End::Complete, true, bytes.len()));
}

#[test]
fn headers_are_kept_as_they_came() {
    let bytes = b"HTTP/1.1 200 OK\r\nEmpty: \r\nX: a\xff\x80b\r\nCONTENT-TYPE:\tText/Event-Stream ; charset=utf-8 \r\nX: 2\r\nContent-Length: 0\r\n\r\n";
    for size in [1, 5, usize::MAX] {
        let mut response = response(Method::Get);
        let mut seen = 0;
        for chunk in bytes.chunks(size) {
            let _ = visit(&mut response, 0, chunk, |item| {
                let Item::Head(head) = item else { panic!("{item:?}") };
                seen += 1;
                assert_eq!(head.header("empty"), Some(&b""[..]));
                assert_eq!(head.header("x"), Some(&b"a\xff\x80b"[..]));
                assert_eq!(head.header("y"), None);
                assert_eq!(head.media_type(), b"Text/Event-Stream");
                assert!(head.is_event_stream());
                assert_eq!(head.headers().count(), 5);
                assert_eq!(head.bytes, bytes);
                assert_eq!(head.framing, Framing::Length(0));
            })
            .unwrap();
        }
        assert_eq!((seen, response.need()), (1, Need::Done));
    }
}

#[test]
fn lengths_and_codings_in_doubt_are_refused() {
    let with = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nabc").into_bytes();
    for (headers, expected) in [
        ("Content-Length: 3\r\nTransfer-Encoding: chunked", Fault::LengthAndCoding),
        ("Transfer-Encoding: chunked\r\ncontent-length: 3", Fault::LengthAndCoding),
        ("Content-Length: 3\r\nContent-Length: 4", Fault::ContentLengths),
        ("Content-Length: 3, 3", Fault::ContentLength),
        ("Content-Length: +3", Fault::ContentLength),
        ("Content-Length: -3", Fault::ContentLength),
        ("Content-Length: 0x3", Fault::ContentLength),
        ("Content-Length: 3 3", Fault::ContentLength),
        ("Content-Length:", Fault::ContentLength),
        ("Content-Length: 18446744073709551616", Fault::ContentLength),
        ("Transfer-Encoding: gzip", Fault::Coding),
        ("Transfer-Encoding: gzip, chunked", Fault::Coding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Fault::Coding),
        ("Transfer-Encoding:", Fault::Coding),
        ("X: a\x01b", Fault::HeaderValue),
        ("X : a", Fault::HeaderName),
        (": a", Fault::HeaderName),
        ("X: a\r\n folded", Fault::HeaderName),
    ] {
        assert_eq!(fault(&with(headers)), (expected, 0), "{headers:?}");
    }
    assert_eq!(body(&with("Content-Length: 3\r\nContent-Length: 3")), b"abc");
    assert_eq!(body(&with("Content-Length: 0003")), b"abc");
    let old = b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(fault(old), (Fault::Coding, 0));
}

#[test]
fn chunks_are_taken_strictly() {
    for (bytes, expected, at) in [
        ("2\nab\r\n", Fault::LineEnd, 1),
        ("2;x\nab\r\n", Fault::LineEnd, 3),
        ("2\r\rab", Fault::LineEnd, 2),
        ("2\r\nabc\r\n", Fault::LineEnd, 5),
        ("2\r\nab\n", Fault::LineEnd, 5),
        ("2\r\nab\rx", Fault::LineEnd, 6),
        ("0\r\nA: b\n\r\n", Fault::LineEnd, 7),
        ("0\r\n\rx", Fault::LineEnd, 4),
        ("0\r\nabc\r\n\r\n", Fault::HeaderName, 6),
        ("0\r\n: c\r\n\r\n", Fault::HeaderName, 3),
        ("0\r\n a: c\r\n\r\n", Fault::HeaderName, 3),
        ("0\r\na: b\0\r\n\r\n", Fault::HeaderValue, 7),
        ("\r\n", Fault::ChunkSize, 0),
        (" 2\r\n", Fault::ChunkSize, 0),
        ("+2\r\n", Fault::ChunkSize, 0),
        ("0x2\r\n", Fault::ChunkSize, 1),
        ("2g\r\n", Fault::ChunkSize, 1),
        ("2 3\r\n", Fault::ChunkSize, 2),
        ("10000000000000000\r\n", Fault::ChunkSize, 16),
    ] {
        assert_eq!(fault(&chunked(bytes)), (expected, HEAD + at), "{bytes:?}");
    }
    // The largest size that is allowed, of which little comes.
    let read = get(&chunked("FFFFFFFFFFFFFFFF\r\nab")).unwrap();
    assert_eq!((&read.body[..], read.end), (&b"ab"[..], End::Pending("body")));
    assert_eq!(body(&chunked("0000000000000002 ; a\r\nab\r\n0\r\n\r\n")), b"ab");
}

#[test]
fn extensions_and_trailers_are_bounded() {
    let limits = Limits { head_bytes: 100, ..Limits::default() };
    for (long, short) in [("1;", "\r\nx\r\n0\r\n\r\n"), ("0\r\nA: ", "\r\n\r\n")] {
        for (fill, fits) in [(80, true), (200, false)] {
            let bytes = chunked(&format!("{long}{}{short}", "y".repeat(fill)));
            for size in [1, 33, usize::MAX] {
                let make = Response::new(Method::Get, &limits, Vec::new());
                let read = read(make, &bytes, size);
                match read {
                    Ok(read) => assert!(fits && read.end == End::Complete),
                    Err(error) => {
                        assert!(!fits);
                        assert_eq!(error.kind, ErrorKind::Http(Fault::ChunkLine));
                        assert_eq!(error.class(), Class::Limit);
                    }
                }
            }
        }
    }
}

#[test]
fn heads_are_bounded_in_bytes_and_lines() {
    let limits = Limits { head_bytes: 64, headers: 2, ..Limits::default() };
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(50));
    let endless = "HTTP/1.1 200 OK\r\nX: ".repeat(50);
    let lines = "HTTP/1.1 200 OK\r\na:\r\nb:\r\nc:\r\n\r\n";
    let cap = |bytes: &str, size| {
        let make = Response::new(Method::Get, &limits, Vec::new());
        match read(make, bytes.as_bytes(), size).unwrap_err().kind {
            ErrorKind::Limit { cap, value, limit } => (cap, value, limit),
            other => panic!("{other:?}"),
        }
    };
    for size in [1, 7, 60, usize::MAX] {
        assert_eq!(cap(&long, size), (Cap::HeadBytes, 65, 64));
        assert_eq!(cap(&endless, size), (Cap::HeadBytes, 65, 64));
        assert_eq!(cap(lines, size), (Cap::Headers, 3, 2));
        // The caller's room is another matter than the limit.
        let small = Response::new(Method::Get, &limits, [0u8; 32]);
        let error = read(small, long.as_bytes(), size).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Full(Full { need: 64 }));
    }
}

#[test]
fn what_is_not_http_is_told_at_once() {
    assert_eq!(fault(b"\x15\x03\x01"), (Fault::NotHttp, 0));
    assert_eq!(fault(b"HTTP/2 200\r\n\r\n"), (Fault::NotHttp, 5));
    assert_eq!(fault(b"HTTP/1.2 200 OK\r\n\r\n"), (Fault::Version, 0));
    assert_eq!(fault(b"HTTP/1.1 2x0 OK\r\n\r\n"), (Fault::Status, 0));
    assert_eq!(fault(b"HTTP/1.1 099 OK\r\n\r\n"), (Fault::Status, 0));
    // A stray CR before the blank line.
    assert_eq!(fault(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\r\n\r\n").0, Fault::LineEnd);
}

#[test]
fn a_connection_is_used_again_only_when_that_is_sure() {
    for (head, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close", false),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, close\r\nKeep-Alive: timeout=5",
            false,
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive", true),
        ("HTTP/1.1 200 OK", false),
    ] {
        let bytes = format!("{head}\r\n\r\n");
        assert_eq!(get(bytes.as_bytes()).unwrap().reusable, expected, "{head:?}");
    }
}

#[test]
fn a_request_is_one_piece_with_its_length() {
    let mut request = Request::post("/v1/chat/completions", b"{}");
    request.accept = "text/event-stream";
    request.close = true;
    request.headers = &[("Authorization", "Bearer k")];
    let expected = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\
        Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\
        Connection: close\r\nAuthorization: Bearer k\r\n\r\n{}";
    let mut bytes = vec![0; request.len()];
    assert_eq!(request.write(&mut bytes), Ok(expected.len()));
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    assert_eq!(request.to_vec().unwrap(), expected.as_bytes());
    let need = expected.len() as u64;
    let error = request.write(&mut vec![0; expected.len() - 1]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Full(Full { need }));
    let head = Request::new(Method::Head, "/health").to_vec().unwrap();
    assert_eq!(head, b"HEAD /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
}

#[test]
fn a_request_cannot_smuggle_another() {
    let refused = |request: &Request<'_>| match request.to_vec().unwrap_err().kind {
        ErrorKind::Http(fault) => fault,
        other => panic!("{other:?}"),
    };
    for target in ["", "health", "/a b", "/a\r\nX: y", "/\u{e4}", "/a\0"] {
        assert_eq!(refused(&Request::get(target)), Fault::Request, "{target:?}");
    }
    for (header, expected) in [
        (("X", "a\r\nY: b"), Fault::Request),
        (("X", "a\nb"), Fault::Request),
        (("X", "a\0"), Fault::Request),
        (("X", " a"), Fault::Request),
        (("", "a"), Fault::Request),
        (("X Y", "a"), Fault::Request),
        (("X:", "a"), Fault::Request),
        (("content-length", "5"), Fault::Reserved),
        (("Transfer-Encoding", "chunked"), Fault::Reserved),
        (("Accept-Encoding", "gzip"), Fault::Reserved),
    ] {
        let mut request = Request::get("/");
        let headers = [header];
        request.headers = &headers;
        assert_eq!(refused(&request), expected, "{header:?}");
    }
    let mut request = Request::get("/");
    request.host = "a\r\nb";
    assert_eq!(refused(&request), Fault::Request);
}

#[test]
fn nothing_is_consumed_when_done_and_errors_stay() {
    let mut done = response(Method::Get);
    visit(&mut done, 0, b"HTTP/1.1 204 No Content\r\n\r\n", |_| {}).unwrap();
    assert_eq!(visit(&mut done, 27, b"HTTP/1.1", |_| panic!("an item")), Ok(0));
    let mut failed = response(Method::Get);
    let error = visit(&mut failed, 0, b"x", |_| {}).unwrap_err();
    assert_eq!(failed.step(0, b"HTTP/1.1 204 No Content\r\n\r\n"), Err(error));
    assert_eq!(failed.end(), Err(error));
}

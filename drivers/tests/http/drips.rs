//! Servers that are slow in the worst places, and sockets that hold little.

use std::thread;

use rocload::http::{Error, Phase, Request, Timeouts};
use rocload_core::Millis;

use crate::driver::{Driver, ask, events, options, parser, patient};
use crate::server::{STREAM, Scenario};

/// An answer with everything that can be cut: a head, sizes of chunks, line ends of two bytes,
/// comments, characters of several bytes, an event in several chunks.
fn answer() -> Vec<u8> {
    let chunks = ["data: \u{1f527}\u{e4}\r\n\r\n: ping\n\n", "da", "ta: two\ndata: lines", "\n\n"];
    let mut answer = STREAM.as_bytes().to_vec();
    for chunk in chunks {
        answer.extend_from_slice(crate::server::chunk(chunk).as_bytes());
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

const WANTED: [&str; 2] = ["\u{1f527}\u{e4}", "two\nlines"];

pub(crate) fn every_byte_by_itself<D: Driver>() {
    for server in Scenario::new().drip(&answer(), 1).both() {
        let (found, end) = events(&D::default(), &server.endpoint, patient());
        end.unwrap();
        assert_eq!(found, WANTED);
    }
}

pub(crate) fn a_pause_at_every_place<D: Driver>() {
    let answer = answer();
    thread::scope(|scope| {
        for part in 0..8 {
            let answer = &answer;
            scope.spawn(move || {
                let driver = D::default();
                for cut in (1..answer.len()).filter(|cut| cut % 8 == part) {
                    let (before, after) = answer.split_at(cut);
                    let scenario = Scenario::new().send(before).pause(3).send(after);
                    let server = if part % 2 == 0 { scenario.tcp() } else { scenario.unix() };
                    let (found, end) = events(&driver, &server.endpoint, patient());
                    assert!(end.is_ok(), "{cut}: {end:?}");
                    assert_eq!(found, WANTED, "{cut}");
                }
            });
        }
    });
}

/// Silence is the idle error wherever it begins, and what came before it was told.
pub(crate) fn silence_at_every_place_runs_out<D: Driver>() {
    let answer = answer();
    let head = STREAM.len();
    let short = options(Timeouts { idle: Some(Millis(150)), ..patient().timeouts });
    thread::scope(|scope| {
        // Before and within the size of a chunk, a character, a line end, the last chunk.
        for cut in [head, head + 1, head + 12, head + 17, head + 30, head + 50, answer.len() - 1] {
            let answer = &answer;
            scope.spawn(move || {
                let server = Scenario::new().send(&answer[..cut]).gone().tcp();
                let (found, end) = events(&D::default(), &server.endpoint, short);
                match end.unwrap_err() {
                    Error::Expired(expired) => assert_eq!(expired.phase, Phase::Idle, "{cut}"),
                    other => panic!("{cut}: {other}"),
                }
                assert!(WANTED.starts_with(&found.iter().map(String::as_str).collect::<Vec<_>>()));
                server.gone();
            });
        }
    });
}

/// Sockets that take and give a few KiB at once, in both directions.
pub(crate) fn small_buffers<D: Driver>() {
    let driver = D::default();
    let body: Vec<u8> = (0..400_000u32).map(|n| b'a' + (n % 23) as u8).collect();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    for server in Scenario::new().send(&head).send(&body).small().both() {
        let request = Request::post("/", &body);
        let exchange = driver.send(&server.endpoint, patient(), &request).unwrap();
        assert!(driver.answer(exchange).unwrap().body == body);
        assert!(server.request().as_bytes().ends_with(&body));
    }
    let events: String = (0..4000).map(|n| format!("data: {n}\n\n")).collect();
    for server in Scenario::stream().chunk(&events).last_chunk().small().both() {
        let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
        let mut stream = driver.stream(exchange, parser()).unwrap();
        let mut next = 0;
        while let Some(data) = driver.next(&mut stream, crate::driver::data).unwrap() {
            assert_eq!(data, next.to_string());
            next += 1;
        }
        assert_eq!(next, 4000);
    }
}

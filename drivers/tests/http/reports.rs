//! What went wrong in other clients of such servers, by their public reports: the scenario that
//! each implies, as far as it takes a connection. The others are tested in the core.

use std::time::Instant;

use rocload::http::{Error, Phase, Readiness, Timeouts};
use rocload::llama::{self, Item, Outcome};
use rocload_core::{Limits, Millis};

use crate::driver::{Driver, ask, events, options, patient};
use crate::server::{CEILING, STREAM, Scenario, Server, chunk};

type Llama = llama::Stream<Vec<u8>>;

/// The text, the server's error and the ending of a stream, and how it failed.
pub(crate) fn said<D: Driver>(
    driver: &D,
    server: &Server,
    settings: llama::Options,
) -> (String, Option<String>, Option<Outcome>, Result<(), Error>) {
    let (mut text, mut error, mut outcome) = (String::new(), None, None);
    let mut run = || {
        let exchange = driver.send(&server.endpoint, patient(), &ask())?;
        let machine = Llama::new(settings, &Limits::default(), Vec::new(), Vec::new());
        let mut stream = driver.stream(exchange, machine)?;
        let mut see = |item: Item<'_>| match item {
            Item::Text { text: more, .. } => text.push_str(more),
            Item::Error(found) => error = Some(found.to_string()),
            Item::End(ending) => outcome = Some(ending.outcome),
            _ => {}
        };
        while driver.next::<Llama, _>(&mut stream, &mut see)?.is_some() {}
        Ok(())
    };
    let end = run();
    (text, error, outcome, end)
}

fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

pub(crate) fn report_08_a_long_line_is_no_silent_end<D: Driver>() {
    let driver = D::default();
    let long = "x".repeat(70_000);
    for server in Scenario::stream().event(&long).event("next").last_chunk().both() {
        let (found, end) = events(&driver, &server.endpoint, patient());
        assert_eq!(found, [long.as_str(), "next"]);
        end.unwrap();
        let mut small = patient();
        small.limits.event_bytes = 1000;
        let exchange = driver.send(&server.endpoint, small, &ask()).unwrap();
        let parser = rocload::sse::Parser::new(&small.limits, Vec::new());
        let mut stream = driver.stream(exchange, parser).unwrap();
        let mut found = Vec::new();
        let keep = |item: rocload::sse::Item<'_>| crate::driver::data(item);
        while let Some(item) =
            driver.next::<rocload::sse::Parser<Vec<u8>>, _>(&mut stream, keep).unwrap()
        {
            found.push(item);
        }
        assert_eq!(found, ["Overflow(Overflow { offset: 0 })", "next"]);
    }
}

pub(crate) fn report_13_an_error_in_a_200_stream_surfaces<D: Driver>() {
    let error =
        "{\"error\":{\"code\":500,\"message\":\"context is full\",\"type\":\"server_error\"}}";
    for server in Scenario::stream().chunk(&delta("Hi")).event(error).last_chunk().both() {
        let (text, error, outcome, end) = said(&D::default(), &server, llama::Options::new());
        assert_eq!(text, "Hi");
        assert_eq!(error.as_deref(), Some("context is full (server_error, 500)"));
        assert_eq!(outcome, Some(Outcome::Failed));
        end.unwrap();
    }
}

pub(crate) fn report_15_no_trailing_blank_line<D: Driver>() {
    let driver = D::default();
    for server in Scenario::stream().chunk(&delta("Hi")).chunk(STOP.trim_end()).last_chunk().both()
    {
        let (text, _, outcome, end) = said(&driver, &server, llama::Options::new());
        assert_eq!((text.as_str(), outcome), ("Hi", Some(Outcome::Truncated)));
        assert!(matches!(end, Err(Error::Truncated(_))), "{end:?}");
        let lenient = llama::Options::new().lenient_eof(true);
        let (text, _, outcome, end) = said(&driver, &server, lenient);
        assert_eq!((text.as_str(), outcome), ("Hi", Some(Outcome::Complete)));
        end.unwrap();
        // Bare events: what is dropped is told.
        match events(&driver, &server.endpoint, patient()).1.unwrap_err() {
            Error::Truncated(error) => assert_eq!((error.pending, error.events), ("line", 1)),
            other => panic!("{other}"),
        }
    }
}

pub(crate) fn report_20_a_cancelled_stream_is_gone_for_the_server<D: Driver>() {
    for server in Scenario::stream().forever(&delta("x"), 5).both() {
        let driver = D::default();
        let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
        let cancel = D::cancel_handle(&exchange);
        let machine = Llama::new(llama::Options::new(), &Limits::default(), Vec::new(), Vec::new());
        let mut stream = driver.stream(exchange, machine).unwrap();
        assert!(driver.next::<Llama, _>(&mut stream, |_| ()).unwrap().is_some());
        cancel.cancel();
        // Gone while the stream itself is still there, and asked for nothing.
        server.gone();
        let end = driver.next::<Llama, _>(&mut stream, |_| ());
        assert!(matches!(end, Err(Error::Cancelled)), "{end:?}");
    }
}

pub(crate) fn report_22_a_whole_stream_in_one_read<D: Driver>() {
    let body = [&delta("a"), &delta("b"), STOP, "data: [DONE]\n\n"].concat();
    // Nothing more comes, and the connection stays open.
    let all = [STREAM, &chunk(&body)].concat();
    for server in Scenario::new().send(all).gone().both() {
        let (text, _, outcome, end) = said(&D::default(), &server, llama::Options::new());
        assert_eq!((text.as_str(), outcome), ("ab", Some(Outcome::Complete)));
        end.unwrap();
        server.gone();
    }
}

fn idle(millis: u64) -> rocload::http::Options {
    options(Timeouts { idle: Some(Millis(millis)), ..patient().timeouts })
}

pub(crate) fn report_23_a_silent_socket_ends_in_the_idle_error<D: Driver>() {
    for scenario in [Scenario::stream(), Scenario::stream().event("one")] {
        for server in scenario.gone().both() {
            let started = Instant::now();
            let (_, end) = events(&D::default(), &server.endpoint, idle(200));
            match end.unwrap_err() {
                Error::Expired(expired) => {
                    assert_eq!((expired.phase, expired.limit), (Phase::Idle, Millis(200)));
                }
                other => panic!("{other}"),
            }
            assert!(started.elapsed() < CEILING);
            server.gone();
        }
    }
}

pub(crate) fn report_23_pings_keep_a_silent_stream_alive<D: Driver>() {
    let mut scenario = Scenario::stream();
    for _ in 0..30 {
        scenario = scenario.pause(50).chunk(":\n\n");
    }
    for server in scenario.event("one").last_chunk().both() {
        let (found, end) = events(&D::default(), &server.endpoint, idle(1000));
        assert_eq!(found, ["one"]);
        end.unwrap();
    }
}

pub(crate) fn report_24_a_long_stream_outlives_its_idle_limit<D: Driver>() {
    let mut scenario = Scenario::stream();
    for _ in 0..30 {
        scenario = scenario.event("x").pause(100);
    }
    // Three seconds, of which one may be silent.
    let servers = scenario.last_chunk().both();
    std::thread::scope(|scope| {
        for to in servers.each_ref().map(|server| &server.endpoint) {
            scope.spawn(|| {
                let (found, end) = events(&D::default(), to, idle(1000));
                assert_eq!(found.len(), 30);
                end.unwrap();
            });
        }
    });
}

pub(crate) fn report_25_no_last_chunk_is_truncated<D: Driver>() {
    let driver = D::default();
    for server in Scenario::stream().chunk(&delta("Hi")).chunk(":\n\n").both() {
        let (text, _, outcome, end) = said(&driver, &server, llama::Options::new());
        assert_eq!((text.as_str(), outcome), ("Hi", None));
        match end.unwrap_err() {
            Error::Truncated(error) => {
                assert_eq!(error.pending, "body");
                assert_eq!(error.body_bytes, delta("Hi").len() as u64 + 3);
            }
            other => panic!("{other}"),
        }
    }
    // An orderly end without an end mark is no better.
    for server in Scenario::stream().chunk(&delta("Hi")).last_chunk().both() {
        let (text, _, outcome, end) = said(&driver, &server, llama::Options::new());
        assert_eq!((text.as_str(), outcome), ("Hi", Some(Outcome::Truncated)));
        match end.unwrap_err() {
            Error::Truncated(error) => assert_eq!(error.pending, "stream"),
            other => panic!("{other}"),
        }
    }
}

pub(crate) fn report_26_readiness<D: Driver>() {
    let driver = D::default();
    let answer = |status: &str, body: &str| {
        let length = body.len();
        Scenario::new().send(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}"))
    };
    for (status, body, expected) in [
        ("200 OK", "{\"status\":\"ok\"}", Readiness::Ready),
        ("200 OK", "{\"status\":\"no\"}", Readiness::Failed),
        ("200 OK", "<html>", Readiness::Failed),
        (
            "503 Busy",
            "{\"error\":{\"message\":\"Loading model\",\"code\":503}}",
            Readiness::Loading,
        ),
        ("404 Not Found", "", Readiness::Failed),
        ("401 Unauthorized", "", Readiness::Failed),
    ] {
        for server in answer(status, body).both() {
            assert_eq!(driver.readiness(&server.endpoint), expected, "{status} {body}");
            assert!(server.request().starts_with("GET /health HTTP/1.1\r\n"));
        }
    }
    let nowhere = rocload::http::Endpoint::Unix("/nonexistent/a.sock".into());
    assert_eq!(driver.readiness(&nowhere), Readiness::NotYet);
    // A socket file that nobody listens to any more.
    let folder = tempfile::tempdir().unwrap();
    let stale = folder.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    assert_eq!(driver.readiness(&stale.into()), Readiness::NotYet);
}

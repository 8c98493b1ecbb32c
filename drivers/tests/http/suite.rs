//! What both drivers must do.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rocload::http::{Endpoint, Error, Options, Phase, Request, Timeouts};
use rocload_core::{Class, Millis};

use crate::driver::{Driver, ask, data, events, options, parser, patient};
use crate::server::{CEILING, STREAM, Scenario, Seen};

/// Runs every test of the suite and every report for a driver.
macro_rules! suite {
    ($driver:ty) => {
        crate::suite::suite!(@ $driver, suite:
            a_request_is_sent_whole_and_closes_its_connection
            a_large_request_is_sent_while_the_answer_is_waited_for
            an_early_answer_to_a_large_request_is_heard
            whole_answers_and_their_limits
            statuses_are_typed_errors
            an_answer_that_is_no_stream_is_an_error
            a_stream_is_read_event_by_event
            the_wait_for_the_head_has_its_own_limit
            the_wait_between_events_has_a_limit
            the_whole_exchange_has_a_limit
            cancelling_from_another_thread_ends_a_wait_at_once
            cancelling_before_and_after_is_harmless
            dropping_closes_the_connection_at_once
            the_connection_is_never_half_closed
            a_reset_is_told_with_what_had_come
            malformed_answers_are_refused
            nobody_there_is_a_connect_error
            a_failed_stream_stays_ended_and_others_go_on
        );
        crate::suite::suite!(@ $driver, reports:
            report_08_a_long_line_is_no_silent_end
            report_13_an_error_in_a_200_stream_surfaces
            report_15_no_trailing_blank_line
            report_20_a_cancelled_stream_is_gone_for_the_server
            report_22_a_whole_stream_in_one_read
            report_23_a_silent_socket_ends_in_the_idle_error
            report_23_pings_keep_a_silent_stream_alive
            report_24_a_long_stream_outlives_its_idle_limit
            report_25_no_last_chunk_is_truncated
            report_26_readiness
        );
        crate::suite::suite!(@ $driver, drips:
            every_byte_by_itself
            a_pause_at_every_place
            silence_at_every_place_runs_out
            small_buffers
        );
        crate::suite::suite!(@ $driver, captured:
            captured_answers_come_through_whole
        );
    };
    (@ $driver:ty, $module:ident: $($name:ident)*) => {
        $(#[test]
        fn $name() {
            crate::$module::$name::<$driver>();
        })*
    };
}
pub(crate) use suite;

pub(crate) fn a_request_is_sent_whole_and_closes_its_connection<D: Driver>() {
    for server in Scenario::new().send("HTTP/1.1 204 No Content\r\n\r\n").gone().both() {
        let mut request = Request::post("/x?y=1", b"{}");
        request.headers = &[("X-Api-Key", "k")];
        let answer = D::default().fetch(&server.endpoint, &request).unwrap();
        assert_eq!((answer.head().status, answer.body.len()), (204, 0));
        let expected = "POST /x?y=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
            Content-Length: 2\r\nConnection: close\r\nX-Api-Key: k\r\n\r\n{}";
        assert_eq!(server.request(), expected);
        assert_eq!(server.seen(), Seen::Gone);
    }
    let bad = Request::get("no slash");
    let to = Endpoint::Unix("/nowhere".into());
    let error = D::default().fetch(&to, &bad).unwrap_err();
    assert!(matches!(error, Error::Protocol(error) if error.class() == Class::Misuse));
}

pub(crate) fn a_large_request_is_sent_while_the_answer_is_waited_for<D: Driver>() {
    let body = vec![b'x'; 8 << 20];
    for server in Scenario::new().send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").both() {
        let request = Request::post("/", &body);
        let driver = D::default();
        let exchange = driver.send(&server.endpoint, patient(), &request).unwrap();
        assert_eq!(driver.answer(exchange).unwrap().body, b"ok");
        assert!(server.request().len() > body.len());
    }
}

pub(crate) fn an_early_answer_to_a_large_request_is_heard<D: Driver>() {
    let body = vec![b'x'; 8 << 20];
    let refusal = "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 5\r\n\r\nlarge";
    for server in Scenario::deaf().send(refusal).pause(1000).both() {
        let driver = D::default();
        let request = Request::post("/", &body);
        let exchange = driver.send(&server.endpoint, patient(), &request).unwrap();
        match driver.answer(exchange).unwrap_err() {
            Error::Status(error) => {
                assert_eq!((error.status, error.snippet.as_str()), (413, "large"));
            }
            other => panic!("{other}"),
        }
    }
}

pub(crate) fn whole_answers_and_their_limits<D: Driver>() {
    let driver = D::default();
    let answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 10\r\n\r\n0123456789";
    for server in Scenario::new().send(answer).both() {
        let mut options = patient();
        for (limit, fits) in [(10, true), (9, false)] {
            options.answer_bytes = limit;
            let exchange = driver.send(&server.endpoint, options, &ask()).unwrap();
            match driver.answer(exchange) {
                Ok(answer) => {
                    assert!(fits);
                    assert_eq!(answer.body, b"0123456789");
                    assert_eq!(answer.head().header("x"), Some(&b"1"[..]));
                }
                Err(Error::TooLarge { limit }) => assert_eq!((limit, fits), (9, false)),
                Err(other) => panic!("{other}"),
            }
        }
    }
    for server in Scenario::new().send(&answer[..answer.len() - 3]).both() {
        match driver.fetch(&server.endpoint, &ask()).unwrap_err() {
            Error::Truncated(error) => {
                assert_eq!((error.pending, &error.received[..]), ("body", &b"0123456"[..]));
            }
            other => panic!("{other}"),
        }
    }
}

pub(crate) fn statuses_are_typed_errors<D: Driver>() {
    let json = r#"{"error":{"code":400,"message":"the request exceeds","type":"exceed_context_size_error","n_prompt_tokens":31,"n_ctx":16}}"#;
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{json}",
        json.len()
    );
    let driver = D::default();
    for server in Scenario::new().send(answer).both() {
        for stream in [false, true] {
            let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
            let error = match stream {
                true => driver.stream(exchange, parser()).err().unwrap(),
                false => driver.answer(exchange).unwrap_err(),
            };
            assert_eq!(
                error.to_string(),
                "the server answered 400: the request exceeds (exceed_context_size_error)"
            );
            let Error::Status(error) = error else { panic!("{error}") };
            assert_eq!((error.status, error.code), (400, 400));
            assert_eq!((error.n_prompt_tokens, error.n_ctx), (Some(31), Some(16)));
            assert_eq!(error.kind.as_deref(), Some("exceed_context_size_error"));
        }
    }
    // A body that nobody understands, longer than is read of it, and one that stops short.
    let long = "\u{fffd}\x1b[31m".repeat(100_000);
    let raw = [b"HTTP/1.1 502 Bad Gateway\r\n\r\n\xff", long.as_bytes()].concat();
    for server in Scenario::new().send(raw).both() {
        let error = driver.fetch(&server.endpoint, &ask()).unwrap_err();
        assert!(!error.to_string().contains('\x1b'), "{error}");
        let Error::Status(error) = error else { panic!("{error}") };
        assert_eq!((error.status, error.code, error.message.as_deref()), (502, 502, None));
        assert!(
            error.snippet.starts_with("\u{fffd}\u{fffd}\x1b[31m") && error.snippet.len() < 1600
        );
    }
    let cut = "HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nhalf";
    for server in Scenario::new().send(cut).both() {
        let Error::Status(error) = driver.fetch(&server.endpoint, &ask()).unwrap_err() else {
            panic!("no status")
        };
        assert_eq!((error.status, error.snippet.as_str()), (500, "half"));
    }
}

pub(crate) fn an_answer_that_is_no_stream_is_an_error<D: Driver>() {
    let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 11\r\n\r\n{\"a\":\"b\"}\r\n";
    let driver = D::default();
    for server in Scenario::new().send(json).both() {
        let (found, end) = events(&driver, &server.endpoint, patient());
        assert_eq!(found.len(), 0);
        match end.unwrap_err() {
            Error::NotStream(error) => {
                assert_eq!(error.media_type, "application/json");
                assert_eq!(error.snippet, "{\"a\":\"b\"}\r\n");
            }
            other => panic!("{other}"),
        }
    }
}

pub(crate) fn a_stream_is_read_event_by_event<D: Driver>() {
    let driver = D::default();
    for server in Scenario::stream()
        .event("one")
        .pause(30)
        .chunk("da")
        .chunk("ta: two\n")
        .pause(30)
        .chunk("\n: ping\n\ndata: three\n\n")
        .last_chunk()
        .both()
    {
        let (found, end) = events(&driver, &server.endpoint, patient());
        assert_eq!(found, ["one", "two", "three"]);
        end.unwrap();
        // The bare exchange gives the body itself.
        let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
        let (status, kind, body) = driver.pieces(exchange).unwrap();
        assert_eq!((status, kind.as_str()), (200, "text/event-stream"));
        assert_eq!(body, b"data: one\n\ndata: two\n\n: ping\n\ndata: three\n\n");
    }
}

fn phase(error: &Error) -> Phase {
    match error {
        Error::Expired(expired) => expired.phase,
        other => panic!("{other}"),
    }
}

fn limited(set: impl FnOnce(&mut Timeouts)) -> Options {
    let mut timeouts = patient().timeouts;
    set(&mut timeouts);
    options(timeouts)
}

pub(crate) fn the_wait_for_the_head_has_its_own_limit<D: Driver>() {
    let driver = D::default();
    // A queued request gets no byte at all; bytes of a head are none either.
    for scenario in [Scenario::new(), Scenario::new().send("HTTP/1.1 200 OK\r\n")] {
        for server in scenario.gone().both() {
            let options = limited(|timeouts| timeouts.headers = Some(Millis(150)));
            let (_, end) = events(&driver, &server.endpoint, options);
            assert_eq!(phase(&end.unwrap_err()), Phase::Headers);
            server.gone();
        }
    }
    for server in Scenario::new().pause(300).send(STREAM).event("late").last_chunk().both() {
        let options = limited(|timeouts| timeouts.idle = Some(Millis(100)));
        let (found, end) = events(&driver, &server.endpoint, options);
        assert_eq!(found, ["late"]);
        end.unwrap();
    }
}

pub(crate) fn the_wait_between_events_has_a_limit<D: Driver>() {
    for server in Scenario::stream().event("one").forever(": ping\n\n", 10).both() {
        let options = limited(|timeouts| timeouts.events = Some(Millis(300)));
        let (found, end) = events(&D::default(), &server.endpoint, options);
        assert_eq!(found, ["one"]);
        assert_eq!(phase(&end.unwrap_err()), Phase::Events);
        server.gone();
    }
}

pub(crate) fn the_whole_exchange_has_a_limit<D: Driver>() {
    for server in Scenario::stream().forever("data: x\n\n", 1).both() {
        let options = limited(|timeouts| timeouts.total = Some(Millis(300)));
        let (found, end) = events(&D::default(), &server.endpoint, options);
        assert!(!found.is_empty());
        assert_eq!(phase(&end.unwrap_err()), Phase::Total);
        server.gone();
    }
}

pub(crate) fn cancelling_from_another_thread_ends_a_wait_at_once<D: Driver>() {
    for scenario in [Scenario::new(), Scenario::stream().event("one")] {
        for server in scenario.gone().both() {
            let driver = D::default();
            let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
            let cancel = D::cancel_handle(&exchange);
            let started = Instant::now();
            let other = thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                cancel.cancel();
                cancel.is_cancelled()
            });
            let end = driver.pieces(exchange).unwrap_err();
            assert!(matches!(end, Error::Cancelled), "{end}");
            assert!(started.elapsed() < CEILING);
            server.gone();
            assert!(other.join().unwrap());
        }
    }
}

pub(crate) fn cancelling_before_and_after_is_harmless<D: Driver>() {
    let driver = D::default();
    for server in Scenario::stream().event("one").last_chunk().both() {
        let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
        let cancel = D::cancel_handle(&exchange);
        cancel.cancel();
        let end = driver.pieces(exchange).unwrap_err();
        assert!(matches!(end, Error::Cancelled), "{end}");
        cancel.cancel();
        let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
        let cancel = D::cancel_handle(&exchange);
        driver.pieces(exchange).unwrap();
        cancel.cancel();
    }
}

pub(crate) fn dropping_closes_the_connection_at_once<D: Driver>() {
    let driver = D::default();
    for server in Scenario::stream().event("one").forever("data: more\n\n", 5).both() {
        let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
        // A handle that is kept does not keep the connection.
        let _cancel = D::cancel_handle(&exchange);
        let mut stream = driver.stream(exchange, parser()).unwrap();
        let first = driver.next::<rocload::sse::Parser<Vec<u8>>, _>(&mut stream, data).unwrap();
        assert_eq!(first.as_deref(), Some("one"));
        drop(stream);
        server.gone();
        // Before the head, too.
        drop(driver.send(&server.endpoint, patient(), &ask()).unwrap());
        server.gone();
    }
}

pub(crate) fn the_connection_is_never_half_closed<D: Driver>() {
    // A half-closed connection would show as an end of the request's side.
    for server in Scenario::stream().event("one").pause(50).event("two").last_chunk().gone().both()
    {
        let driver = D::default();
        let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
        let mut stream = driver.stream(exchange, parser()).unwrap();
        for expected in ["one", "two"] {
            let next = driver.next::<rocload::sse::Parser<Vec<u8>>, _>(&mut stream, data).unwrap();
            assert_eq!(next.as_deref(), Some(expected));
            assert!(matches!(server.try_seen(), None | Some(Seen::Request(_))));
        }
        drop(stream);
        server.gone();
    }
}

pub(crate) fn a_reset_is_told_with_what_had_come<D: Driver>() {
    // A server that goes with bytes unread resets the connection.
    let server = Scenario::deaf().send(STREAM).send("b\r\ndata: one\n\n\r\n").pause(100).tcp();
    let (found, end) = events(&D::default(), &server.endpoint, patient());
    assert_eq!(found, ["one"]);
    match end.unwrap_err() {
        Error::Truncated(error) => {
            assert_eq!((error.pending, error.body_bytes, error.events), ("body", 11, 1));
            let source = error.source.expect("a reason");
            assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
        }
        other => panic!("{other}"),
    }
}

pub(crate) fn malformed_answers_are_refused<D: Driver>() {
    let driver = D::default();
    for answer in [
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        for server in Scenario::new().send(answer).gone().both() {
            let (_, end) = events(&driver, &server.endpoint, patient());
            let error = end.unwrap_err();
            assert!(matches!(error, Error::Protocol(_)), "{error}");
            server.gone();
        }
    }
    for server in Scenario::new().both() {
        let (_, end) = events(&driver, &server.endpoint, patient());
        match end.unwrap_err() {
            Error::Truncated(error) => assert_eq!((error.pending, error.body_bytes), ("head", 0)),
            other => panic!("{other}"),
        }
    }
}

pub(crate) fn nobody_there_is_a_connect_error<D: Driver>() {
    let folder = tempfile::tempdir().unwrap();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    for (to, kind) in [
        (Endpoint::Unix(folder.path().join("none.sock")), io::ErrorKind::NotFound),
        (Endpoint::Tcp(closed), io::ErrorKind::ConnectionRefused),
    ] {
        match D::default().fetch(&to, &Request::get("/health")).unwrap_err() {
            Error::Connect { endpoint, source } => {
                assert_eq!((&endpoint, source.kind()), (&to, kind));
            }
            other => panic!("{other}"),
        }
    }
    let long = Endpoint::Unix(folder.path().join("x".repeat(200)));
    let error = D::default().fetch(&long, &Request::get("/health")).unwrap_err();
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}

pub(crate) fn a_failed_stream_stays_ended_and_others_go_on<D: Driver>() {
    let driver = D::default();
    let [bad, _] = Scenario::stream().event("one").both();
    let [good, _] = Scenario::stream().event("a").pause(200).event("b").last_chunk().both();
    let open = |server: &crate::server::Server| {
        let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
        driver.stream(exchange, parser()).unwrap()
    };
    let (mut bad, mut good) = (open(&bad), open(&good));
    let next =
        |stream: &mut D::Stream<_>| driver.next::<rocload::sse::Parser<Vec<u8>>, _>(stream, data);
    assert_eq!(next(&mut bad).unwrap().as_deref(), Some("one"));
    assert_eq!(next(&mut good).unwrap().as_deref(), Some("a"));
    assert!(matches!(next(&mut bad), Err(Error::Truncated(_))));
    assert!(matches!(next(&mut bad), Ok(None)));
    assert_eq!(next(&mut good).unwrap().as_deref(), Some("b"));
    assert!(matches!(next(&mut good), Ok(None)));
}

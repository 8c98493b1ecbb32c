//! hyper as a witness: what it makes of a response, ours does too, and where they differ, ours is
//! the stricter one in a way that is listed here.

use std::collections::BTreeMap;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use laws::http::{Given, any_chunking, mutated, soup};
use laws::random::Random;
use rocload_core::ErrorKind;
use rocload_core::http::{Fault, Method};
use rocload_fixtures::captured;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Status and body by hyper; `None` where it fails.
async fn by_hyper(wire: &[u8]) -> Option<(u16, Vec<u8>)> {
    let (client, mut server) = tokio::io::duplex(1 << 20);
    let wire = wire.to_vec();
    let serve = tokio::spawn(async move {
        // The request first, as hyper wants nothing before it.
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut buffer = [0; 1024];
            match server.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(read) => request.extend_from_slice(&buffer[..read]),
            }
        }
        let _ = server.write_all(&wire).await;
    });
    let (mut sender, connection) = http1::handshake(TokioIo::new(client)).await.ok()?;
    let drive = tokio::spawn(connection);
    let request = hyper::Request::get("/").header("host", "localhost");
    let answer = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await;
    let given = match answer {
        Ok(answer) => {
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await.ok();
            body.map(|body| (status, body.to_bytes().to_vec()))
        }
        Err(_) => None,
    };
    drive.abort();
    serve.abort();
    given
}

/// Why ours may refuse what hyper takes.
fn stricter(given: &Given) -> Option<&'static str> {
    let Err(error) = &given.end else { return None };
    match error.kind {
        ErrorKind::Http(Fault::LengthAndCoding) => Some("length and coding together"),
        ErrorKind::Http(Fault::Coding) => Some("codings other than chunked alone, or in 1.0"),
        ErrorKind::Http(Fault::ContentLength) => Some("a length that is not digits alone"),
        ErrorKind::Http(Fault::ContentLengths) => Some("lengths that differ beside no body"),
        _ => None,
    }
}

/// Compares; notes in `differ` where ours is stricter.
async fn compare(wire: &[u8], seed: u64, differ: &mut BTreeMap<&'static str, usize>) {
    let given = any_chunking(wire, Method::Get, Some(seed)).unwrap();
    let theirs = by_hyper(wire).await;
    let shown = || wire.escape_ascii().to_string();
    match (&given.end, theirs) {
        (Ok(None), Some((status, body))) => {
            assert_eq!((given.status, &given.body), (status, &body), "{}", shown());
        }
        (Ok(Some(_)) | Err(_), None) => {}
        (Ok(None), None) => panic!("ours alone takes {}", shown()),
        (Ok(Some(what)), Some(_)) => panic!("ours alone misses the {what} of {}", shown()),
        (Err(error), Some(_)) => match stricter(&given) {
            Some(why) => *differ.entry(why).or_default() += 1,
            None => panic!("ours alone refuses: {error}: {}", shown()),
        },
    }
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn captured_responses_are_what_hyper_makes_of_them() {
    run(async {
        let mut differ = BTreeMap::new();
        for answer in captured("captured_responses_are_what_hyper_makes_of_them") {
            compare(&answer.wire, 1, &mut differ).await;
        }
        assert_eq!(differ, BTreeMap::new());
    });
}

#[test]
fn mutated_captures_are_what_hyper_makes_of_them() {
    run(async {
        let mut random = Random::new(0x4e7);
        let mut differ = BTreeMap::new();
        let all = captured("mutated_captures_are_what_hyper_makes_of_them");
        for _ in 0..4_000 {
            let answer = &all[random.below(all.len() as u64) as usize];
            let wire = mutated(&answer.wire[..answer.wire.len().min(3000)], &mut random);
            compare(&wire, random.next(), &mut differ).await;
        }
        eprintln!("stricter than hyper: {differ:?}");
    });
}

#[test]
fn random_responses_are_what_hyper_makes_of_them() {
    run(async {
        let mut random = Random::new(0x50fb);
        let mut differ = BTreeMap::new();
        for _ in 0..20_000 {
            let wire = soup(&mut random);
            compare(&wire, random.next(), &mut differ).await;
        }
        eprintln!("stricter than hyper: {differ:?}");
    });
}

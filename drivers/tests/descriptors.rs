//! Report 21: dropped streams leak no descriptor. Alone in its process, since it counts them.
#![cfg(all(target_os = "linux", feature = "blocking", feature = "tokio"))]

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread;

use rocload::http::{Endpoint, Request};
use rocload::{blocking, tokio};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: x\n\n";
const STREAMS: usize = 200;

/// Answers a connection with an event, then waits until it is gone.
fn serve(mut socket: impl std::io::Read + std::io::Write) {
    let mut buffer = [0; 4096];
    assert!(socket.read(&mut buffer).unwrap() > 0);
    socket.write_all(ANSWER).unwrap();
    // Something is on its way all the time, as from a model.
    while socket.write_all(b"data: y\n\n").is_ok() {}
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Runs `streams` against a server and returns when the server has seen every one of them go.
fn with_server(unix: bool, streams: impl FnOnce(&Endpoint)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = UnixListener::bind(&path).unwrap();
    let endpoint = if unix { path.into() } else { tcp.local_addr().unwrap().into() };
    let server = thread::spawn(move || {
        for _ in 0..STREAMS {
            match unix {
                true => serve(local.accept().unwrap().0),
                false => serve(tcp.accept().unwrap().0),
            }
        }
    });
    streams(&endpoint);
    server.join().unwrap();
}

#[test]
fn report_21_200_dropped_streams_leak_no_descriptor() {
    let request = Request::post("/completion", b"{\"stream\":true}");
    let runtime = ::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let before = open_files();
    for unix in [false, true] {
        with_server(unix, |to| {
            let client = blocking::Client::new(to.clone());
            for round in 0..STREAMS {
                let mut stream = client.events(&request).unwrap();
                assert!(stream.next().unwrap().is_some());
                let cancel = stream.cancel_handle();
                if round % 2 == 0 {
                    cancel.cancel();
                }
                drop(stream);
                // The handle outlives it, and holds nothing.
                cancel.cancel();
            }
        });
        with_server(unix, |to| {
            let client = tokio::Client::new(to.clone());
            for _ in 0..STREAMS {
                runtime.block_on(async {
                    let mut stream = client.events(&request).await.unwrap();
                    assert!(stream.next().await.unwrap().is_some());
                });
            }
        });
        assert_eq!(open_files(), before);
    }
}

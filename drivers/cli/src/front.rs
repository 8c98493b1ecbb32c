//! A port of this machine in front of a server that listens on a Unix socket.
//!
//! Requests of web pages from elsewhere are refused here (403, and no header that would let the
//! page read it), whatever the server would do: a browser tells a page's origin with each request.
//! All else is passed on as it is, one request a connection. The key is the server's to check.
//!
//! A client may close its half of the connection once it has asked. llama-server would take it for
//! gone and drop its request, so it is not told; and since a client that is really gone looks the
//! same at first, it is written to (`100 Continue`, which any client of HTTP/1.1 passes over): the
//! system of one that is gone says so at once, and then the server is told.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// The longest head of a request, in bytes.
const HEAD: usize = 16 << 10;
/// Header lines of a request.
const HEADERS: usize = 64;
/// How long a whole head may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what is sent is still read after an answer that refuses it.
const LINGER: Duration = Duration::from_millis(500);
/// Connections at once.
const CONNECTIONS: usize = 128;

const FOREIGN: &str = r#"{"error":{"code":403,"message":"requests of web pages are served from localhost only","type":"permission_error"}}"#;
const MALFORMED: &str =
    r#"{"error":{"code":400,"message":"no http request","type":"invalid_request_error"}}"#;
const BUSY: &str =
    r#"{"error":{"code":503,"message":"too many connections","type":"unavailable_error"}}"#;
const LOADING: &str =
    r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;

/// A port that is taken, and where its requests go.
#[derive(Debug)]
pub(crate) struct Front {
    address: SocketAddr,
    server: Arc<Mutex<Option<PathBuf>>>,
}

impl Front {
    /// Takes a port of 127.0.0.1; 0 takes a free one. Until [`to`](Front::to) is told, requests
    /// are answered as by a server that loads its model.
    pub(crate) fn new(port: u16) -> io::Result<Front> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let front = Front { address: listener.local_addr()?, server: Arc::default() };
        let server = front.server.clone();
        let open = Arc::new(AtomicUsize::new(0));
        thread::Builder::new().name("front".into()).spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else {
                    // Too many descriptors, or the like: it passes.
                    thread::sleep(Duration::from_millis(50));
                    continue;
                };
                let server = server.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let Some(place) = Place::take(&open) else {
                    turn_away(client);
                    continue;
                };
                let spawned = thread::Builder::new().name("request".into()).spawn(move || {
                    // Whoever has gone away needs no answer.
                    let _ = serve(client, server.as_deref());
                    drop(place);
                });
                // Without a thread the connection is closed.
                drop(spawned);
            }
        })?;
        Ok(front)
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server is ready at this socket; `None` = it is not.
    pub(crate) fn to(&self, server: Option<&Path>) {
        let mut place = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        *place = server.map(Path::to_path_buf);
    }
}

/// One of the connections that there may be.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Option<Place> {
        let place = Place(open.clone());
        (open.fetch_add(1, Ordering::Relaxed) < CONNECTIONS).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(mut client: TcpStream, server: Option<&Path>) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    client.set_nodelay(true)?;
    let mut bytes = Vec::new();
    let head = loop {
        match judge(&bytes) {
            Judged::More if bytes.len() < HEAD => {}
            Judged::More | Judged::Malformed => {
                return refuse(client, "400 Bad Request", MALFORMED);
            }
            Judged::Foreign => return refuse(client, "403 Forbidden", FOREIGN),
            Judged::Fine(head) => break head,
        }
        let mut chunk = [0; 4096];
        match read_until(&mut client, &mut chunk, until)? {
            0 => return Ok(()),
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    };
    let Some(mut server) = server.and_then(|path| UnixStream::connect(path).ok()) else {
        return refuse(client, "503 Service Unavailable", LOADING);
    };
    server.write_all(&head.text)?;
    server.write_all(&bytes[head.len..])?;
    client.set_read_timeout(None)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let silent = Arc::new(Mutex::new(true));
    let still = silent.clone();
    let upwards = thread::Builder::new().name("request's body".into()).spawn(move || {
        if io::copy(&mut from, &mut to).is_ok() {
            let silent = still.lock().unwrap_or_else(PoisonError::into_inner);
            if *silent && head.interim {
                let _ = from.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
            }
            drop(silent);
            until_gone(&from);
        }
        // Nobody is there to be worked for.
        let _ = to.shutdown(Shutdown::Both);
    })?;
    let copied = pass_on(&mut server, &mut client, &silent);
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
    let _ = upwards.join();
    copied.map(|_| ())
}

/// Passes the answer on; `silent` until its first byte.
fn pass_on(
    server: &mut UnixStream,
    client: &mut TcpStream,
    silent: &Mutex<bool>,
) -> io::Result<u64> {
    let mut first = [0; 4096];
    let read = loop {
        match server.read(&mut first) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    *silent.lock().unwrap_or_else(PoisonError::into_inner) = false;
    client.write_all(&first[..read])?;
    io::copy(server, client)
}

/// Waits until a connection is closed in both directions, or reset.
fn until_gone(client: &TcpStream) {
    // These are told whether or not they are asked for.
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(client, PollFlags::empty())], None) {}
}

/// Reads what comes before a moment.
fn read_until(client: &mut TcpStream, chunk: &mut [u8], until: Instant) -> io::Result<usize> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Closes a connection that is one too many, at once: who does not take the answer now has none.
fn turn_away(mut client: TcpStream) {
    if client.set_nonblocking(true).is_ok() {
        let _ = client.write(answer("503 Service Unavailable", BUSY).as_bytes());
    }
}

fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn refuse(mut client: TcpStream, status: &str, body: &str) -> io::Result<()> {
    client.write_all(answer(status, body).as_bytes())?;
    client.shutdown(Shutdown::Write)?;
    // What was sent is read, or closing would reset the connection before the answer is read.
    let until = Instant::now() + LINGER;
    let mut chunk = [0; 4096];
    while read_until(&mut client, &mut chunk, until)? > 0 {}
    Ok(())
}

/// A request's head as it is passed on.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    text: Vec<u8>,
    /// Bytes that it had.
    len: usize,
    /// The client knows of answers before the answer.
    interim: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Judged {
    More,
    Malformed,
    /// It is of a web page from elsewhere.
    Foreign,
    Fine(Head),
}

fn judge(bytes: &[u8]) -> Judged {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Judged::More,
        Err(_) => return Judged::Malformed,
    };
    let (Some(method), Some(path)) = (request.method, request.path) else {
        return Judged::Malformed;
    };
    let named = |header: &httparse::Header<'_>, name: &str| header.name.eq_ignore_ascii_case(name);
    if request.headers.iter().any(|header| named(header, "origin") && !is_local(header.value)) {
        return Judged::Foreign;
    }
    // One request a connection: the next one is judged too.
    let mut text = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    for header in request.headers.iter() {
        if ["connection", "keep-alive"].iter().any(|name| named(header, name)) {
            continue;
        }
        text.extend_from_slice(header.name.as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(header.value);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"Connection: close\r\n\r\n");
    Judged::Fine(Head { text, len, interim: request.version == Some(1) })
}

/// An origin of this machine: `http://localhost:3000`, `http://127.0.0.1`, `http://[::1]:1`.
fn is_local(origin: &[u8]) -> bool {
    let Ok(origin) = str::from_utf8(origin) else { return false };
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let Some(rest) = rest else { return false };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (rest, "0"),
    };
    matches!(host, "localhost" | "127.0.0.1" | "[::1]") && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_of_this_machine() {
        for fine in [
            "http://localhost",
            "http://localhost:3000",
            "https://127.0.0.1:1",
            "http://[::1]",
            "http://[::1]:80",
        ] {
            assert!(is_local(fine.as_bytes()), "{fine}");
        }
        for foreign in [
            "https://elsewhere.example",
            "http://localhost.elsewhere.example",
            "http://localhost@elsewhere.example",
            "http://elsewhere.example:localhost",
            "http://localhost:80.elsewhere.example",
            "file://localhost",
            "null",
            "",
        ] {
            assert!(!is_local(foreign.as_bytes()), "{foreign}");
        }
        assert!(!is_local(b"http://localhost\xff"));
    }

    #[test]
    fn heads_are_judged_when_they_are_whole() {
        let head = b"POST /v1/x HTTP/1.1\r\nHost: a\r\nOrigin: http://localhost:1\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}";
        for end in 0..head.len() - 2 {
            assert_eq!(judge(&head[..end]), Judged::More, "{end}");
        }
        let Judged::Fine(judged) = judge(head) else { panic!() };
        assert_eq!(&head[judged.len..], b"{}");
        let text = "POST /v1/x HTTP/1.1\r\nHost: a\r\nOrigin: http://localhost:1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
        assert_eq!(judged.text, text.as_bytes());
        // One among several, in any spelling, is enough.
        let foreign =
            b"GET / HTTP/1.1\r\nOrigin: http://localhost\r\nORIGIN: https://a.example\r\n\r\n";
        assert_eq!(judge(foreign), Judged::Foreign);
        for malformed in
            [&b"\x16\x03\x01"[..], b"GET / HTTP/1.1\r\nOrigin : x\r\n\r\n", b"GET /\r\n\r\n"]
        {
            assert_eq!(judge(malformed), Judged::Malformed);
        }
    }

    #[test]
    fn requests_go_through_and_others_are_refused() {
        let front = Front::new(0).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s.sock");
        let ask = |head: &str| {
            let mut stream = TcpStream::connect(front.address()).unwrap();
            stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        assert!(ask("GET / HTTP/1.1").starts_with("HTTP/1.1 503"));
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 256];
            let read = stream.read(&mut head).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
            String::from_utf8(head[..read].to_vec()).unwrap()
        });
        front.to(Some(&socket));
        let refused = ask("GET / HTTP/1.1\r\nOrigin: https://elsewhere.example");
        assert!(
            refused.starts_with("HTTP/1.1 403")
                && !refused.to_lowercase().contains("access-control")
        );
        assert_eq!(ask("GET /a HTTP/1.1"), "HTTP/1.1 200 OK\r\n\r\nhello");
        assert_eq!(server.join().unwrap(), "GET /a HTTP/1.1\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn half_closed_clients_are_answered_and_gone_ones_are_not_worked_for() {
        let front = Front::new(0).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        front.to(Some(&socket));
        let ask = |version: &str| {
            let mut client = TcpStream::connect(front.address()).unwrap();
            client.write_all(format!("GET / HTTP/{version}\r\n\r\n").as_bytes()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            assert!(server.read(&mut [0; 256]).unwrap() > 0);
            (client, server)
        };
        let answer = "HTTP/1.1 200 OK\r\n\r\nhello";
        for (version, interim) in [("1.1", "HTTP/1.1 100 Continue\r\n\r\n"), ("1.0", "")] {
            let (mut client, mut server) = ask(version);
            client.shutdown(Shutdown::Write).unwrap();
            // The server sees nothing of it.
            server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let error = server.read(&mut [0; 1]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            server.write_all(answer.as_bytes()).unwrap();
            drop(server);
            let mut found = String::new();
            client.read_to_string(&mut found).unwrap();
            assert_eq!(found, format!("{interim}{answer}"));
        }
        // Gone before the answer, or within it.
        let (client, mut server) = ask("1.1");
        drop(client);
        assert_eq!(server.read(&mut [0; 1]).unwrap(), 0);
        let (client, mut server) = ask("1.0");
        drop(client);
        while server.write_all(answer.as_bytes()).is_ok() {}
    }

    #[test]
    fn too_many_clients_are_turned_away() {
        let front = Front::new(0).unwrap();
        // Silent ones take every place; the next is turned away without having asked.
        let idle: Vec<TcpStream> =
            (0..=CONNECTIONS).map(|_| TcpStream::connect(front.address()).unwrap()).collect();
        let mut last = TcpStream::connect(front.address()).unwrap();
        let mut answer = String::new();
        last.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("too many"), "{answer}");
        drop(idle);
    }
}

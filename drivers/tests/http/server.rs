//! A server that plays one scenario with each connection: what it sends and when, and that it
//! saw the other side go.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rocload::http::Endpoint;
use tempfile::TempDir;

/// How long a test waits for what must come before it fails.
pub(crate) const CEILING: Duration = Duration::from_secs(60);

/// What a server does with a connection, one after another. At the end it closes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scenario {
    acts: Vec<Act>,
    /// Its sockets have the smallest buffers that the system allows.
    small: bool,
}

#[derive(Debug, Clone)]
enum Act {
    /// Reads a whole request.
    Request,
    Send(Vec<u8>),
    Pause(Duration),
    /// Sends byte by byte, with a pause after each.
    Drip(Vec<u8>, Duration),
    /// Goes on sending this, with pauses, until the other side is gone.
    Forever(Vec<u8>, Duration),
    /// Waits until the other side is gone.
    Gone,
}

/// The head of a stream of events, in chunks.
pub(crate) const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Access-Control-Allow-Origin: \r\nTransfer-Encoding: chunked\r\n\r\n";

impl Scenario {
    /// Reads the request first.
    pub(crate) fn new() -> Self {
        Scenario::default().act(Act::Request)
    }

    /// Reads nothing.
    pub(crate) fn deaf() -> Self {
        Scenario::default()
    }

    /// Answers with the head of a stream of events.
    pub(crate) fn stream() -> Self {
        Scenario::new().send(STREAM)
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    pub(crate) fn send(self, bytes: impl AsRef<[u8]>) -> Self {
        self.act(Act::Send(bytes.as_ref().to_vec()))
    }

    /// Sends byte by byte.
    pub(crate) fn drip(self, bytes: &[u8], millis: u64) -> Self {
        self.act(Act::Drip(bytes.to_vec(), Duration::from_millis(millis)))
    }

    /// With the smallest buffers.
    pub(crate) fn small(mut self) -> Self {
        self.small = true;
        self
    }

    /// Sends a chunk of a body.
    pub(crate) fn chunk(self, data: &str) -> Self {
        self.send(chunk(data))
    }

    /// Sends an event as a chunk.
    pub(crate) fn event(self, data: &str) -> Self {
        self.chunk(&format!("data: {data}\n\n"))
    }

    /// Ends a chunked body.
    pub(crate) fn last_chunk(self) -> Self {
        self.send("0\r\n\r\n")
    }

    pub(crate) fn pause(self, millis: u64) -> Self {
        self.act(Act::Pause(Duration::from_millis(millis)))
    }

    /// Sends a chunk again and again until the other side is gone.
    pub(crate) fn forever(self, data: &str, millis: u64) -> Self {
        self.act(Act::Forever(chunk(data).into(), Duration::from_millis(millis)))
    }

    /// Waits until the other side is gone.
    pub(crate) fn gone(self) -> Self {
        self.act(Act::Gone)
    }

    /// A server of it on a TCP port.
    pub(crate) fn tcp(self) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = listener.local_addr().unwrap().into();
        if self.small {
            // Sockets inherit it; later it would be too late.
            shrink(&listener);
        }
        Server::start(endpoint, None, self, move || {
            let (socket, _) = listener.accept().unwrap();
            socket.set_nodelay(true).unwrap();
            socket
        })
    }

    /// A server of it on a Unix socket.
    pub(crate) fn unix(self) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let small = self.small;
        Server::start(path.into(), Some(folder), self, move || {
            let (socket, _) = listener.accept().unwrap();
            if small {
                shrink(&socket);
            }
            socket
        })
    }

    /// One server of each kind.
    pub(crate) fn both(self) -> [Server; 2] {
        [self.clone().tcp(), self.unix()]
    }
}

/// Gives a socket the smallest buffers.
fn shrink(socket: impl AsFd) {
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 1).unwrap();
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, 1).unwrap();
}

/// A chunk of a body.
pub(crate) fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// What a server saw.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A request, whole.
    Request(Vec<u8>),
    /// The other side closed the connection.
    Gone,
}

/// A server that runs until the test's process ends.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    seen: Receiver<Seen>,
    _folder: Option<TempDir>,
}

impl Server {
    fn start<S: Read + Write + Send + 'static>(
        endpoint: Endpoint,
        folder: Option<TempDir>,
        scenario: Scenario,
        accept: impl Fn() -> S + Send + 'static,
    ) -> Server {
        let (tell, seen) = channel();
        thread::spawn(move || {
            loop {
                let (socket, scenario, tell) = (accept(), scenario.clone(), tell.clone());
                thread::spawn(move || play(socket, scenario, &tell));
            }
        });
        Server { endpoint, seen, _folder: folder }
    }

    /// What the server saw next.
    pub(crate) fn seen(&self) -> Seen {
        self.seen.recv_timeout(CEILING).expect("the server sees something")
    }

    /// What it saw and nobody asked for yet.
    pub(crate) fn try_seen(&self) -> Option<Seen> {
        self.seen.try_recv().ok()
    }

    /// The next request.
    pub(crate) fn request(&self) -> String {
        match self.seen() {
            Seen::Request(bytes) => String::from_utf8(bytes).unwrap(),
            Seen::Gone => panic!("gone without a request"),
        }
    }

    /// Waits until a connection is gone.
    pub(crate) fn gone(&self) {
        while self.seen() != Seen::Gone {}
    }
}

fn play(mut socket: impl Read + Write, scenario: Scenario, tell: &Sender<Seen>) {
    for act in scenario.acts {
        let gone = match act {
            Act::Request => match request(&mut socket) {
                Some(request) => {
                    // The test may be over.
                    let _ = tell.send(Seen::Request(request));
                    false
                }
                None => true,
            },
            Act::Send(bytes) => socket.write_all(&bytes).is_err(),
            Act::Pause(time) => {
                thread::sleep(time);
                false
            }
            Act::Drip(bytes, pause) => bytes.iter().any(|byte| {
                let gone = socket.write_all(&[*byte]).is_err();
                thread::sleep(pause);
                gone
            }),
            Act::Forever(bytes, pause) => {
                while socket.write_all(&bytes).is_ok() {
                    thread::sleep(pause);
                }
                true
            }
            Act::Gone => {
                while matches!(socket.read(&mut [0; 1024]), Ok(1..)) {}
                true
            }
        };
        if gone {
            let _ = tell.send(Seen::Gone);
            return;
        }
    }
}

/// Reads a head and as many bytes behind it as it says.
fn request(socket: &mut impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut whole = usize::MAX;
    let mut buffer = vec![0; 64 << 10];
    while bytes.len() < whole {
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
        if whole == usize::MAX
            && let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n")
        {
            let head = String::from_utf8_lossy(&bytes[..end + 2]);
            let length = head.split("Content-Length: ").nth(1)?.split("\r\n").next()?;
            whole = end + 4 + length.parse::<usize>().ok()?;
        }
    }
    Some(bytes)
}

//! The peer: a server that is started, asked and ended by hand, with nothing kept of it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rocload::http::Endpoint;
use rocload::process::Socket;
use rocload_benches::peer;
use rustix::process::{Pid, Signal, kill_process};

/// Lines by which a server says that it is ready, by their ends.
pub(crate) const READY_LINES: [&str; 1] = ["model loaded"];
/// How long a start may take.
const CEILING: Duration = Duration::from_secs(60);

pub(crate) struct Bare {
    child: Child,
    socket: Socket,
    ready: Arc<Mutex<Option<Instant>>>,
    reader: JoinHandle<()>,
}

impl Bare {
    pub(crate) fn start(program: &Path, model: &Path) -> peer::Result<Bare> {
        let socket = Socket::new()?;
        let mut child = Command::new(program)
            .arg("--model")
            .arg(model)
            .arg("--host")
            .arg(socket.path())
            .args(["--threads", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stderr.take().ok_or("no pipe")?).lines();
        let ready = Arc::new(Mutex::new(None));
        let seen = ready.clone();
        let reader = thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if READY_LINES.iter().any(|end| line.ends_with(end)) {
                    *seen.lock().expect("whole") = Some(Instant::now());
                }
            }
        });
        Ok(Bare { child, socket, ready, reader })
    }

    /// Asks so often whether it is ready; when it was known to be.
    pub(crate) fn wait(&mut self, tick: Duration) -> peer::Result<Instant> {
        let begun = Instant::now();
        while begun.elapsed() < CEILING {
            let answer = ask(self.socket.path(), "GET", "/health", "");
            if answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 ")) {
                return Ok(Instant::now());
            }
            thread::sleep(tick);
        }
        Err("the server is not ready".into())
    }

    /// When it said so itself.
    pub(crate) fn said_ready(&self) -> peer::Result<Instant> {
        self.ready.lock().expect("whole").ok_or_else(|| "it did not say that it is ready".into())
    }

    pub(crate) fn answer(&self, tokens: i64) -> peer::Result<()> {
        let body =
            format!(r#"{{"prompt":"Hello","stream":true,"n_predict":{tokens},"ignore_eos":true}}"#);
        let answer = ask(self.socket.path(), "POST", "/completion", &body)?;
        if answer.contains(r#""stop":true"#) { Ok(()) } else { Err("no whole answer".into()) }
    }

    pub(crate) fn stop(mut self) -> peer::Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        self.child.wait()?;
        self.reader.join().map_err(|_| "the reader failed")?;
        Ok(())
    }
}

/// A request and its whole answer.
fn ask(socket: &Path, method: &str, target: &str, body: &str) -> peer::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(request(method, target, body).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn request(method: &str, target: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
        Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Reads a stream from the bare socket, and counts its tokens by nothing but the ends of events.
pub(crate) fn stream_raw(endpoint: &Endpoint) -> peer::Result<u64> {
    let Endpoint::Unix(path) = endpoint else { return Err("no unix socket".into()) };
    let mut stream = UnixStream::connect(path)?;
    let body = r#"{"prompt":"a","stream":true}"#;
    stream.write_all(request("POST", "/completion", body).as_bytes())?;
    let mut buffer = vec![0; 16 << 10];
    let (mut lines, mut last) = (0u64, 0);
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        for &byte in &buffer[..read] {
            // A blank line of bare LFs: those of HTTP have CRs.
            lines += u64::from(byte == b'\n' && last == b'\n');
            last = byte;
        }
    }
    // The last event is the end mark.
    lines.checked_sub(1).ok_or_else(|| "no event came".into())
}

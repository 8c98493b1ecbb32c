//! A server process, its log, and one request at a time over its socket.

use std::env;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// No test asserts a time: this only ends one that hangs.
const CEILING: Duration = Duration::from_secs(120);

/// The server's program, or a line that `test` was skipped.
pub(crate) fn program_or_skip(test: &str) -> Option<PathBuf> {
    match env::var_os("ROCLOAD_LLAMA_SERVER") {
        Some(path) if !path.is_empty() => Some(path.into()),
        _ => {
            // Not captured by the test runner.
            let _ = writeln!(std::io::stderr(), "{test}: skipped: no llama-server");
            None
        }
    }
}

/// A running server; it is killed when dropped.
pub(crate) struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts it on `model` with these arguments and waits until it answers `/health` by 200.
    pub(crate) fn start(program: &Path, model: &Path, args: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(program);
        for (name, _) in env::vars_os() {
            // Settings of the user's own must not reach it.
            if name.to_string_lossy().starts_with("LLAMA_") {
                command.env_remove(name);
            }
        }
        command.arg("-m").arg(model).arg("--host").arg(folder.path().join("s.sock")).args(args);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut server = Server { child: command.spawn().unwrap(), folder };
        let begun = Instant::now();
        loop {
            if let Some(status) = server.child.try_wait().unwrap() {
                panic!("the server ended with {status}: {}", server.log());
            }
            if server.try_ask("GET", "/health", "").is_some_and(|(status, _)| status == 200) {
                return server;
            }
            assert!(begun.elapsed() < CEILING, "the server is not ready: {}", server.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it has written so far.
    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Status and body of the answer to a request.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.try_ask(method, path, body).unwrap_or_else(|| panic!("no answer: {}", self.log()))
    }

    fn try_ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = UnixStream::connect(self.folder.path().join("s.sock")).ok()?;
        stream.set_read_timeout(Some(CEILING)).ok()?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len(),
        )
        .ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

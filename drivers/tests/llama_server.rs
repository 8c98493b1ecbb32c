//! Both drivers against a real llama-server, where `ROCLOAD_LLAMA_SERVER` names one.
#![cfg(all(unix, feature = "blocking", feature = "tokio"))]

use std::env;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rocload::http::{Endpoint, Error, Readiness, Request};
use rocload::llama::{Item, Options, Outcome, Stream};
use rocload::{Limits, blocking, tokio};
use rocload_fixtures::fixtures_dir;

/// How long anything may take before the test fails.
const CEILING: Duration = Duration::from_secs(120);

struct Server {
    child: Child,
    endpoint: Endpoint,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts the server with one slot, on a Unix socket.
    fn start(binary: PathBuf) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("llama.sock");
        let child = Command::new(binary)
            .arg("--model")
            .arg(fixtures_dir().join("gguf/tiny-llama.gguf"))
            .arg("--host")
            .arg(&socket)
            .args(["--parallel", "1", "--ctx-size", "4096", "--threads", "1", "--no-ui"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Server { child, endpoint: socket.into(), _folder: folder }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn server(test: &str) -> Option<Server> {
    let Some(binary) = env::var_os("ROCLOAD_LLAMA_SERVER").filter(|path| !path.is_empty()) else {
        eprintln!("{test}: skipped: no llama-server");
        return None;
    };
    Some(Server::start(binary.into()))
}

fn machine() -> Stream<Vec<u8>> {
    Stream::new(Options::new(), &Limits::default(), Vec::new(), Vec::new())
}

/// What a stream said.
#[derive(Debug, Default)]
struct Said {
    text: String,
    tokens: usize,
    outcome: Option<Outcome>,
}

impl Said {
    fn hear(&mut self, item: Item<'_>) {
        match item {
            Item::Text { text, .. } => {
                self.text.push_str(text);
                self.tokens += 1;
            }
            Item::End(ending) => self.outcome = Some(ending.outcome),
            _ => {}
        }
    }
}

const CHAT: &[u8] = br#"{"stream":true,"max_tokens":24,"temperature":0,"messages":[{"role":"user","content":"hello"}]}"#;
/// More than the test waits for.
const LONG: &[u8] = br#"{"stream":true,"n_predict":100000,"ignore_eos":true,"prompt":"a"}"#;
const TOO_LONG: &[u8] = br#"{"prompt":"a","n_predict":"x"}"#;

#[test]
fn a_real_server_streams_is_cancelled_and_idle_again() {
    let Some(server) = server("a_real_server_streams_is_cancelled_and_idle_again") else { return };
    let client = blocking::Client::new(server.endpoint.clone());
    let started = Instant::now();
    loop {
        match client.health() {
            Readiness::Ready => break,
            Readiness::Failed => panic!("{:?}", client.fetch(&Request::get("/health"))),
            _ => assert!(started.elapsed() < CEILING),
        }
        thread::sleep(Duration::from_millis(25));
    }

    let chat = Request::post("/v1/chat/completions", CHAT);
    let mut said = Said::default();
    let mut stream = client.stream(&chat, machine()).unwrap();
    while let Some(item) = stream.next().unwrap() {
        said.hear(item);
    }
    assert!(said.tokens > 1, "{said:?}");
    assert_eq!(said.outcome, Some(Outcome::Complete));

    let long = Request::post("/completion", LONG);
    let mut stream = client.stream(&long, machine()).unwrap();
    let cancel = stream.cancel_handle();
    let mut some = Said::default();
    while some.tokens < 3 {
        some.hear(stream.next().unwrap().expect("it goes on"));
    }
    assert_eq!(client.busy().unwrap(), 1);
    cancel.cancel();
    assert!(matches!(stream.next(), Err(Error::Cancelled)));
    assert!(client.wait_idle(CEILING).unwrap());
    assert_eq!(client.busy().unwrap(), 0);

    let error = client.fetch(&Request::post("/completion", TOO_LONG)).unwrap_err();
    let Error::Status(error) = error else { panic!("{error}") };
    assert_eq!((error.status, error.kind.as_deref()), (400, Some("invalid_request_error")));

    // The same by the same names.
    let runtime = ::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = tokio::Client::new(server.endpoint.clone());
        assert_eq!(client.health().await, Readiness::Ready);
        let mut again = Said::default();
        let mut stream = client.stream(&chat, machine()).await.unwrap();
        while let Some(item) = stream.next().await.unwrap() {
            again.hear(item);
        }
        assert_eq!((again.text, again.outcome), (said.text, said.outcome));
        let mut stream = client.stream(&long, machine()).await.unwrap();
        assert!(stream.next().await.unwrap().is_some());
        drop(stream);
        assert!(client.wait_idle(CEILING).await.unwrap());
    });
}

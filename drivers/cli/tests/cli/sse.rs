//! `rocload sse` on streams of every kind, from files, pipes and a real server.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rocload_fixtures::{fixtures_dir, shared_data_or_skip};
use serde_json::{Value, json};

use crate::{Ran, command, rocload};

/// Longer than any machine takes: a test that waits so long has failed.
const CEILING: Duration = Duration::from_secs(60);

/// `rocload sse` with these words and this standard input.
fn sse(words: &[&str], input: &[u8]) -> Ran {
    let mut child = spawn(words);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The command may stop reading at the end of the stream: that closes the pipe.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.into()
}

fn spawn(words: &[&str]) -> Child {
    let mut command = command();
    command.arg("sse").args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command runs")
}

fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().unwrap()).collect()
}

#[test]
fn every_case_of_the_standard_gives_its_events() {
    let Some(data) = shared_data_or_skip("every_case_of_the_standard_gives_its_events") else {
        return;
    };
    let cases = fs::read_to_string(data.join("sse/spec_cases.jsonl")).unwrap();
    let mut count = 0;
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        let input = base64(case["input_base64"].as_str().unwrap());
        let ran = sse(&["--events", "-"], &input).fine();
        let mut lines = ran.json_lines();
        let last = lines.pop().unwrap();
        let wanted: Vec<Value> = case["expected_events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| json!({"event": event["event"], "data": event["data"], "id": event["id"]}))
            .collect();
        assert_eq!(lines, wanted, "{}", case["name"]);
        assert_eq!(last["last_event_id"], case["final_last_event_id"], "{}", case["name"]);
        assert_eq!(last["retry"], case["final_retry"], "{}", case["name"]);
        count += 1;
    }
    assert!(count > 50, "{count}");
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let join = |four: &[u8]| {
        let bits = four.iter().fold(0u32, |bits, &digit| bits << 6 | u32::from(digit));
        let bits = bits << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(join).collect()
}

#[test]
fn bare_events_and_what_the_end_left() {
    let input =
        b"\xef\xbb\xbfid: 7\nretry: 30\nevent: e\ndata: a\xffb\r\n\r\n: ping\n\ndata: x\ndata: y";
    let lines = sse(&["--events"], input).fine().json_lines();
    assert_eq!(
        lines,
        [
            json!({"event": "e", "data": "a\u{fffd}b", "id": "7"}),
            json!({"last_event_id": "7", "retry": 30, "pending": "line"}),
        ]
    );
    let pending = |input: &[u8]| {
        sse(&["--events", "-"], input).fine().json_lines().pop().unwrap()["pending"].clone()
    };
    assert_eq!(pending(b""), "none");
    assert_eq!(pending(b"data: a\n\n"), "none");
    assert_eq!(pending(b"data: a\n"), "event");
    assert_eq!(pending(b"da"), "line");
    // JSON is no event here, and no error.
    assert_eq!(pending(b"{\"error\":1}\n"), "none");
}

#[test]
fn an_event_that_is_too_large_is_an_error_and_the_next_is_shown() {
    let input = [b"data: ".as_slice(), &[b'x'; 200], b"\n\ndata: b\n\n"].concat();
    let ran = sse(&["--events", "--max-event", "100", "-"], &input);
    assert_eq!(ran.json_lines()[0], json!({"event": "message", "data": "b", "id": ""}));
    ran.failed(1, "too large and was left out (at offset 0)");
    let item = br#"data: {"choices":[{"index":0,"delta":{"content":"b"}}]}"#;
    let input = [&input[..208], item, b"\n\ndata: [DONE]\n\n"].concat();
    let ran = sse(&["--json", "--max-event", "100", "-"], &input);
    let lines = ran.json_lines();
    assert_eq!(lines[0]["error"]["kind"], "limit");
    assert_eq!(lines[1], json!({"type": "overflow", "what": "event", "offset": 0, "need": null}));
    assert_eq!(lines[2]["text"], "b");
    assert_eq!((ran.code, lines[3]["overflows"].as_u64()), (Some(1), Some(1)));
    // 70,000 bytes on a line are nothing special.
    let long = [b"data: ".as_slice(), &[b'x'; 70_000], b"\n\n"].concat();
    let lines = sse(&["--events", "-"], &long).fine().json_lines();
    assert_eq!(lines[0]["data"].as_str().map(str::len), Some(70_000));
}

/// The captures in a folder.
fn captures(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "http"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Decodes a capture in each way; returns its exit status and outcome.
fn decode(path: &Path) -> (i32, String) {
    let name = path.to_str().unwrap();
    let ran = rocload(["sse", name]);
    let code = ran.code.unwrap();
    let lines = ran.json_lines();
    let outcome = match lines.last() {
        Some(last) if last["type"] == "end" => last["outcome"].as_str().unwrap().to_owned(),
        _ => "none".into(),
    };
    assert_eq!(code == 0, outcome == "complete", "{ran:?}");
    assert_eq!(code == 0, ran.err.is_empty(), "{ran:?}");

    // The text alone, the same from a pipe, and the same with errors as JSON.
    let text: String = lines
        .iter()
        .filter(|line| line["type"] == "text" && line["choice"] == 0)
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    let alone = rocload(["sse", "--text", name]);
    assert_eq!((alone.out.as_str(), alone.code), (text.as_str(), Some(code)), "{name}");
    let piped = sse(&[], &fs::read(path).unwrap());
    assert_eq!((&piped.out, piped.code), (&ran.out, Some(code)), "{name}");
    let json = rocload(["sse", "--json", name]);
    let errors = json.json_lines().iter().filter(|line| line.get("error").is_some()).count();
    assert_eq!((errors, json.err.as_str()), (usize::from(code != 0), ""), "{name}");
    (code, outcome)
}

/// Decodes every capture of a folder; those that are not complete streams or answers are named.
fn others(folder: &Path) -> Vec<String> {
    let mut others = Vec::new();
    for path in captures(folder) {
        let (code, outcome) = decode(&path);
        if code != 0 {
            others.push(format!("{} {code} {outcome}", path.file_stem().unwrap().display()));
        }
    }
    others
}

#[test]
fn committed_captures() {
    assert_eq!(
        others(&fixtures_dir().join("sse")),
        [
            "apply-template 1 none",
            "chat-cut 1 truncated",
            "chat-error-midstream 1 failed",
            "detokenize 1 none",
            "error-context 1 failed",
            "error-no-messages 1 failed",
            "health 1 none",
            "models 1 none",
            "nosuch 1 failed",
            "props 1 none",
            "slots 1 none",
            "tokenize 1 none",
        ]
    );
}

#[test]
fn real_captures() {
    let Some(data) = shared_data_or_skip("real_captures") else { return };
    assert_eq!(
        others(&data.join("sse/captured")),
        [
            "detok 1 none",
            "err_404 1 failed",
            "err_badjson 1 failed",
            "err_embed 1 failed",
            "err_nomsg 1 failed",
            "err_type 1 failed",
            "metrics 1 none",
            "models 1 none",
            "props 1 none",
            "sigterm_midstream 1 truncated",
            "slots 1 none",
            "tokenize 1 none",
        ]
    );
    assert_eq!(
        others(&data.join("sse/llama-server")),
        [
            // A part of it is missing in its middle.
            "abort-SIGKILL-midstream 3 none",
            "embeddings-err 1 failed",
            "err-bad-grammar-stream 1 failed",
            "err-context-overflow-chat-stream 1 failed",
            "err-midstream-kv-full-1 1 failed",
            "err-midstream-kv-full-2 1 failed",
            "get-health 1 none",
            "get-lora-adapters 1 none",
            "get-metrics 1 none",
            "get-nosuch 1 failed",
            "get-props 1 none",
            "get-slots 1 none",
            "get-v1-models 1 none",
            "health-200 1 none",
            "health-503-loading 1 failed",
            "models-503-loading 1 none",
            "options-chat 1 none",
        ]
    );
}

#[test]
fn items_of_a_chat_with_everything() {
    let input = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\u001b[31m \\ud83d\\ude00\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: [DONE]\n\n",
        "data: behind the end\n\n"
    );
    let ran = sse(&[], input.as_bytes()).fine();
    let lines = ran.json_lines();
    assert_eq!(
        types(&lines),
        ["role", "reasoning", "text", "tool_call", "tool_call", "tool_call", "finish", "end"]
    );
    assert_eq!(lines[2]["text"], "\u{1b}[31m \u{1f600}");
    assert!(!ran.out.contains('\u{1b}'));
    assert_eq!(lines[4], json!({"type": "tool_call", "choice": 0, "call": 0, "name": "f"}));
    assert_eq!(lines[6]["reason"], "tool_calls");
    // In a pipe the text is exactly the model's.
    assert_eq!(sse(&["--text", "-"], input.as_bytes()).fine().out, "\u{1b}[31m \u{1f600}");
}

#[test]
fn ends_errors_and_exit_statuses() {
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    sse(&["-"], text.as_bytes()).failed(1, "the stream ends before its end mark after 1 events");
    let error = "data: {\"error\":{\"code\":500,\"message\":\"out\\nof luck\",\"type\":\"server_error\"}}\n\n";
    let ran = sse(&["-"], error.as_bytes());
    assert_eq!(types(&ran.json_lines()), ["error", "end"]);
    ran.failed(1, "the server reports: out\\nof luck (server_error, 500)");
    sse(&["-"], b"data: {\"a\":\n\n").failed(3, "at byte 5 of the event's data (at offset 0)");
    let ran = sse(&["--json", "-"], b"data: {\"a\":\n\n");
    assert_eq!((ran.code, ran.json()["error"]["kind"].as_str()), (Some(3), Some("malformed")));

    // A body that is no stream, as curl shows it without a head.
    let ran = sse(&["--text", "-"], b"{\"error\":{\"message\":\"Loading model\",\"code\":503}}");
    ran.failed(1, "the server reports: Loading model (503)");
    let whole = b"{\"choices\":[{\"index\":0,\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}";
    assert_eq!(sse(&["--text"], whole).fine().out, "hi");
    sse(&[], b"[1,").failed(3, "the json text ends");

    let done = format!("{text}data: [DONE]");
    sse(&["-"], done.as_bytes()).failed(1, "in the middle of a line");
    sse(&["--lenient", "-"], done.as_bytes()).fine();

    rocload(["sse", "/nosuch/file"]).failed(4, "opening the stream: no such file or directory");
    assert_eq!(rocload(["sse", "--text", "--events"]).code, Some(2));
    assert_eq!(rocload(["sse", "--answers", "0"]).code, Some(2));
}

#[test]
fn what_http_knows_to_be_wrong_is_not_taken_for_an_answer() {
    let stream =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n";
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let size = format!("{:x}", stream.len());
    for wrong in ["+", "0x", "-", " ", "000000000000000"] {
        let input = format!("{head}{wrong}{size}\r\n{stream}\r\n0\r\n\r\n");
        sse(&["-"], input.as_bytes()).failed(3, "chunk");
    }
    let joined = format!("{head}{stream}");
    assert_eq!(sse(&["--text", "-"], joined.as_bytes()).fine().out, "Hi");

    let cut = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{body}"
        )
    };
    for body in ["", "{\"content\":\"a\",\"toke", "{\"content\":\"a\",\"tokens\":[],\"stop\":true}"]
    {
        let ran = sse(&["--json", "-"], cut(body).as_bytes());
        let lines = ran.json_lines();
        assert_eq!((ran.code, lines.len()), (Some(1), 2), "{ran:?}");
        assert_eq!(lines[0]["outcome"], "truncated");
        assert_eq!(lines[1]["error"]["kind"], "truncated");
    }
}

#[test]
fn a_servers_message_is_told_whole_and_its_status_in_any_case() {
    let message = format!(
        "request (1821 tokens) exceeds the context size (256 tokens){}",
        ", try".repeat(30)
    );
    let body = format!("{{\"error\":{{\"code\":400,\"message\":\"{message}\",\"type\":\"t\"}}}}");
    let input = format!("HTTP/1.1 400 E\r\nContent-Type: application/json\r\n\r\n{body}");
    sse(&["--text", "-"], input.as_bytes()).failed(1, &format!("{message} (t, 400)"));
    let large =
        format!("HTTP/1.1 500 E\r\nContent-Type: text/plain\r\n\r\n{}", "x".repeat(17 << 20));
    sse(&["-"], large.as_bytes()).failed(1, "500");
}

#[test]
fn heads_of_responses() {
    let item =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n";
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{head}{:x}\r\n{item}\r\n0\r\n\r\n", item.len());
    assert_eq!(sse(&["--text"], chunked.as_bytes()).fine().out, "a");
    // As curl shows it with a head: the chunks are joined already.
    let joined = format!("{head}{item}");
    assert_eq!(sse(&["--text"], joined.as_bytes()).fine().out, "a");
    let interim = format!("HTTP/1.1 100 Continue\r\n\r\n{chunked}");
    assert_eq!(sse(&["--text"], interim.as_bytes()).fine().out, "a");

    let cut = &chunked[..chunked.len() - 15];
    sse(&["-"], cut.as_bytes()).failed(1, "the stream ends before its end mark");
    let ran = sse(&["--events", "-"], cut.as_bytes());
    assert_eq!(ran.json_lines().len(), 2);
    ran.failed(1, "the response ends before its body is complete");
    sse(&["-"], &head.as_bytes()[..40]).failed(3, "the response ends inside its head");
    sse(&["-"], b"HTTP/1.1 2x0 OK\r\n\r\n").failed(3, "");
    let both =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    sse(&["-"], both.as_bytes()).failed(3, "");
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi";
    sse(&["-"], page.as_bytes()).failed(1, "no event stream: status 200, content type `text/html`");
    let gateway = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>";
    sse(&["-"], gateway.as_bytes()).failed(1, "http status 502: <html>");
    // Where the connection's end is the body's end, finish reasons are what there is.
    let close = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    sse(&["--text"], format!("{close}{item}").as_bytes()).fine();
}

/// Lines, or whatever comes up to a byte, of a running command.
struct Watched {
    output: mpsc::Receiver<Vec<u8>>,
}

impl Watched {
    /// `until` ends a piece.
    fn new(child: &mut Child, until: u8) -> Watched {
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, output) = mpsc::channel();
        thread::spawn(move || {
            let mut piece = Vec::new();
            while stdout.read_until(until, &mut piece).is_ok_and(|len| len > 0) {
                if send.send(std::mem::take(&mut piece)).is_err() {
                    break;
                }
            }
        });
        Watched { output }
    }

    fn next(&self) -> Vec<u8> {
        self.output.recv_timeout(CEILING).expect("it is shown while the input is open")
    }
}

#[test]
fn each_item_is_shown_before_the_next_is_waited_for() {
    let mut child = spawn(&["-"]);
    let mut stdin: ChildStdin = child.stdin.take().unwrap();
    let watched = Watched::new(&mut child, b'\n');
    for text in ["one", "two"] {
        let event = format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        );
        // In halves: the first shows nothing.
        let (first, second) = event.split_at(20);
        stdin.write_all(first.as_bytes()).unwrap();
        stdin.flush().unwrap();
        stdin.write_all(second.as_bytes()).unwrap();
        stdin.flush().unwrap();
        let line: Value = serde_json::from_slice(&watched.next()).unwrap();
        assert_eq!(line["text"], text);
    }
    stdin.write_all(b"data: [DONE]\n\n").unwrap();
    stdin.flush().unwrap();
    // The end mark ends the command while the input is still open.
    let line: Value = serde_json::from_slice(&watched.next()).unwrap();
    assert_eq!(line["outcome"], "complete");
    assert!(child.wait().unwrap().success());
    drop(stdin);
}

/// A real server with the small model, and the port it listens on.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(binary: &str) -> Server {
        // A port that was free a moment ago.
        let port =
            std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let child = Command::new(binary)
            .args(["--host", "127.0.0.1", "--no-ui", "-c", "512", "--parallel", "2"])
            .args(["--port", &port.to_string(), "-m"])
            .arg(fixtures_dir().join("gguf/tiny-llama.gguf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let server = Server { child, port };
        let begun = Instant::now();
        while !server.get_health().contains("\"ok\"") {
            assert!(begun.elapsed() < CEILING, "the server is not ready");
            thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn get_health(&self) -> String {
        let mut answer = String::new();
        if let Ok(mut socket) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = socket
                .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            let _ = socket.read_to_string(&mut answer);
        }
        answer
    }

    fn post(&self, path: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(CEILING)).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all((head + body).as_bytes()).unwrap();
        socket
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_servers_tokens_are_shown_as_they_come() {
    let Some(binary) = std::env::var("ROCLOAD_LLAMA_SERVER").ok().filter(|path| !path.is_empty())
    else {
        eprintln!("a_real_servers_tokens_are_shown_as_they_come: skipped: no llama-server");
        return;
    };
    let server = Server::start(&binary);
    let requests = [
        (
            "/v1/chat/completions",
            r#"{"messages":[{"role":"user","content":"hello"}],"stream":true,"max_tokens":60,"seed":1,"ignore_eos":true}"#,
        ),
        (
            "/v1/completions",
            r#"{"prompt":"hello","stream":true,"max_tokens":60,"seed":1,"ignore_eos":true}"#,
        ),
        (
            "/completion",
            r#"{"prompt":"hello","stream":true,"n_predict":60,"seed":1,"ignore_eos":true}"#,
        ),
        (
            "/v1/responses",
            r#"{"input":"hello","stream":true,"max_output_tokens":60,"ignore_eos":true}"#,
        ),
        (
            "/v1/messages",
            r#"{"messages":[{"role":"user","content":"hello"}],"stream":true,"max_tokens":60,"ignore_eos":true}"#,
        ),
    ];
    for (path, body) in requests {
        let mut socket = server.post(path, body);
        let mut child = spawn(&["-"]);
        let mut stdin = child.stdin.take().unwrap();
        let watched = Watched::new(&mut child, b'\n');
        // Byte by byte until the first text is shown: what is behind it has not been passed on.
        let mut seen: Vec<Value> = Vec::new();
        let mut byte = [0; 1];
        while !seen.iter().any(|line| line["type"] == "text") {
            socket.read_exact(&mut byte).unwrap_or_else(|error| panic!("{path}: {error}"));
            stdin.write_all(&byte).unwrap();
            if byte == *b"\n" {
                stdin.flush().unwrap();
                thread::sleep(Duration::from_millis(5));
            }
            while let Ok(line) = watched.output.try_recv() {
                seen.push(serde_json::from_slice(&line).unwrap());
            }
        }
        let mut rest = Vec::new();
        socket.read_to_end(&mut rest).unwrap();
        assert!(!rest.is_empty(), "{path}: there was more to come");
        let _ = stdin.write_all(&rest);
        drop(stdin);
        while let Ok(line) = watched.output.recv_timeout(CEILING) {
            seen.push(serde_json::from_slice(&line).unwrap());
        }
        assert_eq!(child.wait().unwrap().code(), Some(0), "{path}: {seen:?}");
        let end = seen.last().unwrap();
        assert_eq!((end["type"].as_str(), end["done_seen"].as_bool()), (Some("end"), Some(true)));
        assert!(seen.iter().filter(|line| line["type"] == "text").count() > 5, "{path}");
    }
    let error =
        server.post("/completion", "{\"prompt\":\"x\",\"stream\":true,\"grammar\":\"root ::= [\"}");
    let mut child = command()
        .args(["sse", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answer = Vec::new();
    { error }.read_to_end(&mut answer).unwrap();
    child.stdin.take().unwrap().write_all(&answer).unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    ran.failed(1, "the server reports:");
}

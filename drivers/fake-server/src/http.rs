//! The little of HTTP and of llama-server's protocol that the tests ask for.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::options::{At, Options};

/// Answers one request, on a thread of its own.
pub(crate) fn serve<S: Read + Write + Send + 'static>(
    socket: S,
    options: &Arc<Options>,
    ready: &Arc<AtomicBool>,
) {
    let (options, ready) = (options.clone(), ready.clone());
    thread::spawn(move || {
        // A client that goes is none of the server's business.
        let _ = answer(socket, &options, &ready);
    });
}

fn answer(mut socket: impl Read + Write, options: &Options, ready: &AtomicBool) -> io::Result<()> {
    let (target, body) = request(&mut socket)?;
    if options.silent {
        loop {
            thread::park();
        }
    }
    if !ready.load(Ordering::Acquire) {
        return loading(&mut socket, options);
    }
    match target.as_str() {
        "/health" => whole(&mut socket, 200, "application/json", r#"{"status":"ok"}"#),
        "/v1/chat/completions" => chat(&mut socket, options),
        "/completion" => completion(&mut socket, options),
        "/tokenize" => whole(&mut socket, 200, "application/json", r#"{"tokens":[1,2,3]}"#),
        "/v1/embeddings" => {
            let data = r#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1,0.5]}]}"#;
            whole(&mut socket, 200, "application/json", data)
        }
        "/metrics" => whole(&mut socket, 200, "text/plain", "llamacpp:requests_processing 0\n"),
        "/environment" => {
            let names: Vec<String> =
                std::env::vars().map(|(name, value)| format!("{name}={value}\n")).collect();
            whole(&mut socket, 200, "text/plain", &names.concat())
        }
        "/echo" => whole(&mut socket, 200, "text/plain", &body),
        _ => {
            let error =
                r#"{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}"#;
            whole(&mut socket, 404, "application/json", error)
        }
    }
}

/// Target and body of a request; the head as well for `/echo`.
fn request(socket: &mut impl Read) -> io::Result<(String, String)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = socket.read(&mut buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok())
            .unwrap_or(0usize);
        if body.len() >= length {
            let target = head.split(' ').nth(1).unwrap_or_default();
            return Ok((target.to_owned(), text));
        }
    }
}

fn whole(socket: &mut impl Write, status: u16, kind: &str, body: &str) -> io::Result<()> {
    write!(
        socket,
        "HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn loading(socket: &mut impl Write, options: &Options) -> io::Result<()> {
    let body = match options.body.as_str() {
        "html" => "<html><h1>503</h1></html>".to_owned(),
        "empty" => String::new(),
        "huge" => "x".repeat(8 << 20),
        "rubbish" => return socket.write_all(b"\x00\xff\r\n\r\nHTTP\n"),
        "none" => return Ok(()),
        _ => r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#
            .to_owned(),
    };
    whole(socket, 503, "application/json", &body)
}

/// A stream of events, in chunks.
struct Events<'s, S>(&'s mut S);

impl<S: Write> Events<'_, S> {
    fn begin(socket: &mut S) -> io::Result<Events<'_, S>> {
        socket.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nAccess-Control-Allow-Origin: \r\n\
            Transfer-Encoding: chunked\r\n\r\n",
        )?;
        Ok(Events(socket))
    }

    fn event(&mut self, data: &str) -> io::Result<()> {
        let event = format!("data: {data}\n\n");
        write!(self.0, "{:x}\r\n{event}\r\n", event.len())
    }

    fn end(self) -> io::Result<()> {
        self.0.write_all(b"0\r\n\r\n")
    }
}

/// Goes through the tokens of an answer, and ends the process in the middle where it was asked to.
fn tokens(options: &Options, mut each: impl FnMut(u64) -> io::Result<()>) -> io::Result<()> {
    for token in 0..options.tokens {
        if options.at == At::Token(token) {
            options.end();
        }
        thread::sleep(options.pause);
        each(token)?;
    }
    Ok(())
}

fn chat(socket: &mut impl Write, options: &Options) -> io::Result<()> {
    let mut events = Events::begin(socket)?;
    let delta = |delta: &str, finish: &str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#)
    };
    events.event(&delta(r#"{"role":"assistant","content":null}"#, "null"))?;
    tokens(options, |token| {
        events.event(&delta(&format!(r#"{{"content":"t{token} "}}"#), "null"))
    })?;
    events.event(&delta("{}", r#""stop""#))?;
    let usage = options.tokens;
    events.event(&format!(
        r#"{{"choices":[],"usage":{{"prompt_tokens":3,"completion_tokens":{usage},"total_tokens":{}}}}}"#,
        usage + 3
    ))?;
    events.event("[DONE]")?;
    events.end()
}

fn completion(socket: &mut impl Write, options: &Options) -> io::Result<()> {
    let mut events = Events::begin(socket)?;
    tokens(options, |token| {
        events.event(&format!(
            r#"{{"index":0,"content":"t{token} ","tokens":[{token}],"stop":false}}"#
        ))
    })?;
    events.event(r#"{"index":0,"content":"","tokens":[],"stop":true,"stop_type":"limit"}"#)?;
    events.end()
}

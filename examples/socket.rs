//! Bring your own sockets: an answer of llama-server, streamed over a plain `TcpStream`.
//!
//! ```text
//! cargo run -p rocload-examples --bin socket [HOST:PORT]
//! ```
//!
//! Without an address a thread here plays back what a real server has sent, a few bytes at a time.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rocload_core::http::deadline::{Deadline, Input, Timeouts};
use rocload_core::http::{self, Method, Response};
use rocload_core::llama::request::{Chat, Message, Request as _};
use rocload_core::llama::{Ending, Item, Options, Stream};
use rocload_core::{End, Limits, Machine, Millis, Need, visit};

const CAPTURE: &[u8] = include_bytes!("../fixtures/sse/chat.http");

/// Asks a server and shows its answer as it comes.
fn ask(address: &str, prompt: &str, show: &mut dyn FnMut(&str)) -> Result<Ending, Box<dyn Error>> {
    let messages = [Message::user(prompt)];
    let mut chat = Chat::new(&messages);
    chat.stream = true;
    chat.sampling.n_predict = Some(32);
    let mut body = [0; 1024];
    let body = chat.write(&mut body).map(|len| &body[..len])?;
    let mut request = http::Request::post(chat.path(), body);
    request.accept = "text/event-stream";
    request.close = true;
    let mut message = [0; 2048];
    let message = request.write(&mut message).map(|len| &message[..len])?;

    // Time is an argument: the clock is ours, and so is the waiting.
    let start = Instant::now();
    let now = || Millis(start.elapsed().as_millis() as u64);
    let mut deadline = Deadline::new(Timeouts::default(), now());
    let mut socket = TcpStream::connect(address)?;
    deadline.handle(Input::Connected, now());
    socket.write_all(message)?;

    let limits = Limits::default();
    let mut response = Response::new(Method::Post, &limits, [0; 4096]);
    let mut stream = Stream::new(Options::new(), &limits, [0; 8192], [0; 1024]);
    let (mut ending, mut refused) = (None, None);
    let (mut taken, mut told) = (0, 0);
    let mut buffer = [0; 4096];
    // The answer is over when its end mark has come, or when the body is.
    while stream.need() != Need::Done && response.need() != Need::Done {
        let wait = deadline.poll_timeout().map(|at| at.0.saturating_sub(now().0).max(1));
        socket.set_read_timeout(wait.map(Duration::from_millis))?;
        let have = match socket.read(&mut buffer) {
            Ok(0) => break,
            Ok(have) => have,
            Err(error) if waits(&error) => {
                deadline.handle(Input::Tick, now());
                if let Some(expired) = deadline.poll() {
                    return Err(expired.to_string().into());
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        deadline.handle(Input::Bytes, now());
        // A machine over a stream takes all that it is given: what it must keep goes into the
        // memory that was lent to it.
        let mut failed = None;
        taken += visit(&mut response, taken, &buffer[..have], |item| match item {
            http::Item::Head(head) => {
                deadline.handle(Input::Head, now());
                if head.status != 200 || !head.is_event_stream() {
                    refused = Some(head.status);
                }
            }
            http::Item::Body(_) if refused.is_some() || failed.is_some() => {}
            http::Item::Body(part) => {
                let used = visit(&mut stream, told, part, |item| match item {
                    Item::Text { text, .. } => show(text),
                    Item::End(end) => ending = Some(end),
                    _ => {}
                });
                match used {
                    Ok(used) => told += used as u64,
                    Err(error) => failed = Some(error),
                }
            }
        })? as u64;
        if let Some(error) = failed {
            return Err(error.into());
        }
        if let Some(status) = refused {
            return Err(format!("the server answers with status {status}, and no stream").into());
        }
    }
    // A connection that broke off: the last item says what had come.
    while stream.end()? == End::Item {
        if let Item::End(end) = stream.item(&[]) {
            ending = Some(end);
        }
    }
    ending.ok_or_else(|| "the server closed the connection without an answer".into())
}

/// Nothing but time has passed.
fn waits(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// A server that answers one request with the capture; its address.
fn playback() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || -> io::Result<()> {
        let (mut socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        let (mut request, mut piece) = (Vec::new(), [0; 512]);
        // The request's body is the last that comes, and ends with a brace.
        while !request.ends_with(b"}") {
            let n = socket.read(&mut piece)?;
            if n == 0 {
                return Ok(());
            }
            request.extend_from_slice(&piece[..n]);
        }
        CAPTURE.chunks(7).try_for_each(|piece| socket.write_all(piece))
    });
    Ok(address)
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = match std::env::args().nth(1) {
        Some(address) => address,
        None => playback()?,
    };
    let mut text = String::new();
    let ending = ask(&address, "hello", &mut |more| {
        // A terminal would print it here; what a model says may hold control characters.
        text.push_str(more);
    })?;
    println!("{text:?}");
    println!("{ending}");
    Ok(())
}

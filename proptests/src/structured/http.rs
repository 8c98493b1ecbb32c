//! Requests, responses and their deadlines.

use arbitrary::Arbitrary;
use rocload_core::Millis;
use rocload_core::http::Method;
use rocload_core::http::deadline::{Input, Timeouts};

use super::{Lie, tell};

/// A request.
#[derive(Debug, Clone, Arbitrary)]
pub struct Call {
    /// Its method.
    pub method: u8,
    /// Its target; mostly made sound.
    pub target: String,
    /// The target is left as it is.
    pub raw: bool,
    /// The host.
    pub host: Option<String>,
    /// The media type wanted.
    pub accept: Option<String>,
    /// The connection is to be closed.
    pub close: bool,
    /// Headers: one of a few names or any, and a value.
    pub headers: Vec<(u8, String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

const NAMES: [&str; 6] =
    ["Authorization", "X-Request-Id", "user-agent", "Content-Length", "HOST", "If-None-Match"];

impl Call {
    /// The method.
    pub fn method(&self) -> Method {
        [Method::Get, Method::Head, Method::Post, Method::Delete][usize::from(self.method) % 4]
    }

    /// The target.
    pub fn target(&self) -> String {
        if self.raw {
            return self.target.clone();
        }
        let graphic = |c: &char| c.is_ascii_graphic();
        core::iter::once('/').chain(self.target.chars().filter(graphic)).collect()
    }

    /// The headers.
    pub fn headers(&self) -> Vec<(&str, &str)> {
        let name = |at: u8, other| NAMES.get(usize::from(at) % 8).copied().unwrap_or(other);
        let headers = self.headers.iter().take(8);
        headers.map(|(at, other, value)| (name(*at, other.as_str()), value.as_str())).collect()
    }
}

/// A response.
#[derive(Debug, Clone, Arbitrary)]
pub struct Reply {
    /// The request was a HEAD.
    pub head: bool,
    /// Interim heads before it.
    pub interim: u8,
    /// Its status, from 200.
    pub status: u16,
    /// Headers: one of a few names or any, and a value.
    pub headers: Vec<(u8, u8, Vec<u8>)>,
    /// How its body ends.
    pub body: Body,
    /// What is not so.
    pub lies: Vec<Lie>,
    /// Chooses the chunks.
    pub seed: u64,
}

/// A body.
#[derive(Debug, Clone, Arbitrary)]
pub enum Body {
    /// None is told of.
    Nothing,
    /// Its length is told.
    Length(Vec<u8>),
    /// Another length is told.
    Wrong(u8, Vec<u8>),
    /// It ends with the connection.
    Close(Vec<u8>),
    /// Chunks with extensions, and trailers.
    Chunks(Vec<(Vec<u8>, u8)>, Vec<(u8, u8)>),
}

impl Reply {
    /// The response.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for at in 0..self.interim % 4 {
            let head: [&[u8]; 3] = [
                b"HTTP/1.1 100 Continue\r\n\r\n",
                b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n",
                b"HTTP/1.0 102\r\n\r\n",
            ];
            bytes.extend(head[usize::from(at.wrapping_add(self.interim)) % 3]);
        }
        bytes.extend(format!("HTTP/1.1 {} Reason\r\n", 200 + self.status % 400).bytes());
        for (name, value, other) in self.headers.iter().take(12) {
            let name = ["server", "Content-Type", "keep-alive", "X", "date", "connection"]
                [usize::from(*name) % 6];
            let values: [&[u8]; 5] = [
                b"text/event-stream",
                b"application/json; charset=utf-8",
                b" close ",
                b"llama.cpp",
                other,
            ];
            bytes.extend(name.bytes());
            bytes.extend(b": ");
            bytes.extend(values[usize::from(*value) % 5]);
            bytes.extend(b"\r\n");
        }
        let length = |bytes: &mut Vec<u8>, len: usize, body: &[u8]| {
            bytes.extend(format!("Content-Length: {len}\r\n\r\n").bytes());
            bytes.extend(body);
        };
        match &self.body {
            Body::Nothing => bytes.extend(b"\r\n"),
            Body::Length(body) => length(&mut bytes, body.len(), body),
            Body::Wrong(by, body) => length(&mut bytes, body.len() + usize::from(*by), body),
            Body::Close(body) => {
                bytes.extend(b"Connection: close\r\n\r\n");
                bytes.extend(body);
            }
            Body::Chunks(chunks, trailers) => {
                bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
                let extensions = ["", ";a=b", " ; x=\"y\"", ";"];
                for (chunk, how) in chunks.iter().take(8).filter(|(chunk, _)| !chunk.is_empty()) {
                    let extension = extensions[usize::from(*how) % 4];
                    let size = match how / 4 % 3 {
                        0 => format!("{:x}", chunk.len()),
                        1 => format!("{:X}", chunk.len()),
                        _ => format!("{:08x}", chunk.len()),
                    };
                    bytes.extend(format!("{size}{extension}\r\n").bytes());
                    bytes.extend(chunk);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(b"0\r\n");
                for (name, value) in trailers.iter().take(4) {
                    bytes.extend(format!("t{name}: {value}\r\n").bytes());
                }
                bytes.extend(b"\r\n");
            }
        }
        tell(&self.lies, &mut bytes);
        bytes
    }
}

/// Limits of time, and what happens.
#[derive(Debug, Clone, Arbitrary)]
pub struct Waiting {
    /// Connect, headers, idle, events, total.
    pub limits: [Option<u16>; 5],
    /// One of them is the largest that there is.
    pub endless: Option<u8>,
    /// What happens, and how much later.
    pub script: Vec<(u8, u16)>,
}

impl Waiting {
    /// The limits.
    pub fn timeouts(&self) -> Timeouts {
        let limit = |at: usize| match self.endless {
            Some(endless) if usize::from(endless) % 5 == at => Some(Millis(u64::MAX)),
            _ => self.limits[at].map(|limit| Millis(limit.into())),
        };
        Timeouts {
            connect: limit(0),
            headers: limit(1),
            idle: limit(2),
            events: limit(3),
            total: limit(4),
        }
    }

    /// The script.
    pub fn script(&self) -> Vec<(Input, u64)> {
        let input = |at: u8| {
            let few = [Input::Connected, Input::Head, Input::Bytes, Input::Event, Input::Tick];
            match at {
                255 => Input::Ended,
                at => few[usize::from(at) % few.len()],
            }
        };
        // In most cases little time passes.
        let later = |time: u16| u64::from(if time.is_multiple_of(4) { time } else { time % 512 });
        self.script.iter().take(200).map(|(at, time)| (input(*at), later(*time))).collect()
    }
}

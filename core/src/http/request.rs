//! Requests, written into a slice in one piece.

use super::Fault;
use crate::error::{Error, ErrorKind, Full};

/// The methods that llama-server answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// GET.
    Get,
    /// HEAD: the answer has no body.
    Head,
    /// POST.
    Post,
    /// DELETE.
    Delete,
}

impl Method {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// A request. It always says how long its body is, and never accepts a compressed answer.
///
/// ```
/// use rocload_core::http::Request;
///
/// let mut request = Request::post("/v1/completions", br#"{"prompt":"a"}"#);
/// request.accept = "text/event-stream";
/// request.close = true;
/// request.headers = &[("Authorization", "Bearer secret")];
/// let mut bytes = [0u8; 512];
/// let len = request.write(&mut bytes)?;
/// assert_eq!(len, request.len());
/// # Ok::<(), rocload_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request<'r> {
    /// What is to be done.
    pub method: Method,
    /// Path and query, beginning with `/`.
    pub target: &'r str,
    /// The host named in the message: `localhost` at first, as a Unix socket has none.
    pub host: &'r str,
    /// The media type wanted; empty = anything.
    pub accept: &'r str,
    /// The server shall close the connection after its answer.
    pub close: bool,
    /// More headers, as name and value.
    pub headers: &'r [(&'r str, &'r str)],
    /// The body: JSON.
    pub body: &'r [u8],
}

/// Headers that follow from the fields above.
const OWN: [&str; 7] = [
    "Host",
    "Accept",
    "Accept-Encoding",
    "Connection",
    "Content-Length",
    "Content-Type",
    "Transfer-Encoding",
];

impl<'r> Request<'r> {
    /// A request without a body.
    pub const fn new(method: Method, target: &'r str) -> Self {
        let (host, accept) = ("localhost", "");
        Request { method, target, host, accept, close: false, headers: &[], body: b"" }
    }

    /// A GET request.
    pub const fn get(target: &'r str) -> Self {
        Request::new(Method::Get, target)
    }

    /// A POST request with a JSON body.
    pub const fn post(target: &'r str, body: &'r [u8]) -> Self {
        let mut request = Request::new(Method::Post, target);
        request.body = body;
        request
    }

    /// Bytes that it takes when it is written.
    #[allow(clippy::len_without_is_empty, reason = "a request is never empty")]
    pub fn len(&self) -> usize {
        let mut len = 0;
        self.parts(|part| len += part.len());
        len
    }

    /// Writes it to the front of `out`, all in one, so that it can leave in one write. Returns
    /// its length.
    ///
    /// # Errors
    /// [`Fault::Request`] for a target or header that would break the message,
    /// [`Fault::Reserved`] for a header that is written anyway, [`ErrorKind::Full`] when `out`
    /// is too short.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, Error> {
        self.check()?;
        let need = self.len();
        let Some(out) = out.get_mut(..need) else {
            return Err(Error::new(ErrorKind::Full(Full { need: need as u64 }), 0));
        };
        let mut at = 0;
        self.parts(|part| {
            out[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        });
        Ok(need)
    }

    /// The request as bytes.
    ///
    /// # Errors
    /// As [`write`](Self::write), apart from a lack of room.
    #[cfg(feature = "alloc")]
    pub fn to_vec(&self) -> Result<alloc::vec::Vec<u8>, Error> {
        self.check()?;
        let mut out = alloc::vec::Vec::with_capacity(self.len());
        self.parts(|part| out.extend_from_slice(part));
        Ok(out)
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |fault| Err(Error::new(ErrorKind::Http(fault), 0));
        let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if !self.target.starts_with('/') || !visible(self.target) {
            return refuse(Fault::Request);
        }
        if self.host.is_empty() || !visible(self.host) || !is_value(self.accept) {
            return refuse(Fault::Request);
        }
        for (name, value) in self.headers {
            if name.is_empty() || !name.bytes().all(is_token) || !is_value(value) {
                return refuse(Fault::Request);
            }
            if OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                return refuse(Fault::Reserved);
            }
        }
        Ok(())
    }

    /// The message, part by part.
    fn parts(&self, mut put: impl FnMut(&[u8])) {
        let mut line = |parts: [&str; 4]| {
            parts.iter().for_each(|part| put(part.as_bytes()));
            put(b"\r\n");
        };
        let mut digits = [0; 20];
        let length = decimal(self.body.len() as u64, &mut digits);
        line([self.method.as_str(), " ", self.target, " HTTP/1.1"]);
        line(["Host", ": ", self.host, ""]);
        if !self.accept.is_empty() {
            line(["Accept", ": ", self.accept, ""]);
        }
        if !self.body.is_empty() {
            line(["Content-Type", ": ", "application/json", ""]);
        }
        line(["Content-Length", ": ", length, ""]);
        if self.close {
            line(["Connection", ": ", "close", ""]);
        }
        for (name, value) in self.headers {
            line([name, ": ", value, ""]);
        }
        line([""; 4]);
        put(self.body);
    }
}

/// The characters of a header's name (RFC 9110, section 5.6.2).
pub(super) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// Whether it can be a header's value: no control characters but tabs, no blanks at its ends.
fn is_value(text: &str) -> bool {
    text.trim_matches([' ', '\t']).len() == text.len()
        && text.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return core::str::from_utf8(&digits[at..]).unwrap_or_default();
        }
    }
}

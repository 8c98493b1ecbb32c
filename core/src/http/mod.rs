//! The client side of HTTP/1.1, as far as one known server near by needs it: no TLS, redirects,
//! compression or cookies, and no allocator.
//!
//! [`Request`] writes a request into a slice, [`Response`] reads the answer, [`Deadline`] says
//! when waiting for it has taken too long. Each is plain bytes or numbers in and out; a driver
//! owns the socket and the clock.
//!
//! ```text
//!              +-- 1xx --+
//!              v         |
//!  Response:  head ------+--> item Head --> body by length, by chunks or to the end --> Done
//!                                            | item Body, any number of times
//! ```
//!
//! ```
//! use rocload_core::http::{Item, Method, Request, Response};
//! use rocload_core::{Limits, Machine, Need, visit};
//!
//! let mut bytes = [0u8; 256];
//! let len = Request::get("/health").write(&mut bytes)?;
//! assert!(bytes[..len].starts_with(b"GET /health HTTP/1.1\r\nHost: localhost\r\n"));
//!
//! let mut response = Response::new(Method::Get, &Limits::default(), [0u8; 1024]);
//! let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nAccess-Control-Allow-Origin: \r\n\r\n3\r\nok!\r\n0\r\n\r\n";
//! visit(&mut response, 0, answer, |item| match item {
//!     Item::Head(head) => {
//!         assert_eq!(head.status, 200);
//!         assert_eq!(head.header("access-control-allow-origin"), Some(&b""[..]));
//!     }
//!     Item::Body(part) => assert_eq!(part, b"ok!"),
//! })?;
//! assert_eq!(response.need(), Need::Done);
//! assert!(response.reusable());
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! # Strictness
//!
//! What leaves the end of a body in doubt is refused: Content-Length together with
//! Transfer-Encoding, Content-Lengths that differ or are not digits alone, codings other than
//! `chunked`, chunk sizes of more than 16 digits, line ends inside a chunked body that are not
//! CRLF, folded header lines. Header values may be empty and hold bytes above 0x7f.
//!
//! Source: RFC 9112 (HTTP/1.1) and RFC 9110 (HTTP semantics).

mod chunk;
pub mod deadline;
mod fault;
mod head;
mod request;
mod response;
#[cfg(all(test, feature = "alloc"))]
mod tests;

pub use deadline::{Deadline, Timeouts};
pub use fault::Fault;
pub use head::{Framing, Head, Headers};
pub use request::{Method, Request};
pub use response::{Item, Items, Response};

/// The most header lines that a response may have.
pub const MAX_HEADERS: usize = 64;

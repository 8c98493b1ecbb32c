//! What can be wrong with an HTTP message.

use core::fmt;

use crate::error::Class;

/// A broken rule of HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The answer does not begin with `HTTP/1.`.
    NotHttp,
    /// The version is not 1.0 or 1.1.
    Version,
    /// The status line is malformed, or the status is below 100.
    Status,
    /// A header's name is empty or has a byte that a name cannot have.
    HeaderName,
    /// A header's value has a control character.
    HeaderValue,
    /// A line does not end with CRLF where it must, or a header is folded.
    LineEnd,
    /// Status 101, which was not asked for.
    Upgrade,
    /// A Content-Length is not digits alone, or is above 2^64 - 1.
    ContentLength,
    /// Two Content-Lengths differ.
    ContentLengths,
    /// Content-Length and Transfer-Encoding together.
    LengthAndCoding,
    /// A Transfer-Encoding other than `chunked` alone.
    Coding,
    /// A chunk's size is not 1 to 16 hexadecimal digits.
    ChunkSize,
    /// A chunk's extensions, or the trailers, are longer than a head may be.
    ChunkLine,
    /// A request's target or a header of it has a byte that would break the message.
    Request,
    /// A header of a request that is written by itself, such as Content-Length.
    Reserved,
}

impl Fault {
    /// What a caller can do about it.
    pub const fn class(&self) -> Class {
        match self {
            Fault::Version | Fault::Upgrade | Fault::Coding => Class::Unsupported,
            Fault::ChunkLine => Class::Limit,
            Fault::Request | Fault::Reserved => Class::Misuse,
            _ => Class::Malformed,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::NotHttp => "the answer is not http/1.x",
            Fault::Version => "the http version is neither 1.0 nor 1.1",
            Fault::Status => "the status line of the http response is malformed",
            Fault::HeaderName => "an http header has a malformed name",
            Fault::HeaderValue => "an http header has a control character in its value",
            Fault::LineEnd => "a line of the http response does not end as it must",
            Fault::Upgrade => "the server changes the protocol, which was not asked for",
            Fault::ContentLength => "the content-length is not a number",
            Fault::ContentLengths => "two content-lengths differ",
            Fault::LengthAndCoding => "content-length and transfer-encoding stand together",
            Fault::Coding => "the transfer-encoding is not supported: only chunked is",
            Fault::ChunkSize => "a chunk's size is not 1 to 16 hexadecimal digits",
            Fault::ChunkLine => "a chunk's extensions or the trailers are too long",
            Fault::Request => "the request has a byte that would break the message",
            Fault::Reserved => "the request writes this header by itself",
        })
    }
}

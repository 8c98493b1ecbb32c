//! The body of an answer that is an error.

use core::fmt;

use super::json::{self, Str, Value};
use super::read::members::{string, whole};
use super::read::shape;
use crate::limits::Limits;

/// How much of a body that is no JSON is kept, in bytes.
const SNIPPET: usize = 512;

/// An error as an HTTP answer: `{"error":{"code","message","type"}}`, the same without the
/// wrapper, or anything that a proxy puts in its place. Reading it never fails.
///
/// ```
/// use rocload_core::Limits;
/// use rocload_core::llama::ErrorBody;
///
/// let body = br#"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#;
/// let error = ErrorBody::read(401, body, &Limits::default());
/// assert_eq!(error.to_string(), "Invalid API Key (authentication_error, 401)");
/// let error = ErrorBody::read(502, b"<html>Bad Gateway</html>", &Limits::default());
/// assert_eq!(error.to_string(), "http status 502: <html>Bad Gateway</html>");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorBody<'i> {
    /// The answer's HTTP status.
    pub status: u16,
    /// The code in the body, or else the status.
    pub code: i64,
    /// The type, as `invalid_request_error`.
    pub kind: Option<Str<'i>>,
    /// What is wrong.
    pub message: Option<Str<'i>>,
    /// Tokens of a prompt that is too long.
    pub n_prompt_tokens: Option<u64>,
    /// The context that it is too long for, in tokens.
    pub n_ctx: Option<u64>,
    /// The first bytes of a body that does not say what is wrong; else empty.
    pub snippet: &'i [u8],
}

impl<'i> ErrorBody<'i> {
    /// Reads the body of an answer with this status.
    pub fn read(status: u16, body: &'i [u8], limits: &Limits) -> Self {
        let value = json::check_lossy(body, 0, limits).ok();
        let error = value.map(|value| value.get("error").unwrap_or(value));
        let found = error.map(shape::Fault::read).unwrap_or_default();
        // `{"error":"..."}` has the message alone.
        let alone = error.and_then(Value::as_str);
        let message = string(found.message).or(alone);
        let snippet = if message.is_some() { &[] } else { &body[..body.len().min(SNIPPET)] };
        ErrorBody {
            status,
            code: found.code.and_then(Value::as_i64).unwrap_or(i64::from(status)),
            kind: string(found.kind),
            message,
            n_prompt_tokens: whole(found.n_prompt_tokens),
            n_ctx: whole(found.n_ctx),
            snippet,
        }
    }
}

impl fmt::Display for ErrorBody<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message, self.kind) {
            (Some(message), Some(kind)) => write!(f, "{message} ({kind}, {})", self.code),
            (Some(message), None) => write!(f, "{message} ({})", self.code),
            (None, _) => {
                write!(f, "http status {}", self.status)?;
                for (at, chunk) in self.snippet.utf8_chunks().enumerate() {
                    f.write_str(if at == 0 { ": " } else { "" })?;
                    f.write_str(chunk.valid())?;
                    if !chunk.invalid().is_empty() {
                        f.write_str("\u{fffd}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

//! What the answer to a request for `/health` says.

use std::io;

use rocload_core::llama::Health;

use super::{Answer, Error};

/// What a probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Readiness {
    /// Nothing listens there yet: no socket, or nobody behind it. Ask again.
    NotYet,
    /// The server is loading its model (status 503). Ask again.
    Loading,
    /// The server is ready: status 200 and `"status":"ok"`. Fetch `/props` once.
    Ready,
    /// Something else answers, or nothing does: asking again does not help.
    Failed,
}

impl Readiness {
    /// Judges the answer to `GET /health`. Pure: the same answer, the same verdict.
    ///
    /// ```
    /// use std::io;
    /// use rocload::http::{Error, Readiness};
    ///
    /// let source = io::ErrorKind::ConnectionRefused.into();
    /// let endpoint = "127.0.0.1:8080".parse()?;
    /// assert_eq!(Readiness::judge(&Err(Error::Connect { endpoint, source })), Readiness::NotYet);
    /// assert_eq!(Readiness::judge(&Err(Error::Cancelled)), Readiness::Failed);
    /// # Ok::<(), rocload::http::EndpointError>(())
    /// ```
    pub fn judge(probe: &Result<Answer, Error>) -> Readiness {
        let answer = match probe {
            Ok(answer) => Health::read(answer.head().status, &answer.body),
            Err(Error::Status(error)) => Health::read(error.status, b""),
            Err(Error::Connect { source, .. }) => {
                return match source.kind() {
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Readiness::NotYet,
                    _ => Readiness::Failed,
                };
            }
            Err(_) => return Readiness::Failed,
        };
        match answer {
            Health::Ready => Readiness::Ready,
            Health::Loading => Readiness::Loading,
            Health::Failed => Readiness::Failed,
        }
    }
}

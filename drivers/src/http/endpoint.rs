//! Where a server listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens.
///
/// ```
/// use rocload::http::Endpoint;
///
/// let tcp: Endpoint = "http://127.0.0.1:8080".parse()?;
/// assert_eq!(tcp, "127.0.0.1:8080".parse()?);
/// let unix: Endpoint = "unix:/run/user/1000/rocload/a.sock".parse()?;
/// assert_eq!(unix.to_string(), "unix:/run/user/1000/rocload/a.sock");
/// # Ok::<(), rocload::http::EndpointError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// An address and a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// A text that names no endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointError(String);

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = crate::error::shortened(self.0.as_bytes());
        write!(f, "{text} is no endpoint: give ADDRESS:PORT or unix:PATH")
    }
}

impl std::error::Error for EndpointError {}

impl FromStr for Endpoint {
    type Err = EndpointError;

    /// Reads `ADDRESS:PORT` (with or without `http://`), `unix:PATH`, or a path that begins with
    /// `/`.
    fn from_str(text: &str) -> Result<Self, EndpointError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Endpoint::Unix(path.into()));
        }
        if text.starts_with('/') {
            return Ok(Endpoint::Unix(text.into()));
        }
        let address = text.strip_prefix("http://").unwrap_or(text);
        let address = address.strip_suffix('/').unwrap_or(address);
        address.parse().map(Endpoint::Tcp).map_err(|_| EndpointError(text.to_owned()))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Unix(path) => {
                use std::os::unix::ffi::OsStrExt as _;
                let path = crate::error::printable(path.as_os_str().as_bytes());
                write!(f, "unix:{path}")
            }
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Endpoint::Tcp(address)
    }
}

impl From<PathBuf> for Endpoint {
    fn from(path: PathBuf) -> Self {
        Endpoint::Unix(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "unix:", "localhost", "127.0.0.1", "https://127.0.0.1:1", "x.sock"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text:?}");
        }
    }
}

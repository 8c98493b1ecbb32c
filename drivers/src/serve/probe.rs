//! A question to a server that never blocks whoever asks it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rocload_core::Millis;
use rocload_core::http::{Request, Timeouts};
use rocload_core::serve::{Outcome, ProbeId};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};

use crate::http::{Endpoint, Error, Flow, Next, Options};

/// What of a body is read, in bytes.
const BODY: usize = 4 << 10;

/// One question on its way.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) id: ProbeId,
    pub(super) socket: Arc<OwnedFd>,
    /// When the answer comes too late.
    pub(super) deadline: Millis,
    flow: Flow,
    status: u16,
    body: Vec<u8>,
}

impl Probe {
    /// Connects and sends, as far as that goes without waiting.
    ///
    /// # Errors
    /// The outcome, where it is known at once.
    pub(super) fn begin(
        id: ProbeId,
        endpoint: &Endpoint,
        deadline: Millis,
        request: &Request<'_>,
    ) -> Result<Probe, Outcome> {
        let socket = open(endpoint).map_err(|_| Outcome::Refused)?;
        let options = Options { timeouts: Timeouts::NONE, ..Options::default() };
        let flow = Flow::new(request, &options).map_err(|_| Outcome::BadBody)?;
        Ok(Probe { id, socket: Arc::new(socket), deadline, flow, status: 0, body: Vec::new() })
    }

    /// Goes on as far as that goes without waiting; the outcome, once it is known.
    pub(super) fn advance(&mut self, now: Millis) -> Option<Outcome> {
        if now >= self.deadline {
            return Some(Outcome::TimedOut);
        }
        match self.try_advance() {
            Ok(outcome) => outcome,
            Err(Error::Protocol(_)) => Some(Outcome::BadBody),
            Err(_) => Some(Outcome::Refused),
        }
    }

    fn try_advance(&mut self) -> Result<Option<Outcome>, Error> {
        loop {
            while !self.flow.unsent().is_empty() {
                match send(&self.socket, self.flow.unsent(), SendFlags::NOSIGNAL) {
                    Ok(bytes) => self.flow.sent(bytes),
                    // Not connected yet, or full.
                    Err(Errno::AGAIN) => return Ok(None),
                    Err(Errno::INTR) => {}
                    Err(_) => self.flow.send_failed(),
                }
            }
            match self.flow.advance(Millis(0))? {
                Next::Head => self.status = self.flow.head().map_or(0, |head| head.status),
                Next::Piece => {
                    let piece = self.flow.piece();
                    self.body.extend_from_slice(self.flow.bytes(piece.clone()));
                    self.flow.take(piece.len());
                    if self.body.len() >= BODY {
                        return Ok(Some(self.outcome()));
                    }
                }
                Next::End => return Ok(Some(self.outcome())),
                Next::Read => match recv(&self.socket, self.flow.room(), RecvFlags::empty()) {
                    Ok((bytes, _)) => self.flow.read(bytes, Millis(0))?,
                    Err(Errno::AGAIN) => return Ok(None),
                    Err(Errno::INTR) => {}
                    Err(error) => self.flow.read_failed(io::Error::from(error))?,
                },
            }
        }
    }

    fn outcome(&self) -> Outcome {
        Outcome::read(self.status, &self.body)
    }
}

/// A socket that is connected, or about to be.
fn open(endpoint: &Endpoint) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let kind = SocketType::STREAM;
    let (socket, connected) = match endpoint {
        Endpoint::Unix(path) => {
            let socket = socket_with(AddressFamily::UNIX, kind, flags, None)?;
            let connected = connect(&socket, &SocketAddrUnix::new(path.as_path())?);
            (socket, connected)
        }
        Endpoint::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = socket_with(family, kind, flags, None)?;
            let connected = connect(&socket, address);
            (socket, connected)
        }
    };
    match connected {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        // A Unix socket with a full queue says AGAIN.
        Err(error) => Err(error),
    }
}

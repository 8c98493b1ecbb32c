//! A socket of tokio, used through a shared reference so that another thread can shut it down.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use ::tokio::io::Interest;
use ::tokio::net::{TcpStream, UnixStream};
use ::tokio::time::{sleep, timeout};

use crate::http::Endpoint;

/// How long to wait before a Unix socket with a full queue is tried again.
const RETRY: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects; an error of kind `TimedOut` when that takes longer than `limit`.
    pub(super) async fn connect(
        endpoint: &Endpoint,
        limit: Option<Duration>,
    ) -> io::Result<Socket> {
        let connect = async {
            match endpoint {
                Endpoint::Tcp(address) => {
                    let socket = TcpStream::connect(address).await?;
                    socket.set_nodelay(true)?;
                    Ok(Socket::Tcp(socket))
                }
                Endpoint::Unix(path) => loop {
                    match UnixStream::connect(path).await {
                        Ok(socket) => return Ok(Socket::Unix(socket)),
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            sleep(RETRY).await;
                        }
                        Err(error) => return Err(error),
                    }
                },
            }
        };
        match limit {
            Some(limit) => timeout(limit, connect)
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
            None => connect.await,
        }
    }

    pub(super) fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.try_read(room),
            Socket::Unix(socket) => socket.try_read(room),
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.try_write(bytes),
            Socket::Unix(socket) => socket.try_write(bytes),
        }
    }

    /// Waits until there is something to read, or room to write if that is wanted; at most for
    /// `limit`.
    pub(super) async fn wait(&self, write: bool, limit: Option<Duration>) -> io::Result<()> {
        let interest =
            if write { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let ready = async {
            match self {
                Socket::Tcp(socket) => socket.ready(interest).await,
                Socket::Unix(socket) => socket.ready(interest).await,
            }
        };
        match limit {
            // That time is up is found out by the deadlines.
            Some(limit) => timeout(limit, ready).await.map_or(Ok(()), |ready| ready.map(|_| ())),
            None => ready.await.map(|_| ()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        }
    }
}

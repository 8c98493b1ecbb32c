//! A socket that never blocks, and the wait for it.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::http::Endpoint;

/// How long to wait before a Unix socket with a full queue is tried again.
#[cfg(not(target_vendor = "apple"))]
const RETRY: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects; an error of kind `TimedOut` when that takes longer than `limit`.
    pub(super) fn connect(endpoint: &Endpoint, limit: Option<Duration>) -> io::Result<Socket> {
        match endpoint {
            Endpoint::Tcp(address) => {
                let socket = match limit {
                    // The system's call refuses a limit of nothing.
                    Some(limit) => {
                        TcpStream::connect_timeout(address, limit.max(Duration::from_millis(1)))?
                    }
                    None => TcpStream::connect(address)?,
                };
                socket.set_nodelay(true)?;
                socket.set_nonblocking(true)?;
                Ok(Socket::Tcp(socket))
            }
            Endpoint::Unix(path) => connect_unix(path, limit).map(Socket::Unix),
        }
    }

    pub(super) fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&*socket).read(room),
            Socket::Unix(socket) => (&*socket).read(room),
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&*socket).write(bytes),
            Socket::Unix(socket) => (&*socket).write(bytes),
        }
    }

    /// Waits until there is something to read, or room to write if that is wanted; at most for
    /// `limit`.
    pub(super) fn wait(&self, write: bool, limit: Option<Duration>) -> io::Result<()> {
        let flags = if write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let limit = limit.map(Timespec::try_from).transpose().unwrap_or(None);
        match poll(&mut [PollFd::new(self, flags)], limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
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

/// Apple's systems refuse where too many others wait already, and do not make anyone wait.
#[cfg(target_vendor = "apple")]
fn connect_unix(path: &Path, _limit: Option<Duration>) -> io::Result<UnixStream> {
    let socket = UnixStream::connect(path)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Connecting to a Unix socket waits only where too many others wait already.
#[cfg(not(target_vendor = "apple"))]
fn connect_unix(path: &Path, limit: Option<Duration>) -> io::Result<UnixStream> {
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    };
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let mut left = limit;
    loop {
        match connect(&socket, &address) {
            Ok(()) => return Ok(UnixStream::from(socket)),
            Err(rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(left) = &mut left {
            *left = left.checked_sub(RETRY).ok_or(io::ErrorKind::TimedOut)?;
        }
        std::thread::sleep(RETRY);
    }
}

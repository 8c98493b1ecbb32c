//! Ending an exchange from another thread.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use rustix::net::{Shutdown, shutdown};

/// Ends one exchange, from any thread: its connection is shut down in both directions at once,
/// and whoever waits for it gets [`Error::Cancelled`](super::Error::Cancelled). It does not keep
/// the connection open, and does nothing when that is closed.
#[derive(Debug, Clone)]
pub struct CancelHandle {
    flag: Arc<AtomicBool>,
    socket: Weak<dyn Descriptor>,
}

/// A socket of whichever driver.
pub(crate) trait Descriptor: AsFd + std::fmt::Debug + Send + Sync {}

impl<T: AsFd + std::fmt::Debug + Send + Sync> Descriptor for T {}

impl CancelHandle {
    pub(crate) fn new<T: Descriptor + 'static>(flag: Arc<AtomicBool>, socket: &Arc<T>) -> Self {
        let socket: Weak<T> = Arc::downgrade(socket);
        CancelHandle { flag, socket }
    }

    /// Ends the exchange.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Release);
        if let Some(socket) = self.socket.upgrade() {
            // Only a socket that the other side has closed refuses, and that is the aim.
            let _ = shutdown(socket.as_fd(), Shutdown::Both);
        }
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }
}

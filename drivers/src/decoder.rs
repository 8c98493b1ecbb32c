//! The decoders of an archive that are at rest, and the choice of the backend.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use rocload_core::zstd::{Decompress, Workspace};

/// A decompression backend that can move between threads.
pub(crate) type Decoder = Box<dyn Decompress + Send>;

/// A new decoder of the default backend: the core's own. Its smallest workspace serves, since
/// literals stand in the kernel's own memory until they are used.
pub(crate) fn new() -> Decoder {
    Box::new(Workspace::<0>::new())
}

/// The name of the default backend, for reports.
pub fn default_name() -> &'static str {
    new().name()
}

/// A decoder and the buffer that stored bytes are read into.
pub(crate) struct Bench {
    pub(crate) decoder: Decoder,
    pub(crate) stored: Vec<u8>,
}

/// Decoders at rest, each with its buffer, to be used again; the lock is held to take or return
/// one, never while one is at work. Archives may share them.
#[derive(Default)]
pub(crate) struct Decoders(Mutex<Vec<Bench>>);

/// The most that rest; more are given back to the system.
const AT_REST: usize = 64;
/// The most memory, in bytes, that a buffer keeps at rest.
const BUFFER: usize = 256 << 10;

impl Decoders {
    pub(crate) fn take(&self) -> Bench {
        let at_rest = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        at_rest.unwrap_or_else(|| Bench { decoder: new(), stored: Vec::new() })
    }

    pub(crate) fn put_back(&self, mut bench: Bench) {
        if bench.stored.capacity() > BUFFER {
            bench.stored = Vec::new();
        }
        let mut at_rest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if at_rest.len() < AT_REST {
            at_rest.push(bench);
        }
    }
}

impl fmt::Debug for Decoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoders")
    }
}

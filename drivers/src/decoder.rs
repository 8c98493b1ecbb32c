//! The decoders of an archive that are at rest, and the choice of the backend.
//!
//! ```
//! assert_eq!(rocload::decoder::default_name(), "rocload");
//! ```

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Decoders at rest, each with its buffer, to be used again. Archives may share them.
///
/// A thread finds the one that it has put back last, whose tables are still in its core's cache, in
/// a place that no other core touches as long as threads are few; where it finds none, it takes one
/// from the others. A lock is held to take or put back one, never while one is at work.
#[derive(Default)]
pub(crate) struct Decoders {
    places: [Place; PLACES],
    others: Mutex<Vec<Bench>>,
}

/// In cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Place(Mutex<Option<Bench>>);

/// Threads have places of their own up to this number, and share them from there on.
const PLACES: usize = 16;
/// The most that rest beside those in their places; more are given back to the system.
const AT_REST: usize = 48;
/// The most memory, in bytes, that a buffer keeps at rest.
const BUFFER: usize = 256 << 10;

/// The number of the calling thread's place.
fn mine() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % PLACES;
    }
    // A thread that is about to end may have no such value any more.
    MINE.try_with(|mine| *mine).unwrap_or(0)
}

impl Decoders {
    pub(crate) fn take(&self) -> Bench {
        if let Some(bench) = lock(&self.places[mine()].0).take() {
            return bench;
        }
        let other = lock(&self.others).pop();
        other.unwrap_or_else(|| Bench { decoder: new(), stored: Vec::new() })
    }

    pub(crate) fn put_back(&self, mut bench: Bench) {
        if bench.stored.capacity() > BUFFER {
            bench.stored = Vec::new();
        }
        let Some(other) = lock(&self.places[mine()].0).replace(bench) else { return };
        let mut others = lock(&self.others);
        if others.len() < AT_REST {
            others.push(other);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic may have left is whole: it is moved in one piece.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Decoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoders")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_back_what_it_has_put_back() {
        let (decoders, here) = (Decoders::default(), mine());
        let mut bench = decoders.take();
        bench.stored = Vec::with_capacity(100);
        decoders.put_back(bench);
        // A thread with another place does not take it.
        let (place, other) = std::thread::scope(|scope| {
            let take = || (mine(), decoders.take().stored.capacity());
            scope.spawn(move || (mine() != here).then(take)).join().unwrap().unwrap_or((PLACES, 0))
        });
        assert_eq!(other, 0, "from place {place}, with {here} its own");
        assert_eq!(decoders.take().stored.capacity(), 100);
    }

    #[test]
    fn what_rests_is_bounded() {
        let decoders = Decoders::default();
        let many: Vec<Bench> = (0..200).map(|_| decoders.take()).collect();
        many.into_iter().for_each(|bench| decoders.put_back(bench));
        assert_eq!(lock(&decoders.others).len(), AT_REST);
        let large = Bench { decoder: new(), stored: Vec::with_capacity(BUFFER + 1) };
        decoders.put_back(large);
        assert_eq!(decoders.take().stored.capacity(), 0);
    }
}

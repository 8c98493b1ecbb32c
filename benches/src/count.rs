//! Counting what is read and what is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use rocload::ReadAt;

/// A source that counts the calls and bytes that are read through it.
#[derive(Debug)]
pub struct Reads<R> {
    source: R,
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl<R> Reads<R> {
    /// Counts what is read from `source`.
    pub fn new(source: R) -> Self {
        Reads { source, calls: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// Calls and bytes since this was last asked.
    pub fn take(&self) -> (u64, u64) {
        (self.calls.swap(0, Ordering::Relaxed), self.bytes.swap(0, Ordering::Relaxed))
    }
}

impl<R: ReadAt> ReadAt for Reads<R> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let got = self.source.read_at(buf, offset)?;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }

    fn total(&self) -> io::Result<u64> {
        self.source.total()
    }

    fn changed(&self) -> bool {
        self.source.changed()
    }
}

/// The system's allocator, which counts once it is told to; until then it costs a look at a
/// flag, so that a program can time things as well.
#[derive(Debug)]
pub struct Heap {
    counting: AtomicBool,
    calls: AtomicI64,
    now: AtomicI64,
    peak: AtomicI64,
}

/// What a [`Heap`] has counted since it was told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapUse {
    /// Calls that gave memory.
    pub calls: i64,
    /// Bytes given and not yet taken back; below 0 when older ones were.
    pub now: i64,
    /// The most of that at any time.
    pub peak: i64,
}

impl Heap {
    /// Not counting.
    #[expect(clippy::new_without_default, reason = "a static needs a const function")]
    pub const fn new() -> Heap {
        Heap {
            counting: AtomicBool::new(false),
            calls: AtomicI64::new(0),
            now: AtomicI64::new(0),
            peak: AtomicI64::new(0),
        }
    }

    /// Counts from now on.
    pub fn count(&self) {
        self.counting.store(true, Ordering::Relaxed);
    }

    /// What was counted.
    pub fn counted(&self) -> HeapUse {
        let of = |count: &AtomicI64| count.load(Ordering::Relaxed);
        HeapUse { calls: of(&self.calls), now: of(&self.now), peak: of(&self.peak) }
    }

    fn grown(&self, bytes: usize) {
        if self.counting.load(Ordering::Relaxed) {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let now = self.now.fetch_add(bytes as i64, Ordering::Relaxed) + bytes as i64;
            self.peak.fetch_max(now, Ordering::Relaxed);
        }
    }

    fn shrunk(&self, bytes: usize) {
        if self.counting.load(Ordering::Relaxed) {
            self.now.fetch_sub(bytes as i64, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.grown(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.grown(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.shrunk(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.grown(size);
        self.shrunk(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

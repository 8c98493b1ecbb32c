//! The heap, and how much of it was in use at most.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use embedded_alloc::LlffHeap;

/// Bytes of the heap.
pub(crate) const SIZE: usize = 72 << 10;

static HEAP: LlffHeap = LlffHeap::empty();
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTED: Counted = Counted;

struct Counted;

// SAFETY: every call goes to the allocator below unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        let at = unsafe { HEAP.alloc(layout) };
        PEAK.fetch_max(HEAP.used(), Relaxed);
        at
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { HEAP.dealloc(at, layout) };
    }
}

/// Gives the heap its memory. Called once, before anything is allocated.
pub(crate) fn init() {
    // SAFETY: it is called once, at the start of `main`.
    unsafe {
        embedded_alloc::init!(HEAP, SIZE);
    }
}

/// Bytes of the heap that were in use at most.
pub(crate) fn peak() -> usize {
    PEAK.load(Relaxed)
}

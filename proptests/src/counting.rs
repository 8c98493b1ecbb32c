//! An allocator that counts, for the laws about memory.
//!
//! A test or a fuzz target makes it the global one; the laws refuse to judge without it, so that
//! none of them holds by not looking.
//!
//! ```
//! use laws::counting::{Counting, measure};
//!
//! #[global_allocator]
//! static COUNTING: Counting = Counting;
//!
//! let (used, kept) = measure(|| vec![0u8; 100]);
//! assert_eq!((used.allocated, used.peak, kept.len()), (100, 100, 100));
//! assert_eq!(measure(|| drop(kept)).0.allocated, 0);
//! ```

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, which counts for each thread what it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Counting;

fn count(size: usize) {
    // A thread that is ending counts no more.
    let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get() + size as u64));
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + size as i64);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let _ = LIVE.try_with(|live| live.set(live.get() - layout.size() as i64));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

/// What a piece of work took from the heap, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// All that was asked for; freed bytes are not taken off.
    pub allocated: u64,
    /// The most that was held at once, above what was held before.
    pub peak: u64,
}

/// What `work` takes on this thread, and its result. 0 unless [`Counting`] is the global
/// allocator: see [`is_counting`].
pub fn measure<T>(work: impl FnOnce() -> T) -> (Used, T) {
    let (allocated, live) = (ALLOCATED.get(), LIVE.get());
    PEAK.set(live);
    let result = work();
    let peak = (PEAK.get() - live).max(0) as u64;
    (Used { allocated: ALLOCATED.get() - allocated, peak }, result)
}

/// Whether [`Counting`] is the global allocator.
pub fn is_counting() -> bool {
    measure(|| std::hint::black_box(vec![0u8; 1])).0.allocated > 0
}

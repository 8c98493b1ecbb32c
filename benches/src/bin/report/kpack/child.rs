//! What one opening costs a process that has done nothing else: measured in a process of its
//! own, which prints its figures for the report to read.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use rocload::Archive;
use rocload_benches::child::Figures;
use rocload_benches::{memory, peer};

use crate::HEAP;

/// What a child found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) time: Duration,
    /// Resident bytes above those before, once it was open.
    pub(crate) resident: f64,
    /// The most that was resident above that.
    pub(crate) peak: f64,
    pub(crate) faults: f64,
    /// Bytes of the heap in use once it was open, at most at once, and calls that gave them.
    pub(crate) heap: f64,
    pub(crate) heap_peak: f64,
    pub(crate) heap_calls: f64,
}

/// Opens the archive as `what` does, in this process, and prints what it cost.
pub(crate) fn run(what: &str, path: &Path) -> peer::Result<()> {
    match what {
        "rocload" => cost(|| Archive::open(path).map_err(Into::into)),
        "serde" => cost(|| peer::table::open(path)),
        "whole" => cost(|| peer::table::open_whole(path)),
        _ => Err("no such child".into()),
    }
}

fn cost<T>(open: impl Fn() -> peer::Result<T>) -> peer::Result<()> {
    let none = "no /proc to tell this process's memory";
    // Read twice: the first time allocates.
    memory::resident().ok_or(none)?;
    HEAP.count();
    let heap_before = HEAP.counted();
    let before = memory::resident().ok_or(none)?;
    let start = Instant::now();
    let opened = black_box(open()?);
    let time = start.elapsed();
    let after = memory::resident().ok_or(none)?;
    let heap = HEAP.counted();
    drop(opened);
    println!(
        "{} {} {} {} {} {} {}",
        time.as_nanos(),
        after.now as i64 - before.now as i64,
        after.peak as i64 - before.now as i64,
        after.faults - before.faults,
        heap.now - heap_before.now,
        heap.peak,
        heap.calls - heap_before.calls,
    );
    Ok(())
}

/// The median of each figure over so many processes.
pub(crate) fn measure(what: &str, path: &Path, processes: usize) -> peer::Result<Cost> {
    let figures = Figures::take(&format!("kpack/{what}"), path, processes)?;
    let median = |at| figures.median(at);
    Ok(Cost {
        time: Duration::from_nanos(median(0)? as u64),
        resident: median(1)?,
        peak: median(2)?,
        faults: median(3)?,
        heap: median(4)?,
        heap_peak: median(5)?,
        heap_calls: median(6)?,
    })
}

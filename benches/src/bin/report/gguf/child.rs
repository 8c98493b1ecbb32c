//! What reading one header costs a process that has done nothing else: measured in a process of
//! its own, which prints its figures for the report to read.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use rocload_benches::child::Figures;
use rocload_benches::{gguf, memory, peer};

use crate::HEAP;

/// What a child found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) time: Duration,
    peak: f64,
    heap_peak: f64,
}

impl Cost {
    /// The most that was resident above what was before.
    pub(crate) fn peak(&self) -> f64 {
        self.peak
    }

    /// The most of the heap.
    pub(crate) fn heap_peak(&self) -> f64 {
        self.heap_peak
    }
}

/// Reads the header as `what` does, in this process, and prints what it cost.
pub(crate) fn run(what: &str, path: &Path) -> peer::Result<()> {
    match what {
        "rocload" => cost(|| gguf::open_summary(path)),
        "candle" => cost(|| gguf::candle(path)),
        "gguf-rs" => cost(|| gguf::gguf_rs(path, u64::MAX)),
        _ => Err("no such child".into()),
    }
}

fn cost<T>(read: impl Fn() -> peer::Result<T>) -> peer::Result<()> {
    let none = "no /proc to tell this process's memory";
    memory::resident().ok_or(none)?;
    HEAP.count();
    let before = memory::resident().ok_or(none)?;
    let start = Instant::now();
    let header = black_box(read()?);
    let time = start.elapsed();
    let after = memory::resident().ok_or(none)?;
    let heap = HEAP.counted();
    drop(header);
    println!("{} {} {}", time.as_nanos(), after.peak.saturating_sub(before.now), heap.peak);
    Ok(())
}

/// The median of each figure over so many processes.
pub(crate) fn measure(what: &str, path: &Path, processes: usize) -> peer::Result<Cost> {
    let figures = Figures::take(&format!("gguf/{what}"), path, processes)?;
    let median = |at| figures.median(at);
    Ok(Cost {
        time: Duration::from_nanos(median(0)? as u64),
        peak: median(1)?,
        heap_peak: median(2)?,
    })
}

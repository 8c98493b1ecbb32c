//! What the system says this process holds in memory.

use std::fs;

/// Resident memory of this process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    /// Now.
    pub now: u64,
    /// The most so far.
    pub peak: u64,
    /// Page faults so far that needed no disk.
    pub faults: u64,
}

/// Resident memory as /proc tells it; `None` where there is no /proc.
pub fn resident() -> Option<Resident> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name, which may hold anything, ends at the last parenthesis; minflt is the 10th field.
    let faults = stat.rsplit_once(')')?.1.split_whitespace().nth(7)?.parse().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    // status is counted lazily, page by page for each processor; the roll-up is exact.
    Some(Resident { now: kib(&rollup, "Rss:")?, peak: kib(&status, "VmHWM:")?, faults })
}

fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

//! A line on the machine, without its names.

use std::fs;
use std::thread;

/// Processors and memory.
pub(crate) fn describe() -> String {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'))?.1;
        Some(line.trim().to_string())
    };
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|total| total.strip_suffix(" kB")?.parse::<u64>().ok())
        .map_or_else(|| "unknown memory".into(), |kib| format!("{} GiB", (kib + (1 << 19)) >> 20));
    let os = std::env::consts::OS;
    let build = if cfg!(debug_assertions) { ", UNOPTIMISED BUILD" } else { "" };
    format!("Machine: {cpus} processors ({model}), {memory}, {os}{build}.")
}

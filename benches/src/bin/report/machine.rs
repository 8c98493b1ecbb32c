//! The machine: a line on it, without its names, and the Python that it has.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::thread;

use rocload::serve::find;

/// Python, for scripts that want msgpack and zstandard: the one that `ROCLOAD_PYTHON` names, the one
/// that the gate has noted in the cache, or the machine's own.
pub(crate) fn python() -> Command {
    let noted = || -> Option<OsString> {
        let text = fs::read_to_string(find::cache_folder()?.join("env")).ok()?;
        let path = text.lines().find_map(|line| line.strip_prefix("ROCLOAD_PYTHON="))?;
        Some(path.into())
    };
    let named = env::var_os("ROCLOAD_PYTHON").filter(|name| !name.is_empty());
    Command::new(named.or_else(noted).unwrap_or_else(|| "python3".into()))
}

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
    let os = env::consts::OS;
    let build = if cfg!(debug_assertions) { ", UNOPTIMISED BUILD" } else { "" };
    format!("Machine: {cpus} processors ({model}), {memory}, {os}{build}.")
}

//! Counts instructions and holds them to the committed baseline.
//!
//! ```text
//! counts            status 1 when a count is more than 5 % over baseline.txt, or not in it
//! counts --renew    writes baseline.txt anew
//! counts --print    prints the counts as baseline.txt would have them
//! ```
//!
//! It needs valgrind and gungraun-runner, in the version that Cargo.lock has of gungraun: named by
//! `GUNGRAUN_RUNNER`, in the cache where `.ci/steps/77-counts` puts it, or on the path. That step gets
//! both, and passes `--renew` on.
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rocload_counts::baseline::{Counts, TOLERANCE, compare};
use rocload_counts::summary;

const RENEW: &str = "run `.ci/steps/77-counts --renew` and commit benches/counts/baseline.txt";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => check(),
        ["--renew"] => renew(),
        ["--print"] => count().map(|counts| {
            print!("{counts}");
            true
        }),
        _ => Err("usage: counts [--renew | --print]".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("counts: {error}");
            ExitCode::FAILURE
        }
    }
}

fn baseline() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("baseline.txt")
}

fn check() -> Result<bool, String> {
    let path = baseline();
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let before: Counts = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let counted = count()?;
    if before.remarks != counted.remarks {
        println!("the baseline was counted by {}", before.remarks.join(", "));
        println!("and this is {}", counted.remarks.join(", "));
    }
    let found = compare(&before, &counted);
    for difference in &found {
        println!("{difference}{}", if difference.fails() { "" } else { " (renew the baseline)" });
    }
    let failed = found.iter().filter(|difference| difference.fails()).count();
    println!("{} counts, {failed} over {TOLERANCE} % or without a baseline", counted.rows.len());
    if failed > 0 {
        println!("where that is meant: {RENEW}");
    }
    Ok(failed == 0)
}

fn renew() -> Result<bool, String> {
    let counted = count()?;
    let path = baseline();
    let new = path.with_extension("new");
    let written = fs::write(&new, counted.to_string()).and_then(|()| fs::rename(&new, &path));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}: {} counts", path.display(), counted.rows.len());
    Ok(true)
}

/// Runs everything under callgrind.
fn count() -> Result<Counts, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    if let Some(runner) = runner() {
        command.env("GUNGRAUN_RUNNER", runner);
    }
    let output = command
        .args(["bench", "--quiet", "--package=rocload-counts", "--bench=counts", "--"])
        .arg("--output-format=json")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    let shown = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{shown}{}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut counts = summary::read(&shown)?;
    counts.remarks = ["rustc", "valgrind"].map(version).to_vec();
    Ok(counts)
}

/// gungraun's program in the cache, where the environment does not name one.
fn runner() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if set("GUNGRAUN_RUNNER").is_some() {
        return None;
    }
    let user = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let cache = set("ROCLOAD_CACHE").or_else(|| Some(user()?.join("rocload")))?;
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"));
    let lock = lock.ok()?;
    let (_, after) = lock.split_once("name = \"gungraun\"\nversion = \"")?;
    let (version, _) = after.split_once('"')?;
    let path = cache.join(format!("tools/gungraun-runner-{version}/bin/gungraun-runner"));
    path.is_file().then_some(path)
}

/// What a program says of its version, in one line.
fn version(program: &str) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    match text.unwrap_or_default().lines().next() {
        Some(line) => line.into(),
        None => format!("{program} of an unknown version"),
    }
}

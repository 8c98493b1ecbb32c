//! Counts the instructions that zstd decoders take for each byte of content, under callgrind.
//!
//! ```text
//! cargo run --release -p rocload-core --features ruzstd --example zstd_instructions -- --budget 12.6
//! ```
//!
//! Input: the first 40 rows of `zstd/code_objects.tsv` in the shared data. Each decoder is run in a
//! process of its own, once over all frames, and what a process takes that only loads them is
//! subtracted. With `--budget` the status is 1 when the project's fast layout takes more than that
//! many instructions a byte. Without valgrind or data it says so, and the status is 0, or 1 with
//! `--budget`.
//!
//! A count is no speed: a branch that cannot be predicted costs none. It does show at once when a
//! bounds check is back in the decoder's loop, and is the same on a busy machine.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs, io};

use rocload_core::zstd::{Decompress, Workspace};

/// Rows of the table that are counted.
const ROWS: usize = 40;

/// One frame and the size of its content.
type Frame = (Vec<u8>, usize);

fn load(root: &Path) -> io::Result<Vec<Frame>> {
    let table = fs::read_to_string(root.join("zstd/code_objects.tsv"))?;
    let rows = table.lines().skip(1).take(ROWS).map(|row| {
        let mut fields = row.split('\t');
        let mut field = || fields.next().unwrap_or_default();
        let src = fs::read(root.join("zstd/code_objects").join(field()))?;
        Ok((src, field().parse().map_err(io::Error::other)?))
    });
    rows.collect()
}

/// Decodes every frame once by the decoder of that name.
fn decode(name: &str, frames: &[Frame]) -> Result<(), String> {
    let mut dst = vec![0; frames.iter().map(|frame| frame.1).max().unwrap_or(0)];
    let mut by_c = zstd::zstd_safe::DCtx::create();
    let mut backend: Option<Box<dyn Decompress>> = match name {
        "load" | "c" => None,
        "fast" => Some(Box::new(Workspace::fast())),
        "small" => Some(Box::new(Workspace::<0>::new())),
        #[cfg(feature = "ruzstd")]
        "ruzstd" => Some(Box::new(rocload_core::zstd::Ruzstd::new())),
        _ => return Err(format!("no decoder {name}")),
    };
    for (src, size) in frames {
        let dst = &mut dst[..*size];
        match &mut backend {
            Some(backend) => backend.decode(src, dst).map_err(|error| error.to_string())?,
            None if name == "c" => {
                let code = by_c.decompress(dst, src).map_err(zstd::zstd_safe::get_error_name)?;
                assert_eq!(code, *size);
            }
            None => {}
        }
    }
    Ok(())
}

/// Instructions of this program with one argument, if valgrind is there and content.
fn count(name: &str) -> Result<u64, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg(name)
        // The C library's copying functions differ from processor to processor.
        .env("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX2_Usable,-ERMS,-FSRM")
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    let collected = log.lines().find_map(|line| line.split_once("Collected : "));
    match collected.map(|(_, count)| count.trim().parse()) {
        Some(Ok(count)) if output.status.success() => Ok(count),
        _ => Err(format!("valgrind failed: {log}")),
    }
}

/// Instructions a byte of each decoder that was built in.
fn report(bytes: usize) -> Result<Vec<(&'static str, f64)>, String> {
    let load = count("load")?;
    let names = ["fast", "small", "c", "ruzstd"];
    let names = names.into_iter().filter(|name| *name != "ruzstd" || cfg!(feature = "ruzstd"));
    names.map(|name| Ok((name, (count(name)? - load) as f64 / bytes as f64))).collect()
}

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    let budget = arguments.next().and_then(|budget| budget.parse::<f64>().ok());
    let failure = if budget.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    let Some(root) = rocload_fixtures::shared_data_or_skip("zstd_instructions") else {
        return failure;
    };
    let frames = load(&root).expect("the frames can be read");
    match first.as_deref() {
        None | Some("--budget") => {}
        Some(name) => {
            decode(name, &frames).expect("the frames are sound");
            return ExitCode::SUCCESS;
        }
    }
    let bytes = frames.iter().map(|frame| frame.1).sum();
    let rows = match report(bytes) {
        Ok(rows) => rows,
        Err(why) => {
            eprintln!("zstd_instructions: skipped: {why}");
            return failure;
        }
    };
    println!("{} frames, {bytes} bytes of content", frames.len());
    for (name, each) in &rows {
        println!("{name:8} {each:6.2} instructions a byte");
    }
    match (rows.first(), budget) {
        (Some((name, each)), Some(budget)) if *each > budget => {
            eprintln!("zstd_instructions: {name} takes {each:.2}, over the budget of {budget}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

//! Prints every figure of the zstd decoder as one Markdown table, each beside those of the C
//! library and of ruzstd from the same run.
//!
//! `cargo run --release -p rocload-benches --bin zstd_report`. README.md of this crate, section
//! "zstd", says how its figures were taken.
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

mod decoder;
mod heap;
mod input;
mod instructions;
#[path = "../report/machine.rs"]
mod machine;
mod parallel;
mod speed;
mod table;

use std::process::ExitCode;

use rocload_benches::count::Heap;
use rocload_benches::peer;

use table::Table;

/// Counts once the times are taken.
#[global_allocator]
static HEAP: Heap = Heap::new();

fn main() -> ExitCode {
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("zstd_report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> peer::Result<()> {
    let mut table = Table::new();
    let objects = input::code_objects()?;
    match &objects {
        Some(objects) => {
            speed::measure(objects, 1, 0.90, &mut table)?;
            speed::measure(objects, 4, 0.90, &mut table)?;
        }
        None => table.skipped("code objects, and what is cut from them", "no shared data"),
    }
    for large in [input::code(), input::text(), input::x86()] {
        match large? {
            input::Large::There(set) => speed::measure(&set, 1, 0.95, &mut table)?,
            input::Large::Skipped { what, why } => table.skipped(what, &why),
        }
    }
    if let Some(objects) = &objects {
        speed::measure(&input::cut(objects)?, 1, 0.75, &mut table)?;
        parallel::measure(objects, &mut table)?;
        heap::measure(objects, &mut table)?;
    }
    instructions::measure(&mut table);
    println!("{}\n\n{table}", machine::describe());
    Ok(())
}

//! Prints every figure of speed and memory as one Markdown table, each beside its peer's from
//! the same run.
//!
//! `cargo run --release -p rocload-benches --bin report`. Close other programs first: the
//! candidates take turns, so that a disturbance meets all of them, but it is still one.
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

mod child;
mod decode;
mod get;
mod lookup;
mod machine;
mod open;
mod pack;
mod placed;

use std::process::ExitCode;

use rocload_benches::count::Heap;
use rocload_benches::{input, peer};

/// Counts in the processes that measure memory alone.
#[global_allocator]
static HEAP: Heap = Heap::new();

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => report(),
        ["pack"] => only_packing(),
        ["child", what, path] => child::run(what, path.as_ref()),
        _ => Err("usage: report [pack]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> peer::Result<()> {
    eprintln!("making the archive of {} kernels, unless it is there", input::KERNELS);
    let (large, placed) = (input::large(), input::placed());
    let mut table = rocload_benches::table::Table::default();
    eprintln!("opening");
    open::measure(&large, &mut table)?;
    eprintln!("looking up");
    lookup::measure(&large, &mut table)?;
    eprintln!("fetching");
    get::measure(&large, &mut table)?;
    eprintln!("fetching by places");
    placed::measure(&large, &placed, &mut table)?;
    eprintln!("decoding");
    decode::measure(&mut table)?;
    eprintln!("packing");
    pack::measure(&mut table)?;
    println!("{}\n\n{table}", machine::describe());
    Ok(())
}

fn only_packing() -> peer::Result<()> {
    let mut table = rocload_benches::table::Table::default();
    pack::measure(&mut table)?;
    println!("{}\n\n{table}", machine::describe());
    Ok(())
}

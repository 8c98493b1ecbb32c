//! The zstd decoder, beside the C library and ruzstd.

mod decoder;
mod heap;
mod input;
mod instructions;
mod parallel;
mod speed;

use rocload_benches::peer;
use rocload_benches::table::Table;

/// The peer that most is held against.
const C: &str = "C zstd, its context kept";

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    let objects = input::code_objects()?;
    match &objects {
        Some(objects) => {
            speed::measure(objects, 1, 0.90, table)?;
            speed::measure(objects, 4, 0.90, table)?;
        }
        None => table.skipped("code objects, and what is cut from them", "no shared data"),
    }
    for large in [input::code(), input::text(), input::x86()] {
        match large? {
            input::Large::There(set) => speed::measure(&set, 1, 0.95, table)?,
            input::Large::Skipped { what, why } => table.skipped(what, &why),
        }
    }
    if let Some(objects) = &objects {
        speed::measure(&input::cut(objects)?, 1, 0.75, table)?;
        parallel::measure(objects, table)?;
        heap::measure(objects, table)?;
    }
    instructions::measure(table);
    Ok(())
}

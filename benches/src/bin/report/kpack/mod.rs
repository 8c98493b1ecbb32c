//! Archives of kernels: opening, looking up, fetching, decoding and packing.

mod decode;
mod get;
mod lookup;
mod open;
mod pack;
mod placed;

pub(crate) mod child;

use rocload_benches::table::Table;
use rocload_benches::{input, peer};

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    eprintln!("  making the archives of {} kernels, unless they are there", input::KERNELS);
    let (large, placed) = (input::large(), input::placed());
    eprintln!("  opening");
    open::measure(&large, table)?;
    eprintln!("  looking up");
    lookup::measure(&large, table)?;
    eprintln!("  fetching");
    get::measure(&large, table)?;
    eprintln!("  fetching by places");
    placed::measure(&large, &placed, table)?;
    eprintln!("  decoding");
    decode::measure(table)
}

/// By itself: it takes longest.
pub(crate) fn pack(table: &mut Table) -> peer::Result<()> {
    pack::measure(table)
}

//! Allocations while frames are decoded, and the memory that a decoder keeps.

use rocload_benches::peer;
use rocload_core::zstd::Workspace;
use zstd::zstd_safe::DCtx;

use crate::HEAP;
use crate::decoder::Which;
use crate::input::Set;
use crate::table::Table;

pub(crate) fn measure(set: &Set, table: &mut Table) -> peer::Result<()> {
    let mut dst = vec![0; set.largest()];
    HEAP.count();
    let mut calls = |which: Which| -> peer::Result<i64> {
        let mut decoder = which.make();
        let before = HEAP.counted().calls;
        for frame in &set.frames {
            decoder.frame(&frame.src, &mut dst[..frame.size()])?;
        }
        Ok(HEAP.counted().calls - before)
    };
    let [fast, small] = [calls(Which::Fast)?, calls(Which::Small)?];
    let ruzstd = calls(Which::Ruzstd)?;
    if ruzstd == 0 {
        return Err("no allocation of ruzstd was seen: the counter does not count".into());
    }
    table.allocations(set.frames.len(), [fast, small, ruzstd]);

    let mut c = DCtx::create();
    let frame = set.frames.first().ok_or("no frame")?;
    crate::decoder::Decoder::frame(&mut c, &frame.src, &mut dst[..frame.size()])?;
    table.workspaces(c.sizeof(), [size_of::<Workspace>(), size_of::<Workspace<0>>()]);
    Ok(())
}

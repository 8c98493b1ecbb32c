//! Allocations while frames are decoded, and the memory that a decoder keeps.

use rocload_benches::peer;
use rocload_core::zstd::Workspace;
use zstd::zstd_safe::DCtx;

use rocload_benches::table::{Figure, Table};

use super::decoder::{Decoder, Which};
use super::input::Set;
use crate::HEAP;

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
    let what = format!("allocations for {} code objects", set.frames.len());
    let met = Some(fast == 0 && small == 0);
    table.alone(&format!("{what}, both layouts"), &(fast + small).to_string(), "0", met);
    table.alone(&format!("{what}, ruzstd"), &format!("{ruzstd} (ruzstd)"), "", None);

    let mut c = DCtx::create();
    let frame = set.frames.first().ok_or("no frame")?;
    Decoder::frame(&mut c, &frame.src, &mut dst[..frame.size()])?;
    let bytes = |bytes: usize| Figure { text: format!("{bytes} bytes"), cost: bytes as f64 };
    for (layout, size, most) in
        [("fast", size_of::<Workspace>(), 150), ("small", size_of::<Workspace<0>>(), 16)]
    {
        let target = (&*format!("<= {most} KiB"), Some(size <= most << 10));
        let what = format!("memory of the decoder, {layout} layout");
        table.beside(&what, &bytes(size), (super::C, Some(&bytes(c.sizeof()))), target);
    }
    Ok(())
}

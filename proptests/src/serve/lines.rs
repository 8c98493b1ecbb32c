//! What a server writes, and how it ends: facts lie within their lines, and an exit has a class.

use rocload_core::serve::exit::{Evidence, Exit, Orders, classify};
use rocload_core::serve::log::{Buffer, BufferSum, Facts, LogFact, fact, is_backtrace, split};

use crate::{Verdict, require, same};

/// Lines of any kind: what one tells lies in it and does not depend on how it ends; sums are those
/// of the parts; and an exit that nobody asked for is never a clean stop. `seed` chooses the exits.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn tell_what_is_in_them(lines: &[u8], seed: u64) -> Verdict {
    let (mut facts, mut evidence) = (Facts::new(), Evidence::default());
    let mut ended = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let (level, text) = split(line);
        let shorter = level.is_none() || text.len() + 3 <= line.len();
        require(shorter, "a level takes room", || format!("{level:?} {line:?}"))?;
        let told = fact(line);
        ended.clear();
        ended.extend_from_slice(line);
        ended.extend_from_slice(b"\r\n");
        same("a line's end is no part of it", &fact(&ended), &told)?;
        same("nor of a trace", &is_backtrace(&ended), &is_backtrace(line))?;
        if let LogFact::Buffer(Buffer { component, device, .. }) = told {
            let within = component.len() + device.len() < line.len();
            require(within, "names lie in the line", || format!("{told:?}"))?;
        }
        facts.see(&told);
        evidence.see(&told);
    }
    let sum: u64 = facts.buffers().map(BufferSum::bytes).fold(0, u64::saturating_add);
    let less = facts.buffers().all(|one| one.bytes() <= sum);
    require(less, "a sum is not less than its parts", || format!("{sum}"))?;
    // Every code and signal in turn, from one input to the next.
    let codes = (-1 + (seed % 32) as i32..=255).step_by(32).map(Exit::Code);
    for exit in codes.chain([Exit::Signal((seed % 70) as i32)]) {
        let class = classify(exit, &evidence, Orders::default());
        require(class.name() != "stopped_clean", "nobody asked", || format!("{exit:?}"))?;
        same("a class is the same again", &classify(exit, &evidence, Orders::default()), &class)?;
    }
    Ok(())
}

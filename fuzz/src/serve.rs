//! The target of serving. An input is a policy's byte, a length, a script of that many letters,
//! and lines of a server.

use laws::serve::{bytes, sample};
use rocload_core::serve::exit::{Evidence, Exit, Orders, classify};
use rocload_core::serve::log::{Buffer, BufferSum, Facts, LogFact, fact, split};
use rocload_core::serve::plan::{Endpoint, Plan, Settings};

use crate::{hold, seed};

/// The properties of the supervisor over any script; any lines are read, and what they tell lies
/// in them; any of them is an argument that is passed on or refused.
pub fn serve(input: &[u8]) {
    let [policy, letters, rest @ ..] = input else { return };
    let policy = bytes::policy(*policy);
    let (script, lines) = rest.split_at(rest.len().min(usize::from(*letters) * 2));
    let seed = seed(input);
    hold(sample(policy, &bytes::script(script), seed));
    read_lines(lines, seed);
}

fn read_lines(lines: &[u8], seed: u64) {
    let (mut facts, mut evidence) = (Facts::new(), Evidence::default());
    let mut ended = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let (level, text) = split(line);
        assert!(level.is_none() || text.len() + 3 <= line.len());
        let told = fact(line);
        ended.clear();
        ended.extend_from_slice(line);
        ended.extend_from_slice(b"\r\n");
        assert_eq!(told, fact(&ended), "a line's end is no part of it");
        if let LogFact::Buffer(Buffer { component, device, .. }) = told {
            assert!(component.len() + device.len() < line.len());
        }
        facts.see(&told);
        evidence.see(&told);
        as_argument(line);
    }
    let sum: u64 = facts.buffers().map(BufferSum::bytes).fold(0, u64::saturating_add);
    assert!(facts.buffers().all(|one| one.bytes() <= sum));
    // Every code in turn, from one input to the next.
    for code in (-1 + (seed % 32) as i32..=255).step_by(32) {
        let class = classify(Exit::Code(code), &evidence, Orders::default());
        assert_ne!(class.name(), "stopped_clean", "nobody asked");
    }
}

fn as_argument(line: &[u8]) {
    let extra = [line];
    let settings = Settings { extra: &extra, ..Settings::new(b"m", Endpoint::Unix(b"/x.sock")) };
    if let Ok(plan) = Plan::new(&settings, None) {
        let args = plan.to_vec();
        assert_eq!(args.last().map(Vec::as_slice), Some(line));
        assert_eq!(args.len(), 5);
    }
}

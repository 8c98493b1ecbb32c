//! Waiting until memory is given back, on this thread.

use std::time::{Duration, Instant};

use rocload_core::Millis;
use rocload_core::gpu::settle::{Outcome, Settle};

use super::SysRoot;
use super::watch::sample_used;

/// Waits until the video memory in use on the cards of these render nodes
/// ([`Node::render_minor`](rocload_core::gpu::Node::render_minor)) changes no more: two equal samples,
/// or 5 s. For the time between a process that used them and the next.
pub fn settle(root: &SysRoot, minors: &[u32]) -> Outcome {
    let start = Instant::now();
    let now = || Millis(start.elapsed().as_millis() as u64);
    let mut settle = Settle::new(now());
    loop {
        settle.handle(sample_used(root, minors), now());
        let Some(next) = settle.poll_timeout() else {
            return settle.poll().unwrap_or(Outcome::Unknown);
        };
        std::thread::sleep(Duration::from_millis(next.0.saturating_sub(now().0)));
    }
}

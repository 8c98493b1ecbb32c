//! Timing candidates side by side.

use std::time::{Duration, Instant};

/// What several rounds of one candidate took.
#[derive(Debug, Clone)]
pub struct Rounds(Vec<Duration>);

impl Rounds {
    /// The middle one: what to expect.
    pub fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    }

    /// The shortest: what the work itself takes, others' work on the machine left aside.
    pub fn best(&self) -> Duration {
        self.0.iter().copied().min().unwrap_or_default()
    }

    /// The rounds, in their order.
    pub fn each(&self) -> &[Duration] {
        &self.0
    }
}

/// The variable that asks for few rounds, to see that all of it runs: figures are then rough.
pub const QUICK: &str = "ROCLOAD_BENCHES_QUICK";

/// So many rounds, or a few where [`QUICK`] is set.
pub fn rounds(wanted: usize) -> usize {
    if std::env::var_os(QUICK).is_some() { wanted.min(3) } else { wanted }
}

/// Times each candidate `rounds` times, in turns, so that a disturbance meets all of them; one
/// turn before is not counted. A candidate returns what the round took.
///
/// # Panics
/// When `rounds` is 0.
pub fn in_turns<const N: usize>(
    rounds: usize,
    mut candidates: [&mut dyn FnMut() -> Duration; N],
) -> [Rounds; N] {
    assert!(rounds > 0, "at least one round");
    let rounds = self::rounds(rounds);
    let mut taken = [const { Vec::new() }; N];
    for round in 0..=rounds {
        for (candidate, taken) in candidates.iter_mut().zip(&mut taken) {
            let time = candidate();
            if round > 0 {
                taken.push(time);
            }
        }
    }
    taken.map(Rounds)
}

/// How long `work` takes; its result is dropped outside of the time.
pub fn of<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = std::hint::black_box(work());
    let taken = start.elapsed();
    drop(result);
    taken
}

/// How long `work` takes the second of two times: the first one takes the caches, and the memory
/// that the allocator keeps, back from the candidate whose turn was before.
pub fn of_the_second<T>(work: impl Fn() -> T) -> Duration {
    drop(std::hint::black_box(work()));
    of(work)
}

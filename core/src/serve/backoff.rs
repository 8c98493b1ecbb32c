//! How long to wait before a server is started again, and when to give up.
//!
//! ```
//! use rocload_core::Millis;
//! use rocload_core::serve::backoff::{Backoff, Schedule};
//!
//! let mut backoff = Backoff::new(Schedule { jitter: None, ..Schedule::DEFAULT });
//! let waits = [0, 10, 20, 30, 40, 50].map(|now| backoff.next(Millis(now * 1000)));
//! let second = |n: u64| Some(Millis(n * 1000));
//! assert_eq!(waits, [second(1), second(2), second(4), second(8), second(16), None]);
//! // Ten minutes after the first, one more may be made.
//! assert_eq!(backoff.next(Millis(600_000)), second(32));
//! ```

use crate::need::Millis;

/// Starts that a [`Backoff`] can remember.
pub const MAX_RETRIES: usize = 16;

/// The waits and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The first wait, doubled each time: 1 s.
    pub first: Millis,
    /// The longest wait: 60 s.
    pub longest: Millis,
    /// Retries within [`window`](Schedule::window), at most [`MAX_RETRIES`]: 5.
    pub retries: u32,
    /// The span in which they are counted: 10 min.
    pub window: Millis,
    /// A server that was ready for this long begins anew with the first wait: 60 s.
    pub reset: Millis,
    /// A seed for shortening each wait by up to half, so that many servers do not start at
    /// once; `None` = waits are exact.
    pub jitter: Option<u64>,
}

impl Schedule {
    /// The defaults.
    pub const DEFAULT: Schedule = Schedule {
        first: Millis(1000),
        longest: Millis(60_000),
        retries: 5,
        window: Millis(600_000),
        reset: Millis(60_000),
        jitter: None,
    };
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule::DEFAULT
    }
}

/// Counts retries; see the [module's text](self).
#[derive(Debug, Clone)]
pub struct Backoff {
    schedule: Schedule,
    /// How often the wait was doubled.
    doublings: u32,
    random: u64,
    /// When the last retries were granted, the oldest first.
    granted: [Millis; MAX_RETRIES],
    count: usize,
}

impl Backoff {
    /// None made yet.
    pub const fn new(schedule: Schedule) -> Self {
        // xorshift has no way out of 0.
        let random = match schedule.jitter {
            Some(seed) => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            None => 0,
        };
        let granted = [Millis(0); MAX_RETRIES];
        Backoff { schedule, doublings: 0, random, granted, count: 0 }
    }

    /// The wait before the next retry; `None` = there were too many.
    pub fn next(&mut self, now: Millis) -> Option<Millis> {
        let limit = (self.schedule.retries as usize).min(MAX_RETRIES);
        let old = |at: &Millis| now.0.saturating_sub(at.0) >= self.schedule.window.0;
        let expired = self.granted[..self.count].iter().take_while(|at| old(at)).count();
        self.granted.copy_within(expired..self.count, 0);
        self.count -= expired;
        if self.count >= limit {
            return None;
        }
        self.granted[self.count] = now;
        self.count += 1;
        let factor = 1u64.checked_shl(self.doublings).unwrap_or(u64::MAX);
        self.doublings = self.doublings.saturating_add(1);
        let wait = self.schedule.first.0.saturating_mul(factor).min(self.schedule.longest.0);
        Some(Millis(wait - self.shorter(wait)))
    }

    /// The server was well for long: the next wait is the first one again. What was granted still
    /// counts.
    pub fn reset(&mut self) {
        self.doublings = 0;
    }

    fn shorter(&mut self, wait: u64) -> u64 {
        if self.random == 0 {
            return 0;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % (wait / 2 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_longest_and_begin_anew() {
        let schedule = Schedule { retries: 16, window: Millis(0), ..Schedule::DEFAULT };
        let mut backoff = Backoff::new(schedule);
        let mut next = |reset: bool| {
            if reset {
                backoff.reset();
            }
            backoff.next(Millis(5)).unwrap().0
        };
        assert_eq!(
            [0; 8].map(|_| next(false)),
            [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]
        );
        assert_eq!([next(true), next(false)], [1000, 2000]);
        for _ in 0..200 {
            next(false);
        }
        assert_eq!(next(false), 60_000);
    }

    #[test]
    fn jitter_shortens_by_up_to_half_and_is_the_same_for_a_seed() {
        let waits = |seed| {
            let schedule = Schedule { jitter: Some(seed), retries: 16, ..Schedule::DEFAULT };
            let mut backoff = Backoff::new(schedule);
            [0; 7].map(|_| backoff.next(Millis(0)).unwrap().0)
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
        for seed in 0..50 {
            for (wait, whole) in
                waits(seed).into_iter().zip([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000])
            {
                assert!((whole / 2..=whole).contains(&wait), "{seed}: {wait}");
            }
        }
    }

    #[test]
    fn more_than_can_be_remembered_are_not_granted() {
        let mut backoff = Backoff::new(Schedule { retries: u32::MAX, ..Schedule::DEFAULT });
        let granted = (0..100).filter(|_| backoff.next(Millis(0)).is_some()).count();
        assert_eq!(granted, MAX_RETRIES);
    }
}

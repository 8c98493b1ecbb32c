//! Waiting until a process that has ended has given back its video memory: a timed machine.
//!
//! ```text
//! sample --two equal--> settled      sample --limit--> as settled as it will be
//! ```
//!
//! The driver frees memory some time after the process is gone, and a model that is loaded
//! meanwhile may not fit. So the amount in use is read again and again, until two samples in a row
//! are equal or the limit has passed.
//!
//! ```
//! use rocload_core::Millis;
//! use rocload_core::gpu::settle::{Outcome, Settle};
//!
//! let mut settle = Settle::new(Millis(0));
//! for (now, used) in [(0, 900), (250, 500), (500, 20)] {
//!     settle.handle(Some(used), Millis(now));
//!     assert_eq!(settle.poll(), None);
//! }
//! assert_eq!(settle.poll_timeout(), Some(Millis(750)));
//! settle.handle(Some(20), Millis(750));
//! assert_eq!(settle.poll(), Some(Outcome::Settled));
//! ```

use crate::need::Millis;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Two samples in a row were equal.
    Settled,
    /// The limit passed while the amount still changed.
    TimedOut,
    /// The amount cannot be read.
    Unknown,
}

/// The machine; see the [module's text](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settle {
    limit: Millis,
    started: Millis,
    /// The latest time told: a clock that goes back is not believed.
    now: Millis,
    last: Option<u64>,
    outcome: Option<Outcome>,
}

impl Settle {
    /// The time between two samples.
    pub const INTERVAL: Millis = Millis(250);
    /// The limit, unless another is given.
    pub const LIMIT: Millis = Millis(5000);

    /// Begins to wait, for [`LIMIT`](Self::LIMIT) at most.
    pub const fn new(now: Millis) -> Self {
        Settle::within(Settle::LIMIT, now)
    }

    /// Begins to wait, for `limit` at most.
    pub const fn within(limit: Millis, now: Millis) -> Self {
        Settle { limit, started: now, now, last: None, outcome: None }
    }

    /// A sample: bytes in use, on all devices of interest together; `None` = they cannot be read.
    pub fn handle(&mut self, used: Option<u64>, now: Millis) {
        self.now = Millis(self.now.0.max(now.0));
        if self.outcome.is_some() {
            return;
        }
        let late = self.now.0.saturating_sub(self.started.0) >= self.limit.0;
        self.outcome = match used {
            None => Some(Outcome::Unknown),
            Some(_) if self.last == used => Some(Outcome::Settled),
            Some(_) if late => Some(Outcome::TimedOut),
            Some(_) => None,
        };
        self.last = used;
    }

    /// How it ended; `None` = it has not.
    pub const fn poll(&self) -> Option<Outcome> {
        self.outcome
    }

    /// When to sample next; `None` = it has ended.
    pub fn poll_timeout(&self) -> Option<Millis> {
        let next = match self.last {
            None => self.now.0,
            Some(_) => self.now.0.saturating_add(Settle::INTERVAL.0),
        };
        let end = self.started.0.saturating_add(self.limit.0).max(self.now.0);
        self.outcome.is_none().then_some(Millis(next.min(end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_rests_ends_at_the_limit() {
        let (mut settle, mut now, mut samples) = (Settle::new(Millis(100)), Millis(100), 0);
        while let Some(next) = settle.poll_timeout() {
            assert!(next >= now);
            now = next;
            samples += 1;
            settle.handle(Some(samples), now);
        }
        assert_eq!((settle.poll(), now, samples), (Some(Outcome::TimedOut), Millis(5100), 21));
    }

    #[test]
    fn what_cannot_be_read_is_not_waited_for() {
        let mut settle = Settle::new(Millis(0));
        settle.handle(None, Millis(0));
        assert_eq!((settle.poll(), settle.poll_timeout()), (Some(Outcome::Unknown), None));
        settle.handle(Some(1), Millis(9));
        assert_eq!(settle.poll(), Some(Outcome::Unknown));
    }

    #[test]
    fn a_clock_that_jumps_or_goes_back() {
        let mut settle = Settle::new(Millis(1000));
        settle.handle(Some(1), Millis(5));
        assert_eq!(settle.poll_timeout(), Some(Millis(1250)));
        settle.handle(Some(2), Millis(u64::MAX));
        assert_eq!(settle.poll(), Some(Outcome::TimedOut));
        let mut settle = Settle::within(Millis(u64::MAX), Millis(u64::MAX));
        settle.handle(Some(1), Millis(0));
        assert_eq!(settle.poll_timeout(), Some(Millis(u64::MAX)));
    }
}

//! What an answer of `/health` means, and when to ask again.

use crate::llama::Health;
use crate::need::Millis;

/// The outcome of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Status 200 and a body that says ok.
    Ok,
    /// Status 503: the model is being loaded.
    Loading,
    /// Nobody listens at the endpoint (yet), or the connection broke.
    Refused,
    /// No whole answer came in time.
    TimedOut,
    /// Another status.
    Http(u16),
    /// Status 200 with a body that does not say ok, or no HTTP at all.
    BadBody,
    /// Another server answers at this address.
    Foreign,
}

impl Outcome {
    /// Reads an answer; its body may be cut after some hundred bytes.
    ///
    /// ```
    /// use rocload_core::serve::Outcome;
    ///
    /// assert_eq!(Outcome::read(200, br#"{"status":"ok"}"#), Outcome::Ok);
    /// assert_eq!(Outcome::read(503, b"<html>"), Outcome::Loading);
    /// assert_eq!(Outcome::read(200, b"It works!"), Outcome::BadBody);
    /// assert_eq!(Outcome::read(404, b""), Outcome::Http(404));
    /// ```
    pub fn read(status: u16, body: &[u8]) -> Outcome {
        match (Health::read(status, body), status) {
            (Health::Ready, _) => Outcome::Ok,
            (Health::Loading, _) => Outcome::Loading,
            (Health::Failed, 200) => Outcome::BadBody,
            (Health::Failed, status) => Outcome::Http(status),
        }
    }

    /// A llama-server answered, whether it is ready or not.
    pub const fn is_alive(self) -> bool {
        matches!(self, Outcome::Ok | Outcome::Loading)
    }
}

/// When to probe a server that is not ready: every 25 ms for a second, then after 50, 100, 200
/// ... 1000 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    fast_until: Millis,
    slow: Millis,
}

impl Pace {
    const FAST: Millis = Millis(25);
    const FAST_FOR: u64 = 1000;
    const SLOW: Millis = Millis(50);
    const SLOWEST: u64 = 1000;

    /// A server that was started, or said that it is ready, `now`.
    pub const fn new(now: Millis) -> Self {
        Pace { fast_until: Millis(now.0.saturating_add(Pace::FAST_FOR)), slow: Pace::SLOW }
    }

    /// The wait between an answer that came `now` and the next probe.
    pub fn next(&mut self, now: Millis) -> Millis {
        if now < self.fast_until {
            return Pace::FAST;
        }
        let wait = self.slow;
        self.slow = Millis((wait.0 * 2).min(Pace::SLOWEST));
        wait
    }
}

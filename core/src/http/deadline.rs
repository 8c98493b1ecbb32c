//! When waiting has taken too long: the deadlines of one exchange as a timed machine.
//!
//! ```text
//!  connect --Connected--> headers --Head--> idle (between any bytes) and events (between events)
//!  total runs from the start; Ended stops them all
//! ```
//!
//! A driver tells what happens and when, sleeps until [`poll_timeout`](Deadline::poll_timeout),
//! tells [`Input::Tick`] then, and asks [`poll`](Deadline::poll) what has expired. A busy server
//! sends no byte before a slot is free, so headers may take long, and a stream may last as long
//! as it likes while bytes come: these are different limits.
//!
//! ```
//! use rocload_core::Millis;
//! use rocload_core::http::deadline::{Deadline, Input, Phase, Timeouts};
//!
//! let timeouts = Timeouts { idle: Some(Millis(1000)), ..Timeouts::default() };
//! let mut deadline = Deadline::new(timeouts, Millis(0));
//! deadline.handle(Input::Connected, Millis(5));
//! deadline.handle(Input::Head, Millis(20));
//! for tick in 1..=30 {
//!     deadline.handle(Input::Bytes, Millis(20 + 100 * tick));
//! }
//! assert_eq!((deadline.poll(), deadline.poll_timeout()), (None, Some(Millis(4020))));
//! deadline.handle(Input::Tick, Millis(4020));
//! assert_eq!(deadline.poll().unwrap().phase, Phase::Idle);
//! ```

use core::fmt;

use crate::need::Millis;

/// How long each part of an exchange may take; `None` = as long as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is made: 1 s.
    pub connect: Option<Millis>,
    /// From there until the head of the response is complete: 10 min, since a busy server sends
    /// nothing at all before it has a slot for the request.
    pub headers: Option<Millis>,
    /// Between any two bytes after the head: 90 s, three times the server's pings.
    pub idle: Option<Millis>,
    /// Between two events after the head, whatever pings come: none.
    pub events: Option<Millis>,
    /// For the whole exchange: none.
    pub total: Option<Millis>,
}

impl Timeouts {
    /// No limit at all.
    pub const NONE: Timeouts =
        Timeouts { connect: None, headers: None, idle: None, events: None, total: None };
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Some(Millis(1000)),
            headers: Some(Millis(600_000)),
            idle: Some(Millis(90_000)),
            ..Timeouts::NONE
        }
    }
}

/// What took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Connecting.
    Connect,
    /// The wait for the head of the response.
    Headers,
    /// A silence of the connection.
    Idle,
    /// A time without an event.
    Events,
    /// All of it.
    Total,
}

/// The action of a [`Deadline`]: give up, for this reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// What took too long.
    pub phase: Phase,
    /// The limit that it had.
    pub limit: Millis,
}

impl fmt::Display for Expired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.phase {
            Phase::Connect => "no connection was made",
            Phase::Headers => "no response began",
            Phase::Idle => "no byte came",
            Phase::Events => "no event came",
            Phase::Total => "the exchange did not end",
        };
        write!(f, "{what} within {} ms, which is the limit", self.limit.0)
    }
}

/// What happens in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// The connection is there.
    Connected,
    /// The head of the response is complete.
    Head,
    /// Bytes have come, of whatever kind.
    Bytes,
    /// An event has come.
    Event,
    /// Nothing but time has passed.
    Tick,
    /// The exchange is over: nothing can expire any more.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Waiting,
    Streaming,
    Over,
}

/// The deadlines of one exchange; see the [module's text](self).
#[derive(Debug, Clone)]
pub struct Deadline {
    timeouts: Timeouts,
    stage: Stage,
    started: Millis,
    /// When the connection was made.
    connected: Millis,
    bytes: Millis,
    event: Millis,
    /// The latest time told: a clock that goes back is not believed.
    now: Millis,
    expired: Option<Expired>,
}

impl Deadline {
    /// An exchange that begins to connect `now`.
    pub const fn new(timeouts: Timeouts, now: Millis) -> Self {
        Deadline {
            timeouts,
            stage: Stage::Connecting,
            started: now,
            connected: now,
            bytes: now,
            event: now,
            now,
            expired: None,
        }
    }

    /// Tells what happened at the time `now`.
    ///
    /// Only [`Input::Tick`] lets a wait expire: a driver that is late reads what has come in the
    /// meantime before it ticks, and a consumer that takes its time is no silence of the server.
    /// The limit of the whole exchange holds at any input.
    pub fn handle(&mut self, input: Input, now: Millis) {
        self.now = self.now.max(now);
        let now = self.now;
        if self.stage == Stage::Over {
            return;
        }
        match input {
            Input::Ended => self.stage = Stage::Over,
            Input::Tick => {}
            Input::Connected => (self.stage, self.connected) = (Stage::Waiting, now),
            Input::Head => (self.stage, self.bytes, self.event) = (Stage::Streaming, now, now),
            Input::Bytes => self.bytes = now,
            Input::Event => (self.bytes, self.event) = (now, now),
        }
        let total = self.phase(Phase::Total).filter(|(until, _)| now >= *until);
        let due = match input {
            Input::Ended => None,
            Input::Tick => total.or(self.next().filter(|(until, _)| now >= *until)),
            _ => total,
        };
        if let Some((_, expired)) = due {
            self.stage = Stage::Over;
            self.expired = Some(expired);
        }
    }

    /// What is to be done: give up, once, when something has expired.
    pub fn poll(&mut self) -> Option<Expired> {
        self.expired.take()
    }

    /// When to tell [`Input::Tick`] at the latest; `None` = nothing can expire.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.next().map(|(until, _)| until)
    }

    /// The nearest deadline.
    fn next(&self) -> Option<(Millis, Expired)> {
        let phases: &[Phase] = match self.stage {
            Stage::Connecting => &[Phase::Total, Phase::Connect],
            Stage::Waiting => &[Phase::Total, Phase::Headers],
            Stage::Streaming => &[Phase::Total, Phase::Idle, Phase::Events],
            Stage::Over => &[],
        };
        phases.iter().filter_map(|phase| self.phase(*phase)).min_by_key(|(until, _)| *until)
    }

    /// When a phase expires.
    fn phase(&self, phase: Phase) -> Option<(Millis, Expired)> {
        let (since, limit) = match phase {
            Phase::Connect => (self.started, self.timeouts.connect),
            Phase::Headers => (self.connected, self.timeouts.headers),
            Phase::Idle => (self.bytes, self.timeouts.idle),
            Phase::Events => (self.event, self.timeouts.events),
            Phase::Total => (self.started, self.timeouts.total),
        };
        let limit = limit?;
        Some((Millis(since.0.saturating_add(limit.0)), Expired { phase, limit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Timeouts = Timeouts {
        connect: Some(Millis(10)),
        headers: Some(Millis(100)),
        idle: Some(Millis(20)),
        events: Some(Millis(50)),
        total: Some(Millis(1000)),
    };

    fn phase(deadline: &mut Deadline, now: u64) -> Option<Phase> {
        deadline.handle(Input::Tick, Millis(now));
        deadline.poll().map(|expired| expired.phase)
    }

    fn streaming(timeouts: Timeouts) -> Deadline {
        let mut deadline = Deadline::new(timeouts, Millis(0));
        deadline.handle(Input::Connected, Millis(0));
        deadline.handle(Input::Head, Millis(0));
        deadline
    }

    #[test]
    fn each_stage_has_its_limit() {
        let mut deadline = Deadline::new(ALL, Millis(0));
        assert_eq!(deadline.poll_timeout(), Some(Millis(10)));
        assert_eq!(phase(&mut deadline, 9), None);
        assert_eq!(phase(&mut deadline.clone(), 10), Some(Phase::Connect));
        deadline.handle(Input::Connected, Millis(9));
        assert_eq!(deadline.poll_timeout(), Some(Millis(109)));
        // Bytes of a head that is not complete are no head.
        deadline.handle(Input::Bytes, Millis(100));
        assert_eq!(phase(&mut deadline.clone(), 109), Some(Phase::Headers));
        deadline.handle(Input::Head, Millis(105));
        assert_eq!(deadline.poll_timeout(), Some(Millis(125)));
        assert_eq!(phase(&mut deadline, 124), None);
        assert_eq!(phase(&mut deadline, 125), Some(Phase::Idle));
    }

    #[test]
    fn it_expires_once_and_then_never() {
        let mut deadline = streaming(ALL);
        deadline.handle(Input::Tick, Millis(20));
        assert!(deadline.poll().is_some());
        assert_eq!((deadline.poll(), deadline.poll_timeout()), (None, None));
        assert_eq!(phase(&mut deadline, 5000), None);
    }

    #[test]
    fn pings_keep_a_connection_alive_and_are_no_events() {
        let mut deadline = streaming(ALL);
        for now in (10..50).step_by(10) {
            deadline.handle(Input::Bytes, Millis(now));
            assert_eq!(phase(&mut deadline, now), None);
        }
        assert_eq!(phase(&mut deadline, 50), Some(Phase::Events));
    }

    #[test]
    fn a_long_stream_lives_while_bytes_come() {
        let mut deadline = streaming(Timeouts { total: None, ..ALL });
        for now in (0..10_000).step_by(19) {
            deadline.handle(Input::Event, Millis(now));
            assert_eq!(phase(&mut deadline, now + 18), None);
        }
    }

    #[test]
    fn a_slow_consumer_is_not_a_silent_server() {
        let mut deadline = streaming(ALL);
        // Two minutes later there are bytes to read.
        deadline.handle(Input::Bytes, Millis(900));
        deadline.handle(Input::Event, Millis(900));
        assert_eq!(deadline.poll(), None);
        assert_eq!(deadline.poll_timeout(), Some(Millis(920)));
    }

    #[test]
    fn the_whole_exchange_has_a_limit_that_bytes_do_not_move() {
        let mut deadline = streaming(ALL);
        for now in (0..1000).step_by(10) {
            deadline.handle(Input::Event, Millis(now));
            assert_eq!(deadline.poll(), None);
        }
        deadline.handle(Input::Bytes, Millis(1000));
        let expired = deadline.poll().unwrap();
        assert_eq!(expired, Expired { phase: Phase::Total, limit: Millis(1000) });
        assert_eq!(
            alloc::string::ToString::to_string(&expired),
            "the exchange did not end within 1000 ms, which is the limit"
        );
    }

    #[test]
    fn an_ended_exchange_and_one_without_limits_never_expire() {
        let mut deadline = streaming(ALL);
        deadline.handle(Input::Ended, Millis(5000));
        assert_eq!((phase(&mut deadline, 9000), deadline.poll_timeout()), (None, None));
        let mut deadline = streaming(Timeouts::NONE);
        assert_eq!((phase(&mut deadline, u64::MAX), deadline.poll_timeout()), (None, None));
        // The largest limit does not wrap round.
        let far = Timeouts { idle: Some(Millis(u64::MAX)), ..Timeouts::NONE };
        let mut deadline = Deadline::new(far, Millis(7));
        deadline.handle(Input::Connected, Millis(7));
        deadline.handle(Input::Head, Millis(7));
        assert_eq!(deadline.poll_timeout(), Some(Millis(u64::MAX)));
    }

    #[test]
    fn a_clock_that_goes_back_is_not_believed() {
        let mut deadline = streaming(ALL);
        deadline.handle(Input::Event, Millis(500));
        deadline.handle(Input::Event, Millis(3));
        assert_eq!(deadline.poll_timeout(), Some(Millis(520)));
    }
}

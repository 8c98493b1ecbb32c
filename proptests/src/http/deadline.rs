//! Deadlines against a naive list of what has been told.

use rocload_core::Millis;
use rocload_core::http::deadline::{Deadline, Expired, Input, Phase, Timeouts};

use crate::{Verdict, require, same};

/// Whatever is told at whatever times: what expires does so once, for a limit that it has, at a
/// tick that is not too early (the whole exchange at any input); nothing is due in the past that a
/// tick would not end; and ticks before that time change nothing.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn expires_once(timeouts: Timeouts, script: &[(Input, u64)]) -> Verdict {
    let mut machine = Deadline::new(timeouts, Millis(0));
    let (mut now, mut over) = (0u64, false);
    // Since when each phase runs.
    let (mut stage, mut connected, mut bytes, mut event) = (0u8, 0u64, 0u64, 0u64);
    for &(input, later) in script {
        let due = machine.poll_timeout();
        if let (Some(due), true) = (due, later > 0)
            && due.0 > now
        {
            let mut restless = machine.clone();
            restless.handle(Input::Tick, Millis(due.0 - 1));
            same("a tick that is too early changes nothing", &restless.poll(), &None)?;
            same("nor when the next is due", &restless.poll_timeout(), &due.into())?;
        }
        // At times the clock goes back.
        let told = if later.is_multiple_of(7) {
            now.saturating_sub(later)
        } else {
            now.saturating_add(later)
        };
        now = now.max(told);
        machine.handle(input, Millis(told));
        if !over {
            match input {
                Input::Connected => (stage, connected) = (1, now),
                Input::Head => (stage, bytes, event) = (2, now, now),
                Input::Bytes => bytes = now,
                Input::Event => (bytes, event) = (now, now),
                _ => {}
            }
        }
        let past = |since: u64, limit: Option<Millis>| {
            limit.is_some_and(|limit| now >= since.saturating_add(limit.0))
        };
        let waits: &[(Phase, u64, Option<Millis>)] = match stage {
            0 => &[(Phase::Connect, 0, timeouts.connect)],
            1 => &[(Phase::Headers, connected, timeouts.headers)],
            _ => &[(Phase::Idle, bytes, timeouts.idle), (Phase::Events, event, timeouts.events)],
        };
        let total = input != Input::Ended && past(0, timeouts.total);
        let wait =
            input == Input::Tick && waits.iter().any(|(_, since, limit)| past(*since, *limit));
        let expected = !over && (total || wait);
        let expired = machine.poll();
        same("it expires when a limit is reached", &expired.is_some(), &expected)?;
        if let Some(Expired { phase, limit }) = expired {
            let known = (phase == Phase::Total && total && timeouts.total == Some(limit))
                || waits.iter().any(|(of, since, most)| {
                    *of == phase && *most == Some(limit) && past(*since, *most)
                });
            require(known, "what expires has that limit, and has reached it", || {
                format!("{phase:?} {limit:?} at {now}")
            })?;
        }
        over |= expected || input == Input::Ended;
        same("what has expired has expired once", &machine.poll(), &None)?;
        if over {
            same("what is over is never due", &machine.poll_timeout(), &None)?;
        }
    }
    Ok(())
}

//! Scripts and policies from bytes, for fuzzing.

use rocload_core::Millis;
use rocload_core::serve::exit::{Exit, SpawnFault};
use rocload_core::serve::{Outcome, Policy, Restart};

use super::{Letter, Line};

/// A policy from a byte.
pub fn policy(byte: u8) -> Policy {
    let mut policy = Policy::default();
    let bit = |at: u8| byte >> at & 1 == 1;
    if bit(0) {
        policy.restart = Restart::OnFailure;
    }
    policy.never_kill = bit(1);
    if bit(2) {
        policy.load = Some(Millis(20_000));
    }
    if bit(3) {
        policy.stall = None;
    }
    if bit(4) {
        policy.ready_probe = None;
    }
    if bit(5) {
        policy.backoff.jitter = Some(u64::from(byte));
    }
    if bit(6) {
        (policy.grace_ready, policy.grace_loading) = (Millis(0), Millis(0));
    }
    if bit(7) {
        policy.stuck = Millis(0);
    }
    policy
}

/// The time that passes in one script with a tick at each moment that is asked for, in
/// milliseconds: probes are many in it. Jumps are not counted.
const ELAPSES: u64 = 400_000;

/// A script: two bytes a letter, at most 512 letters.
pub fn script(bytes: &[u8]) -> Vec<Letter> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let mut left = ELAPSES;
    let mut within = |letter| match letter {
        Letter::Elapse(span) => {
            let span = span.min(left);
            left -= span;
            Letter::Elapse(span)
        }
        other => other,
    };
    pairs.iter().take(512).map(|[kind, value]| within(letter(*kind, *value))).collect()
}

fn letter(kind: u8, value: u8) -> Letter {
    let outcomes = [
        Outcome::Ok,
        Outcome::Loading,
        Outcome::Refused,
        Outcome::TimedOut,
        Outcome::Http(404),
        Outcome::BadBody,
        Outcome::Foreign,
    ];
    let outcome = outcomes[usize::from(value) % outcomes.len()];
    // Long spans too, by the value's square and the like.
    let span = match u64::from(value) {
        short @ 0..128 => short * short,
        long => 1u64.checked_shl((long as u32 - 128) / 2).unwrap_or(u64::MAX),
    };
    match kind % 16 {
        0 => Letter::Start,
        1 | 2 => Letter::Spawned,
        3 => {
            let faults = [SpawnFault::Busy, SpawnFault::NotFound, SpawnFault::Resources];
            Letter::SpawnFailed(faults[usize::from(value) % faults.len()])
        }
        4 | 5 => Letter::Answer(outcome),
        6 => Letter::LateAnswer(outcome),
        7 => {
            let lines = [Line::Noise, Line::Listening, Line::Bind, Line::Broken];
            Letter::Line(lines[usize::from(value) % lines.len()])
        }
        8 => Letter::Exited(Exit::Code(i32::from(value) % 3), value >= 128),
        9 => Letter::Exited(Exit::Signal(i32::from(value) % 16), value >= 128),
        10 => Letter::Stop((!value.is_multiple_of(4)).then_some(span)),
        11 => Letter::Force,
        12 => Letter::Due,
        13 => Letter::Elapse(span.min(100_000)),
        14 => Letter::Jump(span),
        _ => Letter::Back(span),
    }
}

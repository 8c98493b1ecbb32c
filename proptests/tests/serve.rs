//! The properties of the supervisor over generated scripts, and over every short one.

use laws::serve::{
    Letter, Line, deterministic, holds, stop_is_idempotent, ticks_change_nothing, walk,
};
use proptest::prelude::*;
use rocload_core::Millis;
use rocload_core::serve::exit::{Exit, SpawnFault};
use rocload_core::serve::{Outcome, Policy, Restart};
use rocload_fixtures::share;

fn policy() -> impl Strategy<Value = Policy> {
    any::<u8>().prop_map(laws::serve::bytes::policy)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Ok),
        2 => Just(Outcome::Loading),
        2 => Just(Outcome::Refused),
        1 => Just(Outcome::TimedOut),
        1 => Just(Outcome::BadBody),
        1 => Just(Outcome::Foreign),
        1 => (400u16..600).prop_map(Outcome::Http),
    ]
}

/// What happens; `jumps` lets the clock do what it likes.
fn letter(jumps: bool) -> impl Strategy<Value = Letter> {
    let exit = prop_oneof![(0..3i32).prop_map(Exit::Code), (1..16i32).prop_map(Exit::Signal)];
    let fault =
        prop::sample::select(vec![SpawnFault::Busy, SpawnFault::NotFound, SpawnFault::Resources]);
    let line = prop::sample::select(vec![Line::Noise, Line::Listening, Line::Bind, Line::Broken]);
    let span = prop_oneof![0..100u64, 0..20_000u64, 0..700_000u64];
    let wild = prop_oneof![0..20_000u64, Just(10 * 365 * 86_400_000), any::<u64>()];
    let clock = if jumps {
        prop_oneof![
            wild.clone().prop_map(Letter::Jump),
            wild.prop_map(Letter::Back),
            span.prop_map(Letter::Elapse)
        ]
        .boxed()
    } else {
        span.prop_map(Letter::Elapse).boxed()
    };
    prop_oneof![
        1 => Just(Letter::Start),
        5 => Just(Letter::Spawned),
        1 => fault.prop_map(Letter::SpawnFailed),
        6 => outcome().prop_map(Letter::Answer),
        1 => outcome().prop_map(Letter::LateAnswer),
        3 => line.prop_map(Letter::Line),
        3 => (exit, any::<bool>()).prop_map(|(exit, oom)| Letter::Exited(exit, oom)),
        1 => prop::option::of(0..20_000u64).prop_map(Letter::Stop),
        1 => Just(Letter::Force),
        4 => Just(Letter::Due),
        6 => clock,
    ]
}

fn script(jumps: bool) -> impl Strategy<Value = Vec<Letter>> {
    prop::collection::vec(letter(jumps), 0..60).prop_map(|mut script| {
        script.insert(0, Letter::Start);
        script
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: share(4000), ..ProptestConfig::default() })]

    /// P1 to P10, P14 and P15 at each step.
    #[test]
    fn p1_to_p10_p14_and_p15_hold(policy in policy(), script in script(false)) {
        holds(policy, &script).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }

    /// P11: the same, whatever the clock does.
    #[test]
    fn p11_the_clock_may_do_what_it_likes(policy in policy(), script in script(true)) {
        holds(policy, &script).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }

    #[test]
    fn p12_the_same_script_gives_the_same_actions(policy in policy(), script in script(true)) {
        deterministic(policy, &script).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }

    #[test]
    fn p13_to_stop_twice_is_to_stop_once(policy in policy(), script in script(true)) {
        stop_is_idempotent(policy, &script).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }

    #[test]
    fn p16_ticks_at_other_moments_change_nothing(policy in policy(), script in script(false), seed: u64) {
        ticks_change_nothing(policy, &script, seed).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }
}

/// The scripts of 12 letters up to a length of 7, which is all that an alphabet of this size can
/// be walked through in seconds; up to 5 where tests are to be smaller.
fn walk_all(policy: Policy, alphabet: [Letter; 12]) {
    let longest = if share(7) < 7 { 5 } else { 7 };
    let scripts =
        walk::every(policy, &alphabet, longest).unwrap_or_else(|broken| panic!("{broken}"));
    assert_eq!(scripts, (1..=longest as u32).map(|length| 12u64.pow(length)).sum::<u64>());
}

#[test]
fn every_script_of_seven_letters_of_one_start() {
    walk_all(
        Policy::default(),
        [
            Letter::Start,
            Letter::Spawned,
            Letter::SpawnFailed(SpawnFault::NotFound),
            Letter::Answer(Outcome::Ok),
            Letter::Answer(Outcome::Refused),
            Letter::LateAnswer(Outcome::Ok),
            Letter::Line(Line::Listening),
            Letter::Exited(Exit::Code(0), false),
            Letter::Exited(Exit::Signal(9), true),
            Letter::STOP,
            Letter::Force,
            Letter::Due,
        ],
    );
}

#[test]
fn every_script_of_seven_letters_of_many_starts() {
    let mut policy = Policy::default();
    policy.restart = Restart::OnFailure;
    policy.probes = 1;
    policy.stall = Some(Millis(20));
    walk_all(
        policy,
        [
            Letter::Start,
            Letter::Spawned,
            Letter::SpawnFailed(SpawnFault::Busy),
            Letter::Answer(Outcome::Ok),
            Letter::Answer(Outcome::TimedOut),
            Letter::Answer(Outcome::Loading),
            Letter::LateAnswer(Outcome::Ok),
            Letter::Line(Line::Bind),
            Letter::Exited(Exit::Code(1), false),
            Letter::Stop(Some(5)),
            Letter::Due,
            Letter::Back(50),
        ],
    );
}

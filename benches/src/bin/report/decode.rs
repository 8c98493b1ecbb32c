//! Decoding every kernel of an archive on one and on two threads.

use rocload_benches::decode::Decoding;
use rocload_benches::time::{Rounds, in_turns, of};
use rocload_benches::{input, peer};

use rocload_benches::table::{Figure, Table};

const ROUNDS: usize = 31;

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    let (path, what) = input::many();
    let decoding = Decoding::new(&path)?;
    let total = decoding.bytes();
    let ours = |threads| assert_eq!(decoding.ours(threads).ok(), Some(total));
    let peer = |threads| assert_eq!(decoding.peer(threads).ok(), Some(total));
    let [ours_1, ours_2, peer_1, peer_2] = in_turns(
        ROUNDS,
        [&mut || of(|| ours(1)), &mut || of(|| ours(2)), &mut || of(|| peer(1)), &mut || {
            of(|| peer(2))
        }],
    );
    let speed = |rounds: &Rounds| {
        let seconds = rounds.median().as_secs_f64();
        Figure { text: format!("{:.0} MB/s", total as f64 / seconds / 1e6), cost: seconds }
    };
    for (threads, ours, theirs) in [(1, &ours_1, &peer_1), (2, &ours_2, &peer_2)] {
        table.beside(
            &format!("decoding {what}, {} MB, {threads} threads", total / 1_000_000),
            &speed(ours),
            ("crate zstd", Some(&speed(theirs))),
            ("", None),
        );
    }
    let (ours, theirs) = (gain(&ours_1, &ours_2), gain(&peer_1, &peer_2));
    let figure = |gain: f64| Figure { text: format!("{gain:.3}"), cost: 1.0 / gain };
    let share = ours / theirs;
    table.beside(
        &format!("gain of the second thread ({:.1} % of the peer's)", share * 100.0),
        &figure(ours),
        ("crate zstd", Some(&figure(theirs))),
        (">= 95 % of the peer's", Some(share >= 0.95)),
    );
    Ok(())
}

/// How many times faster two threads are: the median of the rounds, which followed one another.
fn gain(one: &Rounds, two: &Rounds) -> f64 {
    let pairs = one.each().iter().zip(two.each());
    let mut gains: Vec<f64> = pairs.map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
    gains.sort_by(f64::total_cmp);
    gains[gains.len() / 2]
}

//! Decoding every kernel of an archive on one thread and on more.

use std::thread;

use rocload_benches::decode::Decoding;
use rocload_benches::table::{Figure, Table, speed};
use rocload_benches::time::{Rounds, in_turns, of};
use rocload_benches::{input, peer};

const ROUNDS: usize = 31;
const C: &str = "crate zstd";
const PLOT: &str = "decode";

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    let (path, what) = input::many();
    let decoding = Decoding::new(&path)?;
    let total = decoding.bytes();
    let ours = |threads| assert_eq!(decoding.ours(threads).ok(), Some(total));
    let peer = |threads| assert_eq!(decoding.peer(threads).ok(), Some(total));
    for threads in counts() {
        // With each number of threads anew, beside one thread of each.
        let [ours_1, ours_n, peer_1, peer_n] = in_turns(
            ROUNDS,
            [
                &mut || of(|| ours(1)),
                &mut || of(|| ours(threads)),
                &mut || of(|| peer(1)),
                &mut || of(|| peer(threads)),
            ],
        );
        let row = |table: &mut Table, threads: usize, ours: &Rounds, theirs: &Rounds| {
            let bytes = total as usize;
            let (ours, theirs) = (speed(bytes, ours.median()), speed(bytes, theirs.median()));
            let what = format!("decoding {what}, {} MB, {}", total / 1_000_000, on(threads));
            table.beside(&what, &ours, (C, Some(&theirs)), ("", None));
            for (name, figure) in [("rocload", &ours), (C, &theirs)] {
                table.point(PLOT, name, threads as f64, total as f64 / figure.cost / 1e6);
            }
        };
        if threads == 2 {
            row(table, 1, &ours_1, &peer_1);
        }
        row(table, threads, &ours_n, &peer_n);
        let (ours, theirs) = (gain(&ours_1, &ours_n), gain(&peer_1, &peer_n));
        let figure = |gain: f64| Figure { text: format!("x {gain:.3}"), cost: 1.0 / gain };
        let met = Some(ours / theirs >= 0.95);
        table.beside(
            &format!("their gain over one thread, {}", on(threads)),
            &figure(ours),
            (C, Some(&figure(theirs))),
            (">= 0.95 of the peer's", met),
        );
    }
    Ok(())
}

/// Two, and doubled as long as there are so many processors.
fn counts() -> impl Iterator<Item = usize> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let next = move |last: &usize| Some(last * 2).filter(|next| *next <= processors);
    std::iter::successors(Some(2), next)
}

fn on(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// How many times faster so many threads are: the median of the rounds, which followed one another.
fn gain(one: &Rounds, many: &Rounds) -> f64 {
    let pairs = one.each().iter().zip(many.each());
    let mut gains: Vec<f64> = pairs.map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
    gains.sort_by(f64::total_cmp);
    gains[gains.len() / 2]
}

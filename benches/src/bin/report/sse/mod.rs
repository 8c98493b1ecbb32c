//! The parser of server-sent events, beside its peers and beside memchr2's bare scan for line ends.

mod candidate;
mod input;

use std::time::{Duration, Instant};

use rocload_benches::count::HeapUse;
use rocload_benches::table::{Table, quartiles, ratio as digits, speed as shown};
use rocload_benches::{peer, time};
use rocload_fixtures::rng::Rng;

use crate::HEAP;
use candidate::{Candidate, Seen};

/// Rounds that count.
const ROUNDS: usize = 15;

/// What the ratio to a candidate has to be.
type Targets = [(Candidate, &'static str, f64)];

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    let stream = input::stream(50 << 20);
    let (scan, core) = (Candidate::Memchr2, Candidate::SseCore);
    let both: &Targets = &[(scan, ">= 0.60", 0.60), (core, ">= 2", 2.0)];
    speed(table, "16 KiB chunks", &stream, 16 << 10, both);
    speed(table, "4 KiB chunks", &stream, 4 << 10, &[]);
    speed(table, "1460-byte chunks", &stream, 1460, &[]);
    speed(table, "64-byte chunks", &stream[..16 << 20], 64, &[(core, "> 1", 1.0)]);
    speed(table, "bytewise", &stream[..4 << 20], 1, &[]);
    let crlf = input::crlf(&stream[..16 << 20]);
    speed(table, "16 KiB chunks, CRLF", &crlf, 16 << 10, &[]);
    speed(table, "16 KiB chunks, half of it CJK", &input::cjk(16 << 20), 16 << 10, &[]);
    linear(table);
    allocations(table, &stream)
}

/// Each candidate over the input, in random turns: a row for each peer.
fn speed(table: &mut Table, name: &str, input: &[u8], chunk: usize, targets: &Targets) {
    eprintln!("  {name}");
    let mut times = Candidate::ALL.map(|_| Vec::new());
    let mut seen = None;
    let mut rng = Rng::new(0x5eed);
    for round in 0..=time::rounds(ROUNDS) {
        let mut order: Vec<usize> = (0..Candidate::ALL.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, rng.below(at as u64 + 1) as usize);
        }
        for which in order {
            let candidate = Candidate::ALL[which];
            if candidate.too_slow(chunk) && round > 2 {
                continue;
            }
            let start = Instant::now();
            let found = candidate.run(input, chunk);
            let time = start.elapsed();
            if candidate.parses() {
                assert_eq!(*seen.get_or_insert(found), found, "{candidate:?}, {name}");
            }
            if round > 0 {
                times[which].push(time);
            }
        }
    }
    let [ours, theirs @ ..] = &times;
    let bytes = |times: &[Duration]| shown(input.len(), median(times)).text;
    for (candidate, theirs) in Candidate::ALL[1..].iter().zip(theirs) {
        let pairs = theirs.iter().zip(ours);
        let ratios: Vec<f64> = pairs.map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
        let [_, reached, _] = quartiles(&ratios);
        let target = targets.iter().find(|target| target.0 == *candidate);
        let target = target.map_or(("", None), |&(_, text, least)| (text, Some(reached >= least)));
        let peer = (candidate.name(), &*bytes(theirs));
        table.rounds(&format!("parsing, {name}"), &bytes(ours), peer, &ratios, target);
    }
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// A long line, byte by byte: twice its length takes twice the time.
fn linear(table: &mut Table) {
    let mut times = [256usize, 512, 1024].map(|_| Vec::new());
    for _ in 0..9 {
        for (times, kib) in times.iter_mut().zip([256usize, 512, 1024]) {
            let line = input::line(kib << 10);
            let start = Instant::now();
            let seen = Candidate::Rocload.run(&line, 1);
            times.push(start.elapsed());
            assert_eq!(seen, Seen { events: 1, bytes: kib << 10 });
        }
    }
    let [quarter, half, whole] = times.map(|times| median(&times).as_secs_f64());
    for (what, other, aim) in [("512 KiB", half, 2.0), ("256 KiB", quarter, 4.0)] {
        // In linear time, to a quarter: the times of a square would be 4 and 16.
        let (times, most) = (whole / other, aim * 1.25);
        table.alone(
            &format!("a line of 1 MiB byte by byte, in times of one of {what}"),
            &digits(times),
            &format!("<= {most}, linear"),
            Some(times <= most),
        );
    }
}

/// Calls of the allocator.
fn allocations(table: &mut Table, stream: &[u8]) -> peer::Result<()> {
    HEAP.count();
    for candidate in [Candidate::Rocload, Candidate::SseCore] {
        let (mut all, mut events) = (0, 0);
        for chunk in [16 << 10, 64, 1] {
            let before = HEAP.counted();
            let seen = candidate.run(&stream[..1 << 20], chunk);
            let HeapUse { calls, .. } = HEAP.counted();
            all += calls - before.calls;
            events += seen.events;
        }
        let what = format!("allocations for {events} events");
        match candidate {
            Candidate::Rocload => table.alone(&what, &all.to_string(), "0", Some(all == 0)),
            _ if all == 0 => return Err("the counter of allocations does not count".into()),
            _ => table.alone(&format!("{what}, sse-core"), &format!("{all} (sse-core)"), "", None),
        }
    }
    Ok(())
}

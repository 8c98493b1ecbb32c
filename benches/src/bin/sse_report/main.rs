//! Prints the figures of the parser of server-sent events as one Markdown table, each beside
//! those of its peers and of memchr2's bare scan for line ends from the same run.
//!
//! `cargo run --release -p rocload-benches --bin sse_report`. README.md of this crate, section
//! "Server-sent events", says how its figures were taken.
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

mod candidate;
mod input;
#[path = "../report/machine.rs"]
mod machine;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use rocload_benches::count::{Heap, HeapUse};
use rocload_benches::peer;
use rocload_fixtures::rng::Rng;

use candidate::{Candidate, Seen};

/// Counts once the times are taken.
#[global_allocator]
static HEAP: Heap = Heap::new();

/// Rounds that count.
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sse_report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> peer::Result<()> {
    let stream = input::stream(50 << 20);
    println!("{}\n", machine::describe());
    println!(
        "| input | rocload | of memchr2 | sse-core | times faster | eventsource-stream | times faster | memchr2 | target |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    speed("16 KiB chunks", &stream, 16 << 10, ">= 0.60 of memchr2, >= 2 x sse-core");
    speed("4 KiB chunks", &stream, 4 << 10, "");
    speed("1460-byte chunks", &stream, 1460, "");
    speed("64-byte chunks", &stream[..16 << 20], 64, "faster than sse-core");
    speed("bytewise", &stream[..4 << 20], 1, "");
    let crlf = input::crlf(&stream[..16 << 20]);
    speed("16 KiB chunks, CRLF", &crlf, 16 << 10, "");
    speed("16 KiB chunks, half of it CJK", &input::cjk(16 << 20), 16 << 10, "");
    println!();
    linear();
    allocations(&stream)
}

/// One row: each candidate over the input, in random turns.
fn speed(name: &str, input: &[u8], chunk: usize, target: &str) {
    let mut times = Candidate::ALL.map(|_| Vec::new());
    let mut seen = None;
    let mut rng = Rng::new(0x5eed);
    for round in 0..=ROUNDS {
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
    let [ours, core, stream, scan] = times;
    let (core, stream, scan) = (ratio(&core, &ours), ratio(&stream, &ours), ratio(&scan, &ours));
    let mbs = input.len() as f64 / median(&ours).as_secs_f64() / 1e6;
    println!(
        "| {name} | {mbs:.0} MB/s | **{scan:.2}** | {:.0} MB/s | **{core:.2}** | {:.0} MB/s | {stream:.1} | {:.0} MB/s | {target} |",
        mbs / core,
        mbs / stream,
        mbs / scan,
    );
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// How many times faster than the first the second is: the median of the rounds' ratios.
fn ratio(first: &[Duration], second: &[Duration]) -> f64 {
    let mut ratios: Vec<f64> =
        first.iter().zip(second).map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// A long line, byte by byte: twice its length takes twice the time.
fn linear() {
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
    println!(
        "A line of 1 MiB byte by byte takes {:.2} times as long as one of 512 KiB, and {:.2} times as long as one of 256 KiB.",
        whole / half,
        whole / quarter
    );
}

/// Calls of the allocator for an event.
fn allocations(stream: &[u8]) -> peer::Result<()> {
    HEAP.count();
    for candidate in [Candidate::Rocload, Candidate::SseCore] {
        for chunk in [16 << 10, 64, 1] {
            let input = &stream[..1 << 20];
            let before = HEAP.counted();
            let seen = candidate.run(input, chunk);
            let HeapUse { calls, .. } = HEAP.counted();
            let calls = calls - before.calls;
            println!(
                "{candidate:?} in chunks of {chunk}: {calls} calls of the allocator for {} events.",
                seen.events
            );
            if candidate == Candidate::Rocload && calls != 0 {
                return Err("the parser allocates".into());
            }
        }
    }
    Ok(())
}

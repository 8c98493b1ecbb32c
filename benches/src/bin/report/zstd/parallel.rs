//! Independent frames on one thread and on two.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rocload_benches::peer;
use rocload_fixtures::rng::Rng;

use rocload_benches::table::{Figure, Table, quartiles, speed};
use rocload_benches::time;

use super::decoder::{Decoder, Which};
use super::input::Set;
use super::speed::{median, order, ratios};

const FRAMES: usize = 400;
const ROUNDS: usize = 45;
const COMPARED: [Which; 3] = [Which::C, Which::Fast, Which::Small];

/// What a thread keeps.
type Worker = (Box<dyn Decoder>, Vec<u8>);

pub(crate) fn measure(objects: &Set, table: &mut Table) -> peer::Result<()> {
    eprintln!("  two threads");
    // Each frame in memory of its own, also where the content is the same.
    let frames: Vec<(Vec<u8>, usize)> = objects
        .frames
        .iter()
        .cycle()
        .take(FRAMES)
        .map(|frame| (frame.src.clone(), frame.size()))
        .collect();
    let bytes: usize = frames.iter().map(|frame| frame.1).sum();
    let worker = |which: Which| -> Worker { (which.make(), vec![0; objects.largest()]) };
    let mut workers = COMPARED.map(|which| [worker(which), worker(which)]);
    let mut times = COMPARED.map(|_| [Vec::new(), Vec::new()]);
    let mut rng = Rng::new(0x5eed);
    for round in 0..=time::rounds(ROUNDS) {
        for which in order::<{ COMPARED.len() }>(&mut rng) {
            for threads in [1, 2] {
                let time = run(&frames, &mut workers[which][..threads])?;
                if round > 0 {
                    times[which][threads - 1].push(time);
                }
            }
        }
    }
    let [c, ours @ ..] = &times;
    let what =
        format!("{FRAMES} frames of code objects on two threads, {:.1} MB", bytes as f64 / 1e6);
    for (layout, ours) in ["fast", "small"].into_iter().zip(ours) {
        let what = format!("{what}, {layout} layout");
        let shown = |times: &[Duration]| speed(bytes, median(times)).text;
        let peer = (super::C, &*shown(&c[1]));
        table.rounds(&what, &shown(&ours[1]), peer, &ratios(&c[1], &ours[1]), ("", None));
        let gain = |[one, two]: &[Vec<Duration>; 2]| {
            let [_, gain, _] = quartiles(&ratios(one, two));
            Figure { text: format!("x {gain:.3}"), cost: 1.0 / gain }
        };
        let (ours, c) = (gain(ours), gain(c));
        let target = (">= 0.95 of C's gain", Some(c.cost / ours.cost >= 0.95));
        let what = format!("their gain over one thread, {layout} layout");
        table.beside(&what, &ours, (super::C, Some(&c)), target);
    }
    Ok(())
}

/// Every frame once, each by the worker that is free first.
fn run(frames: &[(Vec<u8>, usize)], workers: &mut [Worker]) -> peer::Result<Duration> {
    let next = AtomicUsize::new(0);
    let work = |(decoder, dst): &mut Worker| -> peer::Result<()> {
        while let Some((src, size)) = frames.get(next.fetch_add(1, Ordering::Relaxed)) {
            if decoder.frame(src, &mut dst[..*size])? != *size {
                return Err("a frame of another size".into());
            }
        }
        Ok(())
    };
    let start = Instant::now();
    let (first, others) = workers.split_first_mut().ok_or("no worker")?;
    thread::scope(|scope| {
        let others: Vec<_> = others.iter_mut().map(|worker| scope.spawn(|| work(worker))).collect();
        work(first)?;
        others.into_iter().try_for_each(|other| other.join().expect("a worker panicked"))
    })?;
    Ok(start.elapsed())
}

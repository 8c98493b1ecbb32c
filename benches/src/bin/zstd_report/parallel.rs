//! Independent frames on one thread and on two.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rocload_benches::peer;
use rocload_fixtures::rng::Rng;

use crate::decoder::{Decoder, Which};
use crate::input::Set;
use crate::speed::{median, order, ratios};
use crate::table::{Speed, Table};

const FRAMES: usize = 400;
const ROUNDS: usize = 45;
const COMPARED: [Which; 3] = [Which::C, Which::Fast, Which::Small];

/// What a thread keeps.
type Worker = (Box<dyn Decoder>, Vec<u8>);

pub(crate) fn measure(objects: &Set, table: &mut Table) -> peer::Result<()> {
    eprintln!("two threads");
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
    for round in 0..=ROUNDS {
        for which in order::<{ COMPARED.len() }>(&mut rng) {
            for threads in [1, 2] {
                let time = run(&frames, &mut workers[which][..threads])?;
                if round > 0 {
                    times[which][threads - 1].push(time);
                }
            }
        }
    }
    let speeds = times.each_ref().map(|[_, two]| Speed::new(bytes, two));
    let gains = times.each_ref().map(|[one, two]| median(&ratios(one, two)));
    let [c, fast, small] = &times;
    let [fast, small] = [fast, small].map(|ours| ratios(&c[1], &ours[1]));
    table.two_threads(FRAMES, bytes, &speeds, [&fast, &small], gains);
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

//! One thread, frame by frame.

use std::time::{Duration, Instant};

use rocload_benches::peer;
use rocload_fixtures::rng::Rng;

use rocload_benches::table::{Table, quartiles, speed};
use rocload_benches::time;

use super::decoder::Which;
use super::input::Set;

/// Rounds that count, with each place of the output.
const ROUNDS: usize = 9;

/// Where the output begins in its memory, in bytes. How both lie to one another moves a decoder's
/// time by a percent or two, and no place is the right one.
const PLACES: [usize; 5] = [0, 16, 80, 1040, 2064];

/// Each frame is decoded `repeats` times before the next one.
pub(crate) fn measure(
    set: &Set,
    repeats: usize,
    target: f64,
    table: &mut Table,
) -> peer::Result<()> {
    eprintln!("  {}", set.name);
    check(set)?;
    let mut memory = vec![0; set.largest() + 4096];
    let mut times = Which::ALL.map(|_| Vec::new());
    let mut rng = Rng::new(0x5eed);
    for place in PLACES {
        // Also the decoders' own memory is another at each place.
        let mut decoders = Which::ALL.map(Which::make);
        let dst = &mut memory[place..];
        for round in 0..=time::rounds(ROUNDS) {
            // Drawn anew each time, so that none is always the one that follows the slowest.
            for which in order::<{ Which::ALL.len() }>(&mut rng) {
                let start = Instant::now();
                for frame in &set.frames {
                    for _ in 0..repeats {
                        decoders[which].frame(&frame.src, &mut dst[..frame.size()])?;
                    }
                }
                let time = start.elapsed();
                if round > 0 {
                    times[which].push(time);
                }
            }
        }
    }
    let bytes = set.bytes() * repeats;
    let name = match repeats {
        1 => set.name.to_string(),
        _ => format!("{}, each {repeats} times in a row", set.name),
    };
    let (count, megabytes) = (set.frames.len(), set.bytes() as f64 / 1e6);
    let many = if count == 1 { "frame" } else { "frames" };
    let name = format!("{name}: {count} {many}, {megabytes:.1} MB");
    let [c, fast, small, ruzstd] = &times;
    let shown = |times: &[Duration]| speed(bytes, median(times)).text;
    for (layout, ours) in [("fast", fast), ("small", small)] {
        let ratios = ratios(c, ours);
        let [_, reached, _] = quartiles(&ratios);
        let aim = format!(">= {target:.2}");
        let target = if layout == "fast" { (&*aim, Some(reached >= target)) } else { ("", None) };
        let what = format!("{name}, {layout} layout");
        table.rounds(&what, &shown(ours), (super::C, &shown(c)), &ratios, target);
    }
    let what = format!("{name}, fast layout");
    let peer = ("ruzstd", &*shown(ruzstd));
    table.rounds(&what, &shown(fast), peer, &ratios(ruzstd, fast), ("", None));
    Ok(())
}

/// The numbers below `N` in a random order.
pub(crate) fn order<const N: usize>(rng: &mut Rng) -> [usize; N] {
    let mut order = std::array::from_fn(|at| at);
    for at in (1..N).rev() {
        order.swap(at, rng.below(at as u64 + 1) as usize);
    }
    order
}

/// Every decoder has to give what was compressed.
fn check(set: &Set) -> peer::Result<()> {
    let mut dst = vec![0; set.largest()];
    for which in Which::ALL {
        let mut decoder = which.make();
        for frame in &set.frames {
            dst.fill(0xa5);
            let written = decoder.frame(&frame.src, &mut dst[..frame.size()])?;
            if dst[..written] != frame.content[..] {
                return Err(format!("{which:?} decodes to other bytes").into());
            }
        }
    }
    Ok(())
}

/// How many times faster the second is than the first, round by round: what disturbs a round is
/// in both of its times.
pub(crate) fn ratios(first: &[Duration], second: &[Duration]) -> Vec<f64> {
    first.iter().zip(second).map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect()
}

/// The middle one.
pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

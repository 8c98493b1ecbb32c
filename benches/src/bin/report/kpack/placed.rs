//! Archives whose table says where each frame is: any kernel's first fetch, and what the keys
//! cost at open.

use std::path::Path;
use std::time::{Duration, Instant};

use rocload::Archive;
use rocload_benches::{input, peer, time};
use rocload_fixtures::large::Large;

use super::child;
use crate::machine;
use rocload_benches::table::{Table, megabytes, time as shown};

const ROUNDS: usize = 41;
/// Kernels fetched for one time of a round, each the first of an archive that was just opened.
const GROUP: u32 = 40;

/// `plain` and `placed` hold the same kernels.
pub(crate) fn measure(plain: &Path, placed: &Path, table: &mut Table) -> peer::Result<()> {
    let plan = Large::twenty_thousand();
    let key = |ordinal: u32| (plan.binary(ordinal), plan.arch(ordinal).to_string());
    let last = plan.kernels() - 1;
    let first_fetch = |path: &Path, ordinal: u32| {
        let ((binary, arch), content) = (key(ordinal), plan.content(ordinal));
        let archive = Archive::open(path).expect("opens");
        let clock = Instant::now();
        let kernel = archive.kernel(&binary, &arch).expect("is there");
        let taken = clock.elapsed();
        assert!(kernel == content);
        taken
    };
    // Kernels differ in size and in what decoding them takes: several that stand side by side.
    let several = |from: u32| {
        let each = (from..from + GROUP).map(|ordinal| first_fetch(placed, ordinal));
        each.sum::<Duration>() / GROUP
    };
    let (middle, end) = (plan.kernels() / 2, plan.kernels() - GROUP);
    // The walk reads all of the blob and leaves cold caches: it takes no turn between the others.
    let [at_front, at_middle, at_last] =
        time::in_turns(ROUNDS, [&mut || several(0), &mut || several(middle), &mut || several(end)]);
    let [walked] = time::in_turns(ROUNDS, [&mut || first_fetch(plain, last)]);
    let what = "first fetch of one of the last 40 of 20,000, frame_offset";
    let figure = shown(at_last.median());
    for (other, taken) in [("of the first 40", &at_front), ("of 40 in the middle", &at_middle)] {
        let near = at_last.median() <= taken.median() * 5 / 4;
        let target = ("as fast as any other, within 25 %", Some(near));
        table.beside(
            what,
            &figure,
            (&format!("one {other}"), Some(&shown(taken.median()))),
            target,
        );
    }
    let [placed_last] = time::in_turns(ROUNDS, [&mut || first_fetch(placed, last)]);
    let what = "first fetch of the last, frame_offset";
    let figure = shown(placed_last.median());
    table.beside(what, &figure, ("the same by a walk", Some(&shown(walked.median()))), ("", None));
    for (path, what, ours) in
        [(placed, what, &placed_last), (plain, "first fetch of the last, by a walk", &walked)]
    {
        let python = python(path, &key(last)).map(|(first, _)| shown(first));
        let peer = ("Python's msgpack and zstandard", python.as_ref());
        table.beside(what, &shown(ours.median()), peer, ("", None));
    }

    let archive = Archive::open(plain)?;
    archive.walk_frames()?;
    let (binary, arch) = key(last);
    const LATER: u32 = 200;
    let [later] = time::in_turns(
        ROUNDS,
        [&mut || {
            let clock = Instant::now();
            for _ in 0..LATER {
                std::hint::black_box(archive.kernel(&binary, &arch).expect("is there"));
            }
            clock.elapsed() / LATER
        }],
    );
    let python = python(plain, &key(last)).map(|(_, later)| shown(later));
    let peer = ("Python's msgpack and zstandard", python.as_ref());
    table.beside("later fetches of the last", &shown(later.median()), peer, ("", None));
    opening(placed, table)
}

fn opening(placed: &Path, table: &mut Table) -> peer::Result<()> {
    let [ours] = time::in_turns(
        ROUNDS,
        [&mut || time::of_the_second(|| Archive::open(placed).expect("opens"))],
    );
    let what = "open 20,000 kernels with frame_offset, frame_size and sha256, warm";
    let python = super::open::python(placed).map(shown);
    let peer = ("Python's msgpack into dict", python.as_ref());
    let met = ours.median() <= Duration::from_millis(3);
    table.beside(what, &shown(ours.median()), peer, ("<= 3 ms", Some(met)));
    let cost = child::measure("rocload", placed, 7)?;
    let toc = Archive::open(placed)?.toc().toc().bytes().len();
    table.alone(
        "its resident memory above the base",
        &megabytes(cost.resident).text,
        &format!("of which the table is {}", megabytes(toc as f64).text),
        None,
    );
    Ok(())
}

/// The first and a later fetch of the Python script, where Python has its modules.
fn python(path: &Path, (binary, arch): &input::Key) -> Option<(Duration, Duration)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/get.py");
    let mut command = machine::python();
    command.arg(script).arg(path).args([binary, arch]).arg(ROUNDS.to_string());
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut micros = text.lines().map(str::parse::<f64>);
    let mut next = || Some(Duration::from_secs_f64(micros.next()?.ok()? / 1e6));
    output.status.success().then_some((next()?, next()?))
}

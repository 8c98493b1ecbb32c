//! Opening an archive of 20,000 kernels: time, reads and memory.

use std::path::Path;
use std::time::Duration;

use rocload::{Archive, FileAt, Options};
use rocload_benches::count::Reads;
use rocload_benches::{input, peer, time};

use super::child;
use crate::machine;
use rocload_benches::table::{Figure, Table, megabytes, time as shown};

const LIMIT: Duration = Duration::from_millis(3);
const ROUNDS: usize = 41;
const PROCESSES: usize = 15;
const SERDE: &str = "rmp-serde into HashMap";
const WHOLE: &str = "whole file, then the same";
const PYTHON: &str = "Python's msgpack into dict";
/// Kernels of the smaller archives whose opening is plotted.
const SIZES: [u32; 3] = [100, 1_000, 5_000];
const PLOT: &str = "open";

pub(crate) fn measure(path: &Path, table: &mut Table) -> peer::Result<()> {
    for kernels in SIZES {
        warm(&input::of(kernels), kernels, table);
    }
    warm(path, input::KERNELS, table);
    in_a_new_process(path, table)?;
    reads(path, table)
}

/// Opened again and again. The table tells of the large archive alone.
fn warm(path: &Path, kernels: u32, table: &mut Table) {
    let [ours, serde, whole] = time::in_turns(
        ROUNDS,
        [
            &mut || time::of_the_second(|| Archive::open(path).expect("opens")),
            &mut || time::of_the_second(|| peer::table::open(path).expect("opens")),
            &mut || time::of_the_second(|| peer::table::open_whole(path).expect("opens")),
        ],
    );
    let python = python(path);
    let medians = [("rocload", Some(ours.median())), (SERDE, Some(serde.median()))];
    for (name, time) in medians.into_iter().chain([(WHOLE, Some(whole.median())), (PYTHON, python)])
    {
        if let Some(time) = time {
            table.point(PLOT, name, kernels.into(), time.as_secs_f64() * 1e3);
        }
    }
    if kernels != input::KERNELS {
        return;
    }
    let figure = shown(ours.median());
    let met = ours.median() <= LIMIT;
    let what = "open 20,000 kernels, index included, warm";
    let target = ("<= 3 ms, aim 1 ms", Some(met));
    table.beside(what, &figure, (SERDE, Some(&shown(serde.median()))), target);
    table.beside(what, &figure, (WHOLE, Some(&shown(whole.median()))), ("", None));
    table.beside(what, &figure, (PYTHON, python.map(shown).as_ref()), ("", None));
}

/// The median time of the Python script, where Python has its module.
pub(crate) fn python(path: &Path) -> Option<Duration> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/toc.py");
    let output = machine::python().arg(script).arg(path).arg(ROUNDS.to_string()).output().ok()?;
    let micros: f64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    output.status.success().then(|| Duration::from_secs_f64(micros / 1e6))
}

fn in_a_new_process(path: &Path, table: &mut Table) -> peer::Result<()> {
    let ours = child::measure("rocload", path, PROCESSES)?;
    let serde = child::measure("serde", path, PROCESSES)?;
    let whole = child::measure("whole", path, PROCESSES)?;
    let mut rows = |what: &str, figure: &dyn Fn(&child::Cost) -> Figure, target| {
        let figures = [figure(&ours), figure(&serde), figure(&whole)];
        table.beside(what, &figures[0], (SERDE, Some(&figures[1])), target);
        table.beside(what, &figures[0], (WHOLE, Some(&figures[2])), ("", None));
    };
    let met = Some(ours.time <= LIMIT);
    rows("first open in a new process", &|cost| shown(cost.time), ("<= 3 ms", met));
    let small = |bytes: f64| Some(bytes < 10e6);
    rows(
        "resident memory above the base",
        &|cost| megabytes(cost.resident),
        ("< 10 MB", small(ours.resident)),
    );
    rows("its peak while opening", &|cost| megabytes(cost.peak), ("< 10 MB", small(ours.peak)));
    let heap = |cost: &child::Cost| Figure {
        text: format!(
            "{} in {:.0} calls, peak {}",
            megabytes(cost.heap).text,
            cost.heap_calls,
            megabytes(cost.heap_peak).text
        ),
        cost: cost.heap,
    };
    rows("heap in use", &heap, ("", None));
    let faults =
        |cost: &child::Cost| Figure { text: format!("{:.0}", cost.faults), cost: cost.faults };
    rows("page faults", &faults, ("", None));
    Ok(())
}

fn reads(path: &Path, table: &mut Table) -> peer::Result<()> {
    let source = Reads::new(FileAt::open(path)?);
    let archive = Archive::from_source(source, &Options::default())?;
    let (calls, bytes) = archive.source().take();
    let toc = archive.toc().toc();
    let len = toc.total() - toc.offset();
    table.alone(
        "calls and bytes read at open",
        &format!("{calls} calls, {bytes} bytes"),
        &format!("header 16 + table {len}"),
        Some(bytes == 16 + len),
    );
    archive.walk_frames()?;
    let (calls, bytes) = archive.source().take();
    let (_, blob) = toc.zstd_blob().ok_or("the large archive has frames")?;
    let bound = blob.min(u64::from(toc.counts().entries) * 4096);
    table.alone(
        "calls and bytes of the frame walk",
        &format!("{calls} calls, {bytes} bytes"),
        &format!("<= min(blob, frames x 4 KiB) = {bound} bytes"),
        Some(bytes <= bound),
    );
    Ok(())
}

//! Headers of GGUF models.

pub(crate) mod child;

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use rocload::FileAt;
use rocload_benches::count::Reads;
use rocload_benches::table::{Table, megabytes, time as shown};
use rocload_benches::{gguf, peer, time};
use rocload_core::gguf::{Options, Reader, Summary};
use rocload_core::{Machine, Need};

use crate::HEAP;

const ROUNDS: usize = 21;
const CANDLE: &str = "candle-core";
const GGUF_RS: &str = "gguf-rs, all arrays";
const GGUF_RS_CUT: &str = "gguf-rs, 3 elements an array";
/// What the peer must take more, by ruling for the two large files.
const TIMES: f64 = 20.0;

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    eprintln!("  making the models, unless they are there");
    let (sparse, vocabulary, tiny) = (gguf::sparse(), gguf::vocabulary(), gguf::tiny());
    let ms = Duration::from_millis;
    header(&sparse, "6 GB sparse, 262,144 tokens", Some(ms(5)), true, table);
    header(&vocabulary, "vocabulary of 6 MB", Some(ms(2)), true, table);
    header(&tiny, "tiny model", None, false, table);
    eprintln!("  wanted keys, memory, allocations");
    wanted(&sparse, table)?;
    memory(&sparse, table)?;
    allocations(&sparse, table)
}

/// The whole header of one file, by everyone.
fn header(path: &Path, name: &str, most: Option<Duration>, ruled: bool, table: &mut Table) {
    eprintln!("  {name}");
    let [summary, check, candle, all, cut] = time::in_turns(
        ROUNDS,
        [
            &mut || time::of_the_second(|| gguf::open_summary(path).expect("reads")),
            &mut || time::of_the_second(|| gguf::open_check(path).expect("reads")),
            &mut || time::of_the_second(|| gguf::candle(path).expect("reads")),
            &mut || time::of(|| gguf::gguf_rs(path, u64::MAX).expect("reads")),
            &mut || time::of(|| gguf::gguf_rs(path, 3).expect("reads")),
        ],
    );
    let peers = [(CANDLE, &candle), (GGUF_RS, &all), (GGUF_RS_CUT, &cut)];
    for (what, ours, most) in [("summary", &summary, most), ("check", &check, None)] {
        let ours = ours.median();
        let what = format!("{name}: whole header, {what}");
        for (peer, theirs) in peers {
            let theirs = theirs.median();
            let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
            let target = match (peer, most) {
                (CANDLE, Some(most)) => (
                    format!("<= {} ms and {TIMES} times candle", most.as_millis()),
                    Some(ours <= most && ratio >= TIMES),
                ),
                (CANDLE, None) if ruled => (format!("{TIMES} times candle"), Some(ratio >= TIMES)),
                _ => (String::new(), None),
            };
            table.beside(&what, &shown(ours), (peer, Some(&shown(theirs))), (&target.0, target.1));
        }
    }
}

fn wanted(path: &Path, table: &mut Table) -> peer::Result<()> {
    let [ours, candle] = time::in_turns(
        ROUNDS,
        [&mut || time::of_the_second(|| gguf::open_wanted(path).expect("reads")), &mut || {
            time::of(|| gguf::candle(path).expect("reads"))
        }],
    );
    let what = format!("6 GB sparse: {} wanted keys", gguf::WANTED.len());
    let met = Some(ours.median() < Duration::from_millis(1));
    let theirs = shown(candle.median());
    table.beside(&what, &shown(ours.median()), (CANDLE, Some(&theirs)), ("< 1 ms", met));
    let source = Reads::new(FileAt::open(path)?);
    let keys = gguf::wanted(&source)?;
    let (calls, bytes) = source.take();
    let met = keys as usize == gguf::WANTED.len() && bytes <= 64 << 10;
    let text = format!("{calls} calls, {bytes} bytes");
    table.alone("calls and bytes read for them", &text, "<= 64 KiB", Some(met));
    gguf::summary(&source)?;
    let (calls, bytes) = source.take();
    let text = format!("{calls} calls, {bytes} bytes");
    table.alone("calls and bytes read for the whole header", &text, "", None);
    Ok(())
}

fn memory(path: &Path, table: &mut Table) -> peer::Result<()> {
    let processes = 9;
    let ours = child::measure("rocload", path, processes)?;
    let candle = child::measure("candle", path, processes)?;
    let all = child::measure("gguf-rs", path, processes)?;
    let small = child::measure("rocload", &gguf::tiny(), processes)?;
    for (what, of) in [
        ("its peak of resident memory", child::Cost::peak as fn(&child::Cost) -> f64),
        ("its peak of the heap", child::Cost::heap_peak),
    ] {
        // As much as for a file with a thousandth of the vocabulary, to the read-ahead.
        let met = of(&ours) <= of(&small) + f64::from(512 << 10);
        let figure = megabytes(of(&ours));
        let target = ("as of the tiny model and the read-ahead", Some(met));
        table.beside(what, &figure, (CANDLE, Some(&megabytes(of(&candle)))), target);
        table.beside(what, &figure, (GGUF_RS, Some(&megabytes(of(&all)))), ("", None));
    }
    table.beside(
        "first reading in a new process",
        &shown(ours.time),
        (CANDLE, Some(&shown(candle.time))),
        ("", None),
    );
    Ok(())
}

/// Calls of the allocator by the core reader over bytes in memory.
fn allocations(path: &Path, table: &mut Table) -> peer::Result<()> {
    let header = {
        use std::io::Read as _;
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(32 << 20).read_to_end(&mut bytes)?;
        bytes
    };
    HEAP.count();
    let before = HEAP.counted();
    let mut summary = Summary::new();
    let start = std::time::Instant::now();
    let mut reader =
        Reader::new(Some(gguf::SPARSE_BYTES), Options::default(), [0u8; 256], Summary::interest());
    while let Need::At { offset, .. } = reader.need() {
        let input = &header[offset as usize..];
        let step = reader.step(offset, input)?;
        if step.ready {
            summary.see(&reader.item(input));
        }
    }
    let time = start.elapsed();
    let after = HEAP.counted();
    black_box(&summary);
    if summary.tokens() != Some(gguf::SPARSE_TOKENS.into()) {
        return Err("the summary is wrong".into());
    }
    let calls = after.calls - before.calls;
    table.alone("allocations of the core reader", &calls.to_string(), "0", Some(calls == 0));
    table.alone("the core reader over a slice in memory", &shown(time).text, "", None);
    Ok(())
}

//! Prints every figure of serving as one Markdown table, each beside its peer's from the same run.
//!
//! `cargo build --release -p rocload-fake-server -p rocload-benches`, then
//! `target/release/serve_report`, with `ROCLOAD_LLAMA_SERVER` in the environment. README.md of this
//! crate, section "Serving", says what is measured.
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

mod bare;
#[path = "../report/machine.rs"]
mod machine;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rocload::blocking::Server;
use rocload::llama::Item;
use rocload::llama::request::{Completion, Prompt};
use rocload::serve::Event;
use rocload_benches::{memory, peer, time};

use bare::{Bare, READY_LINES, stream_raw};
use rocload_benches::table::{Figure, Table, megabytes, time as shown};

const STARTS: usize = 21;
/// Tokens of a stream whose cost is measured.
const TOKENS: u64 = 100_000;
const ROUNDS: usize = 7;
/// Tokens of an answer of the tiny model.
const ANSWER: i64 = 16;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => report(),
        ["child"] => child(),
        _ => Err("usage: serve_report".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("serve_report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> peer::Result<()> {
    let real = std::env::var_os("ROCLOAD_LLAMA_SERVER").ok_or("ROCLOAD_LLAMA_SERVER is not set")?;
    let real = PathBuf::from(real);
    let mut table = Table::default();
    ready(&real, &mut table)?;
    streaming(&mut table)?;
    whole(&real, &mut table)?;
    resident(&mut table)?;
    println!("{}\n\n{table}", machine::describe());
    Ok(())
}

fn model() -> PathBuf {
    rocload_fixtures::fixtures_dir().join("gguf/tiny-llama.gguf")
}

fn fake() -> peer::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("fake-llama-server");
    if path.exists() { Ok(path) } else { Err("build rocload-fake-server first, as release".into()) }
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// From the server's line that it is ready to when a caller knows.
fn ready(real: &Path, table: &mut Table) -> peer::Result<()> {
    let (mut ours, mut ticking) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let line = Arc::new(Mutex::new(None));
        let (seen, told) = (line.clone(), Arc::new(Mutex::new(None)));
        let tell = told.clone();
        let server = Server::builder(model())
            .program(real)
            .threads(1)
            .on_line(move |text| {
                if READY_LINES.iter().any(|ready| text.ends_with(ready.as_bytes())) {
                    seen.lock().expect("whole").get_or_insert_with(Instant::now);
                }
            })
            .on_event(move |event| {
                if matches!(event, Event::Ready { .. }) {
                    *tell.lock().expect("whole") = Some(Instant::now());
                }
            })
            .start()?;
        server.ready()?;
        let caller = Instant::now();
        server.stop(None)?;
        let line = line.lock().expect("whole").ok_or("the server did not say that it is ready")?;
        // The answer may be known before the line is.
        ours.push(caller.saturating_duration_since(line));

        let mut bare = Bare::start(real, &model())?;
        let caller = bare.wait(Duration::from_millis(100))?;
        ticking.push(caller.saturating_duration_since(bare.said_ready()?));
        bare.stop()?;
    }
    let (ours, ticking) = (middle(ours), middle(ticking));
    let met = Some(ours <= Duration::from_millis(30));
    table.beside(
        "from the server's line that it is ready to a caller's knowing it",
        &shown(ours),
        ("a question each 100 ms", Some(&shown(ticking))),
        ("<= 30 ms", met),
    );
    Ok(())
}

/// Processor time of this process so far, by all of its threads.
fn processor() -> peer::Result<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += text.split(' ').next().unwrap_or("0").parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

fn streaming(table: &mut Table) -> peer::Result<()> {
    let server = Server::builder(model())
        .program(fake()?)
        .args(["--fake", &format!("tokens={TOKENS}")])
        .start()?;
    let endpoint = server.ready()?.endpoint;
    let mut costs: [Vec<[Duration; 2]>; 2] = Default::default();
    for round in 0..=ROUNDS {
        for (which, costs) in costs.iter_mut().enumerate() {
            let (cpu, start) = (processor()?, Instant::now());
            let tokens = match which {
                0 => count(&server)?,
                _ => stream_raw(&endpoint)?,
            };
            let cost = [processor()?.saturating_sub(cpu), start.elapsed()];
            if tokens != TOKENS {
                return Err(format!("{tokens} tokens of {TOKENS}").into());
            }
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    server.stop(None)?;
    let median = |which: usize, what: usize| {
        let each = costs[which].iter().map(|cost| cost[what]).collect();
        middle(each).div_f64(TOKENS as f64)
    };
    let raw = "reading the bare socket";
    let ours = median(0, 0);
    table.beside(
        "processor time of a streamed token",
        &shown(ours),
        (raw, Some(&shown(median(1, 0)))),
        ("< 10 us", Some(ours < Duration::from_micros(10))),
    );
    let rate = |time: Duration| Figure {
        text: format!("{:.0} tokens/s", 1.0 / time.as_secs_f64()),
        cost: time.as_secs_f64(),
    };
    let (ours, theirs) = (rate(median(0, 1)), rate(median(1, 1)));
    table.beside("streamed tokens a second", &ours, (raw, Some(&theirs)), ("", None));
    Ok(())
}

/// Streams an answer and counts its tokens.
fn count(server: &Server) -> peer::Result<u64> {
    let mut generation = server.generate(&Completion::new(Prompt::Text("a")))?;
    let mut tokens = 0;
    while let Some(item) = generation.next()? {
        tokens += u64::from(matches!(item, Item::Text { .. }));
    }
    Ok(tokens)
}

/// A start, an answer and a stop.
fn whole(real: &Path, table: &mut Table) -> peer::Result<()> {
    let [ours, theirs] = time::in_turns(
        ROUNDS,
        [
            &mut || {
                time::of(|| {
                    let server =
                        Server::builder(model()).program(real).threads(1).start().expect("starts");
                    let mut completion = Completion::new(Prompt::Text("Hello"));
                    completion.sampling.n_predict = Some(ANSWER);
                    completion.sampling.ignore_eos = Some(true);
                    server
                        .generate(&completion)
                        .and_then(rocload::blocking::Generation::text)
                        .expect("answers");
                    server.stop(None).expect("stops");
                })
            },
            &mut || {
                time::of(|| {
                    let mut bare = Bare::start(real, &model()).expect("starts");
                    bare.wait(Duration::from_millis(1)).expect("is ready");
                    bare.answer(ANSWER).expect("answers");
                    bare.stop().expect("stops");
                })
            },
        ],
    );
    let (ours, theirs) = (ours.median(), theirs.median());
    table.beside(
        "start, an answer of 16 tokens and stop, tiny model",
        &shown(ours),
        ("the same by hand, asking each ms", Some(&shown(theirs))),
        ("< 2 s", Some(ours < Duration::from_secs(2))),
    );
    Ok(())
}

/// What a process has that only serves.
fn resident(table: &mut Table) -> peer::Result<()> {
    let output = Command::new(std::env::current_exe()?).arg("child").output()?;
    let text = String::from_utf8(output.stdout)?;
    let Some((before, peak)) = text.trim().split_once(' ') else {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    };
    let (before, peak): (f64, f64) = (before.parse()?, peak.parse()?);
    let ours = megabytes(peak);
    table.beside(
        "peak of resident memory, whole process",
        &ours,
        ("the process before it", Some(&megabytes(before))),
        ("< 10 MB", Some(peak < 10e6)),
    );
    Ok(())
}

/// Serves in a process of its own, with much output and a long stream, and prints what it had in
/// memory before and at most.
fn child() -> peer::Result<()> {
    let none = "no /proc to tell this process's memory";
    let before = memory::resident().ok_or(none)?.now;
    let server = Server::builder(model())
        .program(fake()?)
        .args(["--fake", "flood=10000000", "--fake", "tokens=20000"])
        .start()?;
    if count(&server)? == 0 {
        return Err("no token came".into());
    }
    server.stop(None)?;
    println!("{before} {}", memory::resident().ok_or(none)?.peak);
    Ok(())
}

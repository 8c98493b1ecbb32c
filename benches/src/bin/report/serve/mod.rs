//! Serving: how soon a server is known to be ready, and what a stream and a driver cost.

mod bare;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rocload::blocking::Server;
use rocload::llama::Item;
use rocload::llama::request::{Completion, Prompt};
use rocload::serve::Event;
use rocload_benches::table::{Figure, Table, megabytes, time as shown};
use rocload_benches::{input, memory, peer, time};

use bare::{Bare, READY_LINES, stream_raw};

const STARTS: usize = 21;
/// Tokens of a stream whose cost is measured.
const TOKENS: u64 = 100_000;
const ROUNDS: usize = 7;
/// Tokens of an answer of the tiny model.
const ANSWER: i64 = 16;

/// The name by which the real server is found, in the environment and in the cache's list.
const REAL: &str = "ROCLOAD_LLAMA_SERVER";

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    let real = real();
    match &real {
        Some(real) => {
            eprintln!("  {STARTS} starts of the real server");
            ready(real, table)?;
        }
        None => table.skipped("starts of the real server", NO_SERVER),
    }
    let fake = match fake() {
        Ok(fake) => fake,
        Err(why) => {
            table.skipped("streams of the fake server", &why.to_string());
            return Ok(());
        }
    };
    eprintln!("  streaming");
    streaming(&fake, table)?;
    if let Some(real) = &real {
        eprintln!("  starts, answers and stops");
        whole(real, table)?;
    }
    resident(&fake, table)
}

const NO_SERVER: &str = "no ROCLOAD_LLAMA_SERVER, and none in the cache (`.ci/run servers`)";

/// The true llama-server: by the environment, else the one that the gate keeps.
fn real() -> Option<PathBuf> {
    let noted = || {
        let text = fs::read_to_string(input::cache()?.join("servers/env")).ok()?;
        text.lines().find_map(|line| Some(line.strip_prefix(REAL)?.strip_prefix('=')?.into()))
    };
    env::var_os(REAL).map(PathBuf::from).or_else(noted).filter(|path| path.is_file())
}

fn model() -> PathBuf {
    rocload_fixtures::fixtures_dir().join("gguf/tiny-llama.gguf")
}

/// The project's fake server, built as this program is.
fn fake() -> peer::Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package=rocload-fake-server"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output()?;
    let path = env::current_exe()?.with_file_name("fake-llama-server");
    if output.status.success() && path.exists() {
        return Ok(path);
    }
    let log = String::from_utf8_lossy(&output.stderr);
    Err(log.lines().last().unwrap_or("it was built to another folder").into())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// From the server's line that it is ready to when a caller knows.
fn ready(real: &Path, table: &mut Table) -> peer::Result<()> {
    let (mut ours, mut ticking) = (Vec::new(), Vec::new());
    for _ in 0..time::rounds(STARTS) {
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

fn streaming(fake: &Path, table: &mut Table) -> peer::Result<()> {
    let server = Server::builder(model())
        .program(fake)
        .args(["--fake", &format!("tokens={TOKENS}")])
        .start()?;
    let endpoint = server.ready()?.endpoint;
    let mut costs: [Vec<[Duration; 2]>; 2] = Default::default();
    for round in 0..=time::rounds(ROUNDS) {
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
fn resident(fake: &Path, table: &mut Table) -> peer::Result<()> {
    let output = Command::new(env::current_exe()?).args(["child", "serve"]).arg(fake).output()?;
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
pub(crate) fn child(fake: &Path) -> peer::Result<()> {
    let none = "no /proc to tell this process's memory";
    let before = memory::resident().ok_or(none)?.now;
    let server = Server::builder(model())
        .program(fake)
        .args(["--fake", "flood=10000000", "--fake", "tokens=20000"])
        .start()?;
    if count(&server)? == 0 {
        return Err("no token came".into());
    }
    server.stop(None)?;
    println!("{before} {}", memory::resident().ok_or(none)?.peak);
    Ok(())
}

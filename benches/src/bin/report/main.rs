//! Every figure of the project, each beside its peers' from the same run: `report.md`, `report.json`
//! and plots.
//!
//! ```text
//! cargo run --release -p rocload-benches --bin report -- [SUBJECT...] [--out DIR] [--check] [--readme] [--quick]
//! ```
//!
//! README.md of this crate says what each subject measures. Each runs in a process of its own, so that
//! none inherits the memory, or the counting, of another. Close other programs first: the candidates
//! take turns, so that a disturbance meets all of them, but it is still one.
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

mod capi;
mod counts;
mod gguf;
mod gpu;
mod kpack;
mod machine;
mod serve;
mod sse;
mod subject;
mod write;
mod zstd;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use rocload_benches::count::Heap;
use rocload_benches::table::Table;
use rocload_benches::{input, peer, time};

use subject::{SUBJECTS, Subject};

/// Counts in the processes that measure memory, and where all times are taken.
#[global_allocator]
static HEAP: Heap = Heap::new();

const USAGE: &str = "usage: report [SUBJECT...] [--out DIR] [--check] [--readme] [--quick]
  --out DIR   where report.md, report.json and the plots go (target/report)
  --check     status 1 when a target is missed
  --readme    put the figures of these subjects into benches/README.md, and the plots beside it
  --quick     few rounds: to see that all of it runs, not for figures
subjects, all of them unless some are named: ";

/// What is asked for.
#[derive(Debug)]
struct Options {
    subjects: Vec<&'static Subject>,
    out: PathBuf,
    check: bool,
    readme: bool,
    quick: bool,
}

impl Options {
    /// `None` when it is not understood.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
        let out = input::target().join("report");
        let mut options =
            Options { subjects: Vec::new(), out, check: false, readme: false, quick: false };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--out" => options.out = arguments.next()?.into(),
                "--check" => options.check = true,
                "--readme" => options.readme = true,
                "--quick" => options.quick = true,
                name => options.subjects.push(Subject::named(name)?),
            }
        }
        // In their own order, each once.
        let asked = std::mem::take(&mut options.subjects);
        let wanted = |subject: &&Subject| {
            asked.is_empty() || asked.iter().any(|asked| asked.name == subject.name)
        };
        options.subjects = SUBJECTS.iter().filter(wanted).collect();
        Some(options)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["subject", name] => subject::run(name).map(|()| true),
        ["child", "serve", fake] => serve::child(fake.as_ref()).map(|()| true),
        ["child", what, path] => child(what, path).map(|()| true),
        _ => match Options::parse(arguments.into_iter()) {
            Some(options) => report(&options),
            None => {
                let names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
                eprintln!("{USAGE}{}", names.join(" "));
                return ExitCode::from(2);
            }
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("report: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a process costs that does nothing else.
fn child(what: &str, path: &str) -> peer::Result<()> {
    match what.split_once('/') {
        Some(("kpack", what)) => kpack::child::run(what, path.as_ref()),
        Some(("gguf", what)) => gguf::child::run(what, path.as_ref()),
        _ => Err("no such child".into()),
    }
}

/// Runs the subjects; whether all went well.
fn report(options: &Options) -> peer::Result<bool> {
    if options.quick {
        // SAFETY: no other thread has been started yet.
        unsafe { env::set_var(time::QUICK, "1") };
    }
    let mut found: Vec<(&Subject, Table)> = Vec::new();
    let mut broken = false;
    for (number, subject) in (1..).zip(&options.subjects) {
        eprintln!("[{number}/{}] {}: {}", options.subjects.len(), subject.name, subject.title);
        let table = subject.apart().unwrap_or_else(|error| {
            eprintln!("report: {}: {error}", subject.name);
            broken = true;
            let mut table = Table::default();
            table.alone(subject.title, &format!("failed: {error}"), "", None);
            table
        });
        found.push((subject, table));
    }
    write::all(options, &machine::describe(), &found)?;
    let rows = found.iter().flat_map(|(_, table)| &table.rows);
    let missed: Vec<_> = rows.clone().filter(|row| row.met == Some(false)).collect();
    let met = rows.filter(|row| row.met == Some(true)).count();
    eprintln!("{met} targets met, {} missed", missed.len());
    for row in &missed {
        let peer = row.peer.as_ref().map(|peer| format!(" beside {}", peer.name));
        let (figure, ours, target) = (&row.figure, &row.ours, &row.target);
        eprintln!("missed: {figure}{}: {ours}, wanted {target}", peer.unwrap_or_default());
    }
    Ok(!broken && (missed.is_empty() || !options.check))
}

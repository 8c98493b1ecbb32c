//! Instruction counts beside the committed baseline, by the program `counts`.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use rocload_benches::peer;
use rocload_benches::table::{Figure, Table};

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        table.skipped("instruction counts", "no valgrind");
        return Ok(());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts");
    let baseline = fs::read_to_string(folder.join("baseline.txt"))?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(cargo)
        .args(["run", "--quiet", "--package=rocload-counts", "--bin=counts", "--", "--print"])
        .current_dir(&folder)
        .output()?;
    let log = String::from_utf8_lossy(&ran.stderr);
    if log.contains("gungraun-runner") {
        table.skipped("instruction counts", "no gungraun-runner (`.ci/run counts` gets it)");
        return Ok(());
    }
    if !ran.status.success() {
        return Err(log.lines().last().unwrap_or("counts failed").into());
    }
    let counted = String::from_utf8(ran.stdout)?;
    for (name, count) in rows(&counted) {
        let figure = |count: f64| Figure { text: format!("{count:.0}"), cost: count };
        let before = rows(&baseline).find(|row| row.0 == name).map(|row| figure(row.1));
        let met = before.as_ref().map(|before| count <= before.cost * 1.05);
        let peer = ("the committed baseline", before.as_ref());
        table.beside(name, &figure(count), peer, ("<= 1.05 of it", met));
    }
    Ok(())
}

fn rows(text: &str) -> impl Iterator<Item = (&str, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        Some((name, count.trim().parse().ok()?))
    })
}

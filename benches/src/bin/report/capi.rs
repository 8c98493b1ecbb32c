//! The C library, measured by the program in C of the folder `capi`.

use std::path::Path;
use std::process::{Command, Stdio};

use rocload_benches::table::{Peer, Table};
use rocload_benches::{peer, time};

/// Rounds of the program.
const ROUNDS: usize = 31;

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    let tool = |name: &str| Command::new(name).arg("--version").output().is_ok();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    if !tool(&compiler) {
        table.skipped("the C library", "no C compiler");
        return Ok(());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("capi/run.sh");
    let ran = Command::new(script)
        .arg(time::rounds(ROUNDS).to_string())
        .stderr(Stdio::piped())
        .output()?;
    let log = String::from_utf8_lossy(&ran.stderr);
    if log.contains("zstd.h") {
        table.skipped("the C library", "no header of libzstd (Debian: libzstd-dev)");
        return Ok(());
    }
    if !ran.status.success() {
        return Err(log.lines().last().unwrap_or("run.sh failed").into());
    }
    for line in String::from_utf8(ran.stdout)?.lines() {
        row(line, table)?;
    }
    Ok(())
}

/// A line of the program: figure, ours, peer, its figure, ratio, target, and 1 or 0 for met.
fn row(line: &str, table: &mut Table) -> peer::Result<()> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [figure, ours, name, shown, ratio, target, met] = fields[..] else {
        return Err(format!("no line of the program: {line:?}").into());
    };
    let ratio = if ratio.is_empty() { None } else { Some(ratio.parse()?) };
    let some = |text: &str| if text.is_empty() { "-".into() } else { text.to_string() };
    let peer = (!name.is_empty()).then(|| Peer {
        name: name.into(),
        shown: some(shown),
        ratio,
        spread: None,
    });
    let met = (!target.is_empty()).then_some(met == "1");
    table.push(figure, &some(ours), peer, (target, met));
    Ok(())
}

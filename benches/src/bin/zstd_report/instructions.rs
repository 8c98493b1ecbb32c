//! Instructions a byte, counted by the example `zstd_instructions` of the core.

use std::env;
use std::process::Command;

use crate::decoder::Which;
use crate::table::Table;

pub(crate) fn measure(table: &mut Table) {
    eprintln!("instructions");
    match counts() {
        Ok(counts) => table.instructions(counts),
        Err(why) => table.skipped("instructions a byte", &why),
    }
}

/// In the order of [`Which::ALL`].
fn counts() -> Result<[f64; Which::ALL.len()], String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--package=rocload-core", "--features=ruzstd"])
        .arg("--example=zstd_instructions")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    let shown = String::from_utf8_lossy(&output.stdout);
    let count = |name: &str| {
        let mut lines = shown.lines().map(str::split_whitespace);
        lines.find_map(|mut words| {
            (words.next() == Some(name)).then(|| words.next()?.parse::<f64>().ok())?
        })
    };
    let counts = Which::ALL.map(|which| match which {
        Which::C => count("c"),
        Which::Fast => count("fast"),
        Which::Small => count("small"),
        Which::Ruzstd => count("ruzstd"),
    });
    if counts.contains(&None) {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(log.lines().last().unwrap_or("the example counted nothing").into());
    }
    Ok(counts.map(Option::unwrap_or_default))
}

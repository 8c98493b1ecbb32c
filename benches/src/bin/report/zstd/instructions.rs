//! Instructions a byte, counted by the example `zstd_instructions` of the core.

use std::env;
use std::process::Command;

use rocload_benches::table::{Figure, Table};

use super::decoder::Which;

pub(crate) fn measure(table: &mut Table) {
    eprintln!("  instructions");
    match counts() {
        Ok(counts) => {
            let figure = |cost: f64| Figure { text: format!("{cost:.2}"), cost };
            let [c, fast, small, ruzstd] = counts.map(figure);
            let what = "instructions a byte, 40 code objects";
            let met = Some(fast.cost <= 12.6);
            let fast_layout = format!("{what}, fast layout");
            table.beside(&fast_layout, &fast, (super::C, Some(&c)), ("<= 12.6", met));
            table.beside(&fast_layout, &fast, ("ruzstd", Some(&ruzstd)), ("", None));
            let what = format!("{what}, small layout");
            table.beside(&what, &small, (super::C, Some(&c)), ("", None));
        }
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

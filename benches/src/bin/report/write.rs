//! The files of a report.

use std::fs;
use std::path::Path;

use rocload_benches::peer;
use rocload_benches::plot::{bars, lines};
use rocload_benches::table::{Line, Table};

use crate::Options;
use crate::subject::Subject;

type Found<'f> = [(&'f Subject, Table)];

/// Writes Markdown, JSON and plots into the folder, and into README.md what was asked for.
pub(crate) fn all(options: &Options, machine: &str, found: &Found<'_>) -> peer::Result<()> {
    let out = &options.out;
    fs::create_dir_all(out)?;
    let plots = plots(found);
    let mut text = format!("# Figures\n\n{machine}\n");
    if options.quick {
        text.push_str("\nFew rounds were taken: the figures are rough.\n");
    }
    for (name, title, svg) in &plots {
        put(&out.join(format!("{name}.svg")), svg)?;
        text.push_str(&format!("\n![{title}]({name}.svg)\n"));
    }
    for (subject, table) in found {
        text.push_str(&format!("\n## {}\n\n{table}", subject.title));
    }
    put(&out.join("report.md"), &text)?;
    put(&out.join("report.json"), &json(machine, options.quick, found)?)?;
    if options.readme {
        readme(machine, found, &plots)?;
    }
    println!("{}", out.join("report.md").display());
    Ok(())
}

/// Under a temporary name first.
fn put(path: &Path, text: &str) -> peer::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    Ok(fs::rename(new, path)?)
}

/// Each plot that there are figures for: name, title, SVG.
fn plots(found: &Found<'_>) -> Vec<(&'static str, &'static str, String)> {
    let mut plots = Vec::new();
    // Counts stand beside themselves: no peer.
    let peers = found.iter().filter(|(subject, _)| subject.name != "counts");
    let groups: Vec<_> = peers.map(|(subject, table)| (subject.title, &*table.rows)).collect();
    let title = "How many times better than each peer";
    if let Some(svg) = bars::ratios(title, &groups) {
        plots.push(("ratios", title, svg));
    }
    let chosen = |plot: &str| -> Vec<&Line> {
        let all = found.iter().flat_map(|(_, table)| &table.lines);
        all.filter(|line| line.plot == plot).collect()
    };
    let title = "Decoding every kernel of an archive";
    let axes = [lines::Axis::twofold("threads"), lines::Axis::linear("MB/s, decoded")];
    if let Some(svg) = lines::plot(title, axes, &chosen("decode")) {
        plots.push(("decode", title, svg));
    }
    let title = "Opening an archive, index included";
    let axes = ["kernels in the archive", "ms"].map(lines::Axis::tenfold);
    if let Some(svg) = lines::plot(title, axes, &chosen("open")) {
        plots.push(("open", title, svg));
    }
    plots
}

fn json(machine: &str, quick: bool, found: &Found<'_>) -> peer::Result<String> {
    let subjects: serde_json::Map<String, serde_json::Value> = found
        .iter()
        .map(|(subject, table)| Ok((subject.name.into(), serde_json::to_value(table)?)))
        .collect::<peer::Result<_>>()?;
    let whole = serde_json::json!({ "machine": machine, "quick": quick, "subjects": subjects });
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}

/// Puts the tables between the marks of their subjects in README.md, and the plots into `plots/`.
fn readme(machine: &str, found: &Found<'_>, plots: &[(&str, &str, String)]) -> peer::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("README.md");
    let mut text = fs::read_to_string(&path)?;
    for (subject, table) in found {
        text = between(&text, subject.name, &format!("{machine}\n\n{table}"))?;
    }
    put(&path, &text)?;
    let folder = root.join("plots");
    fs::create_dir_all(&folder)?;
    plots.iter().try_for_each(|(name, _, svg)| put(&folder.join(format!("{name}.svg")), svg))
}

/// The text with `new` between the marks of that name.
fn between(text: &str, name: &str, new: &str) -> peer::Result<String> {
    let (begin, end) = (format!("<!-- figures: {name} -->\n"), "<!-- end -->\n");
    let missing = || format!("README.md has no marks for the figures of {name}");
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n{}\n\n{end}{after}", new.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::SUBJECTS;

    #[test]
    fn figures_stand_between_their_marks_and_nowhere_else() {
        let text =
            "a\n<!-- figures: x -->\nold\n<!-- end -->\nb\n<!-- figures: y -->\n<!-- end -->\n";
        let new = between(text, "x", "| new |\n").unwrap();
        let expected = text.replace("old", "\n| new |\n");
        assert_eq!(new, expected);
        assert_eq!(between(&new, "x", "| new |").unwrap(), expected);
        assert!(between(text, "z", "").is_err());
    }

    #[test]
    fn the_readme_has_marks_for_every_subject() {
        let text = include_str!("../../../README.md");
        for subject in &SUBJECTS {
            between(text, subject.name, "").unwrap();
        }
    }
}

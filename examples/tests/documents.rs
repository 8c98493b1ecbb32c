//! The documents agree with the project: links lead somewhere, tables say what the code says.

use std::fs;
use std::path::{Path, PathBuf};

use rocload_core::Limits;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Markdown file of the project.
fn documents() -> Vec<PathBuf> {
    fn look(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let skipped =
                name.starts_with('.') && name != ".ci" || name == "target" || name == "corpus";
            if path.is_dir() && !path.is_symlink() && !skipped {
                look(&path, found);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    look(&root(), &mut found);
    found
}

/// The targets of a text's links, without those in code.
fn links(text: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code {
            continue;
        }
        for part in line.split("](").skip(1) {
            links.push(part.split(')').next().unwrap());
        }
    }
    links
}

/// A heading as a link names it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() > 40, "{documents:?}");
    let mut broken = Vec::new();
    for document in &documents {
        let text = read(document);
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap().join(file)
            };
            let headed = || {
                let text = read(&target);
                let mut headings =
                    text.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
                headings.any(|line| anchor(line) == heading)
            };
            if !target.exists() || !heading.is_empty() && !headed() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// What stands in the documentation comments of a file.
fn comments(path: &Path) -> String {
    let text = read(path);
    let lines = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let text = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
        Some(format!("{}\n", text.strip_prefix(' ').unwrap_or(text)))
    });
    lines.collect()
}

#[test]
fn graphs_are_those_of_the_modules() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let mut graphs = 0;
    for part in text.split("<!-- from: ").skip(1) {
        let (file, rest) = part.split_once(" -->\n```text\n").unwrap();
        let graph = rest.split("```").next().unwrap();
        let there = comments(&root().join(file)).contains(&format!("```text\n{graph}```\n"));
        assert!(there, "{file} has another graph than:\n{graph}");
        graphs += 1;
    }
    assert!(graphs >= 20, "{graphs}");
}

/// The rows of the table that follows a line, cell by cell.
fn table<'t>(text: &'t str, after: &str) -> Vec<Vec<&'t str>> {
    let rest = text.split(after).nth(1).unwrap_or_else(|| panic!("{after}"));
    let rows = rest
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = |row: &'t str| row.trim_matches('|').split(" | ").map(str::trim).collect();
    rows.skip(2).map(cells).collect()
}

/// A number as people write it: `64 KiB`, `2^20`, `4,096`.
fn number(text: &str) -> u64 {
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    let shift = match unit {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => panic!("{text}"),
    };
    let digits = digits.replace(',', "");
    let value = match digits.split_once('^') {
        Some((base, power)) => base.parse::<u64>().unwrap().pow(power.parse().unwrap()),
        None => digits.parse().unwrap(),
    };
    value << shift
}

/// The fields of a value and their numbers, by what it prints for debugging.
fn fields(limits: &Limits) -> Vec<(String, u64)> {
    let text = format!("{limits:?}");
    let inside = text.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).unwrap().0;
    let field = |pair: &str| {
        let (name, value) = pair.split_once(": ").unwrap();
        (name.trim().to_owned(), value.trim().parse().unwrap())
    };
    inside.split(", ").map(field).collect()
}

#[test]
fn limits_are_those_of_the_code() {
    let text = read(&root().join("SECURITY.md"));
    let rows = table(&text, "<!-- limits -->");
    let (desktop, embedded) = (fields(&Limits::default()), fields(&Limits::embedded()));
    assert_eq!(rows.len(), desktop.len(), "one row a field");
    for ((row, (name, most)), (_, small)) in rows.iter().zip(desktop).zip(embedded) {
        assert_eq!(row[0], format!("`{name}`"));
        assert_eq!((number(row[1]), number(row[2])), (most, small), "{name}");
    }
}

#[test]
fn what_peers_cannot_do_is_tested_here() {
    let text = read(&root().join("README.md"));
    let rows = table(&text, "<!-- peers -->");
    assert!(rows.len() >= 15, "{rows:?}");
    for row in rows {
        let proof = row.last().unwrap();
        assert!(proof.contains("]("), "no test: {row:?}");
        for part in proof.split('[').skip(1) {
            let (name, rest) = part.split_once("](").unwrap();
            let file = root().join(rest.split(')').next().unwrap());
            let name = name.trim_matches('`');
            // A function, a field of a test's table, or the file as a whole.
            let named = read(&file).contains(name) || file.ends_with(name);
            assert!(named, "{} has no {name}", file.display());
        }
    }
}

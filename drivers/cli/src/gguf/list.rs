//! `rocload gguf list`: the models of a folder.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rocload::core::gguf::fit::{Settings, Verdict};
use rocload::core::gguf::{Hparam, Short, TextField};
use rocload::discover::{Found, Options, discover};
use rocload::error::printable;
use rocload::model::ShardFault;
use serde::Serialize;

use super::fit::{Budget, word};
use super::judge::lacking;
use super::value::string;
use crate::failure::{Failure, Status, judge, printable_path};
use crate::text;
use crate::ui::{FAINT, Ui};

/// List the models of folders: what they are, and whether they fit
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf list models
  rocload gguf list --recursive ~/models --vram 24G
  rocload gguf list --json models | jq -r 'select(.fits == \"fits\") | .file'

FITS? is judged by the files' sizes; with --exact by the memory that llama-server will need, as
`rocload gguf fit` does. Shards are listed as one model; whether one fits of which a shard is missing
or broken is not known. A file that cannot be read is told with its reason, and the exit status is
that of the worst, as of `rocload gguf verify`.")]
pub(super) struct List {
    /// Folders
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Look into folders in them too
    #[arg(short, long)]
    recursive: bool,
    /// Follow links to folders
    #[arg(short = 'L', long)]
    follow: bool,
    /// Hidden files and folders too
    #[arg(long)]
    hidden: bool,
    /// Judge by the memory that is needed, not by the size of files
    #[arg(long)]
    exact: bool,
    #[command(flatten)]
    budget: Budget,
}

struct Row {
    cells: [String; 6],
    note: String,
}

const HEADS: [&str; 6] = ["NAME", "ARCH", "QUANTIZATION", "SIZE", "CONTEXT", "FITS?"];
/// Columns of numbers.
const RIGHT: [bool; 6] = [false, false, false, true, true, false];
/// Characters that a column has room for; a longer cell pushes the rest of its line.
const WIDEST: usize = 48;

impl List {
    pub(super) fn run(self, ui: &mut Ui) {
        let options = Options {
            recursive: self.recursive,
            follow_links: self.follow,
            hidden: self.hidden,
            ..Options::default()
        };
        let budget = match self.budget.bytes() {
            Ok(budget) => budget.map(|(bytes, _)| bytes),
            Err(failure) => return ui.fail(&failure),
        };
        for folder in &self.folders {
            let found = match discover(folder, &options) {
                Ok(found) => found,
                Err(error) => {
                    ui.fail(&Failure::library(&error, folder));
                    continue;
                }
            };
            let (mut rows, mut failures) = (Vec::new(), Vec::new());
            for model in found {
                if ui.is_closed() {
                    return;
                }
                match model {
                    Ok(found) => {
                        // It is listed, and what is wrong with it is in its note.
                        ui.note(status(&found));
                        if ui.json {
                            ui.json_line(&self.json(&found, budget));
                        } else {
                            rows.push(self.row(folder, &found, budget));
                        }
                    }
                    Err(error) => {
                        let path = error.path().unwrap_or(folder).to_path_buf();
                        failures.push(Failure::library(&error, &path));
                    }
                }
            }
            if !ui.json {
                print(ui, folder, &rows);
            }
            for failure in &failures {
                ui.fail(failure);
            }
        }
    }

    /// Whether the model fits: a word for programs, one for people.
    fn fits(&self, found: &Found, budget: Option<u64>) -> (&'static str, String) {
        let Some(budget) = budget else { return ("unknown", "?".into()) };
        if !is_whole(found) {
            return ("unknown", "?".into());
        }
        if !self.exact {
            let fits = found.size().saturating_add(self.budget.margin) <= budget;
            return if fits { ("fits", "yes".into()) } else { ("does_not_fit", "no".into()) };
        }
        let settings = Settings { margin: self.budget.margin, ..Settings::default() };
        let law = found.facts.fit(&settings, Some(found.weights()));
        let verdict = law.map_or_else(Verdict::Unknown, |law| law.verdict(budget));
        let text = match verdict {
            Verdict::Fits => "yes".into(),
            Verdict::FitsWithCtx(context) => format!("ctx {context}"),
            Verdict::DoesNotFit => "no".into(),
            Verdict::Unknown(_) => "?".into(),
        };
        (word(verdict), text)
    }

    fn row(&self, folder: &Path, found: &Found, budget: Option<u64>) -> Row {
        let summary = found.facts.summary();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let path = found.path.strip_prefix(folder).unwrap_or(&found.path);
        let context = summary.get(Hparam::ContextLength).value();
        Row {
            cells: [
                printable_path(path),
                or_dash(summary.architecture().map(printable).filter(|text| !text.is_empty())),
                or_dash(summary.file_type().map(|ty| ty.to_string())),
                text::size(found.size()),
                or_dash(context.map(text::number)),
                self.fits(found, budget).1,
            ],
            note: note(found),
        }
    }

    fn json<'a>(&self, found: &'a Found, budget: Option<u64>) -> ModelJson<'a> {
        let summary = found.facts.summary();
        let text = |field| {
            let short = summary.text_of(field).value();
            short.map(|short| {
                let bytes = short.as_bytes();
                // A long one is cut, perhaps within a character.
                match std::str::from_utf8(bytes) {
                    Err(e) if bytes.len() == Short::CAPACITY && e.error_len().is_none() => {
                        string(&bytes[..e.valid_up_to()])
                    }
                    _ => string(bytes),
                }
            })
        };
        ModelJson {
            file: found.path.to_string_lossy(),
            name: text(TextField::Name),
            kind: summary.kind().name(),
            architecture: text(TextField::Architecture),
            file_type: summary.file_type().map(|ty| ty.to_string()),
            size: found.size(),
            parameters: summary.parameters(),
            context_length: summary.get(Hparam::ContextLength).value(),
            fits: self.fits(found, budget).0,
            why: (!is_whole(found)).then_some("the set of shards is not whole"),
            exact: self.exact,
            missing_bytes: found.facts.verdict().missing,
            shards: found.set.as_ref().map(|set| set.count),
            missing_shards: found.set.as_ref().map_or(&[], |set| &set.missing),
            note: Some(note(found)).filter(|note| !note.is_empty()),
        }
    }
}

/// All files of the model's set are there, and nothing is wrong with one.
fn is_whole(found: &Found) -> bool {
    match &found.set {
        Some(set) => set.is_whole(),
        None => found.facts.files(&found.path).is_ok_and(|files| files == 1),
    }
}

/// The exit status that a set of shards calls for, as `verify` has it.
fn status(found: &Found) -> Status {
    let Some(set) = &found.set else { return Status::Fine };
    let of = |(_, fault): &(PathBuf, ShardFault)| match fault {
        ShardFault::Unreadable(error) => judge(error).0,
        _ => Status::Malformed,
    };
    let missing = if set.missing.is_empty() { Status::Fine } else { Status::NotFound };
    let whole = if set.fault.is_some() { Status::Malformed } else { Status::Fine };
    set.faults.iter().map(of).chain([missing, whole]).max().unwrap_or_default()
}

/// What is wrong with a model that can be read, or that it has several files.
fn note(found: &Found) -> String {
    let short = |missing: u64| format!("{} missing", text::count(missing, "byte", "bytes"));
    let Some(set) = &found.set else {
        let own = found.facts.files(&found.path).err().map(|fault| fault.to_string());
        return match found.facts.verdict().missing {
            Some(missing @ 1..) => short(missing),
            _ => own.unwrap_or_default(),
        };
    };
    if set.is_whole() {
        return format!("{} shards", set.count);
    }
    let mut parts = Vec::new();
    if !set.missing.is_empty() {
        let names = lacking(&found.path, &set.missing);
        parts.push(format!("{} of {} shards missing: {names}", set.missing.len(), set.count));
    }
    if let Some((path, fault)) = set.faults.first() {
        let why = match fault {
            ShardFault::Unreadable(error) => error.fault(),
            ShardFault::Disagrees(fault) => fault.to_string(),
            ShardFault::Short(missing) => short(*missing),
            _ => "it is at fault".into(),
        };
        let name = path.file_name().unwrap_or(path.as_os_str());
        let more = match set.faults.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        parts.push(format!("{}: {why}{more}", printable(name.as_encoded_bytes())));
    }
    parts.extend(set.fault.iter().map(ToString::to_string));
    parts.join("; ")
}

fn print(ui: &mut Ui, folder: &Path, rows: &[Row]) {
    let quiet = ui.quiet;
    let out = ui.out();
    let mut widths = HEADS.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.chars().count().min(WIDEST));
        }
    }
    let line = |cells: [&str; 6]| {
        let mut line = String::new();
        for ((cell, width), right) in cells.into_iter().zip(widths).zip(RIGHT).take(5) {
            line += &if right { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
        }
        line + cells[5]
    };
    if !quiet && !rows.is_empty() {
        let _ = writeln!(out, "{FAINT}{}{FAINT:#}", line(HEADS));
    }
    for row in rows {
        let cells = row.cells.each_ref().map(String::as_str);
        let note = if row.note.is_empty() { String::new() } else { format!("  ({})", row.note) };
        let _ = writeln!(out, "{}{FAINT}{note}{FAINT:#}", line(cells));
    }
    if !quiet {
        let count = text::count(rows.len() as u64, "model", "models");
        let _ = writeln!(out, "{FAINT}{count} in {}{FAINT:#}", printable_path(folder));
    }
}

#[derive(Serialize)]
struct ModelJson<'a> {
    file: std::borrow::Cow<'a, str>,
    name: Option<serde_json::Value>,
    kind: &'static str,
    architecture: Option<serde_json::Value>,
    file_type: Option<String>,
    size: u64,
    parameters: u64,
    context_length: Option<u64>,
    fits: &'static str,
    /// Why it is unknown of a set that is not whole.
    why: Option<&'static str>,
    exact: bool,
    missing_bytes: Option<u64>,
    shards: Option<u32>,
    missing_shards: &'a [u32],
    note: Option<String>,
}

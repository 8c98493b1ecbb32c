//! `rocload gguf verify`: are models sound and whole?

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rocload::core::gguf::Strictness;
use rocload::model::Options;
use serde::Serialize;

use super::input::{self, Input};
use super::judge::{self, RemarkJson};
use crate::failure::{ErrorBody, Failure, Status, printable_path};
use crate::text;
use crate::ui::{GOOD, STRONG, Ui};

/// Check that models are sound and whole: the header, tensors against the file, shards
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf verify model.gguf
  rocload gguf verify --quiet models/*.gguf && echo sound
  rocload gguf verify --strict=llama model.gguf

What is unusual and can be read is a warning on standard error. --strict refuses what the
specification does not allow, --strict=llama what llama.cpp's own header reader does not take.
Exit status: 3 for a fault or missing data, 4 for a missing file or shard; of several the worst.
Tensor data is not looked at: compare it by `rocload gguf hash`.")]
pub(super) struct Verify {
    /// Models; - is a header on standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Refuse more: by the specification's rules, or llama.cpp's
    #[arg(long, value_name = "RULES", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "spec")]
    strict: Option<Rules>,
}

/// Whose rules hold.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Rules {
    /// The specification's
    Spec,
    /// Those of llama.cpp's header reader
    Llama,
}

impl Verify {
    pub(super) fn run(self, ui: &mut Ui) {
        let mut options = Options::default();
        options.strictness = match self.strict {
            None => Strictness::Tolerant,
            Some(Rules::Spec) => Strictness::Specification,
            Some(Rules::Llama) => Strictness::Llama,
        };
        for path in input::expand(ui, &self.files) {
            if ui.is_closed() {
                return;
            }
            match input::open(&path, &options) {
                Ok(input) => check(ui, &input),
                Err(failure) if ui.json => {
                    ui.note(failure.status);
                    let verdict = match failure.status {
                        Status::Malformed => "malformed",
                        _ => "unread",
                    };
                    ui.json_line(&VerifyJson {
                        file: path.to_string_lossy().into_owned(),
                        ok: false,
                        verdict,
                        missing_bytes: None,
                        trailing_bytes: None,
                        gap_bytes: None,
                        shards: None,
                        missing_shards: &[],
                        warnings: Vec::new(),
                        errors: vec![failure.body()],
                    });
                }
                Err(failure) => ui.fail(&failure),
            }
        }
    }
}

/// Judges a file that opens.
fn check(ui: &mut Ui, input: &Input) {
    let (path, facts) = (&*input.path, input.model.facts());
    let mut failures: Vec<Failure> = judge::short(path, facts).into_iter().collect();
    let set = match judge::set(input) {
        Ok(set) => set,
        Err(failure) => {
            failures.push(failure);
            None
        }
    };
    let short = !facts.verdict().is_whole();
    if let Some(set) = &set {
        failures.extend(set.failures.iter().cloned());
    }
    let verdict = match (short, failures.is_empty(), facts.verdict().warnings) {
        (true, ..) => "short",
        (_, false, _) => "set",
        (_, _, 0) => "ok",
        _ => "warn",
    };
    if ui.json {
        failures.iter().for_each(|failure| ui.note(failure.status));
        let verdict_of = facts.verdict();
        ui.json_line(&VerifyJson {
            file: path.to_string_lossy().into_owned(),
            ok: failures.is_empty(),
            verdict,
            missing_bytes: verdict_of.missing,
            trailing_bytes: verdict_of.trailing,
            gap_bytes: verdict_of.gaps,
            shards: set.as_ref().map(|set| set.count),
            missing_shards: set.as_ref().map_or(&[], |set| &set.missing),
            warnings: RemarkJson::all(facts),
            errors: failures.iter().map(Failure::body).collect(),
        });
        return;
    }
    judge::warn(ui, path, facts);
    if failures.is_empty() {
        if !ui.quiet {
            print_ok(ui, path, input, set.map(|set| set.count));
        }
    } else {
        ui.fail_all(&failures, &printable_path(path));
    }
}

fn print_ok(ui: &mut Ui, path: &Path, input: &Input, shards: Option<u32>) {
    let facts = input.model.facts();
    let mut about = vec![
        text::count(facts.header().tensors, "tensor", "tensors"),
        text::size(facts.total().unwrap_or(facts.verdict().needed)),
    ];
    about.extend(shards.map(|count| format!("with all {count} shards")));
    if facts.total().is_none() {
        about.push("the header alone".into());
    }
    if facts.verdict().warnings > 0 {
        about.push(text::count(facts.verdict().warnings, "warning", "warnings"));
    }
    let path = printable_path(path);
    let _ = writeln!(ui.out(), "{STRONG}{path}{STRONG:#}: {GOOD}ok{GOOD:#}, {}", about.join(", "));
}

#[derive(Serialize)]
struct VerifyJson<'a> {
    file: String,
    ok: bool,
    verdict: &'static str,
    missing_bytes: Option<u64>,
    trailing_bytes: Option<u64>,
    gap_bytes: Option<u64>,
    shards: Option<u32>,
    missing_shards: &'a [u32],
    warnings: Vec<RemarkJson>,
    errors: Vec<ErrorBody<'a>>,
}

//! `rocload gguf show`: what a model is, under its file's own key names.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use rocload::core::gguf::{Endian, Field, Item, Key, ValueKind, ValueType, Want};
use rocload::error::printable;
use rocload::model::Facts;
use serde::Serialize;

use super::input::{self, Input};
use super::judge::{self, RemarkJson};
use super::value::{JsonValue, Preview, type_name};
use crate::failure::{Failure, printable_path};
use crate::json;
use crate::text;
use crate::ui::{FAINT, STRONG, Ui};

/// Show what models are: their keys, shortened, and sizes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf show model.gguf
  rocload gguf show --all model.gguf
  rocload gguf show --json model.gguf | jq '.keys[] | select(.key | startswith(\"general.\"))'
  head -c 20000000 model.gguf | rocload gguf show -

With --json every key comes with its whole value.")]
pub(super) struct Show {
    /// Models; - is a header on standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Show every key
    #[arg(long)]
    all: bool,
}

impl Show {
    pub(super) fn run(self, ui: &mut Ui) {
        for path in input::expand(ui, &self.files) {
            if ui.is_closed() {
                return;
            }
            let Some(input) = input::open_or_tell(ui, &path) else { continue };
            let shown = if ui.json { print_json(ui, &input) } else { print(ui, &input, self.all) };
            if let Err(error) = shown {
                ui.fail(&Failure::library(&error, &path));
            }
            judge::warn(ui, &path, input.model.facts());
            if let Some(failure) = judge::short(&path, input.model.facts()) {
                ui.fail(&failure);
            }
        }
    }
}

/// The keys that a card has room for.
fn on_card(key: &Key<'_>, architecture: Option<&[u8]>) -> bool {
    let long = match key.kind {
        ValueKind::Array { element, len } => element == ValueType::Array || len > 1024,
        _ => false,
    };
    let own = architecture.is_some_and(|architecture| key.of(architecture).is_some());
    let general = [&b"general."[..], b"split.", b"adapter.", b"imatrix."];
    let name = key.name;
    let vocabulary =
        name == b"tokenizer.ggml.tokens" || name.starts_with(b"tokenizer.chat_template");
    vocabulary
        || name.strip_prefix(b"tokenizer.ggml.").is_some_and(|rest| {
            matches!(rest, b"model" | b"pre")
                || rest.ends_with(b"_token_id")
                || rest.ends_with(b"_token")
        })
        || (!long && (own || general.iter().any(|prefix| name.starts_with(prefix))))
}

const WIDTH: usize = 40;

fn print(ui: &mut Ui, input: &Input, all: bool) -> Result<(), rocload::Error> {
    let facts = input.model.facts();
    let architecture = facts.summary().architecture().map(<[u8]>::to_vec);
    let file_type = facts.summary().file_type().map_or_else(String::new, |ty| format!(" ({ty})"));
    let quiet = ui.quiet;
    let out = ui.out();
    if !quiet {
        let _ =
            writeln!(out, "{STRONG}{}{STRONG:#}: {}", printable_path(&input.path), about(facts));
    }
    let (mut shown, mut open): (u64, Option<(String, Preview)>) = (0, None);
    let mut flush = |open: &mut Option<(String, Preview)>| {
        if let Some((name, preview)) = open.take() {
            let meaning = if name == Field::FileType.key() { file_type.as_str() } else { "" };
            let _ = writeln!(out, "  {FAINT}{name:<WIDTH$}{FAINT:#}  {}{meaning}", preview.line());
        }
    };
    let wanted = |key: &Key<'_>| {
        if all || on_card(key, architecture.as_deref()) { Want::Value } else { Want::Nothing }
    };
    let _ = input.model.visit(wanted, |item| {
        match item {
            Item::Key(key) => {
                flush(&mut open);
                shown += 1;
                open = Some((printable(key.name), Preview::new(key.kind)));
            }
            Item::Tensor(_) => return ControlFlow::Break(()),
            item => {
                if let Some((_, preview)) = &mut open {
                    preview.see(item);
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    flush(&mut open);
    if !quiet {
        let keys = facts.header().keys;
        let rest = if shown < keys { " (--all shows every one)" } else { "" };
        let (shown, keys) = (text::number(shown), text::count(keys, "key", "keys"));
        let _ = writeln!(ui.out(), "  {FAINT}showing {shown} of {keys}{rest}{FAINT:#}");
    }
    Ok(())
}

/// The file in a line.
fn about(facts: &Facts) -> String {
    let (summary, header) = (facts.summary(), facts.header());
    let mut parts = vec![summary.kind().to_string()];
    if let Some(architecture) = summary.architecture() {
        parts.push(printable(architecture));
    }
    if let Some(ty) = summary.file_type() {
        parts.push(ty.to_string());
    }
    let tensors = text::count(header.tensors, "tensor", "tensors");
    parts.push(format!("{} in {tensors}", parameters(summary.parameters())));
    parts.push(text::size(facts.total().unwrap_or(facts.verdict().needed)));
    parts.push(format!("v{}", header.version));
    if header.endian == Endian::Big {
        parts.push("big-endian".into());
    }
    parts.join(", ")
}

/// A number of parameters: `7.2 B`.
pub(super) fn parameters(count: u64) -> String {
    let (value, unit) = match count {
        0..1_000 => return text::count(count, "parameter", "parameters"),
        1_000..1_000_000 => (count as f64 / 1e3, "K"),
        1_000_000..1_000_000_000 => (count as f64 / 1e6, "M"),
        _ => (count as f64 / 1e9, "B"),
    };
    if value < 99.95 {
        format!("{value:.1} {unit} parameters")
    } else {
        format!("{value:.0} {unit} parameters")
    }
}

/// What stands in front of the keys.
#[derive(Serialize)]
struct HeadJson<'a> {
    file: std::borrow::Cow<'a, str>,
    version: u32,
    endian: String,
    kind: &'static str,
    architecture: Option<serde_json::Value>,
    file_type: Option<String>,
    size: Option<u64>,
    alignment: u32,
    data_offset: u64,
    data_bytes: u64,
    missing_bytes: Option<u64>,
    tensors: u64,
    parameters: u64,
    warnings: Vec<RemarkJson>,
}

fn head<'a>(path: &'a Path, facts: &Facts) -> HeadJson<'a> {
    let (summary, header, verdict) = (facts.summary(), facts.header(), facts.verdict());
    HeadJson {
        file: path.to_string_lossy(),
        version: header.version,
        endian: header.endian.to_string(),
        kind: summary.kind().name(),
        architecture: summary.architecture().map(super::value::string),
        file_type: summary.file_type().map(|ty| ty.to_string()),
        size: facts.total(),
        alignment: verdict.start.alignment,
        data_offset: verdict.start.offset,
        data_bytes: verdict.data_bytes,
        missing_bytes: verdict.missing,
        tensors: header.tensors,
        parameters: summary.parameters(),
        warnings: RemarkJson::all(facts),
    }
}

/// One object a line. Keys are written while they are read.
fn print_json(ui: &mut Ui, input: &Input) -> Result<(), rocload::Error> {
    let out = ui.out();
    let mut line = Vec::new();
    let _ = json::write(&mut line, &head(&input.path, input.model.facts()));
    line.pop();
    let _ = out.write_all(&line);
    let _ = out.write_all(b",\"keys\":[");
    let mut open: Option<JsonValue> = None;
    let walked = input.model.visit(Want::Value, |item| {
        match item {
            Item::Key(key) => {
                let separator: &[u8] = if key.ordinal > 0 { b",{\"key\":" } else { b"{\"key\":" };
                if let Some(value) = open.take() {
                    value.end(&mut *out);
                    let _ = out.write_all(b"}");
                }
                let _ = out.write_all(separator);
                let _ = json::write(&mut *out, &String::from_utf8_lossy(key.name));
                let _ = out.write_all(b",\"type\":");
                let _ = json::write(&mut *out, &type_name(key.kind));
                let _ = out.write_all(b",\"value\":");
                open = Some(JsonValue::begin(&mut *out, key.kind));
            }
            Item::Tensor(_) => return ControlFlow::Break(()),
            item => {
                if let Some(value) = &mut open {
                    value.see(&mut *out, item);
                }
            }
        }
        ControlFlow::Continue(())
    });
    if let Some(value) = open.take() {
        value.end(&mut *out);
        let _ = out.write_all(b"}");
    }
    let _ = out.write_all(b"]}\n");
    walked.map(|_| ())
}

//! `rocload gguf get`: one value, raw.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use rocload::core::gguf::{Item, Key, Short, Want};

use super::input::{Front, Input};
use super::raw::RawOut;
use super::value::{JsonValue, type_name};
use crate::failure::{Failure, Status};
use crate::json;
use crate::suggest;
use crate::ui::Ui;

/// Print the value of one key as it is, for scripts
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf get model.gguf general.architecture
  rocload gguf get model.gguf '{arch}.context_length'
  rocload gguf get model.gguf tokenizer.ggml.tokens | wc -l

{arch} stands for the value of general.architecture. An array comes one element a line. A key that
is not there is an error (exit status 4). No more of the file is read than up to the key, so the
front of a model that is still to come is enough.")]
pub(super) struct Get {
    /// The model; - is a header on standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The key
    #[arg(value_name = "KEY")]
    key: String,
}

impl Get {
    pub(super) fn run(self, ui: &mut Ui) {
        if let Err(failure) = self.get(ui) {
            ui.fail(&failure);
        }
    }

    fn get(&self, ui: &mut Ui) -> Result<(), Failure> {
        let of_architecture = self.key.starts_with("{arch}.");
        let keys = ["general.architecture", &self.key];
        let front = Front::open(&self.file, if of_architecture { &keys } else { &keys[1..] })?;
        let name =
            if of_architecture { resolved(&front, &self.key) } else { Some(self.key.clone()) };
        // Once without printing: what is told must be whole.
        if let Some(name) = name.filter(|name| has(&front, name)) {
            let mut show = |see: &mut See<'_>| Ok(front.visit(&[name.as_str()], see));
            let shown = print(ui, &self.file, &mut show)?;
            return match shown {
                true => Ok(()),
                false => {
                    let text = "the model changed while it was read";
                    Err(Failure::new(Status::Failed, "changed", text).at(&self.file))
                }
            };
        }
        let input = front.whole()?;
        let name = named(&input, self.key.as_bytes());
        let mut show = |see: &mut See<'_>| {
            let walked = input.model.visit(only(&name), see);
            walked.map(|_| true).map_err(|error| Failure::library(&error, &self.file))
        };
        match print(ui, &self.file, &mut show)? {
            true => Ok(()),
            false => Err(missing(&input, &name)),
        }
    }
}

/// What is shown of the items of one key.
type See<'s> = dyn FnMut(&Item<'_>) -> ControlFlow<()> + 's;
/// Shows the items of one key.
type Show<'s> = dyn FnMut(&mut See<'_>) -> Result<bool, Failure> + 's;

/// A key in whose name `{arch}` stands for the model's architecture, in full.
pub(super) fn named(input: &Input, key: &[u8]) -> Vec<u8> {
    match (key.strip_prefix(b"{arch}."), input.model.facts().summary().architecture()) {
        (Some(rest), Some(architecture)) => [architecture, b".", rest].concat(),
        _ => key.to_vec(),
    }
}

/// As [`named`], by the front of a file.
fn resolved(front: &Front, key: &str) -> Option<String> {
    let mut architecture = Vec::new();
    let sound = front.visit(&["general.architecture"], |item| {
        if let Item::Text(text) = item {
            let room = Short::CAPACITY.saturating_sub(architecture.len());
            architecture.extend_from_slice(&text.bytes[..text.bytes.len().min(room)]);
        }
        ControlFlow::Continue(())
    });
    let architecture =
        String::from_utf8(architecture).ok().filter(|text| sound && !text.is_empty());
    architecture.map(|architecture| key.replacen("{arch}", &architecture, 1))
}

/// Whether the front has the whole of this key and its value.
fn has(front: &Front, name: &str) -> bool {
    let mut found = false;
    let sound = front.visit(&[name], |item| {
        found |= matches!(item, Item::Key(_));
        ControlFlow::Continue(())
    });
    sound && found
}

/// The error that a key is not there, and which may have been meant.
pub(super) fn missing(input: &Input, name: &[u8]) -> Failure {
    let mut names: Vec<Vec<u8>> = Vec::new();
    let _ = input.model.visit(Want::Key, |item| match item {
        Item::Key(key) if names.len() < 50_000 && key.name.len() <= 256 => {
            names.push(key.name.to_vec());
            ControlFlow::Continue(())
        }
        Item::Tensor(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let shown = rocload::error::shortened(name);
    let failure = Failure::new(Status::NotFound, "no_key", format!("there is no key {shown}"));
    let near = suggest::nearest(name, names.iter().map(Vec::as_slice));
    let failure = failure.at(&input.path);
    match suggest::question(&near) {
        Some(question) => failure.hint(question),
        None => failure,
    }
}

fn only(name: &[u8]) -> impl FnMut(&Key<'_>) -> Want {
    move |key| if key.name == name { Want::Value } else { Want::Nothing }
}

/// Prints what is shown; whether there was a key.
fn print(ui: &mut Ui, path: &Path, show: &mut Show<'_>) -> Result<bool, Failure> {
    if ui.json { as_json(ui, path, show) } else { raw(ui, show) }
}

fn raw(ui: &mut Ui, show: &mut Show<'_>) -> Result<bool, Failure> {
    let mut out = RawOut::new(ui);
    let (mut found, mut ended) = (false, true);
    let walked = show(&mut |item| {
        match item {
            // A second key of this name is no value of the first.
            Item::Key(_) if found => return ControlFlow::Break(()),
            Item::Key(key) => {
                found = true;
                ended = !matches!(key.kind, rocload::core::gguf::ValueKind::String { .. });
            }
            Item::Value(value) => out.number(*value),
            Item::Text(text) => {
                out.write(text.bytes);
                if text.is_last() {
                    out.write(b"\n");
                    ended = true;
                }
            }
            Item::Elements(elements) => elements.iter().for_each(|value| out.number(value)),
            Item::Tensor(_) => return ControlFlow::Break(()),
            _ => {}
        }
        if out.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if !ended && walked.is_ok() {
        // A string of no bytes.
        out.write(b"\n");
    }
    out.end(ui);
    walked.map(|sound| sound && found)
}

fn as_json(ui: &mut Ui, path: &Path, show: &mut Show<'_>) -> Result<bool, Failure> {
    // An array is many small pieces.
    let mut out = BufWriter::with_capacity(64 << 10, ui.out());
    let mut open: Option<JsonValue> = None;
    let walked = show(&mut |item| {
        match item {
            Item::Key(_) if open.is_some() => return ControlFlow::Break(()),
            Item::Key(key) => {
                let _ = out.write_all(b"{\"file\":");
                let _ = json::write(&mut out, &path.to_string_lossy());
                let _ = out.write_all(b",\"key\":");
                let _ = json::write(&mut out, &String::from_utf8_lossy(key.name));
                let _ = out.write_all(b",\"type\":");
                let _ = json::write(&mut out, &type_name(key.kind));
                let _ = out.write_all(b",\"value\":");
                open = Some(JsonValue::begin(&mut out, key.kind));
            }
            Item::Tensor(_) => return ControlFlow::Break(()),
            item => {
                if let Some(value) = &mut open {
                    value.see(&mut out, item);
                }
            }
        }
        ControlFlow::Continue(())
    });
    let found = open.is_some();
    if let Some(value) = open.take() {
        value.end(&mut out);
        let _ = out.write_all(b"}\n");
    }
    let _ = out.flush();
    drop(out);
    walked.map(|sound| sound && found)
}

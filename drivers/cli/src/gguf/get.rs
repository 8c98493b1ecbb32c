//! `rocload gguf get`: one value, raw.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use rocload::core::gguf::{Item, Key, Want};

use super::input::{self, Input};
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
is not there is an error (exit status 4).")]
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
        let Some(input) = input::open_or_tell(ui, &self.file) else { return };
        let mut name = self.key.clone().into_bytes();
        if let (Some(rest), Some(architecture)) =
            (self.key.strip_prefix("{arch}"), input.model.facts().summary().architecture())
        {
            name = [architecture, rest.as_bytes()].concat();
        }
        let found = if ui.json { as_json(ui, &input, &name) } else { raw(ui, &input, &name) };
        match found {
            Ok(true) => {}
            Ok(false) => ui.fail(&missing(&input, &name)),
            Err(error) => ui.fail(&Failure::library(&error, &self.file)),
        }
    }
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

fn raw(ui: &mut Ui, input: &Input, name: &[u8]) -> Result<bool, rocload::Error> {
    let mut out = RawOut::new(ui);
    let (mut found, mut ended) = (false, true);
    let walked = input.model.visit(only(name), |item| {
        match item {
            // A second key of this name is no value of the first.
            Item::Key(_) if found => return ControlFlow::Break(()),
            Item::Key(key) => {
                found = true;
                ended = !matches!(key.kind, rocload::core::gguf::ValueKind::String { .. });
            }
            Item::Value(value) => out.write(format!("{value}\n").as_bytes()),
            Item::Text(text) => {
                out.write(text.bytes);
                if text.is_last() {
                    out.write(b"\n");
                    ended = true;
                }
            }
            Item::Elements(elements) => {
                for value in elements.iter() {
                    out.write(format!("{value}\n").as_bytes());
                }
            }
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
    walked.map(|_| found)
}

fn as_json(ui: &mut Ui, input: &Input, name: &[u8]) -> Result<bool, rocload::Error> {
    let out = ui.out();
    let mut open: Option<JsonValue> = None;
    let walked = input.model.visit(only(name), |item| {
        match item {
            Item::Key(_) if open.is_some() => return ControlFlow::Break(()),
            Item::Key(key) => {
                let _ = out.write_all(b"{\"file\":");
                let _ = json::write(&mut *out, &input.path.to_string_lossy());
                let _ = out.write_all(b",\"key\":");
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
    let found = open.is_some();
    if let Some(value) = open.take() {
        value.end(&mut *out);
        let _ = out.write_all(b"}\n");
    }
    walked.map(|_| found)
}

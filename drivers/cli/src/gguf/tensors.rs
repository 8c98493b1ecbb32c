//! `rocload gguf tensors`: the tensor table.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use rocload::core::gguf::{Item, Want};
use rocload::error::printable;
use serde::Serialize;

use super::input::{self, Input};
use crate::failure::{Failure, printable_path};
use crate::json;
use crate::text;
use crate::ui::{FAINT, STRONG, Ui};

/// List the tensors of models: names, types, dimensions, sizes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf tensors model.gguf
  rocload gguf tensors --json model.gguf | jq -r '.tensors[] | [.name, .type, .size] | @tsv'

The first dimension is that of a row. Offsets are absolute.")]
pub(super) struct Tensors {
    /// Models; - is a header on standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Tensors {
    pub(super) fn run(self, ui: &mut Ui) {
        for path in input::expand(ui, &self.files) {
            if ui.is_closed() {
                return;
            }
            let Some(input) = input::open_or_tell(ui, &path) else { continue };
            let shown = if ui.json { print_json(ui, &input) } else { print(ui, &input) };
            if let Err(error) = shown {
                ui.fail(&Failure::library(&error, &path));
            }
        }
    }
}

fn print(ui: &mut Ui, input: &Input) -> Result<(), rocload::Error> {
    let facts = input.model.facts();
    let start = facts.verdict().start.offset;
    let quiet = ui.quiet;
    let out = ui.out();
    if !quiet {
        let count = text::count(facts.header().tensors, "tensor", "tensors");
        let bytes = text::size(facts.verdict().data_bytes);
        let _ =
            writeln!(out, "{STRONG}{}{STRONG:#}: {count}, {bytes}", printable_path(&input.path));
        let _ = writeln!(
            out,
            "{FAINT}  {:<8}  {:>9}  {:>14}  {:<24}  NAME{FAINT:#}",
            "TYPE", "SIZE", "OFFSET", "DIMENSIONS"
        );
    }
    let walked = input.model.visit(Want::Nothing, |item| {
        if let Item::Tensor(tensor) = item {
            let info = tensor.info;
            let size = info.size.map_or_else(|| "?".into(), text::size);
            let dims: Vec<String> = info.dims().iter().map(u64::to_string).collect();
            let (dims, offset) = (dims.join(" x "), start.saturating_add(info.offset));
            let (ty, name) = (info.ty.to_string(), printable(tensor.name));
            let _ = writeln!(out, "  {ty:<8}  {size:>9}  {offset:>14}  {dims:<24}  {name}");
        }
        ControlFlow::<()>::Continue(())
    });
    walked.map(|_| ())
}

#[derive(Serialize)]
struct TensorJson<'a> {
    name: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    #[serde(rename = "type")]
    ty: String,
    type_id: u32,
    dims: &'a [u64],
    elements: u64,
    size: Option<u64>,
    offset: u64,
}

fn print_json(ui: &mut Ui, input: &Input) -> Result<(), rocload::Error> {
    let start = input.model.facts().verdict().start.offset;
    let out = ui.out();
    let _ = out.write_all(b"{\"file\":");
    let _ = json::write(&mut *out, &input.path.to_string_lossy());
    let _ = write!(out, ",\"data_offset\":{start},\"tensors\":[");
    let walked = input.model.visit(Want::Nothing, |item| {
        if let Item::Tensor(tensor) = item {
            let info = tensor.info;
            if info.ordinal > 0 {
                let _ = out.write_all(b",");
            }
            let name = String::from_utf8_lossy(tensor.name);
            let hex = std::str::from_utf8(tensor.name).is_err().then(|| text::hex(tensor.name));
            let row = TensorJson {
                name,
                name_hex: hex,
                ty: info.ty.to_string(),
                type_id: info.ty.0,
                dims: info.dims(),
                elements: info.elements,
                size: info.size,
                offset: start.saturating_add(info.offset),
            };
            let _ = json::write(&mut *out, &row);
        }
        ControlFlow::<()>::Continue(())
    });
    let _ = out.write_all(b"]}\n");
    walked.map(|_| ())
}

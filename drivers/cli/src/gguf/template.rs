//! `rocload gguf template`: a model's chat template.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use rocload::core::gguf::Summary;
use rocload::error::printable;
use serde::Serialize;

use super::input;
use super::raw::RawOut;
use crate::failure::{Failure, Status};
use crate::text;
use crate::ui::Ui;

/// Print the chat template of models
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf template model.gguf > template.jinja
  rocload gguf template --list model.gguf
  rocload gguf template --name tool_use model.gguf

A model without the template is an error (exit status 4).")]
pub(super) struct Template {
    /// Models; - is a header on standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The template of this name, instead of the default one
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    name: Option<String>,
    /// List the templates by name
    #[arg(long)]
    list: bool,
}

#[derive(Serialize)]
struct TemplateJson<'a> {
    file: std::borrow::Cow<'a, str>,
    name: Option<&'a str>,
    template: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
struct ListJson<'a> {
    file: std::borrow::Cow<'a, str>,
    templates: Vec<NameJson>,
}

#[derive(Serialize)]
struct NameJson {
    name: Option<String>,
    bytes: u64,
}

impl Template {
    pub(super) fn run(self, ui: &mut Ui) {
        for path in input::expand(ui, &self.files) {
            if ui.is_closed() {
                return;
            }
            let Some(input) = input::open_or_tell(ui, &path) else { continue };
            let summary = input.model.facts().summary();
            if self.list {
                list(ui, &path, summary);
                continue;
            }
            let key = match &self.name {
                Some(name) => format!("tokenizer.chat_template.{name}"),
                None => "tokenizer.chat_template".into(),
            };
            match input.model.text(key.as_bytes()) {
                Ok(Some(template)) if ui.json => ui.json_line(&TemplateJson {
                    file: path.to_string_lossy(),
                    name: self.name.as_deref(),
                    template: String::from_utf8_lossy(&template),
                }),
                Ok(Some(template)) => {
                    let mut out = RawOut::new(ui);
                    out.write(&template);
                    if !template.ends_with(b"\n") {
                        out.write(b"\n");
                    }
                    out.end(ui);
                }
                Ok(None) => ui.fail(&none(summary, self.name.as_deref()).at(&path)),
                Err(error) => ui.fail(&Failure::library(&error, &path)),
            }
        }
    }
}

/// The names of templates other than the default one.
fn named(summary: &Summary) -> impl Iterator<Item = &[u8]> {
    summary
        .templates()
        .iter()
        .map(|template| template.name.as_bytes())
        .filter(|name| !name.is_empty())
}

fn none(summary: &Summary, name: Option<&str>) -> Failure {
    let message = match name {
        Some(name) => format!("the model has no chat template {}", printable(name.as_bytes())),
        None => "the model has no default chat template".to_owned(),
    };
    let failure = Failure::new(Status::NotFound, "no_template", message);
    let names: Vec<String> = named(summary).map(printable).collect();
    match names.is_empty() {
        true => failure,
        false => failure.hint(format!("it has these by --name: {}", names.join(", "))),
    }
}

fn list(ui: &mut Ui, path: &std::path::Path, summary: &Summary) {
    if ui.json {
        let json = |template: &rocload::core::gguf::Template| NameJson {
            name: (!template.name.is_empty())
                .then(|| String::from_utf8_lossy(template.name.as_bytes()).into_owned()),
            bytes: template.len,
        };
        let templates = summary.templates().iter().map(json).collect();
        return ui.json_line(&ListJson { file: path.to_string_lossy(), templates });
    }
    for template in summary.templates() {
        let name = match template.name.as_bytes() {
            [] => "(default)".into(),
            name => printable(name),
        };
        let bytes = text::count(template.len, "byte", "bytes");
        let _ = writeln!(ui.out(), "{name}  {bytes}");
    }
    let (all, told) = (summary.template_count(), summary.templates().len());
    if all > told {
        ui.remark(&format!("{} more are not listed", all - told));
    }
}

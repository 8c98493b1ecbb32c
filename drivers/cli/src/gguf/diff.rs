//! `rocload gguf diff`: what two models have of keys and tensors that the other has not.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use rocload::core::gguf::{Item, Scalar, ValueKind, Want};
use rocload::error::printable;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::input::{self, Input};
use super::value::Preview;
use crate::failure::{Failure, Status, printable_path};
use crate::text;
use crate::ui::{BAD, FAINT, GOOD, Ui};

/// Compare two models: keys and their values, tensors and their shapes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf diff old.gguf new.gguf
  rocload gguf diff --json old.gguf new.gguf | jq .keys

- is only in the first, + only in the second, ~ differs. Values are compared whole, whatever their
files' version and byte order. Exit status: 0 the same, 1 different. Tensor data is compared by
`rocload gguf hash`.")]
pub(super) struct Diff {
    /// The first model
    #[arg(value_name = "A")]
    one: PathBuf,
    /// The other model
    #[arg(value_name = "B")]
    other: PathBuf,
}

/// Names and previews that are kept of one file, in bytes.
const MOST: usize = 12 << 20;

/// A key or tensor as it is compared and as it is shown.
#[derive(Debug, PartialEq, Eq)]
struct Side {
    digest: [u8; 32],
    line: String,
}

type Sides = BTreeMap<Vec<u8>, Side>;

impl Diff {
    pub(super) fn run(self, ui: &mut Ui) {
        let (one, other) =
            (input::open_or_tell(ui, &self.one), input::open_or_tell(ui, &self.other));
        let (Some(one), Some(other)) = (one, other) else { return };
        let (one, other) = match (sides(&one), sides(&other)) {
            (Ok(one), Ok(other)) => (one, other),
            (one, other) => {
                for failure in [one.err(), other.err()].into_iter().flatten() {
                    ui.fail(&failure);
                }
                return;
            }
        };
        let keys = compare(&one.0, &other.0);
        let tensors = compare(&one.1, &other.1);
        let same = keys.is_empty() && tensors.is_empty();
        if !same {
            ui.note(Status::Failed);
        }
        if ui.json {
            ui.json_line(&DiffJson {
                a: self.one.to_string_lossy().into_owned(),
                b: self.other.to_string_lossy().into_owned(),
                same,
                keys: &keys,
                tensors: &tensors,
            });
        } else {
            print(ui, &keys, "", (&self.one, &self.other));
            print(ui, &tensors, "tensor ", (&self.one, &self.other));
            if same && !ui.quiet {
                let (keys, tensors) = (one.0.len() as u64, one.1.len() as u64);
                let keys = text::count(keys, "key", "keys");
                let tensors = text::count(tensors, "tensor", "tensors");
                let _ = writeln!(ui.out(), "the same {keys} and {tensors}");
            }
        }
    }
}

#[derive(Serialize)]
struct DiffJson<'a> {
    a: String,
    b: String,
    same: bool,
    keys: &'a [Change<'a>],
    tensors: &'a [Change<'a>],
}

/// A name that differs.
#[derive(Serialize)]
struct Change<'a> {
    name: String,
    /// In the first file; `None` = it is not there.
    a: Option<&'a str>,
    b: Option<&'a str>,
}

fn compare<'a>(one: &'a Sides, other: &'a Sides) -> Vec<Change<'a>> {
    let mut names: Vec<&[u8]> = one.keys().chain(other.keys()).map(Vec::as_slice).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter(|name| {
            one.get(*name).map(|side| side.digest) != other.get(*name).map(|side| side.digest)
        })
        .map(|name| Change {
            name: String::from_utf8_lossy(name).into_owned(),
            a: one.get(name).map(|side| side.line.as_str()),
            b: other.get(name).map(|side| side.line.as_str()),
        })
        .collect()
}

fn print(ui: &mut Ui, changes: &[Change<'_>], what: &str, (one, other): (&Path, &Path)) {
    if ui.verbose && !changes.is_empty() {
        let (one, other) = (printable_path(one), printable_path(other));
        let _ = writeln!(ui.out(), "{FAINT}- {one}\n+ {other}{FAINT:#}");
    }
    let out = ui.out();
    for Change { name, a, b } in changes {
        let name = printable(name.as_bytes());
        let _ = match (a, b) {
            (Some(a), Some(b)) if a != b => {
                writeln!(out, "~ {what}{name}: {BAD}{a}{BAD:#} -> {GOOD}{b}{GOOD:#}")
            }
            (Some(a), Some(_)) => writeln!(out, "~ {what}{name}: {a} (differs further on)"),
            (Some(a), None) => writeln!(out, "{BAD}- {what}{name}: {a}{BAD:#}"),
            (None, Some(b)) => writeln!(out, "{GOOD}+ {what}{name}: {b}{GOOD:#}"),
            (None, None) => Ok(()),
        };
    }
}

/// The keys and the tensors of a model.
fn sides(input: &Input) -> Result<(Sides, Sides), Failure> {
    let (mut keys, mut tensors) = (Sides::new(), Sides::new());
    let mut open: Option<(Vec<u8>, Sha256, Preview)> = None;
    let mut size = 0;
    let close = |open: &mut Option<(Vec<u8>, Sha256, Preview)>, keys: &mut Sides| {
        if let Some((name, digest, preview)) = open.take() {
            keys.insert(name, Side { digest: digest.finalize().into(), line: preview.line() });
        }
    };
    let walked = input.model.visit(Want::Value, |item| {
        match item {
            Item::Key(key) => {
                close(&mut open, &mut keys);
                size += key.name.len() + 256;
                let mut digest = Sha256::new();
                begin(&mut digest, key.kind);
                open = Some((key.name.to_vec(), digest, Preview::new(key.kind)));
            }
            Item::Tensor(tensor) => {
                close(&mut open, &mut keys);
                let dims: Vec<String> = tensor.info.dims().iter().map(u64::to_string).collect();
                let line = format!("{} [{}]", tensor.info.ty, dims.join(", "));
                size += tensor.name.len() + 128;
                let digest = Sha256::digest(line.as_bytes()).into();
                tensors.insert(tensor.name.to_vec(), Side { digest, line });
            }
            item => {
                if let Some((_, digest, preview)) = &mut open {
                    preview.see(item);
                    value(digest, item);
                }
            }
        }
        if size > MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match walked {
        Ok(ControlFlow::Continue(())) => {}
        Ok(ControlFlow::Break(())) => {
            let text = format!("names of more than {} are not compared", text::size(MOST as u64));
            return Err(Failure::new(Status::Malformed, "limit", text).at(&input.path));
        }
        Err(error) => return Err(Failure::library(&error, &input.path)),
    }
    close(&mut open, &mut keys);
    Ok((keys, tensors))
}

fn begin(digest: &mut Sha256, kind: ValueKind) {
    digest.update(kind.to_string().as_bytes());
    digest.update([0]);
}

/// A value's bytes in one order, whatever the file's.
fn value(digest: &mut Sha256, item: &Item<'_>) {
    let mut put = |scalar: Scalar| match scalar {
        Scalar::U8(value) => digest.update([value]),
        Scalar::I8(value) => digest.update(value.to_le_bytes()),
        Scalar::U16(value) => digest.update(value.to_le_bytes()),
        Scalar::I16(value) => digest.update(value.to_le_bytes()),
        Scalar::U32(value) => digest.update(value.to_le_bytes()),
        Scalar::I32(value) => digest.update(value.to_le_bytes()),
        Scalar::F32(value) => digest.update(value.to_le_bytes()),
        Scalar::Bool(value) => digest.update([u8::from(value)]),
        Scalar::U64(value) => digest.update(value.to_le_bytes()),
        Scalar::I64(value) => digest.update(value.to_le_bytes()),
        Scalar::F64(value) => digest.update(value.to_le_bytes()),
    };
    match item {
        Item::Value(value) => put(*value),
        Item::Elements(elements) => elements.iter().for_each(put),
        Item::Text(text) => {
            if text.start == 0 {
                digest.update(text.of.to_le_bytes());
            }
            digest.update(text.bytes);
        }
        Item::Inner { element, len, .. } => {
            digest.update(format!("{element}[{len}]").as_bytes());
        }
        _ => {}
    }
}

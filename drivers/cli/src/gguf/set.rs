//! `rocload gguf set`: other metadata, the same tensors, in a new file.
//!
//! What is not named is copied as it stands, byte for byte: the other keys, the tensor table, the
//! data. So nothing is lost that this version does not understand, and no key is kept in memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::gguf::write::{ALIGNMENT_KEY, Encoder, Value as Written, WriteFault};
use rocload::core::gguf::{Item, Scalar, ValueKind, ValueType, Want};
use rocload::model::Options;
use rocload::{FileAt, Model, ReadAt};
use serde::Serialize;
use serde_json::Value;

use super::input::{self, Input};
use super::value::type_of;
use crate::failure::{Failure, Status, printable_path};
use crate::output::{Output, Replace};
use crate::text;
use crate::ui::{STRONG, Ui};

/// Write a copy of a model with other metadata
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf set model.gguf general.name='My model' -o renamed.gguf
  rocload gguf set model.gguf tokenizer.ggml.add_bos_token=false -o new.gguf
  rocload gguf set model.gguf my.key:u32=7 'my.list:string[]=[\"a\",\"b\"]' -o new.gguf
  rocload gguf set model.gguf --remove general.source.url -o new.gguf

A value has the type of the key that is there, or the one that is given: u8 to u64, i8 to i64, f32,
f64, bool, string, and arrays as u32[]=[1,2]. A new key needs a type. Tensors are copied as they
are, so general.alignment stays. {arch} at the front of a key stands for the value of
general.architecture. Floats of an array may be \"NaN\", \"inf\" and \"-inf\" as well.")]
pub(super) struct Set {
    /// The model
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Keys and their new values, as KEY=VALUE or KEY:TYPE=VALUE
    #[arg(value_name = "KEY=VALUE")]
    changes: Vec<String>,
    /// Leave out a key
    #[arg(long, value_name = "KEY")]
    remove: Vec<String>,
    /// The file to write
    #[arg(short, long, value_name = "NEW")]
    output: PathBuf,
    /// Replace NEW if it is there
    #[arg(short, long)]
    force: bool,
}

/// A change as it was typed.
#[derive(Debug)]
struct Change {
    key: String,
    /// The type, and whether it is an array of it.
    ty: Option<(ValueType, bool)>,
    /// `None` = the key is to be left out.
    value: Option<String>,
    /// Where the key and its value stand, once they were found: from its first byte to behind
    /// its last.
    found: Option<(u64, u64, ValueKind)>,
}

fn parse(argument: &str) -> Result<Change, String> {
    let Some((left, value)) = argument.split_once('=') else {
        return Err(format!("'{argument}' is not of the form KEY=VALUE"));
    };
    let (key, ty) = match left.rsplit_once(':') {
        None => (left, None),
        Some((key, ty)) => {
            let (name, array) = ty.strip_suffix("[]").map_or((ty, false), |name| (name, true));
            match type_of(name).filter(|ty| *ty != ValueType::Array) {
                Some(found) => (key, Some((found, array))),
                None => {
                    return Err(format!(
                        "'{ty}' is no type: u8 to u64, i8 to i64, f32, f64, bool, string"
                    ));
                }
            }
        }
    };
    if key.is_empty() {
        return Err(format!("'{argument}' names no key"));
    }
    Ok(Change { key: key.into(), ty, value: Some(value.into()), found: None })
}

impl Set {
    pub(super) fn check(&self) -> Result<(), (UsageKind, String)> {
        if self.changes.is_empty() && self.remove.is_empty() {
            let text = "nothing is to be changed: give KEY=VALUE or --remove KEY";
            return Err((UsageKind::MissingRequiredArgument, text.into()));
        }
        let changes = self.changes().map_err(|text| (UsageKind::InvalidValue, text))?;
        for (at, change) in changes.iter().enumerate() {
            if changes[..at].iter().any(|other| other.key == change.key) {
                return Err((
                    UsageKind::ArgumentConflict,
                    format!("'{}' is given twice", change.key),
                ));
            }
            if change.key.as_bytes() == ALIGNMENT_KEY {
                let text =
                    "general.alignment stays as it is: the tensors are copied in their places";
                return Err((UsageKind::InvalidValue, text.into()));
            }
        }
        Ok(())
    }

    fn changes(&self) -> Result<Vec<Change>, String> {
        let removed = self
            .remove
            .iter()
            .map(|key| Ok(Change { key: key.clone(), ty: None, value: None, found: None }));
        self.changes.iter().map(|argument| parse(argument)).chain(removed).collect()
    }

    pub(super) fn run(self, ui: &mut Ui) {
        if let Err(failure) = self.set(ui) {
            ui.fail(&failure);
        }
    }

    fn set(self, ui: &mut Ui) -> Result<(), Failure> {
        let usage = |text: String| Failure::new(Status::Usage, "usage", text);
        let mut changes = self.changes().map_err(usage)?;
        let input = input::open(&self.file, &Options::default())?;
        if !input.is_file() {
            return Err(usage("a header on standard input has no tensors to copy".into()));
        }
        if let Some(failure) = super::judge::short(&self.file, input.model.facts()) {
            return Err(failure);
        }
        resolve(&input, &mut changes)?;
        let plan = plan(&input, &mut changes)?;
        let replace = if self.force { Replace::Yes } else { Replace::No };
        let written = Output::create(&self.output, replace).and_then(|mut output| {
            plan.write(&input, output.file())?;
            let size = whole(output.file(), &input, &plan)?;
            output.commit()?;
            Ok(size)
        });
        let size = written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let text = "the file is there already";
                Failure::new(Status::Failed, "exists", text)
                    .at(&self.output)
                    .hint("--force replaces it")
            }
            _ => Failure::io("writing", &error).at(&self.output),
        })?;
        if ui.json {
            ui.json_line(&SetJson {
                file: self.output.to_string_lossy().into_owned(),
                size,
                changed: changes
                    .iter()
                    .filter(|c| c.found.is_some() && c.value.is_some())
                    .map(|c| &*c.key)
                    .collect(),
                added: changes.iter().filter(|c| c.found.is_none()).map(|c| &*c.key).collect(),
                removed: changes.iter().filter(|c| c.value.is_none()).map(|c| &*c.key).collect(),
            });
        } else if !ui.quiet {
            let count = text::count(changes.len() as u64, "key", "keys");
            let path = printable_path(&self.output);
            let _ = writeln!(
                ui.out(),
                "{STRONG}{path}{STRONG:#}: {count} changed, {}",
                text::size(size)
            );
        }
        Ok(())
    }
}

/// Puts the architecture in place of `{arch}`.
fn resolve(input: &Input, changes: &mut [Change]) -> Result<(), Failure> {
    let usage = |text: String| Failure::new(Status::Usage, "usage", text);
    for at in 0..changes.len() {
        if !changes[at].key.starts_with("{arch}.") {
            continue;
        }
        let name = super::get::named(input, changes[at].key.as_bytes());
        let name = String::from_utf8(name).ok().filter(|name| !name.starts_with("{arch}."));
        let Some(name) = name else {
            let text = "the model does not name its architecture, for which {arch} would stand";
            return Err(Failure::new(Status::Failed, "value", text).at(&input.path));
        };
        if changes.iter().any(|other| other.key == name) {
            return Err(usage(format!(
                "'{}' is given twice",
                rocload::error::printable(name.as_bytes())
            )));
        }
        changes[at].key = name;
    }
    Ok(())
}

#[derive(Serialize)]
struct SetJson<'a> {
    file: String,
    size: u64,
    changed: Vec<&'a str>,
    added: Vec<&'a str>,
    removed: Vec<&'a str>,
}

/// What the new file is made of.
struct Plan {
    parts: Vec<Part>,
    /// The new file's keys.
    keys: u64,
}

enum Part {
    /// Bytes of the old file.
    Copy {
        from: u64,
        to: u64,
    },
    Bytes(Vec<u8>),
    /// Zeros up to a multiple of this.
    Align(u32),
}

fn plan(input: &Input, changes: &mut [Change]) -> Result<Plan, Failure> {
    let facts = input.model.facts();
    let (header, start) = (facts.header(), facts.verdict().start);
    let failed = |key: &str, why: String| {
        let key = rocload::error::printable(key.as_bytes());
        Failure::new(Status::Failed, "value", format!("{key}: {why}")).at(&input.path)
    };
    let encoder = Encoder::new(header.version, header.endian).map_err(|fault| {
        Failure::new(Status::Failed, "unsupported", fault.to_string()).at(&input.path)
    })?;
    let table = find(input, changes)?;
    let mut edits: Vec<(u64, u64, Vec<u8>)> = Vec::new();
    let (mut added, mut keys) = (Vec::new(), header.keys);
    for change in changes.iter() {
        let Some(text) = &change.value else {
            match change.found {
                Some((from, to, _)) => edits.push((from, to, Vec::new())),
                None => return Err(super::get::missing(input, change.key.as_bytes())),
            }
            keys -= 1;
            continue;
        };
        let mut bytes = Vec::new();
        let ty = change.ty.or(change.found.map(|(_, _, kind)| match kind {
            ValueKind::Array { element, .. } => (element, true),
            kind => (kind.ty(), false),
        }));
        let Some((ty, array)) = ty else {
            let why = "the key is new, so its type is needed, as in KEY:u32=VALUE";
            return Err(failed(&change.key, why.into()));
        };
        encode(encoder, &mut bytes, &change.key, ty, array, text)
            .map_err(|why| failed(&change.key, why))?;
        match change.found {
            Some((from, to, _)) => edits.push((from, to, bytes)),
            None => {
                keys += 1;
                added.push(bytes);
            }
        }
    }
    edits.sort_unstable_by_key(|&(from, ..)| from);
    let mut counts = b"GGUF".to_vec();
    encoder.u32(&mut counts, header.version);
    let counted =
        encoder.count(&mut counts, header.tensors).and_then(|()| encoder.count(&mut counts, keys));
    counted.map_err(|fault| failed("", fault.to_string()))?;
    let mut at = counts.len() as u64;
    let mut parts = vec![Part::Bytes(counts)];
    for (from, to, bytes) in edits {
        parts.extend([Part::Copy { from: at, to: from }, Part::Bytes(bytes)]);
        at = to;
    }
    parts.push(Part::Copy { from: at, to: table });
    parts.extend(added.into_iter().map(Part::Bytes));
    parts.push(Part::Copy { from: table, to: start.header_end });
    if header.tensors > 0 {
        parts.push(Part::Align(start.alignment));
    }
    parts.push(Part::Copy { from: start.offset, to: facts.total().unwrap_or(start.offset) });
    Ok(Plan { parts, keys })
}

/// Finds the keys that are to be changed; returns where the tensor table begins.
fn find(input: &Input, changes: &mut [Change]) -> Result<u64, Failure> {
    let mut open: Option<usize> = None;
    let mut table = input.model.facts().verdict().start.header_end;
    let close = |open: &mut Option<usize>, changes: &mut [Change], end: u64| {
        if let Some(found) = open.take().and_then(|at| changes[at].found.as_mut()) {
            found.1 = end;
        }
    };
    let walked = input.model.visit(Want::Key, |item| {
        match item {
            Item::Key(key) => {
                close(&mut open, changes, key.offset);
                open = changes.iter().position(|change| change.key.as_bytes() == key.name);
                if let Some(at) = open {
                    changes[at].found = Some((key.offset, key.offset, key.kind));
                }
            }
            Item::Tensor(tensor) => {
                table = tensor.info.row;
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let _ = walked.map_err(|error| Failure::library(&error, &input.path))?;
    close(&mut open, changes, table);
    Ok(table)
}

/// A key with the value that was typed.
fn encode(
    encoder: Encoder,
    out: &mut Vec<u8>,
    key: &str,
    ty: ValueType,
    array: bool,
    text: &str,
) -> Result<(), String> {
    let written = |value: &Written<'_>, out: &mut Vec<u8>| {
        encoder.pair(out, key.as_bytes(), value).map_err(|fault: WriteFault| fault.to_string())
    };
    if !array {
        return match ty {
            ValueType::String => written(&Written::String(text.as_bytes()), out),
            ValueType::Array => Err("arrays in arrays cannot be set".into()),
            ty => written(&Written::Scalar(scalar(ty, text)?), out),
        };
    }
    let items: Vec<Value> = serde_json::from_str(text)
        .map_err(|_| "an array is written as JSON: [1, 2] or [\"a\", \"b\"]".to_owned())?;
    let texts: Result<Vec<String>, String> = items
        .iter()
        .map(|item| match item {
            Value::String(text) if ty == ValueType::String => Ok(text.clone()),
            Value::Number(number) if ty != ValueType::String => Ok(number.to_string()),
            // As floats that JSON does not have are printed.
            Value::String(text)
                if matches!(ty, ValueType::F32 | ValueType::F64)
                    && ["NaN", "inf", "-inf"].contains(&text.as_str()) =>
            {
                Ok(text.clone())
            }
            Value::Bool(flag) if ty == ValueType::Bool => Ok(flag.to_string()),
            other => Err(format!("{other} is no {ty}")),
        })
        .collect();
    let texts = texts?;
    let items: Result<Vec<Written<'_>>, String> = texts
        .iter()
        .map(|text| match ty {
            ValueType::String => Ok(Written::String(text.as_bytes())),
            ValueType::Array => Err("arrays in arrays cannot be set".into()),
            ty => scalar(ty, text).map(Written::Scalar),
        })
        .collect();
    written(&Written::Array { element: ty, items: &items? }, out)
}

fn scalar(ty: ValueType, text: &str) -> Result<Scalar, String> {
    fn number<T: std::str::FromStr>(text: &str, ty: ValueType) -> Result<T, String> {
        text.trim().parse().map_err(|_| format!("'{text}' is no {ty}"))
    }
    // A number that is out of range is parsed as infinite; one that is written so is meant.
    let float = |infinite: bool| match infinite && !text.to_ascii_lowercase().contains("inf") {
        true => Err(format!("'{text}' is too large for {ty}")),
        false => Ok(()),
    };
    Ok(match ty {
        ValueType::U8 => Scalar::U8(number(text, ty)?),
        ValueType::I8 => Scalar::I8(number(text, ty)?),
        ValueType::U16 => Scalar::U16(number(text, ty)?),
        ValueType::I16 => Scalar::I16(number(text, ty)?),
        ValueType::U32 => Scalar::U32(number(text, ty)?),
        ValueType::I32 => Scalar::I32(number(text, ty)?),
        ValueType::F32 => {
            let value: f32 = number(text, ty)?;
            float(value.is_infinite())?;
            Scalar::F32(value)
        }
        ValueType::Bool => Scalar::Bool(number(text, ty)?),
        ValueType::U64 => Scalar::U64(number(text, ty)?),
        ValueType::I64 => Scalar::I64(number(text, ty)?),
        ValueType::F64 => {
            let value: f64 = number(text, ty)?;
            float(value.is_infinite())?;
            Scalar::F64(value)
        }
        ValueType::String | ValueType::Array => return Err(format!("{ty} is no number")),
    })
}

impl Plan {
    /// Writes the parts; returns the length.
    fn write(&self, input: &Input, file: &mut File) -> io::Result<u64> {
        let source = input.model.source();
        let mut out = BufWriter::with_capacity(256 << 10, file);
        let (mut len, mut piece) = (0u64, vec![0; 256 << 10]);
        for part in &self.parts {
            match part {
                Part::Bytes(bytes) => {
                    out.write_all(bytes)?;
                    len += bytes.len() as u64;
                }
                Part::Align(alignment) => {
                    let zeros = len.next_multiple_of((*alignment).into()) - len;
                    io::copy(&mut io::Read::take(io::repeat(0), zeros), &mut out)?;
                    len += zeros;
                }
                Part::Copy { from, to } => {
                    let mut at = *from;
                    while at < *to {
                        let want = usize::try_from(to - at).unwrap_or(usize::MAX).min(piece.len());
                        let read = source.read_full_at(&mut piece[..want], at)?;
                        if read < want || source.changed() {
                            return Err(io::Error::other("the model changed while it was copied"));
                        }
                        out.write_all(&piece[..want])?;
                        at += want as u64;
                    }
                    len += to - from;
                }
            }
        }
        out.flush()?;
        Ok(len)
    }
}

/// What was written is a model again, with the same tensors; returns its length.
fn whole(file: &File, input: &Input, plan: &Plan) -> io::Result<u64> {
    let broken = |why: String| io::Error::other(format!("the new file would not be sound: {why}"));
    let source = FileAt::new(file.try_clone()?)?;
    let model =
        Model::from_source(source, input.model.options()).map_err(|error| broken(error.fault()))?;
    let (facts, old) = (model.facts(), input.model.facts());
    let counts = facts.header().keys == plan.keys && facts.header().tensors == old.header().tensors;
    let data = facts.verdict().data_bytes == old.verdict().data_bytes && facts.verdict().is_whole();
    match facts.total() {
        Some(total) if counts && data => Ok(total),
        _ => Err(broken("its counts differ".into())),
    }
}

//! The verdict on a file: what is unusual, missing or wrong.

use std::path::Path;

use rocload::error::printable;
use rocload::gguf::split::Fault;
use rocload::model::{self, Facts, Remark, ShardFault};
use serde::Serialize;

use super::input::Input;
use crate::failure::{Failure, Status, printable_path};
use crate::text;
use crate::ui::Ui;

/// A remark in one line: the name of the key or tensor, and what is unusual.
pub(super) fn remark_line(remark: &Remark) -> String {
    match &remark.name[..] {
        [] => remark.warning.to_string(),
        name => format!("{}: {}", printable(name), remark.warning),
    }
}

/// Tells what is unusual about a file.
pub(super) fn warn(ui: &mut Ui, path: &Path, facts: &Facts) {
    let path = printable_path(path);
    for remark in facts.remarks() {
        ui.remark(&format!("{path}: warning: {}", remark_line(remark)));
    }
    let (told, all) = (facts.remarks().len() as u64, facts.verdict().warnings);
    if all > told {
        let more = text::count(all - told, "more warning", "more warnings");
        ui.remark(&format!("{path}: warning: {more}"));
    }
}

/// The failure of a file whose tensor data is incomplete.
pub(super) fn short(path: &Path, facts: &Facts) -> Option<Failure> {
    let missing = facts.verdict().missing.filter(|&missing| missing > 0)?;
    let bytes = text::count(missing, "byte", "bytes");
    let have = text::number(facts.total().unwrap_or(0));
    let need = text::number(facts.verdict().needed);
    let message = format!(
        "the header is sound, and {bytes} of tensor data are missing ({have} of {need} are there)"
    );
    let failure = Failure::new(Status::Malformed, "short", message).at(path);
    Some(failure.hint("the download may have been cut off: fetch the file again"))
}

/// What is wrong with the set that the file belongs to, if it belongs to one.
pub(super) struct SetReport {
    pub(super) count: u32,
    pub(super) missing: Vec<u32>,
    pub(super) failures: Vec<Failure>,
    /// Bytes of the tensors of all its files.
    pub(super) weights: u64,
}

/// Looks at the set of a file: by its keys and its name, and at its other files.
pub(super) fn set(input: &Input) -> Result<Option<SetReport>, Failure> {
    let (path, facts) = (&*input.path, input.model.facts());
    if !input.is_file() {
        return Ok(None);
    }
    let wrong = |path: &Path, fault: &Fault| {
        Failure::new(Status::Malformed, "set", format!("the set of shards: {fault}")).at(path)
    };
    if let Err(fault) = facts.files(path) {
        let failures = vec![wrong(path, &fault)];
        return Ok(Some(SetReport { count: 0, missing: Vec::new(), failures, weights: 0 }));
    }
    let set = model::set(path, input.model.options());
    let Some(set) = set.map_err(|error| Failure::library(&error, path))? else { return Ok(None) };
    let mut failures = Vec::new();
    for (other, fault) in &set.faults {
        match fault {
            // This file's own are told anyway.
            _ if other == path => {}
            ShardFault::Unreadable(error) => failures.push(Failure::library(error, other)),
            ShardFault::Disagrees(fault) => failures.push(wrong(other, fault)),
            ShardFault::Short(missing) => {
                let bytes = text::count(*missing, "byte", "bytes");
                let message =
                    format!("the header is sound, and {bytes} of tensor data are missing");
                failures.push(Failure::new(Status::Malformed, "short", message).at(other));
            }
            _ => {}
        }
    }
    failures.extend(set.fault.iter().map(|fault| wrong(path, fault)));
    if !set.missing.is_empty() {
        let verb = if set.missing.len() == 1 { "is" } else { "are" };
        let names = lacking(path, &set.missing);
        let message = format!("of {} shards {names} {verb} missing", set.count);
        failures.push(Failure::new(Status::NotFound, "shards_missing", message).at(path));
    }
    Ok(Some(SetReport { count: set.count, missing: set.missing, failures, weights: set.weights }))
}

/// The names of missing shards, the first of them where there are many.
pub(super) fn lacking(path: &Path, missing: &[u32]) -> String {
    let name = model::shard_name(path);
    let names: Vec<String> = missing
        .iter()
        .take(8)
        .map(|&number| match name {
            Some(name) => printable(name.sibling(number).to_string().as_bytes()),
            None => number.to_string(),
        })
        .collect();
    let more = missing.len() - names.len();
    match more {
        0 => names.join(", "),
        _ => format!("{} and {more} more", names.join(", ")),
    }
}

/// A remark as JSON.
#[derive(Serialize)]
pub(super) struct RemarkJson {
    message: String,
    offset: u64,
    name: Option<String>,
}

impl RemarkJson {
    pub(super) fn all(facts: &Facts) -> Vec<RemarkJson> {
        let json = |remark: &Remark| RemarkJson {
            message: remark.warning.note.to_string(),
            offset: remark.warning.offset,
            name: (!remark.name.is_empty())
                .then(|| String::from_utf8_lossy(&remark.name).into_owned()),
        };
        facts.remarks().iter().map(json).collect()
    }
}

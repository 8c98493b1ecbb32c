//! `rocload kpack diff`: what two archives have not in common.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::kpack::Scheme;
use rocload::error::printable;
use rocload::{Archive, Error, ReadAt};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Opened, Threads, check_stdin, name, name_hex, open};
use crate::failure::{ErrorBody, Failure, Status, printable_path};
use crate::filter::Filter;
use crate::progress::Progress;
use crate::text;
use crate::ui::{BAD, GOOD, STRONG, TYPED, Ui};

/// Compare two archives by binary, architecture and content
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack diff old.kpack new.kpack
  rocload kpack diff --quiet a.kpack b.kpack && echo the same kernels
  rocload kpack diff a.kpack b.kpack --arch gfx1100

Kernels are compared as they are decompressed, however they are stored, and in any order. Exit
status: 0 the same, 1 different, 3 for a malformed archive.")]
pub(super) struct Diff {
    /// The one archive; - is standard input
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other archive
    #[arg(value_name = "B")]
    b: PathBuf,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    threads: Threads,
}

/// Whether two kernels are the same.
pub(super) enum Sameness {
    Same,
    Differs,
    /// The first cannot be read.
    Left(Error),
    /// The second cannot be read.
    Right(Error),
}

/// Compares two kernels: sizes, then stored bytes where they may be equal, then SHA-256.
pub(super) fn compare<A: ReadAt, B: ReadAt>(
    a: &Archive<A>,
    a_id: u32,
    b: &Archive<B>,
    b_id: u32,
) -> Sameness {
    let (one, other) = match (a.entry_at(a_id), b.entry_at(b_id)) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(error), _) => return Sameness::Left(error),
        (_, Err(error)) => return Sameness::Right(error),
    };
    if one.size != other.size {
        return Sameness::Differs;
    }
    if (one.scheme, other.scheme) == (Scheme::ZstdPerKernel, Scheme::ZstdPerKernel) {
        match (a.worker().into_stored(&one), b.worker().into_stored(&other)) {
            (Ok(one), Ok(other)) if one == other => return Sameness::Same,
            (Err(error), _) => return Sameness::Left(error),
            (_, Err(error)) => return Sameness::Right(error),
            _ => {}
        }
    }
    let mut digests = [Sha256::new(), Sha256::new()];
    let [left, right] = &mut digests;
    if let Err(error) = a.worker().pieces(&one, &mut |piece| left.update(piece)) {
        return Sameness::Left(error);
    }
    if let Err(error) = b.worker().pieces(&other, &mut |piece| right.update(piece)) {
        return Sameness::Right(error);
    }
    let [left, right] = digests.map(Digest::finalize);
    if left == right { Sameness::Same } else { Sameness::Differs }
}

/// What was found about one kernel.
enum Found {
    OnlyA { size: u64 },
    OnlyB { size: u64 },
    Differs { sizes: [u64; 2] },
}

type Key<'a> = (&'a [u8], &'a [u8]);

impl Diff {
    pub(super) fn check(&self) -> Result<(), (UsageKind, String)> {
        check_stdin([&self.a, &self.b])
    }

    pub(super) fn run(self, ui: &mut Ui) {
        let (Some(a), Some(b)) = (open(ui, &self.a), open(ui, &self.b)) else { return };
        // A fault in the frame lengths concerns all kernels behind it: one error says it.
        let walked = [(&a, &self.a), (&b, &self.b)].map(|(archive, path)| {
            archive.walk_frames().map_err(|error| ui.fail(&Failure::library(&error, path)))
        });
        if walked.iter().any(Result::is_err) {
            return;
        }
        let (left, right) = (self.keys(&a), self.keys(&b));
        let matched = left.len() + right.len();
        let mut arches = a.toc().arches();
        arches.extend(b.toc().arches());
        if let Some(failure) = self.filter.verdict(matched as u64, &arches) {
            return ui.fail(&failure);
        }
        let report = self.compare(ui, (&a, &left), (&b, &right));
        if !report.found.is_empty() {
            ui.note(Status::Failed);
        }
        if ui.json { self.print_json(ui, &report) } else { self.print(ui, &report) }
    }

    /// The kernels that the filters let through, by their names.
    fn keys<'a>(&self, archive: &'a Opened) -> BTreeMap<Key<'a>, u32> {
        let named = archive.order().iter().map(|&id| (archive.record_at(id), id));
        named
            .filter(|(record, _)| self.filter.matches(record.binary, record.arch))
            .map(|(record, id)| ((record.binary, record.arch), id))
            .collect()
    }

    fn compare<'a>(
        &self,
        ui: &Ui,
        (a, left): (&'a Opened, &BTreeMap<Key<'a>, u32>),
        (b, right): (&'a Opened, &BTreeMap<Key<'a>, u32>),
    ) -> Report<'a> {
        let size = |archive: &Opened, id| archive.entry_at(id).map_or(0, |entry| entry.size);
        let mut found: Vec<(Key<'a>, Found)> = Vec::new();
        let mut pairs: Vec<(Key<'a>, u32, u32)> = Vec::new();
        for (&key, &id) in left {
            match right.get(&key) {
                Some(&other) => pairs.push((key, id, other)),
                None => found.push((key, Found::OnlyA { size: size(a, id) })),
            }
        }
        for (&key, &id) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
            found.push((key, Found::OnlyB { size: size(b, id) }));
        }
        let bytes = pairs.iter().map(|&(_, id, _)| size(a, id)).fold(0, u64::saturating_add);
        let progress = Progress::new(ui, "comparing", bytes);
        let numbers: Vec<u32> = (0..pairs.len() as u32).collect();
        let unequal = Mutex::new(Vec::new());
        a.for_each(&numbers, self.threads.get(), |_, number| {
            let (_, one, other) = pairs[number as usize];
            let sameness = compare(a, one, b, other);
            progress.add(size(a, one));
            if !matches!(sameness, Sameness::Same) {
                unequal.lock().unwrap_or_else(PoisonError::into_inner).push((number, sameness));
            }
            ControlFlow::Continue(())
        });
        progress.clear();
        let mut unequal = unequal.into_inner().unwrap_or_else(PoisonError::into_inner);
        unequal.sort_unstable_by_key(|&(number, _)| number);
        let equal = (pairs.len() - unequal.len()) as u64;
        let mut failures = Vec::new();
        for (number, sameness) in unequal {
            let (key, one, other) = pairs[number as usize];
            match sameness {
                Sameness::Same => {}
                Sameness::Differs => {
                    let sizes = [size(a, one), size(b, other)];
                    found.push((key, Found::Differs { sizes }));
                }
                Sameness::Left(error) => failures.push(Failure::library(&error, &self.a)),
                Sameness::Right(error) => failures.push(Failure::library(&error, &self.b)),
            }
        }
        found.sort_by_key(|&(key, _)| key);
        Report { found, equal, failures }
    }

    fn print(&self, ui: &mut Ui, report: &Report<'_>) {
        let quiet = ui.quiet;
        let out = ui.out();
        for ((binary, arch), found) in &report.found {
            let (binary, arch) = (printable(binary), printable(arch));
            let (style, mark, sizes) = match *found {
                Found::OnlyA { size } => (BAD, '-', text::size(size)),
                Found::OnlyB { size } => (GOOD, '+', text::size(size)),
                Found::Differs { sizes: [a, b] } if a == b => {
                    (TYPED, '~', format!("{}, other content", text::size(a)))
                }
                Found::Differs { sizes: [a, b] } => {
                    (TYPED, '~', format!("{} and {} bytes", text::number(a), text::number(b)))
                }
            };
            let _ = writeln!(out, "{style}{mark}{style:#} {binary} for {arch}, {sizes}");
        }
        if !quiet {
            let [a, b] = [&self.a, &self.b].map(|path| printable_path(path));
            let counts = report.counts();
            let verdict = if report.found.is_empty() && report.failures.is_empty() {
                format!("the same {}", text::kernels(report.equal))
            } else {
                let differ = format!(
                    "{} equal, {} different",
                    text::number(report.equal),
                    text::number(counts[2])
                );
                format!(
                    "{differ}, {} only in the first (-), {} only in the second (+)",
                    text::number(counts[0]),
                    text::number(counts[1])
                )
            };
            let _ = writeln!(out, "{STRONG}{a}{STRONG:#} and {STRONG}{b}{STRONG:#}: {verdict}");
        }
        ui.fail_all(&report.failures, "kernels that cannot be compared");
    }

    fn print_json(&self, ui: &mut Ui, report: &Report<'_>) {
        for failure in &report.failures {
            ui.note(failure.status);
        }
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let mut json = DiffJson {
            a: shown(&self.a),
            b: shown(&self.b),
            same: report.found.is_empty() && report.failures.is_empty(),
            equal: report.equal,
            only_a: Vec::new(),
            only_b: Vec::new(),
            differ: Vec::new(),
            errors: report.failures.iter().map(Failure::body).collect(),
        };
        for ((binary, arch), found) in &report.found {
            let names = NamesJson {
                binary: name(binary).into_owned(),
                arch: name(arch).into_owned(),
                binary_hex: name_hex(binary),
                arch_hex: name_hex(arch),
            };
            match *found {
                Found::OnlyA { size } => json.only_a.push(OnlyJson { names, size }),
                Found::OnlyB { size } => json.only_b.push(OnlyJson { names, size }),
                Found::Differs { sizes: [size_a, size_b] } => {
                    json.differ.push(DifferJson { names, size_a, size_b });
                }
            }
        }
        ui.json_line(&json);
    }
}

/// What is different, by name, and what could not be compared.
struct Report<'a> {
    found: Vec<(Key<'a>, Found)>,
    equal: u64,
    failures: Vec<Failure>,
}

impl Report<'_> {
    /// Kernels in the first archive alone, in the second alone, and different ones.
    fn counts(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        for (_, found) in &self.found {
            counts[match found {
                Found::OnlyA { .. } => 0,
                Found::OnlyB { .. } => 1,
                Found::Differs { .. } => 2,
            }] += 1;
        }
        counts
    }
}

#[derive(Serialize)]
struct DiffJson<'a> {
    a: String,
    b: String,
    same: bool,
    equal: u64,
    only_a: Vec<OnlyJson>,
    only_b: Vec<OnlyJson>,
    differ: Vec<DifferJson>,
    errors: Vec<ErrorBody<'a>>,
}

#[derive(Serialize)]
struct NamesJson {
    binary: String,
    arch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch_hex: Option<String>,
}

#[derive(Serialize)]
struct OnlyJson {
    #[serde(flatten)]
    names: NamesJson,
    size: u64,
}

#[derive(Serialize)]
struct DifferJson {
    #[serde(flatten)]
    names: NamesJson,
    size_a: u64,
    size_b: u64,
}

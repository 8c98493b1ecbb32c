//! `rocload kpack verify`: are archives sound, and do they hold what a manifest says?

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::ErrorKind as CoreKind;
use rocload::core::kpack::Fault as KpackFault;
use rocload::error::shortened;
use rocload::{Archive, Error, ErrorKind, Options, ReadAt};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::manifest::{Manifest, Row};
use super::{Threads, check_stdin};
use crate::failure::{Failure, Status, io_text, judge, printable_path};
use crate::input;
use crate::progress::Progress;
use crate::text;
use crate::ui::{GOOD, STRONG, Ui};

/// Check that archives are sound: every structure, every kernel decoded
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack verify torch_gfx1100.kpack
  rocload kpack verify --quiet *.kpack && echo sound
  rocload kpack verify --manifest torch.manifest.json torch_gfx1100.kpack

A manifest is a JSON array of rows [binary, arch, size, sha256]. Exit status: 3 for a fault in an
archive, 1 when only the manifest differs, 4 for a missing file; of several the worst.")]
pub(super) struct Verify {
    /// Archives; - is standard input
    #[arg(value_name = "ARCHIVE", required = true)]
    archives: Vec<PathBuf>,
    /// Compare sizes and SHA-256 with a manifest; with several archives one for each, in order
    #[arg(short, long, value_name = "FILE")]
    manifest: Vec<PathBuf>,
    /// Accept frames whose window is up to SIZE, such as 16M; each thread may need as much memory
    #[arg(long, value_name = "SIZE", value_parser = text::parse_size)]
    max_window: Option<u64>,
    #[command(flatten)]
    threads: Threads,
}

impl Verify {
    pub(super) fn check(&self) -> Result<(), (UsageKind, String)> {
        check_stdin(&self.archives)?;
        let (manifests, archives) = (self.manifest.len(), self.archives.len());
        if manifests == 0 || manifests == archives {
            return Ok(());
        }
        let message = format!(
            "{} cannot be compared with {}: one each is needed",
            text::count(archives as u64, "archive", "archives"),
            text::count(manifests as u64, "manifest", "manifests"),
        );
        Err((UsageKind::WrongNumberOfValues, message))
    }

    pub(super) fn run(self, ui: &mut Ui) {
        let manifests: Result<Vec<Manifest>, Failure> =
            self.manifest.iter().map(|path| Manifest::read(path)).collect();
        let manifests = match manifests {
            Ok(manifests) => manifests,
            Err(failure) => return ui.fail(&failure),
        };
        let mut options = Options::default();
        if let Some(window) = self.max_window {
            options.limits.window_bytes = window;
        }
        let mut reports = Vec::new();
        for (at, path) in self.archives.iter().enumerate() {
            let begun = Instant::now();
            let report = match input::open(path, &options) {
                Ok(archive) => check(ui, &archive, manifests.get(at), self.threads),
                Err(error) => Report::unopened(&error),
            };
            ui.note(report.status());
            if ui.json {
                reports.push(report.json(path));
            } else {
                let took = ui.verbose.then(|| begun.elapsed());
                report.print(ui, path, took);
            }
        }
        if ui.json {
            ui.json_line(&VerifyJson { archives: reports });
        }
    }
}

/// What was found out about one archive.
struct Report {
    /// Kernels found whole.
    kernels: u64,
    /// Kernels in the archive; `None` when it does not open.
    total: Option<u64>,
    size: u64,
    faults: Vec<Fault>,
    compared: bool,
}

/// One fault.
struct Fault {
    status: Status,
    kind: &'static str,
    binary: Option<String>,
    arch: Option<String>,
    /// The fault alone, in one lower-case line.
    text: String,
    offset: Option<u64>,
    hint: Option<String>,
    /// The archive stores fewer kernels than its table names.
    unstored: bool,
}

impl Fault {
    fn library(error: &Error) -> Fault {
        let (status, kind) = judge(error);
        let text = match error.kind() {
            ErrorKind::Io(io) => format!("{}: {}", error.doing(), io_text(io)),
            _ => error.fault(),
        };
        Fault {
            status,
            kind,
            binary: error.binary().map(Cow::into_owned),
            arch: error.arch().map(Cow::into_owned),
            text,
            offset: error.offset(),
            // The path is told elsewhere.
            hint: Failure::library(error, Path::new("")).hint,
            unstored: matches!(error.kind(), ErrorKind::Format(fault)
                if matches!(fault.kind, CoreKind::Kpack(KpackFault::Ordinal { .. }))),
        }
    }

    fn manifest(binary: &[u8], arch: &[u8], text: String) -> Fault {
        let name = |bytes| Some(String::from_utf8_lossy(bytes).into_owned());
        let (binary, arch) = (name(binary), name(arch));
        let (status, kind) = (Status::Failed, "manifest");
        Fault { status, kind, binary, arch, text, offset: None, hint: None, unstored: false }
    }

    /// The fault with the names of its kernel, for people.
    fn message(&self) -> String {
        let shown = |name: &String| shortened(name.as_bytes());
        match (self.binary.as_ref().map(shown), self.arch.as_ref().map(shown)) {
            (Some(binary), Some(arch)) => format!("{binary} for {arch}: {}", self.text),
            (Some(binary), None) => format!("{binary}: {}", self.text),
            _ => self.text.clone(),
        }
    }
}

/// Decodes every kernel of an archive and compares it with the manifest, if there is one.
fn check<R: ReadAt + Sync>(
    ui: &Ui,
    archive: &Archive<R>,
    manifest: Option<&Manifest>,
    threads: Threads,
) -> Report {
    let sizes = archive.entries().flatten().map(|entry| entry.size);
    let size = sizes.fold(0u64, u64::saturating_add);
    let progress = Progress::new(ui, "verifying", size);
    let differing = Mutex::new(Vec::new());
    let verdict = archive.verify_with(threads.get(), |worker, id| {
        let entry = worker.archive().entry_at(id)?;
        progress.add(entry.size);
        let Some(manifest) = manifest else {
            return worker.verify(&entry, &mut |_| {});
        };
        let mut hash = Sha256::new();
        worker.verify(&entry, &mut |piece| hash.update(piece))?;
        let row = manifest.find(entry.binary, entry.arch);
        if let Some(text) = difference(row, entry.size, &hash.finalize()) {
            let fault = Fault::manifest(entry.binary, entry.arch, text);
            differing.lock().unwrap_or_else(PoisonError::into_inner).push((id, fault));
        }
        Ok(())
    });
    progress.clear();

    let mut faults: Vec<Fault> = verdict.errors.iter().map(Fault::library).collect();
    let mut differing = differing.into_inner().unwrap_or_else(PoisonError::into_inner);
    let rank: Vec<u32> = ranks(archive.order());
    differing.sort_unstable_by_key(|&(id, _)| rank.get(id as usize).copied());
    faults.extend(differing.into_iter().map(|(_, fault)| fault));
    faults.extend(manifest.iter().flat_map(|manifest| absent(archive, manifest)));
    let total = archive.len() as u64;
    let compared = manifest.is_some();
    Report { kernels: verdict.kernels, total: Some(total), size, faults, compared }
}

/// The place of each entry number in `order`.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![u32::MAX; order.iter().max().map_or(0, |&max| max as usize + 1)];
    for (rank, &id) in (0..).zip(order) {
        ranks[id as usize] = rank;
    }
    ranks
}

/// What is different about a kernel, in a line.
fn difference(row: Option<&Row>, size: u64, sha256: &[u8]) -> Option<String> {
    let Some(row) = row else {
        return Some("the manifest does not have this kernel".into());
    };
    if row.size != size {
        return Some(format!("size is {size}, {} in the manifest", row.size));
    }
    if row.sha256[..] != *sha256 {
        let (is, expected) = (text::hex(sha256), text::hex(&row.sha256));
        return Some(format!("sha256 is {is}, {expected} in the manifest"));
    }
    None
}

/// Rows of the manifest that the archive has no kernel for.
fn absent<R: ReadAt>(archive: &Archive<R>, manifest: &Manifest) -> Vec<Fault> {
    let there = |row: &&Row| {
        let found = archive.toc().find(row.binary.as_bytes(), row.arch.as_bytes());
        !matches!(found, Ok(None))
    };
    let absent = manifest.rows().iter().filter(|row| !there(row));
    absent
        .map(|row| {
            let text = "in the manifest and not in the archive".into();
            Fault::manifest(row.binary.as_bytes(), row.arch.as_bytes(), text)
        })
        .collect()
}

impl Report {
    fn unopened(error: &Error) -> Report {
        let faults = vec![Fault::library(error)];
        Report { kernels: 0, total: None, size: 0, faults, compared: false }
    }

    /// Nothing is wrong.
    fn is_ok(&self) -> bool {
        self.faults.is_empty()
    }

    fn status(&self) -> Status {
        self.faults.iter().map(|fault| fault.status).max().unwrap_or_default()
    }

    /// The faults as lines. A count of stored kernels that is too small is one fault, however
    /// many kernels miss theirs.
    fn failures(&self, path: &Path) -> Vec<Failure> {
        let unstored = self.faults.iter().filter(|fault| fault.unstored).count() as u64;
        let mut seen = false;
        let mut failures = Vec::new();
        for fault in &self.faults {
            let mut message = fault.message();
            if fault.unstored {
                if std::mem::replace(&mut seen, true) {
                    continue;
                }
                if unstored > 1 {
                    let others = text::count(unstored - 1, "other kernel", "other kernels");
                    message += &format!("; so is that of {others}");
                }
            }
            let mut failure = Failure::new(fault.status, fault.kind, message).at(path);
            failure.hint.clone_from(&fault.hint);
            failures.push(failure);
        }
        failures
    }

    /// The line for a sound archive, without its path.
    fn praise(&self) -> String {
        let (kernels, size) = (text::kernels(self.kernels), text::size(self.size));
        let compared = if self.compared { ", all as in the manifest" } else { "" };
        format!("{GOOD}ok{GOOD:#}, {kernels}, {size}{compared}")
    }

    fn print(&self, ui: &mut Ui, path: &Path, took: Option<std::time::Duration>) {
        if self.is_ok() {
            if !ui.quiet {
                let took = took.map_or_else(String::new, |took| {
                    let rate = self.size as f64 / took.as_secs_f64().max(1e-9);
                    format!(", {} ({}/s)", text::duration(took), text::size(rate as u64))
                });
                let praise = self.praise();
                let path = printable_path(path);
                let _ = writeln!(ui.out(), "{STRONG}{path}{STRONG:#}: {praise}{took}");
            }
            return;
        }
        let mut subject = printable_path(path);
        if let Some(total) = self.total {
            let whole = text::number(self.kernels);
            subject += &format!(": {whole} of {} are whole", text::kernels(total));
        }
        ui.fail_all(&self.failures(path), &subject);
    }

    fn json(self, path: &Path) -> ReportJson {
        ReportJson {
            archive: path.to_string_lossy().into_owned(),
            ok: self.is_ok(),
            kernels: self.kernels,
            errors: self
                .faults
                .into_iter()
                .map(|fault| FaultJson {
                    binary: fault.binary,
                    arch: fault.arch,
                    kind: fault.kind,
                    error: fault.text,
                    offset: fault.offset,
                })
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct VerifyJson {
    archives: Vec<ReportJson>,
}

#[derive(Serialize)]
struct ReportJson {
    archive: String,
    ok: bool,
    kernels: u64,
    errors: Vec<FaultJson>,
}

#[derive(Serialize)]
struct FaultJson {
    binary: Option<String>,
    arch: Option<String>,
    kind: &'static str,
    error: String,
    offset: Option<u64>,
}

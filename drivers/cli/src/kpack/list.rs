//! `rocload kpack list`: the kernels of archives.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::bundle::{Object, identify};
use rocload::core::kpack::Entry;
use rocload::core::kpack::target::TargetId;
use rocload::gpu::Target;
use rocload::{Archive, Error, Extent, Limits, ReadAt};
use serde::Serialize;
use serde_json::Value;

use super::{Threads, check_stdin, metadata, name, name_hex, open, scheme_name, table};
use crate::device::Where;
use crate::failure::{Failure, Status, printable_path};
use crate::filter::{Filter, listed};
use crate::progress::Progress;
use crate::ui::Ui;

/// List the kernels of archives, with their sizes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack list torch_gfx1100.kpack
  rocload kpack list *.kpack --arch 'gfx90a*' --binary '*rocblas*'
  rocload kpack list torch_gfx1100.kpack --identify
  rocload kpack list *.kpack --for-this-machine
  rocload kpack list --json torch_gfx1100.kpack | jq '.entries[].binary'

Kernels are listed by binary, then in the archive's own order of architectures. In a GLOB, * and
? match any character, / too. A filter that matches nothing is an error (exit status 4).")]
pub(super) struct List {
    /// Archives; - is standard input
    #[arg(value_name = "ARCHIVE", required = true)]
    archives: Vec<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    /// Decode each kernel and tell what it is: its kind of object and its ELF target
    #[arg(long)]
    identify: bool,
    /// Only kernels for the GPUs of this machine that can be used, whatever features they ask for
    #[arg(long)]
    for_this_machine: bool,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    threads: Threads,
}

/// How kernels are listed.
struct Options<'a> {
    filter: &'a Filter,
    /// With `--for-this-machine`: the targets of its GPUs.
    targets: Option<Vec<Target>>,
    identify: bool,
    threads: Threads,
}

impl List {
    pub(super) fn check(&self) -> Result<(), (UsageKind, String)> {
        check_stdin(&self.archives)
    }

    pub(super) fn run(self, ui: &mut Ui) {
        let List { archives, filter, identify, for_this_machine, place, threads } = self;
        let targets = match for_this_machine.then(|| targets(&place)).transpose() {
            Ok(targets) => targets,
            Err(failure) => return ui.fail(&failure),
        };
        let options = Options { filter: &filter, targets, identify, threads };
        let (mut found, mut asked) = (0, false);
        let mut arches: Vec<Vec<u8>> = Vec::new();
        let mut known = HashSet::new();
        for path in &archives {
            if ui.is_closed() {
                return;
            }
            let Some(archive) = open(ui, path) else { continue };
            let Some(matched) = show(ui, path, &archive, &options) else { continue };
            (found, asked) = (found + matched, true);
            for arch in archive.toc().arches() {
                if known.insert(arch.to_vec()) {
                    arches.push(arch.to_vec());
                }
            }
        }
        let arches: Vec<&[u8]> = arches.iter().map(Vec::as_slice).collect();
        if asked && found == 0 && filter.is_empty() {
            if let Some(targets) = &options.targets {
                ui.fail(&no_kernel(targets, &arches));
            }
            return;
        }
        // Where no archive could be read, nothing can be said against the filters.
        if asked && let Some(mut failure) = filter.verdict(found, &arches) {
            if let [path] = &archives[..] {
                failure = failure.at(path);
            }
            ui.fail(&failure);
        }
    }
}

/// The targets of the GPUs that the runtime sees, as it takes them.
fn targets(place: &Where) -> Result<Vec<Target>, Failure> {
    let (gpus, selection) = place.select()?;
    let seen = gpus.gpus().iter().filter(|gpu| gpu.ordinal.is_some());
    let mut targets: Vec<Target> = seen.filter_map(|gpu| gpu.effective).collect();
    targets.sort_unstable();
    targets.dedup();
    if targets.is_empty() {
        let why =
            selection.problem.map_or("no gpu's target is known".into(), |why| why.to_string());
        let message = format!("this machine has no AMD GPU to list kernels for: {why}");
        let failure = Failure::new(Status::NotFound, "no_device", message);
        return Err(failure.hint("--arch lists those for any architecture"));
    }
    Ok(targets)
}

/// No kernel is for this machine.
fn no_kernel(targets: &[Target], arches: &[&[u8]]) -> Failure {
    let names: Vec<String> = targets.iter().map(Target::to_string).collect();
    let message = format!("no kernel is for this machine's {}", names.join(" or "));
    let failure = Failure::new(Status::NotFound, "no_match", message);
    failure.hint(format!("there are {}", listed(arches)))
}

/// Code for `arch` may run on a GPU of one of the targets: the same processor. Which of its
/// features are on is not in sysfs.
fn is_for(targets: &[Target], arch: &[u8]) -> bool {
    let id = TargetId::parse(arch, &Limits::default());
    id.is_ok_and(|id| Target::parse(id.processor()).is_some_and(|target| targets.contains(&target)))
}

/// One kernel of a listing.
pub(super) struct Row<'a> {
    id: u32,
    pub(super) entry: Entry<'a>,
    pub(super) extent: Extent,
    /// With `--identify`; `None` too where the kernel cannot be decoded.
    pub(super) object: Option<Object>,
}

impl Row<'_> {
    /// The target of the ELF file that the kernel is or begins with.
    pub(super) fn target(&self) -> Option<String> {
        self.object.and_then(|object| object.target()).map(|target| target.to_string())
    }
}

/// Lists the kernels of one archive that match; returns how many do, or `None` when it could
/// not be read.
fn show<R: ReadAt + Sync>(
    ui: &mut Ui,
    path: &Path,
    archive: &Archive<R>,
    options: &Options<'_>,
) -> Option<u64> {
    let mut rows = match rows(archive, options) {
        Ok(rows) => rows,
        Err(error) => {
            ui.fail(&Failure::library(&error, path));
            return None;
        }
    };
    let mut faults = Vec::new();
    if options.identify {
        faults = look_into(ui, archive, &mut rows, options.threads);
    }
    if ui.json {
        print_json(ui, path, archive, &rows, options.identify);
    } else if !rows.is_empty() || (options.filter.is_empty() && options.targets.is_none()) {
        table::print(ui, path, archive, &rows, options.identify);
    }
    let faults: Vec<Failure> = faults.iter().map(|error| Failure::library(error, path)).collect();
    ui.fail_all(&faults, &printable_path(path));
    Some(rows.len() as u64)
}

/// The kernels that match, and where each is stored.
fn rows<'a, R: ReadAt>(
    archive: &'a Archive<R>,
    options: &Options<'_>,
) -> Result<Vec<Row<'a>>, Error> {
    archive.walk_frames()?;
    let mut rows = Vec::new();
    for &id in archive.order() {
        let entry = archive.entry_at(id)?;
        let extent = archive.extent(&entry)?;
        let here = options.targets.as_ref().is_none_or(|targets| is_for(targets, entry.arch));
        // Both, always: a pattern is to know whether it ever matched.
        if options.filter.matches(entry.binary, entry.arch) && here {
            rows.push(Row { id, entry, extent, object: None });
        }
    }
    Ok(rows)
}

/// Decodes the kernels and identifies them; returns what cannot be decoded, in order.
fn look_into<R: ReadAt + Sync>(
    ui: &Ui,
    archive: &Archive<R>,
    rows: &mut [Row<'_>],
    threads: Threads,
) -> Vec<Error> {
    let bytes = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.entry.size));
    let progress = Progress::new(ui, "identifying", bytes);
    let numbers: Vec<u32> = (0..rows.len() as u32).collect();
    let looked = Mutex::new(Vec::with_capacity(rows.len()));
    let entries: Vec<u32> = rows.iter().map(|row| row.id).collect();
    archive.for_each(&numbers, threads.get(), |worker, number| {
        let id = entries[number as usize];
        let object = archive.entry_at(id).and_then(|entry| {
            progress.add(entry.size);
            worker.kernel(&entry).map(|kernel| identify(&kernel))
        });
        looked.lock().unwrap_or_else(PoisonError::into_inner).push((number, object));
        ControlFlow::Continue(())
    });
    progress.clear();
    let mut looked = looked.into_inner().unwrap_or_else(PoisonError::into_inner);
    looked.sort_unstable_by_key(|&(number, _)| number);
    let mut faults = Vec::new();
    for (number, object) in looked {
        match object {
            Ok(object) => rows[number as usize].object = Some(object),
            Err(error) => faults.push(error),
        }
    }
    faults
}

#[derive(Serialize)]
struct ArchiveJson<'a> {
    archive: Cow<'a, str>,
    scheme: &'static str,
    group: Option<Cow<'a, str>>,
    family: Option<Cow<'a, str>>,
    arches: Vec<Cow<'a, str>>,
    entries: Vec<EntryJson<'a>>,
}

#[derive(Serialize)]
struct EntryJson<'a> {
    binary: Cow<'a, str>,
    arch: Cow<'a, str>,
    kind: Option<Cow<'a, str>>,
    ordinal: u32,
    size: u64,
    stored_size: u64,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    #[serde(flatten)]
    identified: Option<IdentifiedJson>,
}

#[derive(Serialize)]
struct IdentifiedJson {
    object: Option<&'static str>,
    target: Option<String>,
}

fn print_json<R: ReadAt>(
    ui: &mut Ui,
    path: &Path,
    archive: &Archive<R>,
    rows: &[Row<'_>],
    identified: bool,
) {
    let toc = archive.toc().toc();
    let entry = |row: &Row<'_>| {
        let identified = identified.then(|| IdentifiedJson {
            object: row.object.map(|object| object.name()),
            target: row.target(),
        });
        EntryJson {
            binary: name(row.entry.binary).into_owned().into(),
            arch: name(row.entry.arch).into_owned().into(),
            kind: row.entry.kind.map(|kind| name(kind).into_owned().into()),
            ordinal: row.entry.ordinal,
            size: row.entry.size,
            stored_size: row.extent.len,
            offset: row.extent.offset,
            binary_hex: name_hex(row.entry.binary),
            arch_hex: name_hex(row.entry.arch),
            metadata: row.entry.metadata.and_then(metadata::to_json),
            identified,
        }
    };
    ui.json_line(&ArchiveJson {
        archive: path.to_string_lossy(),
        scheme: scheme_name(toc.scheme()),
        group: toc.group_name().map(name),
        family: toc.gfx_arch_family().map(name),
        arches: archive.toc().arches().into_iter().map(name).collect(),
        entries: rows.iter().map(entry).collect(),
    });
}

//! `rocload kpack extract`: kernels into files.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::kpack::TargetId;
use rocload::error::printable;
use rocload::{Archive, ErrorKind, Limits, ReadAt};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::paths::Paths;
use super::{Threads, name, open};
use crate::failure::{ErrorBody, Failure, Status, printable_path};
use crate::filter::{Filter, listed};
use crate::place::{Put, Root, put_at};
use crate::progress::Progress;
use crate::ui::{STRONG, Ui};
use crate::{suggest, text};

/// Take kernels out of an archive: one into a file, or many into a folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack extract A.kpack --binary 'lib/libfoo.so#0' --arch gfx1100 -o foo.hsaco
  rocload kpack extract A.kpack --binary 'lib/libfoo.so#0' --isa gfx90a:sramecc+:xnack- -o - | xxd
  rocload kpack extract A.kpack --all -d out
  rocload kpack extract A.kpack -d out --arch 'gfx90a*'

With -o, --binary and --arch are exact names; with -d they are filters. Below the folder a kernel
becomes ARCH/BINARY.hsaco, where ':' is written '-' and what could lead elsewhere is written as %XX.
A file with the right content is left alone, so an interrupted run can simply be repeated.")]
pub(super) struct Extract {
    /// The archive; - is standard input
    archive: PathBuf,
    #[command(flatten)]
    filter: Filter,
    /// The device's ISA: takes the most specific architecture that fits it
    #[arg(long, value_name = "ISA", conflicts_with_all = ["arches", "directory", "all"])]
    isa: Option<String>,
    /// Write the one kernel to FILE, replacing it; - is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["directory", "all"])]
    output: Option<PathBuf>,
    /// Write to standard output even if it is a terminal
    #[arg(long, requires = "output")]
    force: bool,
    /// Extract every kernel, or those that the filters let through
    #[arg(long, requires = "directory")]
    all: bool,
    /// The folder for many kernels; made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

impl Extract {
    pub(super) fn check(&self, json: bool) -> Result<(), (UsageKind, String)> {
        let missing = |text: &str| Err((UsageKind::MissingRequiredArgument, text.to_owned()));
        if self.directory.is_some() {
            return if self.all || !self.filter.is_empty() {
                Ok(())
            } else {
                missing("which kernels? give --all, or filters by --binary and --arch")
            };
        }
        let Some(output) = &self.output else {
            return missing("where to? give -o FILE for one kernel, or --all -d DIR");
        };
        if self.filter.binaries().len() != 1 {
            return missing("-o takes one kernel: give --binary once");
        }
        if self.filter.arches().len() + usize::from(self.isa.is_some()) != 1 {
            return missing("-o takes one kernel: give --arch or --isa once");
        }
        if json && output.as_os_str() == "-" {
            let text = "-o - and --json both write to standard output".to_owned();
            return Err((UsageKind::ArgumentConflict, text));
        }
        Ok(())
    }

    pub(super) fn run(self, ui: &mut Ui) {
        let path = &self.archive;
        let to_stdout = self.output.as_ref().is_some_and(|output| output.as_os_str() == "-");
        if to_stdout && io::stdout().is_terminal() && !self.force {
            let text = "a code object is not text and standard output is a terminal";
            let failure = Failure::new(Status::Usage, "usage", text);
            ui.fail(&failure.hint("-o FILE, a pipe, or --force"));
            return;
        }
        let Some(archive) = open(ui, path) else { return };
        let done = match (&self.output, &self.directory) {
            (Some(output), _) => self.one(ui, &archive, output, to_stdout),
            (None, Some(folder)) => {
                extract_all(ui, path, &archive, &self.filter, folder, self.threads)
            }
            (None, None) => return,
        };
        match done {
            Ok(extracted) if ui.json => extracted.print_json(ui, path),
            Ok(extracted) if !to_stdout => extracted.print(ui),
            Ok(_) => {}
            Err(failure) => ui.fail(&failure),
        }
    }

    fn one<R: ReadAt>(
        &self,
        ui: &Ui,
        archive: &Archive<R>,
        output: &Path,
        to_stdout: bool,
    ) -> Result<Extracted, Failure> {
        let binary = self.filter.binaries().first().map_or(&b""[..], |pattern| pattern.name());
        let arch = match &self.isa {
            Some(isa) => fitting(archive, &self.archive, binary, isa)?,
            None => self.filter.arches().first().map_or(&b""[..], |p| p.name()).to_vec(),
        };
        let kernel = archive.kernel(binary, &arch).map_err(|error| {
            let failure = Failure::library(&error, &self.archive);
            match error.kind() {
                ErrorKind::NoBinary => failure.hint(other_binaries(archive, &self.archive, binary)),
                _ => failure,
            }
        })?;
        if to_stdout {
            write_stdout(&kernel)?;
        } else {
            put_at(output, &kernel).map_err(|error| Failure::io("writing", &error).at(output))?;
        }
        let mut extracted = Extracted { place: output.to_path_buf(), ..Extracted::default() };
        (extracted.bytes, extracted.single) = (kernel.len() as u64, true);
        extracted.files.push(ExtractedFile {
            binary: name(binary).into_owned(),
            arch: name(&arch).into_owned(),
            path: output.to_string_lossy().into_owned(),
            size: kernel.len() as u64,
            sha256: ui.json.then(|| text::hex(&Sha256::digest(&kernel))),
            written: true,
        });
        Ok(extracted)
    }
}

/// The most specific architecture of `binary` that fits a device.
fn fitting<R: ReadAt>(
    archive: &Archive<R>,
    path: &Path,
    binary: &[u8],
    isa: &str,
) -> Result<Vec<u8>, Failure> {
    let target = TargetId::parse(isa, &Limits::default()).map_err(|error| {
        Failure::new(Status::Usage, "usage", format!("--isa {isa}: {}", error.kind))
    })?;
    let toc = archive.toc().toc();
    let mut arches: Vec<&[u8]> =
        toc.entries().filter(|record| record.binary == binary).map(|record| record.arch).collect();
    if arches.is_empty() {
        let text = format!("{}: the archive has no such binary", printable(binary));
        let failure = Failure::new(Status::NotFound, "no_binary", text).at(path);
        return Err(failure.hint(other_binaries(archive, path, binary)));
    }
    let found = target
        .candidates()
        .find_map(|candidate| arches.iter().copied().find(|arch| candidate.matches(arch)));
    found.map(<[u8]>::to_vec).ok_or_else(|| {
        arches.sort_unstable();
        let text = format!(
            "{}: no architecture fits {}: the archive has it for {}",
            printable(binary),
            printable(isa.as_bytes()),
            listed(&arches)
        );
        Failure::new(Status::NotFound, "no_arch", text).at(path)
    })
}

/// What to say about a binary that is not there.
fn other_binaries<R>(archive: &Archive<R>, path: &Path, binary: &[u8]) -> String
where
    R: ReadAt,
{
    let binaries = archive.toc().binaries();
    suggest::question(&suggest::nearest(binary, binaries.into_iter())).unwrap_or_else(|| {
        let path = text::shell_word(&printable_path(path));
        format!("`rocload kpack list {path}` shows what is there")
    })
}

/// Past the filter that removes styles: kernels are no text. A reader that has gone away is not
/// missed.
fn write_stdout(kernel: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(kernel).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::io("writing to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// What was extracted.
#[derive(Default)]
struct Extracted {
    /// The folder or file that it went to.
    place: PathBuf,
    files: Vec<ExtractedFile>,
    bytes: u64,
    failures: Vec<Failure>,
    /// It ended early: what follows would fail likewise.
    stopped: bool,
    /// It was about one kernel.
    single: bool,
}

/// One extracted kernel, as JSON shows it.
#[derive(Debug, Clone, Serialize)]
struct ExtractedFile {
    binary: String,
    arch: String,
    path: String,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// `false` where a file with the same bytes was there.
    written: bool,
}

/// Extracts the kernels that match into files below `folder`.
fn extract_all<R: ReadAt + Sync>(
    ui: &Ui,
    path: &Path,
    archive: &Archive<R>,
    filter: &Filter,
    folder: &Path,
    threads: Threads,
) -> Result<Extracted, Failure> {
    // A fault in the frame lengths concerns all kernels behind it: one error says it.
    archive.walk_frames().map_err(|error| Failure::library(&error, path))?;
    let order = archive.order();
    let records = order.iter().map(|&id| archive.record_at(id));
    let mut wanted = Vec::new();
    for (number, record) in (0..).zip(records.clone()) {
        if filter.matches(record.binary, record.arch) {
            wanted.push(number);
        }
    }
    if let Some(failure) = filter.verdict(wanted.len() as u64, &archive.toc().arches()) {
        return Err(failure.at(path));
    }
    let paths = Paths::plan(records.map(|record| (record.arch, record.binary, record.kind)));
    let root = Root::create(folder).map_err(|error| Failure::io("opening", &error).at(folder))?;

    let entry_at = |number: u32| archive.entry_at(order[number as usize]);
    let sizes = wanted.iter().filter_map(|&number| entry_at(number).ok()).map(|entry| entry.size);
    let progress = Progress::new(ui, "extracting", sizes.fold(0, u64::saturating_add));
    let done = Mutex::new(Vec::with_capacity(wanted.len()));
    archive.for_each(&wanted, threads.get(), |worker, number| {
        let components = paths.get(number as usize);
        let target = join(folder, &components);
        let result = entry_at(number)
            .and_then(|entry| Ok((entry, worker.kernel(&entry)?)))
            .map_err(|error| (Failure::library(&error, path), false))
            .and_then(|(entry, kernel)| {
                progress.add(entry.size);
                let put = root.put(&components, &kernel).map_err(|error| {
                    (Failure::io("writing", &error).at(&target), is_final(&error))
                })?;
                Ok(ExtractedFile {
                    binary: name(entry.binary).into_owned(),
                    arch: name(entry.arch).into_owned(),
                    path: target.to_string_lossy().into_owned(),
                    size: entry.size,
                    sha256: ui.json.then(|| text::hex(&Sha256::digest(&kernel))),
                    written: put == Put::Written,
                })
            });
        let stop = matches!(result, Err((_, true)));
        done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.clear();

    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|&(number, _)| number);
    let mut extracted = Extracted { place: folder.to_path_buf(), ..Extracted::default() };
    for (_, result) in done {
        match result {
            Ok(file) => {
                extracted.bytes = extracted.bytes.saturating_add(file.size);
                extracted.files.push(file);
            }
            // Several threads may meet the same end: it is told once.
            Err((_, true)) if extracted.stopped => {}
            Err((failure, stop)) => {
                extracted.stopped |= stop;
                extracted.failures.push(failure);
            }
        }
    }
    Ok(extracted)
}

/// No other file could be written either.
fn is_final(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}

fn join(folder: &Path, components: &[&[u8]]) -> PathBuf {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let mut path = folder.to_path_buf();
    path.extend(components.iter().map(|part| OsStr::from_bytes(part)));
    path
}

impl Extracted {
    /// The line that sums it up, without the command's name.
    fn summary(&self) -> String {
        let place = printable_path(&self.place);
        if self.single
            && let [file] = &self.files[..]
        {
            let (binary, arch) =
                (printable(file.binary.as_bytes()), printable(file.arch.as_bytes()));
            return format!(
                "{STRONG}{place}{STRONG:#}: {binary} for {arch}, {}",
                text::size(file.size)
            );
        }
        let kept = self.files.iter().filter(|file| !file.written).count() as u64;
        let written = self.files.len() as u64 - kept;
        let size = text::size(self.bytes);
        match (written, kept) {
            (0, 0) => format!("{STRONG}{place}{STRONG:#}: no kernels"),
            (_, 0) => format!("{STRONG}{place}{STRONG:#}: {}, {size}", text::kernels(written)),
            (0, _) => {
                format!(
                    "{STRONG}{place}{STRONG:#}: {}, {size}, all there already",
                    text::kernels(kept)
                )
            }
            _ => format!(
                "{STRONG}{place}{STRONG:#}: {}, {size}: {} written, {} there already",
                text::kernels(written + kept),
                text::number(written),
                text::number(kept)
            ),
        }
    }

    fn print(self, ui: &mut Ui) {
        if ui.verbose {
            for file in &self.files {
                let (size, path) = (text::size(file.size), printable(file.path.as_bytes()));
                let kept = if file.written { "" } else { "  (there already)" };
                let _ = writeln!(ui.out(), "{size:>8}  {path}{kept}");
            }
        }
        if !ui.quiet && (self.failures.is_empty() || !self.files.is_empty()) {
            let _ = writeln!(ui.out(), "{}", self.summary());
        }
        let tail = if self.stopped { "; stopped there" } else { "" };
        ui.fail_all(&self.failures, &format!("{}{tail}", printable_path(&self.place)));
    }

    fn print_json(self, ui: &mut Ui, path: &Path) {
        for failure in &self.failures {
            ui.note(failure.status);
        }
        ui.json_line(&ExtractJson {
            archive: path.to_string_lossy().into_owned(),
            files: &self.files,
            errors: self.failures.iter().map(Failure::body).collect(),
        });
    }
}

#[derive(Serialize)]
struct ExtractJson<'a> {
    archive: String,
    files: &'a [ExtractedFile],
    errors: Vec<ErrorBody<'a>>,
}

//! `rocload kpack info`: an archive in a few lines.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::kpack::{Entry, Scheme, VERSION};
use rocload::error::printable;
use rocload::{Archive, Error, ReadAt, decoder};
use serde::Serialize;

use super::store::{EncoderJson, built_in};
use super::totals::Totals;
use super::{check_stdin, name, open, scheme_name};
use crate::failure::{Failure, printable_path};
use crate::text;
use crate::ui::{FAINT, STRONG, Ui};

/// Tell about archives as a whole: scheme, architectures, sizes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack info torch_gfx1100.kpack
  rocload kpack info --json *.kpack | jq -r '[.archive, .kernels, .size] | @tsv'")]
pub(super) struct Info {
    /// Archives; - is standard input
    #[arg(value_name = "ARCHIVE", required = true)]
    archives: Vec<PathBuf>,
}

impl Info {
    pub(super) fn check(&self) -> Result<(), (UsageKind, String)> {
        check_stdin(&self.archives)
    }

    pub(super) fn run(self, ui: &mut Ui) {
        for path in &self.archives {
            if ui.is_closed() {
                return;
            }
            if let Some(archive) = open(ui, path) {
                show(ui, path, &archive);
            }
        }
    }
}

/// Tells about one archive.
fn show<R: ReadAt>(ui: &mut Ui, path: &Path, archive: &Archive<R>) {
    match Summary::of(archive) {
        Ok(summary) if ui.json => ui.json_line(&summary.json(path)),
        Ok(summary) => summary.print(ui, path),
        Err(error) => ui.fail(&Failure::library(&error, path)),
    }
}

struct Summary<'a> {
    scheme: Scheme,
    group: Option<&'a [u8]>,
    family: Option<&'a [u8]>,
    file_size: u64,
    toc_offset: u64,
    toc_size: u64,
    binaries: u64,
    all: Totals,
    /// In the archive's order, each once.
    arches: Vec<(&'a [u8], Totals)>,
    largest: Option<Entry<'a>>,
}

impl<'a> Summary<'a> {
    fn of<R: ReadAt>(archive: &'a Archive<R>) -> Result<Self, Error> {
        archive.walk_frames()?;
        let toc = archive.toc().toc();
        let mut arches: Vec<(&[u8], Totals)> = Vec::new();
        let mut known = HashMap::new();
        for arch in archive.toc().arches() {
            known.entry(arch).or_insert_with(|| {
                arches.push((arch, Totals::default()));
                arches.len() - 1
            });
        }
        let mut all = Totals::default();
        let mut largest: Option<Entry<'_>> = None;
        let mut binaries = HashSet::new();
        for entry in archive.entries() {
            let entry = entry?;
            let stored = archive.extent(&entry)?.len;
            all.add(&entry, stored);
            binaries.insert(entry.binary);
            if let Some(&at) = known.get(entry.arch) {
                arches[at].1.add(&entry, stored);
            }
            if largest.is_none_or(|largest| entry.size > largest.size) {
                largest = Some(entry);
            }
        }
        Ok(Summary {
            scheme: toc.scheme(),
            group: toc.group_name(),
            family: toc.gfx_arch_family(),
            file_size: toc.total(),
            toc_offset: toc.offset(),
            toc_size: toc.total() - toc.offset(),
            binaries: binaries.len() as u64,
            all,
            arches,
            largest,
        })
    }

    /// What decompresses the kernels; nothing has to under scheme none.
    fn decoder(&self) -> Option<&'static str> {
        (self.scheme != Scheme::None).then(decoder::default_name)
    }

    fn print(&self, ui: &mut Ui, path: &Path) {
        let verbose = ui.verbose;
        let out = ui.out();
        let _ = writeln!(out, "{STRONG}{}{STRONG:#}", printable_path(path));
        let mut line = |key: &str, value: String| {
            let _ = writeln!(out, "  {FAINT}{key:<9}{FAINT:#}  {value}");
        };
        let bytes = |n: u64| match n {
            0..1024 => text::count(n, "byte", "bytes"),
            _ => format!("{} ({} bytes)", text::size(n), text::number(n)),
        };
        let sums = |totals: &Totals| {
            let (size, stored) = (text::size(totals.size), text::size(totals.stored));
            format!("{size} raw, {stored} stored, ratio {}", totals.ratio())
        };
        line("version", VERSION.to_string());
        line(
            "scheme",
            match self.decoder() {
                Some(decoder) => format!("{}, decoded by {decoder}", scheme_name(self.scheme)),
                None => scheme_name(self.scheme).into(),
            },
        );
        if verbose {
            let EncoderJson { name, version, .. } = built_in();
            let version = version.map_or_else(String::new, |version| format!(" {version}"));
            line("encoder", format!("{name}{version}, where this command compresses"));
        }
        if let Some(group) = self.group {
            line("group", printable(group));
        }
        if let Some(family) = self.family {
            line("family", printable(family));
        }
        line("file", bytes(self.file_size));
        line("table", format!("{} at offset {}", bytes(self.toc_size), self.toc_offset));
        let binaries = text::count(self.binaries, "binary", "binaries");
        line("kernels", format!("{} of {binaries}", text::number(self.all.kernels)));
        line("sizes", sums(&self.all));
        if let Some(Entry { binary, arch, size, .. }) = self.largest {
            let (binary, arch) = (printable(binary), printable(arch));
            line("largest", format!("{}, {binary} for {arch}", text::size(size)));
        }
        let widest = self.arches.iter().map(|(arch, _)| printable(arch).chars().count()).max();
        let width = widest.unwrap_or(0).min(40);
        for (at, (arch, totals)) in self.arches.iter().enumerate() {
            let key = if at == 0 { "arches" } else { "" };
            let (arch, kernels) = (printable(arch), text::kernels(totals.kernels));
            line(
                key,
                match totals.kernels {
                    0 => format!("{arch:<width$}  no kernels"),
                    _ => format!("{arch:<width$}  {kernels}, {}", sums(totals)),
                },
            );
        }
    }

    fn json(&self, path: &'a Path) -> InfoJson<'_> {
        InfoJson {
            archive: path.to_string_lossy(),
            version: VERSION,
            scheme: scheme_name(self.scheme),
            group: self.group.map(name),
            family: self.family.map(name),
            decoder: self.decoder(),
            encoder: built_in(),
            file_size: self.file_size,
            toc: TocJson { offset: self.toc_offset, size: self.toc_size },
            binaries: self.binaries,
            sums: SumsJson::of(&self.all),
            arches: self
                .arches
                .iter()
                .map(|(arch, totals)| ArchJson { arch: name(arch), sums: SumsJson::of(totals) })
                .collect(),
            largest: self.largest.map(|entry| LargestJson {
                binary: name(entry.binary).into_owned(),
                arch: name(entry.arch).into_owned(),
                size: entry.size,
            }),
        }
    }
}

#[derive(Serialize)]
struct InfoJson<'a> {
    archive: Cow<'a, str>,
    version: u32,
    scheme: &'static str,
    group: Option<Cow<'a, str>>,
    family: Option<Cow<'a, str>>,
    decoder: Option<&'static str>,
    encoder: EncoderJson,
    file_size: u64,
    toc: TocJson,
    binaries: u64,
    #[serde(flatten)]
    sums: SumsJson,
    arches: Vec<ArchJson<'a>>,
    largest: Option<LargestJson>,
}

#[derive(Serialize)]
struct TocJson {
    offset: u64,
    size: u64,
}

#[derive(Serialize)]
struct SumsJson {
    kernels: u64,
    size: u64,
    stored_size: u64,
}

impl SumsJson {
    fn of(totals: &Totals) -> SumsJson {
        SumsJson { kernels: totals.kernels, size: totals.size, stored_size: totals.stored }
    }
}

#[derive(Serialize)]
struct ArchJson<'a> {
    arch: Cow<'a, str>,
    #[serde(flatten)]
    sums: SumsJson,
}

#[derive(Serialize)]
struct LargestJson {
    binary: String,
    arch: String,
    size: u64,
}

//! `rocload bundle list`: the device code of files.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rocload::Binary;
use rocload::binary::CodeObject;
use rocload::bundle::{Ccob, Format, WrapperKind, identify};
use rocload::error::printable;
use serde::Serialize;

use super::{name, no_code, read, target_of};
use crate::failure::{Failure, printable_path};
use crate::text;
use crate::ui::{FAINT, STRONG, Ui};

/// List the device code of libraries, programs, objects and bundles
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload bundle list /usr/lib/x86_64-linux-gnu/librocrand.so.1
  rocload bundle list --identify kernels.hipfb
  rocload bundle list --json libfoo.so | jq '.objects[].target'

FILE is an ELF file, a PE image, a COFF object, or offload bundles as they are, compressed (CCOB) or
not, several back to back. Bundles inside compressed ones are looked into. A file whose device code
was split off, or moved into archives, has none, and that is no error.")]
pub(super) struct List {
    /// Files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Read each code object and tell what it is: its kind of object and its ELF target
    #[arg(long)]
    identify: bool,
}

impl List {
    pub(super) fn run(self, ui: &mut Ui) {
        for path in &self.files {
            if ui.is_closed() {
                return;
            }
            if let Err(failure) = self.list(ui, path) {
                ui.fail(&failure);
            }
        }
    }

    fn list(&self, ui: &mut Ui, path: &Path) -> Result<(), Failure> {
        let (binary, objects) = read(path)?;
        let mut rows = Vec::new();
        for object in &objects {
            let mut identified = None;
            if self.identify {
                let bytes =
                    binary.object(object).map_err(|error| Failure::library(&error, path))?;
                let found = identify(&bytes);
                let target = found.target().map(|target| target.to_string());
                identified = Some(IdentifiedJson { object: found.name(), elf_target: target });
            }
            rows.push((object, identified));
        }
        if ui.json {
            ui.json_line(&FileJson::new(path, &binary, rows));
        } else {
            print(ui, path, &binary, &rows);
        }
        Ok(())
    }
}

fn print(
    ui: &mut Ui,
    path: &Path,
    binary: &Binary,
    rows: &[(&CodeObject, Option<IdentifiedJson>)],
) {
    let quiet = ui.quiet;
    let out = ui.out();
    let bytes = rows.iter().fold(0u64, |sum, (object, _)| sum.saturating_add(object.size()));
    if !quiet {
        let format = match binary.format() {
            Format::Other => "bundles",
            format => format.name(),
        };
        let what = match rows.len() as u64 {
            0 => no_code(binary).to_owned(),
            count => {
                let objects = text::count(count, "code object", "code objects");
                format!("{objects}, {}", text::size(bytes))
            }
        };
        let _ = writeln!(out, "{STRONG}{}{STRONG:#}: {format}, {what}", printable_path(path));
    }
    if rows.is_empty() {
        return;
    }
    let width = rows.iter().map(|(object, _)| printable(target_of(object)).chars().count());
    let width = width.max().unwrap_or(0).clamp(6, 40);
    let _ =
        writeln!(out, "{FAINT}{:>6}  {:>8}  {:width$}  STORED{FAINT:#}", "UNIT", "SIZE", "TARGET");
    for (object, identified) in rows {
        let (size, target) = (text::size(object.size()), printable(target_of(object)));
        let stored = match object.compressed() {
            Some(Ccob { version, method, .. }) => {
                format!("compressed bundle, version {version}, {}", method.name())
            }
            None => format!("at {}", object.offset()),
        };
        let is = identified.as_ref().map_or_else(String::new, |it| {
            let target = it.elf_target.as_deref().unwrap_or("");
            format!("  {} {target}", it.object).trim_end().to_owned()
        });
        let line = format!("{:>6}  {size:>8}  {target:width$}  {stored}{is}", object.co_index());
        let _ = writeln!(out, "{line}");
    }
}

#[derive(Serialize)]
struct IdentifiedJson {
    object: &'static str,
    elf_target: Option<String>,
}

#[derive(Serialize)]
struct FileJson {
    file: String,
    format: &'static str,
    split_off: bool,
    sections: Vec<SectionJson>,
    wrappers: Vec<WrapperJson>,
    objects: Vec<ObjectJson>,
}

#[derive(Serialize)]
struct SectionJson {
    kind: &'static str,
    offset: u64,
    size: u64,
    address: u64,
    nobits: bool,
}

#[derive(Serialize)]
struct WrapperJson {
    kind: &'static str,
    version: u32,
    pointer: u64,
    co_index: u32,
}

#[derive(Serialize)]
struct ObjectJson {
    bundle: u32,
    co_index: u32,
    id: String,
    target: Option<String>,
    offset: u64,
    size: u64,
    compressed: Option<CcobJson>,
    #[serde(flatten)]
    identified: Option<IdentifiedJson>,
}

#[derive(Serialize)]
struct CcobJson {
    offset: u64,
    version: u16,
    method: &'static str,
    total: u64,
    uncompressed: u64,
}

impl FileJson {
    fn new(
        path: &Path,
        binary: &Binary,
        rows: Vec<(&CodeObject, Option<IdentifiedJson>)>,
    ) -> FileJson {
        let sections = binary.sections().iter().map(|section| SectionJson {
            kind: section.kind.name(),
            offset: section.offset,
            size: section.size,
            address: section.address,
            nobits: section.nobits,
        });
        let wrappers = binary.wrappers().iter().map(|wrapper| WrapperJson {
            kind: match wrapper.kind {
                WrapperKind::Fatbin => "fatbin",
                WrapperKind::Reference => "reference",
                WrapperKind::Other(_) => "unknown",
            },
            version: wrapper.version,
            pointer: wrapper.pointer,
            co_index: wrapper.co_index,
        });
        let objects = rows.into_iter().map(|(object, identified)| ObjectJson {
            bundle: object.bundle(),
            co_index: object.co_index(),
            id: name(object.id()).into_owned(),
            target: object.target().map(|target| name(target).into_owned()),
            offset: object.offset(),
            size: object.size(),
            compressed: object.compressed().map(|ccob| CcobJson {
                offset: ccob.offset,
                version: ccob.version,
                method: ccob.method.name(),
                total: ccob.total,
                uncompressed: ccob.uncompressed,
            }),
            identified,
        });
        FileJson {
            file: path.to_string_lossy().into_owned(),
            format: binary.format().name(),
            split_off: binary.is_split_off(),
            sections: sections.collect(),
            wrappers: wrappers.collect(),
            objects: objects.collect(),
        }
    }
}

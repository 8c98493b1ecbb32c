//! `rocload bundle extract`: device code into files.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use rocload::error::printable;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{name, no_code, read, target_of};
use crate::failure::{ErrorBody, Failure, Status, printable_path};
use crate::filter::{Pattern, any, listed, pattern};
use crate::kpack::paths::Paths;
use crate::place::{Put, Root};
use crate::text;
use crate::ui::{STRONG, Ui};

/// Take the device code out of a library, a program, an object or bundles
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload bundle extract librocrand.so.1 -d out
  rocload bundle extract librocrand.so.1 -d out --arch 'gfx90a*'

Below the folder a code object becomes TARGET/FILE#UNIT.hsaco, where ':' is written '-'; `kpack pack`
takes such a folder. A file with the right content is left alone. A file whose device code was split
off or moved into archives gives none, and that is no error. The file itself is never changed.")]
pub(super) struct Extract {
    /// The file; see `rocload bundle list`
    file: PathBuf,
    /// The folder; made if it does not exist
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Only targets that match GLOB, such as 'gfx90a*'; may be repeated
    #[arg(long = "arch", value_name = "GLOB", value_parser = pattern())]
    arches: Vec<Pattern>,
}

#[derive(Debug, Serialize)]
struct FileJson {
    target: String,
    co_index: u32,
    path: String,
    size: u64,
    sha256: String,
    /// `false` where a file with the same bytes was there.
    written: bool,
}

#[derive(Serialize)]
struct ExtractJson<'a> {
    file: String,
    directory: String,
    files: Vec<FileJson>,
    errors: Vec<ErrorBody<'a>>,
}

impl Extract {
    pub(super) fn run(self, ui: &mut Ui) {
        if let Err(failure) = self.extract(ui) {
            ui.fail(&failure);
        }
    }

    fn extract(&self, ui: &mut Ui) -> Result<(), Failure> {
        let (binary, objects) = read(&self.file)?;
        if objects.is_empty() {
            return self.nothing(ui, no_code(&binary));
        }
        let targets: Vec<&[u8]> = objects.iter().map(target_of).collect();
        let wanted: Vec<usize> =
            (0..objects.len()).filter(|&at| any(&self.arches, targets[at])).collect();
        if let Some(pattern) = self.arches.iter().find(|pattern| !pattern.has_matched()) {
            let text = format!("no target matches --arch {}", printable(pattern.name()));
            let failure = Failure::new(Status::NotFound, "no_match", text).at(&self.file);
            let mut targets = targets;
            targets.sort_unstable();
            targets.dedup();
            return Err(failure.hint(format!("there are {}", listed(&targets))));
        }

        let stem = self.file.file_name().unwrap_or_default().as_bytes();
        let names: Vec<Vec<u8>> = objects
            .iter()
            .map(|object| [stem, b"#", object.co_index().to_string().as_bytes()].concat())
            .collect();
        let kernels = targets.iter().zip(&names);
        let paths =
            Paths::plan(kernels.map(|(arch, name)| (*arch, &name[..], Some(&b"hsaco"[..]))));
        let folder = &self.directory;
        let io = |error, path: &Path| Failure::io("writing", &error).at(path);
        let root = Root::create(folder).map_err(|error| io(error, folder))?;
        let (mut files, mut failures) = (Vec::new(), Vec::new());
        for at in wanted {
            let object = &objects[at];
            let components = paths.get(at);
            let path = folder
                .join(components.iter().map(|part| OsStr::from_bytes(part)).collect::<PathBuf>());
            let bytes = match binary.object(object) {
                Ok(bytes) => bytes,
                Err(error) => {
                    failures.push(Failure::library(&error, &self.file));
                    continue;
                }
            };
            let put = root.put(&components, &bytes).map_err(|error| io(error, &path))?;
            files.push(FileJson {
                target: name(targets[at]).into_owned(),
                co_index: object.co_index(),
                path: path.to_string_lossy().into_owned(),
                size: object.size(),
                sha256: text::hex(&Sha256::digest(&bytes)),
                written: put == Put::Written,
            });
        }
        if ui.json {
            failures.iter().for_each(|failure| ui.note(failure.status));
            ui.json_line(&self.json(files, &failures));
            return Ok(());
        }
        self.print(ui, &files);
        ui.fail_all(&failures, &printable_path(&self.file));
        Ok(())
    }

    fn json<'a>(&self, files: Vec<FileJson>, failures: &'a [Failure]) -> ExtractJson<'a> {
        ExtractJson {
            file: self.file.to_string_lossy().into_owned(),
            directory: self.directory.to_string_lossy().into_owned(),
            files,
            errors: failures.iter().map(Failure::body).collect(),
        }
    }

    fn nothing(&self, ui: &mut Ui, why: &str) -> Result<(), Failure> {
        if ui.json {
            ui.json_line(&self.json(Vec::new(), &[]));
        } else if !ui.quiet {
            let file = printable_path(&self.file);
            let _ = writeln!(ui.out(), "{STRONG}{file}{STRONG:#}: {why}");
        }
        Ok(())
    }

    fn print(&self, ui: &mut Ui, files: &[FileJson]) {
        if ui.quiet {
            return;
        }
        for file in files {
            let (size, path) = (text::size(file.size), printable(file.path.as_bytes()));
            let kept = if file.written { "" } else { "  (there already)" };
            let _ = writeln!(ui.out(), "{size:>8}  {path}{kept}");
        }
        let bytes = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.size));
        let count = text::count(files.len() as u64, "code object", "code objects");
        let folder = printable_path(&self.directory);
        let size = text::size(bytes);
        let _ = writeln!(ui.out(), "{STRONG}{folder}{STRONG:#}: {count}, {size}");
    }
}

//! `rocload kpack split`: the device code of binaries into archives.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use clap::error::ErrorKind as UsageKind;
use clap::{Args, ValueEnum};
use rocload::binary::CodeObject;
use rocload::core::kpack::Scheme;
use rocload::encoder::{self, DEFAULT_LEVEL};
use rocload::error::printable;
use rocload::pack::{Content, Item, Kernels, Pack, PackOptions, Packed};
use rocload::{Binary, Error};
use serde::Serialize;

use super::store::SchemeName;
use super::{Threads, name};
use crate::failure::{Failure, Status, printable_path};
use crate::output::{Output, Replace};
use crate::progress::Progress;
use crate::text;
use crate::ui::{STRONG, Ui};

/// Pack the device code of binaries into archives; the binaries themselves are not changed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack split librocrand.so.1 -d .kpack --key-prefix lib
  rocload kpack split lib/liba.so lib/libb.so -d .kpack --group blas --layout single

Keys are PREFIX/FILE#N, N being the number of the translation unit. Without --key-prefix a relative
path is kept as it was typed, and of an absolute one the file's name. Archives are named
GROUP_ARCH.kpack, or GROUP.kpack with --layout single; an archive that is there is left alone
unless --force is given.")]
pub(super) struct Split {
    /// Libraries, programs, objects or bundles
    #[arg(value_name = "BINARY", required = true)]
    binaries: Vec<PathBuf>,
    /// The folder for the archives; made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    directory: PathBuf,
    /// An archive for each architecture, or a single one
    #[arg(long, value_enum, value_name = "LAYOUT", default_value = "per-arch")]
    layout: Layout,
    /// What stands before the file's name in keys
    #[arg(long, value_name = "PREFIX")]
    key_prefix: Option<String>,
    /// The archives' group name, and the first part of theirs; default: the first binary's name up
    /// to its first dot
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// How kernels are stored
    #[arg(long, value_enum, value_name = "SCHEME", default_value = "zstd")]
    scheme: SchemeName,
    /// Compression level: 3 is that of the public tools, higher ones are slower and smaller
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = DEFAULT_LEVEL)]
    level: i32,
    /// Tell each entry where its frame is, so that any kernel is found at once (scheme zstd)
    #[arg(long)]
    index: bool,
    /// Tell each entry the SHA-256 of its kernel
    #[arg(long)]
    checksums: bool,
    /// Replace archives that are there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    threads: Threads,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Layout {
    /// GROUP_ARCH.kpack for each architecture
    PerArch,
    /// GROUP.kpack
    Single,
}

/// A binary and what is in it.
struct Source {
    path: PathBuf,
    binary: Binary,
    objects: Vec<CodeObject>,
}

impl Kernels for Source {
    fn scheme(&self) -> Scheme {
        Scheme::None
    }

    fn size(&self, id: u32) -> Result<u64, Error> {
        Ok(self.objects[id as usize].size())
    }

    fn content(&self, id: u32) -> Result<Vec<u8>, Error> {
        self.binary.object(&self.objects[id as usize])
    }

    fn stored(&self, id: u32) -> Result<Vec<u8>, Error> {
        self.content(id)
    }
}

/// A kernel to pack: its key, its architecture, and where it comes from.
struct Planned {
    key: Vec<u8>,
    arch: Vec<u8>,
    source: usize,
    object: u32,
}

#[derive(Serialize)]
struct SplitJson {
    directory: String,
    archives: Vec<ArchiveJson>,
}

#[derive(Serialize)]
struct ArchiveJson {
    archive: String,
    group: String,
    family: String,
    arches: Vec<String>,
    kernels: u64,
    size: u64,
    stored_size: u64,
    file_size: u64,
}

impl Split {
    pub(super) fn check(&self) -> Result<(), (UsageKind, String)> {
        let wrong = |text: String| Err((UsageKind::ValueValidation, text));
        if let Err(error) = encoder::best(self.level) {
            return wrong(error.to_string());
        }
        if self.index && self.scheme == SchemeName::None {
            let text = "--index is for --scheme zstd: the table of scheme none has it anyway";
            return Err((UsageKind::ArgumentConflict, text.to_owned()));
        }
        if let Some(group) = &self.group
            && (group.is_empty() || group.contains('/') || group.contains('\0'))
        {
            return wrong("--group is a part of a file's name: it takes no '/'".to_owned());
        }
        Ok(())
    }

    pub(super) fn run(self, ui: &mut Ui) {
        if let Err(failure) = self.split(ui) {
            ui.fail(&failure);
        }
    }

    fn split(&self, ui: &mut Ui) -> Result<(), Failure> {
        let mut sources = Vec::new();
        for path in &self.binaries {
            let failed = |error: Error| Failure::library(&error, path);
            let binary = Binary::open(path).map_err(failed)?;
            let mut objects = binary.objects().map_err(failed)?;
            objects.retain(|object| !object.is_host());
            sources.push(Source { path: path.clone(), binary, objects });
        }
        let planned = self.plan(&sources)?;
        let group = self.group();
        // Of one layout or the other: the architectures of each archive.
        let arches: BTreeSet<&[u8]> = planned.iter().map(|kernel| &kernel.arch[..]).collect();
        let archives: Vec<Vec<&[u8]>> = match self.layout {
            Layout::PerArch => arches.into_iter().map(|arch| vec![arch]).collect(),
            Layout::Single => vec![arches.into_iter().collect()],
        };
        let io = |error| Failure::io("writing", &error).at(&self.directory);
        fs::create_dir_all(&self.directory).map_err(io)?;
        let mut done = Vec::new();
        for arches in archives {
            let family = match arches[..] {
                [arch] => arch,
                _ => b"mixed",
            };
            let path = self.directory.join(self.file_name(&group, &arches));
            let mut pack = Pack::new(&group, family);
            for kernel in planned.iter().filter(|kernel| arches.contains(&&kernel.arch[..])) {
                let content = Content::Entry(&sources[kernel.source], kernel.object);
                pack.items.push(Item::new(&kernel.key, &kernel.arch, content));
            }
            let packed = self.write(ui, &path, &pack)?;
            if !ui.json && !ui.quiet {
                let line = summary(&path, &packed, &arches);
                let _ = writeln!(ui.out(), "{line}");
            }
            done.push(ArchiveJson {
                archive: path.to_string_lossy().into_owned(),
                group: name(&group).into_owned(),
                family: name(family).into_owned(),
                arches: arches.iter().map(|arch| name(arch).into_owned()).collect(),
                kernels: packed.kernels,
                size: packed.size,
                stored_size: packed.stored,
                file_size: packed.total,
            });
        }
        if ui.json {
            let directory = self.directory.to_string_lossy().into_owned();
            ui.json_line(&SplitJson { directory, archives: done });
        }
        Ok(())
    }

    /// Every kernel, in the order of the binaries and of what is in them.
    fn plan(&self, sources: &[Source]) -> Result<Vec<Planned>, Failure> {
        let mut planned: Vec<Planned> = Vec::new();
        let mut seen: HashMap<(Vec<u8>, Vec<u8>), usize> = HashMap::new();
        for (source, from) in sources.iter().enumerate() {
            if from.objects.is_empty() {
                let text = "no device code here";
                return Err(Failure::new(Status::NotFound, "no_code", text).at(&from.path));
            }
            let stem = self.stem(&from.path);
            for (object, it) in (0..).zip(&from.objects) {
                let Some(arch) = it.target().map(<[u8]>::to_vec) else {
                    let id = printable(it.id());
                    let text = format!("no architecture in the id of a code object: \"{id}\"");
                    return Err(Failure::new(Status::Malformed, "malformed", text).at(&from.path));
                };
                let number = it.co_index().to_string();
                let key = [&stem[..], b"#", number.as_bytes()].concat();
                if let Some(other) = seen.insert((key.clone(), arch.clone()), source) {
                    let (key, arch) = (printable(&key), printable(&arch));
                    let other = printable_path(&sources[other].path);
                    let text = format!("{key} for {arch} is there twice: in {other} too");
                    let failure = Failure::new(Status::Failed, "conflict", text).at(&from.path);
                    return Err(failure.hint("split them apart, with other --key-prefix"));
                }
                planned.push(Planned { key, arch, source, object });
            }
        }
        Ok(planned)
    }

    /// A binary's name in keys, without its number.
    fn stem(&self, path: &Path) -> Vec<u8> {
        let file = path.file_name().unwrap_or_default().as_bytes();
        if let Some(prefix) = &self.key_prefix {
            let prefix = prefix.trim_end_matches('/').as_bytes();
            return if prefix.is_empty() { file.to_vec() } else { [prefix, b"/", file].concat() };
        }
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(part) => parts.push(part.as_bytes()),
                Component::CurDir => {}
                // Relative to what is not known here.
                _ => return file.to_vec(),
            }
        }
        let path = parts.join(&b'/');
        path.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect()
    }

    fn group(&self) -> Vec<u8> {
        if let Some(group) = &self.group {
            return group.as_bytes().to_vec();
        }
        let first = self.binaries.first().and_then(|path| path.file_name()).unwrap_or_default();
        let stem = first.as_bytes().split(|&byte| byte == b'.').next().unwrap_or_default();
        if stem.is_empty() { b"kernels".to_vec() } else { stem.to_vec() }
    }

    fn file_name(&self, group: &[u8], arches: &[&[u8]]) -> PathBuf {
        let mut file = group.to_vec();
        if let (Layout::PerArch, [arch]) = (self.layout, arches) {
            file.push(b'_');
            // A hostile id leads nowhere else.
            let plain = |&byte: &u8| if byte == b'/' || byte == 0 { b'_' } else { byte };
            file.extend(arch.iter().map(plain));
        }
        file.extend_from_slice(b".kpack");
        std::ffi::OsStr::from_bytes(&file).into()
    }

    fn write(&self, ui: &Ui, path: &Path, pack: &Pack<'_>) -> Result<Packed, Failure> {
        let encoder = encoder::best(self.level)
            .map_err(|error| Failure::new(Status::Usage, "usage", error.to_string()))?;
        let mut options = PackOptions::default();
        options.write.scheme = self.scheme.into();
        options.write.index = self.index;
        options.threads = self.threads.get();
        options.encoder = Some(&*encoder);
        options.checksums = self.checksums;
        let io = |error: io::Error| {
            let failure = Failure::io("writing", &error).at(path);
            match error.kind() {
                io::ErrorKind::AlreadyExists => failure.hint("--force replaces it"),
                _ => failure,
            }
        };
        let replace = if self.force { Replace::Yes } else { Replace::No };
        let mut output = Output::create(path, replace).map_err(io)?;
        let progress = Progress::new(ui, "packing", 0);
        let told = |done, total| progress.at(done, total);
        let packed = output.fill(|file| pack.write(file, &options, &told));
        progress.clear();
        let packed = packed.map_err(io)?.map_err(|error| {
            let at = error.path().unwrap_or(path).to_path_buf();
            Failure::library(&error, &at)
        })?;
        output.commit().map_err(io)?;
        Ok(packed)
    }
}

fn summary(path: &Path, packed: &Packed, arches: &[&[u8]]) -> String {
    let path = printable_path(path);
    let arches = text::count(arches.len() as u64, "architecture", "architectures");
    let kernels = text::kernels(packed.kernels);
    let (size, total) = (text::size(packed.size), text::size(packed.total));
    format!("{STRONG}{path}{STRONG:#}: {kernels} for {arches}, {size} raw, {total} in all")
}

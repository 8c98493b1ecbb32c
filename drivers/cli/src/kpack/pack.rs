//! `rocload kpack pack`: an archive from files.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::kpack::Scheme;
use rocload::error::printable;
use rocload::pack::{Content, Item, Pack as Packing};
use serde::Serialize;

use super::folder;
use super::store::{Plan, Store};
use crate::failure::{Failure, Status, printable_path};
use crate::filter::Filter;
use crate::input::is_stdin;
use crate::output::file_id;
use crate::ui::Ui;

/// Make an archive from kernels in files
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack pack out -o torch_gfx1100.kpack
  rocload kpack pack kernels.json --group torch --level 19 -o torch.kpack
  rocload kpack pack 'lib/libfoo.so#0@gfx1100=foo.hsaco' 'lib/libfoo.so#0@gfx90a=bar.hsaco' -o f.kpack
  rocload kpack pack out --arch 'gfx90a*' --scheme none --align 64 -o plain.kpack

INPUT is one of these, and several follow one another in the archive:
  a folder        with DIR/<arch>/<binary>.hsaco as `extract -d` writes it, in byte order of the paths
  a manifest      a JSON array of rows [binary, arch, file]; files are relative to the manifest's folder
  BINARY@ARCH=FILE
In binaries, \\ becomes /. The same inputs make the same bytes; kernels are numbered in their order.")]
pub(super) struct Pack {
    /// Folders, manifests and BINARY@ARCH=FILE items
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<OsString>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    store: Store,
}

/// A kernel to pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) binary: Vec<u8>,
    pub(super) arch: Vec<u8>,
    pub(super) file: PathBuf,
}

impl Pack {
    pub(super) fn check(&self, json: bool) -> Result<(), (UsageKind, String)> {
        self.store.check(json)
    }

    pub(super) fn run(self, ui: &mut Ui) {
        if let Err(failure) = self.pack(ui) {
            ui.fail(&failure);
        }
    }

    fn pack(&self, ui: &mut Ui) -> Result<(), Failure> {
        if let Some(failure) = self.store.terminal() {
            return Err(failure);
        }
        let mut kernels = Vec::new();
        for input in &self.inputs {
            kernels.extend(self.read(input)?);
        }
        let arches: BTreeSet<Vec<u8>> = kernels.iter().map(|kernel| kernel.arch.clone()).collect();
        let arches: Vec<&[u8]> = arches.iter().map(Vec::as_slice).collect();
        if kernels.is_empty() {
            let failure = Failure::new(Status::NotFound, "no_match", "no kernels to pack");
            let only = self.inputs.first().filter(|_| self.inputs.len() == 1);
            return Err(only.map_or(failure.clone(), |input| failure.at(Path::new(input))));
        }
        kernels.retain(|kernel| self.filter.matches(&kernel.binary, &kernel.arch));
        if let Some(failure) = self.filter.verdict(kernels.len() as u64, &arches) {
            return Err(failure);
        }
        self.judge(&kernels)?;

        let group = self.group();
        let family = self.family(&kernels);
        let mut pack = Packing::new(&group, &family);
        for kernel in &kernels {
            let content = Content::File(&kernel.file);
            pack.items.push(Item::new(&kernel.binary, &kernel.arch, content));
        }
        let scheme = self.store.scheme().unwrap_or(self.default_scheme());
        let plan = Plan { scheme, index: self.store.index(), pack };
        self.store.write(ui, &plan, Nothing {})
    }

    /// Compressed, unless an alignment is asked for, which only the other scheme has.
    fn default_scheme(&self) -> Scheme {
        if self.store.aligns() { Scheme::None } else { Scheme::ZstdPerKernel }
    }

    /// The kernels of an input.
    fn read(&self, input: &OsStr) -> Result<Vec<Planned>, Failure> {
        if let Some(item) = item(input.as_bytes()) {
            return Ok(vec![item]);
        }
        let path = Path::new(input);
        if path.is_dir() {
            return folder::read(path);
        }
        self.store.is_not(path)?;
        manifest(path)
    }

    /// No kernel is given twice, and the output is none of the files.
    fn judge(&self, kernels: &[Planned]) -> Result<(), Failure> {
        let mut seen: HashMap<(&[u8], &[u8]), &Path> = HashMap::new();
        let output = self.store.output_id();
        for Planned { binary, arch, file } in kernels {
            if let Some(other) = seen.insert((binary, arch), file) {
                let (binary, arch) = (printable(binary), printable(arch));
                let (other, file) = (printable_path(other), printable_path(file));
                let text = format!("{binary} for {arch} is given twice: {other} and {file}");
                return Err(Failure::new(Status::Failed, "conflict", text));
            }
            if output.is_some()
                && fs::metadata(file).is_ok_and(|meta| output == Some(file_id(&meta)))
            {
                return Err(Store::output_is_input(file));
            }
        }
        Ok(())
    }

    /// The name that was given, or the output's without what follows the component's name.
    fn group(&self) -> Vec<u8> {
        if let Some(group) = &self.store.group {
            return group.as_bytes().to_vec();
        }
        let stem = self.store.output().file_stem().unwrap_or_default().as_bytes();
        let target = stem.windows(4).position(|window| window == b"_gfx");
        stem[..target.unwrap_or(stem.len())].to_vec()
    }

    /// The name that was given, or the one architecture that there is, or `mixed`.
    fn family(&self, kernels: &[Planned]) -> Vec<u8> {
        if let Some(family) = &self.store.family {
            return family.as_bytes().to_vec();
        }
        match kernels {
            [first, rest @ ..] if rest.iter().all(|kernel| kernel.arch == first.arch) => {
                first.arch.clone()
            }
            _ => b"mixed".to_vec(),
        }
    }
}

#[derive(Serialize)]
struct Nothing {}

/// `BINARY@ARCH=FILE`, if it is that: an architecture stands between the first `@` and `=` that
/// have one between them.
fn item(text: &[u8]) -> Option<Planned> {
    let is_arch = |name: &[u8]| {
        !name.is_empty() && name.iter().all(|c| c.is_ascii_alphanumeric() || b"_:+-.".contains(c))
    };
    let ats = text.iter().enumerate().filter(|&(_, &byte)| byte == b'@').map(|(at, _)| at);
    for at in ats {
        let rest = &text[at + 1..];
        let Some(end) = rest.iter().position(|&byte| byte == b'=') else { break };
        if is_arch(&rest[..end]) && at > 0 && end + 1 < rest.len() {
            let file = OsString::from_vec(rest[end + 1..].to_vec()).into();
            return Some(Planned {
                binary: slashes(&text[..at]),
                arch: rest[..end].to_vec(),
                file,
            });
        }
    }
    None
}

/// A binary's name as the public tools write it.
fn slashes(name: &[u8]) -> Vec<u8> {
    name.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect()
}

/// The largest manifest that is read, in bytes: over a million rows.
const MOST: u64 = 256 << 20;

/// The rows of a manifest.
fn manifest(path: &Path) -> Result<Vec<Planned>, Failure> {
    let io = |error| Failure::io("reading the input", &error).at(path);
    let mut text = Vec::new();
    let got = if is_stdin(path) {
        io::stdin().lock().take(MOST + 1).read_to_end(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut text))
    };
    if got.map_err(io)? as u64 > MOST {
        let message = format!("the manifest is longer than {MOST} bytes");
        return Err(Failure::new(Status::Malformed, "limit", message).at(path));
    }
    let rows: Vec<(String, String, PathBuf)> = serde_json::from_slice(&text).map_err(|error| {
        let message = format!("the manifest: {error}");
        let failure = Failure::new(Status::Malformed, "malformed", message).at(path);
        failure.hint(
            "an INPUT is a folder, BINARY@ARCH=FILE, or a JSON array of rows [binary, arch, file]",
        )
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let planned = |(binary, arch, file): (String, String, PathBuf)| Planned {
        binary: slashes(binary.as_bytes()),
        arch: arch.into_bytes(),
        file: folder.join(file),
    };
    Ok(rows.into_iter().map(planned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items() {
        let parts = |text: &str| {
            item(text.as_bytes()).map(|item| {
                let text = |bytes| String::from_utf8(bytes).unwrap();
                (text(item.binary), text(item.arch), item.file.to_str().unwrap().to_owned())
            })
        };
        let some = |binary: &str, arch: &str, file: &str| {
            Some((binary.to_owned(), arch.to_owned(), file.to_owned()))
        };
        assert_eq!(
            parts("lib/a.so#0@gfx90a:xnack-=x.hsaco"),
            some("lib/a.so#0", "gfx90a:xnack-", "x.hsaco")
        );
        assert_eq!(parts("a@gfx1=b=c@d=e"), some("a", "gfx1", "b=c@d=e"));
        assert_eq!(parts("a@b/c@gfx1=f"), some("a@b/c", "gfx1", "f"));
        assert_eq!(parts("lib\\a.dll#0@gfx1=f"), some("lib/a.dll#0", "gfx1", "f"));
        for text in ["out", "@gfx1=f", "a@=f", "a@gfx1=", "a=b", "a@gfx1", "x@y/z=w", ""] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    #[test]
    fn rows_are_relative_to_their_manifest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.json");
        fs::write(&path, r#"[["lib\\a#0", "gfx1", "k/a"], ["b", "gfx2", "/abs"]]"#).unwrap();
        let rows = manifest(&path).unwrap();
        assert_eq!((&*rows[0].binary, &rows[0].file), (&b"lib/a#0"[..], &dir.path().join("k/a")));
        assert_eq!(rows[1].file, Path::new("/abs"));
        for wrong in ["{}", r#"[["a", "b"]]"#, r#"[["a", "b", 1]]"#] {
            fs::write(&path, wrong).unwrap();
            assert_eq!(manifest(&path).unwrap_err().status, Status::Malformed, "{wrong}");
        }
        assert_eq!(manifest(dir.path().join("x").as_path()).unwrap_err().status, Status::NotFound);
    }
}

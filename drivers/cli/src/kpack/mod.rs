//! `rocload kpack`: ROCm kernel archives.

mod diff;
mod extract;
mod folder;
mod info;
mod list;
mod manifest;
mod metadata;
mod pack;
pub(crate) mod paths;
mod repack;
mod resolve;
mod split;
mod store;
mod table;
mod totals;
mod verify;

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::ErrorKind;
use rocload::core::kpack::Scheme;
use rocload::{Archive, Options, default_threads};

use crate::failure::Failure;
use crate::input::{self, Input, is_stdin};
use crate::ui::Ui;

crate::group::group! {
    /// Look into ROCm kernel archives (.kpack), check them, take kernels out, make archives
    #[command(after_help = "Examples:
  rocload kpack list torch_gfx1100.kpack                the kernels of an archive
  rocload kpack verify /opt/rocm/lib/.kpack/*           are these sound?
  rocload kpack extract A.kpack --all -d kernels        every kernel into a file
  rocload kpack pack kernels -o B.kpack                 and back
  rocload kpack resolve libfoo.so --arch gfx90a:xnack-  where would a program load it from?")]
    Kpack: list::List, info::Info, verify::Verify, extract::Extract, pack::Pack, repack::Repack,
        resolve::Resolve, split::Split, diff::Diff,
}

impl Kpack {
    /// What clap cannot check about the options.
    pub(crate) fn check(&self) -> Result<(), (ErrorKind, String)> {
        match &self.command {
            Command::List(list) => list.check(),
            Command::Info(info) => info.check(),
            Command::Verify(verify) => verify.check(),
            Command::Extract(extract) => extract.check(self.json),
            Command::Pack(pack) => pack.check(self.json),
            Command::Repack(repack) => repack.check(self.json),
            Command::Split(split) => split.check(),
            Command::Resolve(_) => Ok(()),
            Command::Diff(diff) => diff.check(),
        }
    }
}

/// How many threads work.
#[derive(Debug, Args, Clone, Copy, Default)]
struct Threads {
    /// Threads to work on; default: one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl Threads {
    fn get(self) -> NonZeroUsize {
        let asked = self.threads.and_then(|n| NonZeroUsize::new(n.into()));
        asked.unwrap_or_else(default_threads)
    }
}

/// An archive of the command line.
type Opened = Archive<Input>;

/// Opens an archive or tells why it cannot be.
fn open(ui: &mut Ui, path: &Path) -> Option<Opened> {
    let opened = input::open(path, &Options::default());
    opened.map_err(|error| ui.fail(&Failure::library(&error, path))).ok()
}

/// Standard input can be read once.
fn check_stdin<'a>(
    archives: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), (ErrorKind, String)> {
    if archives.into_iter().filter(|path| is_stdin(path)).count() > 1 {
        let text = "standard input (-) can be read only once".to_owned();
        return Err((ErrorKind::ArgumentConflict, text));
    }
    Ok(())
}

/// The scheme as the TOC spells it.
fn scheme_name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::None => "none",
        Scheme::ZstdPerKernel => "zstd-per-kernel",
        _ => "unknown",
    }
}

/// A name in JSON: U+FFFD stands for what is not UTF-8.
fn name(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The exact bytes of a name that JSON cannot hold.
fn name_hex(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).is_err().then(|| crate::text::hex(bytes))
}

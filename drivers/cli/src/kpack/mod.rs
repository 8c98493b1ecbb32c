//! `rocload kpack`: ROCm kernel archives.

mod extract;
mod info;
mod list;
mod manifest;
mod metadata;
mod paths;
mod table;
mod totals;
mod verify;

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Args, Subcommand};
use rocload::core::kpack::Scheme;
use rocload::{Archive, default_threads};

use crate::failure::Failure;
use crate::ui::Ui;

/// Look into ROCm kernel archives (.kpack), check them, take kernels out
#[derive(Debug, Args)]
pub(crate) struct Kpack {
    /// Print results and errors as JSON, all on standard output
    #[arg(long, global = true, display_order = 100)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    Info(info::Info),
    Verify(verify::Verify),
    Extract(extract::Extract),
}

impl Kpack {
    /// What clap cannot check about the options.
    pub(crate) fn check(&self) -> Result<(), (ErrorKind, String)> {
        match &self.command {
            Command::List(_) | Command::Info(_) => Ok(()),
            Command::Verify(verify) => verify.check(),
            Command::Extract(extract) => extract.check(self.json),
        }
    }

    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        match self.command {
            Command::List(list) => list.run(ui),
            Command::Info(info) => info.run(ui),
            Command::Verify(verify) => verify.run(ui),
            Command::Extract(extract) => extract.run(ui),
        }
    }
}

/// How many threads decode.
#[derive(Debug, Args, Clone, Copy, Default)]
struct Threads {
    /// Threads that decode; default: one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl Threads {
    fn get(self) -> NonZeroUsize {
        let asked = self.threads.and_then(|n| NonZeroUsize::new(n.into()));
        asked.unwrap_or_else(default_threads)
    }
}

/// Opens an archive or tells why it cannot be.
fn open(ui: &mut Ui, path: &Path) -> Option<Archive> {
    Archive::open(path).map_err(|error| ui.fail(&Failure::library(&error, path))).ok()
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

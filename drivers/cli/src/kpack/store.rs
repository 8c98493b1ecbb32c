//! What the commands that write archives share: how kernels are stored, and where.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind as UsageKind;
use clap::{Args, ValueEnum};
use rocload::core::kpack::Scheme;
use rocload::encoder::{self, DEFAULT_LEVEL, Encoder};
use rocload::pack::{Pack, PackOptions, Packed};
use serde::Serialize;

use super::{Threads, name, scheme_name};
use crate::failure::{Failure, Status, printable_path};
use crate::input::is_stdin;
use crate::output::{Output, Replace, file_id};
use crate::progress::Progress;
use crate::text;
use crate::ui::{STRONG, Ui};

/// How kernels are stored, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemeName {
    /// As they are
    None,
    /// Each compressed by itself
    #[value(alias = "zstd-per-kernel")]
    Zstd,
}

impl From<SchemeName> for Scheme {
    fn from(name: SchemeName) -> Scheme {
        match name {
            SchemeName::None => Scheme::None,
            SchemeName::Zstd => Scheme::ZstdPerKernel,
        }
    }
}

/// Options of the commands that write an archive.
#[derive(Debug, Args)]
pub(super) struct Store {
    /// The archive to write, replacing one that is there; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How kernels are stored
    #[arg(long, value_enum, value_name = "SCHEME")]
    scheme: Option<SchemeName>,
    /// Compression level: 3 is that of the public tools, higher ones are slower and smaller
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    level: Option<i32>,
    /// Store each kernel at a multiple of BYTES, such as 64, and uncompressed (scheme none)
    #[arg(long, value_name = "BYTES")]
    align: Option<u32>,
    /// Tell each entry where its frame is, so that any kernel is found at once (scheme zstd)
    #[arg(long)]
    index: bool,
    /// Tell each entry the SHA-256 of its kernel
    #[arg(long)]
    checksums: bool,
    /// The archive's group name
    #[arg(long, value_name = "NAME")]
    pub(super) group: Option<String>,
    /// The archive's family of architectures
    #[arg(long, value_name = "NAME")]
    pub(super) family: Option<String>,
    #[command(flatten)]
    threads: Threads,
}

/// The archive that is going to be written, apart from its kernels.
pub(super) struct Plan<'a> {
    pub(super) scheme: Scheme,
    pub(super) index: bool,
    pub(super) pack: Pack<'a>,
}

impl Store {
    pub(super) fn check(&self, json: bool) -> Result<(), (UsageKind, String)> {
        let conflict = |text: &str| Err((UsageKind::ArgumentConflict, text.to_owned()));
        if let Some(level) = self.level {
            if self.scheme == Some(SchemeName::None) {
                return conflict("--level is for compressing, and --scheme none does not");
            }
            encoder::best(level)
                .map_err(|error| (UsageKind::ValueValidation, error.to_string()))?;
        }
        if let Some(align) = self.align {
            if self.scheme == Some(SchemeName::Zstd) {
                return conflict("--align is for --scheme none: frames stand back to back");
            }
            if !align.is_power_of_two() || align > 4096 {
                let text = "--align takes a power of two up to 4096".to_owned();
                return Err((UsageKind::ValueValidation, text));
            }
        }
        if self.index && self.scheme == Some(SchemeName::None) {
            return conflict(
                "--index is for --scheme zstd: the table of scheme none has it anyway",
            );
        }
        if json && is_stdin(&self.output) {
            return conflict("-o - and --json both write to standard output");
        }
        Ok(())
    }

    pub(super) fn output(&self) -> &Path {
        &self.output
    }

    /// The scheme that was asked for.
    pub(super) fn scheme(&self) -> Option<Scheme> {
        self.scheme.map(Scheme::from)
    }

    /// An alignment was asked for.
    pub(super) fn aligns(&self) -> bool {
        self.align.is_some()
    }

    pub(super) fn index(&self) -> bool {
        self.index
    }

    /// A level was asked for: what is compressed already is compressed anew.
    pub(super) fn recompresses(&self) -> bool {
        self.level.is_some()
    }

    /// What tells the file in the output's place from others, if there is one.
    pub(super) fn output_id(&self) -> Option<(u64, u64)> {
        if is_stdin(&self.output) {
            return None;
        }
        std::fs::metadata(&self.output).ok().map(|meta| file_id(&meta))
    }

    /// The output is not this input.
    pub(super) fn is_not(&self, input: &Path) -> Result<(), Failure> {
        let id = std::fs::metadata(input).ok().map(|meta| file_id(&meta));
        match id {
            Some(id) if !is_stdin(input) && self.output_id() == Some(id) => {
                Err(Store::output_is_input(input))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn output_is_input(input: &Path) -> Failure {
        let text = "the output is an input: it would be lost";
        let failure = Failure::new(Status::Usage, "usage", text).at(input);
        failure.hint("write to another file and rename it")
    }

    /// A terminal is no place for an archive.
    pub(super) fn terminal(&self) -> Option<Failure> {
        let terminal = is_stdin(&self.output) && io::IsTerminal::is_terminal(&io::stdout());
        terminal.then(|| {
            let text = "an archive is not text and standard output is a terminal";
            Failure::new(Status::Usage, "usage", text).hint("-o FILE, or a pipe")
        })
    }

    /// Writes the archive and tells of it; `more` is added to the JSON.
    pub(super) fn write<T: Serialize>(
        &self,
        ui: &mut Ui,
        plan: &Plan<'_>,
        more: T,
    ) -> Result<(), Failure> {
        let level = self.level.unwrap_or(DEFAULT_LEVEL);
        let encoder = encoder::best(level)
            .map_err(|error| Failure::new(Status::Usage, "usage", error.to_string()))?;
        let mut options = PackOptions::default();
        options.write.scheme = plan.scheme;
        options.write.index = plan.index;
        options.write.align = self.align.unwrap_or(1);
        options.write.verbatim = true;
        options.threads = self.threads.get();
        options.encoder = Some(&*encoder);
        options.recompress = self.recompresses();
        options.checksums = self.checksums;

        let io = |error: io::Error| Failure::io("writing", &error).at(&self.output);
        let mut output = Output::create(&self.output, Replace::Yes).map_err(io)?;
        let progress = Progress::new(ui, "packing", 0);
        let told = |done, total| progress.at(done, total);
        let packed = output.fill(|file| plan.pack.write(file, &options, &told));
        progress.clear();
        let packed = packed.map_err(io)?.map_err(|error| {
            let path = error.path().unwrap_or(&self.output).to_path_buf();
            Failure::library(&error, &path)
        })?;
        output.commit().map_err(io)?;
        let used = (packed.compressed > 0).then_some(&*encoder);
        let report = Report { path: &self.output, plan, packed, encoder: used };
        if ui.json {
            ui.json_line(&report.json(more));
        } else if !ui.quiet && !is_stdin(&self.output) {
            let line = report.line();
            let _ = writeln!(ui.out(), "{line}");
        }
        Ok(())
    }
}

/// The encoder that was built in, for reports.
pub(super) fn built_in() -> EncoderJson {
    encoder::best(DEFAULT_LEVEL).map_or(
        EncoderJson { name: "none", version: None, level: None },
        |encoder| EncoderJson { level: None, ..EncoderJson::of(&*encoder) },
    )
}

struct Report<'a> {
    path: &'a Path,
    plan: &'a Plan<'a>,
    packed: Packed,
    /// What compressed, if anything was compressed.
    encoder: Option<&'a dyn Encoder>,
}

impl Report<'_> {
    fn line(&self) -> String {
        let Packed { kernels, size, stored, compressed, total, .. } = self.packed;
        let path = printable_path(self.path);
        let ratio = match self.plan.scheme {
            Scheme::None => String::new(),
            _ => format!(", ratio {}", text::ratio(size, stored)),
        };
        let how = match self.encoder {
            Some(encoder) => {
                let version = encoder.version().map_or_else(String::new, |v| format!(" {v}"));
                let all = if compressed == kernels {
                    String::new()
                } else {
                    format!("{} compressed ", text::number(compressed))
                };
                format!("; {all}by {}{version} at level {}", encoder.name(), encoder.level())
            }
            None => String::new(),
        };
        format!(
            "{STRONG}{path}{STRONG:#}: {}, {} raw, {} in all{ratio}{how}",
            text::kernels(kernels),
            text::size(size),
            text::size(total)
        )
    }

    fn json<T: Serialize>(&self, more: T) -> StoreJson<T> {
        StoreJson {
            archive: self.path.to_string_lossy().into_owned(),
            scheme: scheme_name(self.plan.scheme),
            group: name(self.plan.pack.group).into_owned(),
            family: name(self.plan.pack.family).into_owned(),
            encoder: self.encoder.map(EncoderJson::of),
            kernels: self.packed.kernels,
            compressed: self.packed.compressed,
            size: self.packed.size,
            stored_size: self.packed.stored,
            file_size: self.packed.total,
            more,
        }
    }
}

#[derive(Serialize)]
struct StoreJson<T> {
    archive: String,
    scheme: &'static str,
    group: String,
    family: String,
    encoder: Option<EncoderJson>,
    kernels: u64,
    compressed: u64,
    size: u64,
    stored_size: u64,
    file_size: u64,
    #[serde(flatten)]
    more: T,
}

/// An encoder as JSON shows it.
#[derive(Serialize)]
pub(super) struct EncoderJson {
    pub(super) name: &'static str,
    pub(super) version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<i32>,
}

impl EncoderJson {
    fn of(encoder: &dyn Encoder) -> EncoderJson {
        let level = Some(encoder.level());
        EncoderJson { name: encoder.name(), version: encoder.version(), level }
    }
}

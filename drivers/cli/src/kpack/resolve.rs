//! `rocload kpack resolve`: where a binary's kernel would be loaded from, and why.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rocload::bundle::WrapperKind;
use rocload::core::kpack::search::Reason;
use rocload::core::kpack::target::agent_targets;
use rocload::core::kpack::{Reference, Strictness, TargetId};
use rocload::error::printable;
use rocload::loader::{Environment, Found, LoadError, Loader, Lookup, Opening, Request, Step};
use rocload::{Binary, Limits, Options};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::name;
use crate::failure::{Failure, Status, printable_path};
use crate::place::put_at;
use crate::text;
use crate::ui::{BAD, FAINT, GOOD, STRONG, Ui};

/// Tell where a binary's kernel would be loaded from, and everything that was tried
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack resolve /opt/rocm/lib/librocblas.so.5 --arch gfx90a:sramecc+:xnack-
  rocload kpack resolve libfoo.so --arch gfx1101 gfx1100 --co-index 3
  rocload kpack resolve libfoo.so --arch gfx942:sramecc+:xnack- --generic --extract kernel.hsaco
  ROCM_KPACK_PATH=test.kpack rocload kpack resolve libfoo.so --arch gfx1100

The search is that of a ROCm program: ROCM_KPACK_PATH replaces the paths in the binary,
ROCM_KPACK_PATH_PREFIX goes before them, ROCM_KPACK_DISABLE switches it off. Architectures are tried
in their order, each with fewer and fewer of its features. The binary is not changed.")]
pub(super) struct Resolve {
    /// The library or program
    binary: PathBuf,
    /// The number of the translation unit
    #[arg(long, value_name = "N", default_value_t = 0)]
    co_index: u32,
    /// Devices' ISAs or target IDs, best first; may be repeated
    #[arg(long = "arch", value_name = "ISA", required = true, num_args = 1..)]
    arches: Vec<String>,
    /// After each ISA, the generic target that covers it, as HIP asks for
    #[arg(long)]
    generic: bool,
    /// Load the kernel and write it to FILE
    #[arg(long, value_name = "FILE")]
    extract: Option<PathBuf>,
    /// Read archives, and match their architectures, as the C libraries do
    #[arg(long)]
    compat: bool,
}

#[derive(Serialize)]
struct ResolveJson<'a> {
    binary: String,
    co_index: u32,
    key: String,
    kernel_name: String,
    paths: Vec<String>,
    arches: Vec<String>,
    targets: Vec<String>,
    environment: EnvironmentJson,
    trail: Vec<StepJson<'a>>,
    found: Option<FoundJson>,
}

#[derive(Serialize)]
struct EnvironmentJson {
    path: String,
    prefix: String,
    disable: bool,
}

#[derive(Serialize)]
#[serde(tag = "step", rename_all = "lowercase")]
enum StepJson<'a> {
    Path { path: String, origin: &'a str, outcome: &'a str, error: Option<String> },
    Kernel { archive: String, target: String, outcome: &'a str, error: Option<String> },
    Ignored { origin: &'a str, paths: u32 },
}

#[derive(Serialize)]
struct FoundJson {
    archive: String,
    arch: String,
    target: String,
    size: u64,
    extracted: Option<String>,
    sha256: Option<String>,
}

impl Resolve {
    pub(super) fn run(self, ui: &mut Ui) {
        if let Err(failure) = self.resolve(ui) {
            ui.fail(&failure);
        }
    }

    fn resolve(&self, ui: &mut Ui) -> Result<(), Failure> {
        let path = &self.binary;
        let metadata = self.metadata()?;
        let limits = Limits::default();
        let reference = Reference::parse(&metadata, &limits).map_err(|error| {
            let text = format!("the reference metadata: {}", error.kind);
            Failure::new(Status::Malformed, "malformed", text).at(path)
        })?;
        let arches = self.targets(&limits)?;
        let arches: Vec<&[u8]> = arches.iter().map(Vec::as_slice).collect();
        let mut options = Options::default();
        if self.compat {
            options.strictness = Strictness::Compat;
        }
        let loader = Loader::new(&options, Environment::from_process());
        let request = Request::new(&metadata, path, self.co_index, &arches);
        let mut kernel = None;
        let found = match &self.extract {
            None => loader.resolve(&request),
            Some(_) => loader.load(&request).map(|loaded| {
                kernel = Some(loaded.kernel);
                loaded.found
            }),
        };
        if let (Some(kernel), Some(file)) = (&kernel, &self.extract) {
            put_at(file, kernel).map_err(|error| Failure::io("writing", &error).at(file))?;
        }
        if ui.json {
            ui.json_line(&self.json(&loader, reference, &arches, &found, kernel.as_deref()));
        } else {
            self.print(ui, &loader, reference, &arches, &found);
        }
        found.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// The reference metadata of the unit that was asked for.
    fn metadata(&self) -> Result<Vec<u8>, Failure> {
        let path = &self.binary;
        let failed = |error| Failure::library(&error, path);
        let binary = Binary::open(path).map_err(failed)?;
        if let Some(metadata) = binary.reference(self.co_index).map_err(failed)? {
            return Ok(metadata);
        }
        let of = |kind| binary.wrappers().iter().filter(move |wrapper| wrapper.kind == kind);
        let units: Vec<String> =
            of(WrapperKind::Reference).map(|wrapper| wrapper.co_index.to_string()).collect();
        let not_found = |text: &str| Failure::new(Status::NotFound, "not_found", text).at(path);
        if !units.is_empty() {
            let text = format!("no reference metadata of unit {}", self.co_index);
            let shown = units.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            let more = if units.len() > 8 { ", ..." } else { "" };
            return Err(not_found(&text).hint(format!("--co-index: there are {shown}{more}")));
        }
        if of(WrapperKind::Fatbin).next().is_some() {
            let failure = not_found("its device code is in the binary itself, not in archives");
            return Err(failure.hint("`rocload bundle list` shows it"));
        }
        Err(not_found("the binary refers to no archives"))
    }

    /// What is asked for, in order.
    fn targets(&self, limits: &Limits) -> Result<Vec<Vec<u8>>, Failure> {
        let mut targets = Vec::new();
        for isa in &self.arches {
            let usage = |error: rocload::core::Error| {
                let text = format!("--arch {}: {}", printable(isa.as_bytes()), error.kind);
                Failure::new(Status::Usage, "usage", text)
            };
            if self.generic {
                targets.extend(agent_targets(isa, limits).map_err(usage)?);
            } else {
                TargetId::parse(isa, limits).map_err(usage)?;
                targets.push(isa.as_bytes().to_vec());
            }
        }
        Ok(targets)
    }

    fn failed(&self, error: &LoadError) -> Failure {
        let (status, kind) = match error.reason() {
            Reason::NoArchive => (Status::NotFound, "no_archive"),
            Reason::NoArch => (Status::NotFound, "no_arch"),
            Reason::NoKernel => (Status::NotFound, "no_kernel"),
            Reason::Disabled => (Status::Failed, "disabled"),
            Reason::Io => (Status::Failed, "io"),
            Reason::Memory => (Status::Malformed, "limit"),
            Reason::Version => (Status::Malformed, "unsupported"),
            Reason::Argument => (Status::Usage, "usage"),
            _ => (Status::Malformed, "malformed"),
        };
        let mut text = String::new();
        if !error.key().is_empty() {
            text = format!("{}: ", printable(error.key()));
        }
        text += &error.reason().to_string();
        if !error.targets().is_empty() {
            text += &format!(" (targets: {})", printable(error.targets().join(", ").as_bytes()));
        }
        let failure = Failure::new(status, kind, text).at(&self.binary);
        match error.reason() {
            Reason::Disabled => failure.hint("unset ROCM_KPACK_DISABLE"),
            _ => failure,
        }
    }

    fn print(
        &self,
        ui: &mut Ui,
        loader: &Loader,
        reference: Reference<'_>,
        arches: &[&[u8]],
        found: &Result<Found, LoadError>,
    ) {
        let quiet = ui.quiet;
        let out = ui.out();
        let mut say = |line: String| {
            let _ = writeln!(out, "{line}");
        };
        if !quiet {
            let key = printable(reference.key(self.co_index).to_string().as_bytes());
            say(format!("{STRONG}{}{STRONG:#}: {key}", printable_path(&self.binary)));
            let environment = loader.environment();
            for (name, value) in [
                ("ROCM_KPACK_PATH", &environment.path),
                ("ROCM_KPACK_PATH_PREFIX", &environment.prefix),
            ] {
                if !value.is_empty() {
                    say(format!("{FAINT}{name}{FAINT:#} {}", printable(value)));
                }
            }
            for path in reference.paths() {
                say(format!("{FAINT}embedded{FAINT:#}  {}", printable(path)));
            }
            for arch in arches {
                let candidates = candidates(arch).join(", ");
                say(format!("{FAINT}arch{FAINT:#}      {}: {candidates}", printable(arch)));
            }
            let trail = match found {
                Ok(found) => found.trail(),
                Err(error) => error.trail(),
            };
            for step in trail {
                say(line(step));
            }
        }
        if let Ok(found) = found {
            let (path, target) = (printable_path(found.path()), printable(found.target()));
            let does = if self.extract.is_some() { "loaded" } else { "would load" };
            let size = text::size(found.size());
            say(format!("{GOOD}{does}{GOOD:#} {target} from {STRONG}{path}{STRONG:#}, {size}"));
            if let Some(file) = &self.extract {
                say(format!("{STRONG}{}{STRONG:#}: {size}", printable_path(file)));
            }
        }
    }

    fn json<'a>(
        &self,
        loader: &Loader,
        reference: Reference<'_>,
        arches: &[&[u8]],
        found: &'a Result<Found, LoadError>,
        kernel: Option<&[u8]>,
    ) -> ResolveJson<'a> {
        let trail = match found {
            Ok(found) => found.trail(),
            Err(error) => error.trail(),
        };
        let mut targets: Vec<String> = Vec::new();
        for target in arches.iter().flat_map(|arch| candidates(arch)) {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let environment = loader.environment();
        ResolveJson {
            binary: text(&self.binary),
            co_index: self.co_index,
            key: reference.key(self.co_index).to_string(),
            kernel_name: name(reference.kernel_name()).into_owned(),
            paths: reference.paths().map(|path| name(path).into_owned()).collect(),
            arches: arches.iter().map(|arch| name(arch).into_owned()).collect(),
            targets,
            environment: EnvironmentJson {
                path: name(&environment.path).into_owned(),
                prefix: name(&environment.prefix).into_owned(),
                disable: environment.disable,
            },
            trail: trail.iter().filter_map(step_json).collect(),
            found: found.as_ref().ok().map(|found| FoundJson {
                archive: text(found.path()),
                arch: arches
                    .get(found.arch())
                    .map(|arch| name(arch).into_owned())
                    .unwrap_or_default(),
                target: name(found.target()).into_owned(),
                size: found.size(),
                extracted: self.extract.as_deref().map(text),
                sha256: kernel.map(|kernel| text::hex(&Sha256::digest(kernel))),
            }),
        }
    }
}

/// The keys that an architecture is looked for under.
fn candidates(arch: &[u8]) -> Vec<String> {
    let target = TargetId::parse(arch, &Limits::default());
    let names = target.iter().flat_map(TargetId::candidates);
    names.map(|candidate| printable(candidate.to_string().as_bytes())).collect()
}

/// A step for people: what came of it, and where.
fn line(step: &Step) -> String {
    match step {
        Step::Path { path, origin, outcome } => {
            let style = match outcome {
                Opening::Opened | Opening::Reused | Opening::Repeated => GOOD,
                Opening::Failed(_) | Opening::NotAFile => BAD,
                _ => FAINT,
            };
            let (path, origin) = (printable_path(path), origin.name());
            format!(
                "{FAINT}open{FAINT:#}      {path} {FAINT}({origin}){FAINT:#}: {style}{outcome}{style:#}"
            )
        }
        Step::Kernel { archive, target, outcome } => {
            let style = match outcome {
                Lookup::Found => GOOD,
                Lookup::Failed(_) => BAD,
                _ => FAINT,
            };
            let (archive, target) = (printable_path(archive), printable(target));
            format!("{FAINT}look up{FAINT:#}   {target} in {archive}: {style}{outcome}{style:#}")
        }
        other => format!("{FAINT}skip{FAINT:#}      {other}"),
    }
}

fn step_json(step: &Step) -> Option<StepJson<'_>> {
    Some(match step {
        Step::Path { path, origin, outcome } => StepJson::Path {
            path: path.to_string_lossy().into_owned(),
            origin: origin.name(),
            outcome: outcome.name(),
            error: match outcome {
                Opening::Failed(error) => Some(error.message()),
                _ => None,
            },
        },
        Step::Kernel { archive, target, outcome } => StepJson::Kernel {
            archive: archive.to_string_lossy().into_owned(),
            target: name(target).into_owned(),
            outcome: outcome.name(),
            error: match outcome {
                Lookup::Failed(error) => Some(error.fault()),
                _ => None,
            },
        },
        Step::Ignored { origin, paths } => {
            StepJson::Ignored { origin: origin.name(), paths: *paths }
        }
        _ => return None,
    })
}

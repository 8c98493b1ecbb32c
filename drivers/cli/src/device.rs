//! The GPU that commands speak of: scanned, chosen, and what follows from the choice.

use std::path::{Path, PathBuf};

use clap::Args;
use rocload::error::printable;
use rocload::gpu::{
    DeviceMask, Environment, Gpu, Gpus, Policy, Problem, Reason, Selection, SysRoot, scan, settle,
};
use rocload::serve;

use crate::failure::{Failure, Status};

/// Where GPUs are looked for.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct Where {
    /// Look for GPUs in the tree of files below DIR, or in the machine in a JSON file, instead of here
    #[arg(long, value_name = "DIR|FILE.json")]
    pub(crate) sysroot: Option<PathBuf>,
}

impl Where {
    fn path(&self) -> &Path {
        self.sysroot.as_deref().unwrap_or(Path::new("/"))
    }

    pub(crate) fn root(&self) -> Result<SysRoot, Failure> {
        SysRoot::open(self.path()).map_err(|error| Failure::library(&error, self.path()))
    }

    /// Scans, and chooses in this process's environment.
    pub(crate) fn select(&self) -> Result<(Gpus, Selection), Failure> {
        let scanned = scan(&self.root()?);
        let mut gpus = scanned.map_err(|error| Failure::library(&error, self.path()))?;
        let selection = gpus.select(&Policy::default(), &Environment::current());
        Ok((gpus, selection))
    }

    /// Memory that a model may take on the chosen GPU, or of the system where none is chosen, in
    /// bytes, and what it is called; `None` where the one that counts does not tell.
    pub(crate) fn budget(&self) -> Result<Option<(u64, String)>, Failure> {
        let (gpus, selection) = self.select()?;
        Ok(match selection.chosen(&gpus).next() {
            Some(gpu) => gpus.budget(gpu).map(|bytes| (bytes, memory_of(gpu))),
            None => gpus.available().map(|bytes| (bytes, "system memory".into())),
        })
    }
}

/// The name of a GPU's memory.
fn memory_of(gpu: &Gpu) -> String {
    let what = match gpu.kind {
        rocload::gpu::Kind::Integrated => "memory",
        _ => "vram",
    };
    format!("{what} of {}", name(gpu))
}

/// A GPU in a few words: `gfx1101 (gpu 0)`.
pub(crate) fn name(gpu: &Gpu) -> String {
    let target = gpu.target.map_or_else(|| "unknown".to_owned(), |target| target.to_string());
    match gpu.ordinal {
        Some(ordinal) => format!("{target} (gpu {ordinal})"),
        None => format!("{target} (node {})", gpu.node.id),
    }
}

/// What a server is to run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Launch {
    /// The CPU; the reason in a line where one might expect a GPU.
    Cpu(Option<String>),
    /// The chosen GPUs, as the selection's mask says.
    Gpu,
}

/// Decides what a server is to run on: the chosen GPU, the CPU where there is none that one could
/// want, or where `cpu` asks for it.
///
/// # Errors
/// Where a GPU is there and cannot be used: nobody wants to find out by waiting for the CPU.
pub(crate) fn launch(gpus: &Gpus, selection: &Selection, cpu: bool) -> Result<Launch, Failure> {
    if cpu {
        return Ok(Launch::Cpu(None));
    }
    if selection.choice.chosen.is_some() {
        return Ok(Launch::Gpu);
    }
    if gpus.gpus().is_empty() {
        let why = selection.problem.unwrap_or(Problem::NoGpu);
        return Ok(Launch::Cpu(Some(format!("no AMD GPU: {why}; the cpu does the work"))));
    }
    let only = |reason: Reason| selection.rejected(gpus).all(|(_, why)| why == reason);
    if only(Reason::Integrated) {
        let text = "the gpu is integrated and would not be faster; the cpu does the work";
        return Ok(Launch::Cpu(Some(text.into())));
    }
    if selection.problem.is_none() && only(Reason::Masked) {
        let text = "a visible-devices variable hides every gpu; the cpu does the work";
        return Ok(Launch::Cpu(Some(text.into())));
    }
    let (message, hint) = match selection.problem {
        Some(problem) => (problem.to_string(), problem.advice().to_owned()),
        None => {
            let reasons = selection.rejected(gpus);
            let each: Vec<String> =
                reasons.map(|(gpu, why)| format!("{}: {}", name(gpu), why.text())).collect();
            (each.join("; "), "`rocload gpu` tells more".to_owned())
        }
    };
    let message = format!("there is an AMD GPU, and it cannot be used: {message}");
    Err(Failure::new(Status::NotFound, "no_device", message).hint(format!("{hint}; or --cpu")))
}

/// The GPUs that a server is to use.
pub(crate) struct ForServer {
    pub(crate) gpus: serve::Gpus,
    /// Their render nodes.
    pub(crate) minors: Vec<u32>,
    /// What is worth telling.
    pub(crate) remarks: Vec<String>,
    /// What is told where more is wanted.
    pub(crate) about: Option<String>,
}

/// Chooses for a server; see [`launch`].
///
/// # Errors
/// Those of `launch`, and where GPUs are to be looked for in a place that is none.
pub(crate) fn for_server(place: &Where) -> Result<ForServer, Failure> {
    let (gpus, selection) = place.select()?;
    let mut used =
        ForServer { gpus: serve::Gpus::None, minors: Vec::new(), remarks: Vec::new(), about: None };
    if let Launch::Cpu(why) = launch(&gpus, &selection, false)? {
        used.remarks.extend(why);
        return Ok(used);
    }
    let mut names = Vec::new();
    for gpu in selection.chosen(&gpus) {
        names.push(name(gpu));
        used.minors.extend(gpu.node.render_minor());
        if gpu.effective != gpu.target {
            let taken = gpu.effective.map_or_else(|| "no known target".into(), |t| t.to_string());
            let told = "HSA_OVERRIDE_GFX_VERSION is passed on";
            used.remarks.push(format!("{} is taken for {taken}: {told}", name(gpu)));
        }
    }
    let why = selection.choice.chosen.map_or("", |chosen| chosen.why.text());
    let mut about = format!("runs on {}: {why}", names.join(", "));
    match &selection.mask {
        DeviceMask::Set(list) => {
            about += &format!("; ROCR_VISIBLE_DEVICES={list}");
            used.gpus = serve::Gpus::Chosen(list.clone());
        }
        DeviceMask::Kept(masks) => {
            for (variable, value) in masks {
                let value = printable(value);
                used.remarks.push(format!("{variable}={value} chooses the gpus, and is kept"));
            }
            used.gpus = serve::Gpus::Inherited;
        }
        DeviceMask::None => {}
    }
    used.about = Some(about);
    Ok(used)
}

/// Waits until a server that has ended has given back its memory on these cards, so that the next
/// one finds it: two equal samples, or 5 s.
pub(crate) fn wait_for_memory(place: &Where, minors: &[u32]) {
    if !minors.is_empty()
        && let Ok(root) = place.root()
    {
        settle(&root, minors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocload_fixtures::sysfs::machine_path;

    fn launched(machine: &str, cpu: bool) -> Result<Launch, Failure> {
        let mut gpus = scan(&SysRoot::open(machine_path(machine)).unwrap()).unwrap();
        let selection = gpus.select(&Policy::default(), &Environment::none());
        launch(&gpus, &selection, cpu)
    }

    #[test]
    fn a_gpu_where_one_can_be_used() {
        for machine in ["two_boards", "integrated", "divided", "one_denied"] {
            assert_eq!(launched(machine, false).unwrap(), Launch::Gpu, "{machine}");
            assert_eq!(launched(machine, true).unwrap(), Launch::Cpu(None));
        }
    }

    #[test]
    fn the_cpu_with_a_line_where_there_is_none() {
        for (machine, text) in [
            ("other_vendor", "no AMD GPU: there is no /dev/kfd; the cpu does the work"),
            (
                "integrated_alone",
                "the gpu is integrated and would not be faster; the cpu does the work",
            ),
        ] {
            assert_eq!(launched(machine, false).unwrap(), Launch::Cpu(Some(text.into())));
        }
    }

    #[test]
    fn not_found_where_one_is_there_and_cannot_be_used() {
        for (machine, text) in [
            ("render_denied", "no permission to open the gpu's render node"),
            ("kfd_denied", "no permission to open /dev/kfd"),
            ("no_dri", "render node in /dev/dri is not there"),
            ("no_kfd", "there is no /dev/kfd"),
            ("unknown_target", "its target is not known"),
        ] {
            let failure = launched(machine, false).unwrap_err();
            assert_eq!(failure.status, Status::NotFound);
            assert!(failure.message.contains(text), "{}", failure.message);
            assert!(failure.hint.unwrap().ends_with("or --cpu"));
            assert_eq!(launched(machine, true).unwrap(), Launch::Cpu(None));
        }
    }
}

//! `rocload gpu`: the GPUs of a machine, which one is chosen, and why.

pub(crate) mod schema;
mod table;
mod watch;

use std::time::Duration;

use clap::Args;
use rocload::gpu::{Environment, Gpus, Policy, Selection, Target, scan};

use crate::device::Where;
use crate::failure::Failure;
use crate::ui::Ui;

/// Show the AMD GPUs of this machine: memory, work, and which one is chosen and why
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gpu
  rocload gpu --watch
  rocload gpu --json | jq -r '.env.ROCR_VISIBLE_DEVICES'
  rocload gpu --sysroot machine.json

A board is chosen before a GPU that is a part of the CPU, the one with the most free memory first.
The variables ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and HSA_OVERRIDE_GFX_VERSION are heeded as
the runtime does. It needs neither ROCm nor root, and wakes no card that sleeps. Without an AMD GPU
it says so, and why; the exit status is 0 then too.")]
pub(crate) struct Gpu {
    /// Print JSON; with --watch an object a line for each sample
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Where,
    /// Keep watching, with a short history of the memory in use; q or ^C ends it
    #[arg(long)]
    watch: bool,
    /// Seconds between two samples
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds, requires = "watch")]
    interval: f64,
    /// End after N samples
    #[arg(long, value_name = "N", requires = "watch", value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,
    /// Let an integrated GPU of this target be chosen too, such as gfx1103; may be repeated
    #[arg(long, value_name = "TARGET", value_parser = target)]
    allow_integrated: Vec<Target>,
    /// Only targets that a build of the server has kernels for, such as gfx1100; may be repeated
    #[arg(long, value_name = "TARGET", value_parser = target)]
    build: Vec<Target>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "a time is a number of seconds, 0.05 to 3600".into())
}

fn target(text: &str) -> Result<Target, String> {
    Target::parse(text).ok_or_else(|| "a target is a name such as gfx1100 or gfx90a".into())
}

/// What is shown of a machine.
struct Shown {
    one: Selection,
    all: Selection,
}

impl Gpu {
    /// Chooses one GPU, and all boards of its target.
    fn choose(&self, gpus: &mut Gpus) -> Shown {
        let environment = Environment::current();
        let mut integrated = vec![Target::GFX1151];
        integrated.extend(&self.allow_integrated);
        let build = (!self.build.is_empty()).then_some(&self.build[..]);
        let policy = Policy { integrated: &integrated, build, multi: false };
        let all = gpus.select(&Policy { multi: true, ..policy }, &environment);
        let one = gpus.select(&policy, &environment);
        Shown { one, all }
    }

    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        let shown = match self.watch {
            true => self.watch(ui),
            false => self.show(ui),
        };
        if let Err(failure) = shown {
            ui.fail(&failure);
        }
    }

    fn show(&self, ui: &mut Ui) -> Result<(), Failure> {
        let path = self.place.sysroot.as_deref().unwrap_or(std::path::Path::new("/"));
        let scanned = scan(&self.place.root()?);
        let mut gpus = scanned.map_err(|error| Failure::library(&error, path))?;
        let shown = self.choose(&mut gpus);
        if ui.json {
            ui.json_line(&schema::machine(&gpus, &shown.one, &shown.all));
        } else {
            table::print(ui, &gpus, &shown.one);
        }
        Ok(())
    }

    fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.interval)
    }
}

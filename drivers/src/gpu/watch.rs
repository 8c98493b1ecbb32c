//! Watching: what varies, read again and again.

#[cfg(feature = "blocking")]
use std::time::Duration;

use rocload_core::gpu::ask::{Ask, Dir, Field, File, Folder};
use rocload_core::gpu::number::decimal;

use super::root::Buffer;
use super::{Gpus, SysRoot, look};
use crate::error::Error;

/// Samples of a machine: after the first, a full scan, only what varies is read, unless a GPU has
/// come or gone. It opens no device, so that it keeps none awake.
#[derive(Debug)]
pub struct Sampler {
    root: SysRoot,
    gpus: Gpus,
    nodes: Vec<Vec<u8>>,
}

impl Sampler {
    pub(crate) fn start(root: SysRoot) -> Result<Sampler, Error> {
        Ok(Sampler { gpus: look(&root)?, nodes: names(&root), root })
    }

    /// The latest sample.
    pub fn gpus(&self) -> &Gpus {
        &self.gpus
    }

    /// The latest sample, to [`select`](Gpus::select) among.
    pub fn gpus_mut(&mut self) -> &mut Gpus {
        &mut self.gpus
    }

    /// Takes a sample now; blocks while it is read. Gives whether anything is other than it was.
    ///
    /// # Errors
    /// Those of [`scan`](super::scan()).
    pub fn sample(&mut self) -> Result<bool, Error> {
        let before = self.gpus.clone();
        let nodes = names(&self.root);
        if nodes == self.nodes && self.gpus.problem().is_none() {
            self.gpus.refresh(&self.root);
        } else {
            (self.gpus, self.nodes) = (look(&self.root)?, nodes);
        }
        Ok(self.gpus != before)
    }
}

/// The names of the nodes, sorted.
fn names(root: &SysRoot) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let _ = root.answer(Ask::List(Folder::Nodes), &mut Buffer::new(), |name| {
        names.push(name.to_vec());
    });
    names.sort_unstable();
    names
}

/// A machine that is watched, by a thread that waits between samples.
#[cfg(feature = "blocking")]
#[derive(Debug)]
pub struct Watch {
    sampler: Sampler,
    interval: Duration,
    fresh: bool,
}

#[cfg(feature = "blocking")]
impl Watch {
    /// Scans the machine and begins to watch it, with a sample every `interval`.
    ///
    /// # Errors
    /// Those of [`scan`](super::scan()).
    pub fn new(root: &SysRoot, interval: Duration) -> Result<Watch, Error> {
        Ok(Watch { sampler: Sampler::start(root.clone())?, interval, fresh: true })
    }

    /// Waits for the next change; the first call gives the machine as it is. Blocks for as long as
    /// nothing changes: [`sampler`](Self::sampler) takes single samples.
    ///
    /// # Errors
    /// Those of [`scan`](super::scan()).
    pub fn changed(&mut self) -> Result<&Gpus, Error> {
        if !std::mem::take(&mut self.fresh) {
            loop {
                std::thread::sleep(self.interval);
                if self.sampler.sample()? {
                    break;
                }
            }
        }
        Ok(self.sampler.gpus())
    }

    /// The samples themselves.
    pub fn sampler(&mut self) -> &mut Sampler {
        &mut self.sampler
    }
}

/// Bytes in use on the cards of these render nodes together, system memory that they use included;
/// `None` = not one of them tells.
pub(crate) fn sample_used(root: &SysRoot, minors: &[u32]) -> Option<u64> {
    let mut buffer = Buffer::new();
    let mut sum = None;
    for minor in minors {
        for field in [Field::VramUsed, Field::GttUsed] {
            let ask = Ask::Read(File::Card(Dir::Render(*minor), field));
            let bytes = root.answer(ask, &mut buffer, |_| {});
            if let Some(used) = bytes.ok().and_then(decimal) {
                sum = Some(used.saturating_add(sum.unwrap_or(0)));
            }
        }
    }
    sum
}

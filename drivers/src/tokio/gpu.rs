//! GPUs, async: the same names as in [`crate::gpu`]. Files of `/sys` are read on tokio's threads for
//! blocking calls, since reading them may wait for the device.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use rocload::gpu::SysRoot;
//! use rocload::tokio::gpu::scan;
//!
//! let gpus = scan(&SysRoot::host()?).await?;
//! println!("{} AMD GPUs", gpus.gpus().len());
//! # Ok::<(), rocload::Error>(())
//! # }).unwrap();
//! ```

use std::time::Duration;

use ::tokio::time::{Instant, sleep, sleep_until};
use rocload_core::Millis;
use rocload_core::gpu::settle::{Outcome, Settle};

use super::off::run;
use crate::error::{Error, ErrorKind};
use crate::gpu::{Gpus, Sampler, SysRoot, look, sample_used};

fn lost(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io(error), "scanning the machine")
}

/// Looks at the GPUs of a machine, as the blocking [`scan`](crate::gpu) does.
///
/// # Errors
/// As the blocking one; the system's when the runtime ends.
pub async fn scan(root: &SysRoot) -> Result<Gpus, Error> {
    let root = root.clone();
    run(move || Ok(look(&root))).await.map_err(lost)?
}

/// A machine that is watched. Dropping a future of it loses nothing but the sample under way.
#[derive(Debug)]
pub struct Watch {
    root: SysRoot,
    sampler: Option<Sampler>,
    interval: Duration,
    fresh: bool,
}

impl Watch {
    /// Scans the machine and begins to watch it, with a sample every `interval`.
    ///
    /// # Errors
    /// Those of [`scan`].
    pub async fn new(root: &SysRoot, interval: Duration) -> Result<Watch, Error> {
        let mut watch = Watch { root: root.clone(), sampler: None, interval, fresh: true };
        watch.sample().await?;
        Ok(watch)
    }

    /// Waits for the next change; the first call gives the machine as it is.
    ///
    /// # Errors
    /// Those of [`scan`].
    pub async fn changed(&mut self) -> Result<&Gpus, Error> {
        while !self.fresh {
            sleep(self.interval).await;
            self.fresh = self.sample().await?;
        }
        self.fresh = false;
        match &self.sampler {
            Some(sampler) => Ok(sampler.gpus()),
            None => Err(lost(std::io::Error::other("the sample was dropped"))),
        }
    }

    /// Takes a sample now. Gives whether anything is other than it was.
    ///
    /// # Errors
    /// Those of [`scan`].
    pub async fn sample(&mut self) -> Result<bool, Error> {
        // A sampler that went with a future that was dropped is begun anew.
        let (taken, root) = (self.sampler.take(), self.root.clone());
        let sampled = run(move || {
            Ok(match taken {
                Some(mut sampler) => sampler.sample().map(|changed| (sampler, changed)),
                None => Sampler::start(root).map(|sampler| (sampler, true)),
            })
        });
        let (sampler, changed) = sampled.await.map_err(lost)??;
        self.sampler = Some(sampler);
        Ok(changed)
    }
}

/// Waits until the video memory in use changes no more, as the blocking `settle` does.
pub async fn settle(root: &SysRoot, minors: &[u32]) -> Outcome {
    let start = Instant::now();
    let now = || Millis(start.elapsed().as_millis() as u64);
    let mut settle = Settle::new(now());
    loop {
        let (root, minors) = (root.clone(), minors.to_vec());
        let used = run(move || Ok(sample_used(&root, &minors))).await;
        settle.handle(used.unwrap_or(None), now());
        let Some(next) = settle.poll_timeout() else {
            return settle.poll().unwrap_or(Outcome::Unknown);
        };
        sleep_until(start + Duration::from_millis(next.0)).await;
    }
}

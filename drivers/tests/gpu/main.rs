//! GPUs of machines that are fixtures, folders or shared data: one suite for both drivers.
#![cfg(unix)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

mod suite;
mod told;

use std::time::Duration;

use rocload::Error;
use rocload::gpu::{Gpus, Outcome, SysRoot, Watch, scan, settle};
use suite::Driver;

struct Blocking;

impl Driver for Blocking {
    fn scan(&self, root: &SysRoot) -> Result<Gpus, Error> {
        scan(root)
    }

    fn settle(&self, root: &SysRoot, minors: &[u32]) -> Outcome {
        settle(root, minors)
    }

    fn changes(&self, root: &SysRoot, change: &mut dyn FnMut()) -> Result<[Gpus; 2], Error> {
        let mut watch = Watch::new(root, Duration::from_millis(2))?;
        let first = watch.changed()?.clone();
        assert!(!watch.sampler().sample()?, "nothing has changed");
        change();
        Ok([first, watch.changed()?.clone()])
    }
}

#[test]
fn blocking() {
    suite::suite(&Blocking);
}

#[cfg(feature = "tokio")]
mod tokio {
    use rocload::tokio::gpu::{Watch, scan, settle};

    use super::*;

    struct Async(::tokio::runtime::Runtime);

    impl Driver for Async {
        fn scan(&self, root: &SysRoot) -> Result<Gpus, Error> {
            self.0.block_on(scan(root))
        }

        fn settle(&self, root: &SysRoot, minors: &[u32]) -> Outcome {
            self.0.block_on(settle(root, minors))
        }

        fn changes(&self, root: &SysRoot, change: &mut dyn FnMut()) -> Result<[Gpus; 2], Error> {
            self.0.block_on(async {
                let mut watch = Watch::new(root, Duration::from_millis(2)).await?;
                let first = watch.changed().await?.clone();
                assert!(!watch.sample().await?, "nothing has changed");
                change();
                Ok([first, watch.changed().await?.clone()])
            })
        }
    }

    #[test]
    fn tokio() {
        let runtime = ::tokio::runtime::Builder::new_current_thread().enable_all().build();
        suite::suite(&Async(runtime.unwrap()));
    }
}

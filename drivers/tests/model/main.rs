//! Models and folders of them: one suite for both drivers.
#![cfg(unix)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

mod suite;

use std::ops::ControlFlow;
use std::path::Path;

use rocload::discover::{self, Found};
use rocload::gguf::{Item, Want};
use rocload::model::{Facts, Options, Set};
use rocload::{Error, Model};
use suite::Driver;

struct Blocking;

impl Driver for Blocking {
    fn open(&self, path: &Path, options: &Options) -> Result<Facts, Error> {
        Model::open_with(path, options).map(Model::into_facts)
    }

    fn text(&self, path: &Path, options: &Options, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Model::open_with(path, options)?.text(key)
    }

    fn walk(&self, path: &Path, see: &mut dyn FnMut(&Item<'_>)) -> Result<(), Error> {
        let _ = Model::open(path)?.visit(Want::Value, |item| {
            see(item);
            ControlFlow::<()>::Continue(())
        })?;
        Ok(())
    }

    fn discover(
        &self,
        folder: &Path,
        options: &discover::Options,
    ) -> Result<Vec<Result<Found, Error>>, Error> {
        Ok(rocload::discover(folder, options)?.collect())
    }

    fn set(&self, path: &Path) -> Result<Option<Set>, Error> {
        rocload::model::set(path, &Options::default())
    }
}

#[test]
fn blocking() {
    suite::suite(&Blocking);
}

#[cfg(feature = "tokio")]
mod tokio {
    use rocload::tokio::Model;

    use super::*;

    struct Async(::tokio::runtime::Runtime);

    impl Driver for Async {
        fn open(&self, path: &Path, options: &Options) -> Result<Facts, Error> {
            self.0.block_on(async { Model::open_with(path, options).await.map(Model::into_facts) })
        }

        fn text(
            &self,
            path: &Path,
            options: &Options,
            key: &[u8],
        ) -> Result<Option<Vec<u8>>, Error> {
            self.0.block_on(async { Model::open_with(path, options).await?.text(key).await })
        }

        fn walk(&self, path: &Path, see: &mut dyn FnMut(&Item<'_>)) -> Result<(), Error> {
            self.0.block_on(async {
                let model = Model::open(path).await?;
                let see = |item: &Item<'_>| {
                    see(item);
                    ControlFlow::<()>::Continue(())
                };
                model.visit(Want::Value, see).await.map(|_| ())
            })
        }

        fn discover(
            &self,
            folder: &Path,
            options: &discover::Options,
        ) -> Result<Vec<Result<Found, Error>>, Error> {
            self.0.block_on(async {
                let mut discovery = rocload::tokio::discover(folder, options).await?;
                let mut found = Vec::new();
                while let Some(next) = discovery.next().await {
                    found.push(next);
                }
                Ok(found)
            })
        }

        fn set(&self, path: &Path) -> Result<Option<Set>, Error> {
            self.0.block_on(rocload::tokio::set(path, &Options::default()))
        }
    }

    #[test]
    fn tokio() {
        let runtime =
            ::tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        suite::suite(&Async(runtime));
    }
}

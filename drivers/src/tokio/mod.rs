//! Drivers for tokio, by the same names as the blocking ones.
//!
//! [`Archive`] opens, tells and fetches as the blocking [`Archive`](crate::Archive) does, whose
//! code does the work on tokio's threads for blocking calls, so that the reactor never waits for
//! a file or a decoder; so do [`Binary`], [`Loader`], [`Model`], [`discover`](discover()) and [`pack`]. [`Client`] speaks to a server
//! over a socket, `Server` starts and watches one. [`read_at`] and [`stream`] drive any core machine over an async
//! source.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use rocload::tokio::Model;
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("model.gguf");
//! # std::fs::write(&path, rocload::gguf::EXAMPLE).unwrap();
//!
//! let model = Model::open(&path).await?;
//! assert!(model.facts().verdict().is_whole());
//! # Ok::<(), rocload::Error>(())
//! # }).unwrap();
//! ```

mod archive;
mod binary;
#[cfg(unix)]
mod client;
mod discover;
mod drive;
#[cfg(unix)]
mod exchange;
#[cfg(target_os = "linux")]
mod find;
#[cfg(unix)]
pub mod gpu;
mod loader;
mod many;
mod model;
mod off;
pub mod pack;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(unix)]
mod socket;
mod worker;

#[cfg(not(target_os = "linux"))]
pub use crate::elsewhere::tokio::{Builder, Server};
pub use archive::Archive;
pub use binary::Binary;
#[cfg(unix)]
pub use client::Client;
pub use discover::{Discovery, discover};
pub use drive::{AsyncReadAt, read_at, stream};
#[cfg(unix)]
pub use exchange::{Exchange, Stream};
#[cfg(target_os = "linux")]
pub use find::{about, find};
pub use loader::Loader;
pub use many::Archives;
pub use model::{Model, set};
pub use off::{FileAt, OffReactor};
#[cfg(target_os = "linux")]
pub use serve::{Backend, Driver, Generation, Opening, Server};
pub use worker::Worker;

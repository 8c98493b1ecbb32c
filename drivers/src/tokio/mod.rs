//! Drivers for tokio, by the same names as the blocking ones.
//!
//! [`Archive`] opens, tells and fetches as the blocking [`Archive`](crate::Archive) does, whose
//! code does the work on tokio's threads for blocking calls, so that the reactor never waits for
//! a file or a decoder. [`read_at`] and [`stream`] drive any core machine over an async source.

mod archive;
mod drive;
mod many;
mod off;
mod worker;

pub use archive::Archive;
pub use drive::{AsyncReadAt, read_at, stream};
pub use many::Archives;
pub use off::{FileAt, OffReactor};
pub use worker::Worker;
mod discover;
mod drive;
mod file;
mod model;

pub use discover::{Discovery, discover};
pub use drive::{AsyncReadAt, read_at, stream};
pub use file::FileAt;
pub use model::{Model, set};
#[cfg(unix)]
mod client;
mod drive;
#[cfg(unix)]
mod exchange;
#[cfg(unix)]
mod socket;

#[cfg(unix)]
pub use client::Client;
pub use drive::{AsyncReadAt, read_at, stream};
#[cfg(unix)]
pub use exchange::{Exchange, Stream};

//! Exchanges that block the calling thread. The module `tokio` (feature `tokio`) has the same
//! names.
//!
//! ```no_run
//! use rocload::blocking::Client;
//! use rocload::http::{Error, Request};
//! use rocload::llama::{Item, Options, Stream};
//!
//! let client = Client::new("unix:/run/user/1000/rocload/a.sock".parse()?);
//! let body = br#"{"stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
//! let machine = Stream::new(Options::new(), &Default::default(), Vec::new(), Vec::new());
//! let mut stream = client.stream(&Request::post("/v1/chat/completions", body), machine)?;
//! let cancel = stream.cancel_handle(); // may go to another thread
//! while let Some(item) = stream.next()? {
//!     if let Item::Text { text, .. } = item {
//!         print!("{text}");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod exchange;
#[cfg(target_os = "linux")]
mod serve;
mod socket;

#[cfg(not(target_os = "linux"))]
pub use crate::elsewhere::blocking::{Builder, Server};
pub use client::Client;
pub use exchange::{Exchange, Stream};
#[cfg(target_os = "linux")]
pub use serve::{Backend, Driver, Generation, Server};

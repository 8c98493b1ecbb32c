//! Serving a model: a llama-server that is started, watched and ended here. Linux.
//!
//! This is what the blocking and the tokio driver share; use
//! [`blocking::Server`](crate::blocking::Server) or, with the feature `tokio`, its twin of the
//! same name. When to do what is the core's ([`rocload_core::serve`]), the process is
//! [`process`](crate::process)'s, and the requests are those of [`http`](crate::http).
//!
//! ```text
//!   builder --start--> the process runs --ready--> requests, streams --stop, drop--> nothing is left
//!                           |                          |
//!                           +--------------------------+--> Error::Ended: class, last lines, advice
//! ```

pub mod about;
mod backend;
mod builder;
mod call;
mod engine;
mod error;
pub mod find;
mod launch;
mod probe;
mod ready;
mod shared;

pub use backend::{AtAddress, LLAMA_SERVER, LlamaServer, Registry};
pub use builder::Builder;
pub use error::{Ended, Error};
pub use launch::{Gpus, Listen, OnEvent, OnLine, Setup};
pub use ready::Ready;
pub use rocload_core::serve::exit::{Class, Exit};
pub use rocload_core::serve::plan::{Layers, Note, Tuning};
pub use rocload_core::serve::{Cause, Event, Failure, Policy, Restart, State};

pub(crate) use call::{Call, texts};
pub(crate) use engine::{Engine, Watched};
pub(crate) use launch::Launch;
pub(crate) use shared::{Bell, Shared, Visit, may_be_its_end};

pub(crate) use ready::millis_of;

/// How long a stream that broke off waits for the supervision to see the server's end.
pub(crate) const GRACE: std::time::Duration = std::time::Duration::from_millis(500);
/// How long a drop waits beyond the grace of the server, for its end to be seen.
pub(crate) const DROP: std::time::Duration = std::time::Duration::from_secs(10);

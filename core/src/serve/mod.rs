//! Serving: one llama-server as a state machine, and what surrounds its start and its end.
//!
//! - [`Supervisor`]: when to start the process, to probe it, to signal it, to give up.
//! - [`plan`]: the server's arguments from settings and a model's summary.
//! - [`environment`]: the server's environment, built from a given one.
//! - [`health`]: what an answer of `/health` means.
//! - [`log`]: facts in the lines that a server writes.
//! - [`exit`]: why a server ended, and what to do about it.
//! - [`backoff`]: how long to wait before the next start.
//!
//! A driver owns the process, the pipes, the socket and the clock, and knows none of this.
//!
//! ```
//! use rocload_core::Millis;
//! use rocload_core::serve::exit::{Class, Exit};
//! use rocload_core::serve::{Action, Input, Outcome, Policy, State, Supervisor, log};
//!
//! let mut server = Supervisor::new(Policy::default());
//! server.handle(Input::Start, Millis(0));
//! assert_eq!(server.poll(), Some(Action::Spawn { attempt: 1 }));
//! server.handle(Input::Spawned { pid: 4711 }, Millis(3));
//! // The server says that it listens: it is asked at once.
//! server.handle(Input::Output(log::fact(b"srv  llama_server: listening on unix:///s.sock")), Millis(9));
//! let probe = std::iter::from_fn(|| server.poll()).find_map(|action| match action {
//!     Action::Probe { id, .. } => Some(id),
//!     _ => None,
//! });
//! server.handle(Input::Probe { id: probe.unwrap(), outcome: Outcome::Ok }, Millis(10));
//! assert_eq!(server.state(), State::Ready);
//! // The kernel kills it, for memory.
//! server.handle(Input::Exited { exit: Exit::Signal(9), oom_kill: true }, Millis(5000));
//! let State::Failed(failure) = server.state() else { panic!() };
//! assert_eq!(failure.class(), Some(Class::OomKilled));
//! ```
//!
//! Sources: llama.cpp `tools/server` and measurements of its builds 10434 and 11434.

pub mod backoff;
pub mod environment;
pub mod exit;
pub mod health;
pub mod log;
mod message;
pub mod plan;
mod policy;
mod queue;
mod supervisor;

pub use health::Outcome;
pub use message::{Action, Cause, Event, Failure, Input, ProbeId, Signal, State};
pub use policy::{Policy, Restart};
pub use supervisor::Supervisor;

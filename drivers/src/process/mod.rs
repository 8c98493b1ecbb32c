//! One process that is watched: what both drivers build a server on. Linux.
//!
//! [`Child`] is a process in a group of its own, with a descriptor that tells its end (pidfd,
//! where the kernel has it) and pipes that never block. It has one owner, who reaps it. The order
//! at its end matters: the end is seen while the process stays a zombie, so that its id is not
//! used again, then what it wrote last is read, then the rest of its group is killed, and only
//! then is it reaped.
//!
//! ```
//! use std::process::Command;
//! use rocload::process::{Child, Exit};
//!
//! let mut child = Child::spawn(Command::new("sh").args(["-c", "echo hello; exit 3"]))?;
//! assert_eq!(child.wait_and_reap()?, Exit::Code(3));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Beside it: [`Lines`] cuts output into lines, [`Log`] keeps what matters of them in bounded
//! memory, [`OomCount`] tells whether the kernel killed for want of memory, [`Socket`] is the name
//! of a Unix socket in a folder of the user's own, [`Record`] notes which servers are ours, so
//! that a later start can end those that a killed program has left ([`sweep`]).

mod cgroup;
mod child;
mod folder;
mod lines;
mod log;
mod port;
mod record;
mod stat;
mod sweep;

pub use cgroup::OomCount;
pub use child::{Child, Exit, Watch};
pub use folder::{Socket, records_folder};
pub use lines::{LINE_BYTES, Line, Lines};
pub use log::{Excerpt, Log};
pub use port::{Owner, free_port, owner_of_port};
pub use record::{Record, Written};
pub use stat::{Identity, identity};
pub use sweep::{Swept, sweep};

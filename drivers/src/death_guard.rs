//! Ending a server when the thread that started it ends (PR_SET_PDEATHSIG).
//!
//! The signal follows the thread, not the process: a thread of a pool that ends would kill a
//! server whose program lives. So only a thread that lives as long as the server may arm it: the
//! blocking driver's supervisor.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Makes the next process of `command` get SIGKILL when the thread that calls
/// [`Command::spawn`] ends, by whatever means.
pub(crate) fn arm(command: &mut Command) {
    let parent = getpid();
    // SAFETY: between fork and exec the closure makes two system calls by wrappers that neither
    // allocate, nor lock, nor touch memory that another thread may have left half written.
    unsafe {
        command.pre_exec(move || guard(parent));
    }
}

fn guard(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before the signal was asked for.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Child, Exit};
    use std::time::Duration;

    #[test]
    fn it_ends_with_the_thread() {
        let spawn = || {
            let mut command = Command::new("sleep");
            arm(command.arg("1000"));
            Child::spawn(&mut command).unwrap()
        };
        let mut child = std::thread::spawn(spawn).join().unwrap();
        let ended = child.wait_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(ended, Some(Exit::Signal(9)));
    }
}

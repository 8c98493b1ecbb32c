//! A process in a group of its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Somebody else reaped it: this program ignores SIGCHLD, or waits for any child.
    Unknown,
}

/// How the end of a process is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Watch {
    /// By a pidfd where the kernel gives one, else by looking.
    #[default]
    PidFd,
    /// By looking every [`Child::LOOK`].
    Look,
}

/// A process that was started here, and that only its owner reaps.
///
/// Dropping it kills the process and its group, and reaps it.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    pidfd: Option<Arc<OwnedFd>>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    exit: Option<Exit>,
    reaped: bool,
}

impl Child {
    /// How often to look for its end where there is no pidfd.
    pub const LOOK: Duration = Duration::from_millis(50);
    /// How long a killed process may take to be gone when it is dropped.
    const LAST: Duration = Duration::from_secs(5);

    /// Starts it in a group of its own, with nothing to read and with pipes for its output.
    ///
    /// # Errors
    /// The system's, as [`Command::spawn`].
    pub fn spawn(command: &mut Command) -> io::Result<Child> {
        Child::spawn_watched(command, Watch::PidFd)
    }

    /// The same with another way to notice its end.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn spawn_watched(command: &mut Command, watch: Watch) -> io::Result<Child> {
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut spawned = command.spawn()?;
        let pid = Pid::from_child(&spawned);
        // From here on the drop ends it, whatever fails. It was not reaped, so the id is its own.
        let mut child = Child {
            pid,
            pidfd: None,
            stdout: spawned.stdout.take().map(OwnedFd::from),
            stderr: spawned.stderr.take().map(OwnedFd::from),
            exit: None,
            reaped: false,
        };
        if watch == Watch::PidFd {
            // ENOSYS before Linux 5.3, EPERM where a filter of system calls forbids it.
            child.pidfd = pidfd_open(pid, PidfdFlags::NONBLOCK).ok().map(Arc::new);
        }
        for pipe in [&child.stdout, &child.stderr].into_iter().flatten() {
            let flags = rustix::fs::fcntl_getfl(pipe)?;
            rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        Ok(child)
    }

    /// Its process id, which is that of its group too.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The descriptor that is readable once it has ended; `None` where it must be looked at.
    pub fn pidfd(&self) -> Option<&Arc<OwnedFd>> {
        self.pidfd.as_ref()
    }

    /// Takes the pipe of its output, which does not block.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        self.stdout.take()
    }

    /// Takes the pipe of its errors, which does not block.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.stderr.take()
    }

    /// How it ended, if it has; it stays a zombie.
    ///
    /// # Errors
    /// The system's.
    pub fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            self.exit = match self.waitid(options) {
                Ok(status) => status.as_ref().map(exit_of),
                Err(Errno::CHILD) => Some(Exit::Unknown),
                Err(Errno::INTR | Errno::AGAIN) => None,
                Err(error) => return Err(error.into()),
            };
        }
        Ok(self.exit)
    }

    fn waitid(&self, options: WaitIdOptions) -> rustix::io::Result<Option<WaitIdStatus>> {
        if let Some(pidfd) = &self.pidfd {
            match waitid(WaitId::PidFd(pidfd.as_fd()), options) {
                // Linux 5.3 has pidfds, and no waitid for them.
                Err(Errno::INVAL) => {}
                found => return found,
            }
        }
        waitid(WaitId::Pid(self.pid), options)
    }

    /// Asks it, and its group, to end (SIGTERM). Does nothing once it was reaped.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills it and its group (SIGKILL). Does nothing once it was reaped.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if self.reaped || self.exit == Some(Exit::Unknown) {
            // The number may be another's by now.
            return;
        }
        // A member of the group may have changed its user and refuse; the leader is asked alone
        // then. It is no error that it has ended meanwhile.
        if kill_process_group(self.pid, signal).is_err()
            && let Some(pidfd) = &self.pidfd
        {
            let _ = pidfd_send_signal(pidfd, signal);
        }
    }

    /// Kills what is left of its group, and reaps it. To be called once it has ended.
    ///
    /// # Errors
    /// The system's.
    pub fn reap(&mut self) -> io::Result<()> {
        if self.reaped {
            return Ok(());
        }
        self.kill();
        self.reaped = true;
        loop {
            match self.waitid(WaitIdOptions::EXITED) {
                Ok(_) | Err(Errno::CHILD) => return Ok(()),
                Err(Errno::INTR) => {}
                // A pidfd that does not block says so for a process that runs still.
                Err(Errno::AGAIN) => thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until it has ended, for `limit` at most.
    ///
    /// # Errors
    /// The system's.
    pub fn wait_timeout(&mut self, limit: Duration) -> io::Result<Option<Exit>> {
        let begun = Instant::now();
        loop {
            if let Some(exit) = self.try_wait()? {
                return Ok(Some(exit));
            }
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            match &self.pidfd {
                Some(pidfd) => {
                    let left = Timespec::try_from(left).ok();
                    match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], left.as_ref()) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                None => thread::sleep(left.min(Child::LOOK)),
            }
        }
    }

    /// Waits until it has ended by itself, kills what is left of its group and reaps it.
    ///
    /// # Errors
    /// The system's.
    pub fn wait_and_reap(&mut self) -> io::Result<Exit> {
        loop {
            if let Some(exit) = self.wait_timeout(Duration::from_secs(3600))? {
                self.reap()?;
                return Ok(exit);
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.kill();
        // One that hangs in the kernel is left to it: a drop must end.
        if let Ok(Some(_)) = self.wait_timeout(Child::LAST) {
            let _ = self.reap();
        }
    }
}

fn exit_of(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::identity;

    fn shell(script: &str, watch: Watch) -> Child {
        Child::spawn_watched(Command::new("sh").args(["-c", script]), watch).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn an_end_is_seen_and_the_zombie_stays_until_it_is_reaped() {
        for watch in [Watch::PidFd, Watch::Look] {
            let mut child = shell("exit 7", watch);
            assert_eq!(child.wait_timeout(LONG).unwrap(), Some(Exit::Code(7)));
            assert_eq!(child.try_wait().unwrap(), Some(Exit::Code(7)));
            assert!(identity(child.pid()).is_some_and(|identity| identity.zombie));
            child.reap().unwrap();
            assert_eq!(identity(child.pid()), None);
            child.reap().unwrap();
            child.terminate();
        }
    }

    #[test]
    fn a_signal_reaches_the_whole_group() {
        for watch in [Watch::PidFd, Watch::Look] {
            let mut child = shell("sleep 1000 & sleep 1000", watch);
            assert_eq!(child.try_wait().unwrap(), None);
            child.terminate();
            assert_eq!(child.wait_timeout(LONG).unwrap(), Some(Exit::Signal(15)));
            child.reap().unwrap();
        }
    }

    #[test]
    fn what_a_leader_leaves_behind_is_killed_when_it_is_reaped() {
        let mut child = shell("sleep 1000 & echo $!", Watch::PidFd);
        assert_eq!(child.wait_timeout(LONG).unwrap(), Some(Exit::Code(0)));
        let mut said = [0; 32];
        let len = rustix::io::read(child.take_stdout().unwrap(), &mut said).unwrap();
        let left = std::str::from_utf8(&said[..len]).unwrap().trim().parse().unwrap();
        assert!(identity(left).is_some_and(|identity| !identity.zombie));
        child.reap().unwrap();
        let begun = Instant::now();
        while identity(left).is_some_and(|identity| !identity.zombie) {
            assert!(begun.elapsed() < LONG);
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn dropping_it_ends_it() {
        let child = shell("trap '' TERM; sleep 1000", Watch::PidFd);
        let pid = child.pid();
        drop(child);
        assert_eq!(identity(pid), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = Child::spawn(&mut Command::new("/nonexistent/server")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

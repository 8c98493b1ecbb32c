//! Ending what a killed program has left behind.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::Record;
use super::stat::group_of;

/// How long one that was killed may take to be gone.
const LAST: Duration = Duration::from_secs(5);

/// What a sweep found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// Servers that were ended.
    pub ended: Vec<Record>,
    /// Servers that were asked to end and killed, and run still.
    pub stuck: Vec<Record>,
    /// Records without a process, removed.
    pub stale: usize,
}

/// Ends the servers noted in `folder` whose program is gone, and removes what they left.
///
/// A process is touched only when its number, its start and its program are all as noted, and
/// when the process that started it is gone. It is asked to end (SIGTERM), and killed, with its
/// group, where it runs still after `grace`. Where the kernel has no pidfd nothing is ended.
///
/// # Errors
/// The system's, when the folder cannot be read.
pub fn sweep(folder: &Path, grace: Duration) -> io::Result<Swept> {
    let mut swept = Swept::default();
    for (path, record) in Record::read_all(folder)? {
        if !record.is_orphan() {
            continue;
        }
        match end(&record, grace) {
            End::Gone => swept.stale += 1,
            End::Ended => swept.ended.push(record.clone()),
            End::Stuck => {
                swept.stuck.push(record);
                continue;
            }
        }
        clean(&path, &record);
    }
    Ok(swept)
}

enum End {
    Gone,
    Ended,
    Stuck,
}

fn end(record: &Record, grace: Duration) -> End {
    let Some(pid) = i32::try_from(record.pid).ok().and_then(Pid::from_raw) else {
        return End::Gone;
    };
    // First the descriptor, then the comparison: from here on the number may be used again, and
    // the descriptor still means the same process.
    let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(Errno::SRCH) => return End::Gone,
        Err(_) if record.still_runs() => return End::Stuck,
        Err(_) => return End::Gone,
    };
    if !record.still_runs() {
        return End::Gone;
    }
    let others = others_of_group(record.pid);
    for (signal, limit) in [(Signal::TERM, grace), (Signal::KILL, LAST)] {
        for member in others.iter().chain([&pidfd]) {
            // One that has ended is what is wanted.
            let _ = pidfd_send_signal(member, signal);
        }
        if has_ended(&pidfd, limit) {
            for member in &others {
                let _ = pidfd_send_signal(member, Signal::KILL);
            }
            return End::Ended;
        }
    }
    End::Stuck
}

/// Waits for the end of a process, for `limit` at most, whatever signals come meanwhile.
fn has_ended(pidfd: &OwnedFd, limit: Duration) -> bool {
    let begun = Instant::now();
    loop {
        let left = Timespec::try_from(limit.saturating_sub(begun.elapsed())).ok();
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], left.as_ref()) {
            Err(Errno::INTR) => {}
            ended => return ended.is_ok_and(|ready| ready > 0),
        }
    }
}

/// Descriptors of the processes in the group of this leader, without the leader.
fn others_of_group(leader: u32) -> Vec<OwnedFd> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let member = |name: &str| {
        let pid = name.parse().ok()?;
        let belongs = || pid != leader && group_of(pid) == Some(leader);
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        // As above: compared again once the descriptor holds it.
        let pidfd = belongs().then(|| pidfd_open(number, PidfdFlags::empty()).ok())??;
        belongs().then_some(pidfd)
    };
    processes.filter_map(|entry| member(entry.ok()?.file_name().to_str()?)).collect()
}

/// Removes the record, the socket, and the folder if that was made for the socket.
fn clean(path: &Path, record: &Record) {
    use std::os::unix::fs::FileTypeExt as _;
    if let Some(socket) = &record.socket {
        let is_socket = |found: fs::Metadata| found.file_type().is_socket();
        if fs::symlink_metadata(socket).is_ok_and(is_socket) {
            let _ = fs::remove_file(socket);
        }
        let made_for_it = |name: &std::ffi::OsStr| {
            let digits = name.to_str().and_then(|name| name.strip_prefix("rocload-"));
            digits.is_some_and(|digits| digits.len() == 16)
        };
        if let Some(folder) =
            socket.parent().filter(|path| path.file_name().is_some_and(made_for_it))
        {
            // Only an empty one goes.
            let _ = fs::remove_dir(folder);
        }
    }
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Child, Exit};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    const LONG: Duration = Duration::from_secs(60);

    fn sleeper(script: &str) -> Child {
        Child::spawn(Command::new("sh").args(["-c", script])).unwrap()
    }

    /// The record of `child`, as if its parent were gone.
    fn orphan(child: &Child, socket: &Path) -> Record {
        let mut record = Record::of(child.pid(), Some(socket)).unwrap();
        record.parent_start += 1;
        record
    }

    #[test]
    fn only_an_orphan_that_is_the_same_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s.sock");
        let _listener = UnixListener::bind(&socket).unwrap();
        let mut child = sleeper("exec sleep 1000");
        // Whether `exec` has happened: the program is then another.
        while Record::of(child.pid(), None).is_none_or(|record| {
            !record.exe.to_string_lossy().ends_with("sleep")
                && !record.exe.to_string_lossy().contains("coreutils")
                && !record.exe.to_string_lossy().contains("busybox")
        }) {
            std::thread::yield_now();
        }
        let record = orphan(&child, &socket);
        let others = [
            Record { start: record.start + 1, ..record.clone() },
            Record { exe: "/bin/other".into(), ..record.clone() },
            Record { parent_start: record.parent_start - 1, ..record.clone() },
        ];
        for other in others {
            let written = other.write(folder.path()).unwrap();
            let swept = sweep(folder.path(), LONG).unwrap();
            assert!(swept.ended.is_empty() && child.try_wait().unwrap().is_none(), "{other:?}");
            drop(written);
        }
        let _listener =
            if socket.exists() { None } else { Some(UnixListener::bind(&socket).unwrap()) };
        let written = record.write(folder.path()).unwrap();
        let swept = sweep(folder.path(), LONG).unwrap();
        assert_eq!(swept.ended, [record]);
        assert_eq!(child.try_wait().unwrap(), Some(Exit::Signal(15)));
        assert!(!socket.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(written);
    }

    #[test]
    fn one_that_does_not_end_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = sleeper("trap '' TERM; echo; while :; do sleep 1; done");
        let mut said = [0; 1];
        let pipe = child.take_stdout().unwrap();
        while rustix::io::read(&pipe, &mut said).is_err() {
            std::thread::yield_now();
        }
        let _written = orphan(&child, Path::new("")).write(folder.path()).unwrap();
        let swept = sweep(folder.path(), Duration::from_millis(50)).unwrap();
        assert_eq!(swept.ended.len(), 1);
        assert_eq!(child.try_wait().unwrap(), Some(Exit::Signal(9)));
    }
}

//! What a server's program says of itself: its version and the devices that it sees.
//!
//! ```
//! use std::{io, path::Path};
//! use rocload::serve::about::about;
//!
//! let error = about(Path::new("/nonexistent/llama-server")).unwrap_err();
//! assert_eq!(error.kind(), io::ErrorKind::NotFound);
//! ```

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rocload_core::serve::environment::{Devices, Environment};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::shortened;
use crate::process::{Child, Exit};

/// How long the program may take to say all of it: a GPU's driver may have to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked at.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// The most that it may write to one flag, in bytes.
const MOST: usize = 1 << 20;

/// What a program says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct About {
    /// Its version, as `0.6.0 (build 11434, commit unknown)`.
    pub version: Option<String>,
    /// The devices other than the CPU, each as a line.
    pub devices: Option<Vec<String>>,
}

/// Asks a program by `--version` and `--list-devices`. What it does not say is `None`. It runs in
/// a process group of its own, of which nothing is left.
///
/// # Errors
/// The system's when it cannot be started; `TimedOut` when it does not end within 20 seconds,
/// `InvalidData` when it writes more than a MiB: it is killed then.
pub fn about(program: &Path) -> io::Result<About> {
    about_unless(program, &AtomicBool::new(false))
}

/// The same; the program is killed when `stop` becomes true.
///
/// # Errors
/// As [`about`], and `Interrupted` when it was stopped.
pub fn about_unless(program: &Path, stop: &AtomicBool) -> io::Result<About> {
    about_within(program, stop, PATIENCE)
}

fn about_within(program: &Path, stop: &AtomicBool, patience: Duration) -> io::Result<About> {
    let until = Instant::now() + patience;
    let version = ask(program, "--version", stop, until)?.as_deref().and_then(version);
    let devices = ask(program, "--list-devices", stop, until)?.as_deref().and_then(devices);
    Ok(About { version, devices })
}

/// What the program writes when it is given this flag alone; `None` if it refuses.
fn ask(
    program: &Path,
    flag: &str,
    stop: &AtomicBool,
    until: Instant,
) -> io::Result<Option<String>> {
    // As it would be started, but with the devices that the user has.
    let built = Environment { devices: Devices::Inherited, api_key: None };
    let kept =
        std::env::vars_os().filter(|(name, _)| built.fate(name.as_encoded_bytes()).is_kept());
    let mut command = Command::new(program);
    command.arg(flag).env_clear().envs(kept);
    let mut child = Child::spawn(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if program.exists() => {
            io::Error::new(io::ErrorKind::NotFound, "its interpreter or loader is not there")
        }
        _ => error,
    })?;
    // Devices are told of on the standard output, to its end.
    let mut pipes = [child.take_stderr(), child.take_stdout()];
    let mut texts = [Vec::new(), Vec::new()];
    // However this is left, the child's drop kills its group.
    let exit = loop {
        // What it wrote before its end is there when its end is.
        let exit = child.try_wait()?;
        for (pipe, text) in pipes.iter_mut().zip(&mut texts) {
            read_there(pipe, text)?;
        }
        match exit {
            Some(exit) => break exit,
            None if stop.load(Ordering::Relaxed) => return Err(io::ErrorKind::Interrupted.into()),
            None if Instant::now() >= until => return Err(io::ErrorKind::TimedOut.into()),
            None => {}
        }
        let mut open: Vec<PollFd<'_>> = pipes
            .iter()
            .flatten()
            .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN))
            .chain(
                child.pidfd().map(|pidfd| PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)),
            )
            .collect();
        match poll(&mut open, Some(&LOOK)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    child.reap()?;
    let text = String::from_utf8_lossy(&texts.concat()).into_owned();
    Ok((exit == Exit::Code(0)).then_some(text))
}

/// Reads what is there; a pipe that has ended is closed.
fn read_there(pipe: &mut Option<OwnedFd>, text: &mut Vec<u8>) -> io::Result<()> {
    let mut chunk = [0; 16 << 10];
    while let Some(fd) = pipe {
        match rustix::io::read(&*fd, &mut chunk) {
            Ok(0) => *pipe = None,
            Ok(read) => text.extend_from_slice(&chunk[..read]),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error.into()),
        }
        if text.len() > MOST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it writes without end"));
        }
    }
    Ok(())
}

fn version(text: &str) -> Option<String> {
    let version = text.lines().find_map(|line| line.strip_prefix("version: "))?;
    Some(shortened(version.trim().as_bytes()))
}

fn devices(text: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().skip_while(|line| *line != "Available devices:");
    lines.next()?;
    let lines = lines.map(str::trim).filter(|line| !line.is_empty() && *line != "(none)");
    Some(lines.map(|line| shortened(line.as_bytes())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_real_servers_say() {
        let text = "version: 0.6.0 (build 11434, commit unknown)\nbuilt with GNU 12.2.0 for Linux x86_64\n";
        assert_eq!(version(text).as_deref(), Some("0.6.0 (build 11434, commit unknown)"));
        assert_eq!(devices("Available devices:\n  (none)\n"), Some(vec![]));
        let text = "ggml_cuda_init: found 1\nAvailable devices:\n  ROCm0: AMD Radeon RX 7800 XT (16368 MiB, 16000 MiB free)\n";
        assert_eq!(
            devices(text).unwrap(),
            ["ROCm0: AMD Radeon RX 7800 XT (16368 MiB, 16000 MiB free)"]
        );
        assert_eq!((version("error"), devices("error")), (None, None));
    }

    #[test]
    fn a_program_that_refuses_says_nothing() {
        assert_eq!(about(Path::new("/bin/false")).unwrap(), About::default());
        assert_eq!(about(Path::new("/nonexistent")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    fn script(folder: &Path, text: &str) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.join("server");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_its_group() {
        let folder = tempfile::tempdir().unwrap();
        let go = AtomicBool::new(false);
        let flood = script(folder.path(), "#!/bin/sh\nexec yes\n");
        assert_eq!(about(&flood).unwrap_err().kind(), io::ErrorKind::InvalidData);
        // It closes its output, ignores SIGTERM and leaves a child behind.
        let deaf =
            "#!/bin/sh\ntrap '' TERM\nsleep 1000 &\necho $! > \"$0.pid\"\nexec >&- 2>&-\nwait\n";
        let deaf = script(folder.path(), deaf);
        let patience = Duration::from_secs(1);
        let error = about_within(&deaf, &go, patience).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let pid = std::fs::read_to_string(folder.path().join("server.pid")).unwrap();
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.ok().is_none_or(|stat| stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
        };
        // The kernel takes its moment.
        assert!((0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            gone()
        }));
        let error = about_unless(&deaf, &AtomicBool::new(true)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        let lost = script(folder.path(), "#!/nonexistent/python\n");
        let error = about(&lost).unwrap_err();
        assert!(error.to_string().contains("interpreter"), "{error}");
    }
}

//! What a server's program says of itself: its version and the devices that it sees.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rocload_core::serve::environment::{Devices, Environment};

use crate::error::shortened;

/// How long the program may take to say it: a GPU's driver may have to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// What is read of it, in bytes.
const MOST: u64 = 64 << 10;

/// What a program says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct About {
    /// Its version, as `0.6.0 (build 11434, commit unknown)`.
    pub version: Option<String>,
    /// The devices other than the CPU, each as a line.
    pub devices: Option<Vec<String>>,
}

/// Asks a program by `--version` and `--list-devices`. What it does not say is `None`.
///
/// # Errors
/// The system's when it cannot be started; `TimedOut` when it does not end.
pub fn about(program: &Path) -> io::Result<About> {
    let version = ask(program, "--version")?.as_deref().and_then(version);
    let devices = ask(program, "--list-devices")?.as_deref().and_then(devices);
    Ok(About { version, devices })
}

/// What the program writes when it is given this flag alone; `None` if it refuses.
fn ask(program: &Path, flag: &str) -> io::Result<Option<String>> {
    // As it would be started, but with the devices that the user has.
    let built = Environment { devices: Devices::Inherited, api_key: None };
    let kept =
        std::env::vars_os().filter(|(name, _)| built.fate(name.as_encoded_bytes()).is_kept());
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new(program);
    command.arg(flag).env_clear().envs(kept).stdin(Stdio::null());
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The writing ends that it holds would keep the pipe open.
    drop(command);
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = (&mut reader).take(MOST).read_to_end(&mut text);
        // What is over the cap is read too, lest the program wait; nobody may listen any more.
        let _ = tell.send(read.map(|_| text));
        let _ = io::copy(&mut reader, &mut io::sink());
    });
    let text = match told.recv_timeout(PATIENCE) {
        Ok(text) => text?,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
    };
    let fine = child.wait()?.success();
    Ok(fine.then(|| String::from_utf8_lossy(&text).into_owned()))
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
}

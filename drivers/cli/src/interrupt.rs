//! ^C and its kin: unfinished files are removed, then the process ends at once.
//!
//! A thread of its own waits for the signals, so that nothing restricts what is done about
//! them. It takes the lock under which unfinished files are made and never gives it back:
//! none is made after the last one was removed.

use std::fs;
use std::io::IsTerminal;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, unlinkat};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// A file that is not finished: its folder and its name there.
#[derive(Debug, Clone)]
pub(crate) struct Unfinished {
    pub(crate) folder: Arc<OwnedFd>,
    pub(crate) name: String,
}

impl Unfinished {
    /// Removes the file; one that has gone already is as good.
    fn remove(&self) {
        let _ = unlinkat(&*self.folder, &*self.name, AtFlags::empty());
    }

    fn is(&self, other: &Unfinished) -> bool {
        Arc::ptr_eq(&self.folder, &other.folder) && self.name == other.name
    }
}

static UNFINISHED: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());
/// A folder that is temporary as a whole.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// What is to be as it was, such as a terminal.
static RESTORE: Mutex<Option<Restore>> = Mutex::new(None);

type Restore = Box<dyn FnOnce() + Send>;

/// An interruption will do this first, once.
pub(crate) fn restore_in_any_case(restore: impl FnOnce() + Send + 'static) {
    *RESTORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(restore));
}

/// An interruption will remove this folder and all that is in it.
pub(crate) fn remove_in_any_case(folder: &Path) {
    *TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_path_buf());
}

/// Makes an unfinished file by `make`, which an interruption will remove.
pub(crate) fn begin<T, E>(file: &Unfinished, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let mut files = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make()?;
    files.push(file.clone());
    Ok(made)
}

/// The file is finished or removed.
pub(crate) fn end(file: &Unfinished) {
    let mut files = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    files.retain(|other| !other.is(file));
}

/// Removes a file and forgets it.
pub(crate) fn abandon(file: &Unfinished) {
    file.remove();
    end(file);
}

/// What a command does about a signal instead of ending at once; false = end now after all.
type Handler = Box<dyn FnMut(i32) -> bool + Send>;

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// While this lives, signals are told to a handler.
#[must_use = "the handler goes with it"]
pub(crate) struct Handled(());

impl Drop for Handled {
    fn drop(&mut self) {
        *HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Tells signals to `handler`, on the thread of signals; the process ends only when that says
/// false.
pub(crate) fn handle_by(handler: impl FnMut(i32) -> bool + Send + 'static) -> Handled {
    *HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(handler));
    Handled(())
}

/// Whether a handler dealt with a signal.
fn is_handled(signal: i32) -> bool {
    let mut handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
    handler.as_mut().is_some_and(|handle| handle(signal))
}

/// From now on ^C ends the process with status 130, the signals TERM and HUP with 143 and 129,
/// and unfinished files are removed first. A signal that the process was started to ignore, as
/// by `nohup`, stays ignored. A command can do otherwise by [`handle_by`].
pub(crate) fn install() {
    // Where files may not grow the write fails, as on a full disk, and is told of.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let ignored = ignored_signals();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|n| ignored >> (n - 1) & 1 == 0);
    // Without the handlers a signal still ends the process; only unfinished files are left.
    let Ok(mut signals) = Signals::new(wanted) else { return };
    let waiting = move || {
        if let Some(signal) = signals.forever().find(|signal| !is_handled(*signal)) {
            let files = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
            files.iter().for_each(Unfinished::remove);
            let temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(folder) = temporary {
                let _ = fs::remove_dir_all(folder);
            }
            let restore = RESTORE.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(restore) = restore {
                restore();
            }
            if signal == SIGINT {
                // Past Rust's own standard error, which another thread may hold. On a terminal
                // the cursor stands behind "^C" and perhaps a progress bar.
                let stderr = rustix::stdio::stderr();
                let begin: &[u8] = if stderr.is_terminal() { b"\n" } else { b"" };
                let line = [begin, b"rocload: interrupted\n"].concat();
                let _ = rustix::io::write(stderr, &line);
            }
            std::process::exit(128 + signal);
        }
    };
    let _ = thread::Builder::new().name("signals".into()).spawn(waiting);
}

/// The signals that are ignored now, signal 1 in the lowest bit; none where `/proc` is absent.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags, open};

    #[test]
    fn what_is_abandoned_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let fd = open(dir.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let file = Unfinished { folder: Arc::new(fd), name: "unfinished".into() };
        let path = dir.path().join("unfinished");
        begin(&file, || fs::write(&path, b"half")).unwrap();
        assert!(path.exists());
        assert!(UNFINISHED.lock().unwrap().iter().any(|other| other.is(&file)));
        abandon(&file);
        assert!(!path.exists());
        assert!(!UNFINISHED.lock().unwrap().iter().any(|other| other.is(&file)));
    }

    #[test]
    fn the_mask_of_ignored_signals_is_found() {
        // Rust's runtime ignores SIGPIPE (13), so the mask is never empty where /proc is.
        if fs::exists("/proc/self/status").unwrap() {
            assert_ne!(ignored_signals() >> 12 & 1, 0);
        }
    }
}

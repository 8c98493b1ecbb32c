//! A storm of signals over a whole process.

use std::fs;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Signals that were caught.
static CAUGHT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn caught(_: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

/// Does `work` while a signal comes to every thread several thousand times a second, whose
/// handler interrupts system calls: it has no SA_RESTART.
pub(crate) fn storm<T>(work: impl FnOnce() -> T) -> T {
    /// However the work ends, the storm does too.
    struct Over<'o>(&'o AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    install();
    let before = CAUGHT.load(Ordering::Relaxed);
    let over = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                blow();
                thread::sleep(Duration::from_micros(200));
            }
        });
        let _over = Over(&over);
        work()
    });
    assert!(CAUGHT.load(Ordering::Relaxed) > before, "there was no storm");
    done
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all zeros is a `sigaction` without flags and with an empty mask; its handler
        // only adds to an atomic number, which may be done at any time.
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = caught as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut())
        };
        assert_eq!(installed, 0);
    });
}

/// A signal to every thread but this one.
fn blow() {
    // SAFETY: these calls take numbers and touch no memory. A thread that has ended meanwhile is
    // an error, which is no matter.
    unsafe {
        let (process, own) = (libc::getpid(), libc::gettid());
        for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(thread) = thread.filter(|&thread: &libc::pid_t| thread != own) {
                libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1);
            }
        }
    }
}

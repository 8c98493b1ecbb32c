//! Which process a number is.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// What tells a process from every other that has had its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// When it was started, in clock ticks since the system was (field 22 of `/proc/PID/stat`).
    pub start: u64,
    /// Its program; empty where that cannot be read. Of one that was replaced since, the path
    /// where it was.
    pub exe: OsString,
    /// The group that it belongs to; 0 for a group of another namespace.
    pub group: u32,
    /// It has ended and nobody has reaped it.
    pub zombie: bool,
}

/// The process that has this number now; `None` where there is none.
pub fn identity(pid: u32) -> Option<Identity> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let (state, group, start) = fields(&stat)?;
    let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default().into_os_string();
    let exe = match exe.as_bytes().strip_suffix(b" (deleted)") {
        Some(path) => OsString::from_vec(path.to_vec()),
        None => exe,
    };
    Some(Identity { start, exe, group, zombie: matches!(state, b'Z' | b'X') })
}

/// The group of the process that has this number now.
pub(super) fn group_of(pid: u32) -> Option<u32> {
    Some(fields(&fs::read(format!("/proc/{pid}/stat")).ok()?)?.1)
}

/// State, group and start of a line of `/proc/PID/stat`. The name, in brackets, may hold anything,
/// brackets and blanks too: the last bracket ends it (proc_pid_stat(5)).
fn fields(stat: &[u8]) -> Option<(u8, u32, u64)> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    // The state is field 3, the group 5, the start 22.
    let state = *fields.next()?.as_bytes().first()?;
    let group = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(22 - 5 - 1)?.parse().ok()?;
    Some((state, group, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = b"12 (a) R 1 (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21\n";
        assert_eq!(fields(line), Some((b'S', 2, 4242)));
        for line in [
            &b""[..],
            b"12",
            b"12 (a)",
            b"12 (a) S 1 2",
            b"12 (a) S 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 x",
        ] {
            assert_eq!(fields(line), None, "{line:?}");
        }
    }

    #[test]
    fn this_process_is_itself() {
        let own = identity(std::process::id()).unwrap();
        assert_eq!(own.exe, std::env::current_exe().unwrap().into_os_string());
        assert!(own.start > 0 && !own.zombie);
        assert_eq!(identity(u32::MAX), None);
    }
}

//! Whether the kernel killed for want of memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Where cgroups are.
const ROOT: &str = "/sys/fs/cgroup";
/// What counts the kills: in version 2 and in version 1.
const FILES: [&str; 2] = ["memory.events", "memory.oom_control"];

/// How often the kernel has killed a process of a memory cgroup for want of memory, then and now:
/// `oom_kill` of `memory.events` (version 2) or of `memory.oom_control` (version 1).
///
/// The groups that a process belongs to are looked up by [`of`](Self::of) and
/// [`refresh`](Self::refresh); a folder can be given instead.
#[derive(Debug, Clone, Default)]
pub struct OomCount {
    /// The files, with the count when each was first seen.
    seen: Vec<(PathBuf, u64)>,
    given: bool,
}

impl OomCount {
    /// The count of the cgroup in `folder`.
    pub fn in_folder(folder: &Path) -> Self {
        let mut count = OomCount { seen: Vec::new(), given: true };
        count.see(folder);
        count
    }

    /// The count of the cgroups of a process, from now on.
    pub fn of(pid: u32) -> Self {
        let mut count = OomCount::default();
        count.refresh(pid);
        count
    }

    /// The process may have moved to another group since.
    pub fn refresh(&mut self, pid: u32) {
        if self.given {
            return;
        }
        let Ok(groups) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return };
        for folder in folders(&groups) {
            self.see(&folder);
        }
    }

    fn see(&mut self, folder: &Path) {
        for name in FILES {
            let path = folder.join(name);
            let known = self.seen.iter().any(|(seen, _)| *seen == path);
            if let (false, Some(count)) = (known, read(&path)) {
                self.seen.push((path, count));
                return;
            }
        }
    }

    /// Whether it has killed since.
    pub fn rose(&self) -> bool {
        self.seen.iter().any(|(path, before)| read(path).is_some_and(|now| now > *before))
    }
}

/// The folders of the groups that `/proc/PID/cgroup` tells of and that count memory. In a
/// container the path told may be the host's, and the group is at the root.
fn folders(groups: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(kinds), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let path = path.strip_suffix(" (deleted)").unwrap_or(path).trim_start_matches('/');
        if Path::new(path).components().any(|part| part.as_os_str() == "..") {
            continue;
        }
        let roots: &[&str] = if kinds.split(',').any(|kind| kind == "memory") {
            &["memory"]
        } else if number == "0" && kinds.is_empty() {
            &["", "unified"]
        } else {
            &[]
        };
        for root in roots {
            let root = Path::new(ROOT).join(root);
            let own = root.join(path);
            folders.push(if own.is_dir() { own } else { root });
        }
    }
    folders
}

/// `oom_kill` of such a file.
fn read(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_folder_are_read() {
        let forms = [
            ("memory.events", "low 0\nhigh 0\nmax 5\noom 1\noom_kill N\noom_group_kill 0\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill N\n"),
        ];
        for (name, text) in forms {
            let folder = tempfile::tempdir().unwrap();
            let write = |count: &str| {
                fs::write(folder.path().join(name), text.replace('N', count)).unwrap();
            };
            write("3");
            let count = OomCount::in_folder(folder.path());
            assert!(!count.rose());
            write("4");
            assert!(count.rose());
            fs::remove_file(folder.path().join(name)).unwrap();
            assert!(!count.rose());
        }
    }

    #[test]
    fn a_folder_without_counts_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!OomCount::in_folder(folder.path()).rose());
        assert!(!OomCount::of(std::process::id()).rose());
        assert!(!OomCount::of(u32::MAX).rose());
    }

    #[test]
    fn groups_are_found_in_both_versions() {
        assert!(folders("3:cpu:/a\nrubbish\n1:name=systemd:/\n").is_empty());
        assert!(folders("0::/../../etc").is_empty());
        let found = folders("4:memory,hugetlb:/none/such\n");
        assert_eq!(found, [Path::new(ROOT).join("memory")]);
        assert_eq!(folders("0::/none/such")[0], Path::new(ROOT).join(""));
    }
}

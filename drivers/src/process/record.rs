//! The note that a server is ours.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::folder::random;
use super::identity;

/// The ending of its name.
const ENDING: &str = "pid";
/// The longest that is read, in bytes.
const MOST: u64 = 64 << 10;

/// Which process is ours and who started it. As a file it lies in the [folder of
/// records](super::records_folder) while the process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The server's process id, which is that of its group too.
    pub pid: u32,
    /// When it was started, in clock ticks since the system was.
    pub start: u64,
    /// Its program.
    pub exe: OsString,
    /// The process that started it.
    pub parent: u32,
    /// When that was started.
    pub parent_start: u64,
    /// Its Unix socket, if it has one.
    pub socket: Option<PathBuf>,
}

impl Record {
    /// The record of a process that this one has started; `None` when it is gone, or when the
    /// system does not tell (no `/proc`).
    pub fn of(pid: u32, socket: Option<&Path>) -> Option<Record> {
        let own = identity(std::process::id())?;
        let found = identity(pid).filter(|found| !found.zombie && !found.exe.is_empty())?;
        Some(Record {
            pid,
            start: found.start,
            exe: found.exe,
            parent: std::process::id(),
            parent_start: own.start,
            socket: socket.map(Path::to_path_buf),
        })
    }

    /// Whether the process that has the number now is the one that was noted.
    pub fn still_runs(&self) -> bool {
        identity(self.pid).is_some_and(|found| {
            found.start == self.start && found.exe == self.exe && !found.zombie
        })
    }

    /// Whether the process that started it is gone.
    pub fn is_orphan(&self) -> bool {
        identity(self.parent)
            .is_none_or(|parent| parent.start != self.parent_start || parent.zombie)
    }

    /// The record as a file's text.
    fn text(&self) -> String {
        let mut text = format!(
            "pid {}\nstart {}\nparent {}\nparent_start {}\nexe {}\n",
            self.pid,
            self.start,
            self.parent,
            self.parent_start,
            escaped(self.exe.as_bytes()),
        );
        if let Some(socket) = &self.socket {
            text.push_str(&format!("socket {}\n", escaped(socket.as_os_str().as_bytes())));
        }
        text
    }

    fn from_text(text: &str) -> Option<Record> {
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let path = |name| Some(OsString::from_vec(unescaped(field(name)?)?));
        Some(Record {
            pid: field("pid")?.parse().ok().filter(|pid| *pid > 1)?,
            start: field("start")?.parse().ok()?,
            exe: path("exe").filter(|exe| !exe.is_empty())?,
            parent: field("parent")?.parse().ok()?,
            parent_start: field("parent_start")?.parse().ok()?,
            socket: path("socket").map(PathBuf::from),
        })
    }

    /// Writes it to a new file in `folder`.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, folder: &Path) -> io::Result<Written> {
        let written = Written(folder.join(format!("{}.{ENDING}", random()?)));
        written.replace(self)?;
        Ok(written)
    }

    /// The records of a folder, with the paths of their files. What is no record is passed over.
    pub(super) fn read_all(folder: &Path) -> io::Result<Vec<(PathBuf, Record)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == ENDING)
                && let Some(record) = read(&path)
            {
                found.push((path, record));
            }
        }
        Ok(found)
    }
}

fn read(path: &Path) -> Option<Record> {
    let mut text = String::new();
    // A link or a pipe there is not ours.
    let nofollow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nofollow.bits().cast_signed())
        .open(path)
        .ok()
        .filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
    file.take(MOST).read_to_string(&mut text).ok()?;
    Record::from_text(&text)
}

/// The file of a record; dropping it removes the file.
#[derive(Debug)]
pub struct Written(PathBuf);

impl Written {
    /// Puts another record in its place, whole or not at all.
    ///
    /// # Errors
    /// The system's.
    pub fn replace(&self, record: &Record) -> io::Result<()> {
        let new = self.0.with_extension("new");
        let written = File::create(&new)
            .and_then(|mut file| file.write_all(record.text().as_bytes()))
            .and_then(|()| fs::rename(&new, &self.0));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Bytes as printable ASCII without blanks, `%` and two digits for the others.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'%' {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::of(std::process::id(), Some(Path::new("/a b\n%/ä.sock"))).unwrap();
        let written = record.write(folder.path()).unwrap();
        assert_eq!(Record::read_all(folder.path()).unwrap(), [(written.0.clone(), record.clone())]);
        record.socket = None;
        written.replace(&record).unwrap();
        assert_eq!(Record::read_all(folder.path()).unwrap(), [(written.0.clone(), record)]);
        drop(written);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn this_process_is_no_orphan_of_itself() {
        let mut record = Record::of(std::process::id(), None).unwrap();
        assert!(record.still_runs() && !record.is_orphan());
        record.parent_start += 1;
        assert!(record.is_orphan());
        record.start += 1;
        assert!(!record.still_runs());
    }

    #[test]
    fn what_is_no_record_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let texts = [
            "",
            "pid 1\nstart 1\nparent 1\nparent_start 1\nexe /a\n",
            "pid 5\nstart x\nparent 1\nparent_start 1\nexe /a\n",
            "pid 5\nstart 1\nparent 1\nparent_start 1\nexe %\n",
            "pid 5\nstart 1\nparent 1\nparent_start 1\nexe \n",
            "pid 99999999999\n",
        ];
        for (at, text) in texts.iter().enumerate() {
            fs::write(folder.path().join(format!("{at}.pid")), text).unwrap();
        }
        fs::write(folder.path().join("b.pid"), [0xff; 10]).unwrap();
        std::os::unix::fs::symlink("0.pid", folder.path().join("l.pid")).unwrap();
        fs::create_dir(folder.path().join("d.pid")).unwrap();
        assert_eq!(Record::read_all(folder.path()).unwrap(), []);
    }
}

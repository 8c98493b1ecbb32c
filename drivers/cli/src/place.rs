//! Putting files in place: whole or not at all, and never outside the folder they belong to.
//!
//! Folders below the one that the user named are opened one by one, each relative to the one
//! before and never through a symbolic link: whatever stands there already, a path cannot lead
//! out. A file is written under a temporary name beside its final one and then renamed, which
//! replaces a link itself and not what it points to.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FileType, Mode, OFlags, fstat, mkdirat, open, openat, renameat};
use rustix::io::Errno;

use crate::interrupt::{self, Unfinished};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const NEW_FOLDER: Mode = Mode::from_bits_truncate(0o777);
const NEW_FILE: Mode = Mode::from_bits_truncate(0o666);
/// Temporary names tried before giving up: others can only be left from runs of the same number.
const TRIES: u32 = 1000;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    /// It was written, or an older one replaced.
    Written,
    /// A file with the same bytes was there.
    Kept,
}

/// The folder that files are put below.
#[derive(Debug)]
pub(crate) struct Root(Arc<OwnedFd>);

impl Root {
    /// Opens the folder, and makes it where it does not exist. The path is the user's own and
    /// may lead through links.
    pub(crate) fn create(path: &Path) -> io::Result<Root> {
        fs::create_dir_all(path)?;
        Ok(Root(Arc::new(open(path, FOLDER, Mode::empty())?)))
    }

    /// Puts `bytes` at a path of plain components, making its folders.
    pub(crate) fn put(&self, path: &[impl AsRef<[u8]>], bytes: &[u8]) -> io::Result<Put> {
        let Some((name, folders)) = path.split_last() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut folder = Arc::clone(&self.0);
        for name in folders {
            folder = Arc::new(subfolder(&folder, name.as_ref())?);
        }
        if holds(&folder, name.as_ref(), bytes)? {
            return Ok(Put::Kept);
        }
        write_renamed(folder, name.as_ref(), bytes)?;
        Ok(Put::Written)
    }
}

/// Opens a folder in another, and makes it where it does not exist.
fn subfolder(folder: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    match mkdirat(folder, name, NEW_FOLDER) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| match error {
        // Linux says one for a link to a folder, other systems the other.
        Errno::LOOP | Errno::NOTDIR => {
            let name = rocload::error::printable(name);
            io::Error::other(format!("{name} is there and is no folder: links are not followed"))
        }
        error => error.into(),
    })
}

/// A regular file of this name has exactly these bytes.
fn holds(folder: &OwnedFd, name: &[u8], bytes: &[u8]) -> io::Result<bool> {
    // A pipe must not hang the open; a link is no regular file.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(file) = openat(folder, name, flags, Mode::empty()) else {
        // Absent, or nothing that can be read: the rename will show what can be done.
        return Ok(false);
    };
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(false);
    }
    if u64::try_from(stat.st_size) != Ok(bytes.len() as u64) {
        return Ok(false);
    }
    same_bytes(File::from(file), bytes)
}

fn same_bytes(mut file: File, bytes: &[u8]) -> io::Result<bool> {
    let mut piece = vec![0; bytes.len().clamp(1, 256 << 10)];
    let mut rest = bytes;
    loop {
        let got = match file.read(&mut piece) {
            Ok(0) => return Ok(rest.is_empty()),
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match rest.strip_prefix(&piece[..got]) {
            Some(after) => rest = after,
            None => return Ok(false),
        }
    }
}

/// Writes a file under a temporary name and renames it. After an error nothing is left.
///
/// It is not forced to the disk: that takes longer than everything else together, and what a
/// crash of the system might lose is found and written again by the next run.
fn write_renamed(folder: Arc<OwnedFd>, name: &[u8], bytes: &[u8]) -> io::Result<()> {
    let (mut file, unfinished) = temporary(&folder)?;
    let done = file
        .write_all(bytes)
        .and_then(|()| Ok(renameat(&*folder, &*unfinished.name, &*folder, name)?));
    match done {
        Ok(()) => interrupt::end(&unfinished),
        Err(_) => interrupt::abandon(&unfinished),
    }
    done
}

fn temporary(folder: &Arc<OwnedFd>) -> io::Result<(File, Unfinished)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut last = Errno::EXIST;
    for _ in 0..TRIES {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".rocload-{}-{n}.tmp", process::id());
        let file = Unfinished { folder: Arc::clone(folder), name };
        match interrupt::begin(&file, || openat(&**folder, &*file.name, flags, NEW_FILE)) {
            Ok(fd) => return Ok((File::from(fd), file)),
            Err(Errno::EXIST) => {}
            Err(error) => {
                last = error;
                break;
            }
        }
    }
    Err(last.into())
}

/// Puts `bytes` at a path of the user's own: a link is followed, and what is no regular file,
/// such as a pipe or `/dev/null`, is written to as it is.
pub(crate) fn put_at(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => fs::canonicalize(path)?,
        Ok(_) => return File::options().write(true).open(path)?.write_all(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => end_of_links(path)?,
        Err(error) => return Err(error),
    };
    let Some(name) = target.file_name() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder = Arc::new(open(parent, FOLDER, Mode::empty())?);
    write_renamed(folder, name.as_bytes(), bytes)
}

/// Where a path leads whose last link points to nothing yet.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    // As many links as Linux follows.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(Errno::LOOP.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, symlink};

    fn names(dir: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn equal_files_are_kept_and_others_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::create(&dir.path().join("a/b")).unwrap();
        assert_eq!(root.put(&["x", "y"], b"one").unwrap(), Put::Written);
        assert_eq!(root.put(&["x", "y"], b"one").unwrap(), Put::Kept);
        assert_eq!(root.put(&["x", "y"], b"two").unwrap(), Put::Written);
        assert_eq!(root.put(&["x", "y"], b"more").unwrap(), Put::Written);
        assert_eq!(root.put(&["x", "empty"], b"").unwrap(), Put::Written);
        assert_eq!(root.put(&["x", "empty"], b"").unwrap(), Put::Kept);
        assert_eq!(fs::read(dir.path().join("a/b/x/y")).unwrap(), b"more");
        assert_eq!(names(&dir.path().join("a/b/x")), ["empty", "y"]);
    }

    #[test]
    fn links_inside_do_not_lead_out() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), b"precious").unwrap();
        let inside = dir.path().join("inside");
        let root = Root::create(&inside).unwrap();
        symlink(&outside, inside.join("folder")).unwrap();
        symlink(outside.join("file"), inside.join("file")).unwrap();
        symlink(outside.join("new"), inside.join("new")).unwrap();

        let error = root.put(&["folder", "file"], b"evil").unwrap_err();
        assert!(error.to_string().contains("links are not followed"), "{error}");
        // A link in the place of the file is replaced, even if it leads to equal bytes.
        assert_eq!(root.put(&["file"], b"precious").unwrap(), Put::Written);
        assert_eq!(root.put(&["new"], b"evil").unwrap(), Put::Written);
        assert_eq!(names(&outside), ["file"]);
        assert_eq!(fs::read(outside.join("file")).unwrap(), b"precious");
        assert!(fs::symlink_metadata(inside.join("file")).unwrap().is_file());
    }

    #[test]
    fn a_folder_in_the_way_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::create(dir.path()).unwrap();
        fs::create_dir(dir.path().join("x")).unwrap();
        assert!(root.put(&["x"], b"one").is_err());
        assert_eq!(names(dir.path()), ["x"]);
        fs::write(dir.path().join("y"), b"").unwrap();
        let error = root.put(&["y", "z"], b"one").unwrap_err();
        assert!(error.to_string().starts_with("y is there and is no folder"), "{error}");
    }

    #[test]
    fn a_path_of_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put_at(&at("new"), b"one").unwrap();
        put_at(&at("new"), b"two").unwrap();
        assert_eq!(fs::read(at("new")).unwrap(), b"two");
        symlink("new", at("link")).unwrap();
        put_at(&at("link"), b"three").unwrap();
        assert_eq!(fs::read(at("new")).unwrap(), b"three", "through the link");
        symlink("later", at("dangling")).unwrap();
        put_at(&at("dangling"), b"four").unwrap();
        assert_eq!(fs::read(at("later")).unwrap(), b"four");
        put_at(Path::new("/dev/null"), b"five").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert_eq!(put_at(dir.path(), b"").unwrap_err().kind(), io::ErrorKind::IsADirectory);
        let missing = put_at(&at("absent/x"), b"").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        symlink("loop", at("loop")).unwrap();
        assert!(put_at(&at("loop"), b"").is_err());
        assert_eq!(names(dir.path()), ["dangling", "later", "link", "loop", "new"]);
    }
}

//! Putting files in place: whole or not at all, and never outside the folder they belong to.
//!
//! Folders below the one that the user named are opened one by one, each relative to the one
//! before and never through a symbolic link: whatever stands there already, a path cannot lead
//! out. A file is written under a temporary name beside its final one and then renamed, which
//! replaces a link itself and not what it points to.
//!
//! A temporary file is locked (`flock`) while it is written. A process that was killed leaves one
//! without a lock; whoever puts files into the same folder next removes it. So neither process
//! numbers, which mean nothing across containers, nor ages have to be judged.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, open, openat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::interrupt::{self, Unfinished};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const NEW_FOLDER: Mode = Mode::from_bits_truncate(0o777);
const NEW_FILE: Mode = Mode::from_bits_truncate(0o666);
/// Temporary names tried before giving up: others can only be left from runs of the same number.
const TRIES: u32 = 1000;
const PREFIX: &str = ".rocload-";
const SUFFIX: &str = ".tmp";

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
pub(crate) struct Root {
    folder: Arc<OwnedFd>,
    /// Folders below it that were swept, by their paths.
    swept: Mutex<HashSet<Vec<u8>>>,
}

impl Root {
    /// Opens the folder, and makes it where it does not exist. The path is the user's own and
    /// may lead through links.
    pub(crate) fn create(path: &Path) -> io::Result<Root> {
        fs::create_dir_all(path).map_err(|error| match error.kind() {
            // The system says of a file in the folder's place that it exists.
            io::ErrorKind::AlreadyExists => io::Error::other("a file is in the folder's place"),
            _ => error,
        })?;
        let folder = Arc::new(open(path, FOLDER, Mode::empty())?);
        Ok(Root { folder, swept: Mutex::default() })
    }

    /// Puts `bytes` at a path of plain components, making its folders.
    pub(crate) fn put(&self, path: &[impl AsRef<[u8]>], bytes: &[u8]) -> io::Result<Put> {
        let Some((name, folders)) = path.split_last() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut folder = Arc::clone(&self.folder);
        let mut at = Vec::new();
        for name in folders {
            folder = Arc::new(subfolder(&folder, name.as_ref())?);
            at.extend_from_slice(name.as_ref());
            at.push(b'/');
        }
        if self.swept.lock().unwrap_or_else(PoisonError::into_inner).insert(at) {
            sweep(&folder);
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

/// A new file under a name of its own, locked.
pub(crate) fn temporary(folder: &Arc<OwnedFd>) -> io::Result<(File, Unfinished)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Read too: what is written in a stream is checked before it is put in place.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut last = Errno::EXIST;
    for _ in 0..TRIES {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{n}{SUFFIX}", process::id());
        let file = Unfinished { folder: Arc::clone(folder), name };
        match interrupt::begin(&file, || openat(&**folder, &*file.name, flags, NEW_FILE)) {
            Ok(fd) if is_ours(&fd) => return Ok((File::from(fd), file)),
            // Another process sweeps and took it for abandoned.
            Ok(_) => interrupt::abandon(&file),
            Err(Errno::EXIST) => {}
            Err(error) => {
                last = error;
                break;
            }
        }
    }
    Err(last.into())
}

/// Locks a new file. Where the system has no locks, nobody can take it either.
fn is_ours(fd: &OwnedFd) -> bool {
    let locked = flock(fd, FlockOperation::NonBlockingLockExclusive);
    let there = fstat(fd).is_ok_and(|stat| stat.st_nlink > 0);
    locked != Err(Errno::WOULDBLOCK) && there
}

/// Removes temporary files of processes that were killed. What cannot be removed stays.
pub(crate) fn sweep(folder: &OwnedFd) {
    let Ok(dir) = Dir::read_from(folder) else { return };
    for entry in dir.flatten() {
        let name = entry.file_name().to_bytes();
        if is_temporary(name) {
            let _ = sweep_one(folder, name);
        }
    }
}

/// `.rocload-NUMBER-NUMBER.tmp`.
pub(crate) fn is_temporary(name: &[u8]) -> bool {
    let name = name.strip_prefix(PREFIX.as_bytes());
    let numbers = name.and_then(|name| name.strip_suffix(SUFFIX.as_bytes()));
    numbers.is_some_and(|numbers| {
        let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        let mut parts = numbers.split(|&byte| byte == b'-');
        parts.next().is_some_and(digits)
            && parts.next().is_some_and(digits)
            && parts.next().is_none()
    })
}

fn sweep_one(folder: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = openat(folder, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(());
    }
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // Nobody writes it. The name may lead to another file by now.
    let now = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino) {
        unlinkat(folder, name, AtFlags::empty())?;
    }
    Ok(())
}

/// Puts `bytes` at a path of the user's own: a link is followed, and what is no regular file,
/// such as a pipe or `/dev/null`, is written to as it is.
pub(crate) fn put_at(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match place_of(path)? {
        Place::Through(mut file) => file.write_all(bytes),
        Place::Beside { folder, name, .. } => {
            sweep(&folder);
            write_renamed(folder, &name, bytes)
        }
    }
}

/// Where a path of the user's own leads.
pub(crate) enum Place {
    /// To something that is no regular file and is written to as it is.
    Through(File),
    /// To a name in a folder.
    Beside {
        folder: Arc<OwnedFd>,
        name: Vec<u8>,
        /// The permissions of the file that is there.
        mode: Option<u32>,
    },
}

/// Follows links, the last one too, even where it points to nothing yet.
pub(crate) fn place_of(path: &Path) -> io::Result<Place> {
    use std::os::unix::fs::PermissionsExt;
    let mut mode = None;
    let target = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => {
            mode = Some(found.permissions().mode() & 0o777);
            fs::canonicalize(path)?
        }
        Ok(_) => return Ok(Place::Through(File::options().write(true).open(path)?)),
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
    Ok(Place::Beside { folder, name: name.as_bytes().to_vec(), mode })
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
        let Err(error) = Root::create(&dir.path().join("a/b/x/y")) else { panic!("of a file") };
        assert_eq!(error.to_string(), "a file is in the folder's place");
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
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::create(dir.path()).unwrap();
        let at = |name: &str| dir.path().join(name);
        let kept =
            [".rocload-1-2.tmp~", ".rocload-1-2-3.tmp", ".rocload-1.tmp", ".rocload-a-2.tmp"];
        for name in kept.iter().chain(&[".rocload-1-2.tmp", ".rocload-99-0.tmp"]) {
            fs::write(at(name), b"half").unwrap();
        }
        fs::create_dir(at(".rocload-3-3.tmp")).unwrap();
        symlink("somewhere", at(".rocload-4-4.tmp")).unwrap();
        // One that is being written, by this process as by any other.
        let (_file, busy) = temporary(&root.folder).unwrap();
        root.put(&["x"], b"one").unwrap();
        let mut expected: Vec<&str> = kept.to_vec();
        expected.extend([".rocload-3-3.tmp", ".rocload-4-4.tmp", &busy.name, "x"]);
        expected.sort_unstable();
        assert_eq!(names(dir.path()), expected);
        interrupt::abandon(&busy);
        // Once a folder is enough; a run of its own sweeps again.
        fs::write(at(".rocload-7-7.tmp"), b"half").unwrap();
        root.put(&["x"], b"one").unwrap();
        assert!(at(".rocload-7-7.tmp").exists());
        put_at(&at("y"), b"two").unwrap();
        assert!(!at(".rocload-7-7.tmp").exists());
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

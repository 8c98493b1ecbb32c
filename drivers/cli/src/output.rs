//! The one file that a command makes, whole or not at all, and on the disk once it is told of.
//!
//! A regular file is written beside its final name, forced to the disk (from early on, so that
//! little is left to wait for) and renamed, and the folder is forced to the disk as well. Standard output, a pipe or a device takes the bytes in
//! the end, out of a file without a name.

use std::fs::{self, File, Permissions};
use std::io::{self, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use rocload::pack::WriteAt;
use rustix::fs::{AtFlags, fsync, linkat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::interrupt::{self, Unfinished};
use crate::place::{Place, place_of, sweep, temporary};

/// Whether a file that is there may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    /// It may.
    Yes,
    /// It may not: [`io::ErrorKind::AlreadyExists`].
    No,
}

/// A file in the making; dropped before [`commit`](Self::commit), it leaves nothing.
pub(crate) struct Output {
    file: File,
    ends: End,
}

/// Asks for what was written to be forced to the disk, again and again.
struct Eager<'f> {
    file: &'f mut File,
    /// Bytes since it was asked for.
    since: usize,
    more: SyncSender<()>,
}

/// Bytes that are worth it.
const STEP: usize = 4 << 20;

impl WriteAt for Eager<'_> {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        WriteAt::write_all_at(self.file, bytes, offset)?;
        self.since += bytes.len();
        if self.since >= STEP {
            self.since = 0;
            // One that is under way will do.
            let _ = self.more.try_send(());
        }
        Ok(())
    }
}

enum End {
    Rename { folder: Arc<OwnedFd>, name: Vec<u8>, unfinished: Unfinished, replace: Replace },
    Copy(Target),
    Done,
}

enum Target {
    Stdout,
    Other(File),
}

impl Output {
    /// Begins the file for `path`; `-` is standard output.
    pub(crate) fn create(path: &Path, replace: Replace) -> io::Result<Output> {
        if path.as_os_str() == "-" {
            return Output::copied(Target::Stdout);
        }
        match place_of(path)? {
            Place::Through(file) => Output::copied(Target::Other(file)),
            // A mode: a file is there.
            Place::Beside { mode: Some(_), .. } if replace == Replace::No => {
                Err(io::ErrorKind::AlreadyExists.into())
            }
            Place::Beside { folder, name, mode } => {
                sweep(&folder);
                let (file, unfinished) = temporary(&folder)?;
                let output =
                    Output { file, ends: End::Rename { folder, name, unfinished, replace } };
                if let Some(mode) = mode {
                    output.file.set_permissions(Permissions::from_mode(mode))?;
                }
                Ok(output)
            }
        }
    }

    fn copied(target: Target) -> io::Result<Output> {
        Ok(Output { file: tempfile::tempfile()?, ends: End::Copy(target) })
    }

    /// What to write to.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Has `fill` write the file, while what it has written is forced to the disk.
    pub(crate) fn fill<T>(&mut self, fill: impl FnOnce(&mut dyn WriteAt) -> T) -> io::Result<T> {
        if !matches!(self.ends, End::Rename { .. }) {
            return Ok(fill(&mut self.file));
        }
        let flushed = self.file.try_clone()?;
        thread::scope(|scope| {
            let (more, wanted) = sync_channel(1);
            // An error is told once, to whoever asks first: it must not be lost.
            let flusher = scope.spawn(move || wanted.iter().try_for_each(|()| flushed.sync_data()));
            let mut eager = Eager { file: &mut self.file, since: 0, more };
            let filled = fill(&mut eager);
            drop(eager);
            match flusher.join() {
                Ok(done) => done.map(|()| filled),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// The file is complete: puts it in place.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        match &mut self.ends {
            End::Rename { folder, name, unfinished, replace } => {
                self.file.sync_all()?;
                let temporary = &*unfinished.name;
                match replace {
                    Replace::Yes => renameat(&**folder, temporary, &**folder, &**name)?,
                    // One that came meanwhile is not replaced either.
                    Replace::No => rename_new(folder, temporary, name)?,
                }
                interrupt::end(unfinished);
                let folder = Arc::clone(folder);
                self.ends = End::Done;
                match fsync(&*folder) {
                    // Some file systems have nothing of the kind.
                    Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            End::Copy(target) => {
                self.file.rewind()?;
                let copied = match target {
                    Target::Stdout => io::copy(&mut self.file, &mut io::stdout().lock()),
                    Target::Other(file) => io::copy(&mut self.file, file),
                };
                match copied {
                    // A reader that has gone away is not missed.
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
                    _ => Ok(()),
                }
            }
            End::Done => Ok(()),
        }
    }
}

/// Renames a file, unless one is there under its new name.
fn rename_new(folder: &OwnedFd, from: &str, to: &[u8]) -> io::Result<()> {
    match linkat(folder, from, folder, to, AtFlags::empty()) {
        Ok(()) => unlinkat(folder, from, AtFlags::empty())?,
        // File systems without links: as well as can be done.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => {
            if statat(folder, to, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            renameat(folder, from, folder, to)?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

impl Drop for Output {
    fn drop(&mut self) {
        if let End::Rename { unfinished, .. } = &self.ends {
            interrupt::abandon(unfinished);
        }
    }
}

/// What tells a file from all others.
pub(crate) fn file_id(meta: &fs::Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn write(output: &mut Output, bytes: &[u8]) {
        output.fill(|file| file.write_all_at(bytes, 0)).unwrap().unwrap();
    }

    fn count(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn nothing_is_there_before_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut output = Output::create(&path, Replace::Yes).unwrap();
        write(&mut output, b"new");
        assert_eq!((fs::read(&path).unwrap(), count(dir.path())), (b"old".to_vec(), 2));
        drop(output);
        assert_eq!((fs::read(&path).unwrap(), count(dir.path())), (b"old".to_vec(), 1));
        let mut output = Output::create(&path, Replace::Yes).unwrap();
        write(&mut output, b"new");
        output.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), count(dir.path())), (b"new".to_vec(), 1));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn what_cannot_be_put_in_place_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut output = Output::create(&path, Replace::Yes).unwrap();
        write(&mut output, b"new");
        fs::create_dir(&path).unwrap();
        assert!(output.commit().is_err());
        assert_eq!(count(dir.path()), 1, "the folder alone");
        assert!(Output::create(&path, Replace::Yes).is_err());
    }

    #[test]
    fn what_is_there_is_kept_where_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut output = Output::create(&path, Replace::No).unwrap();
        output.file().write_all(b"new").unwrap();
        // It comes while the output is being written.
        fs::write(&path, "old").unwrap();
        assert_eq!(output.commit().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let there = Output::create(&path, Replace::No).err().unwrap();
        assert_eq!(there.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&path).unwrap(), count(dir.path())), (b"old".to_vec(), 1));
        fs::remove_file(&path).unwrap();
        let mut output = Output::create(&path, Replace::No).unwrap();
        output.file().write_all(b"new").unwrap();
        output.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), count(dir.path())), (b"new".to_vec(), 1));
    }

    #[test]
    fn what_is_long_is_forced_to_the_disk_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut output = Output::create(&path, Replace::Yes).unwrap();
        let piece = vec![7; STEP / 3 + 1];
        let wrote = output.fill(|file| {
            (0..10).try_for_each(|n| file.write_all_at(&piece, n * piece.len() as u64))
        });
        wrote.unwrap().unwrap();
        output.commit().unwrap();
        assert!(fs::read(&path).unwrap() == vec![7; 10 * piece.len()]);
    }

    #[test]
    fn devices_are_written_to() {
        let mut output = Output::create(Path::new("/dev/null"), Replace::Yes).unwrap();
        write(&mut output, b"new");
        output.commit().unwrap();
        let mut output = Output::create(Path::new("/dev/full"), Replace::Yes).unwrap();
        write(&mut output, b"new");
        assert_eq!(output.commit().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}

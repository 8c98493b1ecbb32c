//! Many archives in one process: open files are few, whatever the number of archives.
//!
//! A process may have 10,000 archives at hand and use few of them at a time. [`Files`] keeps the
//! files open that were read last, up to a cap ([`Limits::open_archives`]); a file that was closed
//! is opened again when it is read, and must then be the one it was: device, inode, time of change
//! and size are compared, and [`ErrorKind::Changed`] says so if they
//! differ. [`Archives`] opens archives over them, which also share their decoders and keep nothing
//! that they have read ahead, so that one at rest costs its table and its index.
//!
//! ```no_run
//! use rocload::{Archives, Options};
//!
//! let archives = Archives::new(&Options::default());
//! let mut all = Vec::new();
//! for entry in std::fs::read_dir("/opt/rocm/lib/.kpack").unwrap() {
//!     all.push(archives.open(entry.unwrap().path())?);
//! }
//! // Any of them, at any time, from any thread.
//! let kernel = all[0].kernel("lib/librocblas.so.5#0", "gfx1100")?;
//! # Ok::<(), rocload::Error>(())
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocload_core::Limits;

use crate::archive::{Archive, Options};
use crate::decoder::Decoders;
use crate::error::{Error, ErrorKind};
use crate::file::{ChangedFile, ReadAt, Stamp, open_file, pread, regular, stamp};

/// Opens archives whose files are open only while they are in use.
#[derive(Debug)]
pub struct Archives {
    files: Files,
    decoders: Arc<Decoders>,
    options: Options,
}

impl Archives {
    /// A set of archives, each read by `options`; at most [`Limits::open_archives`] of their
    /// files are kept open.
    pub fn new(options: &Options) -> Archives {
        let files = Files::new(&options.limits);
        Archives { files, decoders: Arc::default(), options: *options }
    }

    /// Opens the archive at `path`. It may outlive the set.
    ///
    /// # Errors
    /// As [`Archive::open_with`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Archive<Pooled>, Error> {
        let path = path.as_ref();
        let named = |error: Error| error.with_path(Some(path));
        let source = self
            .files
            .open(path)
            .map_err(|error| named(Error::new(ErrorKind::io(error), "opening the archive")))?;
        let decoders = Arc::clone(&self.decoders);
        let archive = Archive::sharing(source, &self.options, decoders, false).map_err(named)?;
        Ok(archive.with_path(path))
    }

    /// The files that they are read from.
    pub fn files(&self) -> &Files {
        &self.files
    }
}

/// Files of which those read last are open. Clones share them.
#[derive(Debug, Clone)]
pub struct Files(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    /// The most files to keep open; one or more.
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<u64, Open>,
    /// The numbers of open files by the time of their last use.
    by_use: BTreeMap<u64, u64>,
    /// Files that threads are opening just now, for which there must be room.
    opening: usize,
    /// Counts uses, and files.
    clock: u64,
    files: u64,
}

#[derive(Debug)]
struct Open {
    file: Arc<File>,
    used: u64,
}

impl Files {
    /// Files of which [`Limits::open_archives`] at most (at least one) are kept open. For a
    /// moment there may be one more for each thread that reads or opens one.
    pub fn new(limits: &Limits) -> Files {
        let most = (limits.open_archives as usize).max(1);
        Files(Arc::new(Pool { most, state: Mutex::default() }))
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// Those of [`FileAt::open`](crate::FileAt::open).
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<Pooled> {
        let pool = Arc::clone(&self.0);
        // The current folder may be another when the file is opened again.
        let path = absolute(path)?;
        let (file, opened) = pool.making_room(|| {
            let file = open_file(&path)?;
            let opened = regular(&file)?;
            Ok((file, opened))
        })?;
        let number = {
            let mut state = pool.lock();
            state.files += 1;
            state.files
        };
        pool.keep(number, Arc::new(file));
        Ok(Pooled { pool, number, path, opened })
    }

    /// How many files are open now.
    pub fn open_now(&self) -> usize {
        self.0.lock().open.len()
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open file, which is now the one that was used last.
    fn used(&self, number: u64) -> Option<Arc<File>> {
        let mut state = self.lock();
        let now = state.tick();
        let State { open, by_use, .. } = &mut *state;
        let there = open.get_mut(&number)?;
        by_use.remove(&there.used);
        by_use.insert(now, number);
        there.used = now;
        Some(Arc::clone(&there.file))
    }

    /// Opens a file once there is room for it. No lock is held while files are opened or closed.
    fn making_room<T>(&self, open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        struct Opening<'p>(&'p Pool);
        impl Drop for Opening<'_> {
            fn drop(&mut self) {
                self.0.lock().opening -= 1;
            }
        }
        let closing = {
            let mut state = self.lock();
            state.opening += 1;
            let keep = self.most.saturating_sub(state.opening);
            state.shrink(keep)
        };
        let _opening = Opening(self);
        drop(closing);
        open()
    }

    /// Keeps a file open; where another thread was faster, its file.
    fn keep(&self, number: u64, file: Arc<File>) -> Arc<File> {
        let mut state = self.lock();
        if let Some(there) = state.open.get(&number) {
            let there = Arc::clone(&there.file);
            drop(state);
            return there;
        }
        let used = state.tick();
        state.open.insert(number, Open { file: Arc::clone(&file), used });
        state.by_use.insert(used, number);
        let closing = state.shrink(self.most);
        drop(state);
        drop(closing);
        file
    }

    fn forget(&self, number: u64) {
        let mut state = self.lock();
        let closing = state.open.remove(&number);
        if let Some(open) = &closing {
            state.by_use.remove(&open.used);
        }
        drop(state);
        drop(closing);
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Takes out the files used longest ago until so many are left, for the caller to close.
    fn shrink(&mut self, keep: usize) -> Vec<Open> {
        let mut closing = Vec::new();
        while self.open.len() > keep
            && let Some((_, number)) = self.by_use.pop_first()
        {
            closing.extend(self.open.remove(&number));
        }
        closing
    }
}

/// A file of [`Files`]: open while it was read lately.
#[derive(Debug)]
pub struct Pooled {
    pool: Arc<Pool>,
    number: u64,
    path: PathBuf,
    opened: Stamp,
}

impl Pooled {
    /// What the file was when it was opened.
    pub(crate) fn opened(&self) -> Stamp {
        self.opened
    }

    fn file(&self) -> io::Result<Arc<File>> {
        if let Some(file) = self.pool.used(self.number) {
            return Ok(file);
        }
        let file = self.pool.making_room(|| open_file(&self.path))?;
        if stamp(&file)? != self.opened {
            return Err(io::Error::other(ChangedFile));
        }
        Ok(self.pool.keep(self.number, Arc::new(file)))
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.pool.forget(self.number);
    }
}

impl ReadAt for Pooled {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        pread(&*self.file()?, buf, offset)
    }

    fn total(&self) -> io::Result<u64> {
        Ok(self.opened.total)
    }

    fn changed(&self) -> bool {
        self.file().and_then(|file| stamp(&file)).map_or(true, |now| now != self.opened)
    }
}

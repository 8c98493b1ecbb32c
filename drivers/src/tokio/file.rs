//! A file that is read at offsets, on the runtime's threads for blocking calls.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ::tokio::task::spawn_blocking;

use super::AsyncReadAt;
use crate::file::ReadAt as _;

/// A regular file, read by `pread` on a thread where that may block.
#[derive(Debug, Clone)]
pub struct FileAt(Arc<crate::file::FileAt>);

impl FileAt {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// As [`crate::file::FileAt::open`].
    pub async fn open(path: impl AsRef<Path>) -> io::Result<FileAt> {
        let path = path.as_ref().to_path_buf();
        let file = run(move || crate::file::FileAt::open(path)).await?;
        Ok(FileAt(Arc::new(file)))
    }

    /// Length in bytes, when it was opened.
    ///
    /// # Errors
    /// The system's.
    pub fn total(&self) -> io::Result<u64> {
        self.0.total()
    }

    /// Whether the file is known to differ from what it was when it was opened.
    pub async fn changed(&self) -> bool {
        let file = Arc::clone(&self.0);
        run(move || Ok(file.changed())).await.unwrap_or(true)
    }
}

impl AsyncReadAt for FileAt {
    async fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let (file, len) = (Arc::clone(&self.0), buf.len());
        let bytes = run(move || {
            let mut bytes = vec![0; len];
            let read = file.read_at(&mut bytes, offset)?;
            bytes.truncate(read);
            Ok(bytes)
        })
        .await?;
        buf[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

/// Runs what may block on a thread for it.
pub(super) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

//! The generic drivers, async.
//!
//! They are cancellation safe: all that is known between two reads is in the machine and the
//! [`Window`], which the caller owns, and each read is recorded there before anything else is
//! awaited. So a future that is dropped loses no byte and no item, and the next call with the
//! same machine, window and source goes on where it stopped. What a reader guarantees itself
//! still counts: tokio's own readers have read nothing when their `read` is dropped.
//!
//! ```
//! use std::convert::Infallible;
//! use std::ops::ControlFlow;
//! use rocload::drive::Window;
//! use rocload::zstd::FrameIndex;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let mut region = &b"\x02\0\0\0\x03\0\0\0abc\x02\0\0\0de"[..];
//! let mut index = FrameIndex::new(0, 17, &Default::default())?;
//! let mut lengths = Vec::new();
//! rocload::tokio::stream(&mut region, &mut index, &mut Window::new(), |span| {
//!     lengths.push(span.len);
//!     ControlFlow::<Infallible>::Continue(())
//! })
//! .await?;
//! assert_eq!(lengths, [3, 2]);
//! # Ok::<(), rocload::drive::DriveError>(())
//! # }).unwrap();
//! ```

use std::future::Future;
use std::io;
use std::ops::ControlFlow;

use ::tokio::io::{AsyncRead, AsyncReadExt};
use rocload_core::{ItemKind, Machine};

use crate::drive::{Driven, Next, Window};

/// A source of bytes at absolute offsets that is read without blocking.
pub trait AsyncReadAt {
    /// Reads up to `buf.len()` bytes at `offset`; 0 means that the source ends there. Dropping
    /// the future loses nothing: the same bytes can be read again.
    ///
    /// # Errors
    /// The source's own.
    fn read_at(
        &self,
        buf: &mut [u8],
        offset: u64,
    ) -> impl Future<Output = io::Result<usize>> + Send;
}

impl AsyncReadAt for [u8] {
    async fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// As the blocking [`read_at`](crate::drive::read_at), over a source that is read without
/// blocking. Cancellation safe.
///
/// # Errors
/// [`DriveError`](crate::drive::DriveError).
pub async fn read_at<R, M, B>(
    source: &R,
    machine: &mut M,
    window: &mut Window,
    mut see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<B>,
) -> Driven<B>
where
    R: AsyncReadAt + ?Sized,
    M: Machine + ?Sized,
{
    loop {
        match window.advance(machine, false, &mut see)? {
            Next::Return(flow) => return Ok(flow),
            Next::Read(want) => match source.read_at(window.room(want.len), want.offset).await {
                Ok(0) => window.source_ended(),
                Ok(read) => window.filled(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            },
        }
    }
}

/// As the blocking [`stream`](crate::drive::stream), over an async reader. Cancellation safe.
///
/// # Errors
/// [`DriveError`](crate::drive::DriveError); a jump backwards is
/// [`ErrorKind::NeedsSeek`](rocload_core::ErrorKind::NeedsSeek).
pub async fn stream<R, M, B>(
    reader: &mut R,
    machine: &mut M,
    window: &mut Window,
    mut see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<B>,
) -> Driven<B>
where
    R: AsyncRead + Unpin + ?Sized,
    M: Machine + ?Sized,
{
    loop {
        match window.advance(machine, true, &mut see)? {
            Next::Return(flow) => return Ok(flow),
            Next::Read(want) => loop {
                let (len, drop) = window.next_read(want);
                match reader.read(window.room(len)).await {
                    Ok(read) => {
                        window.was_read(read, drop);
                        if !drop || read == 0 {
                            break;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.into()),
                }
            },
        }
    }
}

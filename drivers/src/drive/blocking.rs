//! The drivers that block the calling thread.

use std::io::{self, Read};
use std::ops::ControlFlow;

use rocload_core::{ItemKind, Machine};

use super::{Driven, Next, Window};
use crate::file::ReadAt;

/// Drives a machine over a random-access source.
///
/// Each read is as long as the machine's hint, at most what the window reads ahead, at least what
/// the machine needs; needs that lie in what was read are served without reading again. A jump is
/// a read elsewhere. `see` is shown each item and may stop by `Break`; the next call goes on
/// behind that item.
///
/// # Errors
/// [`DriveError`](super::DriveError).
pub fn read_at<R, M, B>(
    source: &R,
    machine: &mut M,
    window: &mut Window,
    mut see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<B>,
) -> Driven<B>
where
    R: ReadAt + ?Sized,
    M: Machine + ?Sized,
{
    loop {
        match window.advance(machine, false, &mut see)? {
            Next::Return(flow) => return Ok(flow),
            Next::Read(want) => {
                let room = window.room(want.len);
                let read = source.read_full_at(room, want.offset)?;
                window.filled(read);
                if read < want.len {
                    window.source_ended();
                }
            }
        }
    }
}

/// Drives a machine over a stream, which is read from its offset 0 and forward alone: bytes that
/// the machine jumps over are read and dropped.
///
/// Never more is read than the machine needs or hints at, but for machines that say
/// [`Need::More`](rocload_core::Need::More): what they leave is in [`Window::rest`].
///
/// # Errors
/// [`DriveError`](super::DriveError); a jump backwards is
/// [`ErrorKind::NeedsSeek`](rocload_core::ErrorKind::NeedsSeek).
pub fn stream<R, M, B>(
    reader: &mut R,
    machine: &mut M,
    window: &mut Window,
    mut see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<B>,
) -> Driven<B>
where
    R: Read + ?Sized,
    M: Machine + ?Sized,
{
    loop {
        match window.advance(machine, true, &mut see)? {
            Next::Return(flow) => return Ok(flow),
            Next::Read(want) => loop {
                let (len, drop) = window.next_read(want);
                match reader.read(window.room(len)) {
                    Ok(read) => {
                        window.was_read(read, drop);
                        // The bytes wanted, or none: the machine decides what follows.
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

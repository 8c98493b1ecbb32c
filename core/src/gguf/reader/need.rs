//! What the reader asks for: bytes without which a state makes no progress, bytes worth reading, and what must be
//! there, or allowed, before anything is done for a count or a length.

use super::super::fault::{Counted, Fault};
use super::super::interest::Interest;
use super::{Reader, State};
use crate::error::{Error, ErrorKind};
use crate::limits::Cap;
use crate::need::Storage;

/// What is worth reading at once among keys, in bytes.
const READ: u64 = 16 << 10;
/// And in a long array or table.
const READ_LONG: u64 = 1 << 20;
/// What is worth reading of a string or of a tensor's row, in bytes: an estimate.
const STRING: u64 = 16;
const ROW: u64 = 64;

impl<S: Storage, I: Interest> Reader<S, I> {
    /// The next `n` bytes must be there, and within the cap of the header.
    pub(super) fn require(&self, n: u64) -> Result<(), Error> {
        if let Some(total) = self.total {
            let have = total.saturating_sub(self.at);
            if n > have {
                return Err(Error::new(ErrorKind::Truncated { need: n, have }, self.at));
            }
        }
        let (value, limit) = (self.at.saturating_add(n), self.limits.gguf_header_bytes);
        self.cap(Cap::GgufHeaderBytes, value, limit)
    }

    pub(super) fn cap(&self, cap: Cap, value: u64, limit: u64) -> Result<(), Error> {
        if value > limit {
            return Err(Error::new(ErrorKind::Limit { cap, value, limit }, self.at));
        }
        Ok(())
    }

    /// So many things of `least` bytes must fit into the bytes left behind the next `head`.
    pub(super) fn room(&self, of: Counted, count: u64, least: u64, head: u64) -> Result<(), Error> {
        if let Some(total) = self.total {
            let room = total.saturating_sub(self.at).saturating_sub(head) / least;
            if count > room {
                return Err(self.error(Fault::Count { of, count, room }));
            }
        }
        Ok(())
    }

    /// Bytes without which the state makes no progress.
    pub(super) fn min(&self) -> usize {
        let width = self.width();
        match self.state {
            State::Magic | State::Version | State::KeyType | State::Dimensions => 4,
            State::Counts => 2 * width,
            State::KeyLength
            | State::StringLength
            | State::ElementLength
            | State::Strings
            | State::NameLength => width,
            State::ArrayHead | State::Inner => 4 + width,
            State::Scalar => self.kind.ty().size().map_or(1, |size| size as usize),
            State::Text(0) if self.text.0 <= self.limits.contiguous as u64 => {
                (self.text.0 as usize).max(1)
            }
            State::Elements => self.block(),
            State::Row => usize::from(self.info.n_dims) * width + 12,
            State::KeyName(_)
            | State::Name(_)
            | State::Text(_)
            | State::Done
            | State::Stopped
            | State::Failed(_) => 1,
        }
    }

    /// Bytes of elements that are shown at once.
    pub(super) fn block(&self) -> usize {
        let Some(frame) = self.frame() else { return 1 };
        let size = frame.element.size().unwrap_or(1);
        let contiguous = self.limits.contiguous as u64;
        let most = (contiguous - contiguous % size).max(size);
        frame.left.saturating_mul(size).clamp(1, most) as usize
    }

    /// Bytes worth reading.
    pub(super) fn hint(&self) -> u64 {
        let long = |count: u64, each: u64| count.saturating_mul(each).clamp(READ, READ_LONG);
        match self.state {
            State::Strings | State::ElementLength => {
                long(self.frame().map_or(0, |frame| frame.left), STRING)
            }
            State::Elements => long(self.block() as u64, 1),
            State::Text(done) => long(self.text.0 - done, 1),
            State::NameLength | State::Name(_) | State::Dimensions | State::Row => {
                long(self.tensors_left, ROW)
            }
            _ => READ,
        }
    }
}

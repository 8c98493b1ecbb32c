//! Magic, version and counts, and what comes after an entry.

use super::super::fault::{Counted, Fault, Note};
use super::super::interest::Interest;
use super::super::value::Endian;
use super::{Emit, MAGIC, Reader, State, Turn};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::Cap;
use crate::need::Storage;

impl<S: Storage, I: Interest> Reader<S, I> {
    pub(super) fn magic(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some(found) = rest.first_chunk::<4>() else { return Ok(Turn::Wait) };
        if *found != MAGIC {
            return Err(self.error(Fault::Magic { found: *found }));
        }
        self.at += 4;
        self.enter(State::Version)
    }

    pub(super) fn version(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some(bytes) = rest.first_chunk::<4>() else { return Ok(Turn::Wait) };
        let (little, big) = (u32::from_le_bytes(*bytes), u32::from_be_bytes(*bytes));
        let (version, endian) = match (little, big) {
            (1..=3, _) => (little, Endian::Little),
            (_, 1..=3) => (big, Endian::Big),
            _ => return Err(self.error(Fault::Version { little, big })),
        };
        (self.header.version, self.header.endian) = (version, endian);
        if version == 1 {
            self.note(Note::Version1, self.at)?;
        }
        if endian == Endian::Big {
            self.note(Note::BigEndian, self.at)?;
            if version < 3 {
                self.note(Note::BigEndianVersion { version }, self.at)?;
            }
        }
        self.at += 4;
        self.enter(State::Counts)
    }

    pub(super) fn counts(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let width = self.width();
        let (Some(tensors), Some(keys)) =
            (self.word(rest), rest.get(width..).and_then(|rest| self.word(rest)))
        else {
            return Ok(Turn::Wait);
        };
        let width = width as u64;
        // A key's length and type, and a byte each of name and value; a tensor's name's length,
        // number of dimensions, type and offset.
        let (least_key, least_tensor) = (width + 6, width + 16);
        self.room(Counted::Tensors, tensors, least_tensor, 2 * width)?;
        self.cap(Cap::GgufTensors, tensors, self.limits.gguf_tensors.into())?;
        self.at += width;
        // Both share the bytes left.
        let taken = tensors.saturating_mul(least_tensor).saturating_add(width);
        self.room(Counted::Keys, keys, least_key, taken)?;
        self.cap(Cap::GgufKeys, keys, self.limits.gguf_keys.into())?;
        self.at += width;
        (self.header.tensors, self.header.keys) = (tensors, keys);
        (self.tensors_left, self.keys_left) = (tensors, keys);
        self.next_entry()?;
        Ok(Turn::Ready(Emit::Header))
    }

    /// To the next key, or the next tensor, or the end.
    pub(super) fn next_entry(&mut self) -> Result<Turn, Error> {
        self.begin = self.at;
        let architecture = self.architecture_len.and_then(|len| self.architecture.get(..len));
        let stop = if self.keys_left > 0 {
            self.interest.satisfied(architecture)
        } else {
            self.tensors_left > 0 && !self.interest.tensors()
        };
        match (self.keys_left, self.tensors_left) {
            (0, 0) => self.state = State::Done,
            _ if stop => self.state = State::Stopped,
            (0, _) => return self.enter(State::NameLength),
            _ => return self.enter(State::KeyLength),
        }
        Ok(Turn::On)
    }

    /// Passes a name's length word; the name must be there, and there must be room for it.
    pub(super) fn name_room(&mut self, len: u64) -> Result<(), Error> {
        self.named = false;
        let full = Error::new(ErrorKind::Full(Full { need: len }), self.at);
        self.cap(Cap::GgufKeyBytes, len, self.limits.gguf_key_bytes.into())?;
        self.at += self.width() as u64;
        self.require(len)?;
        self.name_len = usize::try_from(len).map_err(|_| full)?;
        self.named = len == 0;
        if self.storage.slots().len() < self.name_len {
            self.storage.grow(self.name_len);
        }
        if self.storage.slots().len() < self.name_len {
            return Err(full);
        }
        Ok(())
    }

    /// More bytes of a name, of which so many are in the storage.
    pub(super) fn collect(
        &mut self,
        rest: &[u8],
        have: usize,
        more: fn(usize) -> State,
        next: State,
    ) -> Result<Turn, Error> {
        let taken = rest.len().min(self.name_len - have);
        if taken == 0 {
            return Ok(Turn::Wait);
        }
        self.storage.slots_mut()[have..have + taken].copy_from_slice(&rest[..taken]);
        self.at += taken as u64;
        if have + taken < self.name_len {
            self.state = more(have + taken);
            return Ok(Turn::On);
        }
        self.named = true;
        self.enter(next)
    }
}

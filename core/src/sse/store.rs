//! Where bytes are kept that outlive their chunk: the caller's storage, and short names.

use super::NAME_BYTES;
use crate::need::Storage;

/// A short byte string in place.
#[derive(Debug, Clone)]
pub(super) struct Name {
    bytes: [u8; NAME_BYTES],
    len: usize,
}

impl Name {
    pub(super) const fn new() -> Self {
        Name { bytes: [0; NAME_BYTES], len: 0 }
    }

    pub(super) fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Replaces it; false and no change if `value` is too long.
    pub(super) fn set(&mut self, value: &[u8]) -> bool {
        let fits = value.len() <= NAME_BYTES;
        if fits {
            self.bytes[..value.len()].copy_from_slice(value);
            self.len = value.len();
        }
        fits
    }

    pub(super) fn copy(&mut self, other: &Name) {
        self.set(other.get());
    }

    /// Appends; false and no change if it becomes too long.
    pub(super) fn push(&mut self, more: &[u8]) -> bool {
        let Some(room) = self.bytes.get_mut(self.len..self.len + more.len()) else {
            return false;
        };
        room.copy_from_slice(more);
        self.len += more.len();
        true
    }
}

/// The caller's storage, with a cap and a policy of growth.
#[derive(Debug, Clone)]
pub(super) struct Store<S> {
    pub(super) storage: S,
    pub(super) cap: usize,
}

impl<S: Storage> Store<S> {
    /// Whether `need` bytes can be held; grows for them where the storage can.
    #[inline]
    pub(super) fn holds(&mut self, need: usize) -> bool {
        need <= self.cap && (need <= self.storage.slots().len() || self.grow(need))
    }

    /// Doubles, so that an event that comes byte by byte is copied a few times in all.
    #[cold]
    fn grow(&mut self, need: usize) -> bool {
        let twice = self.storage.slots().len().saturating_mul(2).max(256);
        let grown = self.storage.grow(need.max(twice).min(self.cap)) || self.storage.grow(need);
        grown && self.storage.slots().len() >= need
    }

    /// Writes `bytes` at `at`, if they can be held.
    #[inline]
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) -> bool {
        let Some(end) = at.checked_add(bytes.len()) else { return false };
        let holds = self.holds(end);
        if holds {
            self.storage.slots_mut()[at..end].copy_from_slice(bytes);
        }
        holds
    }
}

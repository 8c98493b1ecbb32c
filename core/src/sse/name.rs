//! Short byte strings that outlive their chunk: types, ids, names of fields.

use super::NAME_BYTES;

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

    #[inline]
    pub(super) fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Replaces it; false and no change if `value` is too long.
    #[inline]
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
    #[inline]
    pub(super) fn push(&mut self, more: &[u8]) -> bool {
        let Some(room) = self.bytes.get_mut(self.len..self.len + more.len()) else {
            return false;
        };
        room.copy_from_slice(more);
        self.len += more.len();
        true
    }
}

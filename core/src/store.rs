//! The caller's storage as machines over a stream use it: with a cap and a policy of growth.

use crate::need::Storage;

/// The caller's storage, with a cap and a policy of growth.
#[derive(Debug, Clone)]
pub(crate) struct Store<S> {
    pub(crate) storage: S,
    pub(crate) cap: usize,
}

impl<S: Storage> Store<S> {
    /// Whether `need` bytes can be held; grows for them where the storage can.
    #[inline]
    pub(crate) fn holds(&mut self, need: usize) -> bool {
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
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> bool {
        let Some(end) = at.checked_add(bytes.len()) else { return false };
        let holds = self.holds(end);
        if holds {
            match bytes {
                // What comes byte by byte is not worth a call.
                [byte] => self.storage.slots_mut()[at] = *byte,
                _ => self.storage.slots_mut()[at..end].copy_from_slice(bytes),
            }
        }
        holds
    }
}

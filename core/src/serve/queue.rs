//! Actions that wait to be polled.

use super::message::Action;

/// More than a supervisor can have to say before it is polled: whatever it does next needs an
/// answer to an action that was taken out.
const LEN: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct Queue {
    slots: [Option<Action>; LEN],
    first: usize,
    len: usize,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Queue { slots: [None; LEN], first: 0, len: 0 }
    }

    pub(super) fn push(&mut self, action: Action) {
        debug_assert!(self.len < LEN, "an action is lost");
        if self.len < LEN {
            self.slots[(self.first + self.len) % LEN] = Some(action);
            self.len += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<Action> {
        if self.len == 0 {
            return None;
        }
        let action = self.slots[self.first].take();
        self.first = (self.first + 1) % LEN;
        self.len -= 1;
        action
    }

    pub(super) fn any(&self, is: impl Fn(&Action) -> bool) -> bool {
        self.slots.iter().flatten().any(is)
    }

    /// Drops what does not count any more.
    pub(super) fn retain(&mut self, keep: impl Fn(&Action) -> bool) {
        for _ in 0..self.len {
            if let Some(action) = self.pop()
                && keep(&action)
            {
                self.push(action);
            }
        }
    }
}

//! What a loader reads and how it searches.

use laws::search::{Asked, goes_as_the_naive_one};
use laws::{limits, memory, reference, target};
use rocload_core::Limits;

use crate::{hold, seed};

/// Reference metadata against `rmpv`, and measuring it.
pub fn hipk_reference(bytes: &[u8]) {
    let seed = seed(bytes);
    hold(reference::reads_and_measures(bytes, seed));
    match seed >> 9 & 7 {
        0 => hold(limits::reference(bytes, seed)),
        1 => hold(memory::walks(bytes, &Limits::default())),
        _ => {}
    }
}

/// Lines of target IDs: each against a naive twin, and its candidates against the line before.
pub fn target_id(bytes: &[u8]) {
    let mut before = &[][..];
    for line in bytes.split(|&byte| byte == b'\n').take(8) {
        hold(target::candidates_agree(line));
        hold(target::membership_agrees(line, before));
        before = line;
    }
}

/// A whole search, over a world that the input makes.
pub fn kpack_search(bytes: &[u8]) {
    hold(goes_as_the_naive_one(&Asked::new(bytes), seed(bytes)));
}

//! The target of the parser of events. An input is a byte that chooses the room, then a stream.

use laws::sse::as_the_standard_says;
use laws::{limits, memory};
use rocload_core::Limits;

use crate::{hold, seed};

/// A stream in chunks of any size, with ample and with little room, against naive readers.
pub fn sse(bytes: &[u8]) {
    let Some((&room, stream)) = bytes.split_first() else { return };
    let seed = seed(bytes);
    match seed >> 9 & 7 {
        0 => hold(limits::events(stream, seed)),
        1 => hold(memory::events(stream, &Limits::default())),
        _ => {}
    }
    hold(as_the_standard_says(stream, usize::from(room), Some(seed)));
}

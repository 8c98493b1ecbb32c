//! Targets of llama-server's protocol.

use laws::{json, llama, memory};
use rocload_core::llama::Options;

use crate::{hold, limits, seed};

/// The body of a stream: any chunking gives the same items, in memory of any size; the end tells
/// truly what came. As a whole answer: its items come to an end.
pub fn llama_chunk(bytes: &[u8]) {
    let seed = seed(bytes);
    let options = Options::new().lenient_eof(seed & 1 == 1).answers(1 + (seed >> 1 & 1) as u32);
    hold(llama::any_chunking(bytes, options, Some(seed)).map(|_| ()));
    hold(llama::answer_is_finite(bytes));
    if seed.is_multiple_of(8) {
        hold(memory::stream(bytes, &limits()));
    }
}

/// A status in two bytes and a body, as each of the server's answers about itself.
pub fn llama_bodies(bytes: &[u8]) {
    let Some((status, body)) = bytes.split_first_chunk::<2>() else { return };
    hold(llama::bodies::read_as_the_oracle(u16::from_le_bytes(*status), body));
}

/// JSON of any kind: the scanner and its views against the crate `serde_json`.
pub fn json_scan(bytes: &[u8]) {
    hold(json::reads_as_the_oracle(bytes));
}

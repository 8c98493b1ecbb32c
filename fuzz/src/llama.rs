//! Targets of llama-server's protocol.

use laws::{json, llama};
use rocload_core::llama::Options;

use crate::{hold, seed};

/// The body of a stream: any chunking gives the same items, in memory of any size; the end tells
/// truly what came. As a whole answer: its items come to an end.
pub fn llama_chunk(bytes: &[u8]) {
    let seed = seed(bytes);
    let options = Options::new().lenient_eof(seed & 1 == 1).answers(1 + (seed >> 1 & 1) as u32);
    hold(llama::any_chunking(bytes, options, Some(seed)).map(|_| ()));
    hold(llama::answer_is_finite(bytes));
}

/// JSON of any kind: the scanner and its views against the crate `serde_json`.
pub fn json_scan(bytes: &[u8]) {
    hold(json::reads_as_the_oracle(bytes));
}

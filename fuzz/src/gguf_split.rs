//! Split sets.

use laws::gguf_split::{names_agree, sets_agree};

use crate::hold;

/// The bytes as a file name, after a first line as a set of shards.
pub fn gguf_split(bytes: &[u8]) {
    let line = bytes.iter().position(|&byte| byte == b'\n');
    let (name, set) = bytes.split_at(line.unwrap_or(bytes.len()));
    hold(names_agree(name));
    hold(sets_agree(set.get(1..).unwrap_or(&[])));
}

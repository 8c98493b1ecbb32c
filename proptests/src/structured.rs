//! Inputs of a known structure, made of arbitrary bytes by the crate `arbitrary`: where bytes alone
//! hardly ever get past the first checks, these are sound but for the lies that they are told.
//!
//! A model has a `bytes` or the like, which gives the input; the laws that hold for any bytes hold
//! for it, and some more hold for one without lies.

use arbitrary::Arbitrary;

mod gguf;
mod http;
mod kpack;
mod llama;
mod zstd;

pub use gguf::{Fit, Header};
pub use http::{Call, Reply, Waiting};
pub use kpack::Archive;
pub use llama::{Asked, Events};
pub use zstd::Frame;

/// What is done to bytes that were sound.
#[derive(Debug, Clone, Arbitrary)]
pub enum Lie {
    /// A byte of the first 2^16 is another one.
    Byte(u16, u8),
    /// A bit is flipped.
    Bit(u16, u8),
    /// A word of 32 bits is another one.
    Word(u16, u32),
    /// Bytes are missing at the end.
    Cut(u8),
    /// Bytes are added at the end.
    Tail(u8),
}

/// Tells the lies; offsets beyond the end come round.
pub fn tell(lies: &[Lie], bytes: &mut Vec<u8>) {
    for lie in lies.iter().take(4) {
        let len = bytes.len();
        if len == 0 {
            return;
        }
        match *lie {
            Lie::Byte(at, value) => bytes[usize::from(at) % len] = value,
            Lie::Bit(at, bit) => bytes[usize::from(at) % len] ^= 1 << (bit % 8),
            Lie::Word(at, word) => {
                let at = usize::from(at) % len;
                for (slot, byte) in bytes[at..].iter_mut().zip(word.to_le_bytes()) {
                    *slot = byte;
                }
            }
            Lie::Cut(by) => bytes.truncate(len.saturating_sub(by.into())),
            Lie::Tail(by) => bytes.resize(len + usize::from(by), 0x5a),
        }
    }
}

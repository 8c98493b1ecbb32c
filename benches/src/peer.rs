//! What a straightforward program would do instead.

pub mod decode;
pub mod frames;
pub mod table;

/// A peer's faults are not told apart: its inputs are known to be good.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

//! Drivers for tokio, by the same names as the blocking ones.

mod drive;

pub use drive::{AsyncReadAt, read_at, stream};

//! Compressing kernels: the trait, and the encoders to choose from.
//!
//! An [`Encoder`] stands for a library and a level and makes a [`Compress`] for each thread.
//!
//! | feature | encoder | levels |
//! |---|---|---|
//! | `zstd` | `Zstd`: the C library | -131,072 to 22 |
//! | `zrip` | `Zrip`: pure Rust, without `unsafe` | -7 to 4 |
//!
//! Both write one frame with content size and checksum, and for the same kernel always the same
//! bytes.
//!
//! ```
//! # #[cfg(feature = "zrip")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::num::NonZeroUsize;
//! use rocload::encoder::{Encoder, Zrip};
//! use rocload::zstd::{Decompress, Workspace};
//!
//! let mut compressor = Zrip::new(3)?.compressor(NonZeroUsize::MIN)?;
//! let (kernel, mut frame) = ([7u8; 4096], Vec::new());
//! compressor.compress(&kernel, &mut frame)?;
//! assert!(frame.len() < 100);
//! let mut back = [0u8; 4096];
//! Workspace::fast().decode(&frame, &mut back)?;
//! assert_eq!(back, kernel);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "zrip"))]
//! # fn main() {}
//! ```

use std::fmt;
use std::io;
use std::num::NonZeroUsize;

#[cfg(feature = "zrip")]
mod zrip;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(feature = "zrip")]
pub use zrip::Zrip;
#[cfg(feature = "zstd")]
pub use zstd::Zstd;

/// The level of the public tools.
pub const DEFAULT_LEVEL: i32 = 3;

/// A compressor of kernels, used by one thread at a time and again from one kernel to the next.
pub trait Compress: Send {
    /// Replaces `frame` with one or several zstd frames that hold `kernel`: each with its content
    /// size, and a checksum.
    ///
    /// # Errors
    /// The library's own, and memory.
    fn compress(&mut self, kernel: &[u8], frame: &mut Vec<u8>) -> io::Result<()>;
}

/// A way to compress: a library and a level.
pub trait Encoder: Send + Sync {
    /// The library's name, lower-case.
    fn name(&self) -> &'static str;

    /// The library's version, if it tells it.
    fn version(&self) -> Option<&'static str> {
        None
    }

    /// The level in use.
    fn level(&self) -> i32;

    /// A compressor for one thread, which may have `helpers` others help it with a large kernel.
    /// The frame is the same with any number of them.
    ///
    /// # Errors
    /// The library's own, and memory.
    fn compressor(&self, helpers: NonZeroUsize) -> io::Result<Box<dyn Compress>>;
}

/// A level that an encoder does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoLevel {
    /// The encoder's name.
    pub encoder: &'static str,
    /// Its lowest level.
    pub least: i32,
    /// Its highest level.
    pub most: i32,
}

impl fmt::Display for NoLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the levels of {} are {} to {}", self.encoder, self.least, self.most)
    }
}

impl std::error::Error for NoLevel {}

/// The best encoder that was built in: `Zstd`, else `Zrip`.
///
/// # Errors
/// A level that it does not have.
#[cfg(feature = "zstd")]
pub fn best(level: i32) -> Result<Box<dyn Encoder>, NoLevel> {
    Ok(Box::new(Zstd::new(level)?))
}

/// The best encoder that was built in.
///
/// # Errors
/// A level that it does not have.
#[cfg(all(feature = "zrip", not(feature = "zstd")))]
pub fn best(level: i32) -> Result<Box<dyn Encoder>, NoLevel> {
    Ok(Box::new(Zrip::new(level)?))
}

#[cfg(all(test, any(feature = "zstd", feature = "zrip")))]
mod tests {
    use rocload_core::zstd::{Decompress, Workspace, scan};

    use super::*;

    fn encoders() -> Vec<Box<dyn Encoder>> {
        let mut encoders: Vec<Box<dyn Encoder>> = Vec::new();
        for level in [-5, 1, 3, 4] {
            #[cfg(feature = "zstd")]
            encoders.push(Box::new(Zstd::new(level).unwrap()));
            #[cfg(feature = "zrip")]
            encoders.push(Box::new(Zrip::new(level).unwrap()));
        }
        encoders
    }

    /// Text that repeats with changes, and bytes that do not.
    fn sample(len: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut bytes = Vec::with_capacity(len + 64);
        while bytes.len() < len {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.extend_from_slice(b"s_load_dwordx4 s[4:7], ");
            bytes.extend_from_slice(&state.to_be_bytes());
        }
        bytes.truncate(len);
        bytes
    }

    #[test]
    fn frames_have_size_and_checksum_and_are_always_the_same() {
        let lengths = [0, 1, 255, 256, 4096, 65_791, 200_000, 3 << 20, 17 << 20];
        let helpers = |n| NonZeroUsize::new(n).unwrap();
        for encoder in encoders() {
            let mut compressor = encoder.compressor(helpers(1)).unwrap();
            let mut decoder = Workspace::<0>::new();
            let (mut frame, mut again) = (b"old".to_vec(), Vec::new());
            for len in lengths {
                let kernel = sample(len);
                compressor.compress(&kernel, &mut frame).unwrap();
                let mut other = encoder.compressor(helpers(2 + len % 3)).unwrap();
                other.compress(&kernel, &mut again).unwrap();
                assert!(frame == again, "{} {len}", encoder.name());
                let scan = scan(&frame).unwrap();
                assert_eq!((scan.frames, scan.content_size), (1, Some(len as u64)));
                assert_eq!(frame[4] & 0b100, 0b100, "the checksum flag");
                let mut back = vec![0; len];
                decoder.decode(&frame, &mut back).unwrap();
                assert!(back == kernel, "{} {len}", encoder.name());
            }
            if encoder.level() > 0 {
                assert!(frame.len() < 12 << 20, "{} {}", encoder.name(), frame.len());
            }
        }
    }

    #[test]
    fn levels_that_there_are_not() {
        #[cfg(feature = "zstd")]
        assert_eq!(Zstd::new(23).map(|_| ()).unwrap_err().most, 22);
        #[cfg(feature = "zrip")]
        assert_eq!(
            Zrip::new(5).map(|_| ()).unwrap_err().to_string(),
            "the levels of zrip are -7 to 4"
        );
        assert_eq!(best(DEFAULT_LEVEL).unwrap().level(), 3);
    }
}

//! The C library.

use std::io;
use std::num::NonZeroUsize;

use ::zstd::bulk::Compressor;
use ::zstd::zstd_safe::{self, CParameter};

use super::{Compress, Encoder, NoLevel};

/// The C zstd library.
#[derive(Debug, Clone, Copy)]
pub struct Zstd(i32);

impl Zstd {
    /// The library at a level: 3 is the public tools' own, higher ones are slower and smaller.
    ///
    /// # Errors
    /// A level that it does not have.
    pub fn new(level: i32) -> Result<Zstd, NoLevel> {
        let levels = ::zstd::compression_level_range();
        if levels.contains(&level) {
            return Ok(Zstd(level));
        }
        Err(NoLevel { encoder: "zstd", least: *levels.start(), most: *levels.end() })
    }
}

impl Encoder for Zstd {
    fn name(&self) -> &'static str {
        "zstd"
    }

    fn version(&self) -> Option<&'static str> {
        Some(zstd_safe::version_string())
    }

    fn level(&self) -> i32 {
        self.0
    }

    fn compressor(&self, helpers: NonZeroUsize) -> io::Result<Box<dyn Compress>> {
        let mut compressor = Compressor::new(self.0)?;
        compressor.include_checksum(true)?;
        compressor.include_contentsize(true)?;
        if self.0 >= WIDE {
            compressor.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
        }
        let helpers = u32::try_from(helpers.get()).unwrap_or(u32::MAX).min(MOST_HELPERS);
        Ok(Box::new(Context { compressor, helpers, helped: false }))
    }
}

/// Kernels from this size on, in bytes, are cut and compressed by several threads, each with the
/// part before its own for history. Whether they are depends on the size alone, and the cuts too,
/// so that the number of threads does not change the frame.
const LARGE: usize = 16 << 20;
/// More gain nothing; the library has a limit as well.
const MOST_HELPERS: u32 = 64;

/// Levels from this one on would choose larger windows than readers accept who decode piecewise:
/// 8 MiB, [`Limits::window_bytes`](rocload_core::Limits::window_bytes).
const WIDE: i32 = 20;
const WINDOW_LOG: u32 = 23;

struct Context {
    compressor: Compressor<'static>,
    helpers: u32,
    helped: bool,
}

impl Compress for Context {
    fn compress(&mut self, kernel: &[u8], frame: &mut Vec<u8>) -> io::Result<()> {
        frame.clear();
        let most = zstd_safe::compress_bound(kernel.len());
        frame.try_reserve(most).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let large = kernel.len() >= LARGE;
        if large != self.helped {
            let helpers = if large { self.helpers } else { 0 };
            self.compressor.set_parameter(CParameter::NbWorkers(helpers))?;
            self.helped = large;
        }
        self.compressor.compress_to_buffer(kernel, frame).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use rocload_core::Limits;
    use rocload_core::zstd::Header;

    use super::*;

    #[test]
    fn no_level_makes_windows_that_verification_refuses() {
        // Past the window, and nothing to search in.
        let kernel = vec![7; (8 << 20) + (1 << 16)];
        for level in [19, 20, 22] {
            let mut compressor = Zstd::new(level).unwrap().compressor(NonZeroUsize::MIN).unwrap();
            let mut frame = Vec::new();
            compressor.compress(&kernel, &mut frame).unwrap();
            let header = Header::parse(&frame).unwrap();
            assert!(header.window_size <= Limits::default().window_bytes, "{level}: {header:?}");
        }
    }
}

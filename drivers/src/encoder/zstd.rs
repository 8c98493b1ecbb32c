//! The C library.

use std::io;

use ::zstd::bulk::Compressor;
use ::zstd::zstd_safe;

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

    fn compressor(&self) -> io::Result<Box<dyn Compress>> {
        let mut compressor = Compressor::new(self.0)?;
        compressor.include_checksum(true)?;
        compressor.include_contentsize(true)?;
        Ok(Box::new(Context(compressor)))
    }
}

struct Context(Compressor<'static>);

impl Compress for Context {
    fn compress(&mut self, kernel: &[u8], frame: &mut Vec<u8>) -> io::Result<()> {
        frame.clear();
        let most = zstd_safe::compress_bound(kernel.len());
        frame.try_reserve(most).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.compress_to_buffer(kernel, frame).map(|_| ())
    }
}

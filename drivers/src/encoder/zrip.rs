//! The encoder in pure Rust.

use std::io;

use ::zrip::{CompressContext, compress_bound};
use rocload_core::zstd::{Decompress, Workspace};

use super::{Compress, Encoder, NoLevel};

/// The crate `zrip`: no C and no `unsafe`. Of the encoders in pure Rust it comes near the C
/// library's sizes at its levels.
///
/// It is younger than the C library, so that each frame is decoded and compared before it is
/// given out.
#[derive(Debug, Clone, Copy)]
pub struct Zrip(i32);

const LEAST: i32 = -7;
const MOST: i32 = 4;

impl Zrip {
    /// The encoder at a level.
    ///
    /// # Errors
    /// A level that it does not have.
    pub fn new(level: i32) -> Result<Zrip, NoLevel> {
        if (LEAST..=MOST).contains(&level) {
            return Ok(Zrip(level));
        }
        Err(NoLevel { encoder: "zrip", least: LEAST, most: MOST })
    }
}

impl Encoder for Zrip {
    fn name(&self) -> &'static str {
        "zrip"
    }

    fn level(&self) -> i32 {
        self.0
    }

    fn compressor(&self) -> io::Result<Box<dyn Compress>> {
        // Level 0 is the library's word for its default.
        let mut context = CompressContext::new(self.0).map_err(io::Error::other)?;
        context.set_content_checksum(true);
        Ok(Box::new(Context { context, decoder: Workspace::new(), back: Vec::new() }))
    }
}

struct Context {
    context: CompressContext,
    decoder: Workspace<0>,
    back: Vec<u8>,
}

impl Compress for Context {
    fn compress(&mut self, kernel: &[u8], frame: &mut Vec<u8>) -> io::Result<()> {
        let most = compress_bound(kernel.len());
        resize(frame, most)?;
        let len = self.context.compress_into(kernel, frame).map_err(io::Error::other)?;
        frame.truncate(len);
        resize(&mut self.back, kernel.len())?;
        let sound = self.decoder.decode(frame, &mut self.back).is_ok() && self.back == kernel;
        if sound { Ok(()) } else { Err(io::Error::other("the encoder zrip made a wrong frame")) }
    }
}

/// Makes a buffer this long, whatever it then holds.
fn resize(buffer: &mut Vec<u8>, len: usize) -> io::Result<()> {
    let more = len.saturating_sub(buffer.len());
    buffer.try_reserve(more).map_err(|_| io::ErrorKind::OutOfMemory)?;
    buffer.resize(len, 0);
    Ok(())
}

//! The decoders that are compared, each with whatever it keeps from frame to frame.

use rocload_benches::peer;
use rocload_core::zstd::{Workspace, decode_frame};
use ruzstd::decoding::FrameDecoder;
use zstd::zstd_safe::{self, DCtx};

/// Decodes one frame to the front of `dst` and returns how many bytes it wrote.
pub(crate) trait Decoder: Send {
    fn frame(&mut self, src: &[u8], dst: &mut [u8]) -> peer::Result<usize>;
}

impl Decoder for DCtx<'_> {
    fn frame(&mut self, src: &[u8], dst: &mut [u8]) -> peer::Result<usize> {
        self.decompress(dst, src).map_err(|code| zstd_safe::get_error_name(code).into())
    }
}

impl<const L: usize> Decoder for Workspace<L> {
    fn frame(&mut self, src: &[u8], dst: &mut [u8]) -> peer::Result<usize> {
        let decoded = decode_frame(self, src, dst).map_err(|error| error.to_string())?;
        Ok(decoded.written)
    }
}

impl Decoder for FrameDecoder {
    fn frame(&mut self, src: &[u8], dst: &mut [u8]) -> peer::Result<usize> {
        self.decode_all(src, dst).map_err(|error| error.to_string().into())
    }
}

/// Which decoder; the order is that of the table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// The C library through the crate `zstd`.
    C,
    /// Ours, the fast layout.
    Fast,
    /// Ours, the small layout.
    Small,
    /// The crate `ruzstd`.
    Ruzstd,
}

impl Which {
    /// All of them.
    pub(crate) const ALL: [Which; 4] = [Which::C, Which::Fast, Which::Small, Which::Ruzstd];

    /// A new decoder.
    pub(crate) fn make(self) -> Box<dyn Decoder> {
        match self {
            Which::C => Box::new(DCtx::create()),
            Which::Fast => Box::new(Workspace::fast()),
            Which::Small => Box::new(Workspace::<0>::new()),
            Which::Ruzstd => Box::new(FrameDecoder::new()),
        }
    }
}

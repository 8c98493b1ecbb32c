//! Every cap of the core in one value, so that hostile sizes are refused before anything is
//! allocated for them.
//!
//! [`Limits::default`] suits a desktop, [`Limits::embedded`] a microcontroller. Change a field
//! to change a cap:
//!
//! ```
//! use rocload_core::Limits;
//!
//! let mut limits = Limits::default();
//! limits.kernel_bytes = 64 << 20;
//! assert!(limits.toc_bytes > Limits::embedded().toc_bytes);
//! ```

use core::fmt;

/// The caps. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest `min` of a [`Need::At`](crate::Need::At): 64 KiB (embedded: 4 KiB).
    pub contiguous: usize,
    /// Nesting of MessagePack containers: 16, never more than [`msgpack::MAX_DEPTH`](crate::msgpack::MAX_DEPTH).
    pub msgpack_depth: u8,
    /// Length of a kpack table of contents: 256 MiB (embedded: 64 KiB).
    pub toc_bytes: u64,
    /// Kernels in one archive: 2^20 (embedded: 4,096).
    pub kernels: u32,
    /// One decompressed kernel: 2 GiB (embedded: 1 MiB).
    pub kernel_bytes: u64,
    /// Decompressed bytes a stored byte may stand for: 32,768, the most that a zstd block can
    /// express (128 KiB from 4 bytes).
    pub expansion: u32,
    /// A binary's or architecture's name in a kpack table: 4,096.
    pub key_bytes: u32,
    /// Features of a target ID: 6, never more than [`MAX_FEATURES`](crate::kpack::target::MAX_FEATURES).
    pub target_features: u8,
    /// Files that a set of archives keeps open at once: 256 (embedded: 4). More are closed and
    /// opened again; nothing fails.
    pub open_archives: u32,
    /// History that a frame which is decoded piecewise may refer to: 8 MiB (embedded: 64 KiB).
    pub window_bytes: u64,
}

impl Limits {
    /// Caps for a machine with an operating system.
    pub const DESKTOP: Limits = Limits {
        contiguous: 64 << 10,
        msgpack_depth: 16,
        toc_bytes: 256 << 20,
        kernels: 1 << 20,
        kernel_bytes: 2 << 30,
        expansion: 32_768,
        key_bytes: 4096,
        target_features: 6,
        open_archives: 256,
        window_bytes: 8 << 20,
    };

    /// Caps for a microcontroller.
    pub const fn embedded() -> Limits {
        Limits {
            contiguous: 4 << 10,
            toc_bytes: 64 << 10,
            kernels: 4096,
            kernel_bytes: 1 << 20,
            open_archives: 4,
            window_bytes: 64 << 10,
            ..Limits::DESKTOP
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DESKTOP
    }
}

/// Names a field of [`Limits`] in an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cap {
    /// [`Limits::msgpack_depth`].
    MsgpackDepth,
    /// [`Limits::toc_bytes`].
    TocBytes,
    /// [`Limits::kernels`].
    Kernels,
    /// [`Limits::kernel_bytes`].
    KernelBytes,
    /// [`Limits::expansion`].
    Expansion,
    /// [`Limits::key_bytes`].
    KeyBytes,
    /// [`Limits::target_features`].
    TargetFeatures,
    /// [`Limits::window_bytes`].
    WindowBytes,
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cap::MsgpackDepth => "the nesting of messagepack containers",
            Cap::TocBytes => "the table of contents in bytes",
            Cap::Kernels => "the number of kernels",
            Cap::KernelBytes => "the kernel's size in bytes",
            Cap::Expansion => "the kernel's size for each stored byte",
            Cap::KeyBytes => "a name's length in bytes",
            Cap::TargetFeatures => "the number of target features",
            Cap::WindowBytes => "the frame's window in bytes",
        })
    }
}

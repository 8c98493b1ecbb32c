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
    /// Paths of one list that a search for a kernel goes through: 32.
    pub search_paths: u8,
    /// Reference metadata (HIPK): 64 KiB (embedded: 4 KiB).
    pub reference_bytes: u32,
    /// Files that a set of archives keeps open at once: 256 (embedded: 4). More are closed and
    /// opened again; nothing fails.
    pub open_archives: u32,
    /// History that a frame which is decoded piecewise may refer to: 8 MiB (embedded: 64 KiB).
    pub window_bytes: u64,
    /// Content of one block of a frame that is decoded piecewise: 128 KiB, the most that a block
    /// can have. It is what the window's memory must have room for besides the history.
    pub block_bytes: u32,
    /// A GGUF file from its magic to the end of its tensor table: 1 GiB.
    pub gguf_header_bytes: u64,
    /// Metadata keys of a GGUF file: 2^20 (embedded: 4,096).
    pub gguf_keys: u32,
    /// Tensors of a GGUF file: 2^20 (embedded: 4,096).
    pub gguf_tensors: u32,
    /// A key or a tensor's name in a GGUF file: 1 MiB (embedded: 64 KiB).
    pub gguf_key_bytes: u32,
    /// Elements of an array in a GGUF file, which are walked over or shown: 2^30.
    pub gguf_array: u64,
    /// Arrays within arrays in a GGUF file: 8, never more than
    /// [`gguf::MAX_DEPTH`](crate::gguf::MAX_DEPTH).
    pub gguf_depth: u8,
    /// The alignment in a GGUF file: 2^20.
    pub gguf_alignment: u32,
    /// A string value of a GGUF file that is kept or looked at as a whole: 16 MiB (embedded:
    /// 64 KiB). Longer ones are walked over.
    pub gguf_kept_string: u64,
    /// Elements of an array of a GGUF file that are kept: 2^20 (embedded: 4,096).
    pub gguf_kept_elements: u64,
    /// Data of one server-sent event: 1 MiB (embedded: 4 KiB).
    pub event_bytes: u64,
    /// Head of an HTTP response, with the interim ones before it, and trailers: 16 KiB (embedded:
    /// 4 KiB).
    pub head_bytes: u32,
    /// Header lines of an HTTP response: 64, never more than [`MAX_HEADERS`](crate::http::MAX_HEADERS).
    pub headers: u8,
    /// Nesting of JSON containers: 64, never more than
    /// [`json::MAX_DEPTH`](crate::llama::json::MAX_DEPTH).
    pub json_depth: u8,
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
        search_paths: 32,
        reference_bytes: 64 << 10,
        open_archives: 256,
        window_bytes: 8 << 20,
        block_bytes: 128 << 10,
        gguf_header_bytes: 1 << 30,
        gguf_keys: 1 << 20,
        gguf_tensors: 1 << 20,
        gguf_key_bytes: 1 << 20,
        gguf_array: 1 << 30,
        gguf_depth: 8,
        gguf_alignment: 1 << 20,
        gguf_kept_string: 16 << 20,
        gguf_kept_elements: 1 << 20,
        event_bytes: 1 << 20,
        head_bytes: 16 << 10,
        headers: 64,
        json_depth: 64,
    };

    /// Caps for a microcontroller.
    pub const fn embedded() -> Limits {
        Limits {
            contiguous: 4 << 10,
            toc_bytes: 64 << 10,
            kernels: 4096,
            kernel_bytes: 1 << 20,
            reference_bytes: 4 << 10,
            open_archives: 4,
            window_bytes: 64 << 10,
            gguf_keys: 4096,
            gguf_tensors: 4096,
            gguf_key_bytes: 64 << 10,
            gguf_kept_string: 64 << 10,
            gguf_kept_elements: 4096,
            event_bytes: 4 << 10,
            head_bytes: 4 << 10,
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
    /// [`Limits::reference_bytes`].
    ReferenceBytes,
    /// [`Limits::window_bytes`].
    WindowBytes,
    /// [`Limits::block_bytes`].
    BlockBytes,
    /// [`Limits::gguf_header_bytes`].
    GgufHeaderBytes,
    /// [`Limits::gguf_keys`].
    GgufKeys,
    /// [`Limits::gguf_tensors`].
    GgufTensors,
    /// [`Limits::gguf_key_bytes`].
    GgufKeyBytes,
    /// [`Limits::gguf_array`].
    GgufArray,
    /// [`Limits::gguf_depth`].
    GgufDepth,
    /// [`Limits::gguf_alignment`].
    GgufAlignment,
    /// [`Limits::gguf_kept_string`].
    GgufKeptString,
    /// [`Limits::gguf_kept_elements`].
    GgufKeptElements,
    /// [`Limits::head_bytes`].
    HeadBytes,
    /// [`Limits::headers`].
    Headers,
    /// [`Limits::json_depth`].
    JsonDepth,
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
            Cap::ReferenceBytes => "the reference metadata in bytes",
            Cap::WindowBytes => "the frame's window in bytes",
            Cap::BlockBytes => "the content of a zstd block in bytes",
            Cap::GgufHeaderBytes => "the header's length in bytes",
            Cap::GgufKeys => "the number of keys",
            Cap::GgufTensors => "the number of tensors",
            Cap::GgufKeyBytes => "a name's length in bytes",
            Cap::GgufArray => "the number of elements of an array",
            Cap::GgufDepth => "the nesting of arrays",
            Cap::GgufAlignment => "general.alignment",
            Cap::GgufKeptString => "the length in bytes of a string to keep",
            Cap::GgufKeptElements => "the number of elements to keep",
            Cap::HeadBytes => "the head of an http response in bytes",
            Cap::Headers => "the number of http headers",
            Cap::JsonDepth => "the nesting of json containers",
        })
    }
}

//! What can be wrong with an archive, beyond broken MessagePack and broken frames.

use core::fmt;

use crate::error::Class;

/// A field of the TOC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// `format_version`, top level.
    FormatVersion,
    /// `group_name`, top level.
    GroupName,
    /// `gfx_arch_family`, top level.
    GfxArchFamily,
    /// `gfx_arches`, top level.
    GfxArches,
    /// `toc`, top level.
    Toc,
    /// `compression_scheme`, top level.
    CompressionScheme,
    /// `blobs`, top level.
    Blobs,
    /// `zstd_offset`, top level.
    ZstdOffset,
    /// `zstd_size`, top level.
    ZstdSize,
    /// `type` of an entry.
    Type,
    /// `ordinal` of an entry.
    Ordinal,
    /// `original_size` of an entry.
    OriginalSize,
    /// `metadata` of an entry.
    Metadata,
    /// `frame_offset` of an entry.
    FrameOffset,
    /// `frame_size` of an entry.
    FrameSize,
    /// `sha256` of an entry.
    Sha256,
    /// `offset` of a blob.
    Offset,
    /// `size` of a blob.
    Size,
    /// `kpack_search_paths` of reference metadata.
    KpackSearchPaths,
    /// `kernel_name` of reference metadata.
    KernelName,
}

impl Field {
    /// The key in the TOC.
    pub const fn key(self) -> &'static str {
        match self {
            Field::FormatVersion => "format_version",
            Field::GroupName => "group_name",
            Field::GfxArchFamily => "gfx_arch_family",
            Field::GfxArches => "gfx_arches",
            Field::Toc => "toc",
            Field::CompressionScheme => "compression_scheme",
            Field::Blobs => "blobs",
            Field::ZstdOffset => "zstd_offset",
            Field::ZstdSize => "zstd_size",
            Field::Type => "type",
            Field::Ordinal => "ordinal",
            Field::OriginalSize => "original_size",
            Field::Metadata => "metadata",
            Field::FrameOffset => "frame_offset",
            Field::FrameSize => "frame_size",
            Field::Sha256 => "sha256",
            Field::Offset => "offset",
            Field::Size => "size",
            Field::KpackSearchPaths => "kpack_search_paths",
            Field::KernelName => "kernel_name",
        }
    }
}

/// What stands twice where it may stand once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeated {
    /// A binary in `toc`.
    Binary,
    /// An architecture of one binary.
    Arch,
    /// A field.
    Field(Field),
}

/// A broken rule of the format; the offset of the [`Error`](crate::Error) says where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The first four bytes are not `KPAK`.
    Magic {
        /// The bytes found.
        found: [u8; 4],
    },
    /// A header version other than 1.
    Version {
        /// The version found.
        found: u32,
    },
    /// The TOC offset is inside the header's fields or not inside the file.
    TocOffset {
        /// The offset in the header, in bytes.
        toc_offset: u64,
        /// The file's length in bytes.
        total: u64,
    },
    /// A TOC `format_version` other than 1.
    FormatVersion {
        /// The version found.
        found: u64,
    },
    /// A `compression_scheme` that this version does not know.
    Scheme,
    /// A required field is absent.
    Missing(Field),
    /// A field holds another type or range of value than it must.
    Value {
        /// The field.
        field: Field,
        /// What is wrong with its value.
        fault: crate::msgpack::Fault,
    },
    /// Something stands twice.
    Duplicate(Repeated),
    /// A blob's extent begins before offset 16 or ends beyond the file.
    BlobRange {
        /// The blob's index.
        ordinal: u32,
        /// Its first byte in the file.
        start: u64,
        /// Its length in bytes.
        size: u64,
        /// The file's length in bytes.
        total: u64,
    },
    /// The zstd blob's extent begins before offset 16 or ends beyond the file.
    ZstdRange {
        /// `zstd_offset`.
        start: u64,
        /// `zstd_size`, in bytes.
        size: u64,
        /// The file's length in bytes.
        total: u64,
    },
    /// The zstd blob cannot hold its own frame count.
    ZstdSize {
        /// `zstd_size`, in bytes; at least 4 are needed.
        size: u64,
    },
    /// An entry's ordinal names no stored kernel.
    Ordinal {
        /// The ordinal.
        ordinal: u32,
        /// Stored kernels: the length of `blobs`, or the zstd blob's frame count.
        count: u32,
    },
    /// `original_size` differs from the blob's own size (scheme none).
    SizeMismatch {
        /// `original_size`, in bytes.
        declared: u64,
        /// The blob's `size`, in bytes.
        stored: u64,
    },
    /// `frame_offset` and `frame_size` lead out of the zstd blob, or into its frame count.
    FrameRange {
        /// The entry's ordinal.
        ordinal: u32,
        /// `frame_offset`.
        start: u64,
        /// `frame_size`, or the length word where there is none, in bytes.
        size: u32,
    },
    /// `frame_size` differs from the length word before the frame.
    FrameSize {
        /// `frame_size`, in bytes.
        declared: u32,
        /// The length word, in bytes.
        stored: u32,
    },
    /// `frame_offset` is not where the walk over the length words finds the frame.
    FrameOffset {
        /// `frame_offset`.
        declared: u64,
        /// Absolute offset of the frame.
        stored: u64,
    },
    /// `sha256` has not the 32 bytes of a SHA-256.
    Sha256Size {
        /// Its length in bytes.
        size: u64,
    },
    /// The kernel has another SHA-256 than `sha256` says.
    Sha256,
    /// The kernel is compressed and the caller brought no decoder.
    NoDecoder,
    /// A frame is longer than its length word can say (writing).
    FrameTooLong {
        /// Its length in bytes; at most 2^32 - 1 can be stored.
        size: u64,
    },
    /// An entry's metadata is not exactly one MessagePack map (writing).
    Metadata,
    /// An alignment that is no power of two up to 4,096, or one for frames, which stand back to
    /// back (writing).
    Align {
        /// The alignment asked for, in bytes.
        align: u32,
    },
    /// What was stored is not what had been announced (writing).
    Announced {
        /// The kernels announced.
        kernels: u32,
        /// Where the TOC was to begin, in bytes.
        toc_offset: u64,
    },
    /// `kpack_search_paths` holds no string.
    NoSearchPaths,
    /// A search was told the outcome of something that it had not asked for.
    Outcome,
}

impl Fault {
    pub(crate) const fn class(&self) -> Class {
        match self {
            Fault::Version { .. }
            | Fault::FormatVersion { .. }
            | Fault::Scheme
            | Fault::NoDecoder => Class::Unsupported,
            Fault::FrameTooLong { .. } => Class::Limit,
            Fault::Align { .. } | Fault::Announced { .. } | Fault::Outcome => Class::Misuse,
            _ => Class::Malformed,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Magic { found } => {
                write!(
                    f,
                    "not a kpack archive: it begins with \"{}\", not \"KPAK\"",
                    found.escape_ascii()
                )
            }
            Fault::Version { found } => {
                write!(f, "archive version {found} is not supported: only 1 is")
            }
            Fault::TocOffset { toc_offset, total } => write!(
                f,
                "the table of contents cannot begin at {toc_offset} in a file of {total} bytes"
            ),
            Fault::FormatVersion { found } => {
                write!(f, "format_version {found} is not supported: only 1 is")
            }
            Fault::Scheme => f.write_str("this compression_scheme is not known"),
            Fault::Value { field, fault } => write!(f, "\"{}\": {fault}", field.key()),
            Fault::Missing(field) => write!(f, "\"{}\" is missing", field.key()),
            Fault::Duplicate(Repeated::Binary) => {
                f.write_str("this binary stands twice in \"toc\"")
            }
            Fault::Duplicate(Repeated::Arch) => {
                f.write_str("this architecture stands twice for one binary")
            }
            Fault::Duplicate(Repeated::Field(field)) => {
                write!(f, "\"{}\" stands twice in one map", field.key())
            }
            Fault::BlobRange { ordinal, start, size, total } => write!(
                f,
                "blob {ordinal} ({size} bytes from offset {start}) is not within the data of a file of {total} bytes"
            ),
            Fault::ZstdRange { start, size, total } => write!(
                f,
                "the zstd blob ({size} bytes from offset {start}) is not within the data of a file of {total} bytes"
            ),
            Fault::ZstdSize { size } => {
                write!(f, "zstd_size is {size}: a zstd blob takes at least 4 bytes")
            }
            Fault::Ordinal { ordinal, count } => {
                write!(f, "ordinal {ordinal} is out of range: {count} kernels are stored")
            }
            Fault::FrameRange { ordinal, start, size } => write!(
                f,
                "the frame of ordinal {ordinal} ({size} bytes from offset {start}) is not within the zstd blob's frames"
            ),
            Fault::FrameSize { declared, stored } => {
                write!(
                    f,
                    "frame_size is {declared} and the length word before the frame is {stored}"
                )
            }
            Fault::FrameOffset { declared, stored } => {
                write!(f, "frame_offset is {declared} and the frame begins at {stored}")
            }
            Fault::Sha256Size { size } => {
                write!(f, "sha256 has {size} bytes: it takes 32")
            }
            Fault::Sha256 => {
                f.write_str("the kernel's content has another sha256 than the table says")
            }
            Fault::FrameTooLong { size } => {
                write!(f, "a frame of {size} bytes is too long to be stored: 4 GiB is the end")
            }
            Fault::Metadata => f.write_str("the metadata is not one messagepack map"),
            Fault::Align { align } => write!(
                f,
                "kernels cannot be aligned to {align}: only to powers of two up to 4096, and frames not at all"
            ),
            Fault::Announced { kernels, toc_offset } => write!(
                f,
                "{kernels} kernels and a table of contents at {toc_offset} were announced, and others came"
            ),
            Fault::NoSearchPaths => f.write_str("\"kpack_search_paths\" holds no path"),
            Fault::Outcome => {
                f.write_str("the search was told an outcome that it had not asked for")
            }
            Fault::NoDecoder => f.write_str("the kernel is compressed and no decoder was given"),
            Fault::SizeMismatch { declared, stored } => {
                write!(f, "original_size is {declared} and the blob holds {stored} bytes")
            }
        }
    }
}

//! Why a search ended without a kernel, and which of several reasons counts.

use core::fmt;

use crate::error::{Class, Error, ErrorKind};
use crate::kpack::Fault;
use crate::zstd;

/// Why no kernel was found. In the order of severity: of several the greatest is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No archive was there and could be opened.
    NoArchive,
    /// Archives were opened, and none has a target that fits.
    NoArch,
    /// An archive has the target, and not this kernel.
    NoKernel,
    /// An archive of another version.
    Version,
    /// An archive breaks its format.
    Format,
    /// A kernel could not be decompressed.
    Decompression,
    /// An archive's table of contents is broken.
    Msgpack,
    /// The system refused to read.
    Io,
    /// There is no memory, or a limit was exceeded.
    Memory,
    /// The reference metadata of the binary is broken.
    Metadata,
    /// Kernels in archives are switched off.
    Disabled,
    /// What was asked for makes no sense: no architecture, or one with too many features.
    Argument,
}

impl Reason {
    /// The number that the C libraries give for it (`kpack_error_t`).
    pub const fn code(self) -> u8 {
        match self {
            Reason::Argument => 1,
            Reason::Format => 3,
            Reason::Version => 4,
            Reason::NoKernel => 5,
            Reason::Decompression => 6,
            Reason::Memory => 7,
            Reason::Disabled => 8,
            Reason::Io => 9,
            Reason::Msgpack => 10,
            Reason::Metadata => 12,
            Reason::NoArchive => 13,
            Reason::NoArch => 14,
        }
    }

    /// What an error about a kernel of an open archive is as a reason: bytes that end too soon are
    /// those of a frame, not of the table.
    pub const fn of_kernel(error: &Error) -> Reason {
        match error.kind {
            ErrorKind::Truncated { .. } => Reason::Decompression,
            _ => Reason::of(error),
        }
    }

    /// What an error of an archive is as a reason.
    pub const fn of(error: &Error) -> Reason {
        match error.kind {
            ErrorKind::Kpack(Fault::Version { .. }) => Reason::Version,
            ErrorKind::Kpack(Fault::Ordinal { .. }) => Reason::NoKernel,
            ErrorKind::Kpack(
                Fault::Value { .. }
                | Fault::Missing(_)
                | Fault::Duplicate(_)
                | Fault::FormatVersion { .. }
                | Fault::Sha256Size { .. },
            )
            | ErrorKind::Msgpack(_) => Reason::Msgpack,
            // The whole header is there, and the table is not.
            ErrorKind::Truncated { .. } if error.offset >= 16 => Reason::Msgpack,
            // In front of all data there is the header.
            ErrorKind::Kpack(Fault::BlobRange { start: 0..=15, .. }) => Reason::Format,
            // Data beyond the end of the file; a file without a byte.
            ErrorKind::Truncated { have: 0, .. } | ErrorKind::Kpack(Fault::BlobRange { .. }) => {
                Reason::Io
            }
            ErrorKind::Zstd(
                zstd::Fault::BlobTooSmall { .. }
                | zstd::Fault::FrameCount { .. }
                | zstd::Fault::FrameLength { .. },
            ) => Reason::Format,
            ErrorKind::Zstd(_)
            | ErrorKind::Kpack(Fault::SizeMismatch { .. } | Fault::Sha256 | Fault::NoDecoder) => {
                Reason::Decompression
            }
            _ => match error.class() {
                Class::Limit | Class::Full => Reason::Memory,
                _ => Reason::Format,
            },
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NoArchive => "no archive was found",
            Reason::NoArch => "no archive has code for this architecture",
            Reason::NoKernel => "no archive has this kernel",
            Reason::Version => "an archive has a version that is not supported",
            Reason::Format => "an archive is malformed",
            Reason::Decompression => "the kernel could not be decompressed",
            Reason::Msgpack => "an archive's table of contents is malformed",
            Reason::Io => "an archive could not be read",
            Reason::Memory => "there is no memory for it, or a limit is exceeded",
            Reason::Metadata => "the binary's reference metadata is malformed",
            Reason::Disabled => "kernel archives are switched off",
            Reason::Argument => "no architecture, or one with too many features, was asked for",
        })
    }
}

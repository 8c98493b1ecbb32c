//! The result codes, and which failure is which.
//!
//! The numbers are those of the shipped library. The document's interface ends with 8; the two
//! codes above that an archive can give are answered as [`Code::InvalidFormat`] there.
//!
//! Opening and fetching are told apart, since a truncated table is a fault of MessagePack and a
//! truncated frame one of decompression.

use std::io;

use rocload::core::{self, ErrorKind as CoreKind};
use rocload::kpack::search::Reason;
use rocload::kpack::{Fault, HEADER_LEN};
use rocload::zstd::Fault as ZstdFault;
use rocload::{Error, ErrorKind};

/// What a function returns: `kpack_error_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// `KPACK_SUCCESS`.
    Success = 0,
    /// `KPACK_ERROR_INVALID_ARGUMENT`: a NULL pointer, a number out of range.
    InvalidArgument = 1,
    /// `KPACK_ERROR_FILE_NOT_FOUND`: there is no such file.
    FileNotFound = 2,
    /// `KPACK_ERROR_INVALID_FORMAT`: no archive, or one whose parts lead astray.
    InvalidFormat = 3,
    /// `KPACK_ERROR_UNSUPPORTED_VERSION`: an archive of another version than 1.
    UnsupportedVersion = 4,
    /// `KPACK_ERROR_KERNEL_NOT_FOUND`: the archive has no such kernel.
    KernelNotFound = 5,
    /// `KPACK_ERROR_DECOMPRESSION_FAILED`: a kernel's stored bytes are broken.
    DecompressionFailed = 6,
    /// `KPACK_ERROR_OUT_OF_MEMORY`: no memory, or more is asked for than is let.
    OutOfMemory = 7,
    /// `KPACK_ERROR_NOT_IMPLEMENTED`: switched off, or not on this system.
    NotImplemented = 8,
    /// `KPACK_ERROR_IO_ERROR`: the system refused; `errno` says why.
    IoError = 9,
    /// `KPACK_ERROR_MSGPACK_PARSE_FAILED`: the table of contents is broken.
    MsgpackParseFailed = 10,
    /// `KPACK_ERROR_PATH_DISCOVERY_FAILED`: an address belongs to no file.
    PathDiscoveryFailed = 11,
    /// `KPACK_ERROR_INVALID_METADATA`: a reference that says nothing.
    InvalidMetadata = 12,
    /// `KPACK_ERROR_ARCHIVE_NOT_FOUND`: no archive could be opened.
    ArchiveNotFound = 13,
    /// `KPACK_ERROR_ARCH_NOT_FOUND`: archives, but none for this device.
    ArchNotFound = 14,
}

impl Code {
    /// The number in the shipped interface.
    pub const fn shipped(self) -> i32 {
        self as i32
    }

    /// The number in the document's interface, which knows 0 to 8.
    pub const fn documented(self) -> i32 {
        match self {
            Code::Success
            | Code::InvalidArgument
            | Code::FileNotFound
            | Code::InvalidFormat
            | Code::UnsupportedVersion
            | Code::KernelNotFound
            | Code::DecompressionFailed
            | Code::OutOfMemory
            | Code::NotImplemented => self as i32,
            Code::IoError | Code::MsgpackParseFailed => Code::InvalidFormat as i32,
            Code::PathDiscoveryFailed
            | Code::InvalidMetadata
            | Code::ArchiveNotFound
            | Code::ArchNotFound => Code::KernelNotFound as i32,
        }
    }
}

/// A code, and what `errno` is to hold beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The code.
    pub code: Code,
    /// The system's own number, if it was the system that refused.
    pub errno: Option<i32>,
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Failure { code, errno: None }
    }
}

/// Why an archive could not be opened.
pub fn opening(error: &Error) -> Failure {
    failure(error, Code::MsgpackParseFailed)
}

/// Why a kernel could not be fetched.
pub fn fetching(error: &Error) -> Failure {
    failure(error, Code::DecompressionFailed)
}

/// Why a search ended without a code object.
pub fn loading(reason: Reason) -> Failure {
    let code = match reason.code() {
        1 => Code::InvalidArgument,
        3 => Code::InvalidFormat,
        4 => Code::UnsupportedVersion,
        5 => Code::KernelNotFound,
        6 => Code::DecompressionFailed,
        7 => Code::OutOfMemory,
        8 => Code::NotImplemented,
        10 => Code::MsgpackParseFailed,
        12 => Code::InvalidMetadata,
        13 => Code::ArchiveNotFound,
        14 => Code::ArchNotFound,
        _ => Code::IoError,
    };
    let errno = match code {
        Code::IoError => Some(libc::EIO),
        Code::OutOfMemory => Some(libc::ENOMEM),
        _ => None,
    };
    Failure { code, errno }
}

/// The system's refusal.
pub fn system(error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::NotFound => Code::FileNotFound,
        io::ErrorKind::IsADirectory => Code::InvalidFormat,
        io::ErrorKind::OutOfMemory => Code::OutOfMemory,
        io::ErrorKind::Unsupported => Code::NotImplemented,
        _ => Code::IoError,
    };
    let errno = match (error.raw_os_error(), code) {
        (Some(errno), _) => Some(errno),
        (None, Code::InvalidFormat) => Some(libc::EISDIR),
        (None, _) => Some(libc::EIO),
    };
    Failure { code, errno }
}

fn failure(error: &Error, truncated: Code) -> Failure {
    match error.kind() {
        ErrorKind::Io(error) => system(error),
        ErrorKind::Format(error) => {
            let code = format(error, truncated);
            let errno = (code == Code::IoError).then_some(libc::EIO);
            Failure { code, errno }
        }
        ErrorKind::NoBinary | ErrorKind::NoArch { .. } => Code::KernelNotFound.into(),
        ErrorKind::Memory { .. } => Failure { code: Code::OutOfMemory, errno: Some(libc::ENOMEM) },
        // Bytes that were there at open are not there now.
        ErrorKind::Changed => Failure { code: Code::IoError, errno: Some(libc::EIO) },
        _ => Code::InvalidFormat.into(),
    }
}

fn format(error: &core::Error, truncated: Code) -> Code {
    match error.kind {
        CoreKind::Truncated { have: 0, .. } if error.offset == 0 => Code::IoError,
        CoreKind::Truncated { .. } if error.offset < HEADER_LEN as u64 => Code::InvalidFormat,
        CoreKind::Truncated { .. } => truncated,
        CoreKind::Limit { cap: core::Cap::TargetFeatures, .. } => Code::InvalidArgument,
        CoreKind::Limit { .. } | CoreKind::Full(_) => Code::OutOfMemory,
        CoreKind::Msgpack(_) => Code::MsgpackParseFailed,
        CoreKind::Kpack(fault) => kpack(fault),
        CoreKind::Zstd(
            ZstdFault::BlobTooSmall { .. }
            | ZstdFault::FrameCount { .. }
            | ZstdFault::FrameLength { .. },
        ) => Code::InvalidFormat,
        CoreKind::Zstd(_) => Code::DecompressionFailed,
        _ => Code::InvalidFormat,
    }
}

fn kpack(fault: Fault) -> Code {
    match fault {
        Fault::Version { .. } | Fault::FormatVersion { .. } => Code::UnsupportedVersion,
        Fault::Missing(_) | Fault::Value { .. } | Fault::Duplicate(_) | Fault::Metadata => {
            Code::MsgpackParseFailed
        }
        Fault::Ordinal { .. } => Code::KernelNotFound,
        // In front of the data there is the header; behind the file's end there is nothing to read.
        Fault::BlobRange { start, .. } if start >= HEADER_LEN as u64 => Code::IoError,
        Fault::SizeMismatch { .. } | Fault::Sha256 | Fault::NoDecoder => Code::DecompressionFailed,
        _ => Code::InvalidFormat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_numbers_end_with_8() {
        let all = [
            (Code::Success, 0),
            (Code::InvalidArgument, 1),
            (Code::FileNotFound, 2),
            (Code::InvalidFormat, 3),
            (Code::UnsupportedVersion, 4),
            (Code::KernelNotFound, 5),
            (Code::DecompressionFailed, 6),
            (Code::OutOfMemory, 7),
            (Code::NotImplemented, 8),
            (Code::IoError, 3),
            (Code::MsgpackParseFailed, 3),
        ];
        for ((code, documented), shipped) in all.into_iter().zip(0..) {
            assert_eq!((code.shipped(), code.documented()), (shipped, documented));
        }
    }

    #[test]
    fn what_the_system_says_is_kept() {
        let raw = |errno| system(&io::Error::from_raw_os_error(errno));
        let failure = |code, errno| Failure { code, errno: Some(errno) };
        assert_eq!(raw(libc::ENOENT), failure(Code::FileNotFound, libc::ENOENT));
        assert_eq!(raw(libc::EACCES), failure(Code::IoError, libc::EACCES));
        assert_eq!(raw(libc::ENOTDIR), failure(Code::IoError, libc::ENOTDIR));
        assert_eq!(raw(libc::ENOMEM), failure(Code::OutOfMemory, libc::ENOMEM));
        let folder = io::Error::new(io::ErrorKind::IsADirectory, "is a directory");
        assert_eq!(system(&folder), failure(Code::InvalidFormat, libc::EISDIR));
        let pipe = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        assert_eq!(system(&pipe), failure(Code::IoError, libc::EIO));
    }
}

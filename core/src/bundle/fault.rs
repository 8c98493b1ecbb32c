//! What can be wrong with containers of code objects.

use core::fmt;

use crate::error::Class;

/// A broken rule of a container's format; the offset of the [`Error`](crate::Error) says where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Neither an offload bundle nor a compressed one begins here.
    NoBundle {
        /// The first bytes, as many as there are.
        found: [u8; 4],
    },
    /// A bundle declares more entries than fit.
    EntryCount {
        /// Entries declared.
        count: u64,
        /// The most that fit.
        room: u64,
    },
    /// The content of a bundle's entry ends beyond what the bundle lies in.
    EntryRange {
        /// Its first byte, counted from the bundle's.
        start: u64,
        /// Its length in bytes.
        size: u64,
        /// Bytes from the bundle's first to the end.
        left: u64,
    },
    /// The id of a bundle's entry ends beyond what the bundle lies in.
    EntryId {
        /// Its length in bytes.
        len: u64,
        /// Bytes left.
        left: u64,
    },
    /// A compressed bundle of a version that is not known.
    CcobVersion {
        /// The version found.
        found: u16,
    },
    /// A compressed bundle is shorter than its header or longer than what it lies in.
    CcobTotal {
        /// Its length with the header, in bytes, as declared.
        total: u64,
        /// Bytes from its first to the end.
        left: u64,
    },
    /// A compressed bundle uses a method that is not known.
    CcobMethod {
        /// The method found; 0 is zlib and 1 zstd.
        found: u16,
    },
    /// The zlib stream is broken, or holds another number of bytes than was declared.
    Zlib {
        /// The bytes declared.
        expected: u64,
    },
    /// An ELF header of a class, byte order or version that does not exist.
    ElfHeader,
    /// A file header's table of sections is not within the file, or has entries of another size
    /// than the format's.
    SectionTable {
        /// Its first byte.
        start: u64,
        /// Its sections.
        count: u64,
        /// The file's length in bytes.
        total: u64,
    },
    /// A section's content is not within the file.
    SectionRange {
        /// Its first byte.
        start: u64,
        /// Its length in bytes.
        size: u64,
        /// The file's length in bytes.
        total: u64,
    },
}

impl Fault {
    pub(crate) const fn class(&self) -> Class {
        match self {
            Fault::CcobVersion { .. } | Fault::CcobMethod { .. } => Class::Unsupported,
            _ => Class::Malformed,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoBundle { found } => {
                write!(f, "no offload bundle begins here: found \"{}\"", found.escape_ascii())
            }
            Fault::EntryCount { count, room } => {
                write!(f, "the bundle declares {count} entries where at most {room} fit")
            }
            Fault::EntryRange { start, size, left } => write!(
                f,
                "an entry's content ({size} bytes from {start} on) is not within the {left} bytes from the bundle's start"
            ),
            Fault::EntryId { len, left } => {
                write!(f, "an entry's id takes {len} bytes where {left} are left")
            }
            Fault::CcobVersion { found } => {
                write!(f, "compressed bundles of version {found} are not supported: 1 to 3 are")
            }
            Fault::CcobTotal { total, left } => write!(
                f,
                "a compressed bundle cannot take {total} bytes with its header where {left} are left"
            ),
            Fault::CcobMethod { found } => write!(
                f,
                "the compression method {found} is not supported: 0 (zlib) and 1 (zstd) are"
            ),
            Fault::Zlib { expected } => {
                write!(f, "the zlib stream does not hold the {expected} bytes declared")
            }
            Fault::ElfHeader => f.write_str("the elf header names no known class or byte order"),
            Fault::SectionTable { start, count, total } => write!(
                f,
                "the table of {count} sections at offset {start} is not within a file of {total} bytes"
            ),
            Fault::SectionRange { start, size, total } => write!(
                f,
                "a section ({size} bytes from offset {start}) is not within a file of {total} bytes"
            ),
        }
    }
}

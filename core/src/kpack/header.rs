//! The first 16 bytes: magic, version, and where the TOC begins.
//!
//! Source: kpack format, version 1: `KPAK`, u32 LE version, u64 LE TOC offset. Bytes 16..64
//! are padding that readers do not look at.

use super::Fault;
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};

/// Bytes of the header that carry fields.
pub const HEADER_LEN: usize = 16;
/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"KPAK";
/// The only version there is.
pub const VERSION: u32 = 1;

/// A header whose fields have been checked against the file's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Archive version, 1.
    pub version: u32,
    /// Absolute offset of the TOC, in bytes; it reaches to the end of the file.
    pub toc_offset: u64,
}

impl Header {
    /// Reads the header at the front of `bytes`, of a file of `total` bytes.
    ///
    /// # Errors
    /// Truncated, [`Fault::Magic`], [`Fault::Version`], [`Fault::TocOffset`], in this order.
    pub fn parse(bytes: &[u8], total: u64) -> Result<Header, Error> {
        let fault = |fault, offset| Error::new(ErrorKind::Kpack(fault), offset);
        let Some(fields) = bytes.first_chunk::<HEADER_LEN>() else {
            let have = bytes.len() as u64;
            return Err(Error::new(ErrorKind::Truncated { need: HEADER_LEN as u64, have }, 0));
        };
        let mut cursor = Cursor::new(fields, 0);
        let found = cursor.array()?;
        if found != MAGIC {
            return Err(fault(Fault::Magic { found }, 0));
        }
        let version = cursor.u32_le()?;
        if version != VERSION {
            return Err(fault(Fault::Version { found: version }, 4));
        }
        let toc_offset = cursor.u64_le()?;
        if toc_offset < HEADER_LEN as u64 || toc_offset >= total {
            return Err(fault(Fault::TocOffset { toc_offset, total }, 8));
        }
        Ok(Header { version, toc_offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u32, toc_offset: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        bytes[8..].copy_from_slice(&toc_offset.to_le_bytes());
        bytes
    }

    #[test]
    fn faults_come_in_the_order_of_the_fields() {
        let at = |bytes: &[u8], total| Header::parse(bytes, total).unwrap_err();
        assert_eq!(at(b"KPAK", 4).kind, ErrorKind::Truncated { need: 16, have: 4 });
        let mut wrong = header(9, 0);
        wrong[0] = b'k';
        assert_eq!(at(&wrong, 100).kind, ErrorKind::Kpack(Fault::Magic { found: *b"kPAK" }));
        let error = at(&header(2, 0), 100);
        assert_eq!((error.kind, error.offset), (ErrorKind::Kpack(Fault::Version { found: 2 }), 4));
        for toc_offset in [0, 15, 100, 101, 1 << 63, u64::MAX] {
            let fault = Fault::TocOffset { toc_offset, total: 100 };
            assert_eq!(at(&header(1, toc_offset), 100), Error::new(ErrorKind::Kpack(fault), 8));
        }
    }

    #[test]
    fn the_borders_are_inside() {
        for toc_offset in [16, 64, 99] {
            let header = Header::parse(&header(1, toc_offset), 100).unwrap();
            assert_eq!(header.toc_offset, toc_offset);
        }
    }
}

//! The wrappers by which a binary registers its device code.
//!
//! A wrapper takes 24 bytes: u32 magic, u32 version, u64 pointer, u64 reserved1. The pointer leads
//! to an offload bundle or, when the code was moved into archives, to reference metadata.

/// Length of a wrapper, in bytes.
pub const WRAPPER_LEN: usize = 24;

/// Where a wrapper's pointer stands in it.
pub const WRAPPER_POINTER: u64 = 8;

/// What a wrapper leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapperKind {
    /// Device code: magic `0x48495046`, the bytes `FPIH`.
    Fatbin,
    /// Reference metadata: magic `0x4b504948`, the bytes `HIPK`.
    Reference,
    /// Neither; the magic.
    Other(u32),
}

/// A wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapper {
    /// What it leads to.
    pub kind: WrapperKind,
    /// Its version.
    pub version: u32,
    /// Where that is, as an address in the binary's memory, before it is relocated.
    pub pointer: u64,
    /// The number of the translation unit, in [`WrapperKind::Reference`].
    pub co_index: u32,
}

impl Wrapper {
    /// Reads a wrapper.
    ///
    /// ```
    /// use rocload_core::bundle::{Wrapper, WrapperKind};
    ///
    /// let bytes = *b"HIPK\x01\0\0\0\x00\x10\0\0\0\0\0\0\x07\0\0\0\0\0\0\0";
    /// let wrapper = Wrapper::read(&bytes);
    /// assert_eq!((wrapper.kind, wrapper.pointer, wrapper.co_index), (WrapperKind::Reference, 0x1000, 7));
    /// ```
    pub fn read(bytes: &[u8; WRAPPER_LEN]) -> Wrapper {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let kind = match word(0) {
            0x4849_5046 => WrapperKind::Fatbin,
            0x4b50_4948 => WrapperKind::Reference,
            other => WrapperKind::Other(other),
        };
        let pointer = u64::from(word(8)) | u64::from(word(12)) << 32;
        // The high half of reserved1 is none of the number.
        Wrapper { kind, version: word(4), pointer, co_index: word(16) }
    }
}

//! The frame lengths walked one word at a time, and one frame decoded by the C library.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::Result;

/// Where the frame with this ordinal is: one `pread` for the count and for each word up to it.
///
/// # Errors
/// The system's, and an ordinal out of range.
pub fn find(file: &File, zstd_offset: u64, ordinal: u32) -> Result<(u64, u32)> {
    let word = |at| -> Result<u32> {
        let mut word = [0; 4];
        file.read_exact_at(&mut word, at)?;
        Ok(u32::from_le_bytes(word))
    };
    if ordinal >= word(zstd_offset)? {
        return Err("no such frame".into());
    }
    let mut at = zstd_offset + 4;
    for _ in 0..ordinal {
        at += 4 + u64::from(word(at)?);
    }
    Ok((at + 4, word(at)?))
}

/// Finds a frame and decodes it to `size` bytes.
///
/// # Errors
/// The system's and the library's, and an ordinal out of range.
pub fn fetch(file: &File, zstd_offset: u64, ordinal: u32, size: usize) -> Result<Vec<u8>> {
    let (at, len) = find(file, zstd_offset, ordinal)?;
    read(file, at, len, size)
}

/// Reads the frame of `len` bytes at `at`, and decodes it to `size` bytes.
///
/// # Errors
/// The system's and the library's.
pub fn read(file: &File, at: u64, len: u32, size: usize) -> Result<Vec<u8>> {
    let mut stored = vec![0; len as usize];
    file.read_exact_at(&mut stored, at)?;
    Ok(zstd::bulk::decompress(&stored, size)?)
}

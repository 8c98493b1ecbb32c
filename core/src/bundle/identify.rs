//! The decision, from the first bytes and the tables that they lead to.

use super::elf::{Elf, ElfTarget};
use super::region::{BUNDLE_MAGIC, CCOB_MAGIC};
use crate::cursor::Cursor;

/// Offset, size and length of the id: the least that a bundle's entry takes.
const BUNDLE_ENTRY: u64 = 24;

/// What a stored code object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Object {
    /// One ELF file.
    Elf {
        /// What it was made for; `None` when its header does not say.
        target: Option<ElfTarget>,
    },
    /// Several ELF files back to back, zero bytes between them or not.
    Elfs {
        /// How many; 2 or more.
        count: u32,
        /// What the first was made for.
        target: Option<ElfTarget>,
    },
    /// A clang offload bundle whose entries all lie inside it.
    Bundle {
        /// Entries, those for the host included.
        entries: u32,
    },
    /// A compressed offload bundle; more of them may follow it.
    Ccob {
        /// Version of its header: 1, 2 or 3.
        version: u16,
        /// How it is compressed.
        method: Method,
        /// Its length with the header, in bytes. Version 1 does not say: all the bytes.
        total: u64,
        /// Length of the bundle inside, in bytes, as declared.
        uncompressed: u64,
    },
    /// None of these, or something that begins like one and contradicts itself.
    Unknown,
}

impl Object {
    /// The short name: `elf`, `elfs`, `bundle`, `ccob` or `unknown`.
    pub const fn name(&self) -> &'static str {
        match self {
            Object::Elf { .. } => "elf",
            Object::Elfs { .. } => "elfs",
            Object::Bundle { .. } => "bundle",
            Object::Ccob { .. } => "ccob",
            Object::Unknown => "unknown",
        }
    }

    /// The target of the ELF file, or of the first of several.
    pub const fn target(&self) -> Option<ElfTarget> {
        match *self {
            Object::Elf { target } | Object::Elfs { target, .. } => target,
            Object::Bundle { .. } | Object::Ccob { .. } | Object::Unknown => None,
        }
    }
}

/// How a compressed offload bundle is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// zlib (0).
    Zlib,
    /// zstd (1).
    Zstd,
    /// A number that the format does not define.
    Other(u16),
}

impl Method {
    pub(super) const fn of(number: u16) -> Method {
        match number {
            0 => Method::Zlib,
            1 => Method::Zstd,
            other => Method::Other(other),
        }
    }

    /// The short name: `zlib`, `zstd` or `unknown`.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Zlib => "zlib",
            Method::Zstd => "zstd",
            Method::Other(_) => "unknown",
        }
    }
}

/// Says what the bytes of a stored code object are. Reads headers and tables alone; the work is
/// bounded by the number of table entries that fit into `bytes`.
pub fn identify(bytes: &[u8]) -> Object {
    elfs(bytes).or_else(|| bundle(bytes)).or_else(|| ccob(bytes)).unwrap_or(Object::Unknown)
}

fn elfs(bytes: &[u8]) -> Option<Object> {
    let first = Elf::parse(bytes)?;
    let target = first.target;
    let mut count = 1u32;
    let mut rest = after(bytes, first.extent);
    while let Some(next) = Elf::parse(rest) {
        count = count.saturating_add(1);
        rest = after(rest, next.extent);
    }
    Some(if count == 1 { Object::Elf { target } } else { Object::Elfs { count, target } })
}

/// What follows the file of `extent` bytes at the front, padding passed over.
fn after(bytes: &[u8], extent: usize) -> &[u8] {
    let rest = bytes.get(extent..).unwrap_or(&[]);
    let padding = rest.iter().position(|&byte| byte != 0).unwrap_or(rest.len());
    &rest[padding..]
}

fn bundle(bytes: &[u8]) -> Option<Object> {
    let mut cursor = Cursor::new(bytes.strip_prefix(BUNDLE_MAGIC.as_slice())?, 0);
    let entries = cursor.u64_le().ok()?;
    if entries > cursor.rest().len() as u64 / BUNDLE_ENTRY {
        return None;
    }
    for _ in 0..entries {
        let offset = cursor.u64_le().ok()?;
        let size = cursor.u64_le().ok()?;
        let id = cursor.u64_le().ok()?;
        cursor.take(usize::try_from(id).ok()?).ok()?;
        if offset.checked_add(size)? > bytes.len() as u64 {
            return None;
        }
    }
    Some(Object::Bundle { entries: u32::try_from(entries).ok()? })
}

fn ccob(bytes: &[u8]) -> Option<Object> {
    let mut cursor = Cursor::new(bytes, 0);
    if cursor.take(CCOB_MAGIC.len()).ok()? != CCOB_MAGIC {
        return None;
    }
    let version = cursor.u16_le().ok()?;
    let method = Method::of(cursor.u16_le().ok()?);
    let (total, uncompressed) = match version {
        1 => (bytes.len() as u64, u64::from(cursor.u32_le().ok()?)),
        2 => (u64::from(cursor.u32_le().ok()?), u64::from(cursor.u32_le().ok()?)),
        3 => (cursor.u64_le().ok()?, cursor.u64_le().ok()?),
        _ => return None,
    };
    cursor.take(8).ok()?; // the hash
    let header = cursor.position() as u64;
    (header..=bytes.len() as u64).contains(&total).then_some(Object::Ccob {
        version,
        method,
        total,
        uncompressed,
    })
}

#[cfg(test)]
mod tests;

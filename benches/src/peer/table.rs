//! The table of contents read by serde into hash maps of owned strings.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Deserialize;

use super::Result;
use crate::input::Key;

/// The whole table, field by field; what it does not name is skipped.
#[derive(Debug, Deserialize)]
pub struct Table {
    /// The architectures listed.
    pub gfx_arches: Vec<String>,
    /// Binary, then architecture.
    pub toc: HashMap<String, HashMap<String, Row>>,
    /// `none` when absent.
    #[serde(default)]
    pub compression_scheme: Option<String>,
    /// Where each kernel is (scheme none).
    #[serde(default)]
    pub blobs: Vec<Blob>,
    /// Where the frames begin.
    #[serde(default)]
    pub zstd_offset: u64,
    /// Their length.
    #[serde(default)]
    pub zstd_size: u64,
}

/// One kernel.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// `hsaco`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which stored kernel.
    pub ordinal: u32,
    /// Its size.
    pub original_size: u64,
}

/// One stored kernel (scheme none).
#[derive(Debug, Clone, Deserialize)]
pub struct Blob {
    /// Where.
    pub offset: u64,
    /// How long.
    pub size: u64,
}

/// Reads the header and the table, and leaves the rest of the file alone.
///
/// # Errors
/// The system's and serde's.
pub fn open(path: &Path) -> Result<(File, Table)> {
    let file = File::open(path)?;
    let total = file.metadata()?.len();
    let mut header = [0; 16];
    file.read_exact_at(&mut header, 0)?;
    let start = toc_offset(&header)?;
    let mut toc = vec![0; usize::try_from(total - start)?];
    file.read_exact_at(&mut toc, start)?;
    Ok((file, rmp_serde::from_slice(&toc)?))
}

/// Reads the whole file, as the shipped C++ runtime does, and keeps it.
///
/// # Errors
/// The system's and serde's.
pub fn open_whole(path: &Path) -> Result<(Vec<u8>, Table)> {
    let bytes = fs::read(path)?;
    let start = toc_offset(bytes.first_chunk().ok_or("no header")?)?;
    let toc = bytes.get(usize::try_from(start)?..).ok_or("no table")?;
    let table = rmp_serde::from_slice(toc)?;
    Ok((bytes, table))
}

fn toc_offset(header: &[u8; 16]) -> Result<u64> {
    match header {
        [b'K', b'P', b'A', b'K', 1, 0, 0, 0, offset @ ..] => Ok(u64::from_le_bytes(*offset)),
        _ => Err("not an archive".into()),
    }
}

impl Table {
    /// The rows in one hash map by both names, with std's default hasher.
    pub fn hashed(&self) -> HashMap<Key, Row> {
        self.rows().collect()
    }

    /// The rows in a tree by both names.
    pub fn tree(&self) -> BTreeMap<Key, Row> {
        self.rows().collect()
    }

    fn rows(&self) -> impl Iterator<Item = (Key, Row)> {
        self.toc.iter().flat_map(|(binary, arches)| {
            arches.iter().map(|(arch, row)| ((binary.clone(), arch.clone()), row.clone()))
        })
    }
}

//! Manifests: what an archive is expected to hold.
//!
//! A manifest is a JSON array of rows `[binary, arch, size, sha256]`, the size in bytes and the
//! SHA-256 of the decompressed kernel in hexadecimal digits.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::{Failure, Status};

/// The largest manifest that is read, in bytes: over a million rows.
const MOST: u64 = 256 << 20;

/// The rows of a manifest, found by their names.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    rows: Vec<Row>,
    index: HashMap<(String, String), usize>,
}

/// One expected kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) binary: String,
    pub(super) arch: String,
    /// In bytes, decompressed.
    pub(super) size: u64,
    pub(super) sha256: [u8; 32],
}

impl Manifest {
    /// Reads the manifest at `path`.
    pub(super) fn read(path: &Path) -> Result<Manifest, Failure> {
        let io = |error| Failure::io("reading the manifest", &error).at(path);
        let file = File::open(path).map_err(io)?;
        let mut text = Vec::new();
        let got = file.take(MOST + 1).read_to_end(&mut text).map_err(io)? as u64;
        if got > MOST {
            let message = format!("the manifest is longer than {MOST} bytes");
            return Err(Failure::new(Status::Malformed, "limit", message).at(path));
        }
        Manifest::parse(&text).map_err(|message| {
            let failure = Failure::new(Status::Malformed, "malformed", message).at(path);
            failure.hint("a manifest is a JSON array of rows [binary, arch, size, sha256]")
        })
    }

    fn parse(text: &[u8]) -> Result<Manifest, String> {
        let rows: Vec<(String, String, u64, String)> =
            serde_json::from_slice(text).map_err(|error| format!("the manifest: {error}"))?;
        let mut manifest = Manifest::default();
        for (number, (binary, arch, size, sha256)) in rows.into_iter().enumerate() {
            let sha256 = digest(&sha256)
                .ok_or_else(|| format!("row {number} of the manifest: no sha256: {sha256:?}"))?;
            match manifest.index.entry((binary.clone(), arch.clone())) {
                Slot::Occupied(_) => {
                    return Err(format!(
                        "row {number} of the manifest repeats {binary:?} for {arch:?}"
                    ));
                }
                Slot::Vacant(slot) => slot.insert(manifest.rows.len()),
            };
            manifest.rows.push(Row { binary, arch, size, sha256 });
        }
        Ok(manifest)
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of a kernel; names that are not UTF-8 cannot be in a manifest.
    pub(super) fn find(&self, binary: &[u8], arch: &[u8]) -> Option<&Row> {
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let at = self.index.get(&(text(binary)?, text(arch)?))?;
        self.rows.get(*at)
    }
}

/// 64 hexadecimal digits.
fn digest(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00FF";

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(text.replace("SHA", SHA).as_bytes())
    }

    #[test]
    fn rows_are_found() {
        let manifest = parse(r#"[["a#0", "gfx1", 7, "SHA"], ["a#0", "gfx2", 8, "SHA"]]"#).unwrap();
        let row = manifest.find(b"a#0", b"gfx2").unwrap();
        assert_eq!((row.size, &row.sha256[..2]), (8, &[0, 255][..]));
        assert_eq!(manifest.find(b"a#0", b"gfx3"), None);
        assert_eq!(manifest.find(b"\xff", b"gfx2"), None);
        assert_eq!(manifest.rows().len(), 2);
        assert!(parse("[]").unwrap().rows().is_empty());
    }

    #[test]
    fn what_is_no_manifest() {
        for (text, why) in [
            ("", "EOF"),
            ("{}", "expected a sequence"),
            (r#"[["a", "b", 1]]"#, "tuple of size 4"),
            (r#"[["a", "b", 1, "SHA", 2]]"#, "trailing characters"),
            (r#"[["a", "b", -1, "SHA"]]"#, "expected u64"),
            (r#"[["a", "b", 1, "00"]]"#, "row 0 of the manifest: no sha256"),
            (r#"[["a", "b", 1, "SHA"], ["a", "b", 1, "SHA"]]"#, "row 1 of the manifest repeats"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
            assert!(!error.contains('\n'));
        }
        assert_eq!(digest(&"g".repeat(64)), None);
        assert_eq!(digest(&"é".repeat(32)), None);
    }
}

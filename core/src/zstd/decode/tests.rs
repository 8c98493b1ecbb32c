//! The decoder against corpora of real frames and against the C library.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::*;

/// Both layouts of the workspace.
struct Both {
    fast: Box<Workspace>,
    small: Box<Workspace<0>>,
}

impl Both {
    fn new() -> Self {
        Self { fast: Box::new(Workspace::new()), small: Box::new(Workspace::new()) }
    }

    /// One frame into `size` bytes, in both layouts, which must agree.
    fn frame(&mut self, src: &[u8], size: usize) -> Result<Vec<u8>, Error> {
        let mut dst = vec![0xa5; size];
        let mut other = vec![0x5a; size];
        let decoded = decode_frame(&mut self.fast, src, &mut dst);
        let again = decode_frame(&mut self.small, src, &mut other);
        match (decoded, again) {
            (Ok(decoded), Ok(again)) => {
                assert_eq!(decoded, again);
                dst.truncate(decoded.written);
                assert!(dst == other[..again.written], "the two layouts differ");
                assert!(decoded.consumed <= src.len());
                Ok(dst)
            }
            (Err(error), Err(_)) => Err(error),
            (decoded, again) => panic!("two verdicts: {decoded:?}, {again:?}"),
        }
    }
}

fn shared(test: &str, folder: &str) -> Option<PathBuf> {
    rocload_fixtures::shared_data_or_skip(test).map(|root| root.join(folder))
}

/// (name, size, sha256) from a table with a heading.
fn table(path: &Path) -> Vec<(String, usize, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let mut fields = line.split('\t');
        let mut next = || String::from(fields.next().unwrap());
        (next(), next().parse().unwrap(), next())
    });
    rows.collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn real_frames_decode_to_their_originals() {
    let Some(root) = shared("real_frames_decode_to_their_originals", "zstd") else { return };
    let originals = table(&root.join("originals.tsv"));
    let objects = table(&root.join("code_objects.tsv"));
    let mut both = Both::new();
    let mut seen = 0;
    for (folder, suffix, rows) in [
        ("corpus", ".zst", &originals),
        ("corpus_nock", ".zst", &originals),
        ("code_objects", "", &objects),
    ] {
        for (name, size, sha) in rows {
            let path = root.join(folder).join(format!("{name}{suffix}"));
            let src = std::fs::read(&path).unwrap();
            // An exact destination, one with room to spare, and one that is too small.
            for room in [0, 1, 40, 1 << 18] {
                let content = both.frame(&src, size + room);
                let content = content.unwrap_or_else(|error| panic!("{path:?}: {error}"));
                assert_eq!(content.len(), *size, "{path:?}");
                assert_eq!(&sha256(&content), sha, "{path:?}");
            }
            if *size > 0 {
                let error = both.frame(&src, size - 1).unwrap_err();
                assert!(matches!(error.kind, ErrorKind::Full(_)), "{path:?}: {error}");
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 2 * originals.len() + objects.len());
}

#[test]
fn golden_frames() {
    let Some(root) = shared("golden_frames", "zstd/golden") else { return };
    let mut both = Both::new();
    let files = |folder| std::fs::read_dir(root.join(folder)).unwrap();
    for entry in files("valid") {
        let path = entry.unwrap().path();
        let src = std::fs::read(&path).unwrap();
        let content = ::zstd::decode_all(&src[..]).unwrap();
        let decoded = both.frame(&src, content.len());
        assert!(decoded.as_ref() == Ok(&content), "{path:?}: {:?}", decoded.err());
    }
    for entry in files("invalid") {
        let path = entry.unwrap().path();
        let src = std::fs::read(&path).unwrap();
        let error = both.frame(&src, 1 << 20).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Zstd(_)), "{path:?}: {error}");
    }
}

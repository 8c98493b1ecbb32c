//! A folder of kernels as `extract` writes it, `DIR/<arch>/<binary>.hsaco`, read back.
//!
//! The names are those of [`paths`](super::paths) undone: `%` and two digits stand for what they
//! were made of, the suffix `.hsaco` is none of the name, and in an architecture `-` before the
//! name of a feature is `:`. What cannot be undone is a `:` in a binary's name, a name that was
//! cut, and one that got a number: a manifest keeps those.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::pack::Planned;
use crate::failure::{Failure, Status};
use crate::place::is_temporary;

/// Folders inside folders, at most: more than a path can name.
const DEEPEST: usize = 4096;
/// The features that a target may have.
const FEATURES: [&[u8]; 2] = [b"sramecc", b"xnack"];

/// The kernels below a folder, in the byte order of their paths there.
pub(super) fn read(folder: &Path) -> Result<Vec<Planned>, Failure> {
    let mut found = Vec::new();
    let mut folders: Vec<(PathBuf, Vec<Vec<u8>>)> = vec![(folder.to_path_buf(), Vec::new())];
    while let Some((path, parts)) = folders.pop() {
        let io = |error: io::Error| Failure::io("reading the folder", &error).at(&path);
        for entry in fs::read_dir(&path).map_err(io)? {
            let entry = entry.map_err(io)?;
            let (path, name) = (entry.path(), entry.file_name().as_bytes().to_vec());
            let failed = |text: &str| Failure::new(Status::Failed, "failed", text).at(&path);
            let kind =
                entry.file_type().map_err(|error| Failure::io("reading", &error).at(&path))?;
            if is_temporary(&name) {
                continue;
            }
            let parts = [&parts[..], &[name]].concat();
            if kind.is_dir() {
                if parts.len() > DEEPEST {
                    return Err(failed("folders are nested too deeply"));
                }
                folders.push((path, parts));
                continue;
            }
            let linked = || fs::metadata(&path).map(|meta| meta.is_file());
            let is_file = if kind.is_file() { Ok(true) } else { linked() };
            if !is_file.map_err(|error| Failure::io("reading", &error).at(&path))? {
                return Err(failed(
                    "neither a file nor a folder: links to folders are not followed",
                ));
            }
            if parts.len() < 2 {
                let text = "this file has no architecture: a kernel is DIR/<arch>/<binary>.hsaco";
                return Err(failed(text));
            }
            found.push((parts, path));
        }
    }
    found.sort_by_cached_key(|(parts, _)| parts.join(&b'/'));
    Ok(found.into_iter().map(|(parts, file)| planned(&parts, file)).collect())
}

fn planned(parts: &[Vec<u8>], file: PathBuf) -> Planned {
    let mut names = parts[1..].to_vec();
    if let Some(last) = names.last_mut()
        && let Some(stem) = last.strip_suffix(b".hsaco")
    {
        *last = stem.to_vec();
    }
    Planned { binary: binary(&names), arch: arch(&parts[0]), file }
}

/// A binary's name from the components of its path.
fn binary(parts: &[Vec<u8>]) -> Vec<u8> {
    match parts {
        [only] if only == b"%" => Vec::new(),
        _ => parts.iter().map(|part| unescape(part)).collect::<Vec<_>>().join(&b'/'),
    }
}

/// An architecture from its folder's name.
fn arch(folder: &[u8]) -> Vec<u8> {
    let mut arch = unescape(folder);
    let mut end = arch.len();
    // From the end: feature by feature, each with its sign.
    while let Some(at) = feature_before(&arch[..end]) {
        arch[at] = b':';
        end = at;
    }
    arch
}

/// Where the `-` before the feature stands that `name` ends in.
fn feature_before(name: &[u8]) -> Option<usize> {
    let stem = name.strip_suffix(b"+").or_else(|| name.strip_suffix(b"-"))?;
    let feature = FEATURES.iter().find(|feature| stem.ends_with(feature))?;
    let at = stem.len().checked_sub(feature.len() + 1)?;
    (stem[at] == b'-' && at > 0).then_some(at)
}

/// A component without the `%XX` that `extract` writes; any other `%` is left as it is.
fn unescape(part: &[u8]) -> Vec<u8> {
    if part == b"%2E" || part == b"%2E%2E" {
        return vec![b'.'; part.len() / 3];
    }
    let mut name = Vec::with_capacity(part.len());
    let mut rest = part;
    while let [first, tail @ ..] = rest {
        let code = match rest {
            [b'%', high, low, ..] => digit(*high).zip(digit(*low)).map(|(h, l)| h << 4 | l),
            _ => None,
        };
        match code.filter(|code| matches!(code, b'/' | b'\\' | 0..=0x1f | 0x7f)) {
            Some(code) => {
                name.push(code);
                rest = &rest[3..];
            }
            None => {
                name.push(*first);
                rest = tail;
            }
        }
    }
    name
}

/// The digits that `extract` writes.
fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'A'..=b'F' => Some(c - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kpack::paths::Paths;

    #[test]
    fn extracted_names_come_back() {
        for key in [
            "lib/librocblas.so.5#0",
            "fmha_v3_fwd/MI300/x.co",
            "/etc/passwd",
            "//x",
            "../../etc",
            "a/../b",
            "./.",
            "..",
            "...",
            "a//b",
            "a/",
            "a//",
            "/",
            "",
            "rocm\\a",
            "a\0b\nc\u{1b}[m\u{7f}",
            "größe",
            "50%",
            "a%41",
            "x.hsaco",
        ] {
            for target in ["gfx906", "gfx90a:xnack-", "gfx942:sramecc+:xnack-", "gfx9-4-generic"] {
                let kernel = (target.as_bytes(), key.as_bytes(), Some(&b"hsaco"[..]));
                let parts: Vec<Vec<u8>> =
                    Paths::plan([kernel].into_iter()).get(0).iter().map(|p| p.to_vec()).collect();
                let planned = planned(&parts, PathBuf::new());
                assert_eq!(
                    planned.binary.escape_ascii().to_string(),
                    key.as_bytes().escape_ascii().to_string()
                );
                assert_eq!(planned.arch, target.as_bytes());
            }
        }
    }

    #[test]
    fn architectures() {
        for (folder, name) in [
            ("gfx90a-xnack-", "gfx90a:xnack-"),
            ("gfx942-sramecc+-xnack-", "gfx942:sramecc+:xnack-"),
            ("gfx9-4-generic-xnack+", "gfx9-4-generic:xnack+"),
            ("gfx90a:xnack-", "gfx90a:xnack-"),
            ("-xnack-", "-xnack-"),
            ("xnack-", "xnack-"),
            ("gfx90a-xnack", "gfx90a-xnack"),
            ("gfx90a-other+", "gfx90a-other+"),
        ] {
            assert_eq!(arch(folder.as_bytes()), name.as_bytes(), "{folder}");
        }
    }

    #[test]
    fn paths_are_in_byte_order_and_strays_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        for path in ["g2/a", "g1/b/c.hsaco", "g1/b-.hsaco", "g1/b.hsaco", "g1/.rocload-1-1.tmp"] {
            put(path);
        }
        let read = |dir| {
            read(dir).map(|found| {
                found
                    .into_iter()
                    .map(|k| String::from_utf8([&k.arch[..], b" ", &k.binary].concat()).unwrap())
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(read(dir.path()).unwrap(), ["g1 b-", "g1 b", "g1 b/c", "g2 a"]);
        std::os::unix::fs::symlink(dir.path(), dir.path().join("g2/up")).unwrap();
        assert!(read(dir.path()).unwrap_err().message.contains("not followed"));
        fs::remove_file(dir.path().join("g2/up")).unwrap();
        put("stray");
        assert!(read(dir.path()).unwrap_err().message.contains("no architecture"));
    }
}

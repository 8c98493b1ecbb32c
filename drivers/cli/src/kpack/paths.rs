//! Where the kernels of an archive go below a folder: `<arch>/<binary>.<kind>`.
//!
//! Names in archives are arbitrary bytes and may be hostile, so each is made a path of plain
//! components: `:` becomes `-`; a `/` that would begin, end or double a separator, a component
//! that is `.` or `..`, `\`, NUL and other control characters are written as `%` and two
//! hexadecimal digits. A component that a file system has no room for is cut and ends in a part
//! of its SHA-256, and folders nest no deeper than [`DEEPEST`].
//!
//! That is not one to one, so the paths of all kernels are planned together: one that another
//! kernel has taken, or that is a folder of another, gets `~2`, `~3` and so on before its
//! suffix. The plan is that of the whole archive, whatever is extracted of it, so a second run
//! finds the files of the first.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use sha2::{Digest, Sha256};

use crate::text::hex;

/// Length of a component in bytes, at most.
const LONGEST: usize = 255;
/// Room in the last component for `~` and a number.
const NUMBER: usize = 12;
/// Folders of a name, at most: the rest of it stays in one component.
const DEEPEST: usize = 64;

/// The paths of an archive's kernels, by the order in which they were planned.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Number of folder and component that a name there has.
    tree: HashMap<(u32, Vec<u8>), Node>,
    /// Parent folder and component of each folder; the first is the root.
    folders: Vec<(u32, Vec<u8>)>,
    files: Vec<(u32, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    /// The folder's number; `None` for a file.
    folder: Option<u32>,
    /// The number to try next for a file that would have this name.
    next: u32,
}

impl Paths {
    /// Plans the paths of kernels, given as (arch, binary, kind).
    pub(crate) fn plan<'a, I>(kernels: I) -> Paths
    where
        I: Iterator<Item = (&'a [u8], &'a [u8], Option<&'a [u8]>)> + Clone,
    {
        let folders = vec![(0, Vec::new())];
        let mut paths = Paths { tree: HashMap::new(), folders, files: Vec::new() };
        // All folders first: a file never takes the name of a folder that a later kernel needs.
        let named: Vec<(u32, Vec<u8>, Vec<u8>)> = kernels
            .map(|(arch, binary, kind)| {
                let mut parts = components(arch);
                parts.extend(components(binary));
                let stem = parts.pop().unwrap_or_default();
                let mut folder = 0;
                for part in parts {
                    folder = paths.folder(folder, shortened(part, LONGEST));
                }
                let suffix = suffix(kind);
                (folder, shortened(stem, LONGEST - NUMBER - suffix.len()), suffix)
            })
            .collect();
        for (folder, stem, suffix) in named {
            let name = paths.free_name(folder, &stem, &suffix);
            paths.files.push((folder, name));
        }
        paths
    }

    /// The components of the path of the kernel with this number in the plan.
    pub(crate) fn get(&self, number: usize) -> Vec<&[u8]> {
        let (mut folder, name) = (self.files[number].0, &self.files[number].1);
        let mut path: Vec<&[u8]> = vec![name];
        while folder != 0 {
            let (parent, name) = &self.folders[folder as usize];
            path.push(name);
            folder = *parent;
        }
        path.reverse();
        path
    }

    fn folder(&mut self, parent: u32, name: Vec<u8>) -> u32 {
        let new = self.folders.len() as u32;
        match self.tree.entry((parent, name)) {
            Slot::Occupied(slot) => slot.get().folder.unwrap_or(0),
            Slot::Vacant(slot) => {
                self.folders.push(slot.key().clone());
                slot.insert(Node { folder: Some(new), next: 2 });
                new
            }
        }
    }

    fn free_name(&mut self, folder: u32, stem: &[u8], suffix: &[u8]) -> Vec<u8> {
        let plain = [stem, suffix].concat();
        let taken = self.tree.get(&(folder, plain.clone())).map(|node| node.next);
        let Some(mut number) = taken else {
            return self.take(folder, plain);
        };
        loop {
            let name = [stem, b"~", number.to_string().as_bytes(), suffix].concat();
            number += 1;
            if !self.tree.contains_key(&(folder, name.clone())) {
                if let Some(node) = self.tree.get_mut(&(folder, plain)) {
                    node.next = number;
                }
                return self.take(folder, name);
            }
        }
    }

    fn take(&mut self, folder: u32, name: Vec<u8>) -> Vec<u8> {
        self.tree.insert((folder, name.clone()), Node { folder: None, next: 2 });
        name
    }
}

/// Makes a name plain components, at least one and none empty.
fn components(name: &[u8]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut part = Vec::new();
    for &byte in name {
        match byte {
            b'/' if !part.is_empty() && parts.len() < DEEPEST => {
                parts.push(std::mem::take(&mut part));
            }
            b':' => part.push(b'-'),
            b'/' | b'\\' | 0..=0x1f | 0x7f => escape(&mut part, byte),
            _ => part.push(byte),
        }
    }
    match parts.last_mut() {
        // The name ends in a separator.
        Some(last) if part.is_empty() => escape(last, b'/'),
        None if part.is_empty() => parts.push(b"%".to_vec()),
        _ => parts.push(part),
    }
    for part in &mut parts {
        if part == b"." || part == b".." {
            *part = part.iter().flat_map(|_| *b"%2E").collect();
        }
    }
    parts
}

fn escape(part: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    part.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Cuts a component to `room` bytes, its last ones then a part of its SHA-256.
fn shortened(part: Vec<u8>, room: usize) -> Vec<u8> {
    if part.len() <= room {
        return part;
    }
    let mark = format!("~{}", hex(&Sha256::digest(&part)[..8]));
    let mut cut = room - mark.len();
    // Not inside a character of UTF-8.
    while cut > 0 && part[cut] & 0xc0 == 0x80 {
        cut -= 1;
    }
    [&part[..cut], mark.as_bytes()].concat()
}

/// `.hsaco` for that kind, and so for any that is a short word.
fn suffix(kind: Option<&[u8]>) -> Vec<u8> {
    let word = |kind: &&[u8]| {
        (1..=16).contains(&kind.len())
            && kind.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_' || *c == b'-')
    };
    kind.filter(word).map_or_else(Vec::new, |kind| [b".", kind].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn plan(kernels: &[(&str, &str)]) -> Vec<String> {
        let kernels = kernels
            .iter()
            .map(|(arch, binary)| (arch.as_bytes(), binary.as_bytes(), Some(&b"hsaco"[..])));
        let paths = Paths::plan(kernels.clone());
        let text = |number| String::from_utf8(paths.get(number).join(&b'/')).unwrap();
        (0..kernels.len()).map(text).collect()
    }

    #[test]
    fn names_become_plain_components() {
        for (binary, path) in [
            ("lib/librocblas.so.5#0", "lib/librocblas.so.5#0"),
            ("a:b", "a-b"),
            ("/etc/passwd", "%2Fetc/passwd"),
            ("//x", "%2F/x"),
            ("../../etc", "%2E%2E/%2E%2E/etc"),
            ("a/../b", "a/%2E%2E/b"),
            ("./.", "%2E/%2E"),
            ("..", "%2E%2E"),
            ("...", "..."),
            ("a//b", "a/%2Fb"),
            ("a/", "a%2F"),
            ("a//", "a/%2F"),
            ("/", "%2F"),
            ("", "%"),
            ("C:\\rocm\\a", "C-%5Crocm%5Ca"),
            ("a\0b\nc\u{1b}[m\u{7f}", "a%00b%0Ac%1B[m%7F"),
            ("größe", "größe"),
        ] {
            assert_eq!(plan(&[("gfx90a:xnack-", binary)]), [format!("gfx90a-xnack-/{path}.hsaco")]);
        }
        assert_eq!(plan(&[("../../x", "a")]), ["%2E%2E/%2E%2E/x/a.hsaco"]);
    }

    #[test]
    fn kernels_never_share_a_path() {
        let kernels = [
            ("g", "a:b"),
            ("g", "a-b"),
            ("g", "a-b~2"),
            ("g", "x"),
            ("g", "x.hsaco/y"),
            ("g", "x.hsaco/y/z"),
            ("g", "x.hsaco/y.hsaco/z"),
            ("g/x.hsaco", "y"),
            ("g", ".."),
            ("g", "%2E%2E"),
        ];
        assert_eq!(
            plan(&kernels),
            [
                "g/a-b.hsaco",
                "g/a-b~2.hsaco",
                "g/a-b~2~2.hsaco",
                "g/x~2.hsaco",
                "g/x.hsaco/y~2.hsaco",
                "g/x.hsaco/y/z.hsaco",
                "g/x.hsaco/y.hsaco/z.hsaco",
                "g/x.hsaco/y~3.hsaco",
                "g/%2E%2E.hsaco",
                "g/%2E%2E~2.hsaco",
            ]
        );
    }

    #[test]
    fn many_of_one_name() {
        let kernels: Vec<(&str, &str)> =
            ["a:b", "a-b"].into_iter().cycle().map(|b| ("g", b)).take(5000).collect();
        let paths = plan(&kernels);
        assert_eq!(paths[4999], "g/a-b~5000.hsaco");
        assert_eq!(paths.iter().collect::<HashSet<_>>().len(), 5000);
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let (a, b) = (format!("{}ä1", "k".repeat(4090)), format!("{}ä2", "k".repeat(4090)));
        let deep = "d/".repeat(2000) + "x";
        let umlauts = "ä".repeat(2000);
        let paths = plan(&[("g", &a), ("g", &b), (&a, "x"), ("g", &deep), ("g", &umlauts)]);
        assert_eq!(paths.iter().collect::<HashSet<_>>().len(), 5);
        for path in &paths {
            assert!(
                path.split('/').all(|part| !part.is_empty() && part.len() <= LONGEST),
                "{path}"
            );
            assert!(path.split('/').count() <= 2 * DEEPEST + 2);
            assert!(path.ends_with(".hsaco"));
        }
    }

    #[test]
    fn suffixes_are_words() {
        for (kind, expected) in [
            (Some(&b"hsaco"[..]), ".hsaco"),
            (Some(b"spv_1-2"), ".spv_1-2"),
            (Some(b"../x"), ""),
            (Some(b""), ""),
            (Some(b"seventeen_letters"), ""),
            (None, ""),
        ] {
            assert_eq!(suffix(kind), expected.as_bytes());
        }
    }
}

//! A path to try, in pieces that are borrowed from where they stand.

use core::fmt;

use super::list::unescaped;
use crate::error::Full;
use crate::kpack::target::{Candidate, lossy};

/// What stands for an architecture in an embedded path.
pub const PLACEHOLDER: &str = "@GFXARCH@";

/// Where a path comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The list that replaces all others (`ROCM_KPACK_PATH`).
    Override,
    /// The list that goes before the embedded paths (`ROCM_KPACK_PATH_PREFIX`).
    Prefix,
    /// The binary's reference metadata, seen from the binary's folder.
    Embedded,
    /// The same, seen from the folder of the file that the binary is a symbolic link to.
    Linked,
}

impl Origin {
    /// The word for it: `override`, `prefix`, `embedded` or `linked`.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Override => "override",
            Origin::Prefix => "prefix",
            Origin::Embedded => "embedded",
            Origin::Linked => "linked",
        }
    }
}

/// A path of an archive, to be opened as a file. Names are bytes.
///
/// [`Display`](fmt::Display) shows bytes that are not UTF-8 as U+FFFD; the other methods are
/// exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location<'a> {
    pub(super) origin: Origin,
    pub(super) folder: &'a [u8],
    pub(super) before: &'a [u8],
    pub(super) target: Option<Candidate<'a>>,
    pub(super) dashed: bool,
    pub(super) after: &'a [u8],
}

impl<'a> Location<'a> {
    /// A piece of a list, escapes and all.
    pub(super) const fn listed(origin: Origin, text: &'a [u8]) -> Self {
        Location { origin, folder: &[], before: text, target: None, dashed: false, after: &[] }
    }

    /// Where the path comes from.
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// The architecture that stands for the placeholder.
    pub const fn target(&self) -> Option<Candidate<'a>> {
        self.target
    }

    fn pieces(&self, put: &mut impl FnMut(&[u8])) {
        if matches!(self.origin, Origin::Override | Origin::Prefix) {
            return unescaped(self.before, put);
        }
        put(self.folder);
        if self.folder.last().is_some_and(|&byte| byte != b'/') {
            put(b"/");
        }
        put(self.before);
        if let Some(target) = self.target {
            put(target.processor());
            for feature in target.features() {
                put(if self.dashed { b"-" } else { b":" });
                put(feature);
            }
        }
        put(self.after);
    }

    /// The path's length, in bytes.
    #[expect(clippy::len_without_is_empty, reason = "an empty path is a path that is not there")]
    pub fn len(&self) -> usize {
        let mut len = 0;
        self.pieces(&mut |piece| len += piece.len());
        len
    }

    /// Writes the path to the front of `dst` and returns what was written.
    ///
    /// # Errors
    /// [`Full`] with the path's length, having written nothing.
    pub fn write_to<'d>(&self, dst: &'d mut [u8]) -> Result<&'d [u8], Full> {
        let need = self.len();
        let Some(dst) = dst.get_mut(..need) else {
            return Err(Full { need: need as u64 });
        };
        let mut at = 0;
        self.pieces(&mut |piece| {
            dst[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
        Ok(dst)
    }

    /// The path.
    #[cfg(feature = "alloc")]
    pub fn to_vec(&self) -> alloc::vec::Vec<u8> {
        let mut path = alloc::vec::Vec::with_capacity(self.len());
        self.pieces(&mut |piece| path.extend_from_slice(piece));
        path
    }
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut result = Ok(());
        self.pieces(&mut |piece| result = result.and_then(|()| lossy(f, piece)));
        result
    }
}

/// The folder that a path names a file in; empty for a bare name.
pub(super) fn folder_of(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        None => &[],
        Some(0) => &path[..1],
        Some(at) => &path[..at],
    }
}

/// An embedded path around its first placeholder.
pub(super) fn around(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = path.windows(PLACEHOLDER.len()).position(|piece| piece == PLACEHOLDER.as_bytes())?;
    Some((&path[..at], &path[at + PLACEHOLDER.len()..]))
}

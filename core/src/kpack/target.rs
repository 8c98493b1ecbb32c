//! Target IDs, and the keys under which an archive may hold code for one.
//!
//! A device names itself by an ISA such as `amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`. Code for
//! it is stored under that target ID or under one with fewer features, tried from the most
//! special to the bare processor:
//!
//! 1. The prefix `amdgcn-amd-amdhsa--` is removed from a longer string.
//! 2. The rest is split at `:`. The first piece is the processor, the others are features;
//!    empty features are dropped. Without a processor there is no candidate.
//! 3. Of *n* features, sets are kept in the descending order of a bit mask whose highest bit is
//!    the first feature: for `a`, `b`, `c` that is abc, ab, ac, a, bc, b, c, none.
//! 4. A feature is only ever dropped: never flipped, moved or matched by pattern, and no other
//!    processor stands in.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::kpack::target::TargetId;
//!
//! let target = TargetId::parse("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", &Limits::default())?;
//! assert_eq!(target.processor(), b"gfx942");
//! let names: Vec<String> = target.candidates().map(|candidate| candidate.to_string()).collect();
//! assert_eq!(names, ["gfx942:sramecc+:xnack-", "gfx942:sramecc+", "gfx942:xnack-", "gfx942"]);
//!
//! let stored = [&b"gfx90a"[..], b"gfx942"];
//! let found = target.candidates().find(|candidate| stored.iter().any(|key| candidate.matches(key)));
//! assert_eq!(found.unwrap().to_string(), "gfx942");
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: kpack format, section 4.

use core::fmt;

use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};

/// The most features that a target ID can have here; [`Limits::target_features`] may be lower.
pub const MAX_FEATURES: usize = 6;

/// What an ISA name has in front of its target ID.
pub const PREFIX: &str = "amdgcn-amd-amdhsa--";

/// A target ID, borrowed from the string it was parsed from.
///
/// Names are bytes: a key need not be UTF-8, and lookups compare bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetId<'a> {
    processor: &'a [u8],
    features: [&'a [u8]; MAX_FEATURES],
    count: u8,
}

impl<'a> TargetId<'a> {
    /// Splits an ISA name or target ID, a `str` or bytes. Nothing is validated but the number
    /// of features: an unknown processor is as good a key as a known one.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] with [`Cap::TargetFeatures`], at the offset of the first feature
    /// that is too many.
    pub fn parse<T: AsRef<[u8]> + ?Sized>(id: &'a T, limits: &Limits) -> Result<Self, Error> {
        let id = id.as_ref();
        let rest = match id.strip_prefix(PREFIX.as_bytes()) {
            Some(rest) if !rest.is_empty() => rest,
            _ => id,
        };
        let limit = usize::from(limits.target_features).min(MAX_FEATURES);
        let mut pieces = rest.split(|&byte| byte == b':');
        let processor = pieces.next().unwrap_or(rest);
        let mut offset = id.len() - rest.len() + processor.len();

        let mut features: [&'a [u8]; MAX_FEATURES] = [&[]; MAX_FEATURES];
        let (mut found, mut too_many_at) = (0usize, None);
        for piece in pieces {
            offset += 1;
            if !piece.is_empty() {
                if found < limit {
                    features[found] = piece;
                } else {
                    too_many_at.get_or_insert(offset);
                }
                found += 1;
            }
            offset += piece.len();
        }
        if let Some(offset) = too_many_at {
            let (value, limit) = (found as u64, limit as u64);
            let kind = ErrorKind::Limit { cap: Cap::TargetFeatures, value, limit };
            return Err(Error::new(kind, offset as u64));
        }
        Ok(TargetId { processor, features, count: found as u8 })
    }

    /// The processor, such as `gfx90a`; empty when the string has none.
    pub const fn processor(&self) -> &'a [u8] {
        self.processor
    }

    /// The features with their signs, such as `xnack-`, in the string's order.
    pub fn features(&self) -> &[&'a [u8]] {
        &self.features[..usize::from(self.count)]
    }

    /// The generic target that covers this one, if there is one, with the features sramecc and
    /// xnack of this one, in that order.
    pub fn generic(&self) -> Option<Generic<'a>> {
        let processor = generic(self.processor)?;
        let with = |name: &[u8]| {
            let of = |feature: &&&[u8]| feature.split_last().is_some_and(|(_, is)| is == name);
            self.features().iter().find(of).copied()
        };
        Some(Generic { processor, features: [with(b"sramecc"), with(b"xnack")] })
    }

    /// The keys to look for, in order: 2^features of them, or none without a processor.
    pub const fn candidates(&self) -> Candidates<'a> {
        let left = if self.processor.is_empty() { 0 } else { 1 << self.count };
        Candidates { id: *self, left }
    }
}

/// The name of the generic target that covers a processor; `None` where there is none, as for
/// gfx908 and gfx90a.
pub const fn generic(processor: &[u8]) -> Option<&'static str> {
    Some(match processor {
        b"gfx900" | b"gfx902" | b"gfx904" | b"gfx906" | b"gfx909" | b"gfx90c" => "gfx9-generic",
        b"gfx940" | b"gfx941" | b"gfx942" | b"gfx950" => "gfx9-4-generic",
        b"gfx1010" | b"gfx1011" | b"gfx1012" | b"gfx1013" => "gfx10-1-generic",
        b"gfx1030" | b"gfx1031" | b"gfx1032" | b"gfx1033" | b"gfx1034" | b"gfx1035"
        | b"gfx1036" => "gfx10-3-generic",
        b"gfx1100" | b"gfx1101" | b"gfx1102" | b"gfx1103" | b"gfx1150" | b"gfx1151"
        | b"gfx1152" | b"gfx1153" => "gfx11-generic",
        b"gfx1200" | b"gfx1201" => "gfx12-generic",
        b"gfx1250" => "gfx12-5-generic",
        _ => return None,
    })
}

/// What a HIP runtime asks an archive for on behalf of an agent: its own ISA, then the generic
/// target that covers it.
///
/// ```
/// use rocload_core::Limits;
/// use rocload_core::kpack::target::agent_targets;
///
/// let targets = agent_targets("amdgcn-amd-amdhsa--gfx942:xnack-:sramecc+", &Limits::default())?;
/// assert_eq!(targets, [
///     &b"amdgcn-amd-amdhsa--gfx942:xnack-:sramecc+"[..],
///     b"gfx9-4-generic:sramecc+:xnack-",
/// ]);
/// # Ok::<(), rocload_core::Error>(())
/// ```
///
/// # Errors
/// As [`TargetId::parse`].
#[cfg(feature = "alloc")]
pub fn agent_targets<T: AsRef<[u8]> + ?Sized>(
    isa: &T,
    limits: &Limits,
) -> Result<alloc::vec::Vec<alloc::vec::Vec<u8>>, Error> {
    let mut targets = alloc::vec![isa.as_ref().to_vec()];
    targets.extend(TargetId::parse(isa, limits)?.generic().map(|generic| generic.to_vec()));
    Ok(targets)
}

/// A generic target with features, as `gfx9-4-generic:sramecc+:xnack-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generic<'a> {
    processor: &'static str,
    features: [Option<&'a [u8]>; 2],
}

impl<'a> Generic<'a> {
    /// The processor.
    pub const fn processor(&self) -> &'static str {
        self.processor
    }

    /// The features.
    pub fn features(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.features.into_iter().flatten()
    }

    /// The name's length, in bytes; never 0.
    #[expect(clippy::len_without_is_empty, reason = "it has a processor")]
    pub fn len(&self) -> usize {
        self.processor.len() + self.features().map(|feature| 1 + feature.len()).sum::<usize>()
    }

    /// Writes the name to the front of `dst` and returns what was written.
    ///
    /// # Errors
    /// [`Full`] with the name's length, having written nothing.
    pub fn write_to<'d>(&self, dst: &'d mut [u8]) -> Result<&'d [u8], Full> {
        let need = self.len();
        let Some(dst) = dst.get_mut(..need) else {
            return Err(Full { need: need as u64 });
        };
        put(dst, self.processor.as_bytes(), self.features());
        Ok(dst)
    }

    /// The name.
    #[cfg(feature = "alloc")]
    pub fn to_vec(&self) -> alloc::vec::Vec<u8> {
        let mut name = alloc::vec![0; self.len()];
        put(&mut name, self.processor.as_bytes(), self.features());
        name
    }
}

impl fmt::Display for Generic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.processor)?;
        for feature in self.features() {
            f.write_str(":")?;
            lossy(f, feature)?;
        }
        Ok(())
    }
}

/// Fills `dst`, which is as long as all of it, with a processor and features.
fn put<'a>(dst: &mut [u8], processor: &[u8], features: impl Iterator<Item = &'a [u8]>) {
    let (head, mut rest) = dst.split_at_mut(processor.len());
    head.copy_from_slice(processor);
    for feature in features {
        let (head, tail) = rest.split_at_mut(1 + feature.len());
        head[0] = b':';
        head[1..].copy_from_slice(feature);
        rest = tail;
    }
}

/// The keys under which code for a target may be stored. See the module's text.
#[derive(Debug, Clone)]
pub struct Candidates<'a> {
    id: TargetId<'a>,
    /// The mask of the next candidate, plus one.
    left: u8,
}

impl<'a> Iterator for Candidates<'a> {
    type Item = Candidate<'a>;

    fn next(&mut self) -> Option<Candidate<'a>> {
        let mask = self.left.checked_sub(1)?;
        self.left = mask;
        Some(Candidate { id: self.id, mask })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.left);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Candidates<'_> {}
impl core::iter::FusedIterator for Candidates<'_> {}

/// One key: the processor with some of the features, as `processor:feature:feature`.
///
/// [`Display`](fmt::Display) shows bytes that are not UTF-8 as U+FFFD; the other methods are
/// exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    id: TargetId<'a>,
    mask: u8,
}

impl<'a> Candidate<'a> {
    /// The processor.
    pub const fn processor(&self) -> &'a [u8] {
        self.id.processor
    }

    /// The features that are kept.
    pub fn features(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let Candidate { id, mask } = *self;
        (0..id.count)
            .filter(move |i| mask >> (id.count - 1 - i) & 1 != 0)
            .map(move |i| id.features[usize::from(i)])
    }

    /// The key's length, in bytes; never 0.
    #[expect(clippy::len_without_is_empty, reason = "a candidate has a processor")]
    pub fn len(&self) -> usize {
        self.processor().len() + self.features().map(|feature| 1 + feature.len()).sum::<usize>()
    }

    /// Whether `key` is this key, byte for byte.
    pub fn matches(&self, key: &[u8]) -> bool {
        let Some(mut rest) = key.strip_prefix(self.processor()) else {
            return false;
        };
        for feature in self.features() {
            match rest.strip_prefix(b":").and_then(|rest| rest.strip_prefix(feature)) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// Writes the key to the front of `dst` and returns what was written.
    ///
    /// # Errors
    /// [`Full`] with the key's length, having written nothing.
    pub fn write_to<'d>(&self, dst: &'d mut [u8]) -> Result<&'d [u8], Full> {
        let need = self.len();
        let Some(dst) = dst.get_mut(..need) else {
            return Err(Full { need: need as u64 });
        };
        put(dst, self.processor(), self.features());
        Ok(dst)
    }

    /// Whether `target` has this candidate too.
    pub fn is_of(&self, target: &TargetId<'_>) -> bool {
        let mut has = target.features().iter();
        self.processor() == target.processor
            && self.features().all(|feature| has.any(|other| *other == feature))
    }
}

impl fmt::Display for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lossy(f, self.processor())?;
        for feature in self.features() {
            f.write_str(":")?;
            lossy(f, feature)?;
        }
        Ok(())
    }
}

pub(super) fn lossy(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for chunk in bytes.utf8_chunks() {
        f.write_str(chunk.valid())?;
        if !chunk.invalid().is_empty() {
            f.write_str("\u{fffd}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    fn parse(id: &str) -> TargetId<'_> {
        TargetId::parse(id, &Limits::default()).unwrap()
    }

    fn candidates(id: &str) -> Vec<String> {
        parse(id).candidates().map(|candidate| candidate.to_string()).collect()
    }

    #[test]
    fn the_table_of_the_format() {
        for (isa, wanted) in [
            ("gfx1201", &["gfx1201"][..]),
            (
                "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
                &["gfx942:sramecc+:xnack-", "gfx942:sramecc+", "gfx942:xnack-", "gfx942"],
            ),
            (
                "gfx90a:xnack-:sramecc+",
                &["gfx90a:xnack-:sramecc+", "gfx90a:xnack-", "gfx90a:sramecc+", "gfx90a"],
            ),
            ("gfx90a", &["gfx90a"]),
            ("gfx90a::xnack-", &["gfx90a:xnack-", "gfx90a"]),
            ("gfx90a:xnack-::", &["gfx90a:xnack-", "gfx90a"]),
            ("", &[]),
            (":xnack-", &[]),
            ("amdgcn-amd-amdhsa--:xnack-", &[]),
            // Not longer than the prefix: nothing is removed.
            ("amdgcn-amd-amdhsa--", &["amdgcn-amd-amdhsa--"]),
            // Not that prefix.
            ("amdgcn-amd-amdpal--gfx900", &["amdgcn-amd-amdpal--gfx900"]),
        ] {
            assert_eq!(candidates(isa), wanted, "{isa:?}");
            assert_eq!(parse(isa).candidates().len(), wanted.len());
        }
    }

    #[test]
    fn masks_descend_whatever_the_number_kept() {
        assert_eq!(
            candidates("p:a:b:c"),
            ["p:a:b:c", "p:a:b", "p:a:c", "p:a", "p:b:c", "p:b", "p:c", "p"]
        );
    }

    #[test]
    fn the_largest_number_of_features() {
        let all = candidates("p:a:b:c:d:e:f");
        assert_eq!(all.len(), 64);
        assert_eq!((&*all[0], &*all[62], &*all[63]), ("p:a:b:c:d:e:f", "p:f", "p"));

        let error = |id: &str, limits| TargetId::parse(id, limits).unwrap_err();
        let kind = |value, limit| ErrorKind::Limit { cap: Cap::TargetFeatures, value, limit };
        let default = Limits::default();
        assert_eq!(error("p:a:b:c:d::e:f:g:h", &default), Error::new(kind(8, 6), 15));
        let lower = Limits { target_features: 1, ..default };
        assert_eq!(error("amdgcn-amd-amdhsa--p:aa:b", &lower), Error::new(kind(2, 1), 24));
        let higher = Limits { target_features: 200, ..default };
        assert_eq!(error("p:a:b:c:d:e:f:g", &higher), Error::new(kind(7, 6), 14));
    }

    #[test]
    fn a_candidate_matches_its_own_bytes_alone() {
        let id = parse("gfx90a:xnack-:sramecc+");
        let names = candidates("gfx90a:xnack-:sramecc+");
        for (i, candidate) in id.candidates().enumerate() {
            for (j, name) in names.iter().enumerate() {
                assert_eq!(candidate.matches(name.as_bytes()), i == j, "{candidate} {name}");
            }
            for other in ["", "gfx90", "gfx90a:", "gfx90a:xnack", "gfx90a:sramecc+:xnack-"] {
                assert!(!candidate.matches(other.as_bytes()), "{candidate} {other}");
            }
        }
    }

    #[test]
    fn a_candidate_writes_itself_or_says_what_it_needs() {
        for candidate in parse("gfx90a:xnack-:sramecc+").candidates() {
            let name = candidate.to_string();
            assert_eq!(candidate.len(), name.len());
            let mut room = [0; 40];
            assert_eq!(candidate.write_to(&mut room), Ok(name.as_bytes()));
            let mut short = alloc::vec![7; name.len() - 1];
            assert_eq!(candidate.write_to(&mut short), Err(Full { need: name.len() as u64 }));
            assert!(short.iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn bytes_that_are_not_text() {
        let id = TargetId::parse(b"gfx\xff:x\xfe-", &Limits::default()).unwrap();
        let first = id.candidates().next().unwrap();
        assert!(first.matches(b"gfx\xff:x\xfe-"));
        assert_eq!(first.to_string(), "gfx\u{fffd}:x\u{fffd}-");
        assert_eq!(id.features(), [b"x\xfe-"]);
    }
}

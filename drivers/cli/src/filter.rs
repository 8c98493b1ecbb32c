//! Filters by binary and architecture.

use std::collections::HashSet;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use globset::{Glob, GlobMatcher};
use rocload::error::printable;

use crate::failure::{Failure, Status};

/// Which kernels a command is about: those that match one of the patterns of each kind.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct Filter {
    /// Only binaries that match GLOB, such as '*rocblas*'; may be repeated
    #[arg(long = "binary", value_name = "GLOB", value_parser = pattern())]
    binaries: Vec<Pattern>,
    /// Only architectures that match GLOB, such as 'gfx90a*'; may be repeated
    #[arg(long = "arch", value_name = "GLOB", value_parser = pattern())]
    arches: Vec<Pattern>,
}

/// Parses a pattern of the command line.
pub(crate) fn pattern() -> impl TypedValueParser<Value = Pattern> {
    OsStringValueParser::new().try_map(|text| Ok::<_, Infallible>(Pattern::new(text)))
}

/// A glob. `*` and `?` match any byte, `/` too; a name that equals the text matches as well, so
/// that a name can be pasted whatever is in it. Text that is no glob is a name alone.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    text: OsString,
    glob: Option<GlobMatcher>,
    matched: Arc<AtomicBool>,
}

impl Pattern {
    fn new(text: OsString) -> Pattern {
        let glob = text.to_str().and_then(|text| Glob::new(text).ok());
        let glob = glob.map(|glob| glob.compile_matcher());
        Pattern { text, glob, matched: Arc::default() }
    }

    /// The text as it was typed, byte for byte.
    pub(crate) fn name(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// It matched something.
    pub(crate) fn has_matched(&self) -> bool {
        self.matched.load(Ordering::Relaxed)
    }

    fn matches(&self, name: &[u8]) -> bool {
        let matches = self.name() == name
            || self
                .glob
                .as_ref()
                .is_some_and(|glob| glob.is_match(Path::new(OsStr::from_bytes(name))));
        if matches {
            self.matched.store(true, Ordering::Relaxed);
        }
        matches
    }
}

/// Every pattern is tried, so that each knows whether it ever matched.
pub(crate) fn any(patterns: &[Pattern], name: &[u8]) -> bool {
    patterns.iter().fold(patterns.is_empty(), |found, pattern| pattern.matches(name) || found)
}

impl Filter {
    /// Nothing is filtered out.
    pub(crate) fn is_empty(&self) -> bool {
        self.binaries.is_empty() && self.arches.is_empty()
    }

    pub(crate) fn binaries(&self) -> &[Pattern] {
        &self.binaries
    }

    pub(crate) fn arches(&self) -> &[Pattern] {
        &self.arches
    }

    pub(crate) fn matches(&self, binary: &[u8], arch: &[u8]) -> bool {
        // Both, always: see `any`.
        let binary = any(&self.binaries, binary);
        any(&self.arches, arch) && binary
    }

    /// What is wrong after all kernels were asked about and `found` of them matched: a pattern
    /// that matched nothing is a mistake, and so are patterns that no kernel matches together.
    /// `arches` are those that there are.
    pub(crate) fn verdict(&self, found: u64, arches: &[&[u8]]) -> Option<Failure> {
        let unmatched = |patterns: &[Pattern]| {
            patterns.iter().find(|pattern| !pattern.has_matched()).map(|p| printable(p.name()))
        };
        let no_match = |message| Failure::new(Status::NotFound, "no_match", message);
        if let Some(text) = unmatched(&self.arches) {
            let failure = no_match(format!("no architecture matches --arch {text}"));
            return Some(match arches {
                [] => failure,
                _ => failure.hint(format!("there are {}", listed(&once(arches)))),
            });
        }
        if let Some(text) = unmatched(&self.binaries) {
            let mut failure = no_match(format!("no binary matches --binary {text}"));
            if !text.contains(['*', '?', '[', '{']) {
                failure = failure.hint(format!("a part of a name needs stars: '*{text}*'"));
            }
            return Some(failure);
        }
        let none = found == 0 && !self.is_empty();
        none.then(|| no_match("no kernel matches both --binary and --arch".into()))
    }
}

/// Each name once, where it first stands.
fn once<'a>(names: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let mut seen = HashSet::new();
    names.iter().copied().filter(|name| seen.insert(*name)).collect()
}

/// Up to eight names in a row.
pub(crate) fn listed(names: &[&[u8]]) -> String {
    let mut text: Vec<String> = names.iter().take(8).map(|name| printable(name)).collect();
    if names.len() > 8 {
        text.push("...".into());
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(binaries: &[&str], arches: &[&str]) -> Filter {
        let make =
            |texts: &[&str]| texts.iter().map(|text| Pattern::new(text.into())).collect::<Vec<_>>();
        Filter { binaries: make(binaries), arches: make(arches) }
    }

    #[test]
    fn stars_cross_folders_and_names_are_themselves() {
        let stars = filter(&["*blas*"], &["gfx90a*"]);
        assert!(stars.matches(b"lib/librocblas.so#0", b"gfx90a:xnack-"));
        assert!(!stars.matches(b"lib/librocfft.so#0", b"gfx90a"));
        assert!(!stars.matches(b"lib/librocblas.so#0", b"gfx1030"));
        assert!(filter(&["a[1]"], &[]).matches(b"a[1]", b""), "as a name");
        assert!(filter(&["a[1]"], &[]).matches(b"a1", b""), "as a glob");
        assert!(filter(&["*"], &[]).matches(b"\xff\n", b""), "any byte");
        assert!(filter(&[], &[]).matches(b"", b""));
        assert!(filter(&["a["], &[]).matches(b"a[", b""), "no glob at all");
    }

    #[test]
    fn a_pattern_without_a_match_is_told() {
        let kernels: [(&[u8], &[u8]); 2] = [(b"a", b"gfx1"), (b"b", b"gfx2")];
        let ask = |filter: Filter| {
            let found = kernels.iter().filter(|(b, a)| filter.matches(b, a)).count();
            filter.verdict(found as u64, &[b"gfx1", b"gfx2"]).map(|failure| failure.message)
        };
        assert_eq!(ask(filter(&["a", "b"], &["gfx*"])), None);
        assert_eq!(ask(filter(&[], &[])), None);
        let arch = ask(filter(&["a"], &["gfx1", "gfx3"]));
        assert_eq!(arch.unwrap(), "no architecture matches --arch gfx3");
        assert_eq!(ask(filter(&["a", "z"], &[])).unwrap(), "no binary matches --binary z");
        let both = ask(filter(&["a"], &["gfx2"]));
        assert_eq!(both.unwrap(), "no kernel matches both --binary and --arch");
    }
}

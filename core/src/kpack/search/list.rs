//! A list of paths in one string, as environment variables hold them.

use core::ops::Range;

/// Paths separated by `:`. Empty items are dropped; `\:` is a colon that separates nothing.
///
/// Names of archives have colons themselves, as `torch_gfx90a:xnack-.kpack`, so that what stands
/// between two separators may be but a piece of a path: a search tries the longest run of
/// consecutive items that exists as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathList<'a>(&'a [u8]);

impl<'a> PathList<'a> {
    /// A list as it stands in the environment.
    pub const fn new(text: &'a [u8]) -> Self {
        PathList(text)
    }

    /// There is no item: the list is as good as unset.
    pub fn is_empty(&self) -> bool {
        self.next(0).is_none()
    }

    /// The text as given.
    pub const fn text(&self) -> &'a [u8] {
        self.0
    }

    /// Where the first item at or after `from` stands.
    fn next(&self, from: usize) -> Option<Range<usize>> {
        let text = self.0;
        let start = from + text.get(from..)?.iter().position(|&byte| byte != b':')?;
        let mut end = start;
        while let Some(&byte) = text.get(end) {
            match byte {
                b':' => break,
                b'\\' if text.get(end + 1) == Some(&b':') => end += 2,
                _ => end += 1,
            }
        }
        Some(start..end)
    }

    /// Where `items` consecutive items at or after `from` stand, or as many as there are, and how
    /// many these are. `None` where there is none.
    pub(super) fn run(&self, from: usize, items: usize) -> Option<(Range<usize>, usize)> {
        let mut run = self.next(from)?;
        let mut count = 1;
        while count < items
            && let Some(next) = self.next(run.end)
        {
            run.end = next.end;
            count += 1;
        }
        Some((run, count))
    }

    /// The number of items at or after `from`.
    pub(super) fn count(&self, mut from: usize) -> u32 {
        let mut count = 0u32;
        while let Some(item) = self.next(from) {
            count = count.saturating_add(1);
            from = item.end;
        }
        count
    }
}

/// Shows the pieces of a path from a list, its escapes undone.
pub(super) fn unescaped(mut text: &[u8], put: &mut impl FnMut(&[u8])) {
    while let Some(at) = text.windows(2).position(|pair| pair == b"\\:") {
        put(&text[..at]);
        put(b":");
        text = &text[at + 2..];
    }
    put(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn items(text: &[u8]) -> Vec<Vec<u8>> {
        let list = PathList::new(text);
        let (mut from, mut items) = (0, Vec::new());
        while let Some((run, 1)) = list.run(from, 1) {
            let mut item = Vec::new();
            unescaped(&text[run.clone()], &mut |piece| item.extend_from_slice(piece));
            items.push(item);
            from = run.end;
        }
        assert_eq!(list.count(0) as usize, items.len());
        assert_eq!(list.is_empty(), items.is_empty());
        items
    }

    #[test]
    fn colons_separate_and_escaped_ones_do_not() {
        assert_eq!(items(b""), [b""; 0]);
        assert_eq!(items(b":::"), [b""; 0]);
        assert_eq!(items(b":a::b:"), [b"a", b"b"]);
        assert_eq!(items(b"a\\:b:c"), [&b"a:b"[..], b"c"]);
        assert_eq!(items(b"\\:"), [b":"]);
        assert_eq!(items(b"a\\b\\"), [b"a\\b\\"]);
        assert_eq!(items(b"a\\\\:b"), [b"a\\:b"]);
    }

    #[test]
    fn a_run_is_the_text_as_it_stands() {
        let list = PathList::new(b":a::b:c");
        assert_eq!(list.run(0, 2), Some((1..5, 2)));
        assert_eq!(list.run(0, 9), Some((1..7, 3)));
        assert_eq!(list.run(5, 9), Some((6..7, 1)));
        assert_eq!(list.run(7, 9), None);
        assert_eq!(list.count(2), 2);
    }
}

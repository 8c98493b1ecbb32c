//! A page to draw on.

use std::fmt::Write as _;

/// Ours, when it is better; its lines.
pub(super) const GOOD: &str = "#1f7a8c";
/// Ours, when it is worse.
pub(super) const BAD: &str = "#c2571a";
/// What is read.
pub(super) const INK: &str = "#1c2833";
/// What is read second.
pub(super) const SOFT: &str = "#5d6d7e";
/// What guides the eye.
pub(super) const GRID: &str = "#dfe5ea";

/// About how wide a letter is, in sizes of the font: none of the fonts named is wider on average.
const LETTER: f64 = 0.55;

/// Where a text stands to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A page that grows.
#[derive(Debug)]
pub(super) struct Page {
    width: f64,
    height: f64,
    body: String,
}

impl Page {
    pub(super) fn new(width: f64, height: f64) -> Page {
        Page { width, height, body: String::new() }
    }

    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], colour: &str, wide: f64) {
        let ([x1, y1], [x2, y2]) = (from, to);
        let _ = writeln!(
            self.body,
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}" stroke-width="{wide}"/>"#
        );
    }

    pub(super) fn path(&mut self, points: &[[f64; 2]], colour: &str, wide: f64) {
        let points: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            self.body,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{wide}" stroke-linejoin="round"/>"#,
            points.join(" ")
        );
    }

    pub(super) fn dot(&mut self, [x, y]: [f64; 2], colour: &str) {
        let _ = writeln!(
            self.body,
            r##"<circle cx="{x:.1}" cy="{y:.1}" r="3.6" fill="{colour}" stroke="#ffffff" stroke-width="1.2"/>"##
        );
    }

    pub(super) fn bar(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], colour: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
        );
    }

    /// A line of text whose baseline is at the point.
    pub(super) fn text(
        &mut self,
        [x, y]: [f64; 2],
        text: &str,
        (size, colour, bold): (f64, &str, bool),
        anchor: Anchor,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if bold { r#" font-weight="600""# } else { "" };
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>{}</text>"#,
            escape(text)
        );
    }

    /// The file.
    pub(super) fn finish(self, title: &str) -> String {
        let Page { width, height, body } = self;
        let title = escape(title);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="{title}" font-family="'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif">
<title>{title}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
{body}</svg>
"##
        )
    }
}

/// About how wide a text is.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * LETTER
}

/// The text in lines of at most that width, broken at blanks, and of about one length.
pub(super) fn wrap(text: &str, size: f64, most: f64) -> Vec<String> {
    let widest = fill(text, size, most);
    let mut narrow = most;
    // As narrow as makes no line more.
    while narrow > size && fill(text, size, narrow - size).len() == widest.len() {
        narrow -= size;
    }
    fill(text, size, narrow)
}

fn fill(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + size * LETTER <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_wrapped_at_blanks() {
        let mut page = Page::new(10.0, 10.0);
        page.text([0.0, 0.0], "a<b & \"c\"", (12.0, INK, false), Anchor::Start);
        assert!(page.finish("t").contains(">a&lt;b &amp; &quot;c&quot;</text>"));
        let lines = wrap("one two three", 10.0, width("one two", 10.0));
        assert_eq!(lines, ["one two", "three"]);
        let even = wrap("one two three four five", 10.0, width("one two three four", 10.0));
        assert_eq!(even, ["one two three", "four five"]);
        assert_eq!(wrap("unbreakable", 10.0, 1.0), ["unbreakable"]);
    }
}

//! `--text`: the text of the first answer, as it comes.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use rocload::core::llama::Item;

use crate::ui::Ui;

pub(crate) struct Text {
    terminal: bool,
    /// The last character was the end of a line, or there was none.
    at_start: bool,
}

impl Text {
    pub(crate) fn new() -> Self {
        Text { terminal: io::stdout().is_terminal(), at_start: true }
    }

    pub(crate) fn item(&mut self, ui: &mut Ui, item: &Item<'_>) {
        match item {
            Item::Text { choice: 0, text } => {
                self.at_start = text.ends_with('\n');
                let shown = if self.terminal { harmless(text) } else { Cow::Borrowed(*text) };
                ui.raw(shown.as_bytes());
            }
            Item::End(_) => self.end(ui),
            _ => {}
        }
    }

    /// Nothing more comes: the prompt of a shell stands on a line of its own.
    pub(crate) fn end(&mut self, ui: &mut Ui) {
        if self.terminal && !self.at_start {
            self.at_start = true;
            ui.raw(b"\n");
        }
    }
}

/// A model may write what a terminal obeys: control characters but tabs and line ends are
/// escaped there.
fn harmless(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(obeyed) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if obeyed(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn a_terminal_is_not_given_orders() {
        assert_eq!(harmless("a\tb\nc é"), "a\tb\nc é");
        assert_eq!(harmless("\u{1b}[31m\u{9b}\r"), "\\u{1b}[31m\\u{9b}\\r");
    }
}

//! Values as they are, for scripts: bytes of a file on standard output.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use rocload::core::gguf::Scalar;
use rocload::error::printable;

use crate::failure::Failure;
use crate::ui::Ui;

/// Standard output without styles; on a terminal, which might obey them, control characters are
/// escaped.
pub(super) struct RawOut {
    out: BufWriter<Stdout>,
    terminal: bool,
    failed: Option<io::Error>,
}

impl RawOut {
    /// Begins behind what was written so far.
    pub(super) fn new(ui: &mut Ui) -> RawOut {
        let _ = ui.out().flush();
        let out = io::stdout();
        RawOut {
            terminal: out.is_terminal(),
            out: BufWriter::with_capacity(64 << 10, out),
            failed: None,
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let written = if self.terminal {
            let lines: Vec<String> = bytes
                .split(|&byte| byte == b'\n')
                .map(|line| {
                    let words: Vec<String> =
                        line.split(|&byte| byte == b'\t').map(printable).collect();
                    words.join("\t")
                })
                .collect();
            self.out.write_all(lines.join("\n").as_bytes())
        } else {
            self.out.write_all(bytes)
        };
        self.failed = written.err();
    }

    /// A number in a line of its own: nothing in it needs escaping.
    pub(super) fn number(&mut self, value: Scalar) {
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{value}").err();
        }
    }

    /// Nobody reads on, or nothing can be written any more.
    pub(super) fn is_over(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes what is left, and tells what went wrong.
    pub(super) fn end(mut self, ui: &mut Ui) {
        let failed = self.failed.take().or_else(|| self.out.flush().err());
        if let Some(error) = failed.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
            ui.fail(&Failure::io("writing to standard output", &error));
        }
    }
}

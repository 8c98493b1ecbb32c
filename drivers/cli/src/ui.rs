//! What a command says and how it ends: standard output, errors, the exit status.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::failure::{Failure, Status, io_text};
use crate::{json, text};

/// Names of files and commands.
pub(crate) const STRONG: Style = Style::new().bold();
/// Headings of tables and other things in the background.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Good news.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Bad news.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What can be typed.
pub(crate) const TYPED: Style = AnsiColor::Cyan.on_default();

/// Errors about one thing that are shown where not all were asked for.
const SHOWN: usize = 20;

/// Where results and errors go.
pub(crate) struct Ui {
    out: BufWriter<Pipe>,
    /// Results and errors are JSON.
    pub(crate) json: bool,
    /// More is told.
    pub(crate) verbose: bool,
    /// Nothing but results and errors.
    pub(crate) quiet: bool,
    /// Errors go to standard output too, where they are part of what is shown.
    pub(crate) errors_among_results: bool,
    status: Status,
}

impl Ui {
    pub(crate) fn new() -> Ui {
        let pipe = Pipe { stream: AutoStream::auto(io::stdout()), state: PipeState::Open };
        let out = BufWriter::with_capacity(64 << 10, pipe);
        Ui {
            out,
            json: false,
            verbose: false,
            quiet: false,
            errors_among_results: false,
            status: Status::Fine,
        }
    }

    /// The results: text with ANSI styles, which are removed where nobody sees them.
    ///
    /// Writing to it never fails: a reader that has gone away is not missed, and any other
    /// fault is told at the end.
    pub(crate) fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// Nobody reads the results any more.
    pub(crate) fn is_closed(&self) -> bool {
        !matches!(self.out.get_ref().state, PipeState::Open)
    }

    /// One JSON value on a line of its own.
    pub(crate) fn json_line<T: Serialize>(&mut self, value: &T) {
        if let Err(error) = json::write_line(&mut self.out, value) {
            let error = io::Error::from(error);
            self.fail(&Failure::io("writing json", &error));
        }
    }

    /// Shows an error and remembers how bad it is.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        self.note(failure.status);
        if self.json {
            self.json_line(&failure.json());
            return;
        }
        let mut text = format!("{BAD}rocload:{BAD:#} {}\n", failure.line());
        if let Some(hint) = failure.hint.as_ref().filter(|_| !self.quiet) {
            text += &format!("{FAINT}hint:{FAINT:#} {hint}\n");
        }
        self.write_error(&text);
    }

    fn write_error(&mut self, text: &str) {
        // Where not even errors can be written there is nobody to tell.
        if self.errors_among_results {
            let _ = self.out.write_all(text.as_bytes());
        } else {
            let _ = self.out.flush();
            let _ = anstream::stderr().write_all(text.as_bytes());
        }
    }

    /// Shows errors about one thing, `subject`: the first of them where there are many, and a
    /// line that counts them where there are several.
    pub(crate) fn fail_all(&mut self, failures: &[Failure], subject: &str) {
        let shown = if self.verbose { failures.len() } else { failures.len().min(SHOWN) };
        for (at, failure) in failures.iter().enumerate() {
            if at >= shown {
                self.note(failure.status);
                continue;
            }
            let mut failure = failure.clone();
            // A hint is given once.
            if failures[..at].iter().any(|before| before.hint == failure.hint) {
                failure.hint = None;
            }
            self.fail(&failure);
        }
        if failures.len() > 1 {
            let faults = text::count(failures.len() as u64, "fault", "faults");
            let rest = if shown < failures.len() {
                format!(" (the first {shown} are shown, all with --verbose)")
            } else {
                String::new()
            };
            self.remark(&format!("{subject}: {faults}{rest}"));
        }
    }

    /// A line about the run as a whole, on standard error; not with `--quiet` or `--json`.
    pub(crate) fn remark(&mut self, text: &str) {
        if !self.quiet && !self.json {
            self.write_error(&format!("{BAD}rocload:{BAD:#} {text}\n"));
        }
    }

    /// Bytes as they are, at once: escape sequences in them are data.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let _ = self.out.flush();
        self.out.get_mut().raw(bytes);
    }

    /// Whoever reads the results sees all of them now.
    pub(crate) fn flush(&mut self) {
        let _ = self.out.flush();
    }

    /// Remembers how something ended.
    pub(crate) fn note(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    /// How it ended so far, and begins anew.
    pub(crate) fn take_status(&mut self) -> Status {
        std::mem::take(&mut self.status)
    }

    /// Progress can be shown: a person watches standard error.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Writes what is left and gives the exit status.
    pub(crate) fn finish(mut self) -> ExitCode {
        let _ = self.out.flush();
        if let PipeState::Failed(error) = &self.out.get_ref().state {
            let text = format!("writing to standard output: {}", io_text(error));
            let _ = writeln!(anstream::stderr(), "{BAD}rocload:{BAD:#} {text}");
            self.note(Status::Failed);
        }
        ExitCode::from(self.status.code())
    }
}

/// Standard output that remembers its first fault and then swallows all.
struct Pipe {
    stream: AutoStream<io::Stdout>,
    state: PipeState,
}

enum PipeState {
    Open,
    /// The reader has gone away.
    Closed,
    Failed(io::Error),
}

impl Pipe {
    /// Past the stream that removes styles.
    fn raw(&mut self, bytes: &[u8]) {
        let mut stdout = io::stdout();
        if matches!(self.state, PipeState::Open)
            && let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush())
        {
            self.stop(error);
        }
    }

    fn stop(&mut self, error: io::Error) {
        self.state = match error.kind() {
            io::ErrorKind::BrokenPipe => PipeState::Closed,
            _ => PipeState::Failed(error),
        };
    }
}

impl Write for Pipe {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if matches!(self.state, PipeState::Open)
            && let Err(error) = self.stream.write_all(buf)
        {
            self.stop(error);
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if matches!(self.state, PipeState::Open)
            && let Err(error) = self.stream.flush()
        {
            self.stop(error);
        }
        Ok(())
    }
}

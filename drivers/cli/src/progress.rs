//! A progress bar on standard error, where a person watches it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ui::Ui;

/// Progress in bytes of decoded kernels; silent without a terminal and with `--quiet`.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(ui: &Ui, doing: &'static str, bytes: u64) -> Progress {
        let target = if ui.shows_progress() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(bytes), target).with_message(doing);
        let template = "{msg} [{bar:30}] {binary_bytes} of {binary_total_bytes}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress(bar)
    }

    /// So many bytes more are done.
    pub(crate) fn add(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// So many bytes of so many are done.
    pub(crate) fn at(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }

    /// Removes the bar, so that lines can follow.
    pub(crate) fn clear(self) {
        self.0.finish_and_clear();
    }
}

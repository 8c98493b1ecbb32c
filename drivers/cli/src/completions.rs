//! `rocload completions`: completion scripts for shells.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use crate::cli;
use crate::ui::Ui;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload completions bash > ~/.local/share/bash-completion/completions/rocload
  rocload completions zsh > \"${fpath[1]}/_rocload\"
  rocload completions fish > ~/.config/fish/completions/rocload.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, ui: &mut Ui) {
        // Into memory first: the generator panics where it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut cli::command(), "rocload", &mut script);
        let _ = ui.out().write_all(&script);
    }
}

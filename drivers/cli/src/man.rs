//! `rocload man`: the manual pages.

use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man as Page;

use crate::cli;
use crate::failure::Failure;
use crate::place::Root;
use crate::text;
use crate::ui::{STRONG, Ui};
use std::io::Write;

/// Print the manual page, or write those of all commands into a folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload man | man -l -
  rocload man -d ~/.local/share/man/man1
  man rocload-kpack-pack")]
pub(crate) struct Man {
    /// The folder for the pages of all commands; made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, ui: &mut Ui) {
        let mut pages = Vec::new();
        let mut command = cli::command().disable_help_subcommand(true);
        command.build();
        collect(&command, &mut pages);
        let Some(folder) = self.directory else {
            let _ = ui.out().write_all(&pages[0].1);
            return;
        };
        let failed = |doing, error| Failure::io(doing, &error).at(&folder);
        let root = match Root::create(&folder) {
            Ok(root) => root,
            Err(error) => return ui.fail(&failed("opening", error)),
        };
        for (name, page) in &pages {
            if let Err(error) = root.put(&[name], page) {
                return ui.fail(&Failure::io("writing", &error).at(&folder.join(name)));
            }
        }
        if !ui.quiet {
            let count = text::count(pages.len() as u64, "manual page", "manual pages");
            let folder = crate::failure::printable_path(&folder);
            let _ = writeln!(ui.out(), "{STRONG}{folder}{STRONG:#}: {count}");
        }
    }
}

/// The page of a command and those of its subcommands, by their file names.
fn collect(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) {
    let page = Page::new(command.clone());
    let mut bytes = Vec::new();
    // A vector takes everything.
    let _ = page.render(&mut bytes);
    pages.push((page.get_filename(), bytes));
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        collect(subcommand, pages);
    }
}

//! `rocload man`: the manual pages.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man as Page;

use crate::cli;
use crate::failure::Failure;
use crate::place::Root;
use crate::text;
use crate::ui::{STRONG, Ui};

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
    pages.push((page.get_filename(), render(&page, command)));
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        collect(subcommand, pages);
    }
}

/// A page whose examples stand as they are typed: the generator would fill their lines.
fn render(page: &Page, command: &clap::Command) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A vector takes everything.
    let _ = page.render_title(&mut bytes);
    let _ = page.render_name_section(&mut bytes);
    let _ = page.render_synopsis_section(&mut bytes);
    let _ = page.render_description_section(&mut bytes);
    let _ = page.render_options_section(&mut bytes);
    if command.has_subcommands() {
        let _ = page.render_subcommands_section(&mut bytes);
    }
    if let Some(text) = command.get_after_help() {
        let text = text.to_string();
        let (heading, text) = match text.strip_prefix("Examples:\n") {
            Some(text) => ("EXAMPLES", text),
            None => ("NOTES", &*text),
        };
        bytes.extend_from_slice(format!(".SH {heading}\n.nf\n").as_bytes());
        text.lines().for_each(|line| bytes.extend_from_slice(roff(line).as_bytes()));
        bytes.extend_from_slice(b".fi\n");
    }
    bytes
}

/// A line that is printed as it is, whatever it begins with.
fn roff(line: &str) -> String {
    let mut text = String::from("\\&");
    for c in line.chars() {
        match c {
            '\\' => text.push_str("\\e"),
            '-' => text.push_str("\\-"),
            '\'' => text.push_str("\\(aq"),
            '`' => text.push_str("\\`"),
            c => text.push(c),
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::roff;

    #[test]
    fn lines_are_what_they_say() {
        assert_eq!(roff(".SH 'a\\b' --all"), "\\&.SH \\(aqa\\eb\\(aq \\-\\-all\n");
    }
}

//! `rocload gguf`: model files.

mod diff;
mod fit;
mod get;
mod hash;
mod input;
mod judge;
mod list;
mod raw;
mod set;
mod show;
mod template;
mod tensors;
mod value;
mod verify;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Subcommand};

use crate::ui::Ui;

/// Look into GGUF models: what they are, whether they are whole, whether they fit
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf show model.gguf                      what is this model?
  rocload gguf verify model.gguf                    is it sound, and all there?
  rocload gguf list ~/models --vram 24G             the models of a folder that fit
  rocload gguf fit model.gguf --ctx 32768           the memory that it takes
  rocload gguf get model.gguf general.name          one value, for scripts")]
pub(crate) struct Gguf {
    /// Print results and errors as JSON, all on standard output
    #[arg(long, global = true, display_order = 100)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(show::Show),
    Get(get::Get),
    Tensors(tensors::Tensors),
    Template(template::Template),
    Verify(verify::Verify),
    List(list::List),
    Fit(fit::Fit),
    Diff(diff::Diff),
    Hash(hash::Hash),
    Set(set::Set),
}

impl Gguf {
    /// What clap cannot check about the options.
    pub(crate) fn check(&self) -> Result<(), (ErrorKind, String)> {
        match &self.command {
            Command::Hash(hash) => hash.check(),
            Command::Set(set) => set.check(),
            _ => Ok(()),
        }
    }

    /// Standard input is there once: of the files that are named, one can be `-`.
    pub(crate) fn check_inputs(matches: &ArgMatches) -> Result<(), (ErrorKind, String)> {
        let command = matches.subcommand().and_then(|(_, matches)| matches.subcommand());
        let named = |(_, matches): (&str, &ArgMatches)| -> usize {
            let files = ["files", "file", "one", "other"].into_iter();
            let values = files.filter_map(|id| matches.try_get_raw(id).ok().flatten()).flatten();
            values.filter(|value| *value == "-").count()
        };
        if command.map_or(0, named) > 1 {
            let text = "standard input (-) is given twice, and can be read once";
            return Err((ErrorKind::ArgumentConflict, text.into()));
        }
        Ok(())
    }

    pub(crate) fn run(self, ui: &mut Ui) {
        ui.json = self.json;
        match self.command {
            Command::Show(show) => show.run(ui),
            Command::Get(get) => get.run(ui),
            Command::Tensors(tensors) => tensors.run(ui),
            Command::Template(template) => template.run(ui),
            Command::Verify(verify) => verify.run(ui),
            Command::List(list) => list.run(ui),
            Command::Fit(fit) => fit.run(ui),
            Command::Diff(diff) => diff.run(ui),
            Command::Hash(hash) => hash.run(ui),
            Command::Set(set) => set.run(ui),
        }
    }
}

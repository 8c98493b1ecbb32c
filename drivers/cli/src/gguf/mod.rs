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

use clap::ArgMatches;
use clap::error::ErrorKind;

crate::group::group! {
    /// Look into GGUF models: what they are, whether they are whole, whether they fit
    #[command(after_help = "Examples:
  rocload gguf show model.gguf                      what is this model?
  rocload gguf verify model.gguf                    is it sound, and all there?
  rocload gguf list ~/models --vram 24G             the models of a folder that fit
  rocload gguf fit model.gguf --ctx 32768           the memory that it takes
  rocload gguf get model.gguf general.name          one value, for scripts")]
    Gguf: show::Show, get::Get, tensors::Tensors, template::Template, verify::Verify, list::List,
        fit::Fit, diff::Diff, hash::Hash, set::Set,
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
}

//! `rocload server`: the llama-server that is used, and how to get one.

mod info;
mod install;

pub(crate) use info::ask;
pub(crate) use install::install;

use clap::{Args, Subcommand};

use crate::ui::Ui;

/// The llama-server that is used, and how to get one
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  rocload server info       which llama-server would be used, and why?
  rocload server install    one for the CPU, in your cache"
)]
pub(crate) struct Server {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(info::Info),
    Install(install::Install),
}

impl Server {
    pub(crate) fn run(self, ui: &mut Ui) {
        match self.command {
            Command::Info(info) => info.run(ui),
            Command::Install(install) => install.run(ui),
        }
    }
}

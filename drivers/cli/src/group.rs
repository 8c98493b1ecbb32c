//! What all groups of commands have in common.

/// A command with subcommands, each the type of that name in a module, and with `--json` for all
/// of them.
macro_rules! group {
    ($(#[$about:meta])+ $group:ident: $($module:ident::$command:ident),+ $(,)?) => {
        #[derive(Debug, clap::Args)]
        $(#[$about])+
        pub(crate) struct $group {
            /// Print results and errors as JSON, all on standard output
            #[arg(long, global = true, display_order = 100)]
            json: bool,
            #[command(subcommand)]
            command: Command,
        }

        #[derive(Debug, clap::Subcommand)]
        enum Command {
            $($command($module::$command),)+
        }

        impl $group {
            pub(crate) fn run(self, ui: &mut $crate::ui::Ui) {
                ui.json = self.json;
                match self.command {
                    $(Command::$command(command) => command.run(ui),)+
                }
            }
        }
    };
}

pub(crate) use group;

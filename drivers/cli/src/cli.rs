//! The command line: what there is, and who does it.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;
use crate::ui::Ui;
use crate::{
    bundle, completions, demo, doctor, gguf, gpu, interrupt, kpack, man, run, serve, server, sse,
};

/// Loads what AMD GPUs run: looks into ROCm kernel archives, GGUF models and llama-server's streams,
/// checks them, takes kernels out and makes archives; finds and chooses GPUs.
#[derive(Debug, Parser)]
#[command(
    name = "rocload",
    version,
    max_term_width = 100,
    subcommand_required = true,
    after_help = "Examples:
  rocload demo                                  what it can do, on built-in inputs
  rocload kpack list torch_gfx1100.kpack        the kernels of an archive
  rocload kpack verify /opt/rocm/lib/.kpack/*   are these archives sound?
  rocload gguf show model.gguf                  what is this model?
  rocload run model.gguf hello                  an answer, by a llama-server of its own
  rocload gpu                                   which GPU would be used, and why?

Exit status: 0 fine, 1 the operation failed, 2 wrong usage, 3 malformed input, 4 not found,
130 interrupted."
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
struct Common {
    /// Tell more
    #[arg(short, long, global = true, conflicts_with = "quiet", display_order = 101)]
    verbose: bool,
    /// Tell nothing but results and errors: no progress, no summaries, no hints
    #[arg(short, long, global = true, display_order = 102)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Kpack(kpack::Kpack),
    Bundle(bundle::Bundle),
    Gguf(gguf::Gguf),
    Run(run::Run),
    Serve(serve::Serve),
    Server(server::Server),
    Sse(sse::Sse),
    Gpu(gpu::Gpu),
    Doctor(doctor::Doctor),
    Demo(demo::Demo),
    Completions(completions::Completions),
    Man(man::Man),
}

/// The whole command line as clap knows it.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Parses, runs, and gives the exit status.
pub(crate) fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &args),
    };
    interrupt::install();
    let mut ui = Ui::new();
    cli.run(&mut ui);
    ui.finish()
}

/// Runs a command line as if it had been typed after `rocload`.
pub(crate) fn run_line(ui: &mut Ui, words: &[&str]) {
    let args: Vec<OsString> = ["rocload"].iter().chain(words).map(OsString::from).collect();
    match parse(&args) {
        Ok(cli) => cli.run(ui),
        Err(error) => ui.fail(&Failure::usage(&error.to_string())),
    }
}

fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = Cli::command().try_get_matches_from(args)?;
    let cli = Cli::from_arg_matches(&matches)?;
    let checked = match &cli.command {
        Command::Kpack(kpack) => kpack.check(),
        Command::Gguf(gguf) => gguf::Gguf::check_inputs(&matches).and_then(|()| gguf.check()),
        _ => Ok(()),
    };
    checked.map_err(|(kind, message)| usage_error(args, kind, &message))?;
    Ok(cli)
}

impl Cli {
    fn run(self, ui: &mut Ui) {
        ui.verbose = self.common.verbose;
        ui.quiet = self.common.quiet;
        match self.command {
            Command::Kpack(kpack) => kpack.run(ui),
            Command::Bundle(bundle) => bundle.run(ui),
            Command::Gguf(gguf) => gguf.run(ui),
            Command::Run(run) => run.run(ui),
            Command::Serve(serve) => serve.run(ui),
            Command::Server(server) => server.run(ui),
            Command::Sse(sse) => sse.run(ui),
            Command::Gpu(gpu) => gpu.run(ui),
            Command::Doctor(doctor) => doctor.run(ui),
            Command::Demo(demo) => demo.run(ui),
            Command::Completions(completions) => completions.run(ui),
            Command::Man(man) => man.run(ui),
        }
    }
}

/// An error about the options of the subcommand that `args` name, with its usage line.
fn usage_error(args: &[OsString], kind: ErrorKind, message: &str) -> clap::Error {
    let mut command = Cli::command();
    command.build();
    let mut at = &mut command;
    for arg in args.iter().skip(1) {
        let Some(name) = arg.to_str() else { break };
        if at.find_subcommand(name).is_some() {
            at = at.find_subcommand_mut(name).expect("it was found just now");
        } else if !name.starts_with('-') {
            break;
        }
    }
    at.error(kind, message)
}

/// Shows help, the version, or what is wrong with the command line.
fn refuse(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let wants_json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    if wants_json && error.use_stderr() {
        let mut ui = Ui::new();
        ui.json = true;
        ui.fail(&Failure::usage(&error.to_string()));
        let _ = ui.finish();
    } else {
        // Where not even this can be written there is nobody to tell.
        let _ = error.print();
    }
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}

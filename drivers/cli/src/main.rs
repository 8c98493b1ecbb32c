//! The `rocload` command.
//!
//! One file a subcommand: [`kpack`] has those about archives, [`bundle`] those about binaries,
//! [`gguf`] those about models, [`sse`] decodes streams, [`run`] and [`serve`] have a model answer,
//! [`server`] finds and installs what they need, [`gpu`] and [`doctor`] look at this machine,
//! [`demo`] shows them at work on what is built in. What they share: [`ui`] (output, colour, exit status),
//! [`failure`] (errors for people and programs), [`text`] (sizes, counts and tables).
#![forbid(unsafe_code)]
// A command always has the standard library: there is nothing to import from elsewhere.
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

#[cfg(unix)]
mod bundle;
#[cfg(unix)]
mod cli;
#[cfg(unix)]
mod completions;
#[cfg(unix)]
mod demo;
#[cfg(unix)]
mod device;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod failure;
#[cfg(unix)]
mod filter;
#[cfg(unix)]
mod front;
#[cfg(unix)]
mod gguf;
#[cfg(unix)]
mod gpu;
#[cfg(unix)]
mod group;
#[cfg(unix)]
mod input;
#[cfg(unix)]
mod interrupt;
#[cfg(unix)]
mod json;
#[cfg(unix)]
mod kpack;
#[cfg(unix)]
mod man;
#[cfg(unix)]
mod output;
#[cfg(all(test, unix))]
mod pages;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod progress;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod serving;
#[cfg(unix)]
mod sse;
#[cfg(unix)]
mod suggest;
#[cfg(unix)]
mod text;
#[cfg(unix)]
mod ui;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    cli::main()
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    eprintln!("rocload: this command needs a unix system");
    std::process::ExitCode::FAILURE
}

//! The pages of `docs/commands`: what `--help` says, one Markdown file a command.
//!
//! They are made here and committed; a test holds them to the command line, and writes them anew
//! when `ROCLOAD_RENEW` is set:
//!
//! ```text
//! ROCLOAD_RENEW=1 cargo test -p rocload-cli pages
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};

use crate::cli;

/// Every page by the name of its file.
fn pages() -> BTreeMap<String, String> {
    let mut command = cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = BTreeMap::new();
    collect(&command, &[], &mut pages);
    pages
}

fn file(command: &Command) -> String {
    format!("{}.md", name(command).replace(' ', "-"))
}

/// As it is typed, with the commands that it is one of.
fn name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

fn collect(command: &Command, above: &[&Command], pages: &mut BTreeMap<String, String>) {
    pages.insert(file(command), page(command, above));
    let above = [above, &[command]].concat();
    for below in shown(command) {
        collect(below, &above, pages);
    }
}

fn page(command: &Command, above: &[&Command]) -> String {
    let mut page =
        String::from("<!-- made from the command line by drivers/cli/src/pages.rs -->\n");
    // A vector of bytes takes everything.
    let _ = writeln!(page, "# {}\n", name(command));
    for up in above {
        let _ = write!(page, "[{}]({}) / ", up.get_name(), file(up));
    }
    if !above.is_empty() {
        let _ = writeln!(page, "{}\n", command.get_name());
    }
    let about = command.get_long_about().or(command.get_about());
    let _ = writeln!(
        page,
        "{}.\n",
        about.expect("says what it does").to_string().trim_end_matches('.')
    );
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(page, "```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    if command.has_subcommands() {
        page.push_str("| command | what |\n|---|---|\n");
        for below in shown(command) {
            let about = below.get_about().expect("says what it does").to_string();
            let _ = writeln!(page, "| [{}]({}) | {} |", name(below), file(below), cell(&about));
        }
        page.push('\n');
    }
    let visible = |arg: &&Arg| !arg.is_hide_set();
    table(&mut page, "argument", command.get_positionals().filter(visible));
    table(&mut page, "option", options(command).filter(visible));
    if let Some(text) = command.get_after_help() {
        examples(&mut page, &text.to_string());
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional())
}

fn table<'c>(page: &mut String, title: &str, args: impl Iterator<Item = &'c Arg>) {
    let mut args: Vec<&Arg> = args.collect();
    if args.is_empty() {
        return;
    }
    // The options of every command come last.
    args.sort_by_key(|arg| {
        let help =
            matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::Version);
        (help, arg.is_global_set())
    });
    let _ = writeln!(page, "| {title} | what |\n|---|---|");
    for arg in args {
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
        let mut text = cell(&help.unwrap_or_default());
        let values: Vec<String> = arg
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !values.is_empty() && arg.get_action().takes_values() {
            let _ = write!(text, "; one of {}", values.join(", "));
        }
        let default: Vec<_> =
            arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !default.is_empty()
            && arg.get_action().takes_values()
            && !arg.is_hide_default_value_set()
        {
            let _ = write!(text, "; `{}` unless given", default.join(" "));
        }
        let _ = writeln!(page, "| `{}` | {text} |", cell(&spelled(arg)));
    }
    page.push('\n');
}

/// An argument as it is typed.
fn spelled(arg: &Arg) -> String {
    let values = || {
        let names: Vec<String> =
            arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
        names.join(" ")
    };
    if arg.is_positional() {
        let more = arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        return values() + if more { "..." } else { "" };
    }
    let mut text = arg.get_short().map(|short| format!("-{short}")).unwrap_or_default();
    if let Some(long) = arg.get_long() {
        let _ = write!(text, "{}--{long}", if text.is_empty() { "" } else { ", " });
    }
    if arg.get_action().takes_values() {
        let _ = write!(text, " {}", values());
    }
    text
}

/// A text that may stand in a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// What is behind the options: examples as they are typed, then text.
fn examples(page: &mut String, text: &str) {
    let Some(rest) = text.strip_prefix("Examples:\n") else {
        let _ = writeln!(page, "{text}");
        return;
    };
    let typed: Vec<&str> =
        rest.lines().take_while(|line| line.is_empty() || line.starts_with("  ")).collect();
    page.push_str("```sh\n");
    for line in typed.join("\n").trim_end().lines() {
        let _ = writeln!(page, "{}", comment(line.strip_prefix("  ").unwrap_or(line)));
    }
    page.push_str("```\n\n");
    for line in rest.lines().skip(typed.len()) {
        let _ = writeln!(page, "{line}");
    }
}

/// An example whose explanation, apart by two spaces or more, is a comment of the shell.
fn comment(line: &str) -> String {
    match line.split_once("  ") {
        Some((command, about)) if !about.trim().is_empty() && !command.is_empty() => {
            let blank = " ".repeat(2 + about.len() - about.trim_start().len());
            format!("{command}{blank}# {}", about.trim_start())
        }
        _ => line.to_owned(),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands")
}

#[test]
fn pages_are_those_of_the_command_line() {
    let (folder, pages) = (folder(), pages());
    assert!(pages.len() > 30, "{:?}", pages.keys());
    if std::env::var_os("ROCLOAD_RENEW").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for (name, page) in &pages {
            fs::write(folder.join(name), page).unwrap();
        }
    }
    let renew = "ROCLOAD_RENEW=1 cargo test -p rocload-cli pages";
    for (name, page) in &pages {
        let there = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(there == *page, "docs/commands/{name} is not what --help says: {renew}");
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(pages.contains_key(&name), "docs/commands/{name} is of no command: remove it");
    }
}

#[test]
fn every_command_has_examples() {
    fn look(command: &Command) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(
            text.starts_with("Examples:\n  ") && text.contains("rocload "),
            "{}: {text}",
            name(command)
        );
        shown(command).for_each(look);
    }
    let mut command = cli::command().disable_help_subcommand(true);
    command.build();
    look(&command);
}

#[test]
fn explanations_become_comments() {
    assert_eq!(comment("rocload gpu    which one?"), "rocload gpu    # which one?");
    assert_eq!(comment("rocload gpu"), "rocload gpu");
}

//! The front page's sessions: each command that it shows is run, and gives what it shows.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{ROCLOAD, rocload};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The blocks of this language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let open = format!("\n```{language}\n");
    text.split(&*open).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

/// The commands of a session, each with what it printed.
fn commands(session: &str) -> Vec<(&str, String)> {
    let mut commands: Vec<(&str, String)> = Vec::new();
    for line in session.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command, String::new())),
            None => {
                let (_, output) = commands.last_mut().expect("a session begins with a command");
                output.push_str(line);
                output.push('\n');
            }
        }
    }
    commands
}

#[test]
fn sessions_are_as_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    symlink(root().join("fixtures").canonicalize().unwrap(), at.join("fixtures")).unwrap();
    fs::create_dir(at.join("bin")).unwrap();
    symlink(ROCLOAD, at.join("bin/rocload")).unwrap();
    let path = format!("{}:{}", at.join("bin").display(), std::env::var("PATH").unwrap());
    let readme = readme();
    let sessions = blocks(&readme, "console");
    let mut count = 0;
    // In their order and in one folder: a command may use what one before it has made.
    for (command, shown) in sessions.into_iter().flat_map(commands) {
        let ran = Command::new("sh")
            .args(["-c", &format!("{{ {command}; }} 2>&1")])
            .current_dir(at)
            .env("PATH", &path)
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout), shown, "$ {command}");
        count += 1;
    }
    assert!(count > 10, "{count}");
}

#[test]
fn what_is_not_run_is_a_command_with_such_options() {
    let readme = readme();
    let mut count = 0;
    for line in blocks(&readme, "sh").into_iter().flat_map(str::lines) {
        let Some(line) = line.strip_prefix("rocload ") else { continue };
        let line = line.split(" # ").next().unwrap();
        let mut words: Vec<&str> = Vec::new();
        for word in line.split(' ') {
            let asked = [&words[..], &[word, "--help"]].concat();
            if word.starts_with('-') || !is_command(&asked) {
                break;
            }
            words.push(word);
        }
        let help = rocload(words.iter().copied().chain(["--help"])).fine().out;
        for option in line.split(' ').filter(|word| word.starts_with('-') && *word != "--") {
            let known = |text: &str| help.split([' ', ',', '\n', '=']).any(|word| word == text);
            assert!(known(option), "rocload {line}: {option} is not in the help of {words:?}");
        }
        assert!(!words.is_empty(), "rocload {line}");
        count += 1;
    }
    assert!(count > 8, "{count}");
}

/// Whether the words before `--help` are the names of a command and one of it.
fn is_command(words: &[&str]) -> bool {
    let name = words[words.len() - 2];
    let help = rocload(words).out;
    let above = words[..words.len() - 2].join(" ");
    let usage = format!("Usage: rocload {above}{}{name}", if above.is_empty() { "" } else { " " });
    help.contains(&usage)
}

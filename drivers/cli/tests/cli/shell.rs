//! Shell completions.

use std::process::Command;

use super::rocload;

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = rocload(["completions", shell]).fine().out;
        for word in ["kpack", "verify", "extract", "max-window", "demo"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn bash_takes_its_script() {
    let script = rocload(["completions", "bash"]).fine().out;
    let Ok(checked) = Command::new("bash").args(["-n", "-c", &script]).status() else {
        eprintln!("bash_takes_its_script: skipped: no bash");
        return;
    };
    assert!(checked.success());
    let complete = "\nCOMP_WORDS=(rocload kpack ver); COMP_CWORD=2; _rocload rocload ver kpack; echo \"${COMPREPLY[@]}\"";
    let ran = Command::new("bash").args(["-c", &(script + complete)]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "verify\n", "{ran:?}");
}

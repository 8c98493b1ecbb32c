//! `demo`: what it shows is what the commands do.

use std::fs;

use super::{command, kpack, rocload};

/// The command lines that are shown, in one line each.
fn commands(out: &str) -> Vec<String> {
    let joined = out.replace(" \\\n    ", " ");
    joined.lines().filter_map(|line| line.strip_prefix("$ rocload ")).map(str::to_owned).collect()
}

#[test]
fn every_step_is_shown_and_ends_well() {
    let temp = tempfile::tempdir().unwrap();
    let ran: super::Ran = command().arg("demo").env("TMPDIR", temp.path()).output().unwrap().into();
    let ran = ran.fine();
    let commands = commands(&ran.out);
    assert_eq!(commands.len(), 12, "{}", ran.out);
    for word in [
        "kpack list",
        "kpack info",
        "kpack verify",
        "kpack extract",
        "kpack pack",
        "kpack diff",
        "gguf show",
        "gguf verify",
        "gguf fit",
    ] {
        assert!(commands.iter().any(|command| command.starts_with(word)), "{word}");
    }
    for part in [
        "8 kernels for 4 architectures",
        "demo_zstd.kpack: ok, 8 kernels",
        "rocload: damaged.kpack: lib/libdemo.so#0 for gfx1030: ",
        "scale.hsaco: lib/libdemo.so#0 for gfx90a:xnack-, ",
        "4 written, 4 there already",
        "packed.kpack: 8 kernels, ",
        "demo_none.kpack and packed.kpack: the same 8 kernels",
        "general.name                              rocload tiny llama",
        "showing 26 of 28 keys",
        "tiny-llama.gguf: ok, 21 tensors",
        "verdict    fits",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'));
    // A message is as long as it must be; what the demo itself says fits a terminal.
    let mut own = ran.out.lines().filter(|line| !line.starts_with("rocload: "));
    assert!(own.all(|line| line.chars().count() <= 100), "{}", ran.out);
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0, "the folder is removed");
}

#[test]
fn its_commands_can_be_repeated_in_the_folder_that_it_keeps() {
    let temp = tempfile::tempdir().unwrap();
    let kept = temp.path().join("kept");
    let ran = rocload(["demo", "--keep", kept.to_str().unwrap()]).fine();
    let script = commands(&ran.out);
    assert_eq!(script.len(), 12);
    for line in script {
        let again = std::process::Command::new("sh")
            .args(["-c", &format!("\"$0\" {line}"), super::ROCLOAD])
            .current_dir(&kept)
            .output()
            .unwrap();
        let expected = if line.contains("damaged") { 3 } else { 0 };
        assert_eq!(again.status.code(), Some(expected), "{line}");
    }
    kpack("verify", &kept.join("demo_none.kpack")).fine();
    assert!(kept.join("kernels/gfx906/lib/libdemo.so#0.hsaco").is_file());
}

#[test]
fn without_a_place_to_work_it_says_so() {
    let ran: super::Ran =
        command().arg("demo").env("TMPDIR", "/dev/null/nowhere").output().unwrap().into();
    ran.failed(4, "/dev/null/nowhere: making a folder: not a directory");
}

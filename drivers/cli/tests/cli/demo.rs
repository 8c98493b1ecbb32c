//! `demo`: what it shows is what the commands do.

use std::fs;

use super::{Ran, command, kpack};

/// The demo on a machine without a llama-server.
fn without_server() -> std::process::Command {
    let mut command = command();
    command.arg("demo").env("PATH", "/nonexistent").env("ROCLOAD_CACHE", "/nonexistent");
    command.env_remove("ROCLOAD_LLAMA_SERVER").env_remove("ROCM_LLAMA_SERVER_PATH");
    command
}

/// The command lines that are shown, in one line each.
fn commands(out: &str) -> Vec<String> {
    let joined = out.replace(" \\\n    ", " ");
    joined.lines().filter_map(|line| line.strip_prefix("$ rocload ")).map(str::to_owned).collect()
}

#[test]
fn every_step_is_shown_and_ends_well() {
    let temp = tempfile::tempdir().unwrap();
    let ran = Ran::from(without_server().env("TMPDIR", temp.path()).output().unwrap()).fine();
    let commands = commands(&ran.out);
    assert_eq!(commands.len(), 14, "{}", ran.out);
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
        "gpu",
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
        "left out: an answer of the model",
        "chosen: the only board",
        "ROCR_VISIBLE_DEVICES=GPU-",
        "GiB vram of gfx1100 (gpu 0)",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'));
    // A message is as long as it must be; what the demo itself says fits a terminal.
    let told = |line: &&str| !line.starts_with("rocload: ") && !line.starts_with("left out: ");
    let mut own = ran.out.lines().filter(told);
    assert!(own.all(|line| line.chars().count() <= 100), "{}", ran.out);
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0, "the folder is removed");
}

#[test]
fn its_commands_can_be_repeated_in_the_folder_that_it_keeps() {
    let temp = tempfile::tempdir().unwrap();
    let kept = temp.path().join("kept");
    let ran = without_server().args(["--keep", kept.to_str().unwrap()]).output().unwrap();
    let ran = Ran::from(ran).fine();
    let script = commands(&ran.out);
    assert_eq!(script.len(), 14);
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
    let ran: Ran =
        command().arg("demo").env("TMPDIR", "/dev/null/nowhere").output().unwrap().into();
    ran.failed(4, "/dev/null/nowhere: making a folder: not a directory");
}

#[test]
fn with_a_server_the_model_answers_and_nothing_is_left() {
    let test = "with_a_server_the_model_answers_and_nothing_is_left";
    for variable in ["ROCLOAD_LLAMA_SERVER", "ROCLOAD_LLAMA_LAUNCHER"] {
        let Some(program) = std::env::var_os(variable).filter(|program| !program.is_empty()) else {
            eprintln!("{test}: skipped: {variable} names no llama-server");
            continue;
        };
        let temp = tempfile::tempdir().unwrap();
        let ran = command()
            .arg("demo")
            .env("ROCLOAD_LLAMA_SERVER", program)
            .env("TMPDIR", temp.path())
            .output();
        let ran = Ran::from(ran.unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for part in
            ["17/17", "$ rocload server info", "it stopped as asked", "no process, no socket"]
        {
            assert!(ran.out.contains(part), "{part}: {}", ran.out);
        }
        assert!(ran.err.contains("tokens/s"), "{}", ran.err);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0, "the folders are removed");
    }
}

//! `gpu`, `doctor`, and what other commands make of the chosen GPU.

use std::fs;
use std::path::{Path, PathBuf};

use rocload_fixtures::sysfs::{differences, machine_path, machines};
use rocload_fixtures::{fixtures_dir, shared_data_or_skip};
use serde_json::Value;

use super::{Ran, command};

/// Runs with the GPUs of a machine, and these variables alone of those that concern GPUs.
fn on(machine: &Path, args: &[&str], set: &[(&str, &str)]) -> Ran {
    let mut command = command();
    for name in [
        "ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "CUDA_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
        "HSA_OVERRIDE_GFX_VERSION",
    ] {
        command.env_remove(name);
    }
    command.args(args).arg("--sysroot").arg(machine).envs(set.iter().copied());
    command.output().unwrap().into()
}

fn archive() -> String {
    fixtures_dir().join("kpack/demo_zstd.kpack").to_str().unwrap().to_owned()
}

fn model() -> String {
    fixtures_dir().join("gguf/tiny-llama.gguf").to_str().unwrap().to_owned()
}

#[test]
fn every_machine_is_told_as_expected() {
    let mut files: Vec<PathBuf> = machines().iter().map(|(name, ..)| machine_path(name)).collect();
    if let Some(data) = shared_data_or_skip("every_machine_is_told_as_expected") {
        let shared = fs::read_dir(data.join("sysfs")).unwrap().map(|entry| entry.unwrap().path());
        files.extend(shared.filter(|path| path.extension().is_some_and(|ext| ext == "json")));
    }
    assert!(files.len() >= 14);
    for file in files {
        let machine: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let told = on(&file, &["gpu", "--json"], &[]).fine().json();
        assert_eq!(differences(&machine["expected"], &told), [""; 0], "{}", file.display());
        assert_eq!(told.get("env").is_some(), !told["chosen"].is_null(), "{}", file.display());
    }
}

#[test]
fn people_see_who_is_chosen_and_why() {
    let out = on(&machine_path("board_and_integrated"), &["gpu"], &[]).fine().out;
    for part in [
        "0    gfx1100  discrete    [#.........]  1.0 GiB of 24.0 GiB  20.0 MiB  7 %   47 C  35 W",
        "chosen: the only board (renderD129, 0000:03:00.0)",
        "not chosen: it is integrated (renderD128, 0000:0e:00.0)",
        "ROCR_VISIBLE_DEVICES=GPU-1f0e55aa00000001",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let out = on(&machine_path("divided"), &["gpu", "-v"], &[]).fine().out;
    assert!(out.contains("part 8 of 8 (CPX NPS4)") && out.contains("kind by board"), "{out}");
    let out = on(&machine_path("asleep"), &["gpu", "-q"], &[]).fine().out;
    assert!(out.contains("asleep") && !out.contains("TARGET"), "{out}");
}

#[test]
fn without_a_gpu_it_says_so_and_why() {
    let ran = on(&machine_path("other_vendor"), &["gpu"], &[]).fine();
    let wanted =
        "card0: Intel card, 0000:00:02.0, driver i915\nno AMD GPU: there is no /dev/kfd\nhint: ";
    assert!(ran.out.starts_with(wanted), "{}", ran.out);
    for (machine, text) in [
        ("render_denied", "no AMD GPU can be used: no permission to open the gpu's render node"),
        ("kfd_denied", "no AMD GPU can be used: no permission to open /dev/kfd"),
        ("no_dri", "no AMD GPU can be used: the gpu's render node in /dev/dri is not there"),
        ("integrated_alone", "no AMD GPU is chosen: see the reasons"),
    ] {
        let out = on(&machine_path(machine), &["gpu"], &[]).fine().out;
        assert!(out.contains(text), "{machine}: {out}");
    }
    // This machine, whatever it is.
    let here: Ran = command().args(["gpu", "--json"]).output().unwrap().into();
    assert!(here.fine().json()["devices"].is_array());
}

#[test]
fn masks_and_overrides_are_heeded() {
    let machine = machine_path("two_boards");
    let told = on(&machine, &["gpu", "--json"], &[("ROCR_VISIBLE_DEVICES", "0")]).fine().json();
    assert_eq!(
        (&told["mask"], &told["env"]["ROCR_VISIBLE_DEVICES"]),
        (&"kept".into(), &"0".into())
    );
    assert_eq!(told["rejected"][0]["why"], "masked");
    assert_eq!(told["chosen"]["ordinals"], serde_json::json!([0]));
    let both = [("ROCR_VISIBLE_DEVICES", "1"), ("HIP_VISIBLE_DEVICES", "1")];
    let ran = on(&machine, &["gpu"], &both).fine();
    assert!(ran.out.contains("HIP_VISIBLE_DEVICES=1 is set, and kept"), "{}", ran.out);
    assert!(
        ran.out.contains("token 1 names no gpu") || ran.out.contains("no AMD GPU"),
        "{}",
        ran.out
    );

    let set = [("HSA_OVERRIDE_GFX_VERSION", "10.3.0")];
    let told = on(&machine, &["gpu", "--json"], &set).fine().json();
    assert_eq!(
        (&told["devices"][0]["gfx"], &told["devices"][0]["effective_gfx"]),
        (&"gfx1100".into(), &"gfx1030".into())
    );
    let ran = on(&machine, &["gpu"], &set).fine();
    assert!(ran.out.contains("taken for gfx1030 (HSA_OVERRIDE_GFX_VERSION)"), "{}", ran.out);
    let bad =
        on(&machine, &["gpu", "--json"], &[("HSA_OVERRIDE_GFX_VERSION", "gfx1030")]).fine().json();
    assert_eq!((&bad["error"], &bad["chosen"]), (&"BadOverride".into(), &Value::Null));

    let told = on(&machine, &["gpu", "--json", "--build", "gfx1030"], &[]).fine().json();
    assert_eq!(told["rejected"][1]["why"], "not_in_build");
    let told = on(
        &machine_path("integrated_alone"),
        &["gpu", "--json", "--allow-integrated", "gfx1036"],
        &[],
    );
    assert_eq!(told.fine().json()["chosen"]["why"], "allowed_integrated");
}

#[test]
fn watching_ends_after_its_samples() {
    let machine = machine_path("two_boards");
    let args = ["gpu", "--watch", "--interval", "0.05", "--samples", "3"];
    let lines = on(&machine, &[&args[..], &["--json"]].concat(), &[]).fine().json_lines();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line["devices"].as_array().unwrap().len() == 2));
    // For a file or a pipe a line for each GPU, where something has changed.
    let ran = on(&machine, &args, &[]).fine();
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'));
    on(&machine, &["gpu", "--samples", "3"], &[]).misused("--watch");
    on(&machine, &["gpu", "--watch", "--interval", "0"], &[]).misused("a time is a number");
}

#[test]
fn a_place_that_is_none() {
    let temp = tempfile::tempdir().unwrap();
    let file = |text: &str| {
        let path = temp.path().join("machine.json");
        fs::write(&path, text).unwrap();
        path
    };
    on(Path::new("/nonexistent"), &["gpu"], &[]).failed(4, "/nonexistent: opening the machine");
    on(&file("{}"), &["gpu"], &[]).failed(3, "no object \"files\"");
    on(&file("{\"files\":"), &["gpu"], &[]).failed(3, "machine.json: ");
    let ran = on(&file("[]"), &["gpu", "--json"], &[]);
    assert_eq!((ran.code, &ran.json()["error"]["kind"]), (Some(3), &"malformed".into()));
    // An empty folder is a machine without anything.
    let ran = on(&temp.path().join("empty"), &["gpu"], &[]);
    ran.failed(4, "empty");
    fs::create_dir(temp.path().join("empty")).unwrap();
    let told = on(&temp.path().join("empty"), &["gpu", "--json"], &[]).fine().json();
    assert_eq!((&told["error"], &told["mem_available"]), (&"NoKfd".into(), &Value::Null));
}

#[test]
fn doctor_tells_what_to_do() {
    let ran = on(&machine_path("board_and_integrated"), &["doctor"], &[]).fine();
    assert!(
        ran.out.contains("chosen: the only board") && ran.out.contains("run on the gpu"),
        "{}",
        ran.out
    );
    let ran = on(&machine_path("other_vendor"), &["doctor"], &[]).fine();
    assert!(ran.out.contains("the cpu does the work"), "{}", ran.out);
    for machine in ["render_denied", "kfd_denied", "no_dri", "no_kfd", "unknown_target"] {
        let ran = on(&machine_path(machine), &["doctor", "--json"], &[]);
        let told = ran.json();
        assert_eq!((ran.code, &told["ok"]), (Some(1), &false.into()), "{machine}");
        let failed: Vec<&Value> = told["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["state"] == "fail")
            .collect();
        assert!(
            !failed.is_empty() && failed.iter().any(|check| check["hint"].is_string()),
            "{told}"
        );
    }
    let several = [("ROCR_VISIBLE_DEVICES", "1"), ("HIP_VISIBLE_DEVICES", "0")];
    let ran = on(&machine_path("two_boards"), &["doctor"], &several).fine();
    assert!(ran.out.contains("set one alone"), "{}", ran.out);
}

#[test]
fn kernels_for_this_machine() {
    let args = ["kpack", "list", "--for-this-machine", &archive(), "--json"];
    let set = [("HSA_OVERRIDE_GFX_VERSION", "10.3.0")];
    let told = on(&machine_path("two_boards"), &args, &set).fine().json();
    let arches: Vec<&str> = told["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["arch"].as_str().unwrap())
        .collect();
    assert_eq!(arches, ["gfx1030", "gfx1030"]);
    let args = ["kpack", "list", "--for-this-machine", &archive()];
    // Whatever features the device may have: they are not known.
    let set = [("HSA_OVERRIDE_GFX_VERSION", "9.0.10")];
    let ran = on(&machine_path("two_boards"), &args, &set).fine();
    assert!(ran.out.contains("gfx90a:xnack-") && !ran.out.contains("gfx906"), "{}", ran.out);
    on(&machine_path("two_boards"), &args, &[])
        .failed(4, "no kernel is for this machine's gfx1100");
    on(&machine_path("other_vendor"), &args, &[])
        .failed(4, "no AMD GPU to list kernels for: there is no /dev/kfd");
}

#[test]
fn models_fit_the_chosen_gpu() {
    let fit = |machine| {
        on(&machine_path(machine), &["gguf", "fit", "--json", &model()], &[]).fine().json()
    };
    let told = fit("board_and_integrated");
    assert_eq!(
        (&told["budget"], &told["budget_of"]),
        (&24_679_284_736u64.into(), &"vram of gfx1100 (gpu 0)".into())
    );
    let told = fit("integrated");
    assert_eq!(told["budget"], 805_306_368u64 + 60_000_000 * 1024);
    assert_eq!(told["budget_of"], "memory of gfx1151 (gpu 0)");
    assert_eq!(fit("other_vendor")["budget_of"], "system memory");
    let folder = tempfile::tempdir().unwrap();
    fs::copy(model(), folder.path().join("m.gguf")).unwrap();
    let folder = folder.path().to_str().unwrap().to_owned();
    let ran = on(&machine_path("board_and_integrated"), &["gguf", "list", "--json", &folder], &[]);
    assert_eq!(ran.fine().json()["fits"], "fits");
    let ran = on(
        &machine_path("board_and_integrated"),
        &["gguf", "list", "--json", "--margin", "24G", &folder],
        &[],
    );
    assert_eq!(ran.fine().json()["fits"], "does_not_fit");
    on(Path::new("/nonexistent"), &["gguf", "list", &folder], &[]).failed(4, "/nonexistent");
}

/// A script in the place of a server, which tells its environment and ends.
fn told_environment(machine: &str, args: &[&str], set: &[(&str, &str)]) -> (Ran, Option<String>) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (server, told) = (folder.path().join("server"), folder.path().join("told"));
    let script =
        format!("#!/bin/sh\nenv > '{}'\necho failed to load model >&2\nexit 1\n", told.display());
    fs::write(&server, script).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = folder.path().to_str().unwrap();
    let set =
        [set, &[("ROCLOAD_LLAMA_SERVER", server.to_str().unwrap()), ("XDG_RUNTIME_DIR", folder)]]
            .concat();
    let model = model();
    let ran = on(&machine_path(machine), &[&["run", &model, "hello"], args].concat(), &set);
    (ran, fs::read_to_string(told).ok())
}

#[test]
fn a_server_gets_the_mask_of_the_choice() {
    let line = |told: Option<String>, name: &str| {
        let told = told.expect("the server was started");
        told.lines().find(|line| line.starts_with(&format!("{name}="))).map(str::to_owned)
    };
    let (_, told) = told_environment("two_boards", &[], &[]);
    assert_eq!(
        line(told, "ROCR_VISIBLE_DEVICES").unwrap(),
        "ROCR_VISIBLE_DEVICES=GPU-1f0e55aa00000002"
    );
    let (_, told) = told_environment("divided", &[], &[]);
    assert_eq!(line(told, "ROCR_VISIBLE_DEVICES").unwrap(), "ROCR_VISIBLE_DEVICES=0");
    // The caller's own mask is kept and told, and an override is passed on and told.
    let (ran, told) = told_environment("two_boards", &[], &[("HIP_VISIBLE_DEVICES", "0")]);
    assert!(ran.err.contains("HIP_VISIBLE_DEVICES=0 chooses the gpus, and is kept"), "{}", ran.err);
    assert_eq!(line(told.clone(), "HIP_VISIBLE_DEVICES").unwrap(), "HIP_VISIBLE_DEVICES=0");
    assert_eq!(line(told, "ROCR_VISIBLE_DEVICES"), None);
    let (ran, told) =
        told_environment("two_boards", &[], &[("HSA_OVERRIDE_GFX_VERSION", "10.3.0")]);
    assert!(ran.err.contains("gfx1100 (gpu 1) is taken for gfx1030"), "{}", ran.err);
    assert_eq!(line(told, "HSA_OVERRIDE_GFX_VERSION").unwrap(), "HSA_OVERRIDE_GFX_VERSION=10.3.0");
}

#[test]
fn run_without_a_gpu_is_the_cpu_and_one_that_cannot_be_used_an_error() {
    let (ran, told) = told_environment("other_vendor", &[], &[]);
    assert!(
        ran.err.contains("no AMD GPU: there is no /dev/kfd; the cpu does the work"),
        "{}",
        ran.err
    );
    assert!(told.unwrap().contains("ROCR_VISIBLE_DEVICES=-1"));
    for machine in ["render_denied", "kfd_denied", "no_dri", "unknown_target"] {
        let (ran, told) = told_environment(machine, &[], &[]);
        ran.failed(4, "there is an AMD GPU, and it cannot be used");
        assert_eq!(told, None, "{machine}: nothing was started");
        let (ran, told) = told_environment(machine, &["--cpu"], &[]);
        assert!(!ran.err.contains("GPU") && told.is_some(), "{machine}: {}", ran.err);
    }
}

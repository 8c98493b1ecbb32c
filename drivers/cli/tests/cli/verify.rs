//! `verify`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rocload_fixtures::{Stage, bad_archives, good_archives, shared_data_or_skip};
use serde_json::{Value, json};

use super::{Ran, demo, good, kpack, rocload};

/// `verify` with words and several paths.
fn verify(words: &str, paths: &[&Path]) -> Ran {
    let mut args: Vec<OsString> = vec!["kpack".into(), "verify".into()];
    args.extend(words.split_whitespace().map(Into::into));
    args.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
    rocload(args)
}

fn with_manifest(words: &str, manifest: &Path, archive: &Path) -> Ran {
    let mut args: Vec<OsString> = vec!["kpack".into(), "verify".into()];
    args.extend(words.split_whitespace().map(Into::into));
    args.extend(["--manifest".into(), manifest.into(), archive.into()]);
    rocload(args)
}

#[test]
fn every_sound_archive_is_as_its_manifest_says() {
    for archive in good_archives() {
        let path = archive.file();
        let ran = with_manifest("", &path.with_extension("manifest.json"), &path).fine();
        assert!(
            ran.out.contains(": ok, ") && ran.out.ends_with(", all as in the manifest\n"),
            "{ran:?}"
        );
    }
}

#[test]
fn the_real_archives_are_as_their_manifests_say() {
    let Some(data) = shared_data_or_skip("the_real_archives_are_as_their_manifests_say") else {
        return;
    };
    let names = ["a_small_none", "a_small_zstd", "e_rocrand_zstd", "b_2000_zstd"];
    let mut args: Vec<OsString> = ["kpack", "verify", "--json"].map(Into::into).into();
    for name in names {
        args.extend(["--manifest".into(), data.join(format!("kpack/{name}.manifest.json")).into()]);
    }
    args.extend(names.map(|name| data.join(format!("kpack/{name}.kpack")).into()));
    let report = rocload(args).fine().json();
    let archives = report["archives"].as_array().unwrap();
    let kernels: Vec<&Value> = archives.iter().map(|archive| &archive["kernels"]).collect();
    assert_eq!(kernels, [24, 24, 7, 2000]);
    assert!(archives.iter().all(|archive| archive["ok"] == true && archive["errors"] == json!([])));
}

#[test]
fn every_broken_archive_is_refused_in_one_line() {
    let mut count = 0;
    for archive in bad_archives() {
        let ran = kpack("verify", &archive.file()).failed(3, &archive.path);
        assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
        assert_eq!(ran.out, "", "{}", archive.path);

        let ran = kpack("verify --json", &archive.file());
        assert_eq!((ran.code, &*ran.err), (Some(3), ""), "{}", archive.path);
        let report = &ran.json()["archives"][0];
        assert_eq!(report["ok"], false);
        let errors = report["errors"].as_array().unwrap();
        assert!(!errors.is_empty());
        for error in errors {
            assert!(error["offset"].is_u64() && error["error"].is_string(), "{error}");
        }
        if !matches!(archive.stage, Some(Stage::Open | Stage::FirstKernel)) {
            // The first kernel is the faulty one, and the second is sound.
            assert_eq!((errors.len(), &report["kernels"]), (1, &1.into()), "{}", archive.path);
            assert_eq!(errors[0]["binary"], rocload_fixtures::bad::FIRST);
            assert_eq!(errors[0]["arch"], rocload_fixtures::bad::ARCH);
        }
        count += 1;
    }
    assert!(count >= 60, "{count}");
}

#[test]
fn the_other_commands_refuse_what_opening_or_walking_proves() {
    let early = [Some(Stage::Open), Some(Stage::FirstKernel)];
    for archive in bad_archives().filter(|archive| early.contains(&archive.stage)) {
        for words in ["list", "info", "list --identify"] {
            let ran = kpack(words, &archive.file()).failed(3, &archive.path);
            assert_eq!(ran.out, "", "{words}: {}", archive.path);
        }
    }
}

#[test]
fn what_differs_from_the_manifest() {
    let archive = demo("zstd");
    let manifest = fs::read(archive.with_extension("manifest.json")).unwrap();
    let mut rows: Vec<Value> = serde_json::from_slice(&manifest).unwrap();
    rows[0][2] = 1.into();
    rows[1][3] = "0".repeat(64).into();
    let removed = rows.remove(2);
    rows.push(json!(["lib/other.so#0", "gfx906", 1, "0".repeat(64)]));
    let dir = tempfile::tempdir().unwrap();
    let changed = dir.path().join("m.json");
    fs::write(&changed, serde_json::to_vec(&rows).unwrap()).unwrap();

    let ran = with_manifest("--json", &changed, &archive);
    assert_eq!((ran.code, &*ran.err), (Some(1), ""));
    let report = &ran.json()["archives"][0];
    assert_eq!((&report["ok"], &report["kernels"]), (&false.into(), &8.into()));
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(errors.iter().all(|error| error["kind"] == "manifest" && error["offset"].is_null()));
    let about = |row: &Value| {
        let found = errors.iter().find(|e| e["binary"] == row[0] && e["arch"] == row[1]);
        found.unwrap()["error"].as_str().unwrap().to_owned()
    };
    assert!(
        about(&rows[0]).ends_with(", 1 in the manifest") && about(&rows[0]).starts_with("size is ")
    );
    assert!(about(&rows[1]).starts_with("sha256 is "));
    assert_eq!(about(&removed), "the manifest does not have this kernel");
    assert_eq!(about(rows.last().unwrap()), "in the manifest and not in the archive");

    let ran = with_manifest("", &changed, &archive);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.err.lines().count(), 5, "four faults and their sum: {ran:?}");
    assert!(ran.err.ends_with("8 of 8 kernels are whole: 4 faults\n"), "{ran:?}");
}

#[test]
fn a_fault_of_the_archive_outweighs_the_manifest() {
    let bad = bad_archives().find(|archive| archive.name() == "checksum-wrong").unwrap().file();
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty.json");
    fs::write(&empty, "[]").unwrap();
    assert_eq!(with_manifest("-q", &empty, &bad).code, Some(3));
    assert_eq!(with_manifest("-q", &empty, &demo("none")).code, Some(1));
}

#[test]
fn manifests_that_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let ran =
        with_manifest("", &at("object", "{}"), &demo("zstd")).failed(3, "object: the manifest: ");
    assert!(ran.err.contains("hint: a manifest is a JSON array of rows"), "{ran:?}");
    with_manifest("", &dir.path().join("absent"), &demo("zstd"))
        .failed(4, "absent: reading the manifest: no such file");
    let ran = with_manifest("--json", &at("text", "no"), &demo("zstd"));
    assert_eq!((ran.code, &ran.json()["error"]["kind"]), (Some(3), &"malformed".into()));
}

#[test]
fn of_several_archives_the_worst_counts() {
    let (sound, absent) = (demo("zstd"), Path::new("absent.kpack"));
    let bad = bad_archives().next().unwrap().file();
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(verify("", &[&sound, &demo("none")]).fine().out.lines().count(), 2);
    verify("", &[&sound, absent]).failed(4, "absent.kpack: opening the archive: no such file");
    verify("", &[&sound, dir.path()]).failed(1, "is a directory");
    assert_eq!(verify("", &[absent, dir.path()]).code, Some(1));
    assert_eq!(verify("", &[absent, &bad, dir.path(), &sound]).code, Some(3));

    let ran = verify("--json", &[&sound, absent, &bad]);
    assert_eq!(ran.code, Some(3));
    let report = ran.json();
    let ok: Vec<&Value> = report["archives"].as_array().unwrap().iter().map(|a| &a["ok"]).collect();
    assert_eq!(ok, [true, false, false]);
    assert_eq!(report["archives"][1]["errors"][0]["kind"], "not_found");
    assert!(report["archives"][1]["errors"][0]["binary"].is_null());
}

#[test]
fn a_cut_archive_names_its_fault() {
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.kpack");
    let whole = fs::read(demo("zstd")).unwrap();
    for len in [0, 3, 16, 64, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&cut, &whole[..len]).unwrap();
        kpack("verify", &cut).failed(3, "cut.kpack: ");
    }
}

#[test]
fn a_window_over_the_limit_can_be_accepted() {
    use rocload_fixtures::frame::{Block, Frame};
    use rocload_fixtures::kpack::{Builder, Scheme};
    // Nine MiB in a frame that says it needs a window of 16 MiB.
    let content = vec![7; 9 << 20];
    let mut blocks = vec![Block::rle(7, 128 << 10).then_more(); 71];
    blocks.push(Block::rle(7, 128 << 10));
    let size = Some(content.len() as u64);
    let frame =
        Frame { window: (24 - 10) << 3, content_size: size, blocks, ..Frame::default() }.bytes();
    let builder = Builder::new(Scheme::ZstdPerKernel).kernel_as("a#0", "gfx906", &content, frame);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wide.kpack");
    fs::write(&path, builder.build()).unwrap();
    let ran = kpack("verify", &path)
        .failed(3, "the frame's window in bytes is 9437184, over the limit of 8388608");
    assert!(ran.err.contains("hint: --max-window 9437184 accepts it"), "{ran:?}");
    kpack("verify --max-window 16M", &path).fine();
    kpack("verify --max-window 8MiB", &path).failed(3, "window");
}

#[test]
fn verbose_and_quiet() {
    let ran = kpack("verify -v", &demo("zstd")).fine();
    assert!(ran.out.contains("/s)\n"), "{ran:?}");
    assert_eq!(kpack("verify --quiet", &demo("zstd")).fine().out, "");
    assert_eq!(kpack("verify --threads 1 -q", &good("zstd-concatenated").file()).fine().out, "");
}

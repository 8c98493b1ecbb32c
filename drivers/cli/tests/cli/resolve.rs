//! `kpack resolve`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rocload_fixtures::fat::{self, RELA, Section};
use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::reference::reference;
use serde_json::Value;
use tempfile::TempDir;

use super::{Ran, command};

/// A tree: `lib/x.so` refers to archives in `.kpack`, by two units, the second's pointer standing
/// in a relocation.
struct Tree(TempDir);

impl Tree {
    fn new() -> Tree {
        let tree = Tree(TempDir::new().unwrap());
        fs::create_dir_all(tree.at("lib")).unwrap();
        fs::create_dir_all(tree.at(".kpack")).unwrap();
        let metadata = reference(&["../.kpack/x_@GFXARCH@.kpack"], "lib/x.so");
        let other = reference(&["../.kpack/y.kpack"], "lib/y.so");
        let both = [&metadata[..], &other].concat();
        let wrappers = [fat::wrapper(b"HIPK", 0x3000, 0), fat::wrapper(b"HIPK", 0, 7)].concat();
        let relocations = fat::relative(0x2020, 0x3000 + metadata.len() as u64);
        let file = fat::elf(&[
            Section::new(".rela.dyn", 0x1000, &relocations).of(RELA),
            Section::new(".hipFatBinSegment", 0x2000, &wrappers),
            Section::new(".rocm_kpack_ref", 0x3000, &both),
        ]);
        fs::write(tree.binary(), file).unwrap();
        tree
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn binary(&self) -> PathBuf {
        self.at("lib/x.so")
    }

    fn archive(&self, path: &str, kernels: &[(&str, &str, &[u8])]) {
        let empty = Builder::new(Scheme::ZstdPerKernel);
        let all = kernels.iter().fold(empty, |made, (key, arch, it)| made.kernel(key, arch, it));
        fs::write(self.at(path), all.build()).unwrap();
    }

    fn run(&self, line: &str, environment: &[(&str, &str)]) -> Ran {
        resolve(&self.binary(), line, environment)
    }
}

fn resolve(binary: &Path, line: &str, environment: &[(&str, &str)]) -> Ran {
    let mut command = command();
    for name in ["ROCM_KPACK_PATH", "ROCM_KPACK_PATH_PREFIX", "ROCM_KPACK_DISABLE"] {
        command.env_remove(name);
    }
    command.args(["kpack", "resolve"]).arg(binary).args(line.split_whitespace());
    command.envs(environment.iter().copied()).output().unwrap().into()
}

fn trail(json: &Value, step: &str) -> Vec<(String, String)> {
    let of = |it: &&Value| it["step"] == step;
    let name = |it: &Value| {
        let path = it["path"].as_str().or(it["archive"].as_str()).unwrap();
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let target = it["target"].as_str().map_or(String::new(), |target| format!("{target} in "));
        (format!("{target}{name}"), it["outcome"].as_str().unwrap().to_owned())
    };
    json["trail"].as_array().unwrap().iter().filter(of).map(name).collect()
}

fn pairs(texts: &[(&str, &str)]) -> Vec<(String, String)> {
    texts.iter().map(|(one, two)| ((*one).to_owned(), (*two).to_owned())).collect()
}

#[test]
fn the_whole_search_is_explained() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx90a:xnack-.kpack", &[("other#0", "gfx90a:xnack-", b"other")]);
    tree.archive(".kpack/x_gfx90a.kpack", &[("lib/x.so#0", "gfx90a", b"the kernel")]);
    let line = "--arch amdgcn-amd-amdhsa--gfx90a:xnack- --json";
    let json = tree.run(line, &[]).fine().json();
    assert_eq!((&json["key"], &json["kernel_name"]), (&"lib/x.so#0".into(), &"lib/x.so".into()));
    assert_eq!(json["targets"], serde_json::json!(["gfx90a:xnack-", "gfx90a"]));
    assert_eq!(json["paths"], serde_json::json!(["../.kpack/x_@GFXARCH@.kpack"]));
    assert_eq!(
        trail(&json, "path"),
        pairs(&[
            ("x_gfx90a:xnack-.kpack", "opened"),
            ("x_gfx90a-xnack-.kpack", "missing"),
            ("x_gfx90a.kpack", "opened"),
        ])
    );
    assert_eq!(
        trail(&json, "kernel"),
        pairs(&[
            ("gfx90a:xnack- in x_gfx90a:xnack-.kpack", "no_kernel"),
            ("gfx90a:xnack- in x_gfx90a.kpack", "no_target"),
            ("gfx90a in x_gfx90a:xnack-.kpack", "no_target"),
            ("gfx90a in x_gfx90a.kpack", "found"),
        ])
    );
    assert_eq!((&json["found"]["target"], &json["found"]["size"]), (&"gfx90a".into(), &10.into()));
    assert_eq!(json["found"]["extracted"], Value::Null);

    let text = tree.run("--arch gfx90a:xnack-", &[]).fine().out;
    for part in
        ["lib/x.so#0", "no such file", "code for it, and not this kernel", "would load gfx90a"]
    {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let quiet = tree.run("--arch gfx90a:xnack- -q", &[]).fine().out;
    assert_eq!(quiet.lines().count(), 1, "{quiet}");
}

#[test]
fn the_kernel_is_extracted() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[("lib/x.so#0", "gfx1100", b"the kernel")]);
    tree.archive(".kpack/y.kpack", &[("lib/y.so#7", "gfx1100", b"of unit 7")]);
    let file = tree.at("out.hsaco");
    let extract = format!("--extract {}", file.display());
    let ran = tree.run(&format!("--arch gfx1100 {extract}"), &[]).fine();
    assert!(ran.out.contains("loaded gfx1100"), "{ran:?}");
    assert_eq!(fs::read(&file).unwrap(), b"the kernel");
    // Another unit, whose pointer only a relocation knows.
    let json =
        tree.run(&format!("--arch gfx1100 --co-index 7 --json {extract}"), &[]).fine().json();
    assert_eq!(fs::read(&file).unwrap(), b"of unit 7");
    assert_eq!(json["found"]["sha256"], rocload_fixtures::hash::sha256_hex(b"of unit 7"));
    // What is not found replaces nothing.
    tree.run(&format!("--arch gfx1030 -q {extract}"), &[]).failed(4, "no archive");
    assert_eq!(fs::read(&file).unwrap(), b"of unit 7");
    let ran =
        tree.run("--arch gfx1100 --co-index 3", &[]).failed(4, "no reference metadata of unit 3");
    assert!(ran.err.contains("there are 0, 7"), "{ran:?}");
}

#[test]
fn the_environment_is_heeded() {
    let tree = Tree::new();
    for (path, content) in [
        (".kpack/x_gfx1100.kpack", &b"embedded"[..]),
        ("p:1.kpack", b"prefix"),
        ("o.kpack", b"override"),
    ] {
        tree.archive(path, &[("lib/x.so#0", "gfx1100", content)]);
    }
    let prefix = tree.at("p:1.kpack");
    let prefix = ("ROCM_KPACK_PATH_PREFIX", prefix.to_str().unwrap());
    let over = tree.at("o.kpack");
    let over = ("ROCM_KPACK_PATH", over.to_str().unwrap());
    for (environment, size) in [(&[][..], 8), (&[prefix], 6), (&[over], 8), (&[prefix, over], 8)] {
        let json = tree.run("--arch gfx1100 --json", environment).fine().json();
        assert_eq!(json["found"]["size"], size);
        let origin = match environment {
            [] => "embedded",
            [("ROCM_KPACK_PATH_PREFIX", _)] => "prefix",
            _ => "override",
        };
        assert_eq!(json["trail"][0]["origin"], origin);
    }
    let off = tree.run("--arch gfx1100", &[("ROCM_KPACK_DISABLE", "1")]).failed(1, "switched off");
    assert!(off.err.contains("hint: unset ROCM_KPACK_DISABLE"), "{off:?}");
    tree.run("--arch gfx1100", &[("ROCM_KPACK_DISABLE", "0")]).fine();
}

#[test]
fn generic_targets_are_asked_for_by_option() {
    let tree = Tree::new();
    tree.archive(
        ".kpack/x_gfx9-4-generic:sramecc+.kpack",
        &[("lib/x.so#0", "gfx9-4-generic:sramecc+", b"generic")],
    );
    let isa = "--arch amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-";
    tree.run(isa, &[]).failed(4, "no archive");
    let json = tree.run(&format!("{isa} --generic --json"), &[]).fine().json();
    assert_eq!(json["arches"][1], "gfx9-4-generic:sramecc+:xnack-");
    assert_eq!(json["found"]["arch"], "gfx9-4-generic:sramecc+:xnack-");
    assert_eq!(json["found"]["target"], "gfx9-4-generic:sramecc+");
}

#[test]
fn architectures_are_tried_in_their_order() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[("lib/x.so#0", "gfx1100", b"k")]);
    tree.archive(".kpack/x_gfx1030.kpack", &[("lib/x.so#0", "gfx1030", b"k")]);
    for (line, found) in [
        ("--arch gfx1101 gfx1100 gfx1030", "gfx1100"),
        ("--arch gfx1101 --arch gfx1030 gfx1100", "gfx1030"),
        ("--arch gfx1030 --arch gfx1100", "gfx1030"),
    ] {
        let json = tree.run(&format!("{line} --json"), &[]).fine().json();
        assert_eq!(json["found"]["target"], found, "{line}");
    }
}

#[test]
fn what_fails_is_told_with_its_status() {
    let tree = Tree::new();
    let fail = |line: &str, code, text: &str| tree.run(line, &[]).failed(code, text);
    fail("--arch gfx1100 -q", 4, "no archive was found");
    fs::write(tree.at(".kpack/x_gfx1100.kpack"), b"this is no archive at all").unwrap();
    fail("--arch gfx1100 -q", 3, "an archive is malformed (targets: gfx1100)");
    tree.archive(".kpack/x_gfx1100.kpack", &[("lib/x.so#0", "gfx1030", b"k")]);
    fail("--arch gfx1100 -q", 4, "no archive has code for this architecture");
    tree.archive(".kpack/x_gfx1100.kpack", &[("other#0", "gfx1100", b"k")]);
    fail("--arch gfx1100 -q", 4, "lib/x.so#0: no archive has this kernel");
    fail("--arch p:1:2:3:4:5:6:7", 2, "target features");
    tree.run("", &[]).misused("--arch");
    let ran = tree.run("--arch gfx1100 --json", &[]);
    assert_eq!(ran.code, Some(4));
    let [trail, error] = &ran.json_lines()[..] else { panic!("{ran:?}") };
    assert_eq!(trail["found"], Value::Null);
    assert_eq!(error["error"]["kind"], "no_kernel");

    for (name, sections, code, text) in [
        ("plain.so", &[Section::new(".text", 0, b"host")][..], 4, "refers to no archives"),
        (
            "fat.so",
            &[Section::new(".hipFatBinSegment", 0, &fat::wrapper(b"FPIH", 0, 0))],
            4,
            "in the binary itself",
        ),
        (
            "broken.so",
            &[
                Section::new(".hipFatBinSegment", 0x1000, &fat::wrapper(b"HIPK", 0x2000, 0)),
                Section::new(".rocm_kpack_ref", 0x2000, b"\x93\x01\x02\x03"),
            ],
            3,
            "the reference metadata",
        ),
    ] {
        fs::write(tree.at(name), fat::elf(sections)).unwrap();
        resolve(&tree.at(name), "--arch gfx1100", &[]).failed(code, text);
    }
    resolve(&tree.at("absent"), "--arch gfx1100", &[]).failed(4, "no such file");
}

#[test]
fn a_binary_by_a_link_is_searched_for_twice() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[("lib/x.so#0", "gfx1100", b"k")]);
    fs::create_dir_all(tree.at("elsewhere/lib")).unwrap();
    let link = tree.at("elsewhere/lib/x.so");
    symlink(tree.binary(), &link).unwrap();
    let json = resolve(&link, "--arch gfx1100 --json", &[]).fine().json();
    let origins: Vec<&Value> =
        json["trail"].as_array().unwrap().iter().map(|it| &it["origin"]).collect();
    assert_eq!(origins[..2], [&Value::from("embedded"), &"linked".into()]);
}

//! `bundle list`, `bundle extract` and `kpack split`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rocload_fixtures::fat::{self, NOBITS, RELA, Section};
use rocload_fixtures::hash::sha256_hex;
use rocload_fixtures::manifest::read_kernel_rows;
use rocload_fixtures::object::{Abi, Ccob, bundle, ccob, elf};
use rocload_fixtures::shared_data_or_skip;
use serde_json::Value;
use tempfile::TempDir;

use super::{Ran, rocload};

/// A folder with files.
struct Dir(TempDir);

impl Dir {
    fn new() -> Dir {
        Dir(TempDir::new().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.at(path), bytes).unwrap();
        self.at(path)
    }

    /// Files below a folder, with their contents' digests.
    fn files(&self, folder: &str) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        for arch in fs::read_dir(self.at(folder)).unwrap() {
            let arch = arch.unwrap();
            for file in fs::read_dir(arch.path()).unwrap() {
                let file = file.unwrap();
                let name = [arch.file_name(), file.file_name()].map(|it| it.into_string().unwrap());
                found.insert((name.join("/"), sha256_hex(&fs::read(file.path()).unwrap())));
            }
        }
        found
    }
}

fn words(line: &str, path: &Path) -> Ran {
    rocload(line.split_whitespace().map(Into::into).chain([path.as_os_str().to_owned()]))
}

const HOST: &str = "host-x86_64-unknown-linux--";

fn id(target: &str) -> String {
    format!("hipv4-amdgcn-amd-amdhsa--{target}")
}

/// A bundle with made-up objects for these targets.
fn bundle_of(targets: &[&str], seed: u64) -> (Vec<u8>, Vec<Vec<u8>>) {
    let objects: Vec<Vec<u8>> =
        (seed..).zip(targets).map(|(seed, target)| elf(target, Abi::V5, 2048, seed)).collect();
    let ids: Vec<String> = targets.iter().map(|target| id(target)).collect();
    let mut entries: Vec<(&str, &[u8])> = vec![(HOST, b"")];
    entries.extend(ids.iter().zip(&objects).map(|(id, object)| (id.as_str(), &object[..])));
    (bundle(&entries, 4096), objects)
}

const TARGETS: [&str; 3] = ["gfx1030", "gfx90a:xnack+", "gfx90a:xnack-"];

/// A library of two translation units: the wrappers point the other way round, one as the file
/// has it and one by a relocation, and the second bundle is compressed.
fn library() -> (Vec<u8>, [Vec<Vec<u8>>; 2]) {
    let (plain, first) = bundle_of(&TARGETS, 1);
    let (inner, second) = bundle_of(&TARGETS[1..], 7);
    let packed = ccob(Ccob::V3, &inner);
    let code = [&plain[..], &[0; 100], &packed].concat();
    let second_at = 0x10000 + plain.len() as u64 + 100;
    let wrappers = [fat::wrapper(b"FPIH", 0xdead_beef, 0), fat::wrapper(b"FPIH", 0x10000, 0)];
    // The first wrapper: unit 0 is the second bundle.
    let relocations = fat::relative(0x80008, second_at);
    let file = fat::elf(&[
        Section::new(".text", 0x1000, b"host code"),
        Section::new(".rela.dyn", 0x2000, &relocations).of(RELA),
        Section::new(".hip_fatbin", 0x10000, &code),
        Section::new(".hipFatBinSegment", 0x80000, &wrappers.concat()),
    ]);
    (file, [second, first])
}

fn objects(json: &Value) -> Vec<(u64, String, u64)> {
    let object = |it: &Value| {
        let text = it["target"].as_str().unwrap().to_owned();
        (it["co_index"].as_u64().unwrap(), text, it["size"].as_u64().unwrap())
    };
    json["objects"].as_array().unwrap().iter().map(object).collect()
}

#[test]
fn the_code_of_a_library_is_listed_by_its_units() {
    let dir = Dir::new();
    let (file, _) = library();
    let path = dir.write("liba.so", &file);
    let json = words("bundle list --json --identify", &path).fine().json();
    assert_eq!((&json["format"], &json["split_off"]), (&"elf".into(), &false.into()));
    let wanted = [(1, 0), (1, 1), (1, 2), (0, 1), (0, 2)];
    let wanted = wanted.map(|(unit, target)| (unit, TARGETS[target].to_owned(), 2048));
    assert_eq!(objects(&json), wanted);
    for object in json["objects"].as_array().unwrap() {
        assert_eq!(object["object"], "elf");
        assert_eq!(object["elf_target"], object["target"]);
        let compressed = object["co_index"] == 0;
        assert_eq!(object["compressed"].is_object(), compressed);
        if compressed {
            assert_eq!(
                (&object["compressed"]["version"], &object["compressed"]["method"]),
                (&3.into(), &"zstd".into())
            );
        }
    }
    let kinds: Vec<&str> = json["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["relocations", "fatbin", "wrappers"]);

    let text = words("bundle list", &path).fine().out;
    assert!(text.contains("elf, 5 code objects, 10.0 KiB"), "{text}");
    assert!(text.contains("gfx90a:xnack-  compressed bundle, version 3, zstd"), "{text}");
    assert_eq!(text.lines().count(), 7, "{text}");
}

#[test]
fn it_is_extracted_byte_for_byte() {
    let dir = Dir::new();
    let (file, units) = library();
    let path = dir.write("liba.so", &file);
    let out = dir.at("out");
    let line = format!("bundle extract -d {}", out.display());
    let json = words(&format!("{line} --json"), &path).fine().json();
    let mut wanted = BTreeSet::new();
    for (unit, (objects, targets)) in units.iter().zip([&TARGETS[1..], &TARGETS]).enumerate() {
        for (object, target) in objects.iter().zip(targets) {
            let name = format!("{}/liba.so#{unit}.hsaco", target.replace(':', "-"));
            wanted.insert((name, sha256_hex(object)));
        }
    }
    assert_eq!(dir.files("out"), wanted);
    let files = json["files"].as_array().unwrap();
    assert!(files.len() == 5 && files.iter().all(|it| it["written"] == true), "{json}");
    for it in files {
        let bytes = fs::read(it["path"].as_str().unwrap()).unwrap();
        assert_eq!((&it["size"], &it["sha256"]), (&bytes.len().into(), &sha256_hex(&bytes).into()));
    }
    // Once more: nothing is written.
    let again = words(&line, &path).fine().out;
    assert_eq!(again.matches("(there already)").count(), 5, "{again}");

    let some = dir.at("some");
    let line = format!("bundle extract -d {} --arch gfx90a* --arch gfx90a:xnack-", some.display());
    words(&line, &path).fine();
    assert_eq!(dir.files("some").len(), 4);
    let none =
        words(&format!("bundle extract -d {} --arch gfx803", dir.at("none").display()), &path);
    let none = none.failed(4, "no target matches --arch gfx803");
    assert!(none.err.contains("hint: there are gfx1030, gfx90a:xnack+, gfx90a:xnack-"), "{none:?}");
    assert!(!dir.at("none").exists());
}

#[test]
fn bundles_may_be_files_of_their_own_and_other_binaries() {
    let dir = Dir::new();
    let (plain, made) = bundle_of(&TARGETS, 3);
    let zipped = [ccob(Ccob::V2, &plain), ccob(Ccob::V3, &plain)].concat();
    let short = [Section::new(".hip_fat", 0x1000, &plain), Section::new(".text", 0, b"host")];
    let long = [Section::new(".hip_fatbin", 0x1000, &plain)];
    for (name, bytes, format, times) in [
        ("plain.hipfb", &plain, "other", 1),
        ("zipped.hipfb", &zipped, "other", 2),
        ("short.obj", &fat::coff(&short, None), "coff", 1),
        ("short.dll", &fat::coff(&short, Some(0x1_8000_0000)), "pe", 1),
        ("long.dll", &fat::coff(&long, Some(0x1_8000_0000)), "pe", 1),
    ] {
        let path = dir.write(name, bytes);
        let json = words("bundle list --json", &path).fine().json();
        assert_eq!(json["format"], format, "{name}");
        assert_eq!(objects(&json).len(), 3 * times, "{name}");
        words(&format!("bundle extract -q -d {}", dir.at("out").display()), &path).fine();
        for unit in 0..times {
            for (object, target) in made.iter().zip(TARGETS) {
                let file = format!("out/{}/{name}#{unit}.hsaco", target.replace(':', "-"));
                assert_eq!(fs::read(dir.at(&file)).unwrap(), *object, "{file}");
            }
        }
    }
    // A code object by itself.
    let path = dir.write("kernel.hsaco", &made[0]);
    let json = words("bundle list --json --identify", &path).fine().json();
    assert_eq!(json["objects"][0]["elf_target"], "gfx1030");
    assert_eq!(json["objects"][0]["size"], 2048);
    // It has no id, and its own target is told.
    assert_eq!(
        (&json["objects"][0]["target"], &json["objects"][0]["id"]),
        (&"gfx1030".into(), &"".into())
    );
    assert!(words("bundle list", &path).fine().out.contains(" gfx1030 "));
    words(&format!("bundle extract -q -d {}", dir.at("alone").display()), &path).fine();
    assert_eq!(fs::read(dir.at("alone/gfx1030/kernel.hsaco#0.hsaco")).unwrap(), made[0]);
    words(&format!("kpack split --key-prefix k -q -d {}", dir.at("alone").display()), &path).fine();
    let packed = ("k/kernel.hsaco#0".to_owned(), "gfx1030".to_owned(), sha256_hex(&made[0]));
    assert_eq!(kernels(&dir.at("alone/kernel_gfx1030.kpack")), BTreeSet::from([packed]));
}

#[test]
fn binaries_without_device_code_are_no_fault() {
    let dir = Dir::new();
    let gone = fat::elf(&[Section::new(".hip_fatbin", 0x1000, &[0; 4096]).of(NOBITS)]);
    let wrappers = fat::wrapper(b"HIPK", 0x3000, 0);
    let moved = fat::elf(&[
        Section::new(".hipFatBinSegment", 0x2000, &wrappers),
        Section::new(".rocm_kpack_ref", 0x3000, b"\x80"),
    ]);
    let plain = fat::elf(&[Section::new(".text", 0x1000, b"host code")]);
    for (name, bytes, text) in [
        ("gone.debug", &gone, "split off"),
        ("moved.so", &moved, "moved into archives"),
        ("plain.so", &plain, "no device code here"),
    ] {
        let path = dir.write(name, bytes);
        for command in ["bundle list", "bundle extract -d out"] {
            let ran = words(command, &path).fine();
            assert!(ran.out.contains(text), "{ran:?}");
        }
        let json = words("bundle list --json", &path).fine().json();
        assert_eq!(json["split_off"], name == "gone.debug");
        assert!(json["objects"].as_array().unwrap().is_empty());
        let split = format!("kpack split -d {}", dir.at("split").display());
        words(&split, &path).failed(4, "no device code here");
    }
    let text = dir.write("notes.txt", b"this is no binary");
    let ran = words("bundle list", &text).failed(3, "no offload bundle begins here");
    assert!(ran.err.contains("notes.txt"), "{ran:?}");
    let json = words("bundle list --json", &text);
    assert_eq!(json.code, Some(3));
    assert_eq!(json.json()["error"]["offset"], 0);
    words("bundle list", &dir.at("absent")).failed(4, "no such file");
}

/// Keys, architectures and contents of an archive.
fn kernels(archive: &Path) -> BTreeSet<(String, String, String)> {
    let dir = Dir::new();
    let line = format!("kpack extract --all --json -d {}", dir.at("k").display());
    let json = words(&line, archive).fine().json();
    let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
    let files = json["files"].as_array().unwrap().iter();
    files.map(|it| (text(it, "binary"), text(it, "arch"), text(it, "sha256"))).collect()
}

#[test]
fn a_library_is_split_into_an_archive_for_each_architecture() {
    let dir = Dir::new();
    let (file, units) = library();
    let path = dir.write("liba.so.1", &file);
    let before = fs::read(&path).unwrap();
    let line = format!("kpack split --key-prefix lib -d {}", dir.at("out").display());
    let json = words(&format!("{line} --json"), &path).fine().json();
    let mut all = BTreeSet::new();
    for (unit, (objects, targets)) in units.iter().zip([&TARGETS[1..], &TARGETS]).enumerate() {
        for (object, target) in objects.iter().zip(targets) {
            all.insert((format!("lib/liba.so.1#{unit}"), (*target).to_owned(), sha256_hex(object)));
        }
    }
    let mut found = BTreeSet::new();
    for target in TARGETS {
        let archive = dir.at(&format!("out/liba_{target}.kpack"));
        let kernels = kernels(&archive);
        assert!(kernels.iter().all(|(_, arch, _)| arch == target));
        found.extend(kernels);
        let info = words("kpack list --json", &archive).fine().json();
        assert_eq!((&info["group"], &info["family"]), (&"liba".into(), &target.into()));
        assert_eq!(info["arches"], serde_json::json!([target]));
        assert_eq!(info["entries"][0]["kind"], "hsaco");
        words("kpack verify -q", &archive).fine();
    }
    assert_eq!(found, all);
    assert_eq!(json["archives"].as_array().unwrap().len(), 3);
    assert_eq!(fs::read_dir(dir.at("out")).unwrap().count(), 3);
    assert_eq!(fs::read(&path).unwrap(), before, "the binary is left alone");

    // What is there is not replaced unasked.
    words(&line, &path).failed(1, "exists");
    words(&format!("{line} --force -q"), &path).fine();

    let line = format!(
        "kpack split --layout single --group blas --scheme none --checksums -d {}",
        dir.at("one").display()
    );
    words(&line, &path).fine();
    let one = dir.at("one/blas.kpack");
    // Of an absolute path nothing is known but the name.
    let bare = |(key, arch, sum): (String, String, String)| (key.replace("lib/", ""), arch, sum);
    assert_eq!(kernels(&one), all.into_iter().map(bare).collect());
    let info = words("kpack list --json", &one).fine().json();
    assert_eq!((&info["scheme"], &info["family"]), (&"none".into(), &"mixed".into()));
}

#[test]
fn keys_follow_the_command_line() {
    let dir = Dir::new();
    let (plain, _) = bundle_of(&TARGETS[..1], 3);
    fs::create_dir_all(dir.at("lib/sub")).unwrap();
    dir.write("lib/sub/a.so", &plain);
    dir.write("lib/b.so", &plain);
    let run = |args: &[&str]| -> Ran {
        let mut command = super::command();
        command.current_dir(dir.0.path()).args(["kpack", "split"]).args(args);
        command.output().unwrap().into()
    };
    let keys = |archive: &str| -> Vec<String> {
        kernels(&dir.at(archive)).into_iter().map(|(key, ..)| key).collect()
    };
    run(&["./lib/sub/a.so", "lib/b.so", "-d", "1"]).fine();
    assert_eq!(keys("1/a_gfx1030.kpack"), ["lib/b.so#0", "lib/sub/a.so#0"]);
    run(&["lib/../lib/b.so", "-d", "2"]).fine();
    assert_eq!(keys("2/b_gfx1030.kpack"), ["b.so#0"]);
    run(&["lib/b.so", "-d", "3", "--key-prefix", "x/y/"]).fine();
    assert_eq!(keys("3/b_gfx1030.kpack"), ["x/y/b.so#0"]);
    run(&["lib/b.so", "-d", "4", "--key-prefix", ""]).fine();
    assert_eq!(keys("4/b_gfx1030.kpack"), ["b.so#0"]);
    // Two of one key.
    dir.write("lib/sub/b.so", &plain);
    run(&["lib/b.so", "lib/sub/b.so", "-d", "5", "--key-prefix", "x"]).failed(1, "there twice");
    assert!(!dir.at("5").exists());
    let odd = bundle(&[("hip-without-target", b"code")], 8);
    dir.write("odd.hipfb", &odd);
    run(&["odd.hipfb", "-d", "6"]).failed(3, "no architecture");
    for (args, text) in [
        (&["lib/b.so", "-d", "7", "--group", "a/b"][..], "--group"),
        (&["lib/b.so", "-d", "7", "--scheme", "none", "--index"], "--index"),
        (&["lib/b.so", "-d", "7", "--level", "99"], "level"),
        (&["lib/b.so"], "--directory"),
    ] {
        run(args).misused(text);
    }
}

/// Real device code: the kernels of an archive, put into a library and split again, are that
/// archive's by architecture, size and content.
#[test]
fn splitting_real_code_gives_the_archive_that_it_is_from() {
    let Some(data) = shared_data_or_skip("splitting_real_code_gives_the_archive_that_it_is_from")
    else {
        return;
    };
    let dir = Dir::new();
    let archive = data.join("kpack/e_rocrand_zstd.kpack");
    let json = words(&format!("kpack extract --all --json -d {}", dir.at("k").display()), &archive);
    let json = json.fine().json();
    let mut entries = vec![(HOST.to_owned(), Vec::new())];
    for file in json["files"].as_array().unwrap() {
        let bytes = fs::read(file["path"].as_str().unwrap()).unwrap();
        entries.push((id(file["arch"].as_str().unwrap()), bytes));
    }
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(id, it)| (&**id, &**it)).collect();
    let packed = ccob(Ccob::V2, &bundle(&entries, 4096));
    let file = fat::elf(&[Section::new(".hip_fatbin", 0x1000, &packed)]);
    let path = dir.write("librocrand.so.1.1", &file);
    words(&format!("kpack split -q -d {}", dir.at("out").display()), &path).fine();
    let mut found = BTreeSet::new();
    for archive in fs::read_dir(dir.at("out")).unwrap() {
        let json = words("kpack list --json", &archive.as_ref().unwrap().path()).fine().json();
        let size = json["entries"][0]["size"].as_u64().unwrap();
        for (_, arch, sum) in kernels(&archive.unwrap().path()) {
            found.insert((arch, size, sum));
        }
    }
    let rows = read_kernel_rows(&data.join("kpack/e_rocrand_zstd.manifest.json"));
    let wanted = rows.into_iter().map(|row| (row.arch, row.size, row.sha256));
    assert_eq!(found, wanted.collect());
}

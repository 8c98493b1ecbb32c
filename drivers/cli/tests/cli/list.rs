//! `list` and `info`.

use std::path::Path;

use rocload_fixtures::manifest::{KernelRow, read_kernel_rows};
use rocload_fixtures::{good_archives, shared_data_or_skip};
use serde_json::Value;

use super::{demo, good, kpack, rocload};

fn rows(listing: &Value) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entries = listing["entries"].as_array().unwrap();
    let row = |e: &Value| (text(&e["binary"]), text(&e["arch"]), e["size"].as_u64().unwrap());
    entries.iter().map(row).collect()
}

fn expected(rows: Vec<KernelRow>) -> Vec<(String, String, u64)> {
    rows.into_iter().map(|row| (row.binary, row.arch, row.size)).collect()
}

#[test]
fn json_of_every_sound_archive_is_its_manifest() {
    let mut kernels = 0;
    for archive in good_archives() {
        let listing = kpack("list --json", &archive.file()).fine().json();
        assert_eq!(rows(&listing), expected(archive.kernels()), "{}", archive.path);
        kernels += archive.kernels().len();
        assert_eq!(listing["archive"], archive.file().to_str().unwrap());
    }
    assert!(kernels > 50);
}

#[test]
fn json_of_the_real_archives_is_their_manifest() {
    let Some(data) = shared_data_or_skip("json_of_the_real_archives_is_their_manifest") else {
        return;
    };
    for (name, kernels) in
        [("a_small_none", 24), ("a_small_zstd", 24), ("e_rocrand_zstd", 7), ("b_2000_zstd", 2000)]
    {
        let path = data.join(format!("kpack/{name}.kpack"));
        let listing = kpack("list --json", &path).fine().json();
        let arches: Vec<&str> = listing["arches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arch| arch.as_str().unwrap())
            .collect();
        let rank = |arch: &str| arches.iter().position(|other| *other == arch);
        let mut manifest = expected(read_kernel_rows(&path.with_extension("manifest.json")));
        manifest
            .sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()).then(rank(&a.1).cmp(&rank(&b.1))));
        assert_eq!(manifest.len(), kernels);
        assert!(rows(&listing) == manifest, "{name}");
    }
}

#[test]
fn offsets_lead_to_what_is_stored() {
    for scheme in ["none", "zstd"] {
        let bytes = std::fs::read(demo(scheme)).unwrap();
        let listing = kpack("list --json", &demo(scheme)).fine().json();
        for entry in listing["entries"].as_array().unwrap() {
            let field = |name: &str| usize::try_from(entry[name].as_u64().unwrap()).unwrap();
            let (offset, stored) = (field("offset"), field("stored_size"));
            if scheme == "none" {
                assert_eq!(bytes[offset..offset + 4], *b"\x7fELF");
                assert_eq!(stored, field("size"));
            } else {
                assert_eq!(bytes[offset..offset + 4], 0xfd2f_b528_u32.to_le_bytes());
                let word: [u8; 4] = bytes[offset - 4..offset].try_into().unwrap();
                assert_eq!(stored, u32::from_le_bytes(word) as usize);
            }
        }
    }
}

#[test]
fn the_schema_of_a_listing() {
    let listing = kpack("list --json", &demo("zstd")).fine().json();
    let keys: Vec<&String> = listing.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["arches", "archive", "entries", "family", "group", "scheme"]);
    assert_eq!(listing["scheme"], "zstd-per-kernel");
    assert_eq!((&listing["group"], &listing["family"]), (&"demo".into(), &"mixed".into()));
    let entry = listing["entries"][0].as_object().unwrap();
    let keys: Vec<&String> = entry.keys().collect();
    assert_eq!(keys, ["arch", "binary", "kind", "offset", "ordinal", "size", "stored_size"]);
    assert_eq!(entry["kind"], "hsaco");

    let metadata = kpack("list --json", &good("zstd-metadata").file()).fine().json();
    let of_entries = metadata["entries"].as_array().unwrap().iter();
    assert!(of_entries.filter(|entry| entry["metadata"].is_object()).count() > 0, "{metadata}");
}

#[test]
fn objects_are_identified() {
    let listing = kpack("list --json --identify", &demo("zstd")).fine().json();
    for entry in listing["entries"].as_array().unwrap() {
        assert_eq!((&entry["object"], &entry["target"]), (&"elf".into(), &entry["arch"]));
    }
    let mixed = kpack("list --json --identify", &good("objects").file()).fine().json();
    let mut objects: Vec<&str> = mixed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["object"].as_str().unwrap())
        .collect();
    objects.sort_unstable();
    objects.dedup();
    assert_eq!(objects, ["bundle", "ccob", "elf", "elfs", "unknown"]);

    let table = kpack("list --identify", &demo("none")).fine().out;
    let line = table.lines().find(|line| line.contains("gfx90a:xnack-")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[5..], ["hsaco", "gfx90a:xnack-", "elf", "gfx90a:xnack-", "lib/libdemo.so#0"]);
}

#[test]
fn the_table_for_people() {
    let table = kpack("list", &demo("zstd")).fine().out;
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].ends_with("demo_zstd.kpack: scheme zstd-per-kernel, group demo, family mixed")
    );
    let heads: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(heads, ["SIZE", "STORED", "RATIO", "KIND", "ARCH", "BINARY"]);
    assert_eq!(lines.len(), 8 + 3);
    assert!(lines[10].ends_with("8 kernels for 4 architectures"));
    assert!(!table.contains('\u{1b}'), "no colour without a terminal");

    let quiet = kpack("list --quiet", &demo("zstd")).fine().out;
    assert_eq!(quiet.lines().collect::<Vec<_>>(), lines[1..10]);
    let verbose = kpack("list -v", &demo("zstd")).fine().out;
    assert!(verbose.contains("ORDINAL  OFFSET"));
}

#[test]
fn colour_where_it_is_asked_for() {
    let run = |name: &str| {
        let mut command = super::command();
        command.env(name, "1").args(["kpack", "list"]).arg(demo("zstd"));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(run("CLICOLOR_FORCE").contains("\u{1b}["));
    assert!(!run("NO_COLOR").contains('\u{1b}'));
}

#[test]
fn filters() {
    let listed = |options: &str| {
        rows(&kpack(&format!("list --json {options}"), &demo("zstd")).fine().json())
    };
    assert_eq!(listed("").len(), 8);
    assert_eq!(listed("--arch gfx90a*").len(), 4);
    assert_eq!(listed("--arch gfx90a").len(), 2);
    assert_eq!(listed("--arch gfx90a --arch gfx906").len(), 4);
    assert_eq!(listed("--arch gfx90a* --binary *#1").len(), 2);
    assert_eq!(listed("--binary *demo*").len(), 8);
    assert_eq!(listed("--binary lib/libdemo.so#?").len(), 8);

    let list = |options: &str| kpack(&format!("list {options}"), &demo("zstd"));
    let ran = list("--arch gfx999").failed(4, "no architecture matches --arch gfx999");
    assert!(
        ran.err.contains("\nhint: there are gfx1030, gfx906, gfx90a, gfx90a:xnack-\n"),
        "{ran:?}"
    );
    list("--arch gfx90a --arch gfx9").failed(4, "no architecture matches --arch gfx9");
    list("--binary demo").failed(4, "no binary matches --binary demo");
    let quiet = list("--quiet --arch gfx999").failed(4, "gfx999");
    assert!(!quiet.err.contains("hint"), "{quiet:?}");

    let variants = good("arches-variants").file();
    let sparse = rocload(
        ["kpack", "list", "--arch=gfx90a:xnack+", "--binary=lib/libdemo.so#0"]
            .map(std::ffi::OsStr::new)
            .into_iter()
            .chain([variants.as_os_str(), demo("zstd").as_os_str()]),
    );
    sparse.failed(4, "no kernel matches both --binary and --arch");
}

#[test]
fn several_archives() {
    let args = |rest: &[&Path]| {
        let mut args: Vec<std::ffi::OsString> = ["kpack", "list", "--json"].map(Into::into).into();
        args.extend(rest.iter().map(|path| path.as_os_str().to_owned()));
        args
    };
    let (none, zstd) = (demo("none"), demo("zstd"));
    let both = rocload(args(&[&none, &zstd])).fine().json_lines();
    assert_eq!(rows(&both[0]), rows(&both[1]));

    let ran = rocload(args(&[&none, Path::new("absent.kpack"), &zstd]));
    assert_eq!((ran.code, &*ran.err), (Some(4), ""));
    let lines = ran.json_lines();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1]["error"]["kind"], "not_found");
    assert_eq!(lines[1]["error"]["path"], "absent.kpack");
    assert_eq!(lines[2]["scheme"], "zstd-per-kernel");
}

#[test]
fn names_do_not_reach_a_terminal_raw() {
    let hostile = good("keys-hostile").file();
    for words in ["list", "list -v --identify", "info", "verify", "list --json", "info --json"] {
        let ran = kpack(words, &hostile).fine();
        let bad = |c: char| c.is_control() && c != '\n';
        assert!(!ran.out.contains(bad), "{words}: {:?}", ran.out);
    }
    let table = kpack("list -q", &hostile).fine().out;
    assert_eq!(table.lines().count(), hostile_kernels() + 1, "one line a kernel");
}

fn hostile_kernels() -> usize {
    good("keys-hostile").kernels().len()
}

#[test]
fn info_sums_up() {
    let info = kpack("info --json", &demo("zstd")).fine().json();
    let manifest = read_kernel_rows(&demo("zstd").with_extension("manifest.json"));
    let size: u64 = manifest.iter().map(|row| row.size).sum();
    assert_eq!((&info["kernels"], &info["size"]), (&8.into(), &size.into()));
    assert_eq!((&info["version"], &info["binaries"]), (&1.into(), &2.into()));
    let file = std::fs::metadata(demo("zstd")).unwrap().len();
    assert_eq!(info["file_size"], file);
    let toc = |name: &str| info["toc"][name].as_u64().unwrap();
    assert_eq!(toc("offset") + toc("size"), file);
    assert!(info["decoder"].is_string());
    let largest = manifest.iter().map(|row| row.size).max().unwrap();
    assert_eq!(info["largest"]["size"], largest);
    let arches = info["arches"].as_array().unwrap();
    let names: Vec<&Value> = arches.iter().map(|arch| &arch["arch"]).collect();
    assert_eq!(names, ["gfx1030", "gfx906", "gfx90a", "gfx90a:xnack-"]);
    for arch in arches {
        let of_arch = manifest.iter().filter(|row| arch["arch"] == *row.arch);
        assert_eq!(arch["size"], of_arch.map(|row| row.size).sum::<u64>());
    }

    let none = kpack("info --json", &demo("none")).fine().json();
    assert!(none["decoder"].is_null());
    assert_eq!(none["stored_size"], size);
    let text = kpack("info", &demo("zstd")).fine().out;
    for part in [
        "scheme     zstd-per-kernel, decoded by ",
        "kernels    8 of 2 binaries",
        "gfx90a:xnack-  2 kernels",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let empty = kpack("info", &good("zstd-no-kernels").file()).fine().out;
    assert!(empty.contains("kernels    0 of 0 binaries"), "{empty}");
    let shared = kpack("info --json", &good("none-shared-ordinal").file()).fine().json();
    assert!(shared["stored_size"].as_u64() < shared["size"].as_u64(), "counted once: {shared}");
}

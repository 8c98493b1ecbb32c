//! `pack`, and what it makes: round trips, the public writer's bytes, faults.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use rocload_fixtures::hash::sha256_hex;
use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::{good_archives, shared_data_or_skip};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Ran, command, demo, kpack, python, rocload};

/// `rocload kpack` with words and paths.
fn run<S: Into<OsString>>(args: impl IntoIterator<Item = S>) -> Ran {
    rocload([OsString::from("kpack")].into_iter().chain(args.into_iter().map(Into::into)))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

/// The entries of a listing without what depends on how they are stored.
fn entries(archive: &Path) -> Vec<(String, String, u64)> {
    let listing = kpack("list --json", archive).fine().json();
    let entry = |entry: &Value| {
        let name = |key: &str| entry[key].as_str().unwrap().to_owned();
        (name("binary"), name("arch"), entry["size"].as_u64().unwrap())
    };
    listing["entries"].as_array().unwrap().iter().map(entry).collect()
}

#[test]
fn what_was_extracted_is_packed_again() {
    let mut tried = 0;
    for archive in good_archives() {
        let listing = kpack("list --json", &archive.file()).fine().json();
        let rows = listing["entries"].as_array().unwrap();
        // Names that are cut, collide or have a colon cannot be undone.
        let undone = |entry: &Value| {
            let name = |key: &str| entry[key].as_str().unwrap();
            let short = |name: &str| name.split('/').all(|part| part.len() < 200);
            entry["kind"] == "hsaco"
                && short(name("binary"))
                && short(name("arch"))
                && !name("binary").contains(':')
                && !name("arch").contains('/')
        };
        if rows.is_empty() || !rows.iter().all(undone) {
            continue;
        }
        let dir = TempDir::new().unwrap();
        let (out, packed) = (dir.path().join("out"), dir.path().join("packed.kpack"));
        run(["extract", text(&archive.file()), "--all", "-d", text(&out)]).fine();
        for scheme in ["none", "zstd"] {
            run(["pack", text(&out), "--scheme", scheme, "-o", text(&packed), "--checksums"])
                .fine();
            kpack("verify", &packed).fine();
            let ran = run(["diff", text(&packed), text(&archive.file())]);
            assert_eq!(ran.code, Some(0), "{}: {ran:?}", archive.path);
        }
        tried += 1;
    }
    assert!(tried >= 10, "{tried}");
}

#[test]
fn the_three_kinds_of_input() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("tree/gfx90a-xnack-/lib")).unwrap();
    fs::write(at("tree/gfx90a-xnack-/lib/a.so#0.hsaco"), "one").unwrap();
    fs::write(at("x"), "two").unwrap();
    fs::write(at("m.json"), r#"[["lib\\b.so#1", "gfx1030", "x"]]"#).unwrap();
    let item = format!("c.co@gfx906={}", text(&at("x")));
    let ran = run(["pack", text(&at("tree")), text(&at("m.json")), &item, "--json", "-o"]
        .into_iter()
        .chain([text(&at("grp_gfx_x.kpack"))]));
    let report = ran.fine().json();
    assert_eq!(report["kernels"], 3);
    assert_eq!((&report["group"], &report["family"]), (&json!("grp"), &json!("mixed")));
    assert_eq!(report["scheme"], "zstd-per-kernel");
    let encoder = &report["encoder"];
    let expected = if cfg!(feature = "zstd") { "zstd" } else { "zrip" };
    assert_eq!((&encoder["name"], &encoder["level"]), (&json!(expected), &json!(3)));
    let listing = kpack("list --json", &at("grp_gfx_x.kpack")).fine().json();
    let ordinals: Vec<(&str, &str, u64)> = listing["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| {
            let name = |key: &str| e[key].as_str().unwrap();
            (name("binary"), name("arch"), e["ordinal"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(
        ordinals,
        [("c.co", "gfx906", 2), ("lib/a.so#0", "gfx90a:xnack-", 0), ("lib/b.so#1", "gfx1030", 1)]
    );
    assert_eq!(listing["arches"], json!(["gfx90a:xnack-", "gfx1030", "gfx906"]));
}

/// A Python program that writes what the public writer does; the rows come from a manifest.
const WRITER: &str = r#"
import json, os, struct, sys
import msgpack
manifest, out, group, family = sys.argv[1:5]
rows = json.load(open(manifest))
data, toc, blobs, arches = b"", {}, [], []
for ordinal, (binary, arch, path) in enumerate(rows):
    kernel = open(os.path.join(os.path.dirname(manifest), path), "rb").read()
    toc.setdefault(binary.replace("\\", "/"), {})[arch] = {
        "type": "hsaco", "ordinal": ordinal, "original_size": len(kernel)}
    blobs.append({"offset": 64 + len(data), "size": len(kernel)})
    data += kernel
    if arch not in arches:
        arches.append(arch)
table = msgpack.packb({
    "format_version": 1, "group_name": group, "gfx_arch_family": family, "gfx_arches": arches,
    "toc": toc, "compression_scheme": "none", "blobs": blobs}, use_bin_type=True)
with open(out, "wb") as f:
    f.write(b"KPAK" + struct.pack("<IQ", 1, 64 + len(data)) + bytes(48) + data + table)
"#;

/// A Python program that reads an archive of zstd frames and writes the kernels as JSON.
const READER: &str = r#"
import hashlib, json, struct, sys
import msgpack, zstandard
a = open(sys.argv[1], "rb").read()
magic, version, at = struct.unpack_from("<4sIQ", a)
assert (magic, version) == (b"KPAK", 1)
toc = msgpack.unpackb(a[at:], raw=False)
assert list(toc)[:6] == ["format_version", "group_name", "gfx_arch_family", "gfx_arches", "toc", "compression_scheme"]
blob, end = toc["zstd_offset"], toc["zstd_offset"] + toc["zstd_size"]
(count,) = struct.unpack_from("<I", a, blob)
at, frames, places = blob + 4, [], []
for _ in range(count):
    (size,) = struct.unpack_from("<I", a, at)
    frames.append(a[at + 4:at + 4 + size])
    places.append((at + 4, size))
    at += 4 + size
assert at == end
rows = []
for binary, arches in toc["toc"].items():
    for arch, entry in arches.items():
        frame = frames[entry["ordinal"]]
        parameters = zstandard.get_frame_parameters(frame)
        assert parameters.content_size == entry["original_size"] and parameters.has_checksum
        kernel = zstandard.ZstdDecompressor().decompress(frame)
        sha256 = hashlib.sha256(kernel)
        assert entry.get("sha256", sha256.digest()) == sha256.digest()
        if "frame_offset" in entry:
            assert (entry["frame_offset"], entry["frame_size"]) == places[entry["ordinal"]]
        rows.append([binary, arch, len(kernel), sha256.hexdigest(), sorted(entry)])
print(json.dumps(rows))
"#;

/// Kernels of many sizes in files, and a manifest of them.
fn kernels(dir: &Path) -> (PathBuf, Vec<(String, String, Vec<u8>)>) {
    let mut rows = Vec::new();
    let mut kernels = Vec::new();
    for n in 0..400usize {
        let content: Vec<u8> = (0..n * n % 70_000).map(|i| (i * i / 7 + n) as u8).collect();
        let (binary, arch) = (
            format!("lib\\lib{}.so#{}", n / 9, n / 3 % 3),
            ["gfx1030", "gfx90a:xnack-", "gfx906"][n % 3],
        );
        fs::write(dir.join(format!("k{n}")), &content).unwrap();
        rows.push(json!([binary, arch, format!("k{n}")]));
        kernels.push((binary.replace('\\', "/"), arch.into(), content));
    }
    let manifest = dir.join("manifest.json");
    fs::write(&manifest, serde_json::to_vec(&rows).unwrap()).unwrap();
    (manifest, kernels)
}

#[test]
fn scheme_none_is_what_the_public_writer_writes() {
    let Some(python) = python("scheme_none_is_what_the_public_writer_writes") else { return };
    let dir = TempDir::new().unwrap();
    let (manifest, _) = kernels(dir.path());
    let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
    let wrote = python.run(WRITER, &[text(&manifest), text(&theirs), "group", "family"]);
    assert_eq!(wrote, "");
    for threads in ["1", "2", "5"] {
        run([
            "pack",
            text(&manifest),
            "--scheme",
            "none",
            "--group",
            "group",
            "--family",
            "family",
        ]
        .into_iter()
        .chain(["--threads", threads, "-o", text(&ours)]))
        .fine();
        assert!(fs::read(&ours).unwrap() == fs::read(&theirs).unwrap(), "{threads} threads");
    }
    // And by a pipe, whose end cannot be known when it begins.
    let piped = command()
        .args(["kpack", "pack", text(&manifest), "--scheme", "none", "--group", "group"])
        .args(["--family", "family", "-o", "-"])
        .output()
        .unwrap();
    assert!(piped.stdout == fs::read(&theirs).unwrap() && piped.stderr.is_empty());
}

#[test]
fn python_reads_what_was_compressed() {
    let Some(python) = python("python_reads_what_was_compressed") else { return };
    let dir = TempDir::new().unwrap();
    let (manifest, kernels) = kernels(dir.path());
    let archive = dir.path().join("a.kpack");
    let mut first = None;
    for words in ["", "--index", "--checksums --index --threads 1", "--level 1", "--level -3"] {
        run(["pack", text(&manifest), "-o", text(&archive)]
            .into_iter()
            .chain(words.split_whitespace()))
        .fine();
        kpack("verify", &archive).fine();
        let rows: Vec<(String, String, usize, String, Vec<String>)> =
            serde_json::from_str(&python.run(READER, &[text(&archive)])).unwrap();
        assert_eq!(rows.len(), kernels.len());
        for (binary, arch, content) in &kernels {
            let row = rows.iter().find(|row| row.0 == *binary && row.1 == *arch).unwrap();
            assert_eq!((row.2, &row.3), (content.len(), &sha256_hex(content)), "{binary} {arch}");
            for (key, option) in [("sha256", "--checksums"), ("frame_offset", "--index")] {
                assert_eq!(row.4.iter().any(|k| k == key), words.contains(option), "{words}");
            }
        }
        // The table with the keys taken out is the one without them: they only add.
        let list = entries(&archive);
        assert_eq!(first.get_or_insert_with(|| list.clone()), &list);
    }
}

#[test]
fn alignment() {
    let dir = TempDir::new().unwrap();
    let (manifest, kernels) = kernels(dir.path());
    let archive = dir.path().join("a.kpack");
    run(["pack", text(&manifest), "--align", "64", "-o", text(&archive)]).fine();
    kpack("verify", &archive).fine();
    let listing = kpack("list --json", &archive).fine().json();
    assert_eq!(listing["scheme"], "none");
    let offset = |entry: &Value| entry["offset"].as_u64().unwrap();
    let offsets: Vec<u64> = listing["entries"].as_array().unwrap().iter().map(offset).collect();
    assert_eq!(offsets.len(), kernels.len());
    assert!(offsets.iter().all(|offset| offset % 64 == 0));
}

#[test]
fn the_same_inputs_make_the_same_bytes() {
    let dir = TempDir::new().unwrap();
    let (manifest, _) = kernels(dir.path());
    let archive = dir.path().join("a.kpack");
    let mut before: Option<Vec<u8>> = None;
    for threads in ["1", "2", "3", "64"] {
        run(["pack", text(&manifest), "--threads", threads, "-o", text(&archive)]).fine();
        let bytes = fs::read(&archive).unwrap();
        assert!(*before.get_or_insert_with(|| bytes.clone()) == bytes, "{threads} threads");
    }
}

#[test]
fn wrong_usage() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("out.kpack");
    let tree = dir.path().join("tree/gfx906");
    fs::create_dir_all(&tree).unwrap();
    fs::write(tree.join("a.hsaco"), "a").unwrap();
    let tree = dir.path().join("tree");
    let pack = |words: &str| {
        let words = words.split_whitespace();
        run(["pack", text(&tree), "-o", text(&out)].into_iter().chain(words))
    };
    pack("--level 23").misused("the levels of ");
    pack("--level 3 --scheme none").misused("--scheme none does not");
    pack("--align 64 --scheme zstd").misused("--align is for --scheme none");
    pack("--align 3").misused("a power of two");
    pack("--index --scheme none").misused("--index is for --scheme zstd");
    pack("--arch gfx1*").failed(4, "no architecture matches --arch gfx1*");
    pack("--binary nothing").failed(4, "no binary matches --binary nothing");
    run(["pack", "-o", text(&out)]).misused("<INPUT>");
    run(["pack", text(&tree)]).misused("--output");
    run(["pack", text(&tree), "-o", "-", "--json"]).json()["error"]["kind"].as_str().unwrap();
    let missing = dir.path().join("missing");
    run(["pack", text(&missing), "-o", text(&out)]).failed(4, "missing: reading the input");
    let item = format!("a@gfx906={}", text(&missing));
    run(["pack", &item, "-o", text(&out)]).failed(4, "missing: reading the kernel: no such file");
    let item = format!("a@gfx906={}", text(&tree.join("gfx906/a.hsaco")));
    run(["pack", text(&tree), &item, "-o", text(&out)]).failed(1, "a for gfx906 is given twice: ");
    run(["pack", &item, "-o", text(&tree.join("gfx906/a.hsaco"))])
        .failed(2, "the output is an input");
    run(["pack", &item, "-o", text(&tree)]).failed(1, "tree: writing: is a directory");
    run(["pack", &item, "-o", text(&missing.join("x"))])
        .failed(4, "missing/x: writing: no such file");
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    run(["pack", text(&empty), "-o", text(&out)]).failed(4, "empty: no kernels to pack");
    let manifest = dir.path().join("m.json");
    fs::write(&manifest, "{}").unwrap();
    run(["pack", text(&manifest), "-o", text(&out)]).failed(3, "m.json: the manifest: ");
    assert_eq!(names(dir.path()), ["empty", "m.json", "tree"], "nothing was written");
    assert_eq!(fs::read(tree.join("gfx906/a.hsaco")).unwrap(), b"a");
    run(["pack", &item, "-o", "/dev/full"])
        .failed(1, "/dev/full: writing: no space left on device");
    run(["pack", &item, "-o", "/dev/null"]).fine();
}

#[test]
fn repacked_in_parts_and_merged_it_is_the_same() {
    let mut archives: Vec<PathBuf> = vec![demo("zstd"), demo("none")];
    if let Some(data) = shared_data_or_skip("repacked_in_parts_and_merged_it_is_the_same") {
        archives.extend(
            ["a_small_zstd", "b_2000_zstd"].map(|name| data.join(format!("kpack/{name}.kpack"))),
        );
    }
    for archive in archives {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name);
        let listing = kpack("list --json", &archive).fine().json();
        let arches: Vec<&str> =
            listing["arches"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
        let (one, rest) = arches.split_first().unwrap();
        let archive = text(&archive);
        run(["repack", archive, "--arch", one, "-o", text(&at("one"))]).fine();
        assert_eq!(kpack("list --json", &at("one")).fine().json()["arches"], json!([one]));
        let others: Vec<&str> = rest.iter().flat_map(|arch| ["--arch", arch]).collect();
        let rest = at("rest");
        run(["repack", archive, "-o", text(&rest)].into_iter().chain(others)).fine();
        let ran = run(["diff", text(&at("one")), archive]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let ran = run(["repack", text(&rest), text(&at("one")), "-o", text(&at("all")), "--json"]);
        let report = ran.fine().json();
        assert_eq!(
            (&report["compressed"], &report["encoder"]),
            (&json!(0), &Value::Null),
            "copied"
        );
        run(["diff", text(&at("all")), archive]).fine();
        // In other clothes, through a pipe.
        for words in ["--scheme none", "--scheme zstd --level 1 --index --checksums"] {
            run(["repack", text(&at("all")), "-o", text(&at("other"))]
                .into_iter()
                .chain(words.split(' ')))
            .fine();
            let ran = command()
                .args(["kpack", "diff", archive, "-"])
                .stdin(fs::File::open(at("other")).unwrap())
                .output()
                .unwrap();
            assert!(ran.status.success(), "{ran:?}");
            kpack("verify", &at("other")).fine();
        }
        // Repacked as it is, an archive is what it was, byte for byte.
        run(["repack", archive, "-o", text(&at("same"))]).fine();
        assert!(fs::read(at("same")).unwrap() == fs::read(archive).unwrap(), "{archive}");
    }
}

#[test]
fn every_sound_archive_can_be_repacked() {
    for archive in good_archives() {
        let dir = TempDir::new().unwrap();
        let out = dir.path().join("out");
        let file = archive.file();
        if kpack("list --json", &file).fine().json()["entries"] == json!([]) {
            continue;
        }
        for words in ["", "--scheme none", "--scheme zstd --level 1"] {
            run(["repack", text(&file), "-o", text(&out)]
                .into_iter()
                .chain(words.split_whitespace()))
            .fine();
            run(["diff", text(&file), text(&out)]).fine();
            let (a, b) = (kpack("list --json", &file).json(), kpack("list --json", &out).json());
            let told = |listing: &Value| -> Vec<(Value, Value, Value, Value, Value)> {
                let entry = |e: &Value| {
                    let at = |key: &str| e[key].clone();
                    (at("binary"), at("binary_hex"), at("arch"), at("kind"), at("metadata"))
                };
                listing["entries"].as_array().unwrap().iter().map(entry).collect()
            };
            assert_eq!(told(&a), told(&b), "{}", archive.path);
        }
    }
}

#[test]
fn conflicts_are_told_and_nothing_is_written() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let put = |name: &str, scheme, content: &[u8]| {
        let builder =
            Builder::new(scheme).kernel("a#0", "gfx906", content).kernel("b#0", "gfx906", b"same");
        fs::write(at(name), builder.build()).unwrap();
    };
    put("a.kpack", Scheme::ZstdPerKernel, b"one");
    put("b.kpack", Scheme::None, b"two");
    let ran = run(["repack", text(&at("a.kpack")), text(&at("b.kpack")), "-o", text(&at("out"))]);
    ran.failed(1, "b.kpack: a#0 for gfx906 is another kernel than in ");
    assert!(!at("out").exists());
    let (a, b) = (at("a.kpack"), at("b.kpack"));
    let ran =
        run(["repack", text(&a), text(&b), "--binary", "b*", "-o", text(&at("out")), "--json"]);
    assert_eq!(ran.fine().json()["repeated"], 1);
    run(["repack", text(&a), "-o", text(&a)]).failed(2, "the output is an input");
    run(["repack", text(&a), "--arch", "gfx1", "-o", text(&at("x"))])
        .failed(4, "no architecture matches");
    run(["repack", "-", "-", "-o", text(&at("x"))]).misused("only once");
    run(["repack", text(&at("missing")), "-o", text(&at("x"))]).failed(4, "no such file");
    assert_eq!(names(dir.path()), ["a.kpack", "b.kpack", "out"]);
}

#[test]
fn differences() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let builder = Builder::new(Scheme::ZstdPerKernel).kernel("same", "gfx906", b"same");
    let one = builder
        .clone()
        .kernel("x", "gfx906", b"one")
        .kernel("y", "gfx906", b"long")
        .kernel("a", "gfx906", b"a");
    let two = builder
        .kernel("b", "gfx906", b"bb")
        .kernel("y", "gfx906", b"longer")
        .kernel("x", "gfx906", b"two");
    fs::write(at("1.kpack"), one.build()).unwrap();
    fs::write(at("2.kpack"), two.build()).unwrap();
    let diff = |words: &str| {
        run(["diff", text(&at("1.kpack")), text(&at("2.kpack"))]
            .into_iter()
            .chain(words.split_whitespace()))
    };
    let ran = diff("");
    assert_eq!((ran.code, &*ran.err), (Some(1), ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "- a for gfx906, 1 B",
            "+ b for gfx906, 2 B",
            "~ x for gfx906, 3 B, other content",
            "~ y for gfx906, 4 and 6 bytes",
        ]
    );
    assert!(
        lines[4]
            .ends_with("1 equal, 2 different, 1 only in the first (-), 1 only in the second (+)")
    );
    let ran = diff("--json");
    assert_eq!(ran.code, Some(1));
    let json = ran.json();
    assert_eq!((&json["same"], &json["equal"]), (&json!(false), &json!(1)));
    assert_eq!(json["only_a"], json!([{"binary": "a", "arch": "gfx906", "size": 1}]));
    assert_eq!(
        json["differ"][1],
        json!({"binary": "y", "arch": "gfx906", "size_a": 4, "size_b": 6})
    );
    assert_eq!(diff("--binary same").fine().out.lines().count(), 1);
    diff("--binary nothing").failed(4, "no binary matches");
    // What cannot be decoded cannot be compared, and is no difference.
    let broken = rocload_fixtures::bad_archives()
        .find(|a| a.stage == Some(rocload_fixtures::Stage::Verify))
        .unwrap();
    let ran = run(["diff", text(&broken.file()), text(&demo("zstd"))]);
    assert!(matches!(ran.code, Some(1 | 3)), "{ran:?}");
    run(["diff", text(&at("1.kpack")), text(&at("3.kpack"))]).failed(4, "no such file");
}

#[test]
fn standard_input_is_an_archive_too() {
    let dir = TempDir::new().unwrap();
    let pipe = |words: &str| -> Ran {
        let mut child = command();
        child.arg("kpack").args(words.split_whitespace()).stdin(std::process::Stdio::piped());
        child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = child.spawn().unwrap();
        let bytes = fs::read(demo("zstd")).unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &bytes).unwrap();
        child.wait_with_output().unwrap().into()
    };
    let listed = pipe("list --json -").fine().json();
    assert_eq!(listed["entries"], kpack("list --json", &demo("zstd")).json()["entries"]);
    assert_eq!(pipe("info --json -").fine().json()["kernels"], 8);
    assert!(pipe("verify -").fine().out.starts_with("-: ok, 8 kernels"));
    let out = dir.path().join("out");
    pipe(&format!("extract - --all -d {}", text(&out))).fine();
    pipe(&format!("repack - -o {}", text(&dir.path().join("r.kpack")))).fine();
    assert!(fs::read(dir.path().join("r.kpack")).unwrap() == fs::read(demo("zstd")).unwrap());
    pipe(&format!("diff - {}", text(&demo("none")))).fine();
    run(["diff", "-", "-"]).misused("only once");
    let ran: Ran = command().args(["kpack", "list", "-"]).output().unwrap().into();
    ran.failed(3, "-: ");
}

#[test]
fn manual_pages() {
    let dir = TempDir::new().unwrap();
    let pages = dir.path().join("man1");
    rocload(["man", "-d", text(&pages)]).fine();
    let names = names(&pages);
    for page in [
        "rocload.1",
        "rocload-kpack.1",
        "rocload-kpack-pack.1",
        "rocload-kpack-repack.1",
        "rocload-kpack-diff.1",
        "rocload-man.1",
    ] {
        assert!(names.iter().any(|name| name == page), "{names:?}");
    }
    let page = fs::read_to_string(pages.join("rocload-kpack-repack.1")).unwrap();
    assert!(
        page.contains(
            ".SH EXAMPLES\n.nf\n\\&  rocload kpack repack torch.kpack \\-\\-arch \\(aqgfx90a*\\(aq"
        ),
        "{page}"
    );
    assert!(rocload(["man"]).fine().out.contains(".TH rocload 1"));
}

#[test]
fn faults_of_an_input_name_the_input() {
    let temp = tempfile::tempdir().unwrap();
    let (bad, out) = (temp.path().join("bad.kpack"), temp.path().join("out.kpack"));
    let mut bytes = fs::read(demo("zstd")).unwrap();
    // Inside the first frame, behind its header.
    bytes[90] ^= 0x55;
    bytes[91] ^= 0x55;
    fs::write(&bad, bytes).unwrap();
    let ran = command()
        .args(["kpack", "repack", "--json", "--level", "4"])
        .args([demo("none"), bad.clone()])
        .args([OsStr::new("-o"), out.as_os_str()])
        .output()
        .map(Ran::from)
        .unwrap();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let lines = ran.json_lines();
    assert!(lines.iter().all(|line| line["error"]["path"] == bad.to_str().unwrap()), "{lines:?}");
    let missing = temp.path().join("none.kpack");
    fs::write(temp.path().join("text.kpack"), "no archive").unwrap();
    let text = temp.path().join("text.kpack");
    let ran = command()
        .args(["kpack", "repack"])
        .args([missing, text])
        .args([OsStr::new("-o"), out.as_os_str()])
        .output()
        .map(Ran::from)
        .unwrap();
    assert_eq!((ran.code, ran.err.lines().count() >= 2), (Some(3), true), "{ran:?}");
    assert!(!out.exists());
}

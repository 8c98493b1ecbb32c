//! Code objects by references, in trees of files as they are installed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::manifest::read_kernel_rows;
use rocload_fixtures::msgpack::{Value, encode};
use rocload_fixtures::{hash, shared_data_or_skip};
use tempfile::TempDir;

use crate::toolchain::{LANGUAGES, Language, Library, Linking, clean, program, succeeds};
use crate::valgrind;

/// A tree under a temporary folder: `lib/libfoo.so`, archives, a reference.
struct Tree {
    root: TempDir,
    programs: Vec<PathBuf>,
}

/// Where a search may look, beside the binary.
struct Ask<'a> {
    binary: &'a str,
    index: u32,
    arches: &'a [&'a str],
    environment: &'a [(&'a str, String)],
    folder: Option<PathBuf>,
}

const SUCCESS: i32 = 0;
const INVALID_ARGUMENT: i32 = 1;
const INVALID_FORMAT: i32 = 3;
const UNSUPPORTED_VERSION: i32 = 4;
const KERNEL_NOT_FOUND: i32 = 5;
const DECOMPRESSION_FAILED: i32 = 6;
const NOT_IMPLEMENTED: i32 = 8;
const IO_ERROR: i32 = 9;
const MSGPACK_PARSE_FAILED: i32 = 10;
const INVALID_METADATA: i32 = 12;
const ARCHIVE_NOT_FOUND: i32 = 13;
const ARCH_NOT_FOUND: i32 = 14;

/// The name that archives know the binary by.
const NAME: &str = "lib/libfoo.so";
const PATHS: &[&str] = &["../.kpack/foo_@GFXARCH@.kpack"];

fn reference(paths: &[&str], name: &str) -> Vec<u8> {
    encode(&Value::map([
        ("kpack_search_paths", Value::strings(paths.iter().copied())),
        ("kernel_name", name.into()),
    ]))
}

impl Tree {
    /// `None` where there is no compiler.
    fn new() -> Option<Tree> {
        let made = |language| program(Library::Shipped, language, Linking::Shared, "load.c");
        let programs: Vec<PathBuf> = LANGUAGES.into_iter().filter_map(made).collect();
        if programs.is_empty() {
            return None;
        }
        let tree = Tree { root: tempfile::tempdir().unwrap(), programs };
        tree.write("lib/libfoo.so", b"a library");
        tree.refer(PATHS);
        Some(tree)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().into()
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn refer(&self, paths: &[&str]) {
        self.write("reference", &reference(paths, NAME));
    }

    /// An archive with these numbers of code objects for an architecture. What each of them is
    /// tells where it comes from.
    fn archive(&self, path: &str, arch: &str, indexes: &[u32]) {
        let mut builder = Builder::new(Scheme::ZstdPerKernel).arches(&[arch]);
        for index in indexes {
            let content = format!("{path} {index} {arch}");
            builder = builder.kernel(&format!("{NAME}#{index}"), arch, content.as_bytes());
        }
        self.write(path, &builder.build());
    }

    fn command(&self, program: &Path, ask: &Ask<'_>) -> Command {
        let mut command = Command::new(program);
        self.arguments(&mut command, ask);
        command
    }

    fn arguments(&self, command: &mut Command, ask: &Ask<'_>) {
        clean(command);
        if let Some(folder) = &ask.folder {
            command.current_dir(folder);
        }
        command.envs(ask.environment.iter().map(|(name, value)| (name, value)));
        let index = ask.index.to_string();
        command.arg(self.at("reference")).args([ask.binary, &index]).args(ask.arches);
    }

    /// The code, and what was loaded, from every program alike.
    fn ask(&self, ask: &Ask<'_>) -> (i32, String) {
        let answer = |program: &PathBuf| {
            let written = succeeds(&mut self.command(program, ask)).stdout;
            let end = written.iter().position(|&byte| byte == b'\n').unwrap();
            let code = String::from_utf8(written[..end].to_vec()).unwrap().parse().unwrap();
            (code, String::from_utf8_lossy(&written[end + 1..]).into_owned())
        };
        let mut answers: Vec<(i32, String)> = self.programs.iter().map(answer).collect();
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
        answers.remove(0)
    }

    fn load(&self, index: u32, arches: &[&str], environment: &[(&str, String)]) -> (i32, String) {
        let binary = self.text("lib/libfoo.so");
        self.ask(&Ask { binary: &binary, index, arches, environment, folder: None })
    }

    fn simple(&self, index: u32, arches: &[&str]) -> (i32, String) {
        self.load(index, arches, &[])
    }
}

fn found(content: &str) -> (i32, String) {
    (SUCCESS, content.into())
}

fn none(code: i32) -> (i32, String) {
    (code, String::new())
}

const ISA: &str = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";

#[test]
fn the_variant_goes_before_the_bare_archive_and_what_it_lacks_comes_from_there() {
    let Some(tree) = Tree::new() else { return };
    tree.archive(".kpack/foo_gfx90a:xnack-.kpack", "gfx90a:xnack-", &[0]);
    tree.archive(".kpack/foo_gfx90a.kpack", "gfx90a", &[0, 1]);
    assert_eq!(tree.simple(0, &[ISA]), found(".kpack/foo_gfx90a:xnack-.kpack 0 gfx90a:xnack-"));
    assert_eq!(tree.simple(1, &[ISA]), found(".kpack/foo_gfx90a.kpack 1 gfx90a"));
    // A feature is never made up, nor turned round.
    assert_eq!(tree.simple(0, &["gfx90a"]), found(".kpack/foo_gfx90a.kpack 0 gfx90a"));
    assert_eq!(tree.simple(0, &["gfx90a:xnack+"]), found(".kpack/foo_gfx90a.kpack 0 gfx90a"));
    assert_eq!(tree.simple(2, &[ISA]), none(KERNEL_NOT_FOUND));
    assert_eq!(tree.simple(0, &["gfx906"]), none(ARCHIVE_NOT_FOUND));
}

#[test]
fn a_dash_in_a_files_name_is_a_colon() {
    let Some(tree) = Tree::new() else { return };
    tree.archive(".kpack/foo_gfx90a-xnack-.kpack", "gfx90a:xnack-", &[0]);
    assert_eq!(tree.simple(0, &[ISA]), found(".kpack/foo_gfx90a-xnack-.kpack 0 gfx90a:xnack-"));
}

#[test]
fn the_environment_goes_before_replaces_and_switches_off() {
    let Some(tree) = Tree::new() else { return };
    tree.archive(".kpack/foo_gfx90a.kpack", "gfx90a", &[0, 1]);
    tree.archive("first.kpack", "gfx90a", &[0]);
    tree.archive("second.kpack", "gfx90a", &[0, 1]);
    let embedded = |index: u32| found(&format!(".kpack/foo_gfx90a.kpack {index} gfx90a"));
    let load = |index, environment: &[(&str, String)]| tree.load(index, &[ISA], environment);
    let prefix = ("ROCM_KPACK_PATH_PREFIX", tree.text("first.kpack"));
    let list = format!("{}::{}", tree.text("first.kpack"), tree.text("second.kpack"));
    let replace = ("ROCM_KPACK_PATH", list);
    // What goes before is asked first; the rest comes from where it did.
    assert_eq!(load(0, std::slice::from_ref(&prefix)), found("first.kpack 0 gfx90a"));
    assert_eq!(load(1, std::slice::from_ref(&prefix)), embedded(1));
    // What replaces is asked alone, in its order, and before what goes before.
    assert_eq!(load(0, std::slice::from_ref(&replace)), found("first.kpack 0 gfx90a"));
    assert_eq!(load(1, std::slice::from_ref(&replace)), found("second.kpack 1 gfx90a"));
    let second = ("ROCM_KPACK_PATH", tree.text("second.kpack"));
    assert_eq!(load(0, &[second, prefix]), found("second.kpack 0 gfx90a"));
    let nowhere = ("ROCM_KPACK_PATH", tree.text("nowhere.kpack"));
    assert_eq!(load(0, &[nowhere]), none(ARCHIVE_NOT_FOUND));
    // Nothing but separators is nothing; folders are not searched.
    assert_eq!(load(0, &[("ROCM_KPACK_PATH", ":::".into())]), embedded(0));
    assert_eq!(load(0, &[("ROCM_KPACK_PATH", tree.text(".kpack"))]), none(ARCHIVE_NOT_FOUND));
    for (value, off) in [("1", true), ("no", true), ("0", false), ("0x", false), ("", false)] {
        let expected = if off { none(NOT_IMPLEMENTED) } else { embedded(0) };
        assert_eq!(load(0, &[("ROCM_KPACK_DISABLE", value.into())]), expected, "{value:?}");
    }
}

#[test]
fn a_name_with_colons_stands_in_a_list() {
    let Some(tree) = Tree::new() else { return };
    tree.archive("torch_gfx90a:xnack-.kpack", "gfx90a:xnack-", &[0]);
    tree.archive("bare.kpack", "gfx90a", &[0, 1]);
    let variant = "torch_gfx90a:xnack-.kpack 0 gfx90a:xnack-";
    let (plain, bare) = (tree.text("torch_gfx90a:xnack-.kpack"), tree.text("bare.kpack"));
    for name in [plain.clone(), plain.replace(':', "\\:")] {
        for list in [name.clone(), format!("{name}:{bare}"), format!("{bare}:{name}")] {
            let answer = tree.load(0, &[ISA], &[("ROCM_KPACK_PATH", list.clone())]);
            assert_eq!(answer, found(variant), "{list}");
        }
    }
}

#[test]
fn embedded_paths_are_seen_from_the_binarys_folder() {
    let Some(tree) = Tree::new() else { return };
    tree.archive("data/abs.kpack", "gfx90a", &[0]);
    tree.archive("lib/beside.kpack", "gfx90a", &[0]);
    tree.archive("deep/er/.kpack/foo_gfx90a.kpack", "gfx90a", &[0]);
    tree.write("deep/er/lib/libfoo.so", b"a library");
    tree.archive("second.kpack", "gfx90a", &[0, 1]);

    tree.refer(&[&tree.text("data/abs.kpack")]);
    assert_eq!(tree.simple(0, &["gfx90a"]), found("data/abs.kpack 0 gfx90a"));
    tree.refer(&["beside.kpack"]);
    assert_eq!(tree.simple(0, &["gfx90a"]), found("lib/beside.kpack 0 gfx90a"));
    // The paths are tried in their order.
    tree.refer(&["no.kpack", "../second.kpack", "beside.kpack"]);
    assert_eq!(tree.simple(0, &["gfx90a"]), found("second.kpack 0 gfx90a"));
    tree.refer(&["beside.kpack", "../second.kpack"]);
    assert_eq!(tree.simple(0, &["gfx90a"]), found("lib/beside.kpack 0 gfx90a"));
    assert_eq!(tree.simple(1, &["gfx90a"]), found("second.kpack 1 gfx90a"));

    // A path without a folder, and one relative to the current folder.
    let ask = |binary: &str, folder: &str| {
        let folder = Some(tree.at(folder));
        tree.ask(&Ask { binary, index: 0, arches: &["gfx90a"], environment: &[], folder })
    };
    tree.refer(&["beside.kpack"]);
    assert_eq!(ask("libfoo.so", "lib"), found("lib/beside.kpack 0 gfx90a"));
    assert_eq!(ask("lib/libfoo.so", "."), found("lib/beside.kpack 0 gfx90a"));
    tree.refer(PATHS);
    assert_eq!(ask("er/lib/libfoo.so", "deep"), found("deep/er/.kpack/foo_gfx90a.kpack 0 gfx90a"));
}

#[test]
fn links_are_followed_before_the_folder_above() {
    let Some(tree) = Tree::new() else { return };
    // opt/real/lib/libfoo.so with its archives beside; usr/lib is a link to that folder.
    tree.write("opt/real/lib/libfoo.so", b"a library");
    tree.archive("opt/real/.kpack/foo_gfx90a.kpack", "gfx90a", &[0]);
    fs::create_dir_all(tree.at("usr")).unwrap();
    symlink(tree.at("opt/real/lib"), tree.at("usr/lib")).unwrap();
    let real = found("opt/real/.kpack/foo_gfx90a.kpack 0 gfx90a");
    let ask = |binary: String| {
        let arches = &["gfx90a"];
        tree.ask(&Ask { binary: &binary, index: 0, arches, environment: &[], folder: None })
    };
    assert_eq!(ask(tree.text("usr/lib/libfoo.so")), real);
    // The library itself is a link: first its own folder counts, then that of the file.
    fs::create_dir_all(tree.at("app/lib")).unwrap();
    symlink(tree.at("opt/real/lib/libfoo.so"), tree.at("app/lib/libfoo.so")).unwrap();
    assert_eq!(ask(tree.text("app/lib/libfoo.so")), real);
    tree.archive("app/.kpack/foo_gfx90a.kpack", "gfx90a", &[0]);
    assert_eq!(ask(tree.text("app/lib/libfoo.so")), found("app/.kpack/foo_gfx90a.kpack 0 gfx90a"));
    // The archive is one.
    fs::create_dir_all(tree.at("other/lib")).unwrap();
    fs::create_dir_all(tree.at("other/.kpack")).unwrap();
    let archive = tree.at("opt/real/.kpack/foo_gfx90a.kpack");
    symlink(archive, tree.at("other/.kpack/foo_gfx90a.kpack")).unwrap();
    assert_eq!(ask(tree.text("other/lib/libfoo.so")), real);
}

#[test]
fn architectures_are_tried_in_their_order() {
    let Some(tree) = Tree::new() else { return };
    tree.archive(".kpack/foo_gfx1100.kpack", "gfx1100", &[0, 1]);
    tree.archive(".kpack/foo_gfx11-generic.kpack", "gfx11-generic", &[0, 1, 2]);
    let one = |index| found(&format!(".kpack/foo_gfx1100.kpack {index} gfx1100"));
    let generic = |index| found(&format!(".kpack/foo_gfx11-generic.kpack {index} gfx11-generic"));
    assert_eq!(tree.simple(0, &["gfx1101", "gfx1100", "gfx11-generic"]), one(0));
    assert_eq!(tree.simple(2, &["gfx1101", "gfx1100", "gfx11-generic"]), generic(2));
    assert_eq!(tree.simple(0, &["gfx11-generic", "gfx1100"]), generic(0));
    assert_eq!(tree.simple(0, &["gfx1101"]), none(ARCHIVE_NOT_FOUND));
    assert_eq!(tree.simple(3, &["gfx1101", "gfx1100"]), none(KERNEL_NOT_FOUND));
    assert_eq!(tree.simple(0, &[]), none(INVALID_ARGUMENT));
    assert_eq!(tree.simple(0, &["gfx1100:a+:b+:c+:d+:e+:f+:g+"]), none(INVALID_ARGUMENT));
    // Without a processor there is nothing to look for.
    assert_ne!(tree.simple(0, &[":xnack-"]).0, SUCCESS);
    assert_ne!(tree.simple(0, &[""]).0, SUCCESS);
    // An archive that is there and has none of them.
    tree.refer(&["../.kpack/foo_gfx1100.kpack"]);
    assert_eq!(tree.simple(0, &["gfx1030", "gfx906"]), none(ARCH_NOT_FOUND));
}

#[test]
fn what_is_broken_is_passed_over_and_told_when_nothing_is_found() {
    let Some(tree) = Tree::new() else { return };
    tree.archive("good.kpack", "gfx90a", &[0]);
    let good = fs::read(tree.at("good.kpack")).unwrap();
    tree.write("magic.kpack", b"neither an archive nor anything else");
    let mut version = good.clone();
    version[4] = 2;
    tree.write("version.kpack", &version);
    tree.write("table.kpack", &good[..good.len() - 1]);
    tree.write("empty.kpack", b"");
    let mut frame = good.clone();
    // Behind the header, the count and the first length: the frame's magic number.
    frame[72] ^= 1;
    tree.write("frame.kpack", &frame);
    for (path, offset) in [("header.kpack", 0u64), ("beyond.kpack", 1 << 20)] {
        let sound = Builder::new(Scheme::None).kernel(&format!("{NAME}#0"), "gfx90a", b"an object");
        let mut draft = sound.draft();
        draft.blob(0).set("offset", offset.into());
        tree.write(path, &draft.bytes());
    }
    fs::create_dir(tree.at("folder.kpack")).unwrap();
    let alone = |path: &str| {
        tree.refer(&[&format!("../{path}")]);
        tree.simple(0, &["gfx90a"])
    };
    assert_eq!(alone("magic.kpack"), none(INVALID_FORMAT));
    assert_eq!(alone("version.kpack"), none(UNSUPPORTED_VERSION));
    assert_eq!(alone("table.kpack"), none(MSGPACK_PARSE_FAILED));
    assert_eq!(alone("empty.kpack"), none(IO_ERROR));
    assert_eq!(alone("frame.kpack"), none(DECOMPRESSION_FAILED));
    assert_eq!(alone("header.kpack"), none(INVALID_FORMAT));
    assert_eq!(alone("beyond.kpack"), none(IO_ERROR));
    assert_eq!(alone("folder.kpack"), none(ARCHIVE_NOT_FOUND));
    assert_eq!(alone("missing.kpack"), none(ARCHIVE_NOT_FOUND));
    // None of them is in the way of one that is sound.
    let all = ["magic", "version", "table", "empty", "frame", "folder", "missing"];
    let names: Vec<String> = all.iter().map(|name| format!("../{name}.kpack")).collect();
    let mut paths: Vec<&str> = names.iter().map(String::as_str).collect();
    tree.refer(&paths);
    assert_eq!(tree.simple(0, &["gfx90a"]), none(IO_ERROR));
    paths.push("../good.kpack");
    tree.refer(&paths);
    assert_eq!(tree.simple(0, &["gfx90a"]), found("good.kpack 0 gfx90a"));
    paths.reverse();
    tree.refer(&paths);
    assert_eq!(tree.simple(0, &["gfx90a"]), found("good.kpack 0 gfx90a"));
}

#[test]
fn references_that_say_nothing() {
    let Some(tree) = Tree::new() else { return };
    tree.archive(".kpack/foo_gfx90a.kpack", "gfx90a", &[0]);
    let embedded = found(".kpack/foo_gfx90a.kpack 0 gfx90a");
    let with = |reference: Value| {
        tree.write("reference", &encode(&reference));
        tree.simple(0, &["gfx90a"])
    };
    let paths = || Value::strings(PATHS.iter().copied());
    let whole = || [("kpack_search_paths", paths()), ("kernel_name", NAME.into())];
    assert_eq!(with(Value::map(whole())), embedded);
    let mut more = Value::map([("before", Value::Nil)]);
    whole().into_iter().for_each(|(key, value)| more.set(key, value));
    more.set("behind", Value::Array(vec![1.into(), Value::Float(0.5)]));
    assert_eq!(with(more), embedded);
    let mixed = Value::Array(vec![7.into(), Value::Nil, PATHS[0].into(), Value::Array(vec![])]);
    assert_eq!(
        with(Value::map([("kpack_search_paths", mixed), ("kernel_name", NAME.into())])),
        embedded
    );
    let said_nothing = [
        Value::Array(vec![]),
        Value::Map(vec![]),
        Value::Nil,
        Value::map([("kpack_search_paths", paths())]),
        Value::map([("kernel_name", NAME.into())]),
        Value::map([("kpack_search_paths", paths()), ("kernel_name", 7.into())]),
        Value::map([("kpack_search_paths", PATHS[0].into()), ("kernel_name", NAME.into())]),
        Value::map([("kpack_search_paths", Value::Array(vec![])), ("kernel_name", NAME.into())]),
        Value::map([
            ("kpack_search_paths", Value::Array(vec![7.into(), Value::Nil])),
            ("kernel_name", NAME.into()),
        ]),
    ];
    for reference in said_nothing {
        assert_eq!(with(reference.clone()), none(INVALID_METADATA), "{reference:?}");
    }
    // What is behind it is nobody's concern.
    let mut bytes = reference(PATHS, NAME);
    bytes.extend_from_slice(&[0xc1; 40]);
    tree.write("reference", &bytes);
    assert_eq!(tree.simple(0, &["gfx90a"]), embedded);
    // More than the cap of 64 KiB.
    let long = "x".repeat(70_000);
    tree.write("reference", &reference(&[&long], NAME));
    assert_eq!(tree.simple(0, &["gfx90a"]), none(INVALID_METADATA));
    // The switch comes before the reference, and the call before the switch.
    tree.write("reference", b"\xc1");
    let off = [("ROCM_KPACK_DISABLE", "1".into())];
    assert_eq!(tree.load(0, &["gfx90a"], &off), none(NOT_IMPLEMENTED));
    assert_eq!(tree.load(0, &[], &off), none(INVALID_ARGUMENT));
}

#[test]
fn debug_lines_name_key_target_and_every_path() {
    let Some(tree) = Tree::new() else { return };
    tree.archive(".kpack/foo_gfx90a.kpack", "gfx90a", &[0]);
    let binary = tree.text("lib/libfoo.so");
    let said = |index, environment: &[(&str, String)]| {
        let ask = Ask { binary: &binary, index, arches: &[ISA], environment, folder: None };
        let output = succeeds(&mut tree.command(&tree.programs[0], &ask));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(said(0, &[]), "");
    let on = [("ROCM_KPACK_DEBUG", String::from("1"))];
    for (index, expected) in [
        (0, &["foo_gfx90a.kpack", "lib/libfoo.so#0", "gfx90a", "bytes"][..]),
        (9, &["foo_gfx90a.kpack", "lib/libfoo.so#9", "gfx90a:sramecc+:xnack-", "no such file"]),
    ] {
        let text = said(index, &on);
        assert!(text.lines().count() > 2 && text.lines().all(|line| line.starts_with("kpack: ")));
        for word in expected {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}

#[test]
fn nulls_and_addresses() {
    for linking in [Linking::Shared, Linking::Static] {
        for language in LANGUAGES {
            let made = program(Library::Shipped, language, linking, "loader.c");
            let Some(program) = made else { continue };
            let folder = tempfile::tempdir().unwrap();
            // A name that the system's list of mappings escapes.
            let file = folder.path().join("a file\n(deleted)");
            fs::write(&file, vec![7; 3 * 65536]).unwrap();
            succeeds(clean(&mut Command::new(&program)).arg(&file));
        }
    }
}

#[test]
fn the_search_under_valgrind() {
    if !crate::toolchain::have("valgrind", "the_search_under_valgrind") {
        return;
    }
    let Some(tree) = Tree::new() else { return };
    tree.archive(".kpack/foo_gfx90a:xnack-.kpack", "gfx90a:xnack-", &[0]);
    tree.archive(".kpack/foo_gfx90a.kpack", "gfx90a", &[0, 1]);
    let binary = tree.text("lib/libfoo.so");
    let debug = [("ROCM_KPACK_DEBUG", String::from("1"))];
    for (index, environment) in [(0, &[][..]), (1, &debug), (2, &debug)] {
        let ask =
            Ask { binary: &binary, index, arches: &[ISA, "gfx906"], environment, folder: None };
        // The reference stands in memory of its own length: a look beyond it would be seen.
        let mut command = valgrind::checked(&tree.programs[0]);
        tree.arguments(&mut command, &ask);
        succeeds(&mut command);
    }
    let made = program(Library::Shipped, Language::C, Linking::Shared, "loader.c");
    let Some(program) = made else { return };
    let file = tree.at("mapped");
    fs::write(&file, vec![7; 3 * 65536]).unwrap();
    // There the addresses of the stack and the heap are valgrind's own business.
    let mut command = valgrind::checked(&program);
    succeeds(command.arg(&file));
}

#[test]
fn threads_that_share_a_cache_load_what_one_alone_loads() {
    let Some(tree) = Tree::new() else { return };
    let made = program(Library::Shipped, Language::C, Linking::Shared, "load_threads.c");
    let Some(program) = made else { return };
    tree.archive(".kpack/foo_gfx90a:xnack-.kpack", "gfx90a:xnack-", &[0, 2, 4, 6]);
    tree.archive(".kpack/foo_gfx90a.kpack", "gfx90a", &[0, 1, 2, 3, 4, 5]);
    tree.archive(".kpack/foo_gfx1030.kpack", "gfx1030", &[1, 2, 3]);
    tree.write(".kpack/foo_gfx906.kpack", b"broken");
    let binary = tree.at("lib/libfoo.so");
    let reference = tree.at("reference");
    let threads = |command: &mut Command, count: &str| {
        let arches = [ISA, "gfx1030", "gfx906", "gfx000"].map(OsStr::new);
        command.arg(&reference).arg(&binary).arg(count).args(arches);
        succeeds(clean(command));
    };
    for _ in 0..30 {
        threads(&mut Command::new(&program), "8");
    }
    if crate::toolchain::have("valgrind", "threads_that_share_a_cache") {
        threads(&mut valgrind::checked(&program), "4");
    }
}

/// The archives of real code objects, installed in a tree.
#[test]
fn every_code_object_of_a_real_tree() {
    let Some(data) = shared_data_or_skip("every_code_object_of_a_real_tree") else { return };
    let Some(tree) = Tree::new() else { return };
    for (name, file) in [("small", "a_small_zstd"), ("plain", "a_small_none")] {
        let archive = data.join(format!("kpack/{file}.kpack"));
        let rows = read_kernel_rows(&archive.with_extension("manifest.json"));
        assert!(!rows.is_empty());
        fs::create_dir_all(tree.at(".kpack")).unwrap();
        for arch in ["gfx90a", "gfx1030", "gfx906"] {
            symlink(&archive, tree.at(&format!(".kpack/{name}_{arch}.kpack"))).unwrap();
        }
        for row in rows {
            let (binary, index) = row.binary.rsplit_once('#').unwrap();
            let paths = format!("../.kpack/{name}_@GFXARCH@.kpack");
            tree.write("reference", &reference(&[&paths], binary));
            let ask = Ask {
                binary: &tree.text("lib/libfoo.so"),
                index: index.parse().unwrap(),
                arches: &[&format!("amdgcn-amd-amdhsa--{}", row.arch)],
                environment: &[],
                folder: None,
            };
            let written = succeeds(&mut tree.command(&tree.programs[0], &ask)).stdout;
            let kernel = written.strip_prefix(b"0\n").unwrap();
            assert_eq!(hash::sha256_hex(kernel), row.sha256, "{} {}", row.binary, row.arch);
        }
    }
}

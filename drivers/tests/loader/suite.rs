//! What every loader must do with trees of archives.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rocload::kpack::Strictness;
use rocload::kpack::search::{Origin, Reason};
use rocload::loader::{Environment, Found, LoadError, Loaded, Lookup, Opening, Request, Step};
use rocload::{Limits, Options};
use rocload_fixtures::frame::{Block, Frame};
use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::reference::reference;

/// A loader of a driver.
pub(crate) trait Driver {
    fn new(options: &Options, environment: Environment) -> Self;
    fn load(&self, request: &Request<'_>) -> Result<Loaded, LoadError>;
    fn load_in(&self, request: &Request<'_>) -> Result<(Vec<u8>, Found), LoadError>;
    fn resolve(&self, request: &Request<'_>) -> Result<Found, LoadError>;
    fn archives(&self) -> usize;
}

/// The suite as tests of a module.
macro_rules! tests {
    ($driver:ty) => {
        $crate::suite::tests!(@each $driver;
            the_variant_is_preferred_and_the_bare_archive_has_the_rest
            a_variant_may_be_spelled_with_dashes
            architectures_are_tried_in_order
            the_prefix_goes_first_and_the_override_replaces
            lists_name_archives_with_colons
            lists_name_files
            switched_off_is_switched_off
            relative_and_absolute_paths
            links_are_followed_where_the_system_follows_them
            a_folder_that_is_missing_is_left_as_text
            a_binary_that_is_a_link_has_a_second_chance
            what_fails_is_skipped_and_the_most_severe_reason_told
            a_kernel_that_cannot_be_decoded_may_be_elsewhere
            nothing_is_remembered_of_what_failed
            a_file_that_was_replaced_is_opened_anew
            a_file_that_is_written_to_is_opened_anew
            one_archive_by_many_paths_is_one
            what_makes_no_sense_is_refused
            compatible_reading_matches_listed_architectures_alone
            errors_name_everything
            paths_beyond_the_limit_are_left_out
            many_archives_need_few_open_files
        );
    };
    (@each $driver:ty; $($test:ident)*) => {
        $(#[test]
        fn $test() {
            $crate::suite::$test::<$driver>();
        })*
    };
}
pub(crate) use tests;

/// A folder of archives, with a place for a binary in `lib`.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    pub(crate) fn new() -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        fs::create_dir_all(tree.at("lib")).unwrap();
        tree
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn text(&self, path: &str) -> String {
        self.at(path).into_os_string().into_string().unwrap()
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), bytes).unwrap();
    }

    pub(crate) fn archive(&self, path: &str, kernels: &[(&str, &str, &[u8])]) {
        self.write(path, &archive(kernels));
    }

    /// The path of a binary, which need not exist.
    pub(crate) fn binary(&self) -> PathBuf {
        self.at("lib/x.so")
    }

    /// `lib/x.so`, whose archives lie beside its folder.
    pub(crate) fn reference(&self, component: &str) -> Vec<u8> {
        reference(&[&format!("../.kpack/{component}_@GFXARCH@.kpack")], "lib/x.so")
    }
}

fn archive(kernels: &[(&str, &str, &[u8])]) -> Vec<u8> {
    let empty = Builder::new(Scheme::ZstdPerKernel);
    let add = |made: Builder, &(binary, arch, content): &(&str, &str, &[u8])| {
        made.kernel(binary, arch, content)
    };
    kernels.iter().fold(empty, add).build()
}

const KEY: &str = "lib/x.so#0";

fn plain<D: Driver>() -> D {
    D::new(&Options::default(), Environment::default())
}

fn with<D: Driver>(path: &str, prefix: &str) -> D {
    let mut environment = Environment::default();
    (environment.path, environment.prefix) = (path.into(), prefix.into());
    D::new(&Options::default(), environment)
}

fn load<D: Driver>(
    driver: &D,
    reference: &[u8],
    binary: &Path,
    arches: &[&str],
) -> Result<Loaded, LoadError> {
    let arches: Vec<&[u8]> = arches.iter().map(|arch| arch.as_bytes()).collect();
    let request = Request::new(reference, binary, 0, &arches);
    let loaded = driver.load(&request);
    // The three ways find the same.
    match (&loaded, driver.load_in(&request), driver.resolve(&request)) {
        (Ok(loaded), Ok((kernel, found)), Ok(resolved)) => {
            assert_eq!(loaded.kernel, kernel);
            for other in [&found, &resolved] {
                assert_eq!(loaded.found.path(), other.path());
                assert_eq!(loaded.found.key(), other.key());
                assert_eq!(loaded.found.target(), other.target());
                assert_eq!(loaded.found.size(), other.size());
            }
            assert_eq!(resolved.size(), kernel.len() as u64);
            assert_eq!(resolved.kernel().unwrap(), kernel);
            assert_eq!(resolved.entry().unwrap().size, resolved.size());
        }
        (Err(error), Err(other), _) => assert_eq!(error.reason(), other.reason()),
        (loaded, other, _) => panic!("{loaded:?} and {other:?}"),
    }
    loaded
}

/// What is loaded, or why nothing is.
fn got<D: Driver>(
    driver: &D,
    reference: &[u8],
    binary: &Path,
    arches: &[&str],
) -> Result<String, Reason> {
    match load(driver, reference, binary, arches) {
        Ok(loaded) => Ok(String::from_utf8(loaded.kernel).unwrap()),
        Err(error) => Err(error.reason()),
    }
}

fn kernel(text: &str) -> Result<String, Reason> {
    Ok(text.to_owned())
}

pub(crate) fn the_variant_is_preferred_and_the_bare_archive_has_the_rest<D: Driver>() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx90a:xnack-.kpack", &[(KEY, "gfx90a:xnack-", b"variant")]);
    tree.archive(
        ".kpack/x_gfx90a.kpack",
        &[(KEY, "gfx90a", b"bare"), ("lib/x.so#1", "gfx90a", b"rest")],
    );
    let (driver, reference, binary) = (plain::<D>(), tree.reference("x"), tree.binary());
    let isa = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
    assert_eq!(got(&driver, &reference, &binary, &[isa]), kernel("variant"));
    assert_eq!(got(&driver, &reference, &binary, &["gfx90a"]), kernel("bare"));
    assert_eq!(got(&driver, &reference, &binary, &["gfx90a:xnack+"]), kernel("bare"));
    assert_eq!(driver.archives(), 2);

    // The variant's archive lacks this one.
    let arches = [isa.as_bytes()];
    let loaded = driver.load(&Request::new(&reference, &binary, 1, &arches)).unwrap();
    assert_eq!((&*loaded.kernel, loaded.found.target()), (&b"rest"[..], &b"gfx90a"[..]));
    assert_eq!(loaded.found.key(), b"lib/x.so#1");
    assert_eq!(loaded.found.path(), fs::canonicalize(tree.at(".kpack/x_gfx90a.kpack")).unwrap());
    let lacked = |step: &Step| matches!(step, Step::Kernel { outcome: Lookup::NoKernel, target, .. } if target == b"gfx90a:xnack-");
    assert_eq!(loaded.found.trail().iter().filter(|step| lacked(step)).count(), 1);

    let none = driver.load(&Request::new(&reference, &binary, 2, &arches)).unwrap_err();
    assert_eq!(none.reason(), Reason::NoKernel);
}

pub(crate) fn a_variant_may_be_spelled_with_dashes<D: Driver>() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx90a-xnack-.kpack", &[(KEY, "gfx90a:xnack-", b"dashed")]);
    let (driver, reference, binary) = (plain::<D>(), tree.reference("x"), tree.binary());
    assert_eq!(got(&driver, &reference, &binary, &["gfx90a:xnack-"]), kernel("dashed"));
    // A key with dashes is another key.
    tree.archive(".kpack/x_gfx942-xnack-.kpack", &[(KEY, "gfx942-xnack-", b"wrong")]);
    assert_eq!(got(&driver, &reference, &binary, &["gfx942:xnack-"]), Err(Reason::NoArch));
}

pub(crate) fn architectures_are_tried_in_order<D: Driver>() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"1100")]);
    tree.archive(".kpack/x_gfx11-generic.kpack", &[(KEY, "gfx11-generic", b"generic")]);
    let (driver, reference, binary) = (plain::<D>(), tree.reference("x"), tree.binary());
    let got = |arches: &[&str]| got(&driver, &reference, &binary, arches);
    assert_eq!(got(&["gfx1101", "gfx1100", "gfx11-generic"]), kernel("1100"));
    assert_eq!(got(&["gfx1101", "gfx11-generic", "gfx1100"]), kernel("generic"));
    assert_eq!(got(&["gfx1101"]), Err(Reason::NoArchive));
    let loaded = load(&driver, &reference, &binary, &["gfx1101", "gfx1100"]).unwrap();
    assert_eq!(loaded.found.arch(), 1);

    // One archive for all: the order of the list counts, not that of the archive.
    tree.archive(
        "lib/all.kpack",
        &[
            (KEY, "gfx1100", b"a"),
            (KEY, "gfx1030", b"b"),
            (KEY, "gfx90a:xnack-", b"c"),
            (KEY, "gfx90a", b"d"),
        ],
    );
    let all = reference_of(&["all.kpack"]);
    let got = |arches: &[&str]| self::got(&driver, &all, &binary, arches);
    assert_eq!(got(&["gfx1030", "gfx1100"]), kernel("b"));
    assert_eq!(got(&["gfx1200", "gfx90a:xnack-"]), kernel("c"));
    assert_eq!(got(&["gfx90a:xnack+", "gfx1100"]), kernel("d"));
    assert_eq!(got(&["gfx1200"]), Err(Reason::NoArch));
}

fn reference_of(paths: &[&str]) -> Vec<u8> {
    reference(paths, "lib/x.so")
}

pub(crate) fn the_prefix_goes_first_and_the_override_replaces<D: Driver>() {
    let tree = Tree::new();
    for (path, content) in [
        (".kpack/x_gfx1100.kpack", &b"embedded"[..]),
        ("p.kpack", b"prefix"),
        ("o.kpack", b"override"),
    ] {
        tree.archive(path, &[(KEY, "gfx1100", content)]);
    }
    tree.archive("other.kpack", &[("other#0", "gfx1100", b"other")]);
    let (reference, binary) = (tree.reference("x"), tree.binary());
    let (over, prefix, other) =
        (tree.text("o.kpack"), tree.text("p.kpack"), tree.text("other.kpack"));
    let run =
        |path: &str, prefix: &str| got(&with::<D>(path, prefix), &reference, &binary, &["gfx1100"]);
    assert_eq!(run("", ""), kernel("embedded"));
    assert_eq!(run("", &prefix), kernel("prefix"));
    assert_eq!(run(&over, &prefix), kernel("override"));
    assert_eq!(run(":::", ":"), kernel("embedded"), "nothing but separators is unset");
    // A prefix that does not have it, or is not there, is no end.
    assert_eq!(run("", &other), kernel("embedded"));
    assert_eq!(run("", &format!("{}:{other}", tree.text("none.kpack"))), kernel("embedded"));
    // The override replaces, whatever it holds.
    assert_eq!(run(&other, &prefix), Err(Reason::NoKernel));
    assert_eq!(run(&tree.text("none.kpack"), &prefix), Err(Reason::NoArchive));
    assert_eq!(run(&format!("{other}:{over}"), ""), kernel("override"));
    assert_eq!(run(&format!("{prefix}:{over}"), ""), kernel("prefix"), "the order of the list");
}

pub(crate) fn lists_name_archives_with_colons<D: Driver>() {
    let tree = Tree::new();
    tree.archive("t_gfx90a:xnack-.kpack", &[(KEY, "gfx90a:xnack-", b"variant")]);
    tree.archive("t_gfx90a:sramecc+:xnack-.kpack", &[(KEY, "gfx90a:sramecc+:xnack-", b"both")]);
    tree.archive("t_gfx90a.kpack", &[(KEY, "gfx90a", b"bare")]);
    let (reference, binary) = (reference_of(&["none.kpack"]), tree.binary());
    let [variant, both, bare] =
        ["t_gfx90a:xnack-.kpack", "t_gfx90a:sramecc+:xnack-.kpack", "t_gfx90a.kpack"]
            .map(|name| tree.text(name));
    let run = |list: &str, arch: &str| got(&with::<D>(list, ""), &reference, &binary, &[arch]);
    let isa = "gfx90a:sramecc+:xnack-";
    assert_eq!(run(&variant, isa), kernel("variant"));
    assert_eq!(run(&both, isa), kernel("both"));
    let list = format!("{bare}:{variant}:{both}");
    assert_eq!(run(&list, isa), kernel("both"));
    assert_eq!(run(&list, "gfx90a:xnack-"), kernel("variant"));
    assert_eq!(run(&list, "gfx90a"), kernel("bare"));
    let escaped = variant.replace(':', "\\:");
    assert_eq!(run(&format!("{escaped}:{bare}"), isa), kernel("variant"));
    // An escaped colon separates nothing, even where the pieces exist.
    let pieces = format!("{}\\:{}", tree.text("t_gfx90a.kpack"), bare);
    assert_eq!(run(&pieces, "gfx90a"), Err(Reason::NoArchive));
}

pub(crate) fn lists_name_files<D: Driver>() {
    let tree = Tree::new();
    tree.archive("d/x_gfx1100.kpack", &[(KEY, "gfx1100", b"in a folder")]);
    let (reference, binary) = (reference_of(&["none.kpack"]), tree.binary());
    for list in [tree.text("d"), tree.text("d/x_@GFXARCH@.kpack")] {
        let error = load(&with::<D>(&list, ""), &reference, &binary, &["gfx1100"]).unwrap_err();
        assert_eq!(error.reason(), Reason::NoArchive, "{error}");
        assert!(error.to_string().contains(&list), "{error}");
    }
}

pub(crate) fn switched_off_is_switched_off<D: Driver>() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"there")]);
    let mut environment = Environment::default();
    environment.disable = true;
    let driver = D::new(&Options::default(), environment);
    let run = |reference: &[u8], arches: &[&str]| got(&driver, reference, &tree.binary(), arches);
    assert_eq!(run(&tree.reference("x"), &["gfx1100"]), Err(Reason::Disabled));
    // In the order of the C interface: the arguments before, the metadata after.
    assert_eq!(run(&tree.reference("x"), &[]), Err(Reason::Argument));
    assert_eq!(run(b"\xc0", &["gfx1100"]), Err(Reason::Disabled));
}

pub(crate) fn relative_and_absolute_paths<D: Driver>() {
    let tree = Tree::new();
    tree.archive("far/x_gfx1100.kpack", &[(KEY, "gfx1100", b"far")]);
    tree.archive("lib/near_gfx1100.kpack", &[(KEY, "gfx1100", b"near")]);
    let (driver, binary) = (plain::<D>(), tree.binary());
    let run = |paths: &[&str]| got(&driver, &reference_of(paths), &binary, &["gfx1100"]);
    let far = tree.text("far/x_@GFXARCH@.kpack");
    assert_eq!(run(&[&far]), kernel("far"));
    assert_eq!(run(&["near_@GFXARCH@.kpack"]), kernel("near"));
    assert_eq!(run(&["./../lib/near_gfx1100.kpack"]), kernel("near"));
    assert_eq!(run(&["none.kpack", &far, "near_gfx1100.kpack"]), kernel("far"));
    // The first placeholder alone stands for an architecture.
    tree.archive("lib/gfx1100_@GFXARCH@.kpack", &[(KEY, "gfx1100", b"second stays")]);
    assert_eq!(run(&["@GFXARCH@_@GFXARCH@.kpack"]), kernel("second stays"));
    // A bare name is seen from the current folder, which has no such file.
    let bare =
        got(&driver, &reference_of(&["near_gfx1100.kpack"]), Path::new("x.so"), &["gfx1100"]);
    assert_eq!(bare, Err(Reason::NoArchive));
}

pub(crate) fn links_are_followed_where_the_system_follows_them<D: Driver>() {
    let tree = Tree::new();
    // lib is real; app/lib is a link to it: `..` is the real folder's parent.
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"of the real folder")]);
    tree.archive("app/.kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"of the link's folder")]);
    symlink(tree.at("lib"), tree.at("app/lib")).unwrap();
    let (driver, reference) = (plain::<D>(), tree.reference("x"));
    let run = |binary: &str| got(&driver, &reference, &tree.at(binary), &["gfx1100"]);
    assert_eq!(run("app/lib/x.so"), kernel("of the real folder"));
    // The binary's own link is not followed while its own folder has archives.
    fs::create_dir(tree.at("app/bin")).unwrap();
    tree.write("lib/x.so", b"");
    symlink(tree.at("lib/x.so"), tree.at("app/bin/x.so")).unwrap();
    assert_eq!(run("app/bin/x.so"), kernel("of the link's folder"));
    // An archive may be a link.
    tree.archive("store/abc", &[(KEY, "gfx1030", b"stored")]);
    symlink(tree.at("store/abc"), tree.at(".kpack/x_gfx1030.kpack")).unwrap();
    assert_eq!(got(&driver, &reference, &tree.binary(), &["gfx1030"]), kernel("stored"));
}

pub(crate) fn a_folder_that_is_missing_is_left_as_text<D: Driver>() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"found")]);
    let (driver, reference) = (plain::<D>(), tree.reference("x"));
    let run = |binary: &str| got(&driver, &reference, &tree.at(binary), &["gfx1100"]);
    assert_eq!(run("gone/x.so"), kernel("found"));
    assert_eq!(run("gone/deeper/../x.so"), kernel("found"));
    assert_eq!(run("gone/deeper/x.so"), Err(Reason::NoArchive));
}

pub(crate) fn a_binary_that_is_a_link_has_a_second_chance<D: Driver>() {
    let tree = Tree::new();
    tree.archive("real/.kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"beside the file")]);
    tree.write("real/lib/x.so.1", b"");
    symlink(tree.at("real/lib/x.so.1"), tree.binary()).unwrap();
    let (driver, reference) = (plain::<D>(), tree.reference("x"));
    let loaded = load(&driver, &reference, &tree.binary(), &["gfx1100"]).unwrap();
    assert_eq!(loaded.kernel, b"beside the file");
    let linked = |step: &&Step| {
        matches!(
            step,
            Step::Path { origin: Origin::Linked, outcome: Opening::Opened | Opening::Reused, .. }
        )
    };
    assert_eq!(loaded.found.trail().iter().filter(linked).count(), 1);
    // An archive that is found first and lacks the kernel is no end either.
    tree.archive(".kpack/x_gfx1100.kpack", &[("other#0", "gfx1100", b"other")]);
    assert_eq!(got(&driver, &reference, &tree.binary(), &["gfx1100"]), kernel("beside the file"));
    // A list that replaces all others replaces these too.
    let over = with::<D>(&tree.text("none.kpack"), "");
    assert_eq!(got(&over, &reference, &tree.binary(), &["gfx1100"]), Err(Reason::NoArchive));
}

pub(crate) fn what_fails_is_skipped_and_the_most_severe_reason_told<D: Driver>() {
    let tree = Tree::new();
    let sound = archive(&[(KEY, "gfx1100", b"sound")]);
    tree.write("lib/good.kpack", &sound);
    tree.write("lib/text", b"this is no archive at all");
    tree.write("lib/short", b"KPAK");
    tree.write("lib/empty", b"");
    let mut version = sound.clone();
    version[4] = 2;
    tree.write("lib/version", &version);
    let mut table = sound.clone();
    let toc = u64::from_le_bytes(table[8..16].try_into().unwrap()) as usize;
    table[toc] = 0xc1;
    tree.write("lib/table", &table);
    tree.archive("lib/other", &[("other#0", "gfx1100", b"other")]);
    tree.archive("lib/arch", &[(KEY, "gfx1030", b"arch")]);
    fs::create_dir(tree.at("lib/folder")).unwrap();
    symlink("loop", tree.at("lib/loop")).unwrap();

    let (driver, binary) = (plain::<D>(), tree.binary());
    let run = |paths: &[&str]| got(&driver, &reference_of(paths), &binary, &["gfx1100"]);
    // From the mildest to the most severe.
    let all = [
        ("none", Reason::NoArchive),
        ("folder", Reason::NoArchive),
        ("arch", Reason::NoArch),
        ("other", Reason::NoKernel),
        ("version", Reason::Version),
        ("text", Reason::Format),
        ("short", Reason::Format),
        ("table", Reason::Msgpack),
        ("empty", Reason::Io),
        ("loop", Reason::Io),
    ];
    for (i, (path, reason)) in all.into_iter().enumerate() {
        assert_eq!(run(&[path]), Err(reason), "{path}");
        assert_eq!(run(&[path, "good.kpack"]), kernel("sound"), "{path}");
        for (milder, _) in &all[..i] {
            assert_eq!(run(&[path, milder]), Err(reason), "{path} and {milder}");
            assert_eq!(run(&[milder, path]), Err(reason), "{milder} and {path}");
        }
    }
    assert_eq!(run(&["text/x"]), Err(Reason::NoArchive), "a file is no folder");
}

pub(crate) fn a_kernel_that_cannot_be_decoded_may_be_elsewhere<D: Driver>() {
    let tree = Tree::new();
    let broken = |stored: &[u8]| {
        let empty = Builder::new(Scheme::ZstdPerKernel);
        empty.kernel_as(KEY, "gfx1100", b"four", stored.to_vec()).build()
    };
    tree.write("lib/broken", &broken(b"no frame"));
    let four =
        Frame { content_size: Some(4), blocks: vec![Block::raw(b"four")], ..Frame::default() };
    let whole = four.bytes();
    tree.write("lib/cut", &broken(&whole[..whole.len() - 1]));
    tree.archive("lib/good", &[(KEY, "gfx1100", b"good"), (KEY, "gfx1030", b"next")]);
    let (driver, binary) = (plain::<D>(), tree.binary());
    let run = |paths: &[&str], arches: &[&str]| {
        let arches: Vec<&[u8]> = arches.iter().map(|arch| arch.as_bytes()).collect();
        driver.load(&Request::new(&reference_of(paths), &binary, 0, &arches))
    };
    for path in ["broken", "cut"] {
        let error = run(&[path], &["gfx1100"]).unwrap_err();
        assert_eq!(error.reason(), Reason::Decompression, "{error}");
    }
    let loaded = run(&["broken", "good"], &["gfx1100"]).unwrap();
    assert_eq!(loaded.kernel, b"good");
    let failed = |step: &&Step| matches!(step, Step::Kernel { outcome: Lookup::Failed(_), .. });
    assert_eq!(loaded.found.trail().iter().filter(failed).count(), 1);
    assert_eq!(run(&["broken", "good"], &["gfx1030"]).unwrap().kernel, b"next");
}

pub(crate) fn nothing_is_remembered_of_what_failed<D: Driver>() {
    let tree = Tree::new();
    let (driver, reference, binary) = (plain::<D>(), tree.reference("x"), tree.binary());
    let run = || got(&driver, &reference, &binary, &["gfx1100"]);
    assert_eq!(run(), Err(Reason::NoArchive));
    tree.write(".kpack/x_gfx1100.kpack", b"half of it, so far");
    assert_eq!(run(), Err(Reason::Format));
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"whole")]);
    assert_eq!(run(), kernel("whole"));
}

pub(crate) fn a_file_that_was_replaced_is_opened_anew<D: Driver>() {
    let tree = Tree::new();
    let (driver, reference, binary) = (plain::<D>(), tree.reference("x"), tree.binary());
    let run = || got(&driver, &reference, &binary, &["gfx1100"]);
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"one")]);
    assert_eq!(run(), kernel("one"));
    tree.archive("new", &[(KEY, "gfx1100", b"another one")]);
    fs::rename(tree.at("new"), tree.at(".kpack/x_gfx1100.kpack")).unwrap();
    assert_eq!(run(), kernel("another one"));
    fs::remove_file(tree.at(".kpack/x_gfx1100.kpack")).unwrap();
    assert_eq!(run(), Err(Reason::NoArchive));
    assert_eq!(driver.archives(), 1);
}

/// Written to in its place, with a time that surely differs.
pub(crate) fn a_file_that_is_written_to_is_opened_anew<D: Driver>() {
    let tree = Tree::new();
    let (driver, reference, binary) = (plain::<D>(), tree.reference("x"), tree.binary());
    let run = || got(&driver, &reference, &binary, &["gfx1100"]);
    let path = tree.at(".kpack/x_gfx1100.kpack");
    let file = || fs::File::options().write(true).open(&path).unwrap();
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"one")]);
    let len = fs::metadata(&path).unwrap().len();
    assert_eq!(run(), kernel("one"));
    // What was found before it changed is not fetched from what it is now.
    let arches: [&[u8]; 1] = [b"gfx1100"];
    let before = driver.resolve(&Request::new(&reference, &binary, 0, &arches)).unwrap();
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"two")]);
    assert_eq!(fs::metadata(&path).unwrap().len(), len);
    file().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let error = before.kernel().unwrap_err();
    assert!(matches!(error.kind(), rocload::ErrorKind::Changed), "{error}");
    assert_eq!(run(), kernel("two"));
    file().set_len(len / 2).unwrap();
    assert_eq!(run(), Err(Reason::Msgpack));
    file().set_len(0).unwrap();
    assert_eq!(run(), Err(Reason::Io));
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"three")]);
    assert_eq!(run(), kernel("three"));
}

pub(crate) fn one_archive_by_many_paths_is_one<D: Driver>() {
    let tree = Tree::new();
    tree.archive("lib/a.kpack", &[(KEY, "gfx1100", b"one")]);
    symlink("a.kpack", tree.at("lib/b.kpack")).unwrap();
    let driver = plain::<D>();
    let paths = reference_of(&["a.kpack", "./b.kpack", "../lib/a.kpack"]);
    let loaded = load(&driver, &paths, &tree.binary(), &["gfx1100"]).unwrap();
    let repeated = |step: &&Step| matches!(step, Step::Path { outcome: Opening::Repeated, .. });
    assert_eq!(loaded.found.trail().iter().filter(repeated).count(), 2);
    assert_eq!(driver.archives(), 1);
    let error = load(&driver, &paths, &tree.binary(), &["gfx1030"]).unwrap_err();
    let lookups = |step: &&Step| matches!(step, Step::Kernel { .. });
    assert_eq!(error.trail().iter().filter(lookups).count(), 1, "it is looked into once");
}

pub(crate) fn what_makes_no_sense_is_refused<D: Driver>() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx1100.kpack", &[(KEY, "gfx1100", b"there")]);
    let (driver, reference, binary) = (plain::<D>(), tree.reference("x"), tree.binary());
    let run = |reference: &[u8], arches: &[&str]| got(&driver, reference, &binary, arches);
    assert_eq!(run(&reference, &[]), Err(Reason::Argument));
    assert_eq!(run(&reference, &["p:a:b:c:d:e:f:g", "gfx1100"]), Err(Reason::Argument));
    assert_eq!(run(&reference, &["", ":xnack-"]), Err(Reason::NoArchive), "no candidate");
    assert_eq!(run(&reference, &["", "gfx1100"]), kernel("there"));
    for broken in [&b""[..], b"\x82", b"\xc0", b"\x80", b"\x93\x01\x02\x03", &reference[..40]] {
        assert_eq!(run(broken, &["gfx1100"]), Err(Reason::Metadata), "{broken:?}");
    }
    assert_eq!(run(&self::reference(&[], "lib/x.so"), &["gfx1100"]), Err(Reason::Metadata));
    let longer = [&reference[..], &[0xc1; 1 << 17]].concat();
    assert_eq!(run(&longer, &["gfx1100"]), kernel("there"), "what follows is ignored");
    // A path that the system cannot hold is no archive.
    for path in ["a\0b".to_owned(), "a/".repeat(4000), "a".repeat(300)] {
        assert_eq!(run(&reference_of(&[&path]), &["gfx1100"]), Err(Reason::NoArchive));
    }
}

pub(crate) fn compatible_reading_matches_listed_architectures_alone<D: Driver>() {
    let tree = Tree::new();
    let unlisted =
        Builder::new(Scheme::None).arches(&["gfx1030"]).kernel(KEY, "gfx1100", b"unlisted");
    tree.write(".kpack/x_gfx1100.kpack", &unlisted.build());
    let (reference, binary) = (tree.reference("x"), tree.binary());
    assert_eq!(got(&plain::<D>(), &reference, &binary, &["gfx1100"]), kernel("unlisted"));
    let mut options = Options::default();
    options.strictness = Strictness::Compat;
    let compat = D::new(&options, Environment::default());
    assert_eq!(got(&compat, &reference, &binary, &["gfx1100"]), Err(Reason::NoArch));
}

pub(crate) fn errors_name_everything<D: Driver>() {
    let tree = Tree::new();
    tree.archive(".kpack/x_gfx90a.kpack", &[("other#0", "gfx90a", b"other")]);
    tree.write(".kpack/x_gfx90a:xnack-.kpack", b"this is no archive at all");
    let driver = plain::<D>();
    let error =
        load(&driver, &tree.reference("x"), &tree.binary(), &["gfx90a:xnack-"]).unwrap_err();
    assert_eq!((error.reason(), error.reason().code()), (Reason::Format, 3));
    assert_eq!(error.key(), KEY.as_bytes());
    assert_eq!(error.targets(), ["gfx90a:xnack-", "gfx90a"]);
    let text = error.to_string();
    for part in [
        KEY,
        "gfx90a:xnack-, gfx90a",
        ".kpack/x_gfx90a:xnack-.kpack: not a kpack archive",
        ".kpack/x_gfx90a-xnack-.kpack: no such file",
        ".kpack/x_gfx90a.kpack: opened",
        "gfx90a:xnack- in ",
        ".kpack/x_gfx90a.kpack: code for it, and not this kernel",
    ] {
        let open_now = text.replace(": open already", ": opened");
        assert!(open_now.contains(part), "{part:?} in {text}");
    }
    assert_eq!(text.lines().count(), 1);
    let hostile = reference(&["\x1b[31m\n.kpack"], "lib/\x1b.so");
    let text = load(&driver, &hostile, &tree.binary(), &["gfx\n1"]).unwrap_err().to_string();
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

pub(crate) fn paths_beyond_the_limit_are_left_out<D: Driver>() {
    let tree = Tree::new();
    tree.archive("lib/last.kpack", &[(KEY, "gfx1100", b"last")]);
    let limit = usize::from(Limits::default().search_paths);
    let names: Vec<String> = (1..=limit).map(|i| format!("none{i}.kpack")).collect();
    let mut paths: Vec<&str> = names.iter().map(String::as_str).collect();
    paths[limit - 1] = "last.kpack";
    let driver = plain::<D>();
    let run = |paths: &[&str]| load(&driver, &reference_of(paths), &tree.binary(), &["gfx1100"]);
    assert_eq!(run(&paths).unwrap().kernel, b"last");
    paths.insert(0, "none.kpack");
    paths.push("none.kpack");
    let error = run(&paths).unwrap_err();
    assert_eq!(error.reason(), Reason::NoArchive);
    let ignored =
        |step: &Step| matches!(step, Step::Ignored { origin: Origin::Embedded, paths: 2 });
    assert!(error.trail().iter().any(ignored), "{error}");
}

pub(crate) fn many_archives_need_few_open_files<D: Driver>() {
    let tree = Tree::new();
    let mut options = Options::default();
    options.limits.open_archives = 2;
    let driver = D::new(&options, Environment::default());
    for round in 0..2 {
        for i in 0..20 {
            let content = format!("kernel {i}");
            let name = format!("x{i}");
            if round == 0 {
                tree.archive(
                    &format!(".kpack/{name}_gfx1100.kpack"),
                    &[(KEY, "gfx1100", content.as_bytes())],
                );
            }
            assert_eq!(
                got(&driver, &tree.reference(&name), &tree.binary(), &["gfx1100"]),
                kernel(&content)
            );
        }
    }
    assert_eq!(driver.archives(), 20);
}

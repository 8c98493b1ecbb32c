//! What both drivers must do.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rocload::discover::{self, Found};
use rocload::gguf::fit::{Settings, Unknown};
use rocload::gguf::split::Fault;
use rocload::gguf::{Endian, Found as Value, Hparam, Item, Kind, Strictness, TextField, sniff};
use rocload::model::{Facts, Options, Set, ShardFault};
use rocload::{Error, ErrorKind};
use rocload_core::{Cap, Class};
use rocload_fixtures::fixtures_dir;
use rocload_fixtures::gguf::{Raw, Verdict, committed, ty};

/// What a driver is asked to do.
pub(crate) trait Driver {
    fn open(&self, path: &Path, options: &Options) -> Result<Facts, Error>;
    fn text(&self, path: &Path, options: &Options, key: &[u8]) -> Result<Option<Vec<u8>>, Error>;
    fn walk(&self, path: &Path, see: &mut dyn FnMut(&Item<'_>)) -> Result<(), Error>;
    fn discover(
        &self,
        folder: &Path,
        options: &discover::Options,
    ) -> Result<Vec<Result<Found, Error>>, Error>;
    fn set(&self, path: &Path) -> Result<Option<Set>, Error>;
}

pub(crate) fn suite(driver: &impl Driver) {
    verdicts(driver);
    shared_verdicts(driver);
    twins(driver);
    errors(driver);
    names_of_errors(driver);
    headers_cut_short(driver);
    texts(driver);
    late_architecture(driver);
    sets(driver);
    folders(driver);
}

fn fixture(name: &str) -> PathBuf {
    fixtures_dir().join("gguf").join(name)
}

fn options(strictness: Strictness) -> Options {
    let mut options = Options::default();
    options.strictness = strictness;
    options
}

/// The verdict on a file, in the words of the lists.
fn judged(driver: &impl Driver, path: &Path, strictness: Strictness) -> Verdict {
    let facts = match driver.open(path, &options(strictness)) {
        Ok(facts) => facts,
        Err(error) => {
            assert!(
                matches!(error.kind(), ErrorKind::Format(_) | ErrorKind::NotGguf(_)),
                "{error}"
            );
            assert_eq!(error.path(), Some(path));
            assert!(!error.to_string().contains('\n'), "{error}");
            return Verdict::Malformed;
        }
    };
    let whole = driver.set(path).unwrap().is_none_or(|set| set.is_whole());
    if !facts.verdict().is_whole() {
        Verdict::Short
    } else if facts.files(path).is_err() || !whole {
        Verdict::Set
    } else if facts.verdict().warnings > 0 {
        assert!(!facts.remarks().is_empty());
        Verdict::Warn
    } else {
        Verdict::Ok
    }
}

fn check(driver: &impl Driver, path: &Path, default: Verdict, strict: Verdict) {
    let found = [Strictness::Tolerant, Strictness::Specification].map(|s| judged(driver, path, s));
    let agree = |found, wanted| wanted == Verdict::Either || found == wanted;
    assert!(agree(found[0], default) && agree(found[1], strict), "{}: {found:?}", path.display());
}

fn verdicts(driver: &impl Driver) {
    for case in committed() {
        check(driver, &case.file(), case.default, case.strict);
    }
    check(driver, &fixture("tiny-llama.gguf"), Verdict::Ok, Verdict::Ok);
}

fn shared_verdicts(driver: &impl Driver) {
    let Some(data) = rocload_fixtures::shared_data_or_skip("shared_verdicts") else { return };
    let list = fs::read_to_string(data.join("gguf/MANIFEST.tsv")).unwrap();
    let mut seen = 0;
    for line in list.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, bytes, default, strict, ..] = cells[..] else { panic!("{line}") };
        let path = data.join("gguf").join(file);
        assert_eq!(fs::metadata(&path).unwrap().len().to_string(), bytes, "{file}");
        check(driver, &path, Verdict::parse(default), Verdict::parse(strict));
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
}

fn twins(driver: &impl Driver) {
    let told = |name: &str| {
        let facts = driver.open(&fixture(name), &Options::default()).unwrap();
        let summary = facts.summary();
        let heads: Vec<_> =
            (0..4).map(|layer| summary.per_layer(Hparam::HeadCountKv).at(layer)).collect();
        let name = summary.text_of(TextField::Name).value().map(|short| short.as_bytes().to_vec());
        let told = (
            summary.architecture().map(<[u8]>::to_vec),
            name,
            summary.get(Hparam::ContextLength),
            heads,
            summary.file_type(),
            summary.parameters(),
            summary.kind(),
        );
        (facts.header().version, facts.header().endian, told)
    };
    let [v1, v2, v3, big] =
        ["v1", "v2", "v3", "v3-big-endian"].map(|name| told(&format!("ok/twin-{name}.gguf")));
    assert_eq!([v1.0, v2.0, v3.0, big.0], [1, 2, 3, 3]);
    assert_eq!([v3.1, big.1], [Endian::Little, Endian::Big]);
    assert_eq!(v3.2.3, [Some(2), Some(0), Some(2), None]);
    assert_eq!(v3.2.2, Value::Value(2048));
    assert!(v1.2 == v2.2 && v2.2 == v3.2 && v3.2 == big.2, "{v1:?} {v2:?} {v3:?} {big:?}");
}

fn errors(driver: &impl Driver) {
    let open = |path: &Path| driver.open(path, &Options::default()).unwrap_err();
    let absent = open(Path::new("absent.gguf"));
    assert!(matches!(absent.kind(), ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::NotFound));
    assert!(absent.to_string().starts_with("absent.gguf: opening the model: "), "{absent}");
    assert!(matches!(open(fixtures_dir()).kind(), ErrorKind::Io(_)));
    for (name, kind) in [
        ("gzip", sniff::Kind::Gzip),
        ("pickle", sniff::Kind::Pickle),
        ("old-imatrix", sniff::Kind::Imatrix),
        ("zeros", sniff::Kind::Zeros),
        ("html-after-blanks", sniff::Kind::Html),
    ] {
        let error = open(&fixture(&format!("bad/{name}.gguf")));
        assert!(matches!(error.kind(), ErrorKind::NotGguf(found) if *found == kind), "{error}");
        assert_eq!(error.class(), Some(Class::Malformed));
    }
    // A fault names the key or tensor, and where it stands.
    let error = open(&fixture("bad/alignment-2e21.gguf"));
    assert!(error.offset().is_some() && error.to_string().contains("general.alignment"), "{error}");
    let error = open(&fixture("bad/tensor-row-no-block.gguf"));
    assert_eq!(error.name().as_deref(), Some("t"), "{error}");
    // Only the front of a file, and not all of the header.
    let dir = tempfile::tempdir().unwrap();
    let whole = fs::read(fixture("tiny-llama.gguf")).unwrap();
    let front = dir.path().join("front.gguf");
    fs::write(&front, &whole[..whole.len() - 400_000]).unwrap();
    let mut header_only = Options::default();
    header_only.header_only = true;
    let facts = driver.open(&front, &header_only).unwrap();
    assert_eq!((facts.total(), facts.verdict().missing), (None, None));
    let missing = driver.open(&front, &Options::default()).unwrap().verdict().missing;
    assert_eq!(missing, Some(400_000));
    fs::write(&front, &whole[..1000]).unwrap();
    for options in [header_only, Options::default()] {
        let error = driver.open(&front, &options).unwrap_err();
        assert_eq!(error.class(), Some(Class::Malformed), "{error}");
    }
}

/// What an error names is what it is about, or nothing.
fn names_of_errors(driver: &impl Driver) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.gguf");
    let name = |bytes: &[u8], strictness| {
        fs::write(&path, bytes).unwrap();
        let error = driver.open(&path, &options(strictness)).unwrap_err();
        assert!(error.to_string().len() < 1000, "{error}");
        error.name().map(std::borrow::Cow::into_owned)
    };
    let (long, key) = ("n".repeat(64), "k".repeat(70_000));
    let mut raw = Raw::new(3, false);
    raw.counts(1, 1);
    raw.text_pair("general.an.earlier.key", "v");
    raw.tensor(&long, &[4], 0, 0);
    raw.align(32);
    raw.floats(4);
    assert_eq!(name(&raw.0, Strictness::Llama), Some(long));
    let mut raw = Raw::new(3, false);
    raw.counts(0, 2);
    raw.text_pair("earlier", "v");
    raw.text_pair(&key, "v");
    assert_eq!(name(&raw.0, Strictness::Specification), Some(key));
    // Cut within the second name, at its end, and between entries.
    let begin = 24 + 8 + 7 + 4 + 8 + 1;
    for cut in [begin, begin + 4, begin + 8, begin + 100] {
        assert_eq!(name(&raw.0[..cut], Strictness::Tolerant), None, "{cut}");
    }
    // Of two that are the same neither is the one read last.
    let mut raw = Raw::new(3, false);
    raw.counts(3, 0);
    for (tensor, offset) in [("twice", 0), ("twice", 32), ("last", 64)] {
        raw.tensor(tensor, &[4], 0, offset);
    }
    raw.align(32);
    raw.floats(20);
    assert_eq!(name(&raw.0, Strictness::Tolerant), None);
}

/// The front of a file, cut within its header, ends in an error that says where and what of.
fn headers_cut_short(driver: &impl Driver) {
    let whole = fs::read(fixture("tiny-llama.gguf")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let front = dir.path().join("front.gguf");
    let mut header_only = Options::default();
    header_only.header_only = true;
    for cut in (24..6000).step_by(97) {
        fs::write(&front, &whole[..cut]).unwrap();
        let error = driver.open(&front, &header_only).unwrap_err();
        let ErrorKind::Format(inner) = error.kind() else { panic!("{error}") };
        let rocload_core::ErrorKind::Truncated { need, have } = inner.kind else {
            panic!("{error}")
        };
        assert!(need > have && inner.offset > 0, "{cut}: {error}");
        assert_eq!(inner.offset + have, cut as u64, "{error}");
        let name = error.name().map(|name| name.into_owned().into_bytes());
        let known = |name: &Vec<u8>| {
            let entry = [&(name.len() as u64).to_le_bytes()[..], name].concat();
            whole[..cut].windows(entry.len()).any(|at| at == entry)
        };
        assert!(name.as_ref().is_none_or(known), "{cut}: {error}");
    }
}

fn texts(driver: &impl Driver) {
    let path = fixture("ok/template-named.gguf");
    let text = |key: &str| driver.text(&path, &Options::default(), key.as_bytes()).unwrap();
    assert_eq!(text("tokenizer.chat_template").as_deref(), Some(&b"{{ messages }}\n"[..]));
    assert_eq!(text("tokenizer.chat_template.tool_use").unwrap(), "tools: \u{1f527}".as_bytes());
    assert_eq!(text("tokenizer.chat_templates"), None, "an array");
    assert_eq!(text("nowhere"), None);
    let mut small = Options::default();
    small.limits.gguf_kept_string = 14;
    let error = driver.text(&path, &small, b"tokenizer.chat_template").unwrap_err();
    assert_eq!(error.class(), Some(Class::Limit), "{error}");
    assert!(matches!(error.kind(), ErrorKind::Format(e)
        if matches!(e.kind, rocload_core::ErrorKind::Limit { cap: Cap::GgufKeptString, value: 15, .. })));
    let (mut keys, mut tensors, mut tokens) = (0, 0, 0);
    driver
        .walk(&fixture("tiny-llama.gguf"), &mut |item| match item {
            Item::Key(_) => keys += 1,
            Item::Tensor(_) => tensors += 1,
            Item::Text(text) if text.is_last() => tokens += 1,
            _ => {}
        })
        .unwrap();
    assert_eq!((keys, tensors, tokens), (28, 21, 267 + 3 + 8));
}

/// The architecture comes last, after keys of more prefixes than a summary keeps.
fn late_architecture(driver: &impl Driver) {
    let mut raw = Raw::new(3, false);
    raw.counts(0, 21);
    for prefix in 0..20 {
        raw.u32_pair(&format!("a{prefix}.context_length"), prefix);
    }
    raw.text_pair("general.architecture", "a17");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("late.gguf");
    fs::write(&path, &raw.0).unwrap();
    let facts = driver.open(&path, &Options::default()).unwrap();
    assert_eq!(facts.summary().get(Hparam::ContextLength), Value::Value(17));
    assert_eq!(facts.summary().kind(), Kind::Vocabulary);
}

/// A shard of 16 bytes of data.
fn shard(no: u16, count: u16, all: u32) -> Vec<u8> {
    let mut raw = Raw::new(3, false);
    raw.counts(1, 3);
    for (key, number) in [("split.no", no), ("split.count", count)] {
        raw.key(key, ty::U16);
        raw.u16(number);
    }
    raw.key("split.tensors.count", ty::I32);
    raw.u32(all);
    raw.tensor(&format!("t{no}"), &[4], 0, 0);
    raw.align(32);
    raw.floats(4);
    raw.0
}

fn sets(driver: &impl Driver) {
    let dir = tempfile::tempdir().unwrap();
    let at = |number: u16, count: u16| dir.path().join(format!("m-{number:05}-of-{count:05}.gguf"));
    fs::write(at(1, 3), shard(0, 3, 3)).unwrap();
    fs::write(at(3, 3), shard(2, 3, 3)).unwrap();
    fs::write(dir.path().join("n-00002-of-00003.gguf"), b"of another set").unwrap();
    let set = driver.set(&at(3, 3)).unwrap().unwrap();
    assert_eq!((set.count, &set.missing[..], set.files.len(), set.weights), (3, &[2][..], 2, 32));
    assert!(set.faults.is_empty() && set.fault.is_none() && !set.is_whole());
    // The missing one comes, and is broken in one way after the other.
    fs::write(at(2, 3), b"").unwrap();
    let set = driver.set(&at(1, 3)).unwrap().unwrap();
    let [(path, ShardFault::Unreadable(error))] = &set.faults[..] else { panic!("{set:?}") };
    assert!(matches!(error.kind(), ErrorKind::NotGguf(sniff::Kind::Empty)) && *path == at(2, 3));
    assert!(set.missing.is_empty());
    let whole = shard(1, 3, 3);
    fs::write(at(2, 3), &whole[..whole.len() - 5]).unwrap();
    let set = driver.set(&at(1, 3)).unwrap().unwrap();
    assert!(matches!(set.faults[..], [(_, ShardFault::Short(5))]), "{set:?}");
    // With a tensor of its own: one that stands twice is another fault.
    let mut other = shard(0, 3, 3);
    let name = other.windows(2).position(|two| two == b"t0").unwrap();
    other[name + 1] = b'9';
    fs::write(at(2, 3), other).unwrap();
    let set = driver.set(&at(1, 3)).unwrap().unwrap();
    assert!(
        matches!(
            set.faults[..],
            [(_, ShardFault::Disagrees(Fault::NumberDiffers { name: 2, key: 1 }))]
        ),
        "{set:?}"
    );
    fs::write(at(2, 3), whole).unwrap();
    let set = driver.set(&at(1, 3)).unwrap().unwrap();
    assert!(set.is_whole(), "{set:?}");
    assert_eq!(set.weights, 48);
    for number in 1..=2 {
        fs::write(at(number, 2), shard(number - 1, 2, 5)).unwrap();
    }
    let set = driver.set(&at(1, 2)).unwrap().unwrap();
    assert_eq!(set.fault, Some(Fault::Tensors { said: 5, found: 2 }));
    assert!(driver.set(&fixture("tiny-llama.gguf")).unwrap().is_none());
    // A tensor's name stands in two shards.
    for number in 1..=2 {
        let mut bytes = shard(number - 1, 2, 2);
        let name = bytes.windows(9).position(|part| part == b"\x02\0\0\0\0\0\0\0t").unwrap();
        bytes[name + 9] = b'0';
        fs::write(at(number, 2), bytes).unwrap();
    }
    let set = driver.set(&at(1, 2)).unwrap().unwrap();
    let twice = Fault::TensorTwice { tensor: 0, shard: 1 };
    let [(path, ShardFault::Disagrees(fault))] = &set.faults[..] else { panic!("{set:?}") };
    assert!(*fault == twice && *path == at(2, 2) && !set.is_whole(), "{set:?}");
    // What one shard needs is not what the model needs.
    let facts = driver.open(&at(1, 2), &Options::default()).unwrap();
    assert_eq!(facts.fit(&Settings::default(), None).unwrap_err(), Unknown::Shards);
}

fn folders(driver: &impl Driver) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let tiny = fixture("tiny-llama.gguf");
    let copy = |to: &str| {
        fs::create_dir_all(root.join(to).parent().unwrap()).unwrap();
        fs::copy(&tiny, root.join(to)).unwrap();
    };
    copy("a.gguf");
    copy(".hidden.gguf");
    copy("deep/er/b.GGUF");
    copy("deep/.cache/c.gguf");
    fs::write(root.join("empty.gguf"), b"").unwrap();
    fs::write(root.join("notes.txt"), b"no model").unwrap();
    fs::create_dir(root.join("folder.gguf")).unwrap();
    symlink(root.join("a.gguf"), root.join("link.gguf")).unwrap();
    symlink("nowhere", root.join("broken.gguf")).unwrap();
    symlink("..", root.join("deep/up")).unwrap();
    symlink(root, root.join("deep/er/loop")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::copy(&tiny, outside.path().join("out.gguf")).unwrap();
    symlink(outside.path(), root.join("outside")).unwrap();
    for number in 1..=2u16 {
        fs::write(root.join(format!("s-{number:05}-of-00003.gguf")), shard(number - 1, 3, 3))
            .unwrap();
        fs::write(root.join(format!("bad-{number:05}-of-00002.gguf")), b"<html>").unwrap();
    }

    let found = |options: &discover::Options| {
        let all = driver.discover(root, options).unwrap();
        let name = |path: &Path| {
            let path =
                path.strip_prefix(root).or(path.strip_prefix(outside.path())).unwrap_or(path);
            path.to_str().unwrap().to_owned()
        };
        let texts: Vec<String> = all
            .into_iter()
            .map(|found| match found {
                Ok(Found { path, set: Some(set), .. }) => {
                    format!("{} lacks {:?}", name(&path), set.missing)
                }
                Ok(found) => {
                    assert_eq!(found.size(), 439_232);
                    name(&found.path)
                }
                Err(error) => format!("{}!", name(error.path().unwrap())),
            })
            .collect();
        texts
    };
    let plain = [
        "a.gguf",
        "bad-00001-of-00002.gguf!",
        "bad-00002-of-00002.gguf!",
        "broken.gguf!",
        "empty.gguf!",
        "link.gguf",
        "s-00001-of-00003.gguf lacks [3]",
    ];
    let mut options = discover::Options::default();
    assert_eq!(found(&options), plain);
    options.recursive = true;
    let with = |more: &[&'static str]| {
        let mut all: Vec<&str> = plain.iter().chain(more).copied().collect();
        // In the order of paths, component by component.
        all.sort_by_key(|text| Path::new(text.trim_end_matches('!')).to_path_buf());
        all
    };
    assert_eq!(found(&options), with(&["deep/er/b.GGUF"]));
    options.hidden = true;
    let hidden = ["deep/er/b.GGUF", ".hidden.gguf", "deep/.cache/c.gguf"];
    assert_eq!(found(&options), with(&hidden));
    options.follow_links = true;
    let mut linked = hidden.to_vec();
    linked.push("outside/out.gguf");
    assert_eq!(found(&options), with(&linked));
    let error = driver.discover(&root.join("absent"), &options).unwrap_err();
    assert!(error.to_string().contains("absent: listing the folder: "), "{error}");
}

//! Targets against the table of the shared data, and scans without an allocator.

mod counting;

use std::collections::BTreeMap;
use std::fs;

use rocload_core::gpu::ask::{Ask, Folder, Refusal};
use rocload_core::gpu::{self, Gpu, OtherCard, Policy, Scan, Target, Variables, Verdict};
use rocload_fixtures::shared_data_or_skip;
use rocload_fixtures::sysfs::machines;

use counting::allocated;

#[test]
fn every_row_of_the_table() {
    let Some(data) = shared_data_or_skip("every_row_of_the_table") else { return };
    let table = fs::read_to_string(data.join("sysfs/gfx_decode.tsv")).unwrap();
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (version, name) = line.split_once('\t').unwrap_or((line, ""));
        let target = Target::from_version(version.parse().unwrap());
        assert_eq!(target.map(|target| target.to_string()).unwrap_or_default(), name, "{version}");
        rows += 1;
    }
    assert!(rows >= 26, "{rows} rows");
}

/// A machine whose answers cost nothing: every question that will come, answered beforehand.
struct Answers {
    files: BTreeMap<Key, Vec<u8>>,
    names: BTreeMap<Key, Vec<Vec<u8>>>,
}

/// A question as a number: its path's hash, since questions are not ordered.
type Key = u64;

fn key(ask: Ask) -> Key {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    BuildHasherDefault::<DefaultHasher>::default().hash_one(ask)
}

fn slots() -> ([Gpu; 16], [OtherCard; 4]) {
    ([Gpu::default(); 16], [OtherCard::default(); 4])
}

/// Runs a scan over a machine of the fixtures, which answers by path, and keeps its answers.
fn record(files: &serde_json::Map<String, serde_json::Value>, empty: &[String]) -> Answers {
    let mut answers = Answers { files: BTreeMap::new(), names: BTreeMap::new() };
    let (gpus, others) = slots();
    let mut scan = Scan::new(gpus, others);
    while let Some(ask) = scan.ask() {
        let path = ask.to_string();
        if let Ask::List(_) = ask {
            let below = format!("{path}/");
            let all = files.keys().chain(empty).filter_map(|file| file.strip_prefix(&below));
            let mut names: Vec<Vec<u8>> =
                all.map(|rest| rest.split('/').next().unwrap().as_bytes().to_vec()).collect();
            names.dedup();
            for name in &names {
                scan.entry(name).unwrap();
            }
            answers.names.insert(key(ask), names);
        }
        let file =
            files.get(&path).and_then(|file| file.as_str()).map(|text| text.as_bytes().to_vec());
        scan.answer(file.as_deref().ok_or(Refusal::Missing));
        if let Some(file) = file {
            answers.files.insert(key(ask), file);
        }
    }
    assert!(answers.names.contains_key(&key(Ask::List(Folder::Drm))));
    answers
}

#[test]
fn a_scan_and_a_choice_allocate_nothing() {
    let mut chosen = 0;
    for (name, _, machine) in machines() {
        let empty: Vec<String> = serde_json::from_value(machine["empty_dirs"].clone()).unwrap();
        let answers = record(machine["files"].as_object().unwrap(), &empty);
        let (bytes, first) = allocated(|| {
            let (gpus, others) = slots();
            let mut scan = Scan::new(gpus, others);
            while let Some(ask) = scan.ask() {
                for name in answers.names.get(&key(ask)).into_iter().flatten() {
                    scan.entry(name).unwrap();
                }
                let file = answers.files.get(&key(ask)).map(Vec::as_slice);
                scan.answer(file.ok_or(Refusal::Missing));
            }
            let mut found = scan.finish().unwrap();
            let variables = Variables(&[(b"HSA_OVERRIDE_GFX_VERSION", b"11.0.0")]);
            gpu::overrides::apply(found.gpus_mut(), &variables).unwrap();
            let mut verdicts = [Verdict::default(); 16];
            let policy = Policy::default();
            let choice = gpu::choose(found.gpus(), &policy, &variables, &mut verdicts).unwrap();
            let mut text = [0; gpu::mask::room(16)];
            let count = found.gpus().len();
            let mask = gpu::mask(found.gpus(), &verdicts[..count], &variables, &mut text).unwrap();
            (mask != gpu::Mask::None, choice.chosen.map(|chosen| chosen.first))
        });
        assert_eq!((bytes, first.0), (0, first.1.is_some()), "{name}");
        chosen += usize::from(first.0);
    }
    assert!(chosen >= 6, "{chosen} machines with a choice");
}

#[test]
fn too_few_slots_are_told_with_their_number() {
    let mut scan = Scan::new([Gpu::default(); 2], [OtherCard::default(); 1]);
    while let Some(ask) = scan.ask() {
        if let Ask::List(Folder::Nodes) = ask {
            for name in [b"0", b"1", b"2", b"3"] {
                let _ = scan.entry(name);
            }
        }
        scan.answer(Err(Refusal::Denied));
    }
    assert_eq!(scan.need().unwrap().need, 4);
    assert_eq!(scan.finish().unwrap_err().need, 4);
}

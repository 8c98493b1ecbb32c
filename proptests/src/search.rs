//! The search for a kernel against a naive one, over worlds that a seed makes.

use std::collections::BTreeSet;

use rocload_core::Limits;
use rocload_core::kpack::Reference;
use rocload_core::kpack::search::{
    Action, LentTrail, Outcome, PathList, Query, Reason, Search, Trail, Tried, Verdict as End,
};

use crate::random::Random;
use crate::{Verdict, require, same, target};

/// What is searched for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    arches: Vec<Vec<u8>>,
    replace: Vec<u8>,
    prefix: Vec<u8>,
    binary: Vec<u8>,
    linked: Vec<u8>,
    paths: Vec<String>,
}

impl Asked {
    /// From text of any kind: a line of architectures with commas between them, the override, the
    /// prefix, the binary, the file that it is a link to, and then a line for each embedded path.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Asked {
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let mut line = || lines.next().unwrap_or_default().to_vec();
        // More would only be more of the same.
        let arches = line().split(|&byte| byte == b',').take(8).map(<[u8]>::to_vec).collect();
        let [replace, prefix, binary, linked] = [line(), line(), line(), line()];
        let paths = lines.take(40).map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        Asked { arches, replace, prefix, binary, linked, paths }
    }

    fn metadata(&self) -> Vec<u8> {
        let paths = self.paths.iter().map(|path| rmpv::Value::from(path.as_str())).collect();
        let pairs = vec![
            ("kpack_search_paths".into(), rmpv::Value::Array(paths)),
            ("kernel_name".into(), "k".into()),
        ];
        let mut bytes = Vec::new();
        // A vector takes everything.
        let _ = rmpv::encode::write_value(&mut bytes, &rmpv::Value::Map(pairs));
        bytes
    }
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Missing,
    Failed(Reason),
    /// One of a few archives, to which many paths lead.
    Archive(u64),
}

const REASONS: [Reason; 8] = [
    Reason::NoArchive,
    Reason::NoKernel,
    Reason::Version,
    Reason::Format,
    Reason::Decompression,
    Reason::Msgpack,
    Reason::Io,
    Reason::Memory,
];

/// Reasons from the mildest to the most severe, as the format lists them.
const SEVERITY: [u8; 9] = [13, 14, 5, 4, 3, 6, 10, 9, 7];

fn rank(reason: Reason) -> Option<usize> {
    SEVERITY.iter().position(|&code| code == reason.code())
}

/// A world of files.
struct World(u64);

impl World {
    fn random(&self, kind: u8, text: &[u8]) -> Random {
        let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Random::new(text.iter().fold(self.0 ^ u64::from(kind), fold))
    }

    fn path(&self, path: &[u8]) -> Fate {
        let mut random = self.random(1, path);
        match random.below(8) {
            0..=4 => Fate::Missing,
            5 => Fate::Failed(REASONS[random.below(8) as usize]),
            _ => Fate::Archive(random.below(5)),
        }
    }

    fn kernel(&self, archive: u64, target: &[u8]) -> Outcome {
        let mut random = self.random(2 + archive as u8, target);
        match random.below(if self.0.is_multiple_of(3) { 16 } else { 6 }) {
            0 => Outcome::Found,
            1 => Outcome::Failed(Reason::NoKernel),
            2 => Outcome::Failed(REASONS[random.below(8) as usize]),
            _ => Outcome::NoTarget,
        }
    }
}

/// What was done, as a text with a line for each step, and how it ended: where the kernel is, or
/// the reason's code.
type Course = (Steps, Result<(u64, Vec<u8>, usize), u8>);

/// The steps of a search, one behind the other.
#[derive(Debug, Default, PartialEq)]
struct Steps(Vec<u8>);

impl Steps {
    fn open(&mut self, path: &[u8]) {
        self.0.extend_from_slice(b"\nopen ");
        self.0.extend_from_slice(path);
    }

    fn look(&mut self, archive: u64, target: &[u8]) {
        self.0.extend_from_slice(b"\nlook ");
        self.0.push(b'0' + archive as u8);
        self.0.extend_from_slice(target);
    }
}

/// A lent trail, and how many of its steps are paths that were left out, kept or not.
struct Counted<'s, 'a> {
    trail: LentTrail<'s, 'a>,
    ignored: u64,
}

impl<'s, 'a> Counted<'s, 'a> {
    fn new(slots: &'s mut [Option<Tried<'a>>]) -> Self {
        Counted { trail: LentTrail::new(slots), ignored: 0 }
    }
}

impl<'a> Trail<'a> for Counted<'_, 'a> {
    fn record(&mut self, tried: Tried<'a>) {
        self.ignored += u64::from(matches!(tried, Tried::Ignored { .. }));
        self.trail.record(tried);
    }
}

/// A search goes as the naive one does, and its trail tells it.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn goes_as_the_naive_one(asked: &Asked, seed: u64) -> Verdict {
    let (limits, world) = (Limits::default(), World(seed));
    let metadata = asked.metadata();
    let Ok(reference) = Reference::parse(&metadata, &limits) else { return Ok(()) };
    let arches: Vec<&[u8]> = asked.arches.iter().map(Vec::as_slice).collect();
    let mut query = Query::new(reference, 3, &asked.binary, &arches);
    query.replace = PathList::new(&asked.replace);
    query.prefix = PathList::new(&asked.prefix);
    // At times the trail is longer than its memory.
    let mut slots = vec![None; if seed.is_multiple_of(4) { 512 } else { 48 }];
    let Ok(mut search) = Search::new(query, &limits, Counted::new(&mut slots)) else {
        let many = |arch: &&[u8]| {
            arch.split(|&byte| byte == b':').skip(1).filter(|it| !it.is_empty()).count() > 6
        };
        return require(arches.iter().any(many), "only many features are refused", || {
            format!("{asked:?}")
        });
    };

    let (mut steps, mut opened, mut told) = (Steps::default(), Vec::new(), 0u64);
    let mut text = Vec::new();
    let ending = loop {
        let outcome = match search.poll() {
            Action::Open(location) => {
                text.resize(location.len(), 0);
                let written = location.write_to(&mut text).is_ok();
                require(written, "a path has its length", || location.to_string())?;
                steps.open(&text);
                match world.path(&text) {
                    Fate::Missing => Outcome::Missing,
                    Fate::Failed(reason) => Outcome::Failed(reason),
                    Fate::Archive(archive) => {
                        let known = opened.iter().position(|&other| other == archive);
                        let number = known.unwrap_or(opened.len());
                        if known.is_none() {
                            opened.push(archive);
                        }
                        Outcome::Opened(number as u32)
                    }
                }
            }
            Action::Lookup { archive, target } => {
                let archive = opened[archive as usize];
                text.resize(target.len(), 0);
                let written = target.write_to(&mut text).is_ok();
                require(written, "a target has its length", || target.to_string())?;
                steps.look(archive, &text);
                world.kernel(archive, &text)
            }
            Action::Done(End::Found { archive, target, arch }) => {
                let mut name = vec![0; target.len()];
                let _ = target.write_to(&mut name);
                break Ok((opened[archive as usize], name, arch));
            }
            Action::Done(End::NotFound(_)) if search.follow(&asked.linked) => continue,
            Action::Done(End::NotFound(reason)) => break Err(reason.code()),
        };
        told += 1;
        require(search.handle(outcome).is_ok(), "an outcome fits its action", || {
            format!("{outcome:?}")
        })?;
    };
    let Counted { trail, ignored } = search.into_trail();
    let recorded = trail.steps().count() as u64 + trail.missed();
    require(recorded <= told + ignored, "the trail tells no more than was done", || {
        format!("{recorded} of {told} and {ignored} ignored, {} without a slot", trail.missed())
    })?;
    same("a search goes as the naive one does", &(steps, ending), &naive(asked, &world))
}

/// Everything at once, in vectors.
struct Naive<'w> {
    world: &'w World,
    steps: Steps,
    opened: Vec<u64>,
    worst: Option<usize>,
    matched: bool,
}

impl Naive<'_> {
    fn failed(&mut self, reason: Reason) {
        self.worst = self.worst.max(rank(reason));
    }

    fn open(&mut self, path: &[u8]) -> Fate {
        self.steps.open(path);
        self.world.path(path)
    }

    fn settle(&mut self, fate: Fate) {
        match fate {
            Fate::Failed(reason) => self.failed(reason),
            Fate::Archive(archive) if !self.opened.contains(&archive) => self.opened.push(archive),
            _ => {}
        }
    }

    fn list(&mut self, list: &[u8]) {
        let items = items(list);
        let (mut at, mut used) = (0, 0);
        while at < items.len() && used < 32 {
            used += 1;
            let most = (items.len() - at).min(32);
            for count in (1..=most).rev() {
                let text = &list[items[at].0..items[at + count - 1].1];
                let fate = self.open(&unescaped(text));
                if count == 1 || fate != Fate::Missing {
                    self.settle(fate);
                    at += count;
                    break;
                }
            }
        }
    }

    fn embedded(
        &mut self,
        asked: &Asked,
        binary: &[u8],
        fitting: &[(usize, Vec<u8>)],
        relative_only: bool,
    ) {
        let folder = match binary.iter().rposition(|&byte| byte == b'/') {
            Some(0) => b"/".to_vec(),
            Some(at) => binary[..at].to_vec(),
            None => Vec::new(),
        };
        for path in asked.paths.iter().take(32) {
            if relative_only && path.starts_with('/') {
                continue;
            }
            let mut spelt = Vec::new();
            match path.split_once("@GFXARCH@") {
                None => spelt.push(path.clone().into_bytes()),
                Some((before, after)) => {
                    for (_, target) in fitting {
                        let with =
                            |target: &[u8]| [before.as_bytes(), target, after.as_bytes()].concat();
                        spelt.push(with(target));
                        if target.contains(&b':') {
                            spelt.push(with(&dashed(target)));
                        }
                    }
                }
            }
            for spelt in spelt {
                let absolute = path.starts_with('/') || folder.is_empty();
                let slash: &[u8] = if folder.ends_with(b"/") { b"" } else { b"/" };
                let whole = if absolute { spelt } else { [&folder[..], slash, &spelt].concat() };
                let fate = self.open(&whole);
                self.settle(fate);
            }
        }
    }

    fn look(
        &mut self,
        first: usize,
        fitting: &[(usize, Vec<u8>)],
    ) -> Option<(u64, Vec<u8>, usize)> {
        for (arch, target) in fitting {
            for at in first..self.opened.len() {
                let archive = self.opened[at];
                self.steps.look(archive, target);
                match self.world.kernel(archive, target) {
                    Outcome::Found => return Some((archive, target.clone(), *arch)),
                    Outcome::Failed(reason) => {
                        self.matched = true;
                        self.failed(reason);
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

fn naive(asked: &Asked, world: &World) -> Course {
    let mut fitting: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut known = BTreeSet::new();
    for (arch, id) in asked.arches.iter().enumerate() {
        let mut new = target::naive(id);
        // Within one list each stands as often as its features make it.
        new.retain(|target| !known.contains(target));
        known.extend(new.iter().cloned());
        fitting.extend(new.into_iter().map(|target| (arch, target)));
    }
    let mut naive =
        Naive { world, steps: Steps::default(), opened: Vec::new(), worst: None, matched: false };
    let replaced = !items(&asked.replace).is_empty();
    if replaced {
        naive.list(&asked.replace);
    } else {
        naive.list(&asked.prefix);
        naive.embedded(asked, &asked.binary, &fitting, false);
    }
    if let Some(found) = naive.look(0, &fitting) {
        return (naive.steps, Ok(found));
    }
    // Followed or not, nothing is opened where there is nothing relative.
    let tries = naive.steps.0.len();
    let first = naive.opened.len();
    if !replaced {
        naive.embedded(asked, &asked.linked, &fitting, true);
    }
    if naive.steps.0.len() > tries
        && let Some(found) = naive.look(first, &fitting)
    {
        return (naive.steps, Ok(found));
    }
    let least = match (naive.opened.is_empty(), naive.matched) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    };
    let worst = naive.worst.map_or(least, |worst| worst.max(least));
    (naive.steps, Err(SEVERITY[worst]))
}

/// Where the items of a list begin and end.
fn items(list: &[u8]) -> Vec<(usize, usize)> {
    let escaped = |at: usize| at > 0 && list[at - 1] == b'\\';
    let colons = (0..list.len()).filter(|&at| list[at] == b':' && !escaped(at));
    let mut items = Vec::new();
    let mut from = 0;
    for colon in colons.chain([list.len()]) {
        if from < colon {
            items.push((from, colon));
        }
        from = colon + 1;
    }
    items
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut path = Vec::new();
    for &byte in text {
        if byte == b':' && path.last() == Some(&b'\\') {
            path.pop();
        }
        path.push(byte);
    }
    path
}

fn dashed(target: &[u8]) -> Vec<u8> {
    target.iter().map(|&byte| if byte == b':' { b'-' } else { byte }).collect()
}

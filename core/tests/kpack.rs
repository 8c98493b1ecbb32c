//! The archives of the fixtures through the core: the broken ones are refused by every reader,
//! the sound ones give what their manifests list, whatever the pieces they come in.

use laws::kpack::{Memory, Model, views_agree};
use laws::split::{self, Ending, Rules};
use rocload_core::kpack::{Entry, Header, Open, Opened, Scheme, Strictness, Toc};
use rocload_core::zstd::FrameIndex;
use rocload_core::{Class, Error, Limits, Machine, Need, visit};
use rocload_fixtures::{Fixture, Stage, bad_archives, compat_archives, good_archives};

const STRICT: Strictness = Strictness::Strict;

/// Room for the TOC of every archive here, on the machine itself.
const ROOM: usize = 128 << 10;

fn open_in_lent_room(archive: &[u8], strictness: Strictness) -> Result<(), Error> {
    let mut room = vec![0; ROOM];
    let total = archive.len() as u64;
    let mut open = Open::new(total, Limits::default(), strictness, &mut room[..], ());
    visit(&mut open, 0, archive, |_| {})?;
    open.end().map(|_| ())
}

/// Opens by lending rows for as many entries as there are.
fn lend(archive: &[u8], strictness: Strictness, slots: usize) -> Result<(), Error> {
    let (limits, total) = (Limits::default(), archive.len() as u64);
    let base = Header::parse(archive, total)?.toc_offset;
    let bytes = &archive[base as usize..];
    let counts = Toc::parse(bytes, base, total, &limits, strictness)?.counts();
    let mut memory = Memory::for_counts(counts, slots);
    memory.lend().read(bytes, base, total, &limits, strictness).map(|_| ())
}

/// The machine's ending in every chunking; the law compares them.
fn open_any_way(archive: &[u8], strictness: Strictness) -> Ending {
    let total = archive.len() as u64;
    let make = || Open::new(total, Limits::default(), strictness, Room::new(), ());
    let keep = |item: Opened<'_>| match item {
        Opened::Header(header) => (header.toc_offset, Vec::new()),
        Opened::Toc(toc) => {
            (0, toc.entries().map(|record| (record.ordinal, record.at)).collect::<Vec<_>>())
        }
    };
    split::invariance(make, keep, archive, &Rules::new()).unwrap().ending
}

/// Storage of a fixed size that is cheap to make anew for each of many runs.
struct Room(Vec<u8>);

impl Room {
    fn new() -> Self {
        Room(Vec::new())
    }
}

impl rocload_core::Storage for Room {
    fn slots(&self) -> &[u8] {
        &self.0
    }
    fn slots_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
    fn grow(&mut self, min: usize) -> bool {
        if min <= ROOM {
            self.0.resize(min, 0);
        }
        min <= ROOM
    }
}

#[test]
fn broken_archives_are_refused_by_every_reader() {
    let (mut at_open, mut later) = (0, 0);
    for archive in bad_archives() {
        let (name, bytes) = (archive.name().to_owned(), archive.bytes());
        let whole = open_in_lent_room(&bytes, STRICT);
        let lent = [lend(&bytes, STRICT, 2), lend(&bytes, STRICT, 1)];
        if archive.stage != Some(Stage::Open) {
            assert_eq!((whole, lent), (Ok(()), [Ok(()); 2]), "{name} opens");
            later += 1;
            continue;
        }
        // Duplicates and sizes that differ are seen by rows alone.
        let error = lent[0].expect_err(&name);
        assert_eq!(lent[1].map_err(|error| error.kind), Err(error.kind), "{name}");
        assert!(whole.is_ok() || whole == Err(error), "{name}: {whole:?} against {error:?}");
        assert!(
            matches!(error.class(), Class::Malformed | Class::Unsupported | Class::Limit),
            "{name}: {error:?}"
        );
        assert!(error.offset <= bytes.len() as u64, "{name}: {error}");
        let text = error.to_string();
        assert!(!text.contains('\n') && !text.is_empty(), "{name}: {text}");
        at_open += 1;
    }
    println!("{at_open} refused at open, {later} later");
    assert!(at_open >= 60 && later >= 10, "{at_open} and {later}");
}

#[test]
fn any_chunking_opens_the_same() {
    let mut count = 0;
    let archives = good_archives().chain(bad_archives()).chain(compat_archives());
    for (archive, strictness) in
        archives.flat_map(|a| [(a.clone(), STRICT), (a, Strictness::Compat)])
    {
        let bytes = archive.bytes();
        let expected = match open_in_lent_room(&bytes, strictness) {
            Ok(()) => Ending::Complete,
            Err(error) => Ending::Failed(error),
        };
        // Every cut of a long TOC takes long; the seeded cuts of the law cover those.
        if bytes.len() <= 8 << 10 || strictness == STRICT && bytes.len() <= 16 << 10 {
            assert_eq!(open_any_way(&bytes, strictness), expected, "{}", archive.path);
            count += 1;
        }
    }
    println!("{count} archives opened in every chunking");
    assert!(count >= 150, "{count}");
}

#[test]
fn the_views_agree_on_every_archive() {
    for archive in good_archives().chain(bad_archives()).chain(compat_archives()) {
        let bytes = archive.bytes();
        for strictness in [STRICT, Strictness::Compat] {
            views_agree(&bytes, &Limits::default(), strictness, None)
                .unwrap_or_else(|broken| panic!("{}: {broken}", archive.path));
        }
    }
}

/// Where an entry's stored bytes are: from the entry, or by walking the frames.
fn stored<'a>(archive: &'a [u8], toc: &Toc<'_>, entry: &Entry<'_>) -> &'a [u8] {
    let (offset, len) = match toc.zstd_blob() {
        None => (entry.offset.unwrap(), entry.stored_size.unwrap()),
        Some((offset, size)) => {
            let mut index = FrameIndex::new(offset, size, &Limits::default()).unwrap();
            let mut found = None;
            while let Need::At { offset, .. } = index.need() {
                let input = &archive[offset as usize..];
                visit(&mut index, offset, input, |span| {
                    if span.ordinal == entry.ordinal {
                        found = Some((span.offset, u64::from(span.len)));
                    }
                })
                .unwrap();
            }
            found.unwrap()
        }
    };
    &archive[offset as usize..][..len as usize]
}

#[test]
fn frames_are_walked_alike_in_any_chunking() {
    let mut count = 0;
    for archive in good_archives().chain(bad_archives()) {
        let bytes = archive.bytes();
        let total = bytes.len() as u64;
        let Ok(header) = Header::parse(&bytes, total) else { continue };
        let (base, limits) = (header.toc_offset, Limits::default());
        let toc = Toc::parse(&bytes[base as usize..], base, total, &limits, STRICT);
        if let Some((offset, size)) = toc.ok().and_then(|toc| toc.zstd_blob()) {
            // All cuts of a short file, some of a long one.
            let seed = (bytes.len() > 4 << 10).then_some(total);
            laws::frames::walked(&bytes, offset, size, &limits, seed)
                .unwrap_or_else(|broken| panic!("{}: {broken}", archive.path));
            count += 1;
        }
    }
    println!("{count} regions");
    assert!(count >= 50, "{count}");
}

/// Every kernel of the manifest by the view without rows, and nothing else.
fn matches_its_manifest(archive: &Fixture, strictness: Strictness) -> usize {
    let bytes = archive.bytes();
    let total = bytes.len() as u64;
    let base = Header::parse(&bytes, total).unwrap().toc_offset;
    let limits = Limits::default();
    let toc = Toc::parse(&bytes[base as usize..], base, total, &limits, strictness).unwrap();
    let mut memory = Memory::for_counts(toc.counts(), 2);
    let index = memory.lend().read(toc.bytes(), base, total, &limits, strictness).unwrap();
    let kernels = archive.kernels();
    for row in &kernels {
        let (binary, arch) = (row.binary.as_bytes(), row.arch.as_bytes());
        let entry = toc.find(binary, arch).unwrap();
        let entry =
            entry.unwrap_or_else(|| panic!("{}: {} {}", archive.path, row.binary, row.arch));
        assert_eq!(index.find(binary, arch), Ok(Some(entry)), "{}", archive.path);
        assert_eq!((entry.binary, entry.arch), (binary, arch));
        assert_eq!(entry.size, row.size, "{}: {}", archive.path, row.binary);
        let stored = stored(&bytes, &toc, &entry);
        let kernel = match entry.scheme {
            Scheme::None => stored.to_vec(),
            _ => zstd::bulk::decompress(stored, row.size as usize).unwrap(),
        };
        assert_eq!(sha256(&kernel), row.sha256, "{}: {}", archive.path, row.binary);
    }
    if strictness == STRICT {
        assert_eq!(toc.counts().entries as usize, kernels.len(), "{}", archive.path);
    }
    kernels.len()
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn sound_archives_are_what_their_manifests_say() {
    let (mut archives, mut kernels) = (0, 0);
    for archive in good_archives() {
        kernels += matches_its_manifest(&archive, STRICT);
        archives += 1;
    }
    println!("{kernels} kernels of {archives} archives");
    assert!(archives >= 5 && kernels >= 20);
}

#[test]
fn compatible_reading_takes_what_the_c_libraries_take() {
    let mut count = 0;
    for archive in compat_archives() {
        assert!(lend(&archive.bytes(), STRICT, 2).is_err(), "{}", archive.path);
        matches_its_manifest(&archive, Strictness::Compat);
        count += 1;
    }
    assert!(count >= 5, "{count}");
}

/// Names that all have one hash, for whoever knows how it is made: the middle word undoes the
/// first one. Should the index hash otherwise one day, these are names as any others.
fn colliding(count: u64) -> Vec<Vec<u8>> {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ (product >> 64) as u64
    };
    let start = fold(ODD, 16 ^ 0xd6e8_feb8_6659_fd93);
    (0..count)
        .map(|n| {
            let state = fold(start ^ n, ODD);
            [n.to_le_bytes(), state.to_le_bytes()].concat()
        })
        .collect()
}

#[test]
fn names_that_collide_are_found_all_the_same() {
    let names = colliding(3000);
    let archive = Model::of_names(&names, &["gfx90a"]);
    views_agree(&archive.bytes(), &Limits::default(), STRICT, None).unwrap();

    // A duplicate among them is found too, and in compatible reading the last one counts.
    let mut twice = archive;
    twice.toc.push((names[7].clone(), Vec::new()));
    let bytes = twice.bytes();
    assert!(lend(&bytes, STRICT, 2).is_err());
    for strictness in [STRICT, Strictness::Compat] {
        views_agree(&bytes, &Limits::default(), strictness, None).unwrap();
    }
}

#[test]
fn architectures_and_binaries_may_be_many() {
    let arches: Vec<String> = (0..300).map(|n| format!("gfx{n}")).collect();
    for binaries in [&["one"][..], &["a", "b", "c", ""]] {
        let archive = Model::of_names(binaries, &arches);
        views_agree(&archive.bytes(), &Limits::default(), STRICT, None).unwrap();
    }
}

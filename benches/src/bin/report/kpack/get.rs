//! Fetching the last of 20,000 kernels, the first time and later.

use std::path::Path;
use std::time::{Duration, Instant};

use rocload::Archive;
use rocload_benches::{input, peer, time};
use rocload_fixtures::large::Large;

use rocload_benches::table::{Table, time as shown};

const ROUNDS: usize = 15;
/// Later fetches that one round repeats.
const LATER: u32 = 200;

pub(crate) fn measure(path: &Path, table: &mut Table) -> peer::Result<()> {
    let plan = Large::twenty_thousand();
    let (binary, arch) = input::last(&plan);
    let content = plan.content(plan.kernels() - 1);
    let (file, serde) = peer::table::open(path)?;
    let (start, row) = (serde.zstd_offset, &serde.toc[&binary][&arch]);
    let size = content.len();

    let [first, naive] = time::in_turns(
        ROUNDS,
        [
            &mut || {
                let archive = Archive::open(path).expect("opens");
                let start = Instant::now();
                let kernel = archive.kernel(&binary, &arch).expect("is there");
                let taken = start.elapsed();
                assert!(kernel == content);
                taken
            },
            &mut || {
                let clock = Instant::now();
                let kernel = peer::frames::fetch(&file, start, row.ordinal, size).expect("fetches");
                let taken = clock.elapsed();
                assert!(kernel == content);
                taken
            },
        ],
    );
    let met = first.median() <= Duration::from_millis(10);
    table.beside(
        "first fetch of the last of 20,000",
        &shown(first.median()),
        ("20,000 reads of a word, crate zstd", Some(&shown(naive.median()))),
        ("<= 10 ms", Some(met)),
    );

    let archive = Archive::open(path)?;
    archive.walk_frames()?;
    let early = (plan.binary(0), plan.arch(0).to_string());
    let (at, len) = peer::frames::find(&file, start, row.ordinal)?;
    let repeat = |work: &dyn Fn() -> Vec<u8>| {
        let clock = Instant::now();
        for _ in 0..LATER {
            std::hint::black_box(work());
        }
        clock.elapsed() / LATER
    };
    let [later, zero, known] = time::in_turns(
        ROUNDS,
        [
            &mut || repeat(&|| archive.kernel(&binary, &arch).expect("is there")),
            &mut || repeat(&|| archive.kernel(&early.0, &early.1).expect("is there")),
            &mut || repeat(&|| peer::frames::read(&file, at, len, size).expect("decodes")),
        ],
    );
    table.beside(
        &format!("later fetches of the last ({size} bytes)"),
        &shown(later.median()),
        ("its place known, crate zstd", Some(&shown(known.median()))),
        ("O(1)", None),
    );
    table.alone(
        &format!("later fetches of the first ({} bytes)", plan.size(0)),
        &shown(zero.median()).text,
        "as the last",
        None,
    );
    Ok(())
}

//! Looking up kernels at 20,000, in random order.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use rocload::Archive;
use rocload_benches::input::{self, Key};
use rocload_benches::{peer, time};

use rocload_benches::table::{Table, time as shown};

const ROUNDS: usize = 41;

/// Looks a key up and says whether it is there.
type Look<'a> = &'a dyn Fn(&Key) -> bool;

pub(crate) fn measure(path: &Path, table: &mut Table) -> peer::Result<()> {
    let archive = Archive::open(path)?;
    archive.walk_frames()?;
    let (_, serde) = peer::table::open(path)?;
    let (hashed, tree) = (serde.hashed(), serde.tree());
    let present = input::shuffled(&archive);
    let absent = input::absent(&present);
    // The archive's own call adds where the frame is; when it fails it makes a message, which a
    // search for a kernel does not ask for.
    let entry = |(binary, arch): &Key| black_box(archive.entry(binary, arch)).is_ok();
    let find = |(binary, arch): &Key| {
        let found = archive.toc().find(binary.as_bytes(), arch.as_bytes());
        black_box(found).is_ok_and(|found| found.is_some())
    };
    let cases: [(_, _, Look<'_>, _); 2] = [
        ("a hit", &present, &entry, Some(Duration::from_nanos(100))),
        ("a miss", &absent, &find, None),
    ];
    for (what, keys, ours, target) in cases {
        let [ours, both, nested, sorted] = time::in_turns(
            ROUNDS,
            [
                &mut || each(keys, ours),
                &mut || each(keys, |key| black_box(hashed.get(key)).is_some()),
                &mut || {
                    each(keys, |(binary, arch)| {
                        let found = serde.toc.get(binary).and_then(|arches| arches.get(arch));
                        black_box(found).is_some()
                    })
                },
                &mut || each(keys, |key| black_box(tree.get(key)).is_some()),
            ],
        )
        .map(|rounds| rounds.median());
        let figure = shown(ours);
        let met = target.map(|target| ours <= target);
        let text = if target.is_some() { "<= 100 ns" } else { "" };
        let what = format!("{what} among 20,000, random order");
        table.beside(&what, &figure, ("HashMap of both names", Some(&shown(both))), (text, met));
        table.beside(&what, &figure, ("HashMap in HashMap", Some(&shown(nested))), ("", None));
        table.beside(&what, &figure, ("BTreeMap of both names", Some(&shown(sorted))), ("", None));
    }
    Ok(())
}

/// The time of `look` for one key, over all of them; all must give the same answer. A pass
/// before is not counted: it takes the caches back from the candidate whose turn was before.
fn each(keys: &[Key], look: impl Fn(&Key) -> bool) -> Duration {
    let pass = || keys.iter().filter(|key| look(black_box(key))).count();
    let found = pass();
    let start = Instant::now();
    let again = pass();
    let taken = start.elapsed();
    assert!(found == 0 || found == keys.len(), "{found} of {} found", keys.len());
    assert_eq!(found, again);
    taken / keys.len() as u32
}

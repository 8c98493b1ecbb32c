//! A scan of eight boards from the page cache, beside bare reads of the same files.
//!
//! The peer reads each file that the machine has once, by its whole path, and looks at nothing: what
//! a scan takes beyond it is for questions whose files are not there, for folders and for thinking.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rocload::gpu::{SysRoot, Watch, scan};
use rocload_benches::table::{Table, time as shown};
use rocload_benches::{peer, time};
use rocload_fixtures::sysfs::eight_boards;

const ROUNDS: usize = 200;

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut files: Vec<PathBuf> = Vec::new();
    let machine = eight_boards();
    for (path, content) in machine["files"].as_object().ok_or("files")? {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().ok_or("a folder")?)?;
        fs::write(&path, content.as_str().ok_or("text")?)?;
        files.push(path);
    }
    for path in machine["empty_dirs"].as_array().ok_or("empty_dirs")? {
        fs::create_dir_all(folder.path().join(path.as_str().ok_or("text")?))?;
    }
    let root = SysRoot::open(folder.path())?;
    let mut watch = Watch::new(&root, Duration::from_secs(1))?;
    let (mut scans, mut samples, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    // In turns, so that a disturbance meets all of them.
    for _ in 0..time::rounds(ROUNDS) {
        let start = Instant::now();
        let gpus = scan(&root)?;
        scans.push(start.elapsed());
        assert_eq!(gpus.gpus().len(), 8);
        let start = Instant::now();
        black_box(watch.sampler().sample()?);
        samples.push(start.elapsed());
        let start = Instant::now();
        for file in &files {
            black_box(fs::read(file)?);
        }
        reads.push(start.elapsed());
    }
    let [scanned, sampled, read] = [scans, samples, reads].map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    let peer = format!("bare reads of the same {} files", files.len());
    let peer = (&*peer, Some(&shown(read)));
    let met = Some(scanned <= Duration::from_millis(5));
    table.beside("a scan of eight boards", &shown(scanned), peer, ("<= 5 ms", met));
    let share = sampled.as_secs_f64() * 100.0;
    let what = format!("a sample of `--watch`, {share:.3} % of a core at one a second");
    table.beside(&what, &shown(sampled), peer, ("< 1 % of a core", Some(share < 1.0)));
    Ok(())
}

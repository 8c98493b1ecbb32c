//! How long a scan of eight cards takes from the page cache, beside bare reads of the same files.
//!
//! ```text
//! cargo run --release -p rocload --example gpu_scan
//! ```
//!
//! The peer reads each file that the machine has once, by its whole path, and looks at nothing: what
//! a scan takes beyond it is for questions whose files are not there, for folders and for thinking.
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    unix::main()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use std::error::Error;
    use std::fs;
    use std::hint::black_box;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use rocload::gpu::{SysRoot, Watch, scan};
    use rocload_fixtures::sysfs::eight_boards;

    const ROUNDS: usize = 200;

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
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
        for _ in 0..ROUNDS {
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
            times[ROUNDS / 2]
        });
        let times = |time: Duration| time.as_secs_f64() / read.as_secs_f64();
        println!("{} files, median of {ROUNDS} rounds", files.len());
        println!("bare reads     {read:>10.1?}");
        println!("scan           {scanned:>10.1?}  {:.2} times the bare reads", times(scanned));
        println!("sample (watch) {sampled:>10.1?}  {:.2} times the bare reads", times(sampled));
        println!("one sample a second is {:.3} % of a core", sampled.as_secs_f64() * 100.0);
        Ok(())
    }
}

//! Writes seeds for `zstd_frame` and `zstd_stream` into `FOLDER/<target>/`: small contents at
//! several levels by the C library, the broken frames of the fixtures, and small frames of the
//! shared data where there are some.
//!
//! ```text
//! cargo run -p rocload-fuzz --example zstd_seed -- FOLDER
//! ```

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use rocload_fixtures::bad::frame_cases;
use rocload_fixtures::frame::{Block, Frame, FrameOptions, compress};
use rocload_fixtures::rng::Rng;
use rocload_fixtures::shared_data;

/// Longer inputs only make a fuzzer slow.
const LONGEST: usize = 4 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: zstd_seed FOLDER")?;
    let mut seeds = Seeds { folder: PathBuf::from(folder), count: 0 };
    for case in frame_cases() {
        seeds.add(&format!("case-{}", case.name), &case.frame)?;
    }
    for level in [-5_i32, 1, 3, 9, 19, 22] {
        for size in [0, 1, 40, 300, 1500, 5000, 20_000] {
            let content = content(size, level.unsigned_abs().into());
            for checksum in [false, true] {
                for (content_size, pieces) in [(true, 1), (false, 1), (true, 2)] {
                    let options = FrameOptions {
                        level,
                        checksum,
                        content_size,
                        pieces,
                        skippable: (pieces > 1).then_some(3),
                    };
                    let name = format!("made-{level}-{size}-{checksum}-{content_size}-{pieces}");
                    seeds.add(&name, &compress(&content, &options))?;
                }
            }
        }
    }
    // A window of 1 KiB, so that a ring comes round: runs, and blocks that end in both ways.
    for blocks in [3, 30] {
        let run = |at: u8| Block::rle(at, 1000).then_more();
        let mut frame = Frame { window: 0, ..Frame::default() };
        frame.blocks = (0..blocks).map(run).chain([Block::raw(b"end")]).collect();
        seeds.add(&format!("ring-{blocks}"), &frame.bytes())?;
    }
    if let Some(root) = shared_data() {
        for name in ["corpus", "corpus_nock", "golden/valid", "golden/invalid", "code_objects"] {
            let mut files: Vec<_> = fs::read_dir(root.join("zstd").join(name))?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<_, _>>()?;
            files.sort();
            for file in files {
                seeds.add_file(&name.replace('/', "-"), &file)?;
            }
        }
    }
    println!("{} seeds for each target", seeds.count);
    Ok(())
}

struct Seeds {
    folder: PathBuf,
    count: usize,
}

impl Seeds {
    fn add_file(&mut self, prefix: &str, file: &Path) -> Result<(), Box<dyn Error>> {
        if !file.is_file() || file.metadata()?.len() > LONGEST as u64 {
            return Ok(());
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        self.add(&format!("{prefix}-{name}"), &fs::read(file)?)
    }

    /// `frames` with a front that asks for exactly their content's size.
    fn add(&mut self, name: &str, frames: &[u8]) -> Result<(), Box<dyn Error>> {
        if frames.len() > LONGEST {
            return Ok(());
        }
        for target in ["zstd_frame", "zstd_stream"] {
            let folder = self.folder.join(target);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(name), [&[0, 0], frames].concat())?;
        }
        self.count += 1;
        Ok(())
    }
}

/// Literals of uneven frequency, and matches near and far.
fn content(size: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = Vec::with_capacity(size + 40);
    while bytes.len() < size {
        let n = 1 + rng.below(40);
        let reach = bytes.len() as u64;
        match rng.below(2) {
            0 if reach > 0 => {
                let back = 1 + rng.below(reach) as usize;
                for _ in 0..n {
                    bytes.push(bytes[bytes.len() - back]);
                }
            }
            _ => {
                let shift = rng.below(8);
                bytes.extend((0..n).map(|_| (rng.below(256) >> shift) as u8));
            }
        }
    }
    bytes.truncate(size);
    bytes
}

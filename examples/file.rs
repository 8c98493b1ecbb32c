//! Bring your own files: kernels and models through plain `std::fs`, by a driver of 20 lines.
//!
//! ```text
//! cargo run -p rocload-examples --bin file [ARCHIVE.kpack [MODEL.gguf]]
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rocload_core::gguf::{Check, Field, Hparam, Options, Summary, TextField};
use rocload_core::kpack::{Open, OwnedIndex, Strictness, load};
use rocload_core::zstd::{FrameIndex, FrameSpan, Workspace};
use rocload_core::{End, ItemKind, Limits, Machine, Need, visit};

/// The items of a machine.
type ItemOf<'i, M> = <<M as Machine>::Kind as ItemKind>::Item<'i>;

/// A file, and what was read of it.
struct Source {
    file: File,
    reads: usize,
    bytes: u64,
}

impl Source {
    fn open(path: &Path) -> io::Result<(Source, u64)> {
        let file = File::open(path)?;
        let total = file.metadata()?.len();
        Ok((Source { file, reads: 0, bytes: 0 }, total))
    }

    /// Fills `into` from `offset` on, or as much of it as the file has.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(offset))?;
        let mut have = 0;
        while have < into.len() {
            match self.file.read(&mut into[have..]) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        (self.reads, self.bytes) = (self.reads + 1, self.bytes + have as u64);
        Ok(have)
    }
}

/// The driver: reads what a machine needs, where it needs it, and shows its items.
fn drive<M: Machine>(
    source: &mut Source,
    machine: &mut M,
    mut see: impl FnMut(ItemOf<'_, M>),
) -> Result<(), Box<dyn Error>> {
    let mut window = vec![0; 64 << 10];
    while let Need::At { offset, min, hint } = machine.need() {
        // `min` is what it cannot do without, `hint` what is worth reading at once.
        let want = hint.clamp(min.max(512) as u64, window.len() as u64) as usize;
        let have = source.read_at(offset, &mut window[..want])?;
        if have < min {
            break; // the file ends here; what that means is the machine's to say
        }
        visit(machine, offset, &window[..have], &mut see)?;
    }
    loop {
        match machine.end()? {
            End::Item => see(machine.item(&[])),
            End::Complete => return Ok(()),
            End::Pending(what) => return Err(format!("the file ends within {what}").into()),
        }
    }
}

fn archive(path: &Path) -> Result<(), Box<dyn Error>> {
    let limits = Limits::default();
    let (mut source, total) = Source::open(path)?;
    let mut open = Open::new(total, limits, Strictness::Strict, Vec::new(), OwnedIndex::default());
    drive(&mut source, &mut open, |_| ())?;
    let toc = open.into_toc().ok_or("the machine said that it was done")?;
    println!("{}: {} kernels", name(path), toc.len());

    let Some(&first) = toc.order().first() else { return Ok(()) };
    let entry = toc.entry(first)?;
    // Under scheme none the table says where a kernel is; else the frame lengths have to be walked.
    let (offset, stored_size) = match (entry.offset, entry.stored_size, toc.toc().zstd_blob()) {
        (Some(offset), Some(size), _) => (offset, size),
        (_, _, Some((offset, size))) => {
            let mut index = FrameIndex::new(offset, size, &limits)?;
            let mut found = FrameSpan::default();
            drive(&mut source, &mut index, |span| {
                if span.ordinal == entry.ordinal {
                    found = span;
                }
            })?;
            (found.offset, u64::from(found.len))
        }
        _ => return Err("an archive has blobs or a blob of frames".into()),
    };
    // Three gates, each before the next allocation.
    load::admit(&entry, offset, stored_size, &limits)?;
    let mut stored = vec![0; usize::try_from(stored_size)?];
    if source.read_at(offset, &mut stored)? < stored.len() {
        return Err("the file has shrunk".into());
    }
    load::check(&entry, offset, &stored, &limits)?;
    let mut kernel = vec![0; usize::try_from(entry.size)?];
    let mut decoder = Box::new(Workspace::fast());
    load::expand(&entry, offset, &stored, Some(&mut *decoder), &mut kernel)?;
    println!(
        "  {} for {}: {} bytes from {stored_size} at {offset}, beginning with {}",
        entry.binary.escape_ascii(),
        entry.arch.escape_ascii(),
        kernel.len(),
        kernel[..kernel.len().min(4)].escape_ascii(),
    );
    println!("  {} bytes of {total} in {} reads", source.bytes, source.reads);
    Ok(())
}

fn model(path: &Path) -> Result<(), Box<dyn Error>> {
    let (mut source, total) = Source::open(path)?;
    let mut summary = Summary::new();
    let mut check =
        Check::new(Some(total), Options::default(), Vec::new(), Vec::new(), Summary::interest());
    drive(&mut source, &mut check, |item| summary.see(&item))?;
    let verdict = check.verdict().ok_or("the machine said that it was complete")?;
    let title = summary.text_of(TextField::Name).value();
    println!(
        "{}: {}, {} tensors, {} parameters, context {}",
        name(path),
        title.as_ref().map_or(Ok("no name"), |title| title.as_str())?,
        summary.tensors(),
        summary.parameters(),
        summary.get(Hparam::ContextLength).value().unwrap_or(0),
    );
    let end = summary.token(Field::EosTokenId).map_or("none".into(), |token| token.to_string());
    println!("  whole: {}, token that ends a sequence: {end}", verdict.is_whole());
    println!("  {} bytes of {total} in {} reads", source.bytes, source.reads);
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().escape_debug().to_string()
}

fn main() -> Result<(), Box<dyn Error>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    archive(&args.next().unwrap_or(fixtures.join("kpack/demo_zstd.kpack")))?;
    model(&args.next().unwrap_or(fixtures.join("gguf/tiny-llama.gguf")))
}

//! The owned API, for a loader that has a heap: an index, growing buffers, the writer.

use alloc::vec;
use alloc::vec::Vec;

use rocload_core::Capped;
use rocload_core::kpack::{Kernel, Open, OwnedIndex, OwnedToc, Strictness, WriteOptions, Writer};
use rocload_core::zstd::Decompress;
use sha2::{Digest, Sha256};

use crate::{File, Kit, LIMITS, ROWS, Wrong, drive, expect, kernels, more, tell};

/// The most that a buffer of the decoder may grow to, in bytes.
const RING: usize = 24 << 10;

/// More than the archive that is written, in bytes.
const ARCHIVE: usize = 32 << 10;

/// Everything that the owned API does.
///
/// # Errors
/// The first thing that is not as it should be.
pub fn all(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    let toc = open(kit, File::Archive)?;
    written(kit, &toc)?;
    streamed(kit, &toc)?;
    refused(kit)?;
    more(kit, |_| Vec::new())
}

fn open(kit: &mut Kit<'_>, file: File) -> Result<OwnedToc, Wrong> {
    let (len, index) = (kit.files.len(file), OwnedIndex::default());
    let mut open = Open::new(len, LIMITS, Strictness::Strict, Vec::new(), index);
    let _ = drive(&mut open, kit.files, file, kit.buffer, &mut |_| {})?;
    open.into_toc().ok_or(Wrong::Found("no table of contents"))
}

/// Decodes every kernel that fits into memory of its own, writes an archive of them, and reads
/// that back.
fn written(kit: &mut Kit<'_>, toc: &OwnedToc) -> Result<(), Wrong> {
    expect(toc.len() == ROWS.len(), "as many kernels as the manifest has")?;
    let mut options = WriteOptions::default();
    options.align = 64;
    let mut writer = Writer::new(b"board", b"mixed", &options)?;
    // At once: growing by doubling takes room for three halves more.
    let (mut archive, mut kernels) = (Vec::with_capacity(ARCHIVE), 0);
    writer.header().write_to(&mut archive);
    for id in toc.order() {
        let entry = toc.entry(id)?;
        expect(toc.find(entry.binary, entry.arch)? == Some(entry), "an entry by its hash")?;
        if entry.size > kernels::KERNEL as u64 {
            continue;
        }
        let row = kernels::row(entry.binary, entry.arch)?;
        let span = kernels::frame(kit, File::Archive, &toc.toc(), &entry)?;
        let mut bytes = vec![0; row.size];
        kernels::decode(kit, File::Archive, &entry, span, &mut bytes)?;
        row.check(bytes.len(), &Sha256::digest(&bytes))?;
        for put in writer.add(&Kernel::new(entry.binary, entry.arch, entry.size), &bytes)? {
            put.write_to(&mut archive);
        }
        kernels += 1;
    }
    for put in writer.finish()?.puts() {
        put.write_to(&mut archive);
    }

    let again = OwnedToc::read(&archive, &LIMITS, Strictness::Strict)?;
    expect(again.len() == kernels && kernels + 1 == ROWS.len(), "as many kernels as written")?;
    for id in again.order() {
        let entry = again.entry(id)?;
        let row = kernels::row(entry.binary, entry.arch)?;
        let at = entry.offset.and_then(|at| usize::try_from(at).ok());
        let bytes = at.and_then(|at| archive.get(at..at + row.size));
        let bytes = bytes.ok_or(Wrong::Found("a written kernel outside of its archive"))?;
        row.check(bytes.len(), &Sha256::digest(bytes))?;
    }
    let len = archive.len();
    tell!(kit.out, "archive written and read: ", kernels, " kernels, ", len, " bytes")?;
    Ok(())
}

/// Streams the kernel that does not fit, through a window that grows to what it needs.
fn streamed(kit: &mut Kit<'_>, toc: &OwnedToc) -> Result<(), Wrong> {
    let row = ROWS.iter().max_by_key(|row| row.size).ok_or(Wrong::Found("no kernel"))?;
    let entry = toc.find(row.binary.as_bytes(), row.arch.as_bytes())?;
    let entry = entry.ok_or(Wrong::Found("no large kernel"))?;
    let span = kernels::frame(kit, File::Archive, &toc.toc(), &entry)?;
    let stored = kit.files.lend(File::Archive, span.offset, span.len as usize);
    let stored = stored.ok_or(Wrong::Found("no bytes of the large kernel"))?;
    let (mut window, mut sum) = (Capped::new(RING), Sha256::new());
    let sink = &mut |piece: &[u8]| sum.update(piece);
    kit.workspace
        .decode_pieces(stored, entry.size, &LIMITS, &mut window, sink)
        .map_err(|error| error.rebased(span.offset))?;
    row.check(row.size, &sum.finalize())?;
    tell!(kit.out, "large kernel: ", row.size, " bytes, sha256 right")?;
    Ok(())
}

/// What an archive merely declares takes no memory.
fn refused(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    let Err(Wrong::Refused(error)) = open(kit, File::HugeTable) else {
        return Err(Wrong::Found("a broken archive that was not refused"));
    };
    Wrong::Refused(error).tell(kit.out, "broken archive: ")?;
    expect(
        kernels::is_huge_table(error.kind),
        "a broken archive that was refused for another reason",
    )
}

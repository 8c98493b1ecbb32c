//! Kernels out of an archive, without a heap.

use rocload_core::kpack::{Entry, Fault, Open, Strictness, Toc, load};
use rocload_core::zstd::{self, Decompress, FrameIndex, FrameSpan};
use rocload_core::{Cap, Error, ErrorKind, Full, msgpack};
use sha2::{Digest, Sha256};

use crate::{File, Kit, LIMITS, ROWS, Row, Wrong, drive, expect, tell};

/// The largest kernel that is decoded into RAM, in bytes.
pub const KERNEL: usize = 20 << 10;
/// The window of the frame that is streamed, in bytes.
pub const WINDOW: usize = 16 << 10;
/// The most content that one of its blocks has, in bytes.
pub const BLOCK: usize = 2 << 10;
/// What a copy may overshoot, in bytes.
const SLACK: usize = 32;
/// Memory for the streamed frame: its history and a block, and the literals of a block.
const RING: usize = WINDOW + BLOCK + SLACK + BLOCK + SLACK;
/// The largest table of contents that there is room for, in bytes.
const TABLE: usize = 1 << 10;

/// The archive's binaries.
const SMALL: &str = "lib/libboard.so#0";
const LARGE: &str = "lib/liblarge.so#0";

/// ISAs as an agent names them, and the architecture that fits each best.
const AGENTS: [(&str, &str); 5] = [
    ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:xnack-"),
    ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+", "gfx90a"),
    ("amdgcn-amd-amdhsa--gfx1030", "gfx1030"),
    ("gfx1100", "gfx1100"),
    ("gfx906", ""),
];

/// Opens an archive: its header, then its table of contents, into `table`.
pub(crate) fn open<'b>(
    kit: &mut Kit<'_>,
    file: File,
    table: &'b mut [u8],
) -> Result<Open<&'b mut [u8], ()>, Error> {
    let mut open = Open::new(kit.files.len(file), LIMITS, Strictness::Strict, table, ());
    let _ = drive(&mut open, kit.files, file, kit.buffer, &mut |_| {})?;
    Ok(open)
}

/// Walks the frames of an archive to the one of `entry`.
pub(crate) fn frame(
    kit: &mut Kit<'_>,
    file: File,
    toc: &Toc<'_>,
    entry: &Entry<'_>,
) -> Result<FrameSpan, Error> {
    let (offset, size) = toc.zstd_blob().unwrap_or_default();
    let mut index = FrameIndex::new(offset, size, &LIMITS)?;
    let mut found = None;
    let _ = drive(&mut index, kit.files, file, kit.buffer, &mut |span| {
        if span.ordinal == entry.ordinal {
            found = Some(span);
        }
    })?;
    let fault = Fault::Ordinal { ordinal: entry.ordinal, count: index.count().unwrap_or(0) };
    found.ok_or(Error::new(ErrorKind::Kpack(fault), entry.at))
}

/// Decodes a kernel into the front of `room`; returns its size.
pub(crate) fn decode(
    kit: &mut Kit<'_>,
    file: File,
    entry: &Entry<'_>,
    span: FrameSpan,
    room: &mut [u8],
) -> Result<usize, Error> {
    load::admit(entry, span.offset, span.len.into(), &LIMITS)?;
    let full = Error::new(ErrorKind::Full(Full { need: entry.size }), span.offset);
    let size = usize::try_from(entry.size).map_err(|_| full)?;
    let room = room.get_mut(..size).ok_or(full)?;
    let stored = kit.files.lend(file, span.offset, span.len as usize).ok_or(full)?;
    load::check(entry, span.offset, stored, &LIMITS)?;
    load::expand(entry, span.offset, stored, Some(kit.workspace), room)?;
    Ok(size)
}

/// What the manifest has of a kernel.
pub(crate) fn row(binary: &[u8], arch: &[u8]) -> Result<&'static Row, Wrong> {
    let found =
        ROWS.iter().find(|row| row.binary.as_bytes() == binary && row.arch.as_bytes() == arch);
    found.ok_or(Wrong::Found("a kernel that the manifest has not"))
}

/// Finds the kernel of `binary` that fits an agent best, and decodes it into the front of `room`:
/// its architecture's row in [`ROWS`] says what that must be. `None` when none fits.
#[inline(never)]
fn load<'t>(
    kit: &mut Kit<'_>,
    file: File,
    toc: &Toc<'t>,
    (binary, isa): (&str, &str),
    room: &mut [u8],
) -> Result<Option<(Entry<'t>, usize)>, Error> {
    let Some(entry) = toc.find_target(binary.as_bytes(), isa)? else { return Ok(None) };
    let span = frame(kit, file, toc, &entry)?;
    Ok(Some((entry, decode(kit, file, &entry, span, room)?)))
}

/// Finds a kernel for each agent and decodes it into RAM.
#[inline(never)]
pub(crate) fn into_ram(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    let mut table = [0; TABLE];
    let mut kernel = [0; KERNEL];
    let open = open(kit, File::Archive, &mut table)?;
    let toc = open.toc().ok_or(Wrong::Found("no table of contents"))?;
    expect(toc.counts().entries as usize == ROWS.len(), "as many kernels as the manifest has")?;
    for (isa, arch) in AGENTS {
        let Some((entry, size)) = load(kit, File::Archive, &toc, (SMALL, isa), &mut kernel)? else {
            expect(arch.is_empty(), "no kernel for an agent")?;
            tell!(kit.out, "kernel for ", isa, ": none, as it should be")?;
            continue;
        };
        expect(entry.arch == arch.as_bytes(), "a kernel of another architecture")?;
        row(entry.binary, entry.arch)?.check(size, &Sha256::digest(&kernel[..size]))?;
        tell!(kit.out, "kernel for ", isa, ": ", arch, ", ", size, " bytes in RAM, sha256 right")?;
    }
    Ok(())
}

/// Decodes a kernel that is larger than RAM, and uses up its bytes as they come.
#[inline(never)]
pub(crate) fn streamed(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    let mut table = [0; TABLE];
    let mut ring = [0; RING];
    let open = open(kit, File::Archive, &mut table)?;
    let toc = open.toc().ok_or(Wrong::Found("no table of contents"))?;
    let entry = toc.find_target(LARGE.as_bytes(), "gfx1100")?;
    let entry = entry.ok_or(Wrong::Found("no large kernel"))?;
    let span = frame(kit, File::Archive, &toc, &entry)?;
    // It does not fit anywhere, and that is told before anything is decoded.
    let full = decode(kit, File::Archive, &entry, span, &mut ring);
    let need =
        full.map_err(|error| if let ErrorKind::Full(full) = error.kind { full.need } else { 0 });
    expect(need == Err(entry.size), "a kernel that does not fit")?;

    let stored = kit.files.lend(File::Archive, span.offset, span.len as usize);
    let stored = stored.ok_or(Wrong::Found("no bytes of the large kernel"))?;
    load::check(&entry, span.offset, stored, &LIMITS)?;
    let (mut sum, mut size, mut longest) = (Sha256::new(), 0, 0);
    let sink = &mut |piece: &[u8]| {
        sum.update(piece);
        size += piece.len();
        longest = longest.max(piece.len());
    };
    let window = &mut &mut ring[..];
    kit.workspace
        .decode_pieces(stored, entry.size, &LIMITS, window, sink)
        .map_err(|error| error.rebased(span.offset))?;
    row(entry.binary, entry.arch)?.check(size, &sum.finalize())?;
    expect(longest <= BLOCK, "a piece longer than a block")?;
    tell!(kit.out, "large kernel: ", size, " bytes out of a ring of ", RING, ", sha256 right")?;
    Ok(())
}

/// Broken archives are refused, each for its own reason.
#[inline(never)]
pub(crate) fn refused(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    refuse(kit, File::HugeTable, is_huge_table)?;
    refuse(
        kit,
        File::HugeKernel,
        |kind| matches!(kind, ErrorKind::Limit { cap: Cap::KernelBytes, value, .. } if value == 1 << 40),
    )?;
    refuse(kit, File::LongFrame, |kind| match kind {
        ErrorKind::Zstd(zstd::Fault::FrameLength { ordinal: 0, len, .. }) => len == u32::MAX,
        _ => false,
    })?;
    refuse(kit, File::WrongSum, |kind| match kind {
        // One bit is another.
        ErrorKind::Zstd(zstd::Fault::Checksum { stored, computed }) => {
            (stored ^ computed).is_power_of_two()
        }
        _ => false,
    })
}

/// More elements are declared than bytes are there.
pub(crate) fn is_huge_table(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Kpack(Fault::Value { fault: msgpack::Fault::Count { .. }, .. }))
}

/// Loads the first kernel of an archive that has a fault.
fn refuse(kit: &mut Kit<'_>, file: File, right: fn(ErrorKind) -> bool) -> Result<(), Wrong> {
    let mut table = [0; TABLE];
    let mut kernel = [0; KERNEL];
    let opened = open(kit, file, &mut table);
    let loaded = opened.and_then(|open| {
        let Some(toc) = open.toc() else { return Ok(()) };
        load(kit, file, &toc, ("lib/liba.so#0", "gfx1030"), &mut kernel).map(|_| ())
    });
    let Err(error) = loaded else {
        return Err(Wrong::Found("a broken archive that was not refused"));
    };
    Wrong::Refused(error).tell(kit.out, "broken archive: ")?;
    expect(right(error.kind), "a broken archive that was refused for another reason")
}

//! Bring your own flash: a kernel out of an archive with no allocator, no operating system and
//! 4 KiB to work in.
//!
//! ```text
//! cargo run -p rocload-examples --no-default-features --bin flash
//! ```
//!
//! Without default features the core that is linked here knows no allocator. The same code runs
//! on a board: see `drivers/baremetal`.
#![no_std]

// The host's part: `main` and a place to print. A board has its own.
extern crate std;

use std::println;

use rocload_core::kpack::{Entry, Open, Strictness, load};
use rocload_core::zstd::{FrameIndex, FrameSpan, Workspace};
use rocload_core::{Error, ErrorKind, Full, ItemKind, Limits, Machine, Need, visit};

/// What is in the flash. A board has it at an address.
static IMAGE: &[u8] = include_bytes!("../fixtures/kpack/demo_zstd.kpack");

/// A flash behind a bus: so many bytes at an offset, copied.
struct Flash(&'static [u8]);

impl Flash {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Fills `into` from `offset` on, or as much of it as there is.
    fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or(&[]);
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        len
    }
}

/// The driver: reads what a machine needs into `window`, and shows its items.
fn drive<M: Machine>(
    flash: &Flash,
    window: &mut [u8],
    machine: &mut M,
    mut see: impl FnMut(<M::Kind as ItemKind>::Item<'_>),
) -> Result<(), Error> {
    while let Need::At { offset, min, hint } = machine.need() {
        let want = hint.max(min as u64).min(window.len() as u64) as usize;
        let have = flash.read(offset, &mut window[..want]);
        if have < min {
            let kind = ErrorKind::Truncated { need: min as u64, have: have as u64 };
            return Err(Error::new(kind, offset));
        }
        visit(machine, offset, &window[..have], &mut see)?;
    }
    Ok(())
}

/// Puts a kernel into `kernel` and returns its length; none where no target fits the device.
fn fetch(
    flash: &Flash,
    (binary, isa): (&[u8], &str),
    buffer: &mut [u8; 4096],
    decoder: &mut Workspace<0>,
    kernel: &mut [u8],
) -> Result<Option<usize>, Error> {
    // The table of contents stays while it is used; the rest of the buffer is for reading.
    let (table, window) = buffer.split_at_mut(1024);
    let mut limits = Limits::embedded();
    limits.contiguous = window.len();
    let mut open = Open::new(flash.len(), limits, Strictness::Strict, table, ());
    drive(flash, window, &mut open, |_| ())?;

    let Some(toc) = open.toc() else { return Ok(None) };
    let Some(entry) = toc.find_target(binary, isa)? else { return Ok(None) };
    let (offset, len) = place(flash, window, &entry, toc.zstd_blob(), &limits)?;
    load::admit(&entry, offset, len, &limits)?;
    let full = |need| Error::new(ErrorKind::Full(Full { need }), offset);
    let stored = usize::try_from(len).ok().and_then(|len| window.get_mut(..len));
    let stored = stored.ok_or(full(len))?;
    if flash.read(offset, stored) < stored.len() {
        return Err(Error::new(ErrorKind::Truncated { need: len, have: 0 }, offset));
    }
    load::check(&entry, offset, stored, &limits)?;
    let room = usize::try_from(entry.size).ok().and_then(|size| kernel.get_mut(..size));
    let room = room.ok_or(full(entry.size))?;
    load::expand(&entry, offset, stored, Some(decoder), room)?;
    Ok(Some(room.len()))
}

/// Where a kernel's stored bytes are, and how many.
fn place(
    flash: &Flash,
    window: &mut [u8],
    entry: &Entry<'_>,
    blob: Option<(u64, u64)>,
    limits: &Limits,
) -> Result<(u64, u64), Error> {
    let Some((offset, size)) = blob else {
        return Ok((entry.offset.unwrap_or(0), entry.stored_size.unwrap_or(0)));
    };
    let mut index = FrameIndex::new(offset, size, limits)?;
    let mut found = FrameSpan::default();
    drive(flash, window, &mut index, |span| {
        if span.ordinal == entry.ordinal {
            found = span;
        }
    })?;
    Ok((found.offset, u64::from(found.len)))
}

fn main() -> Result<(), Error> {
    let flash = Flash(IMAGE);
    let mut buffer = [0; 4096];
    let mut kernel = [0; 4096];
    let mut decoder = Workspace::<0>::new();
    let memory = size_of_val(&buffer) + size_of_val(&decoder) + size_of_val(&kernel);
    println!("{} bytes of flash, {memory} bytes of memory", flash.len());
    for isa in ["amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx1030", "gfx1201"] {
        let wanted = (&b"lib/libdemo.so#0"[..], isa);
        match fetch(&flash, wanted, &mut buffer, &mut decoder, &mut kernel)? {
            Some(len) => {
                let magic = kernel[..4].escape_ascii();
                println!("{isa}: {len} bytes, beginning with {magic}");
            }
            None => println!("{isa}: no kernel"),
        }
    }
    Ok(())
}

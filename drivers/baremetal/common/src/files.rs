//! Where bytes come from: a few files by number, read at offsets.

use core::hint::black_box;

use rocload_core::{End, Error, ItemKind, Machine, Need, visit};

/// A file that a loader has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// The archive.
    Archive,
    /// An archive that declares 2^32 - 1 binaries.
    HugeTable,
    /// An archive with a kernel of 1 TiB.
    HugeKernel,
    /// An archive with a frame that is longer than the archive.
    LongFrame,
    /// An archive with a wrong checksum.
    WrongSum,
    /// A model, or its front.
    Model,
    /// A model with a string of 2^64 - 1 bytes.
    LongString,
    /// A captured answer of a server.
    Answer,
    /// Its body: events.
    Events,
}

impl File {
    /// How many there are.
    pub const COUNT: usize = 9;
}

/// A loader's files. A flash, a card, a host that is asked: nothing here knows which.
pub trait Files {
    /// A file's length in bytes.
    fn len(&self, file: File) -> u64;

    /// Reads at `offset` into the front of `into`; returns how many bytes came. None at the end.
    fn read(&mut self, file: File, offset: u64, into: &mut [u8]) -> usize;

    /// `len` bytes at `offset` in one piece: where they lie, if memory is mapped, or in a buffer
    /// that they are read into. `None` when that cannot be.
    fn lend(&mut self, file: File, offset: u64, len: usize) -> Option<&[u8]>;
}

/// Feeds a machine by `Need::At`, through a buffer, until it has all that it needs.
///
/// # Errors
/// The machine's own, also for a file that ends too early.
#[inline(never)]
pub fn drive<K: ItemKind>(
    machine: &mut dyn Machine<Kind = K>,
    files: &mut dyn Files,
    file: File,
    buffer: &mut [u8],
    see: &mut dyn FnMut(K::Item<'_>),
) -> Result<End, Error> {
    // Called by pointers, one copy of this serves every machine of a kind.
    let machine = black_box(machine);
    while let need @ Need::At { offset, min, hint } = machine.need() {
        let want = usize::try_from(hint).unwrap_or(usize::MAX).max(min).min(buffer.len());
        let read = files.read(file, offset, &mut buffer[..want]);
        let used = visit(machine, offset, &buffer[..read], &mut *see)?;
        if used == 0 && machine.need() == need {
            // No progress: the file is over, and the machine says what that means.
            break;
        }
    }
    machine.end()
}

/// The committed files, for loaders that have them in their image.
pub mod image {
    /// The archive: `kpack/board.kpack`.
    pub const ARCHIVE: &[u8] = include_bytes!("../../../../fixtures/kpack/board.kpack");
    /// [`File::HugeTable`](super::File::HugeTable).
    pub const HUGE_TABLE: &[u8] =
        include_bytes!("../../../../fixtures/kpack/bad/huge-toc-map.kpack");
    /// [`File::HugeKernel`](super::File::HugeKernel).
    pub const HUGE_KERNEL: &[u8] =
        include_bytes!("../../../../fixtures/kpack/bad/original-size-2-40.kpack");
    /// [`File::LongFrame`](super::File::LongFrame).
    pub const LONG_FRAME: &[u8] =
        include_bytes!("../../../../fixtures/kpack/bad/frame-size-max.kpack");
    /// [`File::WrongSum`](super::File::WrongSum).
    pub const WRONG_SUM: &[u8] =
        include_bytes!("../../../../fixtures/kpack/bad/checksum-wrong.kpack");
    /// The model's front: its header and some of its first tensor.
    pub const MODEL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/model.gguf"));
    /// The model's length as a whole, in bytes.
    pub const MODEL_LEN: u64 = include!(concat!(env!("OUT_DIR"), "/model.len"));
    /// [`File::LongString`](super::File::LongString).
    pub const LONG_STRING: &[u8] =
        include_bytes!("../../../../fixtures/gguf/bad/string-len-max.gguf");
    /// The answer: a chat, streamed in chunks.
    pub const ANSWER: &[u8] = include_bytes!("../../../../fixtures/sse/chat.http");
    /// Its body, without the chunks.
    pub const EVENTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/events.txt"));
}

/// Files in memory, by their numbers.
#[derive(Debug)]
pub struct Mapped {
    /// The bytes of each.
    pub files: [&'static [u8]; File::COUNT],
}

impl Mapped {
    fn at(&self, file: File, offset: u64) -> &'static [u8] {
        usize::try_from(offset)
            .ok()
            .and_then(|at| self.files[file as usize].get(at..))
            .unwrap_or(&[])
    }
}

impl Files for Mapped {
    fn len(&self, file: File) -> u64 {
        match file {
            File::Model => image::MODEL_LEN,
            _ => self.files[file as usize].len() as u64,
        }
    }

    fn read(&mut self, file: File, offset: u64, into: &mut [u8]) -> usize {
        let there = self.at(file, offset);
        let len = there.len().min(into.len());
        into[..len].copy_from_slice(&there[..len]);
        len
    }

    fn lend(&mut self, file: File, offset: u64, len: usize) -> Option<&[u8]> {
        self.at(file, offset).get(..len)
    }
}

/// Puts the committed files into the section `.archive` of the image, so that what they take is
/// not counted as code, and makes a [`Mapped`] of them.
#[macro_export]
macro_rules! mapped {
    () => {{
        use $crate::files::image;
        $crate::mapped!(@in
            ARCHIVE HUGE_TABLE HUGE_KERNEL LONG_FRAME WRONG_SUM MODEL LONG_STRING ANSWER EVENTS)
    }};
    (@in $($name:ident)*) => {{
        $(
            // SAFETY: the section is read-only data of this image and holds nothing else.
            #[unsafe(link_section = ".archive")]
            static $name: [u8; image::$name.len()] = {
                let mut bytes = [0; image::$name.len()];
                bytes.copy_from_slice(image::$name);
                bytes
            };
        )*
        $crate::files::Mapped { files: [$(&$name),*] }
    }};
}

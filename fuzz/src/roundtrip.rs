//! The target of the writer. An input says how to write and lists kernels.

use core::cell::RefCell;

use laws::kpack::{Name, Writing, Written, survives};
use rocload_core::kpack::{Scheme, WriteOptions};
use rocload_core::zstd::Workspace;

use crate::{hold, limits};

/// Kernels of one input, at most.
const MOST: usize = 64;
/// Bytes of all kernels of one input, about.
const BYTES: usize = 32 << 10;

/// Reads an input; what is missing at its end is zero.
struct Input<'a>(&'a [u8], usize);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    /// A name: mostly one of a few, so that names repeat.
    fn name(&mut self) -> Vec<u8> {
        match self.byte() {
            n @ 0..=191 => {
                let few: [&[u8]; 8] = [
                    b"a",
                    b"b",
                    b"lib/a.so#0",
                    b"lib\\a.so#0",
                    b"gfx1",
                    b"gfx90a:xnack-",
                    b"",
                    b"\xff",
                ];
                few[usize::from(n) % few.len()].to_vec()
            }
            n => self.bytes(usize::from(n - 191)).to_vec(),
        }
    }

    fn kernel(&mut self) -> Written {
        let flags = self.byte();
        let (binary, arch) = (self.name(), self.name());
        let kind = match flags & 3 {
            0 => None,
            1 => Some(self.name()),
            _ => Some(b"hsaco".to_vec()),
        };
        let metadata = (flags & 12 == 4).then(|| {
            let len = self.byte();
            self.bytes(usize::from(len)).to_vec()
        });
        let sha256 = (flags & 16 != 0).then(|| [self.byte(); 32]);
        let link = (flags & 96 == 96).then(|| u32::from(self.byte() & 7));
        let len = usize::from(self.byte());
        let content: Name = match flags & 128 {
            0 => self.bytes(len).to_vec(),
            // The same bytes again and again.
            _ => {
                let part = self.bytes(1 + len % 16);
                let most = self.1.min(part.len() * (1 + len * len / 16));
                part.iter().copied().cycle().take(most).collect()
            }
        };
        self.1 = self.1.saturating_sub(content.len());
        Written { binary, arch, kind, metadata, sha256, content, link }
    }
}

/// An archive is written of the kernels that an input lists, and read again: the same kernels, and
/// written once more the same bytes.
pub fn kpack_roundtrip(bytes: &[u8]) {
    thread_local! {
        static DECODER: RefCell<Workspace<0>> = const { RefCell::new(Workspace::new()) };
    }
    let mut input = Input(bytes, BYTES);
    let (flags, align) = (input.byte(), input.byte());
    let mut options = WriteOptions::default();
    options.limits = limits();
    options.scheme = if flags & 1 == 0 { Scheme::ZstdPerKernel } else { Scheme::None };
    options.align = if flags & 1 == 0 { 1 } else { 1 << (align % 13) };
    (options.index, options.verbatim) = (flags & 2 != 0, flags & 4 != 0);
    let group = input.name();
    let arches = (0..flags >> 6).map(|_| input.name()).collect();
    let mut kernels = Vec::new();
    while !input.0.is_empty() && kernels.len() < MOST {
        kernels.push(input.kernel());
    }
    let writing = Writing { group, arches, kernels, options, announced: flags & 8 != 0 };
    DECODER.with_borrow_mut(|decoder| hold(survives(&writing, decoder).map(|_| ())));
}

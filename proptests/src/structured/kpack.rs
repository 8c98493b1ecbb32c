//! An archive whose table is sound in its syntax and tells a few lies.

use arbitrary::Arbitrary;
use rocload_core::kpack::Scheme;

use super::{Lie, tell};
use crate::kpack::{Kernel, Model};

/// An archive.
#[derive(Debug, Clone, Arbitrary)]
pub struct Archive {
    /// Kernels are stored as frames.
    pub compressed: bool,
    /// Architectures that are listed, of a few.
    pub arches: Vec<u8>,
    /// Its kernels.
    pub kernels: Vec<Stored>,
    /// Turns the order of the keys.
    pub turn: u8,
    /// What of the table is not so.
    pub wrong: Option<Wrong>,
    /// What of the bytes is not so.
    pub lies: Vec<Lie>,
}

/// A kernel.
#[derive(Debug, Clone, Arbitrary)]
pub struct Stored {
    /// Its binary, of a few.
    pub binary: u8,
    /// Its architecture, of a few.
    pub arch: u8,
    /// Its content: a byte so many times.
    pub content: (u8, u8),
    /// Its entry has keys in another order.
    pub unusual: bool,
    /// Its entry has metadata.
    pub metadata: bool,
}

/// A lie of the table about the kernel of this number.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Wrong {
    /// Another ordinal.
    Ordinal(u8, u32),
    /// Another size.
    Size(u8, u64),
    /// No size.
    NoSize(u8),
    /// Another offset.
    Offset(u8, u64),
    /// Another length: of the blob, or of the frame.
    Length(u8, u32),
    /// Another number of frames.
    Frames(u32),
    /// The same entry once more.
    Twice(u8),
}

const BINARIES: [&[u8]; 5] = [b"lib/a.so#0", b"lib/b.so#0", b"lib/b.so#1", b"", b"bin/c"];
const ARCHES: [&[u8]; 5] = [b"gfx90a", b"gfx90a:xnack+", b"gfx1100", b"gfx9-generic", b""];

impl Archive {
    /// The archive.
    pub fn bytes(&self) -> Vec<u8> {
        let kernels = &self.kernels[..self.kernels.len().min(24)];
        let mut model = Model {
            scheme: if self.compressed { Scheme::ZstdPerKernel } else { Scheme::None },
            arches: self.arches.iter().take(6).map(|at| pick(&ARCHES, *at)).collect(),
            turn: self.turn.into(),
            ..Model::default()
        };
        if self.compressed {
            model.data.extend((kernels.len() as u32).to_le_bytes());
        }
        for (ordinal, stored) in kernels.iter().enumerate() {
            let (byte, times) = stored.content;
            let content = vec![byte; times.into()];
            let offset = 64 + model.data.len() as u64;
            if self.compressed {
                let frame = frame(&content);
                model.data.extend((frame.len() as u32).to_le_bytes());
                model.data.extend(frame);
            } else {
                model.blobs.push((offset, content.len() as u64));
                model.data.extend(&content);
            }
            let kernel = Kernel {
                ordinal: ordinal as u32,
                size: Some(content.len() as u64),
                unusual: stored.unusual,
                metadata: stored.metadata,
            };
            let entry = (pick(&ARCHES, stored.arch), kernel);
            let binary = pick(&BINARIES, stored.binary);
            match model.toc.iter_mut().find(|(name, _)| *name == binary) {
                Some((_, entries)) => entries.push(entry),
                None => model.toc.push((binary, vec![entry])),
            }
        }
        if let Some(wrong) = self.wrong {
            lie(&mut model, wrong, kernels.len());
        }
        let mut bytes = model.bytes();
        tell(&self.lies, &mut bytes);
        bytes
    }
}

fn pick(names: &[&[u8]], at: u8) -> Vec<u8> {
    names[usize::from(at) % names.len()].to_vec()
}

fn lie(model: &mut Model, wrong: Wrong, count: usize) {
    let which = |at: u8| (usize::from(at) % count.max(1)) as u32;
    let mut entry = |at: u8, change: &mut dyn FnMut(&mut Kernel)| {
        let kernels = model.toc.iter_mut().flat_map(|(_, entries)| entries);
        for (_, kernel) in kernels.filter(|(_, kernel)| kernel.ordinal == which(at)).take(1) {
            change(kernel);
        }
    };
    match wrong {
        Wrong::Ordinal(at, ordinal) => entry(at, &mut |kernel| kernel.ordinal = ordinal),
        Wrong::Size(at, size) => entry(at, &mut |kernel| kernel.size = Some(size)),
        Wrong::NoSize(at) => entry(at, &mut |kernel| kernel.size = None),
        Wrong::Offset(at, offset) => {
            if let Some(blob) = model.blobs.get_mut(which(at) as usize) {
                blob.0 = offset;
            }
        }
        Wrong::Length(at, len) => {
            if let Some(blob) = model.blobs.get_mut(which(at) as usize) {
                blob.1 = len.into();
            } else {
                // The length words stand before each frame.
                let mut place = 4;
                for _ in 0..which(at) {
                    let word = model.data.get(place..place + 4).unwrap_or(&[0; 4]);
                    place += 4 + u32::from_le_bytes([word[0], word[1], word[2], word[3]]) as usize;
                }
                if let Some(word) = model.data.get_mut(place..place + 4) {
                    word.copy_from_slice(&len.to_le_bytes());
                }
            }
        }
        Wrong::Frames(count) => {
            if let Some(word) = model.data.get_mut(..4) {
                word.copy_from_slice(&count.to_le_bytes());
            }
        }
        Wrong::Twice(at) => {
            if let Some((_, entries)) = model.toc.get_mut(usize::from(at) % count.max(1))
                && let Some(first) = entries.first().cloned()
            {
                entries.push(first);
            }
        }
    }
}

/// A frame of one raw block.
fn frame(content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, content.len() as u8];
    frame.extend(&(1 | (content.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend(content);
    frame
}

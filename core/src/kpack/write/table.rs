//! The table of contents in the making, and its bytes.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::{DATA_AT, Kernel, Writer};
use crate::error::Error;
use crate::kpack::Scheme;
use crate::limits::Cap;
use crate::msgpack;

/// A binary and its entries, in the order in which they came.
#[derive(Debug)]
pub(super) struct Binary {
    name: Box<[u8]>,
    entries: Vec<Entry>,
}

impl Binary {
    pub(super) fn new(name: &[u8]) -> Self {
        Self { name: name.into(), entries: Vec::new() }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }
}

/// One kernel of the table.
#[derive(Debug)]
pub(super) struct Entry {
    arch: u32,
    ordinal: u32,
    kind: Kind,
    size: u64,
    metadata: Option<Box<[u8]>>,
    sha256: Option<Box<[u8; 32]>>,
}

/// `type`; nearly all are the same, which takes no memory.
#[derive(Debug)]
enum Kind {
    Hsaco,
    Absent,
    Other(Box<[u8]>),
}

impl Entry {
    pub(super) fn new(kernel: &Kernel<'_>, arch: u32, ordinal: u32) -> Self {
        let kind = match kernel.kind {
            Some(b"hsaco") => Kind::Hsaco,
            Some(other) => Kind::Other(other.into()),
            None => Kind::Absent,
        };
        let metadata = kernel.metadata.map(Box::from);
        let sha256 = kernel.sha256.map(Box::new);
        Self { arch, ordinal, kind, size: kernel.size, metadata, sha256 }
    }

    fn write(&self, out: &mut msgpack::Writer<'_>, frame: Option<(u64, u64)>) {
        let pairs = 2
            + u32::from(!matches!(self.kind, Kind::Absent))
            + u32::from(self.metadata.is_some())
            + 2 * u32::from(frame.is_some())
            + u32::from(self.sha256.is_some());
        out.map(pairs);
        match &self.kind {
            Kind::Hsaco => pair(out, "type", |out| out.str("hsaco")),
            Kind::Other(kind) => pair(out, "type", |out| out.str_bytes(kind)),
            Kind::Absent => {}
        }
        pair(out, "ordinal", |out| out.uint(self.ordinal.into()));
        pair(out, "original_size", |out| out.uint(self.size));
        if let Some(metadata) = &self.metadata {
            pair(out, "metadata", |out| out.raw(metadata));
        }
        if let Some((offset, size)) = frame {
            pair(out, "frame_offset", |out| out.uint(offset));
            pair(out, "frame_size", |out| out.uint(size));
        }
        if let Some(sha256) = &self.sha256 {
            pair(out, "sha256", |out| out.bin(&sha256[..]));
        }
    }
}

fn pair(out: &mut msgpack::Writer<'_>, key: &str, value: impl FnOnce(&mut msgpack::Writer<'_>)) {
    out.str(key);
    value(out);
}

impl Writer {
    /// The table's bytes: measured, then written.
    pub(super) fn toc(&self) -> Result<Vec<u8>, Error> {
        let mut measure = msgpack::Writer::new(&mut []);
        self.write_toc(&mut measure);
        let (value, limit) = (measure.len() as u64, self.toc_limit());
        if value > limit {
            return Err(self.over(Cap::TocBytes, value, limit));
        }
        let mut toc = vec![0; measure.len()];
        self.write_toc(&mut msgpack::Writer::new(&mut toc));
        Ok(toc)
    }

    /// The keys in the order of the public writer.
    fn write_toc(&self, out: &mut msgpack::Writer<'_>) {
        let scheme = self.options.scheme;
        out.map(if scheme == Scheme::None { 7 } else { 8 });
        pair(out, "format_version", |out| out.uint(1));
        pair(out, "group_name", |out| out.str_bytes(&self.group));
        pair(out, "gfx_arch_family", |out| out.str_bytes(&self.family));
        pair(out, "gfx_arches", |out| {
            out.array(self.arches.len() as u32);
            self.arches.iter().for_each(|arch| out.str_bytes(arch));
        });
        pair(out, "toc", |out| self.write_binaries(out));
        pair(out, "compression_scheme", |out| out.str(scheme.name()));
        match scheme {
            Scheme::None => pair(out, "blobs", |out| {
                out.array(self.stored.len() as u32);
                for &(offset, size) in &self.stored {
                    out.map(2);
                    pair(out, "offset", |out| out.uint(offset));
                    pair(out, "size", |out| out.uint(size));
                }
            }),
            Scheme::ZstdPerKernel => {
                pair(out, "zstd_offset", |out| out.uint(DATA_AT as u64));
                pair(out, "zstd_size", |out| out.uint(self.at - DATA_AT as u64));
            }
        }
    }

    fn write_binaries(&self, out: &mut msgpack::Writer<'_>) {
        let indexed = self.options.index && self.options.scheme == Scheme::ZstdPerKernel;
        out.map(self.binaries.len() as u32);
        for Binary { name, entries } in &self.binaries {
            out.str_bytes(name);
            out.map(entries.len() as u32);
            for entry in entries {
                out.str_bytes(&self.arches[entry.arch as usize]);
                let frame = self.stored.get(entry.ordinal as usize).copied();
                entry.write(out, frame.filter(|_| indexed));
            }
        }
    }
}

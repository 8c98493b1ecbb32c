//! An archive as a model: what a test or a strategy fills in, and its bytes.

use rocload_core::kpack::Scheme;
use rocload_core::msgpack::Writer;

/// A binary's or an architecture's name.
pub type Name = Vec<u8>;

/// An entry of a [`Model`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernel {
    /// `ordinal`.
    pub ordinal: u32,
    /// `original_size`, if there is one.
    pub size: Option<u64>,
    /// Keys in another order than writers use, and one that nobody knows.
    pub unusual: bool,
    /// A `metadata` map.
    pub metadata: bool,
}

/// An archive that is sound in its syntax; what it says may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// `compression_scheme`.
    pub scheme: Scheme,
    /// `gfx_arches`.
    pub arches: Vec<Name>,
    /// Binaries and their architectures; names may repeat.
    pub toc: Vec<(Name, Vec<(Name, Kernel)>)>,
    /// Offset and size of each blob (scheme none).
    pub blobs: Vec<(u64, u64)>,
    /// The bytes from offset 64 to the TOC; under `zstd-per-kernel` they are the zstd region.
    pub data: Vec<u8>,
    /// Turns the order of the top-level keys.
    pub turn: usize,
    /// Bytes after the TOC's map.
    pub tail: Vec<u8>,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            scheme: Scheme::None,
            arches: Vec::new(),
            toc: Vec::new(),
            blobs: Vec::new(),
            data: Vec::new(),
            turn: 0,
            tail: Vec::new(),
        }
    }
}

impl Model {
    /// An archive of the scheme `none` with one blob for all entries, one entry a pair of names.
    pub fn of_names<B: AsRef<[u8]>, A: AsRef<[u8]>>(binaries: &[B], arches: &[A]) -> Model {
        let kernel = || Kernel { size: Some(4), ..Kernel::default() };
        let under = || arches.iter().map(|arch| (arch.as_ref().to_vec(), kernel())).collect();
        Model {
            arches: arches.iter().map(|arch| arch.as_ref().to_vec()).collect(),
            toc: binaries.iter().map(|name| (name.as_ref().to_vec(), under())).collect(),
            blobs: vec![(64, 4)],
            data: b"code".to_vec(),
            ..Model::default()
        }
    }

    /// The archive.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"KPAK\x01\0\0\0".to_vec();
        bytes.extend((64 + self.data.len() as u64).to_le_bytes());
        bytes.resize(64, 0);
        bytes.extend(&self.data);
        let mut measure = Writer::new(&mut []);
        self.write(&mut measure);
        let at = bytes.len();
        bytes.resize(at + measure.len(), 0);
        self.write(&mut Writer::new(&mut bytes[at..]));
        bytes.extend(&self.tail);
        bytes
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let keys: &[&str] = match self.scheme {
            Scheme::ZstdPerKernel => &[
                "format_version",
                "group_name",
                "gfx_arch_family",
                "gfx_arches",
                "toc",
                "compression_scheme",
                "zstd_offset",
                "zstd_size",
            ],
            _ => &["format_version", "gfx_arches", "toc", "blobs", "a key of tomorrow"],
        };
        writer.map(keys.len() as u32);
        for at in 0..keys.len() {
            let key = keys[(at + self.turn) % keys.len()];
            writer.str(key);
            self.value(writer, key);
        }
    }

    fn value(&self, writer: &mut Writer<'_>, key: &str) {
        match key {
            "format_version" => writer.uint(1),
            "group_name" => writer.str("group"),
            "gfx_arch_family" => writer.str("family"),
            "gfx_arches" => {
                writer.array(self.arches.len() as u32);
                self.arches.iter().for_each(|arch| writer.str_bytes(arch));
            }
            "toc" => self.toc(writer),
            "compression_scheme" => writer.str(self.scheme.name()),
            "blobs" => {
                writer.array(self.blobs.len() as u32);
                for (offset, size) in &self.blobs {
                    writer.map(2);
                    writer.str("offset");
                    writer.uint(*offset);
                    writer.str("size");
                    writer.uint(*size);
                }
            }
            "zstd_offset" => writer.uint(64),
            "zstd_size" => writer.uint(self.data.len() as u64),
            _ => {
                writer.array(2);
                writer.nil();
                writer.map(0);
            }
        }
    }

    fn toc(&self, writer: &mut Writer<'_>) {
        writer.map(self.toc.len() as u32);
        for (name, arches) in &self.toc {
            writer.str_bytes(name);
            writer.map(arches.len() as u32);
            for (arch, kernel) in arches {
                writer.str_bytes(arch);
                kernel.write(writer);
            }
        }
    }
}

impl Kernel {
    fn write(&self, writer: &mut Writer<'_>) {
        let keys = [self.size.is_some(), self.metadata, self.unusual, self.unusual];
        writer.map(1 + keys.iter().filter(|there| **there).count() as u32);
        if self.unusual {
            writer.str("a key of tomorrow");
            writer.array(1);
            writer.bool(true);
            self.size(writer);
            writer.str("type");
            writer.str("elf");
        }
        writer.str("ordinal");
        writer.uint(self.ordinal.into());
        if !self.unusual {
            self.size(writer);
        }
        if self.metadata {
            writer.str("metadata");
            writer.map(1);
            writer.str("notes");
            writer.array(1);
            writer.f32(0.5);
        }
    }

    fn size(&self, writer: &mut Writer<'_>) {
        if let Some(size) = self.size {
            writer.str("original_size");
            writer.uint(size);
        }
    }
}

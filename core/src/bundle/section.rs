//! What is known of a binary: its container, and its sections that have to do with device code.

/// The container that a binary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// An ELF file for this `e_machine`.
    Elf {
        /// The machine: 62 is x86-64, 224 an AMD GPU.
        machine: u16,
    },
    /// A PE image.
    Pe,
    /// A COFF object.
    Coff,
    /// None of these.
    #[default]
    Other,
}

impl Format {
    /// The short name: `elf`, `pe`, `coff` or `other`.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Elf { .. } => "elf",
            Format::Pe => "pe",
            Format::Coff => "coff",
            Format::Other => "other",
        }
    }
}

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// Device code: `.hip_fatbin`, in COFF `.hip_fat` too.
    Fatbin,
    /// Wrappers: `.hipFatBinSegment`, in COFF `.hipFatB`.
    Wrappers,
    /// Reference metadata: `.rocm_kpack_ref`, in COFF `.kpackrf`.
    Reference,
    /// Relocations with addends (`SHT_RELA`), of 64-bit ELF files that are little-endian.
    Relocations,
}

impl SectionKind {
    pub(super) fn of(name: &[u8]) -> Option<SectionKind> {
        Some(match name {
            b".hip_fatbin" | b".hip_fat" => SectionKind::Fatbin,
            b".hipFatBinSegment" | b".hipFatB" => SectionKind::Wrappers,
            b".rocm_kpack_ref" | b".kpackrf" => SectionKind::Reference,
            _ => return None,
        })
    }

    /// The short name: `fatbin`, `wrappers`, `reference` or `relocations`.
    pub const fn name(self) -> &'static str {
        match self {
            SectionKind::Fatbin => "fatbin",
            SectionKind::Wrappers => "wrappers",
            SectionKind::Reference => "reference",
            SectionKind::Relocations => "relocations",
        }
    }
}

/// The longest of the names, and the byte behind it.
pub(super) const NAME: u64 = 18;

/// A section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// What it holds.
    pub kind: SectionKind,
    /// Absolute offset of its content.
    pub offset: u64,
    /// Length of its content, in bytes.
    pub size: u64,
    /// Its address in memory, before the binary is relocated; 0 in objects.
    pub address: u64,
    /// The file does not hold its content: it was split off, as debug information is. That means
    /// "no device code here".
    pub nobits: bool,
}

impl Section {
    /// Absolute offset of an address within it, whose content the file holds.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let within = address.checked_sub(self.address)?;
        (!self.nobits && within < self.size).then(|| self.offset + within)
    }
}

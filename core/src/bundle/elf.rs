//! An ELF file among the bytes of a code object: what it was made for and where it ends.
//!
//! Source: the AMDGPU user guide, section "ELF Code Object"; the System V ABI for the layout.

use core::fmt;

use super::processor::{Processor, processor};

/// The first bytes of an ELF file.
pub(super) const MAGIC: [u8; 4] = *b"\x7fELF";

const CLASS_32: u8 = 1;
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const MACHINE_AMDGPU: u16 = 224;
const OS_HSA: u8 = 64;

const HEADER: usize = 64;
const PROGRAM_HEADER: u64 = 56;
const SECTION_HEADER: u64 = 64;
/// The count of program headers stands in the first section header instead (`PN_XNUM`).
const MANY_PROGRAM_HEADERS: u16 = 0xffff;
const SECTION_NULL: u32 = 0;
const SECTION_NOBITS: u32 = 8;

/// What a code object says of a target feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// The processor does not have it.
    Unsupported,
    /// The code runs with it on and with it off.
    Any,
    /// The code needs it off.
    Off,
    /// The code needs it on.
    On,
}

impl Feature {
    /// The two bits of a code object of version 4 or later.
    const fn of_two_bits(bits: u32) -> Feature {
        match bits & 3 {
            0 => Feature::Unsupported,
            1 => Feature::Any,
            2 => Feature::Off,
            _ => Feature::On,
        }
    }

    /// The one bit of a code object of version 3, where a cleared one means "off" on a
    /// processor that has the feature.
    const fn of_one_bit(on: bool, supported: bool) -> Feature {
        match (on, supported) {
            (true, _) => Feature::On,
            (false, true) => Feature::Off,
            (false, false) => Feature::Unsupported,
        }
    }

    const fn suffix(self, on: &'static str, off: &'static str) -> &'static str {
        match self {
            Feature::On => on,
            Feature::Off => off,
            Feature::Any | Feature::Unsupported => "",
        }
    }
}

/// The target that an AMDGPU ELF file was made for, from its header.
///
/// [`Display`](fmt::Display) gives the target ID, such as `gfx90a:sramecc+:xnack-`. A feature
/// that may be either way is left out, as it is in target IDs. A processor without a name here
/// is shown as `mach-0x7f`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElfTarget {
    /// The processor's number: the low byte of `e_flags` (`EF_AMDGPU_MACH`).
    pub mach: u8,
    /// The code object version, 3 to 6; `None` for the other systems' (PAL, Mesa 3D).
    pub version: Option<u8>,
    /// The feature sramecc.
    pub sramecc: Feature,
    /// The feature xnack.
    pub xnack: Feature,
    /// The version of a generic target, from 1 on; code object version 6 alone has it.
    pub generic_version: Option<u8>,
}

impl ElfTarget {
    /// The processor's name, such as `gfx90a` or `gfx11-generic`, where it is known here.
    pub const fn processor(&self) -> Option<&'static str> {
        match processor(self.mach) {
            Some(Processor { name, .. }) => Some(name),
            None => None,
        }
    }

    /// From the fields of a header whose machine is AMDGPU. `None` for code objects of version
    /// 2, whose header does not name the processor, and for versions after 6.
    const fn new(os: u8, abi: u8, flags: u32) -> Option<ElfTarget> {
        let mach = flags as u8;
        let known = processor(mach);
        let has_sramecc = matches!(known, Some(Processor { sramecc: true, .. }));
        let has_xnack = matches!(known, Some(Processor { xnack: true, .. }));
        let version = match (os, abi) {
            (OS_HSA, 1..=4) => Some(abi + 2),
            (OS_HSA, _) => return None,
            // Other systems keep to the flags of version 3.
            _ => None,
        };
        let (sramecc, xnack) = match version {
            Some(4..) => (Feature::of_two_bits(flags >> 10), Feature::of_two_bits(flags >> 8)),
            _ => (
                Feature::of_one_bit(flags & 0x200 != 0, has_sramecc),
                Feature::of_one_bit(flags & 0x100 != 0, has_xnack),
            ),
        };
        let generic_version = match (version, (flags >> 24) as u8) {
            (Some(6), generic @ 1..) => Some(generic),
            _ => None,
        };
        Some(ElfTarget { mach, version, sramecc, xnack, generic_version })
    }
}

impl fmt::Display for ElfTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.processor() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "mach-{:#04x}", self.mach)?,
        }
        f.write_str(self.sramecc.suffix(":sramecc+", ":sramecc-"))?;
        f.write_str(self.xnack.suffix(":xnack+", ":xnack-"))
    }
}

/// An ELF file at the front of some bytes.
pub(super) struct Elf {
    pub(super) target: Option<ElfTarget>,
    /// Where it ends, in bytes from its start; at least the length of its header.
    pub(super) extent: usize,
}

impl Elf {
    /// The file at the front of `bytes`, if they begin with the header of one.
    ///
    /// It ends at the largest end of its header tables, segments and sections. One whose tables
    /// lead past the end of `bytes`, or that is not 64-bit little-endian, counts as reaching to
    /// that end.
    pub(super) fn parse(bytes: &[u8]) -> Option<Elf> {
        if !bytes.starts_with(&MAGIC) {
            return None;
        }
        let (class, order) = (*bytes.get(4)?, *bytes.get(5)?);
        if (class, order) != (CLASS_64, LITTLE_ENDIAN) {
            let header = if class == CLASS_32 { 52 } else { HEADER };
            return (bytes.len() >= header).then_some(Elf { target: None, extent: bytes.len() });
        }
        let header = bytes.first_chunk::<HEADER>()?;
        let target = if u16_at(header, 18) == MACHINE_AMDGPU {
            ElfTarget::new(header[7], header[8], u32_at(header, 48))
        } else {
            None
        };
        Some(Elf { target, extent: extent(bytes, header).unwrap_or(bytes.len()) })
    }
}

/// Where the file ends, or `None` when something in it leads past `bytes`. The work is bounded
/// by the number of table entries that fit into `bytes`.
fn extent(bytes: &[u8], header: &[u8; HEADER]) -> Option<usize> {
    let programs_at = u64_at(header, 32);
    let sections_at = u64_at(header, 40);
    let program_size = u64::from(u16_at(header, 54));
    let mut programs = u64::from(u16_at(header, 56));
    let section_size = u64::from(u16_at(header, 58));
    let mut sections = u64::from(u16_at(header, 60));

    // Counts that do not fit their fields stand in the first section header.
    if sections_at != 0 && section_size == SECTION_HEADER {
        let first = slice(bytes, sections_at, SECTION_HEADER)?;
        if sections == 0 {
            sections = u64_at(first, 32);
        }
        if programs == u64::from(MANY_PROGRAM_HEADERS) {
            programs = u64::from(u32_at(first, 44));
        }
    }

    let mut end = HEADER as u64;
    if programs_at != 0 && program_size == PROGRAM_HEADER {
        let table = slice(bytes, programs_at, programs.checked_mul(PROGRAM_HEADER)?)?;
        end = end.max(programs_at + table.len() as u64);
        for entry in table.chunks_exact(PROGRAM_HEADER as usize) {
            end = end.max(u64_at(entry, 8).checked_add(u64_at(entry, 32))?);
        }
    }
    if sections_at != 0 && section_size == SECTION_HEADER {
        let table = slice(bytes, sections_at, sections.checked_mul(SECTION_HEADER)?)?;
        end = end.max(sections_at + table.len() as u64);
        for entry in table.chunks_exact(SECTION_HEADER as usize) {
            if !matches!(u32_at(entry, 4), SECTION_NULL | SECTION_NOBITS) {
                end = end.max(u64_at(entry, 24).checked_add(u64_at(entry, 32))?);
            }
        }
    }
    usize::try_from(end).ok().filter(|&end| end <= bytes.len())
}

/// `len` bytes at `offset`, if they are there.
fn slice(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..)?.get(..usize::try_from(len).ok()?)
}

/// Little-endian fields of a header or table entry, inside whose fixed length `at` lies.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const HSA: u8 = OS_HSA;

    #[test]
    fn features_by_code_object_version() {
        for (os, abi, flags, id, version) in [
            (HSA, 1, 0x02c, "gfx900:xnack-", Some(3)),
            (HSA, 1, 0x12c, "gfx900:xnack+", Some(3)),
            (HSA, 1, 0x230, "gfx908:sramecc+:xnack-", Some(3)),
            (HSA, 1, 0x036, "gfx1030", Some(3)),
            (HSA, 2, 0x02c, "gfx900", Some(4)),
            (HSA, 2, 0x12c, "gfx900", Some(4)),
            (HSA, 2, 0x22c, "gfx900:xnack-", Some(4)),
            (HSA, 2, 0x32c, "gfx900:xnack+", Some(4)),
            (HSA, 3, 0x53f, "gfx90a", Some(5)),
            (HSA, 3, 0xb3f, "gfx90a:sramecc-:xnack+", Some(5)),
            (HSA, 4, 0xe3f, "gfx90a:sramecc+:xnack-", Some(6)),
            (HSA, 4, 0x549, "gfx1250", Some(6)),
            (HSA, 4, 0x055, "gfx1152", Some(6)),
            (HSA, 4, 0x07f, "mach-0x7f", Some(6)),
            (HSA, 4, 0x001, "mach-0x01", Some(6)),
            // PAL and Mesa 3D use the flags of version 3.
            (65, 0, 0x12c, "gfx900:xnack+", None),
            (66, 0, 0x02a, "gfx803", None),
        ] {
            let target = ElfTarget::new(os, abi, flags).unwrap();
            assert_eq!((&*target.to_string(), target.version), (id, version));
            assert_eq!(target.generic_version, None);
        }
    }

    #[test]
    fn generic_targets_have_a_version_from_6_on() {
        let generic = |abi, flags| ElfTarget::new(HSA, abi, flags).unwrap();
        let target = generic(4, 0x0200_0059);
        assert_eq!((&*target.to_string(), target.generic_version), ("gfx12-generic", Some(2)));
        let target = generic(4, 0x0100_055b);
        assert_eq!((&*target.to_string(), target.generic_version), ("gfx12-5-generic", Some(1)));
        assert_eq!(generic(3, 0x0100_0051).generic_version, None);
    }

    #[test]
    fn headers_that_name_no_processor() {
        assert_eq!(ElfTarget::new(HSA, 0, 0x01), None, "version 2: bit 0 is xnack");
        assert_eq!(ElfTarget::new(HSA, 5, 0x2c), None, "after version 6");
    }

    #[test]
    fn names_are_unique() {
        let names: alloc::vec::Vec<_> = (0..=255).filter_map(processor).collect();
        assert_eq!(names.len(), 63);
        for (i, a) in names.iter().enumerate() {
            assert!(names[..i].iter().all(|b| a.name != b.name), "{}", a.name);
        }
    }
}

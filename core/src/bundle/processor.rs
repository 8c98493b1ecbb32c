//! The processors that an AMDGPU ELF header can name.

/// A value of `EF_AMDGPU_MACH`, the low byte of `e_flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Processor {
    pub(super) name: &'static str,
    /// Has the target feature sramecc: what a cleared bit means in a code object of version 3.
    pub(super) sramecc: bool,
    /// Has the target feature xnack.
    pub(super) xnack: bool,
}

const fn plain(name: &'static str) -> Option<Processor> {
    Some(Processor { name, sramecc: false, xnack: false })
}

const fn xnack(name: &'static str) -> Option<Processor> {
    Some(Processor { name, sramecc: false, xnack: true })
}

const fn both(name: &'static str) -> Option<Processor> {
    Some(Processor { name, sramecc: true, xnack: true })
}

/// The processor of a `EF_AMDGPU_MACH` value; `None` for reserved, r600 and newer ones.
///
/// Source: the AMDGPU user guide's tables of `e_flags` and of processors. Values 0x40 and 0x4b
/// were gfx940 and gfx941 before they were withdrawn.
pub(super) const fn processor(mach: u8) -> Option<Processor> {
    match mach {
        0x20 => plain("gfx600"),
        0x21 => plain("gfx601"),
        0x22 => plain("gfx700"),
        0x23 => plain("gfx701"),
        0x24 => plain("gfx702"),
        0x25 => plain("gfx703"),
        0x26 => plain("gfx704"),
        0x28 => xnack("gfx801"),
        0x29 => plain("gfx802"),
        0x2a => plain("gfx803"),
        0x2b => xnack("gfx810"),
        0x2c => xnack("gfx900"),
        0x2d => xnack("gfx902"),
        0x2e => xnack("gfx904"),
        0x2f => both("gfx906"),
        0x30 => both("gfx908"),
        0x31 => xnack("gfx909"),
        0x32 => xnack("gfx90c"),
        0x33 => xnack("gfx1010"),
        0x34 => xnack("gfx1011"),
        0x35 => xnack("gfx1012"),
        0x36 => plain("gfx1030"),
        0x37 => plain("gfx1031"),
        0x38 => plain("gfx1032"),
        0x39 => plain("gfx1033"),
        0x3a => plain("gfx602"),
        0x3b => plain("gfx705"),
        0x3c => plain("gfx805"),
        0x3d => plain("gfx1035"),
        0x3e => plain("gfx1034"),
        0x3f => both("gfx90a"),
        0x40 => both("gfx940"),
        0x41 => plain("gfx1100"),
        0x42 => xnack("gfx1013"),
        0x43 => plain("gfx1150"),
        0x44 => plain("gfx1103"),
        0x45 => plain("gfx1036"),
        0x46 => plain("gfx1101"),
        0x47 => plain("gfx1102"),
        0x48 => plain("gfx1200"),
        0x49 => both("gfx1250"),
        0x4a => plain("gfx1151"),
        0x4b => both("gfx941"),
        0x4c => both("gfx942"),
        0x4e => plain("gfx1201"),
        0x4f => both("gfx950"),
        0x50 => plain("gfx1310"),
        0x51 => xnack("gfx9-generic"),
        0x52 => xnack("gfx10-1-generic"),
        0x53 => plain("gfx10-3-generic"),
        0x54 => plain("gfx11-generic"),
        0x55 => plain("gfx1152"),
        0x57 => plain("gfx1154"),
        0x58 => plain("gfx1153"),
        0x59 => plain("gfx12-generic"),
        0x5a => both("gfx1251"),
        0x5b => both("gfx12-5-generic"),
        0x5c => plain("gfx1172"),
        0x5d => plain("gfx1170"),
        0x5e => plain("gfx1171"),
        0x5f => both("gfx9-4-generic"),
        0x62 => plain("gfx11-7-generic"),
        0x63 => plain("gfx13-generic"),
        _ => None,
    }
}

//! The gfx target of a device: what its kernels are compiled for.
//!
//! KFD tells it as one number, major x 10000 + minor x 100 + step. It is decoded by rule, never
//! by a table, so that a device newer than this code has its name too. Kernels that do not tell
//! the number are old enough for a table of device ids to be complete.
//!
//! Source: the kernel's `kfd_topology.c`; LLVM's AMDGPU usage for the names; libhsakmt's
//! `topology.c` for the device ids.

use core::fmt;

/// A gfx target, such as gfx90a or gfx1151.
///
/// ```
/// use rocload_core::gpu::Target;
///
/// assert_eq!(Target::from_version(90010).unwrap().to_string(), "gfx90a");
/// assert_eq!(Target::from_version(110501), Target::parse("gfx1151"));
/// assert_eq!([Target::from_version(0), Target::from_version(109900), Target::parse("gfx")], [None; 3]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    major: u8,
    minor: u8,
    step: u8,
}

/// Processors that are a part of a CPU: gfx902, gfx1151 and so on.
const INTEGRATED: [Target; 13] = [
    Target::new(9, 0, 2),
    Target::new(9, 0, 9),
    Target::new(9, 0, 12),
    Target::new(10, 1, 3),
    Target::new(10, 3, 3),
    Target::new(10, 3, 5),
    Target::new(10, 3, 6),
    Target::new(10, 3, 7),
    Target::new(11, 0, 3),
    Target::new(11, 5, 0),
    Target::new(11, 5, 1),
    Target::new(11, 5, 2),
    Target::new(11, 5, 3),
];

impl Target {
    /// gfx1151 (Strix Halo): an integrated GPU that is worth to be chosen.
    pub const GFX1151: Target = Target::new(11, 5, 1);

    const fn new(major: u8, minor: u8, step: u8) -> Self {
        Target { major, minor, step }
    }

    /// A target by its parts: major 1 to 63, minor and step below 16, since each is one
    /// hexadecimal digit of the name.
    pub const fn from_parts(major: u64, minor: u64, step: u64) -> Option<Self> {
        if major == 0 || major > 63 || minor > 15 || step > 15 {
            return None;
        }
        Some(Target::new(major as u8, minor as u8, step as u8))
    }

    /// Decodes `gfx_target_version`; `None` for 0 and for what no name can tell.
    pub const fn from_version(version: u64) -> Option<Self> {
        Target::from_parts(version / 10_000, version / 100 % 100, version % 100)
    }

    /// The target of a PCI device of AMD's, for kernels that do not tell it: Vega 10 and 20.
    pub const fn from_device_id(device: u64) -> Option<Self> {
        match device {
            0x6860..=0x687f => Some(Target::new(9, 0, 0)),
            0x66a0..=0x66af => Some(Target::new(9, 0, 6)),
            _ => None,
        }
    }

    /// Reads a name such as `gfx90a`, with or without features behind a colon.
    pub fn parse<T: AsRef<[u8]> + ?Sized>(name: &T) -> Option<Self> {
        let name = name.as_ref();
        let name = name.split(|byte| *byte == b':').next()?.strip_prefix(b"gfx")?;
        let (major, rest) = name.split_at_checked(name.len().checked_sub(2)?)?;
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(u64::from(byte - b'0')),
            b'a'..=b'f' => Some(u64::from(byte - b'a') + 10),
            _ => None,
        };
        let plain = major.len() <= 2 && major.iter().all(u8::is_ascii_digit);
        let major = super::number::decimal(major).filter(|_| plain && !name.starts_with(b"0"))?;
        Target::from_parts(major, digit(rest[0])?, digit(rest[1])?)
    }

    /// As KFD tells it.
    pub const fn version(self) -> u32 {
        self.major as u32 * 10_000 + self.minor as u32 * 100 + self.step as u32
    }

    /// Devices of this target are a part of a CPU and have no memory of their own but what the
    /// firmware carves out of the system's.
    pub fn is_integrated(self) -> bool {
        INTEGRATED.contains(&self)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gfx{}{:x}{:x}", self.major, self.minor, self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_version_and_its_name_come_back() {
        let mut names = 0;
        for version in 0..640_000 {
            let Some(target) = Target::from_version(version) else { continue };
            assert_eq!(u64::from(target.version()), version);
            assert_eq!(Target::parse(&target.to_string()), Some(target), "{target}");
            names += 1;
        }
        assert_eq!(names, 63 * 256);
        assert_eq!(Target::from_version(u64::MAX), None);
    }

    #[test]
    fn names_that_are_none() {
        for name in
            ["gfx", "gfx9", "gfx90", "gfx90g", "gfx90A", "gfx090a", "fx90a", "gfx12345", "gfx+11"]
        {
            assert_eq!(Target::parse(name), None, "{name}");
        }
        assert_eq!(Target::parse("gfx90a:xnack-"), Target::from_version(90_010));
    }

    #[test]
    fn integrated_ones_and_device_ids() {
        let target = |name| Target::parse(name).unwrap();
        assert!(target("gfx1036").is_integrated() && target("gfx90c").is_integrated());
        assert!(!target("gfx942").is_integrated() && !target("gfx1100").is_integrated());
        assert_eq!(Target::from_device_id(26_720), Target::parse("gfx900"));
        assert_eq!(Target::from_device_id(0x66af), Target::parse("gfx906"));
        assert_eq!([Target::from_device_id(0x6880), Target::from_device_id(0)], [None; 2]);
    }
}

//! PCI addresses and the `uevent` file that tells them.

use core::fmt;

use super::number::{Text, split, trim};

/// Where a device is on the PCI bus.
///
/// ```
/// use rocload_core::gpu::PciAddress;
///
/// let address = PciAddress::parse(b"0000:c3:00.0").unwrap();
/// assert_eq!(address, PciAddress::from_location(0, 49920));
/// assert_eq!(address.to_string(), "0000:c3:00.0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PciAddress {
    /// The domain, 0 on most machines.
    pub domain: u32,
    /// The bus.
    pub bus: u8,
    /// The device, below 32.
    pub device: u8,
    /// The function, below 8.
    pub function: u8,
}

impl PciAddress {
    /// Reads `dddd:bb:dd.f`, hexadecimal; domains of up to 8 digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (domain, rest) = split(trim(text), b':');
        let (bus, rest) = split(rest, b':');
        let (device, function) = split(rest, b'.');
        let part = |digits: &[u8], most: usize, below: u64| {
            let plain = digits.len() <= most && digits.iter().all(u8::is_ascii_hexdigit);
            super::number::hex(digits).filter(|value| plain && *value < below)
        };
        Some(PciAddress {
            domain: part(domain, 8, 1 << 32)? as u32,
            bus: part(bus, 2, 256)? as u8,
            device: part(device, 2, 32)? as u8,
            function: part(function, 1, 8)? as u8,
        })
    }

    /// From KFD's `domain` and `location_id` (bus << 8 | device << 3 | function).
    pub const fn from_location(domain: u32, location: u32) -> Self {
        PciAddress {
            domain,
            bus: (location >> 8) as u8,
            device: (location >> 3) as u8 & 31,
            function: location as u8 & 7,
        }
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PciAddress { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

/// What a `uevent` file tells of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uevent {
    /// `DRIVER`; empty where it is not told.
    pub driver: Text<24>,
    /// `PCI_SLOT_NAME`; platform devices have none.
    pub pci: Option<PciAddress>,
}

impl Uevent {
    /// Reads the lines `NAME=value`; others are passed over.
    pub fn parse(bytes: &[u8]) -> Self {
        let (mut uevent, mut rest) = (Uevent::default(), trim(bytes));
        while !rest.is_empty() {
            let (line, behind) = split(rest, b'\n');
            rest = behind;
            match split(line, b'=') {
                (b"DRIVER", value) => uevent.driver = Text::new(value),
                (b"PCI_SLOT_NAME", value) => uevent.pci = PciAddress::parse(value),
                _ => {}
            }
        }
        uevent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for wrong in [
            "",
            "0000:03:00",
            "0000:03:00.8",
            "0000:03:20.0",
            "0000:103:00.0",
            "0x0:03:00.0",
            "0000:03:00.0.0",
        ] {
            assert_eq!(PciAddress::parse(wrong.as_bytes()), None, "{wrong}");
        }
        let far = PciAddress::parse(b"10000:e1:1f.7\n").unwrap();
        assert_eq!(alloc::format!("{far}"), "10000:e1:1f.7");
        assert_eq!(PciAddress::from_location(0, u32::MAX).function, 7);
    }

    #[test]
    fn uevents() {
        let uevent =
            Uevent::parse(b"DRIVER=amdgpu\nodd\nPCI_CLASS=30000\nPCI_SLOT_NAME=0000:03:00.0\n");
        assert_eq!(uevent.driver.as_str(), "amdgpu");
        assert_eq!(uevent.pci, PciAddress::parse(b"0000:03:00.0"));
        let platform = Uevent::parse(b"DRIVER=amdgpu_xcp_drv\nMODALIAS=platform:amdgpu_xcp\n");
        assert_eq!((platform.driver.as_str(), platform.pci), ("amdgpu_xcp_drv", None));
    }
}

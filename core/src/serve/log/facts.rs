//! What is known of a server from all of its lines, in fixed storage.

use super::{Buffer, BufferKind, LogFact, bytes};

/// Kinds of buffers that are told apart: component, device and kind.
pub const MAX_BUFFERS: usize = 32;
/// Devices that are kept.
pub const MAX_DEVICES: usize = 8;

/// A name of at most 64 bytes; a longer one is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name {
    bytes: [u8; 64],
    len: u8,
}

impl Name {
    const EMPTY: Name = Name { bytes: [0; 64], len: 0 };

    fn of(name: &[u8]) -> Name {
        let name = &name[..name.len().min(64)];
        let mut kept = Name::EMPTY;
        kept.bytes[..name.len()].copy_from_slice(name);
        kept.len = name.len() as u8;
        kept
    }

    /// The name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The sum of all buffers of one component, device and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferSum {
    /// The part of the server that told of them.
    pub component: Name,
    /// The device or kind of memory.
    pub device: Name,
    /// What they are for.
    pub kind: BufferKind,
    /// Their size in hundredths of a MiB.
    pub centi_mib: u64,
}

impl BufferSum {
    /// Their size in bytes, to a hundredth of a MiB.
    pub const fn bytes(&self) -> u64 {
        bytes(self.centi_mib)
    }
}

/// A device that the server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KnownDevice {
    /// Its name there.
    pub name: Name,
    /// Its maker's name.
    pub description: Name,
    /// Its address on the bus.
    pub address: Option<Name>,
    /// Its free memory in MiB before the model was loaded.
    pub free_mib: u64,
}

/// The facts of one start.
#[derive(Debug, Clone)]
pub struct Facts {
    buffers: [Option<BufferSum>; MAX_BUFFERS],
    devices: [Option<KnownDevice>; MAX_DEVICES],
    /// Layers on devices other than the CPU, of how many.
    pub offloaded: Option<(u64, u64)>,
    /// The context over all sequences, in tokens.
    pub context: Option<u64>,
    /// The server says that the model is loaded.
    pub loaded: bool,
    /// Buffers and devices that there was no room for.
    pub left_out: u32,
}

impl Default for Facts {
    fn default() -> Self {
        Facts::new()
    }
}

impl Facts {
    /// Nothing known.
    pub const fn new() -> Self {
        Facts {
            buffers: [None; MAX_BUFFERS],
            devices: [None; MAX_DEVICES],
            offloaded: None,
            context: None,
            loaded: false,
            left_out: 0,
        }
    }

    /// Adds what a line tells.
    pub fn see(&mut self, fact: &LogFact<'_>) {
        match fact {
            LogFact::Buffer(buffer) => self.add(buffer),
            LogFact::Device(device) => {
                let name = Name::of(device.name);
                let known = KnownDevice {
                    name,
                    description: Name::of(device.description),
                    address: device.address.map(Name::of),
                    free_mib: device.free_mib,
                };
                let is =
                    |slot: &&mut Option<KnownDevice>| slot.is_none_or(|known| known.name == name);
                match self.devices.iter_mut().find(is) {
                    Some(slot) => *slot = Some(known),
                    None => self.left_out += 1,
                }
            }
            LogFact::Offloaded { layers, of } => self.offloaded = Some((*layers, *of)),
            LogFact::Context(tokens) => self.context = Some(*tokens),
            LogFact::ModelLoaded => self.loaded = true,
            LogFact::Fitted => self.buffers = [None; MAX_BUFFERS],
            LogFact::Listening(_) | LogFact::Error { .. } | LogFact::Other => {}
        }
    }

    fn add(&mut self, buffer: &Buffer<'_>) {
        let (component, device) = (Name::of(buffer.component), Name::of(buffer.device));
        let new = BufferSum { component, device, kind: buffer.kind, centi_mib: 0 };
        let is = |slot: &&mut Option<BufferSum>| {
            slot.is_none_or(|sum| BufferSum { centi_mib: 0, ..sum } == new)
        };
        match self.buffers.iter_mut().find(is) {
            Some(slot) => {
                let sum = slot.get_or_insert(new);
                sum.centi_mib = sum.centi_mib.saturating_add(buffer.centi_mib);
            }
            None => self.left_out = self.left_out.saturating_add(1),
        }
    }

    /// The buffers, in the order in which they were told of.
    pub fn buffers(&self) -> impl Iterator<Item = &BufferSum> {
        self.buffers.iter().flatten()
    }

    /// The devices other than the CPU, in the order in which they were told of.
    pub fn devices(&self) -> impl Iterator<Item = &KnownDevice> {
        self.devices.iter().flatten()
    }

    /// All buffers of a kind, in bytes.
    pub fn total(&self, kind: BufferKind) -> u64 {
        let sums = self.buffers().filter(|sum| sum.kind == kind).map(|sum| sum.centi_mib);
        bytes(sums.fold(0, u64::saturating_add))
    }
}

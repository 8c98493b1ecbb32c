//! A GPU as a whole: its KFD node, its card, and what follows from both.
//!
//! ```
//! use rocload_core::gpu::{Gpu, device::Kind, card::Memory};
//!
//! // Of an integrated GPU the budget is what it has and what the system can give it.
//! let vram = Memory { total: Some(512), used: Some(112) };
//! let gtt = Memory { total: Some(8000), used: Some(1000) };
//! let gpu = Gpu { kind: Kind::Integrated, vram, gtt, ..Gpu::default() };
//! assert_eq!((gpu.budget(Some(5000)), gpu.budget(None)), (Some(5400), None));
//! ```

use core::fmt;

use super::card::{Card, Memory};
use super::node::Node;
use super::{PciAddress, Target};

/// Whether this process may use a device, tried by opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Access {
    /// It was not tried.
    #[default]
    Unknown,
    /// It may.
    Granted,
    /// The device file is not there.
    Missing,
    /// It may not: no permission.
    Denied,
    /// The system gave another fault.
    Failed,
}

impl Access {
    /// A stable name, as `granted`.
    pub const fn name(self) -> &'static str {
        match self {
            Access::Unknown => "unknown",
            Access::Granted => "granted",
            Access::Missing => "missing",
            Access::Denied => "denied",
            Access::Failed => "failed",
        }
    }
}

/// A part of a CPU, or a board of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// A board with its own memory.
    Discrete,
    /// A part of a CPU, which shares the system's memory.
    Integrated,
    /// Nothing tells. Such a device is chosen as a discrete one would be.
    #[default]
    Unknown,
}

impl Kind {
    /// A stable name, as `discrete`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Discrete => "discrete",
            Kind::Integrated => "integrated",
            Kind::Unknown => "unknown",
        }
    }
}

/// What tells a device's [`Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Evidence {
    /// Files that only boards have.
    Board,
    /// Its target is one of those that are parts of CPUs.
    Target,
    /// Little memory of its own (at most 4 GiB), and far more of the system's (8 GiB or more, and four times as much).
    Memory,
    /// Nothing.
    #[default]
    None,
}

impl Evidence {
    /// A stable name, as `board`.
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::Board => "board",
            Evidence::Target => "target",
            Evidence::Memory => "memory",
            Evidence::None => "none",
        }
    }
}

/// Which part of a card a device is, on cards that can be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Partition {
    /// From 0.
    pub index: u32,
    /// Parts of the card; 1 = it is not divided.
    pub of: u32,
}

/// A GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gpu {
    /// Its KFD node.
    pub node: Node,
    /// Its card; of a partition other than the first little more than the driver.
    pub card: Card,
    /// Whether its render node can be used, and KFD.
    pub access: Access,
    /// Its rank among the GPUs that the runtime sees, which visible-device variables count by;
    /// `None` = the runtime does not see it.
    pub ordinal: Option<u32>,
    /// Discrete or integrated.
    pub kind: Kind,
    /// What tells that.
    pub evidence: Evidence,
    /// Which part of its card it is; `None` = the card cannot be divided.
    pub partition: Option<Partition>,
    /// The partition modes of the card, of which the first part tells.
    pub modes: Option<(super::number::Text<8>, super::number::Text<8>)>,
    /// Where it is on the PCI bus.
    pub pci: Option<PciAddress>,
    /// Its video memory; of a partition its share, of which the used part is not known.
    pub vram: Memory,
    /// System memory that it may use; not known of a partition.
    pub gtt: Memory,
    /// What it is.
    pub target: Option<Target>,
    /// What the runtime takes it for: another target where one is told by the environment.
    pub effective: Option<Target>,
}

impl Gpu {
    /// The UUID, which prints as `GPU-` and 16 digits; `None` = the device has none.
    pub fn uuid(&self) -> Option<Uuid> {
        self.node.unique_id.map(Uuid)
    }

    /// It is one of several parts of a card.
    pub fn is_part(&self) -> bool {
        self.partition.is_some_and(|partition| partition.of > 1)
    }

    /// Of an integrated GPU: its own free memory and what the system can give, at most as much as
    /// the driver allows. Sums of totals would count memory that others use.
    pub fn unified_free(&self, available: Option<u64>) -> Option<u64> {
        if self.kind != Kind::Integrated {
            return None;
        }
        let shared = self.gtt.free()?.min(available?);
        self.vram.free()?.checked_add(shared)
    }

    /// Memory that a model may take, in bytes, with `available` bytes of system memory to give:
    /// [`unified_free`](Self::unified_free) of an integrated GPU, else the free video memory.
    pub fn budget(&self, available: Option<u64>) -> Option<u64> {
        match self.kind {
            Kind::Integrated => self.unified_free(available),
            _ => self.vram.free(),
        }
    }
}

/// A device's UUID, as the runtime prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uuid(pub u64);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU-{:016x}", self.0)
    }
}

const GIB: u64 = 1 << 30;

fn kind(card: &Card, target: Option<Target>) -> (Kind, Evidence) {
    if card.board {
        return (Kind::Discrete, Evidence::Board);
    }
    if target.is_some_and(Target::is_integrated) {
        return (Kind::Integrated, Evidence::Target);
    }
    match (card.vram.total, card.gtt.total) {
        (Some(vram), Some(gtt))
            if vram <= 4 * GIB && gtt >= 8 * GIB && gtt >= vram.saturating_mul(4) =>
        {
            (Kind::Integrated, Evidence::Memory)
        }
        _ => (Kind::Unknown, Evidence::None),
    }
}

/// Both are on one card: the same bus and device, and the same UUID.
fn is_sibling(a: &Node, b: &Node) -> bool {
    let place = |node: &Node| Some((node.domain.unwrap_or(0), node.location_id? >> 3));
    a.unique_id.is_some()
        && a.unique_id == b.unique_id
        && place(a) == place(b)
        && place(a).is_some()
}

/// Works out what follows from nodes and cards, which may have changed since; `kfd` is the
/// access to `/dev/kfd`. The devices are in the order of their nodes.
pub(super) fn assemble(gpus: &mut [Gpu], kfd: Access) {
    let mut ordinal = 0;
    for at in 0..gpus.len() {
        let gpu = gpus[at];
        // The first part of a divided card is the one that is a PCI device.
        let mut first = at;
        let (mut parts, mut last) = (0u32, 0);
        for (other, sibling) in gpus.iter().enumerate() {
            if other == at || is_sibling(&sibling.node, &gpu.node) {
                parts += 1;
                last = last.max(sibling.node.location_id.unwrap_or(0) & 7);
                let tells = |gpu: &Gpu| !gpu.card.compute.is_empty();
                if tells(sibling) && (!tells(&gpus[first]) || other < first) {
                    first = other;
                }
            }
        }
        let primary = gpus[first].card;
        let of = match primary.compute.as_str() {
            "" => None,
            "SPX" => Some(1),
            "DPX" => Some(2),
            "TPX" => Some(3),
            "QPX" => Some(4),
            // A part of the memory tells how many there are, even where one is hidden.
            _ => {
                let share = gpu.node.bank_bytes.filter(|bank| *bank > 0);
                let ratio = primary
                    .vram
                    .total
                    .zip(share)
                    .map(|(total, bank)| total.saturating_add(bank / 2) / bank);
                let ratio = ratio.filter(|ratio| *ratio <= 64).unwrap_or(0) as u32;
                Some(ratio.max(parts).max(last + 1))
            }
        };
        let index = if of == Some(1) { 0 } else { gpu.node.location_id.unwrap_or(0) & 7 };
        let target = gpu.node.target();
        let mut evident = kind(&gpu.card, target);
        if of.is_some() && first != at {
            evident = kind(&primary, target);
        }
        let from_node = || {
            let location = gpu.node.location_id?;
            Some(PciAddress::from_location(gpu.node.domain?, location))
        };
        let gpu = &mut gpus[at];
        gpu.target = target;
        gpu.effective = gpu.effective.or(target);
        (gpu.kind, gpu.evidence) = evident;
        gpu.partition = of.map(|of| Partition { index, of });
        gpu.modes = of.map(|_| (primary.compute, primary.memory));
        gpu.pci = gpu.card.pci.or(primary.pci).or_else(from_node);
        (gpu.vram, gpu.gtt) = (gpu.card.vram, gpu.card.gtt);
        if gpu.is_part() {
            // The card's own numbers are those of all parts together.
            gpu.vram = Memory { total: gpu.node.bank_bytes, used: None };
            gpu.gtt = Memory::default();
        } else if gpu.vram.total.is_none() && gpu.kind != Kind::Integrated {
            let local = gpu.node.local_mem_size.filter(|size| *size > 0);
            gpu.vram.total = gpu.node.bank_bytes.filter(|size| *size > 0).or(local);
        }
        if kfd != Access::Granted {
            gpu.access = kfd;
        }
        gpu.ordinal = (gpu.access == Access::Granted).then_some(ordinal);
        ordinal += u32::from(gpu.ordinal.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::number::Text;

    fn gpu(id: u32, location: u32, unique: u64) -> Gpu {
        let node = Node {
            gpu_id: Some(1),
            simd_count: Some(8),
            location_id: Some(location),
            domain: Some(0),
            unique_id: Some(unique),
            bank_bytes: Some(25_767_706_624),
            gfx_target_version: Some(90_402),
            ..Node::new(id)
        };
        Gpu { node, access: Access::Granted, ..Gpu::default() }
    }

    #[test]
    fn parts_of_a_card_take_after_the_first_one() {
        let mut gpus = [gpu(2, 1281, 7), gpu(3, 1280, 7), gpu(4, 1282, 7)];
        gpus[1].card.compute = Text::new(b"CPX");
        gpus[1].card.board = true;
        gpus[1].card.vram = Memory { total: Some(206_141_652_992), used: Some(1) };
        gpus[1].card.pci = PciAddress::parse(b"0000:05:00.0");
        assemble(&mut gpus, Access::Granted);
        for (at, index) in [(0, 1), (1, 0), (2, 2)] {
            let gpu = &gpus[at];
            assert_eq!(gpu.partition, Some(Partition { index, of: 8 }), "one is hidden");
            assert_eq!(gpu.vram, Memory { total: Some(25_767_706_624), used: None });
            assert_eq!(gpu.kind, Kind::Discrete);
            assert_eq!(gpu.pci.unwrap().function, 0);
            assert_eq!(gpu.ordinal, Some(at as u32));
        }
        // Another card with the same location but another UUID is another card.
        let mut old = [gpu(1, 6400, 7), gpu(2, 6400, 8)];
        old[0].card.compute = Text::new(b"SPX");
        assemble(&mut old, Access::Granted);
        assert_eq!((old[0].is_part(), old[1].partition), (false, None));
    }

    #[test]
    fn evidence_in_its_order() {
        let card = |board, vram: u64, gtt: u64| Card {
            board,
            vram: Memory { total: Some(vram * GIB), used: None },
            gtt: Memory { total: Some(gtt * GIB), used: None },
            ..Card::default()
        };
        let target = Target::parse;
        assert_eq!(kind(&card(true, 2, 60), target("gfx1036")), (Kind::Discrete, Evidence::Board));
        assert_eq!(
            kind(&card(false, 96, 105), target("gfx1151")),
            (Kind::Integrated, Evidence::Target)
        );
        assert_eq!(kind(&card(false, 2, 8), None), (Kind::Integrated, Evidence::Memory));
        assert_eq!(kind(&card(false, 4, 15), None), (Kind::Unknown, Evidence::None));
        assert_eq!(kind(&Card::default(), target("gfx942")), (Kind::Unknown, Evidence::None));
    }

    #[test]
    fn budgets_never_count_twice() {
        let memory = |total, used| Memory { total: Some(total), used: Some(used) };
        let mut gpu = Gpu {
            kind: Kind::Integrated,
            vram: memory(100, 40),
            gtt: memory(1000, 10),
            ..Gpu::default()
        };
        assert_eq!(gpu.budget(Some(500)), Some(560));
        assert_eq!(gpu.budget(Some(5000)), Some(1050));
        assert_eq!(gpu.budget(None), None);
        gpu.kind = Kind::Discrete;
        assert_eq!((gpu.budget(None), gpu.unified_free(Some(5))), (Some(60), None));
    }

    #[test]
    fn a_bank_stands_in_where_the_card_does_not_tell() {
        let mut gpus = [gpu(1, 0, 1), gpu(2, 8, 2)];
        gpus[1].access = Access::Denied;
        assemble(&mut gpus, Access::Granted);
        assert_eq!(gpus[0].vram.total, Some(25_767_706_624));
        assert_eq!((gpus[0].ordinal, gpus[1].ordinal), (Some(0), None));
        assemble(&mut gpus, Access::Missing);
        assert_eq!((gpus[0].access, gpus[0].ordinal), (Access::Missing, None));
    }
}

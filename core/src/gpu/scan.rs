//! The scan: a machine that asks for folders, files and devices, and tells the GPUs.
//!
//! ```text
//! kfd -> meminfo -> nodes -> each node: gpu_id, properties, banks
//!     -> each GPU: its card by its render minor, its render node -> cards that are no such GPU's
//! ```
//!
//! A driver answers [`ask`](Scan::ask) until there is nothing more to ask. What is refused is
//! absent, never a fault of the scan: containers hide devices by refusing to read their files.
//!
//! ```
//! use rocload_core::gpu::{Gpu, OtherCard, Refusal, Scan};
//!
//! // A machine that has none of it.
//! let mut scan = Scan::new([Gpu::default(); 1], [OtherCard::default(); 1]);
//! let mut asked = Vec::new();
//! while let Some(ask) = scan.ask() {
//!     asked.push(ask.to_string());
//!     scan.answer(Err(Refusal::Missing));
//! }
//! assert_eq!(asked[..2], ["dev/kfd", "proc/meminfo"]);
//! assert!(scan.finish()?.gpus().is_empty());
//! # Ok::<(), rocload_core::Full>(())
//! ```

use super::ask::{Ask, DeviceFile, Dir, File, Folder, Refusal};
use super::card::{Card, Walk, numbered};
use super::device::{Access, Gpu, assemble};
use super::node::Node;
use super::number::{decimal, mem_available};
use super::pci::PciAddress;
use crate::error::Full;

/// A graphics card that is no GPU of KFD's: another vendor's, or one that KFD does not tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OtherCard {
    /// What its folder tells of it, [`number`](Card::number) included.
    pub card: Card,
}

impl OtherCard {
    /// AMD's PCI vendor id.
    pub const AMD: u32 = 0x1002;

    /// It is AMD's, and the compute driver does not know it.
    pub fn is_amd(&self) -> bool {
        self.card.vendor == Some(OtherCard::AMD)
    }

    /// Its address.
    pub fn pci(&self) -> Option<PciAddress> {
        self.card.pci
    }
}

/// The machine; see the [module's text](self). `G` holds a slot for every node, CPUs included,
/// `O` one for every other card: arrays, slices or vectors.
#[derive(Debug, Clone)]
pub struct Scan<G, O> {
    gpus: G,
    others: O,
    nodes: usize,
    cards: usize,
    kfd: Access,
    available: Option<u64>,
    skipped: usize,
    need: Option<Full>,
    at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Kfd,
    MemInfo,
    Nodes,
    GpuId(usize),
    Properties(usize),
    Bank(usize, u32),
    Card(usize, Walk),
    Render(usize),
    Drm,
    Other(usize, Walk),
    End,
}

impl<G: AsMut<[Gpu]> + AsRef<[Gpu]>, O: AsMut<[OtherCard]> + AsRef<[OtherCard]>> Scan<G, O> {
    /// A scan that keeps what it finds in `gpus` and `others`.
    pub fn new(gpus: G, others: O) -> Self {
        Scan {
            gpus,
            others,
            nodes: 0,
            cards: 0,
            kfd: Access::Unknown,
            available: None,
            skipped: 0,
            need: None,
            at: At::Kfd,
        }
    }

    /// What to answer next; `None` = the scan is complete.
    pub fn ask(&self) -> Option<Ask> {
        let gpu = |at: usize| self.gpus.as_ref().get(at);
        let id = |at: usize| gpu(at).map_or(0, |gpu| gpu.node.id);
        Some(match self.at {
            At::Kfd => Ask::Open(DeviceFile::Kfd),
            At::MemInfo => Ask::Read(File::MemInfo),
            At::Nodes => Ask::List(Folder::Nodes),
            At::GpuId(at) => Ask::Read(File::GpuId(id(at))),
            At::Properties(at) => Ask::Read(File::Properties(id(at))),
            At::Bank(at, bank) => Ask::Read(File::Bank(id(at), bank)),
            At::Card(at, walk) => walk.ask(&gpu(at)?.card)?,
            At::Render(at) => {
                let gpu = gpu(at)?;
                let device = DeviceFile::Render(gpu.node.render_minor()?);
                if gpu.card.suspended { Ask::Permission(device) } else { Ask::Open(device) }
            }
            At::Drm => Ask::List(Folder::Drm),
            At::Other(at, walk) => walk.ask(&self.others.as_ref().get(at)?.card)?,
            At::End => return None,
        })
    }

    /// A name in the folder that was asked for.
    ///
    /// # Errors
    /// [`Full`] with the slots that are needed so far, where there are too few; the scan then goes
    /// on without the name, to tell in the end how many there are ([`need`](Self::need)).
    pub fn entry(&mut self, name: &[u8]) -> Result<(), Full> {
        match self.at {
            At::Nodes => {
                let plain = name == b"0" || !name.starts_with(b"0");
                let id = decimal(name).filter(|_| plain && name.iter().all(u8::is_ascii_digit));
                let Some(id) = id.and_then(|id| u32::try_from(id).ok()) else { return Ok(()) };
                self.nodes += 1;
                let Some(slot) = self.gpus.as_mut().get_mut(self.nodes - 1) else {
                    return Err(self.full(self.nodes));
                };
                *slot = Gpu { node: Node::new(id), ..Gpu::default() };
            }
            At::Drm => {
                let Some(number) = numbered(name, b"card") else { return Ok(()) };
                let known = self.gpus.as_ref()[..self.nodes].iter();
                if known.clone().any(|gpu| gpu.card.number == Some(number)) {
                    return Ok(());
                }
                self.cards += 1;
                let Some(slot) = self.others.as_mut().get_mut(self.cards - 1) else {
                    return Err(self.full(self.cards));
                };
                *slot = OtherCard { card: Card { number: Some(number), ..Card::default() } };
            }
            At::Card(at, walk) => {
                if let Some(gpu) = self.gpus.as_mut().get_mut(at) {
                    walk.entry(&mut gpu.card, name);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn full(&mut self, need: usize) -> Full {
        let full = Full { need: need as u64 };
        self.need = Some(full);
        full
    }

    /// Slots that would have been enough, of the kind that was too few: [`finish`](Self::finish) will fail.
    pub fn need(&self) -> Option<Full> {
        self.need
    }

    /// Answers the question.
    pub fn answer(&mut self, answer: Result<&[u8], Refusal>) {
        self.at = match self.at {
            At::Kfd => {
                self.kfd = access(answer);
                At::MemInfo
            }
            At::MemInfo => {
                self.available = answer.ok().and_then(mem_available);
                At::Nodes
            }
            At::Nodes => {
                self.nodes = self.nodes.min(self.gpus.as_ref().len());
                self.gpus.as_mut()[..self.nodes].sort_unstable_by_key(|gpu| gpu.node.id);
                self.node(0)
            }
            At::GpuId(at) => {
                if let Some(gpu) = self.gpus.as_mut().get_mut(at) {
                    gpu.node.take_gpu_id(answer.unwrap_or_default());
                }
                At::Properties(at)
            }
            At::Properties(at) => {
                let Some(gpu) = self.gpus.as_mut().get_mut(at) else { return };
                gpu.node.take_properties(answer.unwrap_or_default());
                match gpu.node.is_gpu() && gpu.node.mem_banks_count > 0 {
                    true => At::Bank(at, 0),
                    false => self.node(at + 1),
                }
            }
            At::Bank(at, bank) => {
                let Some(gpu) = self.gpus.as_mut().get_mut(at) else { return };
                gpu.node.take_bank(answer.unwrap_or_default());
                match bank + 1 < gpu.node.mem_banks_count {
                    true => At::Bank(at, bank + 1),
                    false => self.node(at + 1),
                }
            }
            At::Card(at, mut walk) => {
                let Some(gpu) = self.gpus.as_mut().get_mut(at) else { return };
                walk.answer(&mut gpu.card, answer);
                match walk.ask(&gpu.card) {
                    Some(_) => At::Card(at, walk),
                    None => At::Render(at),
                }
            }
            At::Render(at) => {
                if let Some(gpu) = self.gpus.as_mut().get_mut(at) {
                    gpu.access = access(answer);
                }
                self.card(at + 1)
            }
            At::Drm => {
                self.cards = self.cards.min(self.others.as_ref().len());
                self.others.as_mut()[..self.cards].sort_unstable_by_key(|other| other.card.number);
                self.other(0)
            }
            At::Other(at, mut walk) => {
                let Some(other) = self.others.as_mut().get_mut(at) else { return };
                walk.answer(&mut other.card, answer);
                if walk.knows_identity() { self.other(at + 1) } else { At::Other(at, walk) }
            }
            At::End => At::End,
        };
    }

    fn node(&mut self, at: usize) -> At {
        if at < self.nodes {
            return At::GpuId(at);
        }
        // CPUs go; what cannot be read stays behind the GPUs, to be told of.
        let nodes = &mut self.gpus.as_mut()[..self.nodes];
        let rank = |gpu: &Gpu| {
            (if gpu.node.is_gpu() { 0 } else { u8::from(gpu.node.is_readable()) + 1 }, gpu.node.id)
        };
        nodes.sort_unstable_by_key(rank);
        let count = |rank_is: u8| nodes.iter().filter(|gpu| rank(gpu).0 == rank_is).count();
        let (gpus, skipped) = (count(0), count(1));
        (self.nodes, self.skipped) = (gpus, skipped);
        self.card(0)
    }

    fn card(&mut self, at: usize) -> At {
        for next in at..self.nodes {
            let gpu = &mut self.gpus.as_mut()[next];
            match gpu.node.render_minor() {
                Some(minor) => return At::Card(next, Walk::all(Dir::Render(minor))),
                None => gpu.access = Access::Missing,
            }
        }
        At::Drm
    }

    fn other(&self, at: usize) -> At {
        match self.others.as_ref()[..self.cards].get(at).and_then(|other| other.card.number) {
            Some(number) => At::Other(at, Walk::identity(Dir::Card(number))),
            None => At::End,
        }
    }

    /// What was found. A scan that is cut short tells what it has.
    ///
    /// # Errors
    /// [`Full`] where slots are too few, with how many would do: of nodes or of other cards,
    /// whichever was told last.
    pub fn finish(mut self) -> Result<Found<G, O>, Full> {
        if let Some(full) = self.need {
            return Err(full);
        }
        if matches!(self.at, At::Nodes | At::GpuId(_) | At::Properties(_) | At::Bank(..)) {
            (self.nodes, self.skipped) = (0, 0);
        }
        self.cards = self.cards.min(self.others.as_ref().len());
        assemble(&mut self.gpus.as_mut()[..self.nodes], self.kfd);
        // A card without a vendor is none: a frame buffer of the firmware's.
        let others = &mut self.others.as_mut()[..self.cards];
        others.sort_unstable_by_key(|other| (other.card.vendor.is_none(), other.card.number));
        let cards = others.iter().filter(|other| other.card.vendor.is_some()).count();
        Ok(Found {
            gpus: self.gpus,
            others: self.others,
            count: self.nodes,
            skipped: self.skipped,
            cards,
            kfd: self.kfd,
            available: self.available,
        })
    }
}

fn access(answer: Result<&[u8], Refusal>) -> Access {
    match answer {
        Ok(_) => Access::Granted,
        Err(Refusal::Missing) => Access::Missing,
        Err(Refusal::Denied) => Access::Denied,
        Err(Refusal::Failed) => Access::Failed,
    }
}

/// What a scan found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<G, O> {
    gpus: G,
    others: O,
    count: usize,
    skipped: usize,
    cards: usize,
    kfd: Access,
    available: Option<u64>,
}

impl<G: AsMut<[Gpu]> + AsRef<[Gpu]>, O: AsMut<[OtherCard]> + AsRef<[OtherCard]>> Found<G, O> {
    /// The GPUs, in the order of their nodes.
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus.as_ref()[..self.count]
    }

    /// The same, to be changed by [`overrides::apply`](super::overrides::apply).
    pub fn gpus_mut(&mut self) -> &mut [Gpu] {
        &mut self.gpus.as_mut()[..self.count]
    }

    /// Nodes that cannot be read: perhaps GPUs that this process may not use.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.gpus.as_ref()[self.count..self.count + self.skipped].iter().map(|gpu| gpu.node.id)
    }

    /// Cards that are no GPUs of KFD's.
    pub fn others(&self) -> &[OtherCard] {
        &self.others.as_ref()[..self.cards]
    }

    /// The access to `/dev/kfd`.
    pub fn kfd(&self) -> Access {
        self.kfd
    }

    /// Memory that the system can give without swapping, in bytes.
    pub fn available(&self) -> Option<u64> {
        self.available
    }

    /// Reads once more what varies: memory in use, work, temperature, power.
    pub fn refresh(&mut self) -> Refresh<'_> {
        let (kfd, count) = (self.kfd, self.count);
        let mut refresh = Refresh {
            gpus: &mut self.gpus.as_mut()[..count],
            available: &mut self.available,
            kfd,
            at: None,
            done: false,
        };
        refresh.card(0);
        refresh
    }
}

/// A shorter scan of GPUs that are known; see [`Found::refresh`]. Answer until there is nothing to
/// ask, then [`finish`](Refresh::finish).
#[derive(Debug)]
pub struct Refresh<'g> {
    gpus: &'g mut [Gpu],
    available: &'g mut Option<u64>,
    kfd: Access,
    at: Option<(usize, Walk)>,
    done: bool,
}

impl Refresh<'_> {
    fn card(&mut self, at: usize) {
        let next = (at..self.gpus.len()).find_map(|next| {
            Some((next, Walk::again(Dir::Render(self.gpus[next].node.render_minor()?))))
        });
        self.at = next;
    }

    /// What to answer next; `None` = nothing more.
    pub fn ask(&self) -> Option<Ask> {
        match self.at {
            Some((at, walk)) => walk.ask(&self.gpus.get(at)?.card),
            None => (!self.done).then_some(Ask::Read(File::MemInfo)),
        }
    }

    /// A name in the folder that was asked for.
    pub fn entry(&mut self, name: &[u8]) {
        if let Some((at, walk)) = self.at
            && let Some(gpu) = self.gpus.get_mut(at)
        {
            walk.entry(&mut gpu.card, name);
        }
    }

    /// Answers the question.
    pub fn answer(&mut self, answer: Result<&[u8], Refusal>) {
        let Some((at, mut walk)) = self.at else {
            *self.available = answer.ok().and_then(mem_available);
            self.done = true;
            return;
        };
        let Some(gpu) = self.gpus.get_mut(at) else { return };
        walk.answer(&mut gpu.card, answer);
        match walk.ask(&gpu.card) {
            Some(_) => self.at = Some((at, walk)),
            None => self.card(at + 1),
        }
    }

    /// Works out what follows from the new numbers.
    pub fn finish(self) {
        assemble(self.gpus, self.kfd);
    }
}

//! Walking what lies in a region: offload bundles and compressed ones, back to back.
//!
//! ```text
//! "__CLANG_OFFLOAD_BUNDLE__", u64 n, n x (u64 offset, u64 size, u64 length, id), content
//! "CCOB", u16 version, u16 method, [u32 or u64 total], u32 or u64 uncompressed, u64 hash, content
//!
//!   Front --zeros passed over, magic--> Head --item Bundle--> Entry, Id --item Entry--+
//!     ^  |    |                                                ^                      |
//!     |  | end: Done                                           +----------------------+
//!     |       |                                                                       | last
//!     |       +--> Ccob, CcobRest --item Ccob--+                                      |
//!     +----------------------------------------+--------------------------------------+
//! ```
//!
//! Numbers are little-endian; an entry's offset counts from its bundle's first byte. Contents are
//! never looked at: the machine jumps over them.

use super::Method;
use super::fault::Fault;
use crate::error::{Error, ErrorKind};
use crate::limits::{Cap, Limits};
use crate::need::{End, ItemKind, Machine, Need, Step};

pub(super) const BUNDLE_MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
pub(super) const CCOB_MAGIC: &[u8; 4] = b"CCOB";

/// What tells one container from another.
const MAGIC: u64 = 4;
const HEAD: u64 = 32;
const ENTRY: u64 = 24;
/// The most that is worth reading at once.
const READ: u64 = 4 << 10;

/// A part of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'i> {
    /// A bundle begins; its entries follow.
    Bundle {
        /// Absolute offset of its first byte.
        offset: u64,
        /// How many entries it has.
        entries: u64,
    },
    /// An entry of the bundle before.
    Entry(Entry<'i>),
    /// A compressed bundle.
    Ccob(Ccob),
}

/// An entry of an offload bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'i> {
    /// What it is for, such as `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`.
    pub id: &'i [u8],
    /// Absolute offset of its content.
    pub offset: u64,
    /// Length of its content, in bytes.
    pub size: u64,
}

impl<'i> Entry<'i> {
    /// It stands for the host, and holds no device code.
    pub fn is_host(&self) -> bool {
        self.id.starts_with(b"host")
    }

    /// The target ID at the end of its id: what follows the kind and the triple, whose
    /// environment may be empty or left out.
    ///
    /// ```
    /// use rocload_core::bundle::Entry;
    ///
    /// let target = |id: &'static str| Entry { id: id.as_bytes(), offset: 0, size: 0 }.target();
    /// assert_eq!(target("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"), Some(&b"gfx90a:xnack-"[..]));
    /// assert_eq!(target("hip-amdgcn-amd-amdhsa-gfx9-4-generic"), Some(&b"gfx9-4-generic"[..]));
    /// assert_eq!(target("hipv4-amdgcn-amd-amdhsa-unknown-gfx942"), Some(&b"gfx942"[..]));
    /// assert_eq!(target("host-x86_64-unknown-linux--"), None);
    /// ```
    pub fn target(&self) -> Option<&'i [u8]> {
        if self.is_host() {
            return None;
        }
        // The kind, the processor's family, the vendor and the system.
        let mut rest = self.id;
        for _ in 0..4 {
            rest = after_dash(rest)?;
        }
        let target = if rest.starts_with(b"gfx") { rest } else { after_dash(rest)? };
        (!target.is_empty()).then_some(target)
    }
}

fn after_dash(text: &[u8]) -> Option<&[u8]> {
    text.iter().position(|&byte| byte == b'-').map(|at| &text[at + 1..])
}

/// A compressed offload bundle (CCOB), as its header describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ccob {
    /// Absolute offset of its first byte.
    pub offset: u64,
    /// Version of its header: 1, 2 or 3.
    pub version: u16,
    /// How it is compressed.
    pub method: Method,
    /// Length of its header, in bytes.
    pub header: u8,
    /// Length with the header, in bytes. Version 1 does not say: up to the region's end.
    pub total: u64,
    /// Length of the bundle inside, in bytes, as declared.
    pub uncompressed: u64,
    /// The hash in its header. It is not checked: versions of the compiler differ in which it is.
    pub hash: u64,
}

impl Ccob {
    /// Absolute offset of the compressed bytes.
    pub const fn body(&self) -> u64 {
        self.offset + self.header as u64
    }

    /// Length of the compressed bytes.
    pub const fn body_size(&self) -> u64 {
        self.total - self.header as u64
    }
}

/// The items of [`Bundles`].
#[derive(Debug)]
pub enum BundlesKind {}

impl ItemKind for BundlesKind {
    type Item<'i> = Part<'i>;
}

/// The machine that walks a region. See the module's text.
#[derive(Debug, Clone)]
pub struct Bundles {
    at: u64,
    end: u64,
    key_bytes: u64,
    state: State,
    /// The bundle at hand: its first byte, its entries to come, the end of its farthest content.
    bundle: u64,
    count: u64,
    entries: u64,
    reach: u64,
    item: Made,
    failed: Option<Error>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Front,
    Head,
    Entry,
    Id { offset: u64, size: u64, len: u64 },
    Ccob,
    CcobRest { version: u16, method: Method },
    Done,
}

/// The item of the last step.
#[derive(Debug, Clone, Copy)]
enum Made {
    Bundle,
    /// The id is at the front of the input.
    Entry {
        offset: u64,
        size: u64,
        len: usize,
    },
    Ccob(Ccob),
}

impl Bundles {
    /// A walk over `size` bytes at the absolute offset `offset`.
    pub const fn new(offset: u64, size: u64, limits: &Limits) -> Bundles {
        Bundles {
            at: offset,
            end: offset.saturating_add(size),
            key_bytes: limits.key_bytes as u64,
            state: if size == 0 { State::Done } else { State::Front },
            bundle: offset,
            count: 0,
            entries: 0,
            reach: offset,
            item: Made::Bundle,
            failed: None,
        }
    }

    const fn left(&self) -> u64 {
        self.end - self.at
    }

    fn min(&self) -> u64 {
        match self.state {
            State::Done => 0,
            State::Front => self.left().min(MAGIC),
            State::Head => HEAD - MAGIC,
            State::Entry => ENTRY,
            State::Id { len, .. } => len,
            State::Ccob => 4,
            State::CcobRest { version: 1, .. } => 12,
            State::CcobRest { version: 2, .. } => 16,
            State::CcobRest { .. } => 24,
        }
    }

    /// Goes to a state, whose bytes must be there.
    fn enter(&mut self, state: State) -> Result<(), Error> {
        self.state = state;
        let (need, have) = (self.min(), self.left());
        if have < need {
            return Err(Error::new(ErrorKind::Truncated { need, have }, self.at));
        }
        Ok(())
    }

    fn fault<T>(&self, fault: Fault) -> Result<T, Error> {
        Err(Error::new(ErrorKind::Bundle(fault), self.at))
    }

    /// What comes after a bundle that ends at `at`.
    fn behind(&mut self, at: u64) {
        self.at = at;
        self.state = if at == self.end { State::Done } else { State::Front };
    }

    fn advance(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if matches!(self.state, State::Done) {
            return Ok(Step::WAIT);
        }
        if offset != self.at {
            return Err(Error::new(ErrorKind::Offset { wanted: self.at, given: offset }, offset));
        }
        // What lies behind the region is none of it.
        let within = usize::try_from(self.left()).unwrap_or(usize::MAX);
        let input = input.get(..within).unwrap_or(input);
        let min = usize::try_from(self.min()).unwrap_or(usize::MAX);
        let Some(bytes) = input.get(..min) else { return Ok(Step::WAIT) };
        match self.state {
            State::Front => self.front(input),
            State::Head => self.head(bytes),
            State::Entry => self.entry(bytes),
            State::Id { offset, size, len } => {
                self.at += len;
                self.made(offset, size, min);
                Ok(Step::item(min))
            }
            State::Ccob => {
                let version = u16::from_le_bytes([bytes[0], bytes[1]]);
                if !(1..=3).contains(&version) {
                    return self.fault(Fault::CcobVersion { found: version });
                }
                let method = Method::of(u16::from_le_bytes([bytes[2], bytes[3]]));
                self.at += 4;
                self.enter(State::CcobRest { version, method })?;
                Ok(Step::consumed(4))
            }
            State::CcobRest { version, method } => self.ccob(version, method, bytes),
            State::Done => Ok(Step::WAIT),
        }
    }

    /// Passes over zeros, then over the magic of a container.
    fn front(&mut self, input: &[u8]) -> Result<Step, Error> {
        let zeros = input.iter().position(|&byte| byte != 0).unwrap_or(input.len());
        if zeros > 0 {
            self.behind(self.at + zeros as u64);
            return Ok(Step::consumed(zeros));
        }
        let mut found = [0; MAGIC as usize];
        let known = input.len().min(found.len());
        found[..known].copy_from_slice(&input[..known]);
        self.bundle = self.at;
        if found == *CCOB_MAGIC {
            self.at += MAGIC;
            self.enter(State::Ccob)?;
        } else if BUNDLE_MAGIC.starts_with(&found) {
            self.at += MAGIC;
            self.enter(State::Head)?;
        } else {
            return self.fault(Fault::NoBundle { found });
        }
        Ok(Step::consumed(known))
    }

    fn head(&mut self, bytes: &[u8]) -> Result<Step, Error> {
        let (magic, count) = bytes.split_at(BUNDLE_MAGIC.len() - MAGIC as usize);
        if magic != &BUNDLE_MAGIC[MAGIC as usize..] {
            let found = [bytes[0], bytes[1], bytes[2], bytes[3]];
            return self.fault(Fault::NoBundle { found });
        }
        let (count, room) = (u64_at(count, 0), (self.left() - (HEAD - MAGIC)) / ENTRY);
        if count > room {
            return self.fault(Fault::EntryCount { count, room });
        }
        (self.count, self.entries) = (count, count);
        self.at += HEAD - MAGIC;
        self.reach = self.at;
        self.item = Made::Bundle;
        self.next_entry();
        Ok(Step::item(bytes.len()))
    }

    /// The heads of all entries to come have room.
    fn next_entry(&mut self) {
        match self.entries {
            0 => self.behind(self.reach.max(self.at)),
            _ => self.state = State::Entry,
        }
    }

    fn entry(&mut self, bytes: &[u8]) -> Result<Step, Error> {
        let [start, size, len] = [0, 8, 16].map(|at| u64_at(bytes, at));
        let left = self.end - self.bundle;
        match start.checked_add(size) {
            Some(end) if end <= left => self.reach = self.reach.max(self.bundle + end),
            _ => return self.fault(Fault::EntryRange { start, size, left }),
        }
        // The heads of the entries after this one need room too.
        let left = self.left() - self.entries * ENTRY;
        if len > left {
            return self.fault(Fault::EntryId { len, left });
        }
        if len > self.key_bytes {
            let kind = ErrorKind::Limit { cap: Cap::KeyBytes, value: len, limit: self.key_bytes };
            return Err(Error::new(kind, self.at));
        }
        self.at += ENTRY;
        let offset = self.bundle + start;
        if len == 0 {
            self.made(offset, size, 0);
            return Ok(Step::item(ENTRY as usize));
        }
        self.state = State::Id { offset, size, len };
        Ok(Step::consumed(ENTRY as usize))
    }

    /// An entry is complete, with its id at the end of what is consumed.
    fn made(&mut self, offset: u64, size: u64, len: usize) {
        self.item = Made::Entry { offset, size, len };
        self.entries -= 1;
        self.next_entry();
    }

    fn ccob(&mut self, version: u16, method: Method, bytes: &[u8]) -> Result<Step, Error> {
        let (offset, left) = (self.bundle, self.end - self.bundle);
        let (total, uncompressed) = match version {
            1 => (left, u64::from(u32_at(bytes, 0))),
            2 => (u64::from(u32_at(bytes, 0)), u64::from(u32_at(bytes, 4))),
            _ => (u64_at(bytes, 0), u64_at(bytes, 8)),
        };
        let header = 8 + bytes.len() as u8;
        if !(u64::from(header)..=left).contains(&total) {
            return self.fault(Fault::CcobTotal { total, left });
        }
        let hash = u64_at(bytes, bytes.len() - 8);
        self.item = Made::Ccob(Ccob { offset, version, method, header, total, uncompressed, hash });
        self.behind(offset + total);
        Ok(Step::item(bytes.len()))
    }
}

impl Machine for Bundles {
    type Kind = BundlesKind;

    fn need(&self) -> Need {
        match self.state {
            _ if self.failed.is_some() => Need::Done,
            State::Done => Need::Done,
            _ => {
                let min = usize::try_from(self.min()).unwrap_or(usize::MAX);
                Need::At { offset: self.at, min, hint: self.left().min(READ) }
            }
        }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let step = self.advance(offset, input);
        if let Err(error) = step {
            self.failed = Some(error);
        }
        step
    }

    fn item<'i>(&'i self, input: &'i [u8]) -> Part<'i> {
        match self.item {
            Made::Bundle => Part::Bundle { offset: self.bundle, entries: self.count },
            Made::Entry { offset, size, len } => {
                Part::Entry(Entry { id: input.get(..len).unwrap_or(&[]), offset, size })
            }
            Made::Ccob(ccob) => Part::Ccob(ccob),
        }
    }

    fn end(&mut self) -> Result<End, Error> {
        match (self.failed, self.state) {
            (Some(error), _) => Err(error),
            (None, State::Done) => Ok(End::Complete),
            (None, State::Front) => Ok(End::Pending("what lies behind a bundle")),
            (None, State::Head | State::Ccob | State::CcobRest { .. }) => {
                Ok(End::Pending("the header of a bundle"))
            }
            (None, State::Entry | State::Id { .. }) => Ok(End::Pending("an entry of a bundle")),
        }
    }
}

/// Little-endian fields of what has a fixed length, in which `at` lies.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

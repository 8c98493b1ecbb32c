//! The machine that opens an archive: the header, then the TOC at the file's end.
//!
//! ```text
//!  Need::At 0..16 ----> item Header ----> Need::At toc_offset.. ----> item Toc ----> Done
//!                                          ^        | more to come
//!                                          +--------+
//! ```
//!
//! Nothing between the header and the TOC is asked for. The TOC is kept in the caller's
//! [`Storage`], since its view borrows from it; rows are told to a [`Tables`] in the same pass
//! that checks it. The total length must be known: a TOC reaches to the end of the file.
//!
//! A long TOC is judged while it arrives, at growing lengths, and its storage grows with it, so
//! that hundreds of megabytes of anything else are refused when a few have been read. The verdict
//! is that of the whole.
//!
//! ```
//! use rocload_core::kpack::{Open, Opened, Strictness};
//! use rocload_core::{End, Limits, Machine, Need};
//! # let archive: &[u8] = rocload_core::kpack::EXAMPLE;
//!
//! let total = archive.len() as u64;
//! let mut open = Open::new(total, Limits::default(), Strictness::Strict, [0u8; 1024], ());
//! assert!(matches!(open.need(), Need::At { offset: 0, min: 16, .. }));
//! assert!(open.step(0, archive)?.ready);
//! assert!(matches!(open.item(archive), Opened::Header(header) if header.toc_offset == 76));
//!
//! // The TOC, its first byte alone.
//! assert!(matches!(open.need(), Need::At { offset: 76, .. }));
//! assert_eq!((open.step(76, &archive[76..77])?.consumed, open.toc().is_none()), (1, true));
//! assert!(open.step(77, &archive[77..])?.ready);
//! assert_eq!((open.need(), open.end()?), (Need::Done, End::Complete));
//! assert_eq!(open.toc().unwrap().entries().count(), 1);
//! # Ok::<(), rocload_core::Error>(())
//! ```

use super::toc::{Layout, Toc};
use super::walk::{self, Rules, Tables};
use super::{HEADER_LEN, Header, Strictness};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use crate::need::{End, ItemKind, Machine, Need, Step, Storage};

/// What opening yields, in this order.
#[derive(Debug, Clone, Copy)]
pub enum Opened<'i> {
    /// The header has been read.
    Header(Header),
    /// The TOC has been read and checked, and all rows were told.
    Toc(Toc<'i>),
}

/// The family of [`Opened`].
#[derive(Debug)]
pub struct OpenedKind;

impl ItemKind for OpenedKind {
    type Item<'i> = Opened<'i>;
}

#[derive(Debug, Clone, Copy)]
enum State {
    Header,
    /// Bytes of the TOC that are in the storage.
    Toc {
        header: Header,
        have: usize,
        len: usize,
    },
    Done {
        header: Header,
        len: usize,
        layout: Layout,
    },
    /// And where the TOC begins and how many of its bytes were there.
    Failed(Error, Option<(u64, usize)>),
}

/// A TOC up to this length is judged once, when all of it has come; so much of a longer one is
/// judged first, in bytes.
const FIRST: usize = 8 << 20;
/// How many times longer the part is that is judged next: all parts together cost no more than a
/// third of the whole.
const GROWTH: usize = 4;

/// Opens an archive; see the module's text for the state graph.
#[derive(Debug)]
pub struct Open<S, T> {
    total: u64,
    limits: Limits,
    strictness: Strictness,
    storage: S,
    tables: T,
    state: State,
}

impl<S: Storage, T: Tables> Open<S, T> {
    /// Opens a file of `total` bytes; `storage` must hold or grow to the TOC, and `tables` is
    /// told its rows (`()` keeps none).
    pub const fn new(
        total: u64,
        limits: Limits,
        strictness: Strictness,
        storage: S,
        tables: T,
    ) -> Self {
        Open { total, limits, strictness, storage, tables, state: State::Header }
    }

    /// The view of the TOC, once it has been read.
    pub fn toc(&self) -> Option<Toc<'_>> {
        match self.state {
            State::Done { header, len, layout } => Some(Toc {
                bytes: &self.storage.slots()[..len],
                base: header.toc_offset,
                total: self.total,
                strictness: self.strictness,
                layout,
            }),
            _ => None,
        }
    }

    /// The rows told so far.
    pub const fn tables(&self) -> &T {
        &self.tables
    }

    /// After an error inside the TOC: the binary and the architecture that its offset belongs
    /// to. The architecture may be empty.
    pub fn place(&self) -> Option<(&[u8], &[u8])> {
        match self.state {
            State::Failed(error, Some((base, len))) => {
                walk::place_of(self.storage.slots().get(..len)?, base, error.offset)
            }
            _ => None,
        }
    }

    /// Where the bytes of the TOC from the offset in [`need`](Machine::need) on belong. A driver
    /// may read straight into this room and tell it by [`filled`](Self::filled), instead of
    /// offering the bytes to [`step`](Machine::step), which copies them there. Of a long TOC it is
    /// the next part. Empty while no bytes of the TOC are wanted.
    pub fn room(&mut self) -> &mut [u8] {
        match self.state {
            State::Toc { have, len, .. } => {
                let slots = self.storage.slots_mut();
                let end = slots.len().min(len);
                &mut slots[have..end]
            }
            _ => &mut [],
        }
    }

    /// The first `n` bytes of [`room`](Self::room) have been written, or all of it if that is
    /// shorter: what a step over them is.
    ///
    /// # Errors
    /// Those of [`step`](Machine::step).
    pub fn filled(&mut self, n: usize) -> Result<Step, Error> {
        let step = match self.state {
            State::Toc { header, have, len } => {
                let room = self.grown(len) - have;
                self.arrived(header, have, len, n.min(room))
            }
            State::Failed(error, _) => Err(error),
            State::Header | State::Done { .. } => Ok(Step::WAIT),
        };
        self.poison(step)
    }

    /// Storage and rows, with the layout of the TOC that was read into them.
    #[cfg(feature = "alloc")]
    pub(crate) fn into_parts(self) -> Option<(S, T, Header, usize, Layout)> {
        match self.state {
            State::Done { header, len, layout } => {
                Some((self.storage, self.tables, header, len, layout))
            }
            _ => None,
        }
    }

    fn advance(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let Need::At { offset: wanted, .. } = self.need()
            && offset != wanted
        {
            return Err(Error::new(ErrorKind::Offset { wanted, given: offset }, offset));
        }
        match self.state {
            State::Header => self.header(input),
            State::Toc { header, have, len } => self.collect(header, have, len, input),
            State::Done { .. } => Ok(Step::WAIT),
            State::Failed(error, _) => Err(error),
        }
    }

    fn header(&mut self, input: &[u8]) -> Result<Step, Error> {
        if input.len() < HEADER_LEN {
            return Ok(Step::WAIT);
        }
        let header = Header::parse(input, self.total)?;
        let value = self.total - header.toc_offset;
        let limit = self.limits.toc_bytes;
        let refuse = |kind| Error::new(kind, 8);
        if value > limit {
            return Err(refuse(ErrorKind::Limit { cap: Cap::TocBytes, value, limit }));
        }
        let full = refuse(ErrorKind::Full(Full { need: value }));
        let len = usize::try_from(value).map_err(|_| full)?;
        // A long one is made room for as it comes.
        if !self.grow(len.min(FIRST)) {
            return Err(full);
        }
        self.state = State::Toc { header, have: 0, len };
        Ok(Step::item(HEADER_LEN))
    }

    fn collect(
        &mut self,
        header: Header,
        have: usize,
        len: usize,
        input: &[u8],
    ) -> Result<Step, Error> {
        let taken = input.len().min(self.grown(len) - have);
        let slots = self.storage.slots_mut();
        slots[have..have + taken].copy_from_slice(&input[..taken]);
        self.arrived(header, have, len, taken)
    }

    /// Bytes of the TOC that there is room for.
    fn grown(&self, len: usize) -> usize {
        self.storage.slots().len().min(len)
    }

    fn grow(&mut self, min: usize) -> bool {
        (self.storage.slots().len() >= min || self.storage.grow(min))
            && self.storage.slots().len() >= min
    }

    /// `taken` more bytes of the TOC are in the storage.
    fn arrived(
        &mut self,
        header: Header,
        have: usize,
        len: usize,
        taken: usize,
    ) -> Result<Step, Error> {
        let have = have + taken;
        self.state = State::Toc { header, have, len };
        let rules = Rules { total: self.total, limits: &self.limits, strictness: self.strictness };
        let base = header.toc_offset;
        if have < len {
            let grown = self.grown(len);
            if have == grown {
                walk::begins(&self.storage.slots()[..have], base, rules)?;
                if !self.grow(grown.saturating_mul(GROWTH).min(len)) {
                    let full = Full { need: len as u64 };
                    return Err(Error::new(ErrorKind::Full(full), 8));
                }
            }
            return Ok(Step::consumed(taken));
        }
        let bytes = &self.storage.slots()[..len];
        let layout = walk::walk(bytes, base, rules, &mut self.tables)?.layout;
        self.state = State::Done { header, len, layout };
        Ok(Step::item(taken))
    }

    /// The error of a file that ends before what is needed next.
    fn truncated(&self) -> Error {
        let (need, have, offset) = match self.state {
            State::Toc { header, have, len } => {
                ((len - have) as u64, 0, header.toc_offset + have as u64)
            }
            _ => (HEADER_LEN as u64, self.total.min(HEADER_LEN as u64 - 1), 0),
        };
        Error::new(ErrorKind::Truncated { need, have }, offset)
    }

    fn poison<R>(&mut self, result: Result<R, Error>) -> Result<R, Error> {
        if let Err(error) = result {
            let toc = match self.state {
                State::Toc { header, have, .. } if error.offset >= header.toc_offset => {
                    Some((header.toc_offset, have))
                }
                State::Failed(_, toc) => toc,
                _ => None,
            };
            self.state = State::Failed(error, toc);
        }
        result
    }
}

impl<S: Storage, T: Tables> Machine for Open<S, T> {
    type Kind = OpenedKind;

    fn need(&self) -> Need {
        match self.state {
            State::Header => Need::At { offset: 0, min: HEADER_LEN, hint: HEADER_LEN as u64 },
            State::Toc { header, have, len } => Need::At {
                offset: header.toc_offset + have as u64,
                min: 1,
                hint: (len - have) as u64,
            },
            State::Done { .. } | State::Failed(..) => Need::Done,
        }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        let step = self.advance(offset, input);
        self.poison(step)
    }

    fn item<'i>(&'i self, _input: &'i [u8]) -> Opened<'i> {
        match (self.toc(), self.state) {
            (Some(toc), _) => Opened::Toc(toc),
            (None, State::Toc { header, .. }) => Opened::Header(header),
            // Asked for without a ready step: a header that says so.
            (None, _) => Opened::Header(Header { version: 0, toc_offset: 0 }),
        }
    }

    fn end(&mut self) -> Result<End, Error> {
        match self.state {
            State::Done { .. } => Ok(End::Complete),
            State::Failed(error, _) => Err(error),
            State::Header | State::Toc { .. } => {
                let error = self.truncated();
                self.poison(Err(error))
            }
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::kpack::EXAMPLE;

    fn open() -> Open<Vec<u8>, ()> {
        let total = EXAMPLE.len() as u64;
        Open::new(total, Limits::default(), Strictness::Strict, Vec::new(), ())
    }

    #[test]
    fn reading_into_the_room_is_a_step() {
        let mut machine = open();
        assert!(machine.room().is_empty(), "the header has no place to stay");
        assert_eq!(machine.filled(3), Ok(Step::WAIT));
        assert_eq!(machine.step(0, EXAMPLE), Ok(Step::item(HEADER_LEN)));
        let mut pieces = 0;
        while let Need::At { offset, hint, .. } = machine.need() {
            let room = machine.room();
            assert_eq!(room.len() as u64, hint);
            let n = room.len().min(50);
            room[..n].copy_from_slice(&EXAMPLE[offset as usize..][..n]);
            // More than there is room for is no more than the room.
            let told = if n < 50 { usize::MAX } else { n };
            let step = machine.filled(told).expect("the example is sound");
            assert_eq!((step.consumed, step.ready), (n, n < 50));
            pieces += 1;
        }
        assert!(pieces > 2);
        assert!(machine.room().is_empty());
        assert_eq!(machine.filled(1), Ok(Step::WAIT));
        assert_eq!(machine.toc().map(|toc| toc.counts().entries), Some(1));
    }

    #[test]
    fn a_fault_found_by_it_poisons() {
        let mut machine = open();
        let _ = machine.step(0, EXAMPLE).expect("the header is sound");
        machine.room().fill(0xc1);
        let error = machine.filled(usize::MAX).expect_err("0xc1 begins nothing");
        assert_eq!(machine.filled(0), Err(error));
        assert_eq!(machine.step(0, EXAMPLE), Err(error));
        assert_eq!(machine.need(), Need::Done);
    }

    /// Drives over a whole file, in pieces of at most so many bytes; the error, and how much of
    /// the file was taken.
    fn driven<S: Storage>(file: &[u8], storage: S, most: usize) -> (Result<u32, Error>, usize) {
        let total = file.len() as u64;
        let mut machine = Open::new(total, Limits::default(), Strictness::Strict, storage, ());
        let mut taken = 0;
        while let Need::At { offset, .. } = machine.need() {
            let rest = &file[offset as usize..];
            match machine.step(offset, &rest[..rest.len().min(most)]) {
                Ok(step) => taken += step.consumed,
                Err(error) => return (Err(error), taken),
            }
        }
        (Ok(machine.toc().map_or(0, |toc| toc.counts().entries)), taken)
    }

    #[test]
    fn a_long_table_is_judged_while_it_comes_as_the_whole_is() {
        // What follows a table is ignored, however long.
        let mut sound = EXAMPLE.to_vec();
        sound.resize(3 * FIRST, 0xc1);
        let mut wrong = sound.clone();
        // The first key is an integer.
        wrong[77] = 1;
        // A name that reaches beyond the first part, and then a key that is none.
        let mut late = EXAMPLE[..76].to_vec();
        late.extend_from_slice(b"\x82\xaagroup_name\xdb");
        late.extend_from_slice(&(FIRST as u32 + 100).to_be_bytes());
        late.resize(3 * FIRST, 1);
        for (file, part) in [(sound, 3 * FIRST), (wrong, FIRST), (late, 3 * FIRST)] {
            let (given, taken) = driven(&file, Vec::new(), usize::MAX);
            assert!(taken <= part + HEADER_LEN, "{taken} bytes for {given:?}");
            assert_eq!(driven(&file, Vec::new(), 1 << 20).0, given);
            let mut room = alloc::vec![0; file.len()];
            assert_eq!(driven(&file, &mut room[..], usize::MAX).0, given, "room for all of it");
            let (full, taken) = driven(&file, [0u8; 64], usize::MAX);
            let need = file.len() as u64 - 76;
            assert_eq!(full, Err(Error::new(ErrorKind::Full(Full { need }), 8)));
            assert_eq!(taken, 0);
        }
    }
}

//! A machine that jumps.
//!
//! A node is `next` (u32 LE, absolute, 0 = the last one), `len` (u32 LE) and `len` bytes.
//!
//! ```text
//!  +-> Node: 8 bytes --len 0----------------------+
//!  |     |---len <= 32--> Whole: all of it at once |
//!  |     +--------------> Parts: as it comes ------|
//!  +---------next > 0, jump there------------------+--next = 0--> Done
//! ```

use rocload_core::{End, Error, ErrorKind, ItemKind, Machine, Need, Step};

use super::{Kept, over};

const NODE: usize = 8;
/// Payloads up to this length come whole.
const WHOLE: u32 = 32;
/// The most nodes of a chain, which might be a ring.
const HOPS: u32 = 20;

/// The bytes of a node.
pub fn node(next: u32, payload: &[u8]) -> Vec<u8> {
    let len = payload.len() as u32;
    [&next.to_le_bytes()[..], &len.to_le_bytes(), payload].concat()
}

/// What [`Chain`] yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link<'i> {
    /// A node: where the next one is and how long its payload.
    Node(u32, u32),
    /// A short payload, borrowed from the input.
    Whole(&'i [u8]),
    /// Some bytes of a long one, borrowed from the input.
    Part(&'i [u8]),
}

impl From<Link<'_>> for Kept {
    fn from(link: Link<'_>) -> Kept {
        match link {
            Link::Node(next, len) => Kept::Other("node", next.into(), len.into()),
            Link::Whole(bytes) => Kept::Whole(bytes.to_vec()),
            Link::Part(bytes) => Kept::Part(bytes.to_vec()),
        }
    }
}

/// The family of [`Link`].
#[derive(Debug)]
pub struct LinkKind;

impl ItemKind for LinkKind {
    type Item<'i> = Link<'i>;
}

#[derive(Debug, Clone, Copy)]
enum State {
    Node,
    Payload { next: u32, left: u32, whole: bool },
    Done,
    Failed(Error),
}

#[derive(Debug, Clone, Copy)]
enum Ready {
    Node(u32, u32),
    Whole(usize),
    Part(usize),
}

/// Follows a chain from offset 0; see the module's text.
#[derive(Debug)]
pub struct Chain {
    at: u64,
    hops: u32,
    state: State,
    ready: Ready,
}

impl Chain {
    /// At the first node.
    pub const fn new() -> Self {
        Chain { at: 0, hops: 0, state: State::Node, ready: Ready::Node(0, 0) }
    }

    fn advance(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        match self.state {
            State::Failed(error) => return Err(error),
            State::Done => return Ok(Step::WAIT),
            _ if offset != self.at => {
                let kind = ErrorKind::Offset { wanted: self.at, given: offset };
                return Err(Error::new(kind, offset));
            }
            _ => {}
        }
        match self.state {
            State::Payload { next, left, whole } => Ok(self.payload(next, left, whole, input)),
            _ => self.node(input),
        }
    }

    fn node(&mut self, input: &[u8]) -> Result<Step, Error> {
        let Some(&[a, b, c, d, e, f, g, h]) = input.first_chunk::<NODE>() else {
            return Ok(Step::WAIT);
        };
        let (next, len) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        self.hops += 1;
        if self.hops > HOPS {
            return Err(over(self.hops.into(), HOPS.into(), self.at));
        }
        self.ready = Ready::Node(next, len);
        self.at += NODE as u64;
        self.state = State::Payload { next, left: len, whole: len <= WHOLE };
        if len == 0 {
            self.leave(next);
        }
        Ok(Step::item(NODE))
    }

    fn payload(&mut self, next: u32, left: u32, whole: bool, input: &[u8]) -> Step {
        let taken = input.len().min(left as usize);
        if taken == 0 || whole && taken < left as usize {
            return Step::WAIT;
        }
        self.ready = if whole { Ready::Whole(taken) } else { Ready::Part(taken) };
        self.at += taken as u64;
        match left - taken as u32 {
            0 => self.leave(next),
            left => self.state = State::Payload { next, left, whole },
        }
        Step::item(taken)
    }

    fn leave(&mut self, next: u32) {
        if next == 0 {
            self.state = State::Done;
        } else {
            (self.at, self.state) = (next.into(), State::Node);
        }
    }
}

impl Default for Chain {
    fn default() -> Self {
        Chain::new()
    }
}

impl Machine for Chain {
    type Kind = LinkKind;

    fn need(&self) -> Need {
        let at = |min: usize, hint: u32| Need::At { offset: self.at, min, hint: hint.into() };
        match self.state {
            State::Node => at(NODE, 0),
            State::Payload { left, whole: true, .. } => at(left as usize, left),
            State::Payload { left, whole: false, .. } => at(1, left),
            State::Done | State::Failed(_) => Need::Done,
        }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        let step = self.advance(offset, input);
        if let Err(error) = step {
            self.state = State::Failed(error);
        }
        step
    }

    fn item<'i>(&'i self, input: &'i [u8]) -> Link<'i> {
        match self.ready {
            Ready::Node(next, len) => Link::Node(next, len),
            Ready::Whole(len) => Link::Whole(&input[..len]),
            Ready::Part(len) => Link::Part(&input[..len]),
        }
    }

    fn end(&mut self) -> Result<End, Error> {
        match self.state {
            State::Failed(error) => Err(error),
            State::Node => Ok(End::Pending("a node")),
            State::Payload { .. } => Ok(End::Pending("a payload")),
            State::Done => Ok(End::Complete),
        }
    }
}

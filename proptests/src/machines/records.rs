//! A machine over a stream.
//!
//! ```text
//!  +-> Head --00..7f n--> Text: n bytes, as parts --+
//!  |     |----80--------> Number: 4 bytes LE -------|
//!  |     |----81..fe----> Warning, once it is shown |
//!  |     +----ff--------> Done                      |
//!  +------------------------------------------------+
//! ```

use rocload_core::{End, Error, ItemKind, Machine, Need, Step};

use super::{Kept, over};

/// The largest number that a record may hold.
const MOST: u32 = 1_000_000;

/// What [`Records`] yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'i> {
    /// Some bytes of a text, borrowed from the input.
    Part(&'i [u8]),
    /// A number.
    Number(u32),
    /// A byte that begins nothing, and its offset.
    Warning(u8, u64),
    /// How many records there were: the last item.
    Total(u32),
}

impl From<Record<'_>> for Kept {
    fn from(record: Record<'_>) -> Kept {
        match record {
            Record::Part(bytes) => Kept::Part(bytes.to_vec()),
            Record::Number(number) => Kept::Other("number", number.into(), 0),
            Record::Warning(byte, at) => Kept::Other("warning", byte.into(), at),
            Record::Total(count) => Kept::Other("total", count.into(), 0),
        }
    }
}

/// The family of [`Record`].
#[derive(Debug)]
pub struct RecordKind;

impl ItemKind for RecordKind {
    type Item<'i> = Record<'i>;
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    Text { left: usize },
    Number { at: u64, bytes: [u8; 4], have: usize },
    Done,
    Failed(Error),
}

#[derive(Debug, Clone, Copy)]
enum Ready {
    Part(usize),
    Number(u32),
    Warning(u8, u64),
    Total,
}

/// Reads records from a stream; see the module's text.
#[derive(Debug)]
pub struct Records {
    state: State,
    ready: Ready,
    count: u32,
    told: bool,
}

impl Records {
    /// At the start of a stream.
    pub const fn new() -> Self {
        Records { state: State::Head, ready: Ready::Total, count: 0, told: false }
    }

    fn head(&mut self, offset: u64, input: &[u8]) -> Step {
        let Some(&byte) = input.first() else { return Step::WAIT };
        self.count += 1;
        match byte {
            0x00 => {}
            0x01..=0x7f => self.state = State::Text { left: byte.into() },
            0x80 => self.state = State::Number { at: offset, bytes: [0; 4], have: 0 },
            0xff => self.state = State::Done,
            _ => {
                self.ready = Ready::Warning(byte, offset);
                return Step::item(1);
            }
        }
        Step::consumed(1)
    }

    fn text(&mut self, left: usize, input: &[u8]) -> Step {
        let taken = left.min(input.len());
        if taken == 0 {
            return Step::WAIT;
        }
        self.ready = Ready::Part(taken);
        self.state = match left - taken {
            0 => State::Head,
            left => State::Text { left },
        };
        Step::item(taken)
    }

    fn number(
        &mut self,
        at: u64,
        mut bytes: [u8; 4],
        have: usize,
        input: &[u8],
    ) -> Result<Step, Error> {
        let taken = input.len().min(4 - have);
        bytes[have..have + taken].copy_from_slice(&input[..taken]);
        let have = have + taken;
        if have < 4 {
            self.state = State::Number { at, bytes, have };
            return Ok(Step::consumed(taken));
        }
        let number = u32::from_le_bytes(bytes);
        if number > MOST {
            return Err(over(number.into(), MOST.into(), at));
        }
        (self.state, self.ready) = (State::Head, Ready::Number(number));
        Ok(Step::item(taken))
    }
}

impl Default for Records {
    fn default() -> Self {
        Records::new()
    }
}

impl Machine for Records {
    type Kind = RecordKind;

    fn need(&self) -> Need {
        match self.state {
            State::Done => Need::Done,
            _ => Need::More,
        }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        let step = match self.state {
            State::Head => Ok(self.head(offset, input)),
            State::Text { left } => Ok(self.text(left, input)),
            State::Number { at, bytes, have } => self.number(at, bytes, have, input),
            State::Done => Ok(Step::WAIT),
            State::Failed(error) => Err(error),
        };
        if let Err(error) = step {
            self.state = State::Failed(error);
        }
        step
    }

    fn item<'i>(&'i self, input: &'i [u8]) -> Record<'i> {
        match self.ready {
            Ready::Part(len) => Record::Part(&input[..len]),
            Ready::Number(number) => Record::Number(number),
            Ready::Warning(byte, at) => Record::Warning(byte, at),
            Ready::Total => Record::Total(self.count),
        }
    }

    fn end(&mut self) -> Result<End, Error> {
        match self.state {
            State::Failed(error) => Err(error),
            State::Text { .. } => Ok(End::Pending("a text")),
            State::Number { .. } => Ok(End::Pending("a number")),
            State::Head | State::Done if self.told => Ok(End::Complete),
            State::Head | State::Done => {
                (self.told, self.ready) = (true, Ready::Total);
                Ok(End::Item)
            }
        }
    }
}

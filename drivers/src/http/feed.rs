//! A machine over the body of an exchange.

use std::ops::Range;

use rocload_core::{End, Error as CoreError, ErrorKind, Millis, Need};

use super::{BodyMachine, Error, Flow, Next};

/// What a step gave.
#[derive(Debug)]
pub(crate) enum Fed {
    /// An item, for the bytes of the window there.
    Item(Range<usize>),
    /// Bytes must be read.
    Read,
    /// The stream is over.
    End,
}

/// Feeds a machine with the body.
#[derive(Debug)]
pub(crate) struct Feed<M> {
    pub(crate) machine: M,
}

impl<M: BodyMachine> Feed<M> {
    pub(crate) fn step(&mut self, flow: &mut Flow, now: Millis) -> Result<Fed, Error> {
        loop {
            // After an end mark nothing is read.
            let next = match self.machine.need() {
                Need::Done => Next::End,
                _ => flow.advance(now)?,
            };
            match next {
                Next::Head => {}
                Next::Read => return Ok(Fed::Read),
                Next::End => {
                    return match self.machine.end().map_err(Error::Protocol)? {
                        End::Item => Ok(Fed::Item(0..0)),
                        End::Complete => Ok(Fed::End),
                        End::Pending(what) => Err(flow.truncated(what)),
                    };
                }
                Next::Piece => {
                    let piece = flow.piece();
                    let input = flow.bytes(piece.clone());
                    let offset = flow.taken();
                    let step = self.machine.step(offset, input).map_err(Error::Protocol)?;
                    let event = step.ready && M::is_event(&self.machine.item(input));
                    flow.take(step.consumed);
                    if event {
                        flow.event(now);
                    }
                    if step.ready {
                        return Ok(Fed::Item(piece));
                    }
                    if step.consumed == 0 {
                        // A machine over a stream takes what it is given.
                        let kind = ErrorKind::Offset { wanted: offset + 1, given: offset };
                        return Err(Error::Protocol(CoreError::new(kind, offset)));
                    }
                }
            }
        }
    }
}

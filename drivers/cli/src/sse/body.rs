//! What the body of a response goes into.

use rocload::core::{Error, Machine, visit};

use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// How the end of the body came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Where it should.
    Cleanly,
    /// Too early: in the middle of what HTTP said would come.
    Early,
}

/// The response was cut off.
pub(super) fn cut_off() -> Failure {
    Failure::new(Status::Failed, "truncated", "the response ends before its body is complete")
}

/// Takes a body piece by piece and shows what is in it.
pub(super) trait Body {
    /// Events come.
    fn stream(&mut self, ui: &mut Ui, bytes: &[u8]) -> Result<(), Failure>;

    /// The stream is over.
    fn stream_ends(&mut self, ui: &mut Ui, ended: Ended) -> Result<(), Failure>;

    /// Nothing more is wanted.
    fn is_done(&self) -> bool;

    /// A whole body came that is no stream, with this status (200 where there was no head) and
    /// content type; or as much of it as came.
    fn whole(
        &mut self,
        ui: &mut Ui,
        status: u16,
        kind: &str,
        body: &[u8],
        ended: Ended,
    ) -> Result<(), Failure>;

    /// A body without a head that begins with this byte is a whole one.
    fn is_whole(&self, first: u8) -> bool;
}

/// Bytes on their way into a machine, which may leave some for later.
#[derive(Debug, Default)]
pub(super) struct Feed {
    kept: Vec<u8>,
    offset: u64,
}

impl Feed {
    /// Feeds a machine, and shows each item.
    pub(super) fn feed<M: Machine>(
        &mut self,
        machine: &mut M,
        bytes: &[u8],
        see: impl FnMut(<M::Kind as rocload::core::ItemKind>::Item<'_>),
    ) -> Result<(), Error> {
        if self.kept.is_empty() {
            let used = visit(machine, self.offset, bytes, see)?;
            self.offset += used as u64;
            self.kept.extend_from_slice(&bytes[used..]);
        } else {
            self.kept.extend_from_slice(bytes);
            let used = visit(machine, self.offset, &self.kept, see)?;
            self.offset += used as u64;
            self.kept.drain(..used);
        }
        Ok(())
    }
}

//! A streamed answer of a server.

use rocload_core::llama::{self, Item};

use super::supervision::Signals;
use crate::blocking::Stream;
use crate::http::{self, CancelHandle};
use crate::serve::{Error, GRACE, Visit, may_be_its_end};

/// The machine that reads an answer.
type Machine = llama::Stream<Vec<u8>, Vec<u8>>;

/// An answer as it comes: text, token ids, usage, timings, and its own errors. Dropping it tells
/// the server to stop.
#[derive(Debug)]
pub struct Generation {
    stream: Stream<Machine>,
    visit: Option<Visit<Signals>>,
    /// Why the stream failed, until that was told.
    failed: Option<http::Error>,
}

impl Generation {
    pub(super) fn new(stream: Stream<Machine>, visit: Option<Visit<Signals>>) -> Self {
        Generation { stream, visit, failed: None }
    }

    /// Waits for the next item; `None` when the answer is complete, or has failed before.
    ///
    /// # Errors
    /// [`Error::Ended`] when the server has ended meanwhile, [`Error::Stopped`] when it was stopped
    /// here, else [`Error::Http`] as [`Stream::next`]. What has come before was told.
    #[expect(clippy::should_implement_trait, reason = "an item borrows from the stream")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, Error> {
        if self.failed.is_none() {
            match self.stream.next() {
                Ok(item) => return Ok(item),
                Err(error) => self.failed = Some(error),
            }
        }
        // Kept while the reason is waited for, since whoever waits may give up and come back.
        let Some(error) = &self.failed else { return Ok(None) };
        let known = explanation(self.visit.as_ref(), error);
        let error = self.failed.take().map_or(Error::Stopped, Error::Http);
        Err(known.unwrap_or(error))
    }

    /// The text of the answer, to its end.
    ///
    /// # Errors
    /// As [`next`](Self::next); [`Error::Server`] when the server reports an error in the stream.
    pub fn text(mut self) -> Result<String, Error> {
        let mut all = String::new();
        while let Some(item) = self.next()? {
            match item {
                Item::Text { text, .. } => all.push_str(text),
                Item::Error(error) => return Err(Error::Server(error.to_string())),
                _ => {}
            }
        }
        Ok(all)
    }

    /// A handle that ends this answer from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.stream.cancel_handle()
    }

    /// The machine that reads it, for what it knows besides its items.
    pub fn machine(&self) -> &llama::Stream<Vec<u8>, Vec<u8>> {
        self.stream.machine()
    }
}

/// The error that a failed exchange is: the server's end, once that is known, or its own.
pub(super) fn explained(visit: Option<&Visit<Signals>>, error: http::Error) -> Error {
    explanation(visit, &error).unwrap_or(Error::Http(error))
}

/// The server's end, where that is why an exchange failed.
fn explanation(visit: Option<&Visit<Signals>>, error: &http::Error) -> Option<Error> {
    let visit = visit.filter(|_| may_be_its_end(error))?;
    let (shared, attempt) = (visit.shared(), visit.attempt());
    let wait = |limit, late| shared.bell.wait(Some(limit), || shared.explain(attempt, late));
    // Whoever cancels knows what happens to the server.
    let late = matches!(error, http::Error::Cancelled);
    let found = if late { None } else { wait(GRACE, false) };
    // An end that was seen is told as soon as its last words are read.
    found.or_else(|| wait(4 * GRACE, true)).flatten()
}

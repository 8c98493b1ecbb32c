//! A streamed answer as a machine: body bytes in, [`Item`]s out.

use super::fault::Fault;
use super::item::{Item, Items, Overflow, Received};
use super::json;
use super::read::{Dialect, Kept, Reader};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::need::{End, Machine, Need, Step, Storage};
use crate::sse;

/// How a [`Stream`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Whose protocol the stream speaks; detected at first.
    pub dialect: Dialect,
    /// How many answers were asked for (`n`, `n_cmpl`): a stream of `/completion` marks the end
    /// of each. 1 at first.
    pub answers: u32,
    /// At the end of the input an event that no blank line has ended counts too, if it is
    /// `[DONE]` or a whole JSON object. Off at first: the standard drops it.
    pub lenient_eof: bool,
}

impl Options {
    /// One answer of any dialect, by the standard.
    pub const fn new() -> Self {
        Options { dialect: Dialect::Detect, answers: 1, lenient_eof: false }
    }

    /// The same for one dialect.
    #[must_use]
    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// The same for so many answers.
    #[must_use]
    pub const fn answers(mut self, answers: u32) -> Self {
        self.answers = answers;
        self
    }

    /// The same with [`Options::lenient_eof`] on or off.
    #[must_use]
    pub const fn lenient_eof(mut self, on: bool) -> Self {
        self.lenient_eof = on;
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Options::new()
    }
}

/// What the current item's strings point into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The item of the parser, of whose input it has taken so many bytes.
    Held(usize),
    /// The event that the end of the input left pending.
    Pending,
    Nothing,
}

/// Reads a streamed answer: the body of an event stream from its first byte.
///
/// `S` keeps an event that does not lie whole in one chunk, `T` a string that has escapes. The
/// last item is always [`Item::End`]; a malformed stream ends in an error instead.
///
/// ```text
///   body bytes -> sse::Parser -> event -> JSON, checked -> Item ... -> [end mark] -> Item::End -> Done
///                                  |                                     ^
///                                  +-- no JSON: an error                 +-- end of the input
/// ```
///
/// The items of an event are told before its bytes count as consumed, so that they can point into
/// the input: an item for which nothing was consumed is usual. As always, what was not consumed
/// is offered again, perhaps with more behind it.
#[derive(Debug, Clone)]
pub struct Stream<S, T = S> {
    sse: sse::Parser<S>,
    text: T,
    reader: Reader,
    limits: Limits,
    lenient_eof: bool,
    source: Source,
    kept: Option<Kept>,
    /// Offset behind the last event; `cr`: a CR ended it, so that an LF there belongs to it.
    block: u64,
    cr: bool,
    truncated: bool,
    failed: Option<Error>,
}

impl<S: Storage, T: Storage> Stream<S, T> {
    /// A stream at its start. `event` is lent to the parser of events ([`sse::Parser::new`]);
    /// `text` holds one decoded string at a time, or the two of an error.
    pub fn new(options: Options, limits: &Limits, event: S, text: T) -> Self {
        Stream {
            sse: sse::Parser::new(limits, event).comments(true).fields(true),
            text,
            reader: Reader::new(options.dialect, options.answers),
            limits: *limits,
            lenient_eof: options.lenient_eof,
            source: Source::Nothing,
            kept: None,
            block: 0,
            cr: false,
            truncated: false,
            failed: None,
        }
    }

    /// What came so far: for an error of the transport, which ends a stream without its last
    /// item.
    pub const fn received(&self) -> &Received {
        &self.reader.received
    }

    /// The end was told: nothing is read any more.
    pub const fn is_done(&self) -> bool {
        self.reader.is_over()
    }

    /// The parser of events, for its last id and reconnection time.
    pub const fn events(&self) -> &sse::Parser<S> {
        &self.sse
    }

    /// The data of the current event.
    fn data<'i>(sse: &'i sse::Parser<S>, source: Source, input: &'i [u8]) -> &'i [u8] {
        match source {
            Source::Pending => sse.pending().map_or(&[], |event| event.data),
            Source::Held(_) => match sse.item(input) {
                sse::Item::Event(event) => event.data,
                sse::Item::Field(field) => field.value,
                _ => &[],
            },
            Source::Nothing => &[],
        }
    }

    fn fail<U>(&mut self, error: Error) -> Result<U, Error> {
        // The reader counts from the event's data, which may never have been in one piece.
        let kind = match error.kind {
            ErrorKind::Json(fault) => ErrorKind::Llama(Fault::Data { fault, at: error.offset }),
            kind => kind,
        };
        let error = Error::new(kind, self.block);
        self.failed = Some(error);
        Err(error)
    }

    /// Tells the next item of the event whose `held` bytes the parser has taken.
    fn tell(&mut self, held: usize, offset: u64, input: &[u8]) -> Step {
        if input.len() < held {
            // The contract is that they are offered again.
            return Step::WAIT;
        }
        self.kept = self.reader.next(Self::data(&self.sse, self.source, input), &mut self.text);
        match self.kept {
            Some(Kept::End(_)) => {
                self.source = Source::Nothing;
                Step::item(held)
            }
            Some(_) => Step::item(0),
            None => {
                self.source = Source::Nothing;
                self.block = offset + held as u64;
                self.cr = held.checked_sub(1).is_some_and(|last| input[last] == b'\r');
                Step::consumed(held)
            }
        }
    }

    /// Takes what the parser has: true when it is an event to be told.
    fn begin(&mut self, input: &[u8]) -> Result<bool, Error> {
        match self.sse.item(input) {
            sse::Item::Event(event) => {
                self.reader.begin(event.event, event.data, &self.limits)?;
                Ok(true)
            }
            sse::Item::Field(field) if field.name == b"error" => {
                self.reader.begin_error(field.value, &self.limits);
                Ok(true)
            }
            sse::Item::Comment(_) => {
                self.reader.received.comments += 1;
                Ok(false)
            }
            sse::Item::Overflow(overflow) => {
                self.reader.received.overflows += 1;
                self.kept = Some(Kept::Overflow(Overflow::Event { offset: overflow.offset }));
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// At the end of the input, in lenient mode: the pending event, if it is a whole one.
    fn begin_pending(&mut self) -> bool {
        let Some(event) = self.sse.pending() else { return false };
        let mark = event.data.trim_ascii() == b"[DONE]";
        let object =
            || json::check_lossy(event.data, 0, &self.limits).is_ok_and(json::Value::is_object);
        (mark || object()) && self.reader.begin(event.event, event.data, &self.limits).is_ok()
    }
}

impl<S: Storage, T: Storage> Machine for Stream<S, T> {
    type Kind = Items;

    fn need(&self) -> Need {
        if self.reader.is_over() { Need::Done } else { Need::More }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.reader.is_over() {
            return Ok(Step::WAIT);
        }
        self.kept = None;
        if let Source::Held(held) = self.source {
            return Ok(self.tell(held, offset, input));
        }
        if let (true, Some(&first)) = (self.cr, input.first()) {
            self.cr = false;
            self.block += u64::from(first == b'\n');
        }
        let step = self.sse.step(offset, input)?;
        if !step.ready {
            return Ok(step);
        }
        match self.begin(input) {
            Ok(true) => {
                self.source = Source::Held(step.consumed);
                Ok(self.tell(step.consumed, offset, input))
            }
            Ok(false) => Ok(Step { consumed: step.consumed, ready: self.kept.is_some() }),
            Err(error) => self.fail(error),
        }
    }

    fn item<'i>(&'i self, input: &'i [u8]) -> Item<'i> {
        let data = Self::data(&self.sse, self.source, input);
        match &self.kept {
            Some(kept) => kept.item(data, self.text.slots()),
            // No step announced one.
            None => Item::Overflow(Overflow::Text { need: 0 }),
        }
    }

    /// [`End::Item`] with [`Item::End`] unless that was told before; then [`End::Pending`] for a
    /// stream that was cut off, [`End::Complete`] for any other.
    fn end(&mut self) -> Result<End, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.reader.is_over() {
            return Ok(if self.truncated { End::Pending("stream") } else { End::Complete });
        }
        let mut pending = match self.sse.end()? {
            End::Pending(what) => what,
            _ => "none",
        };
        if self.source != Source::Pending {
            self.source = Source::Nothing;
            if self.lenient_eof && self.begin_pending() {
                self.source = Source::Pending;
            }
        }
        if self.source == Source::Pending {
            pending = "none";
            let data = Self::data(&self.sse, self.source, &[]);
            self.kept = self.reader.next(data, &mut self.text);
            if self.kept.is_some() {
                return Ok(End::Item);
            }
        }
        self.kept = self.reader.finish(pending);
        if let Some(Kept::End(ending)) = &self.kept {
            self.truncated = ending.outcome == super::Outcome::Truncated;
        }
        Ok(End::Item)
    }
}

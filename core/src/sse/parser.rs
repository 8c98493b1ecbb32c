//! The machine. A line's bytes go straight to where they belong: data to the storage, names to
//! their slots, digits to a number; so nothing is scanned twice and no line is kept whole.

mod pieces;

use core::ops::Range;

use memchr::{memchr, memchr2};

use super::NAME_BYTES;
use super::event::{Event, Field, Item, Items, Overflow};
use super::name::Name;
use crate::error::Error;
use crate::limits::Limits;
use crate::need::{End, Machine, Need, Step, Storage};
use crate::store::Store;

const BOM: &[u8] = b"\xef\xbb\xbf";
/// How servers begin a line of data.
const DATA: &[u8] = b"data: ";
const LF: u8 = b'\n';
const CR: u8 = b'\r';
const MESSAGE: &[u8] = b"message";

/// Where in a line the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the first bytes of the stream, so many of which are those of a byte-order mark.
    Bom(usize),
    /// At the first byte of a line.
    Start,
    /// In the name of a field, which is in `word` as far as it has come.
    Name,
    /// In the value of a field; `first` while a leading space may still be dropped.
    Value { kind: Kind, first: bool },
}

/// In the data of a `data` line.
const DATA_VALUE: Place = Place::Value { kind: Kind::Data, first: false };

/// What is done with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Event,
    Id,
    Retry,
    /// A comment, to be shown.
    Comment,
    /// An unknown field, to be shown.
    Field,
    /// Nothing.
    Skip,
}

/// Where a part of an item is: from where to where.
#[derive(Debug, Clone, Copy)]
enum Span {
    Input(usize, usize),
    Store(usize, usize),
    /// In `word`.
    Word,
}

#[derive(Debug, Clone, Copy)]
enum Ready {
    Nothing,
    Event(Span),
    Comment(Span),
    Field(Span, Span),
    Overflow(Overflow),
}

/// Parses a `text/event-stream` body; see the [module's text](super).
///
/// It never fails: whatever the bytes are, the standard says what they mean.
#[derive(Debug, Clone)]
pub struct Parser<S> {
    store: Store<S>,
    comments: bool,
    fields: bool,
    place: Place,
    /// A CR ended the last line: an LF that follows belongs to it.
    after_cr: bool,
    /// The block has a field that counts, or is being skipped.
    begun: bool,
    /// Inside a block whose event was too large.
    skipping: bool,
    /// The block's data: `store[..data]`, unless `borrowed`.
    data: usize,
    has_data: bool,
    /// The block's only data line so far lies whole in the input of this step.
    borrowed: Option<Range<usize>>,
    /// Bytes of the current comment's or unknown field's value, behind the data.
    tail: usize,
    /// The current name or value found no room, or is not one.
    long: bool,
    /// The digits of the current `retry`, if they are digits.
    digits: Option<u64>,
    /// The current name, or the current value of `event` or `id`.
    word: Name,
    event: Name,
    id: Name,
    /// The block's own id, if it has one.
    next_id: Name,
    has_id: bool,
    retry: Option<u64>,
    ignored: u64,
    /// Offset of the block's first byte.
    block: u64,
    ready: Ready,
}

impl<S: Storage> Parser<S> {
    /// A parser at the start of a stream. `storage` holds the data of one event that does not
    /// lie whole in one chunk; its size and [`Limits::event_bytes`] are the cap.
    pub fn new(limits: &Limits, storage: S) -> Self {
        let cap = usize::try_from(limits.event_bytes).unwrap_or(usize::MAX);
        Parser {
            store: Store { storage, cap },
            comments: false,
            fields: false,
            place: Place::Bom(0),
            after_cr: false,
            begun: false,
            skipping: false,
            data: 0,
            has_data: false,
            borrowed: None,
            tail: 0,
            long: false,
            digits: None,
            word: Name::new(),
            event: Name::new(),
            id: Name::new(),
            next_id: Name::new(),
            has_id: false,
            retry: None,
            ignored: 0,
            block: 0,
            ready: Ready::Nothing,
        }
    }

    /// Shows comments as [`Item::Comment`]; off at first.
    #[must_use]
    pub fn comments(mut self, on: bool) -> Self {
        self.comments = on;
        self
    }

    /// Shows lines of unknown fields as [`Item::Field`]; off at first.
    #[must_use]
    pub fn fields(mut self, on: bool) -> Self {
        self.fields = on;
        self
    }

    /// The last event id: what a client sends as `Last-Event-ID` when it reconnects. A blank line
    /// sets it, with or without an event.
    pub fn last_event_id(&self) -> &[u8] {
        self.id.get()
    }

    /// The reconnection time that the stream asked for last, in milliseconds.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// How many fields and comments were ignored because they were too long to keep.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The event that no blank line has dispatched yet, as far as its data has come. The
    /// standard drops it at the end of the stream; a lenient reader may look at it here.
    pub fn pending(&self) -> Option<Event<'_>> {
        let told = matches!(self.ready, Ready::Event(_));
        (self.has_data && !told).then(|| {
            let id = if self.has_id { &self.next_id } else { &self.id };
            Event::new(self.kind(), self.store.storage.slots(), self.data, id.get())
        })
    }

    /// The storage, for another parser.
    pub fn into_storage(self) -> S {
        self.store.storage
    }

    #[inline]
    fn kind(&self) -> &[u8] {
        if self.event.is_empty() { MESSAGE } else { self.event.get() }
    }

    /// Forgets the item that the last step announced.
    #[inline]
    fn forget(&mut self) {
        match self.ready {
            Ready::Nothing => return,
            // An event of a single line left nothing behind.
            Ready::Event(_) if self.begun => self.clear(),
            _ => {}
        }
        self.tail = 0;
        self.ready = Ready::Nothing;
    }

    /// Empties the block's buffers.
    fn clear(&mut self) {
        self.begun = false;
        self.data = 0;
        self.has_data = false;
        self.event.clear();
    }

    /// What most of a stream is: a block that is one `data` line, from its first byte. None when
    /// it is anything else.
    #[inline]
    fn single_line(&mut self, offset: u64, input: &[u8]) -> Option<Step> {
        if self.begun || self.after_cr || self.place != Place::Start {
            return None;
        }
        let value = input.strip_prefix(DATA)?;
        let Some(len) = line_len(value) else {
            self.has_data = true;
            self.begun = true;
            self.place = DATA_VALUE;
            let kept = self.add_data(value);
            return Some(Step { consumed: input.len(), ready: !kept });
        };
        if value[len..].first_chunk() != Some(&[LF; 2]) || !self.store.holds(len) {
            return None;
        }
        let consumed = DATA.len() + len + 2;
        self.block = offset + consumed as u64;
        self.ready = Ready::Event(Span::Input(DATA.len(), DATA.len() + len));
        Some(Step::item(consumed))
    }

    /// The second most: more of a `data` line, or its end and the block's.
    #[inline]
    fn more_data(&mut self, offset: u64, input: &[u8]) -> Option<Step> {
        if self.place != DATA_VALUE || self.skipping {
            return None;
        }
        let Some(len) = line_len(input) else {
            let kept = self.add_data(input);
            return Some(Step { consumed: input.len(), ready: !kept });
        };
        if input[len..].first_chunk() != Some(&[LF; 2]) || !self.add_data(&input[..len]) {
            return None;
        }
        self.place = Place::Start;
        self.blank(offset + len as u64 + 2);
        Some(Step::item(len + 2))
    }

    /// Takes lines from `input` until one of them makes an item. Returns how far it came.
    fn advance(&mut self, offset: u64, input: &[u8]) -> usize {
        let mut at = 0;
        if self.after_cr && !input.is_empty() {
            self.after_cr = false;
            at = usize::from(input[0] == LF);
            if self.block == offset {
                self.block += at as u64;
            }
        }
        while at < input.len() && matches!(self.ready, Ready::Nothing) {
            let end = match input[at] {
                _ if self.place != Place::Start => None,
                // A blank line is told apart before its end is searched for.
                LF | CR => Some(at),
                _ => line_len(&input[at..]).map(|len| at + len),
            };
            let Some(end) = end else {
                self.unborrow(input);
                at = self.rest_of_line(offset, input, at);
                continue;
            };
            let next = self.line_end(input, end);
            if end == at {
                self.blank(offset + next as u64);
            } else {
                self.whole_line(input, at..end);
            }
            at = next;
        }
        if !matches!(self.ready, Ready::Event(_)) {
            self.unborrow(input);
        }
        at
    }

    /// Copies a borrowed data line to the storage, where room was made sure of.
    #[inline]
    fn unborrow(&mut self, input: &[u8]) {
        if let Some(line) = self.borrowed.take() {
            self.store.write(0, &input[line.clone()]);
            self.data = line.len();
        }
    }

    /// The offset behind the line end at `at`, as far as `input` shows it.
    #[inline]
    fn line_end(&mut self, input: &[u8], at: usize) -> usize {
        if input[at] == LF {
            return at + 1;
        }
        match input.get(at + 1) {
            Some(&LF) => at + 2,
            Some(_) => at + 1,
            None => {
                self.after_cr = true;
                at + 1
            }
        }
    }

    /// A blank line: the block is over. `next` is the offset of the next one.
    #[inline]
    fn blank(&mut self, next: u64) {
        self.block = next;
        if self.skipping {
            self.skipping = false;
            self.begun = false;
            return;
        }
        if self.has_id {
            self.has_id = false;
            self.id.copy(&self.next_id);
        }
        if let Some(line) = self.borrowed.take() {
            self.ready = Ready::Event(Span::Input(line.start, line.end));
        } else if self.has_data {
            self.ready = Ready::Event(Span::Store(0, self.data));
        } else if self.begun {
            self.clear();
        }
    }

    /// A line that lies whole in `input` and is not blank.
    #[inline]
    fn whole_line(&mut self, input: &[u8], line: Range<usize>) {
        if self.skipping {
            return;
        }
        let bytes = &input[line.clone()];
        let value = |name: usize| match bytes.get(name..) {
            Some([b':', b' ', ..]) => line.start + name + 2..line.end,
            Some([b':', ..]) => line.start + name + 1..line.end,
            _ => line.end..line.end,
        };
        let is = |name: &[u8]| {
            bytes.starts_with(name) && matches!(bytes.get(name.len()), None | Some(b':'))
        };
        if is(b"data") {
            self.data_line(input, value(4));
        } else if is(b"event") {
            let set = self.event.set(&input[value(5)]);
            self.begun |= set;
            self.count_unless(set);
        } else if is(b"id") {
            self.set_id(&input[value(2)]);
        } else if is(b"retry") {
            self.digits = None;
            self.long = false;
            self.add_digits(&input[value(5)]);
            self.value_ends(Kind::Retry);
        } else if bytes[0] == b':' {
            if self.comments {
                let text = line.start + 1..line.end;
                let fits = self.fits_behind(text.len());
                self.show(fits, Ready::Comment(Span::Input(text.start, text.end)));
            }
        } else if self.fields {
            let name = memchr(b':', bytes).unwrap_or(bytes.len());
            let value = value(name);
            let fits = name <= NAME_BYTES && self.fits_behind(value.len());
            let name = Span::Input(line.start, line.start + name);
            self.show(fits, Ready::Field(name, Span::Input(value.start, value.end)));
        }
    }

    /// Whether so many bytes would find room behind the data: what is shown from the input must
    /// not be more than what could be kept.
    fn fits_behind(&mut self, len: usize) -> bool {
        let data = self.borrowed.as_ref().map_or(self.data, ExactSizeIterator::len);
        data.checked_add(len).is_some_and(|need| self.store.holds(need))
    }

    fn show(&mut self, fits: bool, ready: Ready) {
        self.count_unless(fits);
        if fits {
            self.ready = ready;
        }
    }

    fn count_unless(&mut self, kept: bool) {
        self.ignored = self.ignored.saturating_add(u64::from(!kept));
    }

    #[inline]
    fn data_line(&mut self, input: &[u8], value: Range<usize>) {
        if !self.has_data {
            if !self.store.holds(value.len()) {
                return self.overflow();
            }
            self.has_data = true;
            self.begun = true;
            self.borrowed = Some(value);
            return;
        }
        self.unborrow(input);
        if self.add_data(b"\n") {
            self.add_data(&input[value]);
        }
    }

    /// Appends to the data; false if there was no room.
    fn add_data(&mut self, bytes: &[u8]) -> bool {
        let written = self.store.write(self.data, bytes);
        if written {
            self.data += bytes.len();
        } else {
            self.overflow();
        }
        written
    }

    #[cold]
    fn overflow(&mut self) {
        self.clear();
        self.borrowed = None;
        self.has_id = false;
        self.skipping = true;
        self.begun = true;
        self.ready = Ready::Overflow(Overflow { offset: self.block });
    }

    fn set_id(&mut self, value: &[u8]) {
        let fits = value.len() <= NAME_BYTES;
        self.count_unless(fits);
        // The standard ignores an id with a NUL in it.
        if fits && memchr(0, value).is_none() {
            self.has_id = self.next_id.set(value);
            self.begun = true;
        }
    }

    fn add_digits(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.long |= !byte.is_ascii_digit();
            let digit = u64::from(byte.wrapping_sub(b'0'));
            self.digits = Some(self.digits.unwrap_or(0).saturating_mul(10).saturating_add(digit));
        }
    }

    #[inline]
    fn part<'i>(&'i self, span: Span, input: &'i [u8]) -> &'i [u8] {
        let (bytes, len) = self.behind(span, input);
        &bytes[..len]
    }

    /// The bytes from the first of `span` on, and how many of them are in it: none if `input` is
    /// not that of the last step.
    #[inline]
    fn behind<'i>(&'i self, span: Span, input: &'i [u8]) -> (&'i [u8], usize) {
        let (bytes, start, end) = match span {
            Span::Input(start, end) => (input, start, end),
            Span::Store(start, end) => (self.store.storage.slots(), start, end),
            Span::Word => (self.word.get(), 0, self.word.get().len()),
        };
        match bytes.get(start..) {
            Some(bytes) if bytes.len() >= end - start => (bytes, end - start),
            _ => (&[], 0),
        }
    }
}

/// Length of the line that `bytes` begin with, if they have its end.
#[inline]
fn line_len(bytes: &[u8]) -> Option<usize> {
    // For a few bytes a search costs less than getting it ready.
    if bytes.len() < 8 {
        return bytes.iter().position(|byte| matches!(*byte, LF | CR));
    }
    memchr2(LF, CR, bytes)
}

impl<S: Storage> Machine for Parser<S> {
    type Kind = Items;

    fn need(&self) -> Need {
        Need::More
    }

    #[inline]
    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        self.forget();
        if input.is_empty() {
            return Ok(Step::WAIT);
        }
        if let Some(step) = self.single_line(offset, input) {
            return Ok(step);
        }
        if let Some(step) = self.more_data(offset, input) {
            return Ok(step);
        }
        let consumed = self.advance(offset, input);
        Ok(Step { consumed, ready: !matches!(self.ready, Ready::Nothing) })
    }

    #[inline(always)]
    fn item<'i>(&'i self, input: &'i [u8]) -> Item<'i> {
        match self.ready {
            Ready::Event(data) => {
                let (bytes, len) = self.behind(data, input);
                Item::Event(Event::new(self.kind(), bytes, len, self.id.get()))
            }
            Ready::Comment(text) => Item::Comment(self.part(text, input)),
            Ready::Field(name, value) => {
                Item::Field(Field { name: self.part(name, input), value: self.part(value, input) })
            }
            Ready::Overflow(overflow) => Item::Overflow(overflow),
            // No step announced one.
            Ready::Nothing => Item::Comment(b""),
        }
    }

    /// [`End::Complete`] between blocks; `Pending("line")` inside a line; `Pending("event")`
    /// where fields of a block are dropped for want of its blank line.
    fn end(&mut self) -> Result<End, Error> {
        self.forget();
        Ok(match self.place {
            Place::Start if self.begun => End::Pending("event"),
            Place::Start | Place::Bom(0) => End::Complete,
            _ => End::Pending("line"),
        })
    }
}

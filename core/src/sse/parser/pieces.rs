//! Lines that do not lie whole in one chunk: names and values as their bytes come.

use memchr::{memchr, memchr3};

use super::{BOM, CR, Kind, LF, Parser, Place, Ready, Span, line_len};
use crate::need::Storage;

impl<S: Storage> Parser<S> {
    /// Goes on in a line that began in an earlier chunk, or that ends in a later one. Returns how
    /// far it came.
    pub(super) fn rest_of_line(&mut self, offset: u64, input: &[u8], at: usize) -> usize {
        let rest = &input[at..];
        match self.place {
            Place::Bom(matched) => self.byte_order_mark(rest[0], matched, offset, at),
            Place::Start => {
                self.word.clear();
                self.long = false;
                self.place = match self.skipping {
                    true => Place::Value { kind: Kind::Skip, first: false },
                    false => Place::Name,
                };
                at
            }
            Place::Name => {
                let stop = memchr3(b':', LF, CR, rest);
                let part = &rest[..stop.unwrap_or(rest.len())];
                self.long |= !self.word.push(part);
                let Some(stop) = stop else { return input.len() };
                let kind = self.value_begins();
                let colon = rest[stop] == b':';
                self.place = Place::Value { kind, first: colon && kind != Kind::Comment };
                at + stop + usize::from(colon)
            }
            Place::Value { kind, first: true } => {
                self.place = Place::Value { kind, first: false };
                at + usize::from(rest[0] == b' ')
            }
            Place::Value { kind, first: false } => {
                let end = line_len(rest);
                self.value(kind, &rest[..end.unwrap_or(rest.len())]);
                let Some(end) = end else { return input.len() };
                if !self.skipping {
                    self.value_ends(kind);
                }
                self.place = Place::Start;
                self.line_end(input, at + end)
            }
        }
    }

    fn byte_order_mark(&mut self, byte: u8, matched: usize, offset: u64, at: usize) -> usize {
        if byte == BOM[matched] {
            self.place = Place::Bom(matched + 1);
            if matched + 1 == BOM.len() {
                self.place = Place::Start;
                self.block = offset + at as u64 + 1;
            }
            return at + 1;
        }
        // What looked like one is the beginning of a field's name.
        self.place = Place::Start;
        if matched > 0 {
            self.word.push(&BOM[..matched]);
            self.place = Place::Name;
        }
        at
    }

    /// `word` holds the name of a field: what is to be done with its value.
    fn value_begins(&mut self) -> Kind {
        let long = core::mem::take(&mut self.long);
        let kind = match self.word.get() {
            _ if long => {
                self.count_unless(!self.fields);
                Kind::Skip
            }
            b"" if self.comments => Kind::Comment,
            b"" => Kind::Skip,
            b"data" => Kind::Data,
            b"event" => Kind::Event,
            b"id" => Kind::Id,
            b"retry" => Kind::Retry,
            _ if self.fields => Kind::Field,
            _ => Kind::Skip,
        };
        match kind {
            Kind::Data => {
                self.begun = true;
                if core::mem::replace(&mut self.has_data, true) {
                    self.add_data(b"\n");
                }
            }
            Kind::Event | Kind::Id => self.word.clear(),
            Kind::Retry => self.digits = None,
            _ => {}
        }
        kind
    }

    /// A part of a value.
    fn value(&mut self, kind: Kind, part: &[u8]) {
        match kind {
            _ if self.skipping => {}
            Kind::Data => {
                self.add_data(part);
            }
            Kind::Event | Kind::Id => self.long |= !self.word.push(part),
            Kind::Retry => self.add_digits(part),
            Kind::Comment | Kind::Field => {
                self.long = self.long || !self.store.write(self.data + self.tail, part);
                self.tail += part.len();
            }
            Kind::Skip => {}
        }
    }

    pub(super) fn value_ends(&mut self, kind: Kind) {
        let fits = !core::mem::take(&mut self.long);
        let text = Span::Store(self.data, self.data + self.tail);
        match kind {
            Kind::Data | Kind::Skip => {}
            Kind::Event if fits => {
                self.event.copy(&self.word);
                self.begun = true;
            }
            Kind::Id if fits => {
                if memchr(0, self.word.get()).is_none() {
                    self.next_id.copy(&self.word);
                    self.has_id = true;
                    self.begun = true;
                }
            }
            Kind::Event | Kind::Id => self.count_unless(false),
            Kind::Retry if fits => self.retry = self.digits.or(self.retry),
            Kind::Retry => {}
            Kind::Comment => self.show(fits, Ready::Comment(text)),
            Kind::Field => self.show(fits, Ready::Field(Span::Word, text)),
        }
        if !fits {
            self.tail = 0;
        }
    }
}

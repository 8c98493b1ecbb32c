//! A key and its value.

use super::super::fault::{Counted, Fault, Note};
use super::super::interest::{Interest, Want};
use super::super::value::{Scalar, ValueKind, ValueType};
use super::{Emit, Frame, Key, MAX_ARCHITECTURE, MAX_DEPTH, Reader, Role, State, Turn, walk};
use crate::error::Error;
use crate::limits::Cap;
use crate::need::{Step, Storage};

impl<S: Storage, I: Interest> Reader<S, I> {
    pub(super) fn key_length(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some(len) = self.word(rest) else { return Ok(Turn::Wait) };
        if len == 0 {
            return Err(self.error(Fault::KeyEmpty));
        }
        self.name_room(len)?;
        self.enter(State::KeyName(0))
    }

    /// A value type at the front of `rest`.
    fn value_type(&mut self, rest: &[u8]) -> Result<Option<ValueType>, Error> {
        let Some(found) = self.u32(rest) else { return Ok(None) };
        let Some(ty) = ValueType::from_id(found) else {
            return Err(self.error(Fault::ValueType { found }));
        };
        Ok(Some(ty))
    }

    fn note_newer(&mut self, found: ValueType) -> Result<(), Error> {
        if self.header.version == 1 && found.id() >= ValueType::U64.id() {
            self.note(Note::NewerType { found }, self.at)?;
        }
        Ok(())
    }

    pub(super) fn key_type(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some(ty) = self.value_type(rest)? else { return Ok(Turn::Wait) };
        // Noted when the name is known, which is told with it.
        let len = self.name_len as u64;
        if len > u64::from(u16::MAX) {
            self.note(Note::KeyLong { len }, self.begin)?;
        }
        if !self.name().is_ascii() {
            self.note(Note::KeyNotAscii, self.begin)?;
        }
        self.note_newer(ty)?;
        self.role = match self.name() {
            b"general.alignment" => Role::Alignment,
            b"general.architecture" => Role::Architecture,
            _ => Role::Other,
        };
        if self.role == Role::Alignment && ty != ValueType::U32 {
            if !ty.is_integer() {
                return Err(self.error(Fault::AlignmentType { found: ty }));
            }
            self.note(Note::AlignmentType { found: ty }, self.at)?;
        }
        self.key = ((self.header.keys - self.keys_left) as u32, self.begin);
        self.odd_bool = None;
        self.at += 4;
        match ty {
            ValueType::String => return self.enter(State::StringLength),
            ValueType::Array => return self.enter(State::ArrayHead),
            _ => self.kind = ValueKind::Scalar(ty),
        }
        self.enter(State::Scalar)?;
        self.ask();
        Ok(self.key_turn())
    }

    /// Asks what is wanted of the key. One that is worth a warning is shown in any case.
    fn ask(&mut self) {
        let name = self.storage.slots().get(..self.name_len).unwrap_or(&[]);
        let (ordinal, offset) = self.key;
        let key = Key { name, ordinal, kind: self.kind, offset };
        let architecture = self.architecture_len.and_then(|len| self.architecture.get(..len));
        self.want = self.interest.want(&key, architecture);
        if self.notes[0].is_some() {
            self.want = self.want.max(Want::Key);
        }
    }

    fn key_turn(&self) -> Turn {
        if self.want == Want::Nothing { Turn::On } else { Turn::Ready(Emit::Key) }
    }

    pub(super) fn string_length(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some(len) = self.word(rest) else { return Ok(Turn::Wait) };
        self.at += self.width() as u64;
        self.require(len)?;
        self.kind = ValueKind::String { len };
        self.ask();
        if self.role == Role::Architecture {
            self.architecture_len = (len == 0).then_some(0);
        }
        let kept = self.role == Role::Architecture && len <= MAX_ARCHITECTURE as u64;
        if len > 0 && (self.shown() || kept) {
            self.text = (len, 0);
            self.state = State::Text(0);
        } else {
            self.at += len;
            self.value_over()?;
        }
        Ok(self.key_turn())
    }

    pub(super) fn array_head(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some((element, len)) = self.head(rest)? else { return Ok(Turn::Wait) };
        self.kind = ValueKind::Array { element, len };
        if element == ValueType::Array {
            self.note(Note::Nested, self.begin)?;
        }
        self.ask();
        self.depth = 0;
        self.push(element, len)?;
        self.settle()?;
        Ok(self.key_turn())
    }

    /// The head of an array: the type and number of its elements, for which there must be room.
    fn head(&mut self, rest: &[u8]) -> Result<Option<(ValueType, u64)>, Error> {
        let Some(len) = rest.get(4..).and_then(|rest| self.word(rest)) else { return Ok(None) };
        let Some(element) = self.value_type(rest)? else { return Ok(None) };
        self.note_newer(element)?;
        let width = self.width() as u64;
        let least = match element {
            ValueType::String => width,
            ValueType::Array => 4 + width,
            _ => element.size().unwrap_or(1),
        };
        self.at += 4;
        self.room(Counted::Elements, len, least, width)?;
        self.cap(Cap::GgufArray, len, self.limits.gguf_array)?;
        self.at += width;
        // So that what is shown ends where what is passed over does.
        self.require(len.saturating_mul(least))?;
        Ok(Some((element, len)))
    }

    fn push(&mut self, element: ValueType, len: u64) -> Result<(), Error> {
        let most = usize::from(self.limits.gguf_depth).min(MAX_DEPTH);
        self.cap(Cap::GgufDepth, self.depth as u64 + 1, most as u64)?;
        if let Some(frame) = self.frames.get_mut(self.depth) {
            *frame = Frame { element, len, left: len };
            self.depth += 1;
        }
        Ok(())
    }

    /// Takes `count` elements off the innermost array.
    fn took(&mut self, count: u64) {
        if let Some(frame) = self.depth.checked_sub(1).and_then(|top| self.frames.get_mut(top)) {
            frame.left -= count;
        }
    }

    /// Decides what follows once an element, or the head of an array, is over.
    fn settle(&mut self) -> Result<(), Error> {
        while let Some(frame) = self.frame() {
            if frame.left == 0 {
                self.depth -= 1;
                continue;
            }
            let state = match (frame.element, self.shown()) {
                (ValueType::Array, _) => State::Inner,
                (ValueType::String, true) => State::ElementLength,
                (ValueType::String, false) => State::Strings,
                (_, true) => State::Elements,
                (fixed, false) => {
                    let bytes = frame.left.saturating_mul(fixed.size().unwrap_or(1));
                    self.require(bytes)?;
                    self.at += bytes;
                    self.took(frame.left);
                    continue;
                }
            };
            return self.enter(state).map(|_| ());
        }
        self.value_over()
    }

    /// The key's value is over.
    fn value_over(&mut self) -> Result<(), Error> {
        if let Some((found, offset)) = self.odd_bool.take() {
            self.note(Note::Bool { found }, offset)?;
        }
        self.keys_left -= 1;
        self.next_entry().map(|_| ())
    }

    pub(super) fn scalar(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let (ty, endian) = (self.kind.ty(), self.header.endian);
        let Some(value) = Scalar::read(ty, endian, rest) else { return Ok(Turn::Wait) };
        if ty == ValueType::Bool {
            self.look_at_bools(&rest[..1]);
        }
        if self.role == Role::Alignment {
            self.align(value)?;
        }
        self.at += ty.size().unwrap_or(1);
        self.value_over()?;
        Ok(if self.shown() { Turn::Ready(Emit::Value(value)) } else { Turn::On })
    }

    /// Takes `general.alignment` over.
    fn align(&mut self, value: Scalar) -> Result<(), Error> {
        let found = match value {
            Scalar::I8(value) => i64::from(value) as u64,
            Scalar::I16(value) => i64::from(value) as u64,
            Scalar::I32(value) => i64::from(value) as u64,
            Scalar::I64(value) => value as u64,
            other => other.to_u64().unwrap_or(0),
        };
        if !found.is_power_of_two() || value.to_u64().is_err() {
            return Err(self.error(Fault::Alignment { found }));
        }
        self.cap(Cap::GgufAlignment, found, self.limits.gguf_alignment.into())?;
        if found < 8 {
            self.note(Note::AlignmentSmall { alignment: found }, self.at)?;
        }
        // The cap is a u32.
        self.alignment = found as u32;
        Ok(())
    }

    /// Remembers the first byte that is neither 0 nor 1.
    fn look_at_bools(&mut self, bytes: &[u8]) {
        if self.odd_bool.is_none()
            && let Some(at) = bytes.iter().position(|&byte| byte > 1)
        {
            self.odd_bool = Some((bytes[at], self.at + at as u64));
        }
    }

    /// A string: all of it where it is short, else what there is.
    pub(super) fn string(&mut self, rest: &[u8], from: usize, done: u64) -> Result<Turn, Error> {
        let (of, index) = self.text;
        if rest.len() < self.min() {
            return Ok(Turn::Wait);
        }
        let len = usize::try_from(of - done).unwrap_or(usize::MAX).min(rest.len());
        if self.role == Role::Architecture
            && of <= MAX_ARCHITECTURE as u64
            && let ValueKind::String { .. } = self.kind
        {
            // Both are at most MAX_ARCHITECTURE.
            self.architecture[done as usize..][..len].copy_from_slice(&rest[..len]);
            self.architecture_len = (done + len as u64 == of).then_some(of as usize);
        }
        self.at += len as u64;
        if done + (len as u64) < of {
            self.state = State::Text(done + len as u64);
        } else {
            self.doom = self.settle().err();
        }
        let emit = Emit::Text { from, len, index, start: done, of };
        Ok(if self.shown() { Turn::Ready(emit) } else { Turn::On })
    }

    pub(super) fn element_length(&mut self, rest: &[u8], from: usize) -> Result<Turn, Error> {
        let (Some(of), Some(frame)) = (self.word(rest), self.frame()) else {
            return Ok(Turn::Wait);
        };
        let width = self.width();
        self.at += width as u64;
        self.require(of)?;
        self.took(1);
        self.text = (of, frame.len - frame.left);
        self.state = State::Text(0);
        let here = &rest[width..];
        // The string is here, as nearly always: one turn less.
        if of == 0 || of <= self.limits.contiguous as u64 && here.len() as u64 >= of {
            let (len, index) = (of as usize, self.text.1);
            self.at += of;
            self.doom = self.settle().err();
            return Ok(Turn::Ready(Emit::Text { from: from + width, len, index, start: 0, of }));
        }
        Ok(Turn::On)
    }

    /// The short way of the commonest step: a string of an array that is all in the input and
    /// has another behind it. `None` = the long way, [`element_length`](Self::element_length).
    #[inline]
    pub(super) fn next_string(&mut self, offset: u64, input: &[u8]) -> Option<Step> {
        let (width, of) = (self.width(), self.word(input)?);
        let len = usize::try_from(of).ok().filter(|len| *len <= self.limits.contiguous)?;
        let end = width.checked_add(len).filter(|end| *end <= input.len())?;
        // The next length must be within the input's length and the header's cap, too.
        let behind = self.at.checked_add((end + width) as u64)?;
        let bound = self.limits.gguf_header_bytes.min(self.total.unwrap_or(u64::MAX));
        let frame = self.frames.get_mut(self.depth.checked_sub(1)?)?;
        if frame.left < 2 || behind > bound || offset != self.at || self.notes[0].is_some() {
            return None;
        }
        let index = frame.len - frame.left;
        frame.left -= 1;
        self.at += end as u64;
        self.emit = Emit::Text { from: width, len, index, start: 0, of };
        Some(Step::item(end))
    }

    pub(super) fn elements(&mut self, rest: &[u8], from: usize) -> Result<Turn, Error> {
        let Some(frame) = self.frame() else { return Ok(Turn::Wait) };
        let (block, ty) = (self.block(), frame.element);
        if rest.len() < block {
            return Ok(Turn::Wait);
        }
        let size = ty.size().unwrap_or(1);
        // Bools are looked at block by block, so that a refusal does not depend on the chunks.
        let len = if ty == ValueType::Bool {
            self.look_at_bools(&rest[..block]);
            block
        } else {
            // Whole blocks, or all that are left: where the input stops short, what was shown
            // does not depend on the chunks.
            let (here, all) = (rest.len() as u64, frame.left.saturating_mul(size));
            if here >= all { all as usize } else { rest.len() - rest.len() % block }
        };
        let count = len as u64 / size;
        self.took(count);
        self.at += len as u64;
        self.doom = self.settle().err();
        let first = frame.len - frame.left;
        Ok(Turn::Ready(Emit::Elements { from, len, ty, first, of: frame.len }))
    }

    pub(super) fn strings(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some(frame) = self.frame() else { return Ok(Turn::Wait) };
        // Beyond the header's cap or the input's length nothing is walked in one go.
        let bound = self.limits.gguf_header_bytes.min(self.total.unwrap_or(u64::MAX));
        let room = bound.saturating_sub(self.at);
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(rest.len());
        let walk = walk::strings(&rest[..room], frame.left, self.header);
        let mut taken = frame.left - walk.left;
        self.at += walk.bytes as u64;
        if let Some(len) = walk.crosses {
            self.at += self.width() as u64;
            self.require(len)?;
            self.at += len;
            taken += 1;
        }
        self.took(taken);
        if taken == 0 {
            // The word itself is not here, or beyond the cap.
            if rest.len() >= self.width() {
                self.require(self.width() as u64)?;
            }
            return Ok(Turn::Wait);
        }
        self.settle()?;
        Ok(Turn::On)
    }

    pub(super) fn inner(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let before = self.at;
        let Some((element, len)) = self.head(rest)? else { return Ok(Turn::Wait) };
        self.took(1);
        let depth = self.depth as u8 + 1;
        if self.depth >= usize::from(self.limits.gguf_depth).min(MAX_DEPTH) {
            self.at = before;
        }
        self.push(element, len)?;
        self.settle()?;
        let emit = Emit::Inner { depth, element, len };
        Ok(if self.shown() { Turn::Ready(emit) } else { Turn::On })
    }
}

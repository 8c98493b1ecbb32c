//! A row of the tensor table.

use super::super::GgmlType;
use super::super::fault::{Fault, Note};
use super::super::interest::Interest;
use super::super::tensor::{MAX_DIMS, TensorInfo, measure};
use super::{Emit, Reader, State, Turn};
use crate::error::{Error, ErrorKind};
use crate::need::Storage;

impl<S: Storage, I: Interest> Reader<S, I> {
    pub(super) fn name_length(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some(len) = self.word(rest) else { return Ok(Turn::Wait) };
        self.name_room(len)?;
        if len == 0 {
            self.note(Note::NameEmpty, self.begin)?;
            return self.enter(State::Dimensions);
        }
        self.enter(State::Name(0))
    }

    pub(super) fn dimensions(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        let Some(found) = self.u32(rest) else { return Ok(Turn::Wait) };
        // Noted when the name is known, which is told with it.
        let len = self.name_len as u64;
        if len >= 64 {
            self.note(Note::NameLong { len }, self.begin)?;
        }
        match u8::try_from(found) {
            Ok(n_dims) if usize::from(n_dims) <= MAX_DIMS => self.info.n_dims = n_dims,
            _ => return Err(self.error(Fault::Dimensions { found })),
        }
        self.at += 4;
        self.enter(State::Row)
    }

    /// Dimensions, type and offset.
    pub(super) fn row(&mut self, rest: &[u8]) -> Result<Turn, Error> {
        if rest.len() < self.min() {
            return Ok(Turn::Wait);
        }
        let (width, endian) = (self.width(), self.header.endian);
        let count = usize::from(self.info.n_dims);
        let mut dims = [0; MAX_DIMS];
        for (at, dim) in dims.iter_mut().take(count).enumerate() {
            *dim = self.word(&rest[at * width..]).unwrap_or_default();
        }
        let behind = &rest[count * width..];
        let type_at = self.at + (count * width) as u64;
        let ty = GgmlType(self.u32(behind).unwrap_or_default());
        let offset = behind[4..].first_chunk().map_or(0, |bytes| endian.u64(*bytes));

        let refuse = |fault, at| Error::new(ErrorKind::Gguf(fault), at);
        let dims_here = dims.get(..count).unwrap_or(&dims);
        let (elements, size) = measure(dims_here, ty).map_err(|fault| {
            let at = if let Fault::RemovedType { .. } = fault { type_at } else { self.at };
            refuse(fault, at)
        })?;
        if offset % u64::from(self.alignment) != 0 {
            let fault = Fault::Unaligned { offset, alignment: self.alignment };
            return Err(refuse(fault, type_at + 4));
        }
        let end = offset.checked_add(size.unwrap_or(0));
        if end.is_none_or(|end| end > i64::MAX as u64) {
            return Err(refuse(Fault::Size, type_at + 4));
        }
        if size.is_none() {
            self.note(Note::UnknownType { found: ty }, type_at)?;
        }
        let ordinal = (self.header.tensors - self.tensors_left) as u32;
        let n_dims = self.info.n_dims;
        self.info =
            TensorInfo { ordinal, ty, dims, n_dims, elements, offset, size, row: self.begin };
        self.at += (count * width) as u64 + 12;
        self.tensors_left -= 1;
        self.next_entry()?;
        Ok(Turn::Ready(Emit::Tensor))
    }
}

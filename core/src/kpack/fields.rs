//! The fields of a TOC's rows: an entry's map and a blob's, in the shape that every known writer emits, and in any other.

use core::ops::Range;

use super::walk::kpack;
use super::{Blob, Fault, Field, Repeated};
use crate::WIDE;
use crate::error::{Error, ErrorKind};
use crate::limits::Cap;
use crate::msgpack::{Reader, front_uint};

/// Names the field whose value has the wrong type or range.
#[cold]
pub(super) fn in_field(field: Field, error: Error) -> Error {
    match error.kind {
        ErrorKind::Msgpack(fault) => kpack(Fault::Value { field, fault }, error.offset),
        _ => error,
    }
}

/// Marks a field as seen; the second time is an error in strict reading.
#[inline]
pub(super) fn once(seen: &mut u32, field: Field, at: u64, strict: bool) -> Result<(), Error> {
    let bit = 1u32 << field as u32;
    if *seen & bit != 0 && strict {
        return Err(kpack(Fault::Duplicate(Repeated::Field(field)), at));
    }
    *seen |= bit;
    Ok(())
}

/// Containers that an entry's fields stand in: the root, `toc`, the binary, the entry.
pub(super) const ENTRY_DEPTH: u8 = 4;
/// Containers that a blob's fields stand in: the root, `blobs`, the blob.
const BLOB_DEPTH: u8 = 3;

/// Passes over a value that stands inside `used` containers, of which `cap` may be nested.
pub(super) fn skip_at(reader: &mut Reader<'_>, cap: u8, used: u8) -> Result<(), Error> {
    let most = cap;
    reader.skip(cap.saturating_sub(used)).map_err(|mut error| {
        if let ErrorKind::Limit { cap: Cap::MsgpackDepth, value, limit } = &mut error.kind {
            *value += u64::from(used);
            // The containers around it may be more than the cap: it is the cap that is told.
            *limit = (*limit + u64::from(used)).min(most.into());
        }
        error
    })
}

/// The values of an entry's map.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Values<'a> {
    pub(crate) kind: Option<&'a [u8]>,
    pub(crate) ordinal: u32,
    pub(crate) original_size: Option<u64>,
    pub(crate) metadata: Option<&'a [u8]>,
    pub(crate) frame_offset: Option<u64>,
    pub(crate) frame_size: Option<u32>,
    pub(crate) sha256: Option<&'a [u8; 32]>,
}

/// Reads an entry's map; `depth` caps the nesting of the whole TOC.
#[inline]
pub(crate) fn read_entry<'a>(
    reader: &mut Reader<'a>,
    depth: u8,
    strict: bool,
) -> Result<Values<'a>, Error> {
    let usual = if WIDE { usual_entry(reader.rest()) } else { None };
    match usual {
        Some((values, len)) => {
            reader.pass(len);
            Ok(values)
        }
        None => read_any_entry(reader, depth, strict),
    }
}

/// The entry at the front of `bytes` and its length, if it has the shape that every writer
/// known emits: two comparisons stand for five tokens.
#[inline]
fn usual_entry(bytes: &[u8]) -> Option<(Values<'_>, usize)> {
    const KIND: Range<usize> = 7..12;
    let (&head, rest) = bytes.split_first()?;
    let rest = rest.strip_prefix(b"\xa4type\xa5hsaco\xa7ordinal")?;
    let (ordinal, rest) = front_uint(rest)?;
    let rest = rest.strip_prefix(b"\xadoriginal_size")?;
    let (size, rest) = front_uint(rest)?;
    let mut values = Values {
        kind: bytes.get(KIND),
        ordinal: u32::try_from(ordinal).ok()?,
        original_size: Some(size),
        ..Values::default()
    };
    let rest = match head {
        0x83 => rest,
        0x84..=0x86 => usual_options(head - 0x83, rest, &mut values)?,
        _ => return None,
    };
    Some((values, bytes.len() - rest.len()))
}

/// Reads `count` optional fields in the order in which this project's writer has them.
#[inline]
fn usual_options<'a>(count: u8, rest: &'a [u8], values: &mut Values<'a>) -> Option<&'a [u8]> {
    let (mut rest, mut found) = (rest, 0);
    if let Some(after) = rest.strip_prefix(b"\xacframe_offset") {
        let (offset, after) = front_uint(after)?;
        (values.frame_offset, rest, found) = (Some(offset), after, found + 1);
    }
    if let Some(after) = rest.strip_prefix(b"\xaaframe_size") {
        let (size, after) = front_uint(after)?;
        values.frame_size = Some(u32::try_from(size).ok()?);
        (rest, found) = (after, found + 1);
    }
    if let Some(after) = rest.strip_prefix(b"\xa6sha256\xc4\x20") {
        let (sum, after) = after.split_first_chunk()?;
        (values.sha256, rest, found) = (Some(sum), after, found + 1);
    }
    (found == count).then_some(rest)
}

#[inline(never)]
fn read_any_entry<'a>(
    reader: &mut Reader<'a>,
    depth: u8,
    strict: bool,
) -> Result<Values<'a>, Error> {
    let start = reader.offset();
    let mut values = Values::default();
    let mut seen = 0;
    for _ in 0..reader.map()? {
        let at = reader.offset();
        let field = match reader.str()? {
            b"type" => Field::Type,
            b"ordinal" => Field::Ordinal,
            b"original_size" => Field::OriginalSize,
            b"metadata" => Field::Metadata,
            b"frame_offset" => Field::FrameOffset,
            b"frame_size" => Field::FrameSize,
            b"sha256" => Field::Sha256,
            _ => {
                skip_at(reader, depth, ENTRY_DEPTH)?;
                continue;
            }
        };
        once(&mut seen, field, at, strict)?;
        let value = match field {
            Field::Type => reader.str().map(|kind| values.kind = Some(kind)),
            Field::Ordinal => reader.u32().map(|ordinal| values.ordinal = ordinal),
            Field::OriginalSize => reader.u64().map(|size| values.original_size = Some(size)),
            Field::FrameOffset | Field::FrameSize | Field::Sha256 if !strict => {
                optional(field, reader, &mut values).or_else(|_| {
                    // Other readers do not know these: what is wrong with them is no fault.
                    skip_at(reader, depth, ENTRY_DEPTH)
                })
            }
            Field::FrameOffset | Field::FrameSize | Field::Sha256 => {
                optional(field, reader, &mut values)
            }
            _ => metadata(reader, depth).map(|map| values.metadata = Some(map)),
        };
        value.map_err(|error| in_field(field, error))?;
    }
    if seen & (1 << Field::Ordinal as u32) == 0 {
        return Err(kpack(Fault::Missing(Field::Ordinal), start));
    }
    Ok(values)
}

/// Reads the value of a field that an entry need not have, or leaves the reader before it.
fn optional<'a>(
    field: Field,
    reader: &mut Reader<'a>,
    values: &mut Values<'a>,
) -> Result<(), Error> {
    match field {
        Field::FrameOffset => {
            values.frame_offset = None;
            values.frame_offset = Some(reader.u64()?);
        }
        Field::FrameSize => {
            values.frame_size = None;
            values.frame_size = Some(reader.u32()?);
        }
        _ => {
            values.sha256 = None;
            let at = reader.offset();
            let mut ahead = *reader;
            let sum = ahead.bin()?;
            let size = sum.len() as u64;
            let sum = sum.try_into().map_err(|_| kpack(Fault::Sha256Size { size }, at))?;
            values.sha256 = Some(sum);
            *reader = ahead;
        }
    }
    Ok(())
}

/// An entry's metadata, which must be a map, as MessagePack.
fn metadata<'a>(reader: &mut Reader<'a>, depth: u8) -> Result<&'a [u8], Error> {
    let rest = reader.rest();
    let before = reader.position();
    // Looked at for its type alone; the skip reads it again with its elements.
    let mut head = *reader;
    head.map()?;
    skip_at(reader, depth, ENTRY_DEPTH)?;
    Ok(&rest[..reader.position() - before])
}

/// The blob at the front of `bytes` and its length, if it has the shape of every writer known.
#[inline]
fn usual_blob(bytes: &[u8]) -> Option<(Blob, usize)> {
    let rest = bytes.strip_prefix(b"\x82\xa6offset")?;
    let (offset, rest) = front_uint(rest)?;
    let rest = rest.strip_prefix(b"\xa4size")?;
    let (size, rest) = front_uint(rest)?;
    Some((Blob { offset, size }, bytes.len() - rest.len()))
}

/// Reads a blob's map; both of its fields are required.
pub(crate) fn read_blob(reader: &mut Reader<'_>, depth: u8, strict: bool) -> Result<Blob, Error> {
    if WIDE && let Some((blob, len)) = usual_blob(reader.rest()) {
        reader.pass(len);
        return Ok(blob);
    }
    let start = reader.offset();
    let mut blob = Blob::default();
    let mut seen = 0;
    for _ in 0..reader.map()? {
        let at = reader.offset();
        let field = match reader.str()? {
            b"offset" => Field::Offset,
            b"size" => Field::Size,
            _ => {
                skip_at(reader, depth, BLOB_DEPTH)?;
                continue;
            }
        };
        once(&mut seen, field, at, strict)?;
        let value = reader.u64().map_err(|error| in_field(field, error))?;
        match field {
            Field::Offset => blob.offset = value,
            _ => blob.size = value,
        }
    }
    for field in [Field::Offset, Field::Size] {
        if seen & (1 << field as u32) == 0 {
            return Err(kpack(Fault::Missing(field), start));
        }
    }
    Ok(blob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_is_told_however_many_containers_stand_around_a_value() {
        for (cap, value) in [(0, 5), (3, 5), (4, 5)] {
            let error = skip_at(&mut Reader::new(b"\x91\x01", 0), cap, 4).unwrap_err();
            let limit = u64::from(cap);
            let kind = ErrorKind::Limit { cap: Cap::MsgpackDepth, value, limit };
            assert_eq!(error.kind, kind);
        }
        assert_eq!(skip_at(&mut Reader::new(b"\x91\x01", 0), 5, 4), Ok(()));
    }
}

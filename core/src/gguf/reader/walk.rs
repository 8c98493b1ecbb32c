//! Length words, and the tight loop that walks over the strings of an array.

use super::super::value::Endian;
use super::Header;

/// A count, a length or a dimension at the front of `bytes`: 4 bytes in version 1, else 8.
#[inline]
pub(super) fn word(bytes: &[u8], header: Header) -> Option<u64> {
    if header.version == 1 {
        bytes.first_chunk().map(|bytes| header.endian.u32(*bytes).into())
    } else {
        bytes.first_chunk().map(|bytes| header.endian.u64(*bytes))
    }
}

/// How far the walk came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    /// Bytes of the input behind which the walk stands.
    pub(super) bytes: usize,
    /// Strings still to come.
    pub(super) left: u64,
    /// The length of the next string, whose word is at `bytes`, and which the input does not
    /// hold to its end.
    pub(super) crosses: Option<u64>,
}

/// Walks over the strings of `input` that are all in it, `left` at most.
pub(super) fn strings(input: &[u8], left: u64, header: Header) -> Walk {
    match (header.version, header.endian) {
        (1, Endian::Little) => run(input, left, |word: [u8; 4]| u32::from_le_bytes(word).into()),
        (1, Endian::Big) => run(input, left, |word: [u8; 4]| u32::from_be_bytes(word).into()),
        (_, Endian::Little) => run(input, left, u64::from_le_bytes),
        (_, Endian::Big) => run(input, left, u64::from_be_bytes),
    }
}

#[inline]
fn run<const W: usize>(input: &[u8], mut left: u64, length: impl Fn([u8; W]) -> u64) -> Walk {
    let (mut rest, mut crosses) = (input, None);
    while left > 0 {
        let Some((word, behind)) = rest.split_first_chunk::<W>() else { break };
        let len = length(*word);
        let behind = usize::try_from(len).ok().and_then(|len| behind.get(len..));
        let Some(behind) = behind else {
            crosses = Some(len);
            break;
        };
        rest = behind;
        left -= 1;
    }
    Walk { bytes: input.len() - rest.len(), left, crosses }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: Header = Header { version: 1, endian: Endian::Little, tensors: 0, keys: 0 };
    const V3: Header = Header { version: 3, endian: Endian::Big, tensors: 0, keys: 0 };

    #[test]
    fn a_walk_stops_where_it_must() {
        let short = b"\x01\0\0\0a\0\0\0\0\x03\0\0\0bc";
        let walk = |left| strings(short, left, V1);
        assert_eq!(walk(1), Walk { bytes: 5, left: 0, crosses: None });
        assert_eq!(walk(2), Walk { bytes: 9, left: 0, crosses: None });
        assert_eq!(walk(9), Walk { bytes: 9, left: 7, crosses: Some(3) });
        let wide = b"\0\0\0\0\0\0\0\x01a\xff\xff\xff\xff\xff\xff\xff\xff..";
        assert_eq!(strings(wide, 2, V3), Walk { bytes: 9, left: 1, crosses: Some(u64::MAX) });
        assert_eq!(strings(&wide[..12], 2, V3), Walk { bytes: 9, left: 1, crosses: None });
    }
}

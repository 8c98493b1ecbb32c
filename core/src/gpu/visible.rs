//! Visible-device variables: which GPUs a process is shown, and in which order.
//!
//! `ROCR_VISIBLE_DEVICES` is read by the runtime below all others; it is a list of tokens between
//! commas, each an ordinal or a UUID (`GPU-` and up to 16 digits, of which a unique beginning is
//! enough), of either case. The list ends at the first token that names no device, several, or
//! one that was named before: what stands before it counts. Tokens beyond the number of GPUs are
//! not read. `HIP_VISIBLE_DEVICES` and its kin then count among those that are left.
//!
//! ```
//! use rocload_core::gpu::visible::{End, select};
//!
//! let uuids = [0xbaba_baba_baba_baba, 0xabba_abba_abba_abba, 0xbaba_abba_abba_baba, 0xabba_baba_baba_abba];
//! let mut seen = Vec::new();
//! let end = select(b"3,GPU-BABAABBA,GPU-XX", 4, |at| Some(uuids[at as usize]), |at| {
//!     let new = !seen.contains(&at);
//!     if new { seen.push(at) }
//!     new
//! });
//! assert_eq!((seen, end), (vec![3, 2], End::NoDevice { token: 2 }));
//! ```
//!
//! Source: ROCr's `amd_filter_device.h` and `.cpp`.

use core::fmt;

use super::number::{split, trim};

/// Why a list ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// It was read to its end.
    Complete,
    /// Tokens from this one on are more than there are GPUs, and are not read.
    Surplus {
        /// The first of them, from 0.
        token: usize,
    },
    /// This token is no ordinal and no UUID.
    Illegal {
        /// Which, from 0.
        token: usize,
    },
    /// No device has this ordinal or UUID.
    NoDevice {
        /// Which, from 0.
        token: usize,
    },
    /// Several devices have this UUID, as the partitions of one card do.
    Several {
        /// Which, from 0.
        token: usize,
    },
    /// The device was named before.
    Again {
        /// Which, from 0.
        token: usize,
    },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (token, what) = match self {
            End::Complete => return f.write_str("the list is complete"),
            End::Surplus { token } => (token, "is more than there are gpus"),
            End::Illegal { token } => (token, "is no ordinal and no uuid"),
            End::NoDevice { token } => (token, "names no gpu"),
            End::Several { token } => (token, "names several gpus"),
            End::Again { token } => (token, "names a gpu that was named before"),
        };
        write!(f, "token {} {what}: the list ends before it", token + 1)
    }
}

/// Reads a list: `uuid` tells those of the devices `0..count`, and `choose` is told each device in
/// the list's order; it gives false where it was told before.
pub fn select(
    list: &[u8],
    count: u32,
    uuid: impl Fn(u32) -> Option<u64>,
    mut choose: impl FnMut(u32) -> bool,
) -> End {
    let (mut rest, mut token) = (Some(list), 0);
    while let Some(list) = rest {
        let comma = list.contains(&b',');
        let (text, behind) = split(list, b',');
        rest = comma.then_some(behind);
        // A list that is empty or ends in a comma has no last token.
        if text.is_empty() && rest.is_none() {
            break;
        }
        if token >= count as usize {
            return End::Surplus { token };
        }
        let found = match text.first() {
            Some(b'G' | b'g') => by_uuid(text, count, &uuid),
            _ => match ordinal(text) {
                Some(at) => u32::try_from(at).ok().filter(|at| *at < count).ok_or(Miss::None),
                None => return End::Illegal { token },
            },
        };
        match found {
            Ok(at) if choose(at) => {}
            Ok(_) => return End::Again { token },
            Err(Miss::None) => return End::NoDevice { token },
            Err(Miss::Several) => return End::Several { token },
        }
        token += 1;
    }
    End::Complete
}

enum Miss {
    None,
    Several,
}

fn by_uuid(text: &[u8], count: u32, uuid: impl Fn(u32) -> Option<u64>) -> Result<u32, Miss> {
    let (Some((prefix, digits)), 5..=20) = (text.split_at_checked(4), text.len()) else {
        return Err(Miss::None);
    };
    if !prefix.eq_ignore_ascii_case(b"GPU-") {
        return Err(Miss::None);
    }
    let is = |id: u64| {
        digits.iter().enumerate().all(|(at, digit)| {
            let wanted = id >> (60 - 4 * at) & 15;
            char::from(*digit).to_digit(16).map(u64::from) == Some(wanted)
        })
    };
    let mut found = (0..count).filter(|at| uuid(*at).is_some_and(is));
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(Miss::Several),
        (None, _) => Err(Miss::None),
    }
}

/// As the C library's `strtol` with base 0: blanks and a sign in front, `0x` for hexadecimal, `0`
/// for octal digits. A negative number is a number, though of no device.
fn ordinal(text: &[u8]) -> Option<u64> {
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let start = text.iter().position(|byte| !blank(byte))?;
    let text = &text[start..];
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let (base, digits) = match digits {
        [b'0', b'x' | b'X', digits @ ..] => (16, digits),
        [b'0', digits @ ..] if !digits.is_empty() => (8, digits),
        digits => (10, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let value = digits.iter().try_fold(0u64, |value, digit| {
        let digit = char::from(*digit).to_digit(base)?;
        Some(value.saturating_mul(base.into()).saturating_add(digit.into()))
    })?;
    Some(if negative && value > 0 { u64::MAX } else { value })
}

/// The variable that the runtime reads.
pub const ROCR: &str = "ROCR_VISIBLE_DEVICES";

/// Variables of the layers above, which count among the devices that are left: the first that is set
/// holds.
pub const LAYERS: [&str; 3] = ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"];

/// Variables of an environment: names and values. Of several with one name the last holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Variables<'v>(pub &'v [(&'v [u8], &'v [u8])]);

impl<'v> Variables<'v> {
    /// The value of a variable that is set, if only to nothing.
    pub fn get(&self, name: &str) -> Option<&'v [u8]> {
        self.0.iter().rev().find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| *value)
    }

    /// `ROCR_VISIBLE_DEVICES`, if it is set: set to nothing it hides every device.
    pub fn rocr(&self) -> Option<&'v [u8]> {
        self.get(ROCR)
    }

    /// The variable of the layer above that holds. Set to nothing they are as if not set.
    pub fn layer(&self) -> Option<(&'static str, &'v [u8])> {
        LAYERS.iter().find_map(|name| {
            let value = self.get(name).filter(|value| !trim(value).is_empty());
            Some((*name, value?))
        })
    }

    /// The masks that are set, in the order in which they apply.
    pub fn masks(&self) -> impl Iterator<Item = (&'static str, &'v [u8])> + use<'v> {
        self.rocr().map(|value| (ROCR, value)).into_iter().chain(self.layer())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The four devices of the source's examples.
    const UUIDS: [u64; 4] = [
        0xbaba_baba_baba_baba,
        0xabba_abba_abba_abba,
        0xbaba_abba_abba_baba,
        0xabba_baba_baba_abba,
    ];

    fn read(list: &str, uuids: &[u64]) -> (Vec<u32>, End) {
        let mut seen: Vec<u32> = Vec::new();
        let uuid = |at: u32| Some(uuids[at as usize]).filter(|id| *id != 0);
        let end = select(list.as_bytes(), uuids.len() as u32, uuid, |at| {
            let new = !seen.contains(&at);
            if new {
                seen.push(at);
            }
            new
        });
        (seen, end)
    }

    #[test]
    fn the_vectors_of_the_source() {
        for (list, wanted) in [
            ("", &[][..]),
            ("-1", &[]),
            ("GPU-XX", &[]),
            ("3,GPU-BABABABABABABABA,4", &[3, 0]),
            ("1,GPU-ABBAABBAABBAABBA,GPU-XX", &[1]),
            ("3,GPU-BABAABBA,GPU-XX", &[3, 2]),
        ] {
            assert_eq!(read(list, &UUIDS).0, wanted, "{list}");
        }
    }

    #[test]
    fn why_a_list_ends() {
        let end = |list| read(list, &UUIDS).1;
        assert_eq!(end("0,1,2,3"), End::Complete);
        assert_eq!(end("0,1,2,3,nonsense"), End::Surplus { token: 4 });
        assert_eq!(end("0,0"), End::Again { token: 1 });
        assert_eq!(end("gpu-abba"), End::Several { token: 0 });
        assert_eq!(end("2,GPU"), End::NoDevice { token: 1 });
        assert_eq!(end("GPU-BABABABABABABABA0"), End::NoDevice { token: 0 });
        for illegal in ["x", "1 ", "0x", "08", "1.0", ",1", " "] {
            assert_eq!(end(illegal), End::Illegal { token: 0 }, "{illegal:?}");
        }
        assert_eq!(read(" 0x2,+1,", &UUIDS), ([2, 1].into(), End::Complete));
        assert_eq!(
            read("99999999999999999999999", &UUIDS),
            ([].into(), End::NoDevice { token: 0 })
        );
    }

    #[test]
    fn partitions_share_a_uuid_and_some_devices_have_none() {
        assert_eq!(read("GPU-0000000000000007", &[7; 8]).1, End::Several { token: 0 });
        assert_eq!(read("GPU-0000000000000000", &[0, 0]).1, End::NoDevice { token: 0 });
        assert_eq!(read("0", &[]).1, End::Surplus { token: 0 });
    }

    #[test]
    fn layers_in_their_order() {
        let set: &[(&[u8], &[u8])] = &[
            (b"CUDA_VISIBLE_DEVICES", b"1"),
            (b"HIP_VISIBLE_DEVICES", b""),
            (b"ROCR_VISIBLE_DEVICES", b""),
        ];
        let masks: Vec<_> = Variables(set).masks().collect();
        assert_eq!(masks, [(ROCR, &b""[..]), ("CUDA_VISIBLE_DEVICES", b"1")]);
    }
}

//! XXH64 with seed 0, the checksum of a frame's content (RFC 8878, 3.1.1).
//!
//! Fed block by block while the bytes are still in the cache.

const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME_5: u64 = 0x27D4_EB2F_1656_67C5;

const STRIPE: usize = 32;

/// A hash in the making.
pub(super) struct Xxh64 {
    lanes: [u64; 4],
    /// The last `len % 32` bytes.
    tail: [u8; STRIPE],
    len: u64,
}

impl Xxh64 {
    pub(super) const fn new() -> Self {
        let lanes = [PRIME_1.wrapping_add(PRIME_2), PRIME_2, 0, 0u64.wrapping_sub(PRIME_1)];
        Self { lanes, tail: [0; STRIPE], len: 0 }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        let held = (self.len % STRIPE as u64) as usize;
        self.len = self.len.wrapping_add(bytes.len() as u64);
        if held > 0 {
            let taken = bytes.len().min(STRIPE - held);
            self.tail[held..held + taken].copy_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if held + taken < STRIPE {
                return;
            }
            stripe(&mut self.lanes, &self.tail);
        }
        let mut lanes = self.lanes;
        let (stripes, rest) = bytes.as_chunks::<STRIPE>();
        for bytes in stripes {
            stripe(&mut lanes, bytes);
        }
        self.lanes = lanes;
        self.tail[..rest.len()].copy_from_slice(rest);
    }

    pub(super) fn digest(&self) -> u64 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.len < STRIPE as u64 {
            c.wrapping_add(PRIME_5)
        } else {
            let sum = a
                .rotate_left(1)
                .wrapping_add(b.rotate_left(7))
                .wrapping_add(c.rotate_left(12))
                .wrapping_add(d.rotate_left(18));
            self.lanes.iter().fold(sum, |hash, &lane| {
                (hash ^ round(0, lane)).wrapping_mul(PRIME_1).wrapping_add(PRIME_4)
            })
        };
        hash = hash.wrapping_add(self.len);
        let tail = &self.tail[..(self.len % STRIPE as u64) as usize];
        let (words, tail) = tail.as_chunks::<8>();
        for word in words {
            hash ^= round(0, u64::from_le_bytes(*word));
            hash = hash.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
        }
        let (words, tail) = tail.as_chunks::<4>();
        for word in words {
            hash ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(PRIME_1);
            hash = hash.rotate_left(23).wrapping_mul(PRIME_2).wrapping_add(PRIME_3);
        }
        for byte in tail {
            hash ^= u64::from(*byte).wrapping_mul(PRIME_5);
            hash = hash.rotate_left(11).wrapping_mul(PRIME_1);
        }
        hash = (hash ^ hash >> 33).wrapping_mul(PRIME_2);
        hash = (hash ^ hash >> 29).wrapping_mul(PRIME_3);
        hash ^ hash >> 32
    }
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1)
}

#[inline(always)]
fn stripe(lanes: &mut [u64; 4], bytes: &[u8; STRIPE]) {
    let (words, _) = bytes.as_chunks::<8>();
    for (lane, word) in lanes.iter_mut().zip(words) {
        *lane = round(*lane, u64::from_le_bytes(*word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8]) -> u64 {
        let mut hash = Xxh64::new();
        hash.update(bytes);
        hash.digest()
    }

    #[test]
    fn published_values() {
        assert_eq!(hash(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(hash(b"a"), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(hash(b"abc"), 0x44BC_2CF5_AD77_0999);
        assert_eq!(hash(b"Nobody inspects the spammish repetition"), 0xFBCE_A83C_8A37_8BF1);
    }

    #[test]
    fn every_cut_gives_the_same_hash() {
        let bytes: [u8; 150] = core::array::from_fn(|at| (at * 7) as u8);
        for len in 0..bytes.len() {
            let whole = hash(&bytes[..len]);
            for cut in 0..=len {
                let mut parts = Xxh64::new();
                parts.update(&bytes[..cut]);
                parts.update(&bytes[cut..len]);
                assert_eq!(parts.digest(), whole, "{cut} of {len}");
            }
        }
    }
}

//! Frames for the tests of the zstd decoder: from the C library, and by hand.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use rocload_core::Storage;
use zstd::zstd_safe::{CCtx, CParameter};

/// Memory that grows as it is asked to, also where the core has no heap.
#[derive(Default)]
pub struct Ring(pub Vec<u8>);

impl Storage for Ring {
    fn slots(&self) -> &[u8] {
        &self.0
    }
    fn slots_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
    fn grow(&mut self, min: usize) -> bool {
        self.0.resize(min.max(self.0.len()), 0);
        true
    }
}

/// xorshift64: reproducible without a dependency.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Content that compresses, with matches near and far, short and long, and literals of uneven
/// frequency.
pub fn content(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bytes = Vec::with_capacity(len + 600);
    while bytes.len() < len {
        let most = if random.below(20) == 0 { 500 } else { 20 };
        let n = 1 + random.below(most);
        match random.below(8) {
            0..=2 => {
                // Literals: small numbers more often than large ones.
                for _ in 0..n {
                    bytes.push((random.next() as u8) >> random.below(8));
                }
            }
            3 => bytes.extend(std::iter::repeat_n(random.next() as u8, n)),
            _ if bytes.is_empty() => {}
            _ => {
                let far = if random.below(2) == 0 { 100 } else { bytes.len() };
                let back = 1 + random.below(bytes.len().min(far));
                for _ in 0..n {
                    bytes.push(bytes[bytes.len() - back]);
                }
            }
        }
    }
    bytes.truncate(len);
    bytes
}

/// What the C library makes of `content`.
pub fn compress(content: &[u8], parameters: &[CParameter]) -> Vec<u8> {
    let mut context = CCtx::create();
    for parameter in parameters {
        context.set_parameter(*parameter).expect("a valid parameter");
    }
    let mut frame = vec![0; zstd::zstd_safe::compress_bound(content.len())];
    let len = context.compress2(&mut frame[..], content).expect("compresses");
    frame.truncate(len);
    frame
}

/// A frame at `level`, with its size and, if asked for, a checksum.
pub fn frame(content: &[u8], level: i32, checksum: bool) -> Vec<u8> {
    compress(content, &[CParameter::CompressionLevel(level), CParameter::ChecksumFlag(checksum)])
}

/// What the C library makes of `src` in `size` bytes, all frames and skippable ones.
pub fn by_c(src: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
    let mut dst = vec![0; size];
    match zstd::zstd_safe::decompress(&mut dst[..], src) {
        Ok(len) => {
            dst.truncate(len);
            Ok(dst)
        }
        Err(code) => Err(zstd::zstd_safe::get_error_name(code)),
    }
}

/// The header of a frame of `content` bytes that are its window, too.
pub fn single_segment(content: u32) -> Vec<u8> {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    bytes.extend(content.to_le_bytes());
    bytes
}

/// The header of a frame without a content size, with a window of 2^`log` bytes.
pub fn windowed(log: u8) -> Vec<u8> {
    vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, (log - 10) << 3]
}

/// A block of `kind` with its header; `size` is what the header says.
pub fn block(last: bool, kind: u32, size: usize, body: &[u8]) -> Vec<u8> {
    let word = u32::from(last) | kind << 1 | (size as u32) << 3;
    [&word.to_le_bytes()[..3], body].concat()
}

/// The last block, compressed, of this content.
pub fn compressed(body: &[u8]) -> Vec<u8> {
    block(true, 2, body.len(), body)
}

/// Raw literals with a header of three bytes.
pub fn raw_literals(literals: &[u8]) -> Vec<u8> {
    let word = 0b1100 | (literals.len() as u32) << 4;
    [&word.to_le_bytes()[..3], literals].concat()
}

/// A sequences section of `count` sequences whose three codes are always the same, with their
/// extra bits, offset, match length and literal length, for each sequence.
pub fn one_code(count: usize, codes: [u8; 3], extra: &[[(u32, u32); 3]]) -> Vec<u8> {
    let [literal, offset, matched] = codes;
    let mut bytes = match count {
        0..=127 => vec![count as u8],
        128..=0x7eff => vec![(count >> 8) as u8 + 128, count as u8],
        _ => [&[255], &((count - 0x7f00) as u16).to_le_bytes()[..]].concat(),
    };
    bytes.extend([0b0101_0100, literal, offset, matched]);
    let fields: Vec<(u32, u32)> = extra.iter().flatten().copied().collect();
    bytes.extend(backward(&fields));
    bytes
}

/// A stream to be read backward: `(value, bits)` in reading order.
pub fn backward(fields: &[(u32, u32)]) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    for &(value, width) in fields.iter().rev() {
        bits.extend((0..width).map(|bit| value >> bit & 1 == 1));
    }
    bits.push(true);
    let bytes = bits.chunks(8);
    bytes.map(|bits| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit))).collect()
}

//! What is read and when: opening reads the header and the table, the walk over the frames
//! reads each length word once, and a fetch reads its frame.
#![cfg(feature = "blocking")]

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rocload::{Archive, Options, ReadAt};
use rocload_fixtures::frame::{Block, Frame};
use rocload_fixtures::good_archives;
use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::rng::Rng;

/// A source that remembers every read, and gives at most so many bytes at once.
struct Watched {
    bytes: Vec<u8>,
    most: usize,
    reads: Mutex<Vec<Range<u64>>>,
}

impl Watched {
    fn new(bytes: Vec<u8>) -> Self {
        Watched { bytes, most: usize::MAX, reads: Mutex::default() }
    }

    /// The reads since this was last asked.
    fn take(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.reads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ReadAt for Watched {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let len = buf.len().min(self.most);
        let got = self.bytes.read_at(&mut buf[..len], offset)?;
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        reads.push(offset..offset + got as u64);
        Ok(got)
    }

    fn total(&self) -> io::Result<u64> {
        self.bytes.total()
    }
}

fn sum(reads: &[Range<u64>]) -> u64 {
    reads.iter().map(|read| read.end - read.start).sum()
}

fn open(source: Watched) -> Archive<Watched> {
    Archive::from_source(source, &Options::default()).unwrap()
}

/// Offset and length of an archive's table of contents.
fn toc(bytes: &[u8]) -> (u64, u64) {
    let start = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    (start, bytes.len() as u64 - start)
}

fn key(ordinal: usize) -> String {
    format!("lib/libmany.so#{ordinal}")
}

/// An archive of frames that store contents of these sizes as they are.
fn frames(sizes: &[usize]) -> Vec<u8> {
    let mut builder = Builder::new(Scheme::ZstdPerKernel);
    for (ordinal, &size) in sizes.iter().enumerate() {
        let content: Vec<u8> = (0..size).map(|at| (at ^ ordinal) as u8).collect();
        let blocks = match content.len().div_ceil(100_000) {
            0 | 1 => vec![Block::raw(&content)],
            count => {
                let chunks = content.chunks(100_000).enumerate();
                let last = |at| at + 1 == count;
                let block = |(at, chunk)| match Block::raw(chunk) {
                    block if last(at) => block,
                    block => block.then_more(),
                };
                chunks.map(block).collect()
            }
        };
        let frame = Frame { content_size: Some(size as u64), blocks, ..Frame::default() };
        builder = builder.kernel_as(&key(ordinal), "gfx1030", &content, frame.bytes());
    }
    builder.build()
}

/// Offset, and length, of the zstd blob that `frames` makes: it begins behind the header.
fn blob(bytes: &[u8]) -> (u64, u64) {
    (64, toc(bytes).0 - 64)
}

/// The offsets of the frame count and of the length words, by a walk of the test's own.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |at: u64| u32::from_le_bytes(bytes[at as usize..][..4].try_into().unwrap());
    let mut at = blob(bytes).0;
    let mut words = vec![at];
    at += 4;
    for _ in 0..word(words[0]) {
        words.push(at);
        at += 4 + u64::from(word(at));
    }
    words
}

#[test]
fn opening_reads_the_header_and_the_table_alone() {
    let many: Vec<usize> = (0..3000).map(|n| n % 50).collect();
    let archives = good_archives().map(|archive| archive.bytes());
    for bytes in archives.chain([frames(&many)]) {
        let (start, len) = toc(&bytes);
        let archive = open(Watched::new(bytes.clone()));
        assert_eq!(archive.source().take(), [0..16, start..start + len]);

        // Looking up reads nothing, found or not.
        for entry in archive.entries() {
            let entry = entry.unwrap();
            assert!(archive.entry(entry.binary, entry.arch).is_ok());
        }
        assert!(archive.entry("lib/libnone.so#0", "gfx1030").is_err());
        assert_eq!(archive.source().take(), []);

        // A source that gives little at once is asked for the same bytes, each of them once.
        let most = 1000;
        let archive = open(Watched { most, ..Watched::new(bytes) });
        let reads = archive.source().take();
        assert_eq!(sum(&reads), 16 + len);
        assert_eq!(reads.len() as u64, 1 + len.div_ceil(most as u64));
        assert!(reads[1..].is_sorted_by(|a, b| a.end == b.start));
    }
}

#[test]
fn the_walk_over_small_frames_reads_blocks() {
    let sizes: Vec<usize> = (0..5000).map(|n| n * 7 % 200).collect();
    let bytes = frames(&sizes);
    let (start, len) = blob(&bytes);
    let archive = open(Watched::new(bytes));
    archive.source().take();
    assert_eq!(archive.walk_frames().unwrap(), 5000);
    let reads = archive.source().take();
    assert!(sum(&reads) <= len, "{} of {len}", sum(&reads));
    assert!(reads.iter().all(|read| read.start >= start && read.end <= start + len));
    // The count, then blocks of 64 KiB: a frame that is cut by a block's end costs a word.
    let most = 1 + len.div_ceil((64 << 10) - 256);
    assert!(reads.len() as u64 <= most, "{} calls, at most {most}", reads.len());
}

#[test]
fn the_walk_over_large_frames_reads_words() {
    let sizes: Vec<usize> = (0..300).map(|n| 20_000 + n * 13 % 7000).collect();
    let bytes = frames(&sizes);
    let words = words(&bytes);
    let archive = open(Watched::new(bytes));
    archive.source().take();
    assert_eq!(archive.walk_frames().unwrap(), 300);
    let expected: Vec<_> = words.iter().map(|&at| at..at + 4).collect();
    assert_eq!(archive.source().take(), expected);
}

#[test]
fn the_walk_over_any_frames_is_bounded() {
    let mut rng = Rng::new(11);
    for round in 0..40 {
        let count = 1 + rng.below(400);
        let most = [300, 5000, 20_000, 300_000][round % 4];
        let mut sizes: Vec<usize> = (0..count).map(|_| rng.below(most) as usize).collect();
        if round % 3 == 0 {
            // All small, but one of them not.
            sizes.iter_mut().for_each(|size| *size %= 100);
            sizes[rng.below(count) as usize] = 3_000_000;
        }
        let bytes = frames(&sizes);
        let (_, len) = blob(&bytes);
        let archive = open(Watched::new(bytes));
        archive.source().take();
        assert_eq!(u64::from(archive.walk_frames().unwrap()), count);
        let reads = archive.source().take();
        let bound = len.min(4 + count * 4096);
        assert!(sum(&reads) <= bound, "{sizes:?}: {} of {bound}", sum(&reads));
        assert!(reads.len() as u64 <= 1 + count, "{sizes:?}: {} calls", reads.len());
    }
}

#[test]
fn the_walk_goes_on_where_it_stopped() {
    let small: Vec<usize> = (0..4000).map(|n| n * 31 % 400).collect();
    let large: Vec<usize> = (0..60).map(|n| 9000 + n * 17 % 3000).collect();
    for sizes in [small, large] {
        let bytes = frames(&sizes);
        let words = words(&bytes);
        let archive = open(Watched::new(bytes.clone()));
        let source = archive.source();
        source.take();
        let extent = |ordinal: usize| {
            let entry = archive.entry(key(ordinal), "gfx1030").unwrap();
            let extent = archive.extent(&entry).unwrap();
            assert_eq!(extent.offset, words[ordinal + 1] + 4);
            extent
        };

        let last = sizes.len() - 1;
        extent(10);
        let mut reads = source.take();
        let far = reads.iter().map(|read| read.end).max().unwrap();
        assert!(far <= words[11] + 4 + (64 << 10), "no further than a block");
        // What has been passed is known.
        extent(5);
        extent(10);
        assert_eq!(source.take(), []);
        extent(last);
        reads.extend(source.take());
        for ordinal in 0..=last {
            extent(ordinal);
        }
        assert_eq!(source.take(), []);

        // Forwards alone, and no byte twice but those of a word that a block's end has cut.
        for pair in reads.windows(2) {
            assert!(pair[1].start + 3 >= pair[0].end, "{pair:?}");
            assert!(pair[1].start > pair[0].start, "{pair:?}");
            if pair[1].start < pair[0].end {
                assert!(words.contains(&pair[1].start), "{pair:?}");
            }
        }

        // Another archive that asks for the last at once reads the same or less.
        let other = open(Watched::new(bytes));
        other.source().take();
        other.walk_frames().unwrap();
        assert!(sum(&other.source().take()) <= sum(&reads));
    }
}

#[test]
fn a_fetch_reads_its_frame_alone() {
    let sizes: Vec<usize> = (0..40).map(|n| 500 * n).collect();
    let archive = open(Watched::new(frames(&sizes)));
    archive.walk_frames().unwrap();
    archive.source().take();
    for (ordinal, &size) in sizes.iter().enumerate() {
        let entry = archive.entry(key(ordinal), "gfx1030").unwrap();
        let (offset, stored) = (entry.offset.unwrap(), entry.stored_size.unwrap());
        let kernel = archive.kernel(key(ordinal), "gfx1030").unwrap();
        assert_eq!(kernel.len(), size);
        let frame = offset..offset + stored;
        assert_eq!(archive.source().take(), std::slice::from_ref(&frame));
    }
}

/// 200 MiB behind a sound header: of which the first bytes, or those after a sound beginning, are
/// no table.
struct Sparse {
    front: Vec<u8>,
    most: Mutex<u64>,
}

impl ReadAt for Sparse {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        buf.fill(0);
        let start = (offset as usize).min(self.front.len());
        let n = buf.len().min(self.front.len() - start);
        buf[..n].copy_from_slice(&self.front[start..start + n]);
        *self.most.lock().unwrap() += buf.len() as u64;
        Ok(buf.len())
    }

    fn total(&self) -> io::Result<u64> {
        Ok(200 << 20)
    }
}

#[test]
fn a_long_table_that_is_none_is_refused_when_a_part_was_read() {
    let header = b"KPAK\x01\0\0\0\x40\0\0\0\0\0\0\0";
    let begun = b"\x82\xaagroup_name\xa1g\xa3toc\xdf\0\x0f\0\0\xa1a\x81\xa1b\x81\xa7ordinal\x01";
    let (mut zeros, mut entry) = (header.to_vec(), header.to_vec());
    zeros.resize(64, 0);
    entry.resize(64, 0);
    entry.extend_from_slice(begun);
    for (front, offset) in [(zeros, 64), (entry.clone(), entry.len() as u64)] {
        let source = Sparse { front, most: Mutex::new(0) };
        let error = Archive::from_source(&source, &Options::default()).err().unwrap();
        assert_eq!(error.offset(), Some(offset), "{error}");
        let read = *source.most.lock().unwrap();
        assert!(read <= 9 << 20, "{read} bytes");
    }
}
